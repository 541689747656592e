"""What the pictures of a drawn word say in words."""

from __future__ import annotations

from project.test_explain import cloud, group, hood

from dptext_core.explain import DiffractionView
from dptext_studio.figures import caption, title


def test_captions_of_lists():
    one = caption(DiffractionView("doctor", "nurse", (hood(),), 0))
    assert one == ("The noise moved “doctor” 1 place back on the list list-1, to “nurse”, which had probability 30%.")
    far = caption(DiffractionView("doctor", "lawyer", (hood(candidate="lawyer", offset=1204),), 0))
    assert "1,204 places forward" in far and "probability" not in far
    still = caption(DiffractionView("doctor", "doctor", (hood(candidate="doctor", offset=0),), 0))
    assert still == "The noise on the list list-1 did not move “doctor”, which had probability 30%."
    two = caption(DiffractionView("doctor", "nurse", (hood("a", candidate="dentist", offset=1), hood("b")), 1))
    assert "Each of the 2 lists" in two and "the candidate of b (1 place back)" in two


def test_the_caption_of_a_group_names_the_crowd_or_warns():
    assert caption(group()) == (
        "“doctor” is one of 2 words that share this output set, with medic: the guarantee holds only among them. "
        "In this mapping of 3,608 groups, 3.3% of all words have a unique set."
    )
    alone = group(crowd=("doctor",))
    assert alone.alone and "is alone in its group: it has no protection at any ε." in caption(alone)
    many = caption(group(crowd=("doctor", *"abcdefg")))
    assert "one of 8 words" in many and "with a, b, c, d, e, …:" in many and "f" not in many.split(":")[0].split(", ")


def test_the_caption_of_a_cloud_says_that_it_is_a_projection():
    assert "This is a projection from many dimensions to 2, so distances are approximate." in caption(cloud())
    caption_text = caption(cloud(dims=384, share=0.28))
    assert "This is a projection from 384 dimensions to 2" in caption_text and "28%" in caption_text


def test_every_view_has_a_title():
    views = (DiffractionView("doctor", "nurse", (hood(),), 0), group(), cloud())
    assert [title(view) for view in views] == ["Lists", "Group", "Noise cloud"]
