"""Views refuse what does not fit together, and project the same way every time."""

from __future__ import annotations

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core import InputError
from dptext_core.explain import (
    CloudView,
    DiffractionView,
    GroupView,
    ListNeighbourhood,
    ProposalView,
    project,
    same_word,
)


def hood(name="list-1", words=("nurse", "doctor", "dentist"), candidate="nurse", offset=-1, first=-1):
    n = len(words)
    return ListNeighbourhood(name, words, np.arange(first, first + n), np.full(n, 0.9 / n), candidate, offset)


def group(**changes):
    values = dict(
        source="doctor",
        released_word="nurse",
        words=("doctor", "nurse"),
        similarities=[1.0, 0.5],
        probs=[0.7, 0.3],
        crowd=("doctor", "medic"),
        alone_share=0.033,
        groups=3608,
    )
    return GroupView(**(values | changes))


def cloud(**changes):
    values = dict(
        source="doctor",
        released_word="nurse",
        words=("doctor", "nurse"),
        xy=[[0, 0], [1, 0]],
        noise=[[0.1, 0.2]],
        landed=[0.6, 0.1],
        draws=100,
    )
    return CloudView(**(values | changes))


def test_the_arrays_of_a_view_are_its_own_and_read_only():
    probs = np.array([0.2, 0.5, 0.2])
    view = ListNeighbourhood("l", ["a", "b", "c"], [-1, 0, 1], probs, "a", -1)
    probs[0] = 9
    assert view.words == ("a", "b", "c") and view.probs[0] == 0.2 and view.offsets.dtype == np.int64
    for array in (view.probs, view.offsets, group().probs, cloud().xy, cloud().landed, cloud().noise):
        with pytest.raises(ValueError):
            array[0] = 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: hood(first=5),  # no original
        lambda: ListNeighbourhood("l", ("a", "b"), [0], [0.5, 0.5], "a", 0),
        lambda: ListNeighbourhood("l", ("a", "b"), [0, 0], [0.5, 0.5], "a", 0),
        lambda: ListNeighbourhood("l", ("a", "b"), [0, 0.5], [0.5, 0.5], "a", 0),
        lambda: ListNeighbourhood("l", ("a", "b"), [0, 1], [0.5, -0.1], "a", 0),
        lambda: ListNeighbourhood("l", ("a", "b"), [0, 1], [0.9, 0.9], "a", 0),
        lambda: ListNeighbourhood("l", ("a", "b"), [0, 1], [0.5, np.nan], "a", 0),
        lambda: hood(candidate="dentist"),  # the word at −1 is another
        lambda: DiffractionView("doctor", "nurse", (), 0),
        lambda: DiffractionView("doctor", "nurse", (hood(),), 1),
        lambda: DiffractionView("nurse", "nurse", (hood(),), 0),
        lambda: DiffractionView("doctor", "dentist", (hood(),), 0),
        lambda: group(words=(), similarities=[], probs=[]),
        lambda: group(similarities=[1.0]),
        lambda: group(probs=[0.8, 0.8]),
        lambda: group(crowd=("medic",)),
        lambda: group(released_word="patient"),
        lambda: group(alone_share=1.5),
        lambda: group(groups=0),
        lambda: cloud(words=("nurse", "doctor")),
        lambda: cloud(released_word="patient"),
        lambda: cloud(xy=[[0, 0]]),
        lambda: cloud(landed=[0.0]),
        lambda: cloud(noise=[[0.0, np.inf]]),
        lambda: cloud(noise=[0.0, 1.0]),
        lambda: cloud(draws=-1),
        lambda: cloud(dims=0),
        lambda: cloud(share=2.0),
    ],
)
def test_what_does_not_fit_together_is_refused(wrong):
    with pytest.raises(InputError):
        wrong()


def test_case_does_not_make_another_word():
    view = DiffractionView("Doctor", "Nurse", (hood(),), 0)
    assert view.lists[0].original == "doctor" and same_word("Nurse", "nurse")
    assert cloud(source="Doctor").source == "Doctor" and group(released_word="NURSE").released_word == "NURSE"


def test_a_candidate_outside_the_window_is_known_as_such():
    far = hood(candidate="lawyer", offset=-1204)
    assert far.outside and far.at(-1204) is None and not hood().outside and hood().at(1) == 2


def test_a_projection_is_the_plane_that_keeps_most():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 8)) * [5, 0.1, 3, 0.1, 0.1, 0.1, 0.1, 0.1] + 7
    found = project(x, origin=4)
    assert found.xy.shape == (30, 2) and np.array_equal(found.xy[4], [0, 0])
    assert np.allclose(np.abs(found.axes[:, [1, 3, 4, 5, 6, 7]]), 0, atol=0.1) and found.share > 0.99
    away = x - x[4]
    assert np.isclose(found.share, np.square(found.xy).sum() / np.square(away).sum())
    assert np.all(np.hypot(*found.xy.T) <= np.linalg.norm(away, axis=1) + 1e-9)
    for _ in range(20):  # no other plane keeps more
        other = np.linalg.qr(rng.normal(size=(8, 2)))[0]
        assert np.square(away @ other).sum() <= np.square(found.xy).sum()


def test_a_projection_is_deterministic_and_its_sign_is_fixed():
    x = np.random.default_rng(6).normal(size=(20, 12))
    a, b = project(x), project(x.copy())
    assert np.array_equal(a.xy, b.xy)
    order = np.r_[0, np.random.default_rng(7).permutation(np.arange(1, 20))]
    assert np.allclose(project(x[order]).xy, a.xy[order])
    for axis in a.axes:
        assert axis[np.abs(axis).argmax()] > 0 and np.isclose(np.linalg.norm(axis), 1)


def test_further_points_fall_on_the_same_axes():
    x = np.random.default_rng(8).normal(size=(10, 6)).astype(np.float32)
    found = project(x, origin=2)
    assert np.allclose(found.of(x), found.xy) and np.allclose(found.of(x[5]), found.xy[5])
    assert np.allclose(found.of(x[2] + found.axes[1]), [0, 1], atol=1e-6)
    with pytest.raises(InputError):
        found.of(np.zeros((3, 5)))


@pytest.mark.parametrize("x", [np.zeros((1, 4)), np.ones((3, 4)), np.array([[0.0], [2.0], [-3.0]])])
def test_too_few_words_or_dimensions_still_project(x):
    found = project(x)
    assert found.xy.shape == (len(x), 2) and np.isfinite(found.xy).all() and found.share == 1
    assert np.array_equal(found.of(x), found.xy)


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros((0, 3)), np.array([[np.nan, 1.0]])])
def test_a_projection_refuses_what_is_no_finite_matrix(x):
    with pytest.raises(InputError):
        project(x)
    with pytest.raises(InputError):
        project(np.ones((3, 2)), origin=3)


def proposal(**changes):
    values = dict(
        source="doctor",
        released_word="nurse",
        words=("nurse", "doctor"),
        proposed=[0.3, 0.1],
        shift=[2.0, 0.0],
        probs=[0.6, 0.1],
        most=2.5,
    )
    return ProposalView(**(values | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"shift": [3.0, 0.0]},
        {"shift": [-1.0, 0.0]},
        {"released_word": "other"},
        {"proposed": [0.9, 0.9]},
        {"most": -1.0},
        {"probs": [0.5]},
    ],
)
def test_a_proposal_that_does_not_fit_is_refused(changes):
    proposal()
    with pytest.raises(InputError):
        proposal(**changes)
    assert proposal(shift=[30.0, 0.0], most=None).most is None


def test_a_proposal_shows_the_likeliest_the_proposed_and_the_asked_for():
    words = tuple(f"w{i}" for i in range(50))
    log_base, added = np.linspace(0, -9, 50), np.linspace(-4, 0, 50) ** 3
    view = ProposalView.of(words, log_base, added, None, "W20", "w30", at=[30], n=5)
    both = np.exp(log_base + added)
    best = np.argsort(-both)[:5]
    assert set(view.words) == {words[i] for i in best} | {"w0", "w1", "w2", "w20", "w30"}
    assert list(view.probs) == sorted(view.probs, reverse=True)
    k = view.words.index("w20")
    assert view.probs[k] == pytest.approx(both[20] / both.sum())
    assert view.proposed[k] == pytest.approx(np.exp(log_base[20]) / np.exp(log_base).sum())
    assert view.shift[k] == pytest.approx(added[20] - added.min())


@pytest.mark.parametrize("options", [{}, {"shift_min": -1.0, "shift_max": 2.0}, {"order": "sequential"}])
def test_a_proposal_and_its_shift_give_the_chance(tiny_model, options):
    m = dpt.get_mechanism("dp-mlm-prior", model=tiny_model, epsilon=9.0, **options)
    result = m.rewrite("The doctor told my friend that the pain was bad.", seed=2)
    (view,) = result.views(4)
    d = result.distribution(4)
    assert view.probs == pytest.approx([d.p(w) for w in view.words]) and view.most == 4.5
    # Both columns multiply to the chance, up to one factor.
    factor = np.log(view.proposed) + view.shift - np.log(view.probs)
    assert np.ptp(factor) == pytest.approx(0, abs=1e-9)
    assert {view.source, view.released_word.lower()} <= set(view.words) | {result.steps[4].text.lower()}
