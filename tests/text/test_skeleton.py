"""The skeleton of a text: sentence starts, and the released text as a function of it and of the released words."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from splicing import splice
from text.test_document import TEXTS

from dptext_core.errors import InputError
from dptext_core.text.document import Document
from dptext_core.text.skeleton import Edit, Skeleton


def of(text: str, drawn=None) -> Skeleton:
    document = Document.parse(text)
    return document.skeleton([drawn is not None and i in drawn for i in range(len(document.tokens))])


def edited(text: str, edits: dict[int, Edit]) -> str:
    doc = Document.parse(text)
    return splice(doc, [edits.get(i, Edit()) for i in range(len(doc.tokens))]).text


# --- what is released


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_no_edit_is_the_identity(text):
    doc = Document.parse(text)
    spliced = splice(doc, [Edit()] * len(doc.tokens))
    assert spliced.text == doc.visible.text
    assert spliced.spans == tuple((token.start, token.end) for token in doc.visible.tokens)
    assert set(spliced.inserted) <= {None}


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.data())
def test_spans_point_at_the_output(text, data):
    doc = Document.parse(text)
    choice = st.builds(
        Edit, st.sampled_from([None, "", "word", "don't", "a b", "x"]), st.sampled_from([None, None, "more"])
    )
    edits = [data.draw(choice) for _ in doc.tokens]
    spliced = splice(doc, edits)
    at = 0
    for token, edit, span, inserted in zip(doc.tokens, edits, spliced.spans, spliced.inserted, strict=True):
        assert at <= span[0] <= span[1]
        assert spliced.text[slice(*span)] == (token.text if edit.text is None else edit.text)
        at = span[1]
        assert (inserted is None) == (edit.after is None)
        if inserted:
            assert at <= inserted[0]
            assert spliced.text[slice(*inserted)] == edit.after
            at = inserted[1]
    assert spliced.text.count("\n") == doc.visible.text.count("\n") and not set(spliced.text) & set("\r\u2028\x85")
    # No two words are glued that were apart: a drawn word's neighbours are no letters or digits.
    for edit, span in zip(edits, spliced.spans, strict=True):
        if edit.text and edit.text[0].isalnum():
            assert not spliced.text[: span[0]][-1:].isalnum()
            assert not spliced.text[span[1] :][:1].isalnum()


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.data())
def test_all_but_the_words_is_the_same_whatever_is_drawn(text, data):
    """Each released text without its drawn words is the same, and so is where they stood."""
    doc = Document.parse(text)
    what = [data.draw(st.sampled_from(["keep", "draw", "drop", "insert", "replace"])) for _ in doc.tokens]
    word = st.sampled_from(
        ["a", "doctor", "[MASK]", "O'Neill", "c++", "é", "10", "中", "\u0301x", "'s", "(", "word\u200d"]
    )

    def rendered():
        edits, drawn = [], []
        for kind in what:
            text = {"keep": None, "draw": data.draw(word), "drop": "", "insert": data.draw(word), "replace": ""}[kind]
            edits.append(Edit(text, data.draw(word) if kind in ("insert", "replace") else None))
            drawn += [w for w in (edits[-1].text, edits[-1].after) if w]
        spliced = splice(doc, edits)
        spans = [s for s, e in zip(spliced.spans, edits, strict=True) if e.text] + [s for s in spliced.inserted if s]
        frame, at = [], 0
        for a, b in sorted(spans):
            frame.append(spliced.text[at:a])
            at = b
        return [*frame, spliced.text[at:]]

    assert rendered() == rendered()


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("a b\tc", {1: Edit("x")}, "a x\tc"),
        ("a b, c", {1: Edit("")}, "a, c"),
        ("a b c", {0: Edit("")}, "b c"),
        ("a b c", {0: Edit(""), 1: Edit("")}, "c"),
        ("a b c", {1: Edit(""), 2: Edit("")}, "a"),
        ("a b c", dict.fromkeys(range(3), Edit("")), ""),
        ("one\n  two three", {1: Edit("")}, "one\n  three"),
        ("one\r\ntwo\r\nthree", {1: Edit("")}, "one\n\nthree"),
        ("x (big dog)", {2: Edit("")}, "x (dog)"),
        ("a b.", {1: Edit(None, "c")}, "a b c."),
        ("a b c", {1: Edit("", "x")}, "a x c"),
        ("a b c", {0: Edit("y", "x")}, "y x b c"),
        ("the dog's tail", {2: Edit("is")}, "the dog is tail"),
        ("the dog's tail", {1: Edit("cat")}, "the cat's tail"),
        ("great😀movie", {1: Edit("")}, "great movie"),
        ("I love ❤️mom today", {3: Edit("mother")}, "I love ❤mother today"),
        ("I love ❤️mom today", {3: Edit("mom")}, "I love ❤mom today"),
        ("yes! no", {0: Edit("yes"), 1: Edit("and"), 2: Edit("no")}, "yes and no"),
    ],
)
def test_splice(text, edits, expected):
    assert edited(text, edits) == expected


@pytest.mark.parametrize("edits", [[Edit()], [Edit("x"), Edit()], [Edit(), Edit()], [Edit("x"), Edit("y")]])
def test_each_hole_wants_a_word_and_each_kept_token_none(edits):
    with pytest.raises(InputError, match=r"2 tokens|each hole"):
        of("a b", {1}).render(edits)


def test_a_skeleton_has_one_value_a_token_and_one_gap_more():
    with pytest.raises(InputError, match="2 tokens"):
        Document.parse("a b").skeleton([True])
    with pytest.raises(InputError, match="3 gaps"):
        Skeleton((None, None), ("", ""))


def test_its_repr_tells_no_word():
    assert repr(of("secret names", {0})) == "Skeleton(2 tokens, 1 holes)"


# --- where sentences begin


def starts(text: str) -> list[str]:
    document = Document.parse(text)
    return [token.text for token, begin in zip(document.tokens, of(text).begins, strict=True) if begin]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three! Four? five… six", ["One", "Three", "Four", "five", "six"]),
        ('He said "No." Then (she left.) And "this"', ["He", "Then", "And"]),
        ("Dr. Smith met Mr. Jones, e.g. at 5 p.m. today", ["Dr."]),
        ("A title\n\n- a point\r\n2 more", ["A", "a", "2"]),
        ("movie . i liked it", ["movie", "i"]),
        ("...and so", ["and"]),
        ("It left the U.S. He stayed. Great! 😀 now", ["It", "He", "Great", "now"]),
    ],
)
def test_sentence_starts(text, expected):
    assert starts(text) == expected


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.data())
def test_sentence_starts_follow_what_is_kept_alone(text, data):
    """A hole counts as a word, whatever was in it: a mark that is drawn ends no sentence."""
    document = Document.parse(text)
    drawn = [data.draw(st.booleans()) for _ in document.tokens]
    others = [data.draw(st.sampled_from(["word", "Word", "7", "!", "."])) if d else None for d in drawn]
    tokens = [t.text if other is None else other for t, other in zip(document.tokens, others, strict=True)]
    gaps = [document.gap(i) for i in range(len(tokens) + 1)]
    other = Document.parse("".join(a + b for a, b in zip(gaps, [*tokens, ""], strict=True)))
    # Words without a blank between them are read as other tokens ("'" before "U.S.": "wordU.S" and "."), and then the
    # two texts do not keep the same.
    assume([t.text for t in other.tokens] == tokens and [other.gap(i) for i in range(len(gaps))] == gaps)
    assert other.skeleton(drawn).begins == document.skeleton(drawn).begins


def test_after_a_wide_full_stop_a_sentence_begins_without_a_blank():
    assert Skeleton(("a", "。", None, "。”", "b"), ("",) * 6).begins == (True, False, True, False, False)
    assert Skeleton(("a", ".", None), ("",) * 4).begins == (True, False, False)


def test_a_mark_that_is_drawn_ends_no_sentence():
    assert of("yes! cancer", {0, 1, 2}).begins == of("yes, cancer", {0, 1, 2}).begins == (True, False, False)


@pytest.mark.parametrize(
    ("text", "deleted", "expected"),
    [
        ("one \n two three four", {1, 2}, "one\n four"),
        ("one\n two three four", {1, 2}, "one\n four"),
        ("one two three four", {1, 2}, "one four"),
        ("one two\nthree four", {1, 2}, "one\nfour"),
        ("one, two three four", {2}, "one, three four"),
        ("one ,two three", {2}, "one , three"),
        ("one (two three)", {2}, "one (three)"),
    ],
)
def test_deleted_places_that_are_first_on_a_line_take_the_blanks_after_them(text, deleted, expected):
    document = Document.parse(text)
    assert splice(document, [Edit("" if i in deleted else None) for i in range(len(document.tokens))]).text == expected


def test_a_deleted_place_leaves_its_beginning_to_the_next():
    skeleton = of("One two three. Four five", {0, 1, 2, 4, 5})
    assert skeleton.starts() == (True, False, False, False, True, False)
    assert skeleton.starts({0, 1}) == (True, True, True, False, True, False)
    assert skeleton.starts({2, 4}) == (True, False, False, False, True, True)


# --- values and long texts


@pytest.mark.parametrize("value", [Edit("a"), Edit(after="b")])
def test_edits_are_values(value):
    same = dataclasses.replace(value)
    assert same == value and hash(same) == hash(value) and {same, value} == {value}
    assert pickle.loads(pickle.dumps(value)) == value
    assert type(value)(*dataclasses.astuple(value)) == value
    assert value != dataclasses.replace(value, text="c")
    assert not hasattr(value, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.text = "b"


@pytest.mark.slow
@pytest.mark.parametrize("edit", [Edit("x"), Edit(""), Edit("", "y"), Edit("x", "y")])
def test_long_texts_stay_linear(edit):
    """A square of the length would take minutes."""
    document = Document.parse("(a) 'b'\n" * 4_000)
    line = Document.parse("(a) 'b'\n")
    one, all_of_them = (splice(d, [edit] * len(d.tokens)).text for d in (line, document))
    assert all_of_them == "\n".join([one] * 4_000)
