"""Chances of whole rewrites, and what pictures show of a proposal, from the numbers of a few stated distributions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.explain import ProposalView
from dptext_core.mechanisms import likelihood
from dptext_core.mechanisms.config import option
from dptext_core.mechanisms.masked import dp_mlm_prior, masked_facets, masked_prepared, masked_words
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.words.word_prior import PriorMechanism
from dptext_core.privacy.distribution import ScoreTable, TokenDistribution


def stated(p, candidates="abc", **more) -> TokenDistribution:
    with np.errstate(divide="ignore"):
        return TokenDistribution(tuple(candidates), np.log(np.asarray(p, float)), None, 1.0, **more)


def test_the_chance_of_pieces_is_the_product_of_the_drawn_ones():
    """By the candidate where it is known, else by all that are written so; what is no draw has no chance."""
    tables = {
        "one": [stated([0.5, 0.3, 0.2]), stated([0.1, 0.1, 0.8]), stated([0.2, 0.6, 0.2], ["a", "b", "A"])],
        "two": [stated([0.1, 0.9, 0.0]), stated([0.3, 0.3, 0.4]), stated([0.5, 0.5, 0.0], ["a", "b", "A"])],
    }
    seen: list[Any] = []
    m = SimpleNamespace(title="M", likelihood=None)
    own = SimpleNamespace(m=m, given=lambda text, r: None if text == "none" else tables[text])

    def result(known, drawn=(True, True, True), text="a"):
        pieces = [SimpleNamespace(is_sampled=d, text=text) for d in drawn]
        return SimpleNamespace(releases=pieces, candidate=lambda i: known[i])

    task = SimpleNamespace(check=lambda: None, report=lambda *at: seen.append(at))
    results = [result([0, 2, 1]), result([1, 1, None]), result([2, 0, 0], (True, False, True)), result([2, 0, 0])]
    found = likelihood.by_pieces(own, ["one", "two"], results, task)  # type: ignore[arg-type]
    expected = [
        [0.5 * 0.8 * 0.6, 0.3 * 0.1 * (0.2 + 0.2), 0.2 * 0.2, 0.2 * 0.1 * 0.2],
        [0.1 * 0.4 * 0.5, 0.9 * 0.3 * 0.5, 0, 0],
    ]
    assert np.exp(found) == pytest.approx(np.array(expected)) and found.shape == (2, 4)
    assert seen[-1] == (8, 8)
    with pytest.raises(dpt.NoDistribution, match="no probability"):
        likelihood.by_pieces(own, ["one", "none"], results, task)  # type: ignore[arg-type]


def test_words_that_are_drawn_one_after_the_other_are_weighed_each_given_those_before():
    candidates = ("a", "b", "A", "c")
    base = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    asked: list[Any] = []

    def tables_given(draws, task):
        asked.append([(d.token, d.insert, dict(d.acts)) for d in draws])
        return [
            SimpleNamespace(
                at=lambda e, d=d: stated(base[d.token] if e == 1.0 + d.token else 0.0 * base[0], candidates)
            )
            for d in draws
        ]

    at = {"a": [0, 2], "b": [1], "c": [3]}
    m = SimpleNamespace(
        config=SimpleNamespace(order="sequential"),
        title="M",
        candidates=candidates,
        _planned=lambda p: p,
        epsilons=lambda p: (1.0, 2.0, 3.0),
        _order=lambda p, task: (2, 0, 1),
        _keep=lambda w: np.array(at.get(w.casefold(), ()), np.int64),
        tables_given=tables_given,
    )
    own = masked_facets.MaskedLikelihood(m)  # type: ignore[arg-type]
    found = own.in_places(None, [{0: "b", 1: "A", 2: "c"}, {0: "zzz", 1: "a", 2: "b"}, {0: "a", 1: "b", 2: "zzz"}])  # type: ignore[arg-type]
    assert np.exp(found) == pytest.approx([0.2 * (0.4 + 0.2) * 0.25, 0.0, 0.0])
    nothing = (None, None)
    assert asked == [
        [
            (2, False, {2: nothing}),
            (0, False, {2: ("c", None), 0: nothing}),
            (1, False, {2: ("c", None), 0: ("b", None), 1: nothing}),
        ]
    ]
    released = own.before.__func__(
        SimpleNamespace(
            in_turn=own.in_turn,
            m=SimpleNamespace(
                config=m.config,
                _planned=m._planned,
                _draw_in_step=lambda t, s: [{2: ("x", "y"), 0: (None, None), 1: ("z", None)}],
            ),
        ),
        None,
        None,
    )  # type: ignore[attr-defined]
    assert released == {2: (), 0: ((2, "x"),), 1: ((2, "x"),)}


def test_a_picture_of_a_proposal_has_what_the_text_adds_to_it():
    """Of a table of scores, and of a difference that is clipped by a law of ε."""
    candidates, keep = tuple("abcdefgh"), np.array([5, 2])
    base, scores = np.linspace(-3.0, 0.0, 8), np.linspace(-0.5, 0.0, 8)[::-1].copy()
    unit = SimpleNamespace(epsilon=4.0, text="c", original="f")
    table = ScoreTable(candidates, scores, "f", keep, log_base=base)

    def same(found, log_base, added, most):
        return vars_of(found) == vars_of([ProposalView.of(candidates, log_base, added, most, "c", "f", [5])])

    own = SimpleNamespace()
    assert same(dp_mlm_prior.DPMLMPrior._views(own, table, unit), base, 4.0 * scores, 2.0)  # type: ignore[arg-type]
    shape = dp_mlm_prior.PriorShape(0.5, -1.0, 3.0)
    shift = np.linspace(-2.0, 4.0, 8)
    channel = dp_mlm_prior.ShiftChannel(candidates, base, shift, lambda e: shape if e == 4.0 else None, "f", keep)
    added = 4.0 * (np.clip(shift, -1.0, 3.0) - 3.0) / 8.0
    assert same(dp_mlm_prior.DPMLMPrior._views(own, channel, unit), base / 0.5, added, 2.0)  # type: ignore[arg-type]
    words = SimpleNamespace(_channel_at=lambda p, i: table if i == 1 else None)
    prepared = SimpleNamespace(document=SimpleNamespace(words=["x", "f"]))
    assert same(PriorMechanism._views_in_place(words, prepared, 1, "c", 3.0), base, 3.0 * scores, None)  # type: ignore[arg-type]
    assert PriorMechanism._views_in_place(words, prepared, 0, "c", 3.0) == ()  # type: ignore[arg-type]


def vars_of(views):
    return [{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(view).items()} for view in views]


@pytest.mark.parametrize("order", ["parallel", "sequential"])
def test_scores_of_one_draw_are_those_of_its_place(order):
    asked: list[Any] = []
    prepared = SimpleNamespace(logits=lambda keys: asked.append(keys) or [["scores", *keys]])
    given = lambda draws: asked.append(draws) or [["given", *draws]]  # noqa: E731
    m = SimpleNamespace(config=SimpleNamespace(order=order), _logits_given=given)
    found = masked_words.MaskedWords.scores_at(m, prepared, {2: ("a", None)}, 3, True)  # type: ignore[arg-type]
    if order == "parallel":
        assert found == ["scores", (3, True)] and asked == [[(3, True)]]
    else:
        assert found == ["given", masked_prepared.Draw(prepared, {2: ("a", None)}, 3, True)] and len(asked) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("default", "ends", "kind"),
    [
        (5, (0, 9), "integer"),
        (5, (0.5, 9), "number"),
        (5, (0, 9.5), "number"),
        (5, (None, 9.0), "integer"),
        (0.5, (0, 1), "number"),
        (True, (None, None), "flag"),
        (5, (None, None), "integer"),
    ],
)
def test_a_whole_number_with_an_end_that_is_none_is_a_number(default, ends, kind):
    assert option_meta(option(default, label="x", help="y", min=ends[0], max=ends[1])).kind == kind
