"""Parts of audits that one can work out by hand, each from a few numbers and without what stands around it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from scipy.stats import beta

from dptext_core.auditing import (
    batches,
    distance,
    exact,
    fit_statistics,
    goodness_of_fit,
    inputs,
    latent,
    long_texts,
    output_events,
    outputs,
    release_statistics,
    rewriting,
    rules,
    sampled,
    vocabulary,
)
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.inputs import Meter, Probe
from dptext_core.auditing.report import AuditReport, format_share
from dptext_core.errors import InputError
from dptext_core.measure.budget import Budget
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.privacy.terms import Metric, ProtectedUnit

STREAM = NoiseStream(6)
LEVEL = release_statistics.LEVEL


def stated(log_p, **more) -> TokenDistribution:
    log_p = np.asarray(log_p, float)
    return TokenDistribution(tuple("abcdefg"[: len(log_p)]), log_p, "x", 1.0, **more)


# --- distances


def test_distances_in_the_shape_of_the_vectors_are_those_of_mahalanobis():
    """The covariance is scaled to a mean variance of 1, and mixed with that of round noise."""
    x = np.random.default_rng(2).normal(size=(12, 3)) * [1.0, 2.0, 0.3]
    space = SimpleNamespace(words=tuple("abcdefghijkl"), vectors=x.astype(np.float32))
    m = SimpleNamespace(by_word=SimpleNamespace(vocabulary=space), language=None)
    x = space.vectors.astype(np.float64)
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / 11
    for lam in (1.0, 0.25, 0.0):
        matrix = lam * covariance * 3 / np.trace(covariance) + (1 - lam) * np.eye(3)
        metric = Metric("mahalanobis", lam=lam, space="own")
        guarantee = Guarantee("metric", 1.0, "word", "any", 1, 1.0, metric=metric)
        found = distance.named_distances(m, guarantee, ["c", "zzz", "A", "l"])
        assert found is not None and np.isnan(found[1]).all() and np.isnan(found[:, 1]).all()
        for i, a in ((0, 2), (2, 0), (3, 11)):
            for j, b in ((0, 2), (2, 0), (3, 11)):
                assert found[i, j] == pytest.approx(mahalanobis(x[a], x[b], np.linalg.inv(matrix)), abs=1e-9)


def test_on_shorter_lists_a_window_is_smaller():
    lists = [SimpleNamespace(words=tuple(names)) for names in ("abcdefghij", "jABcd")]
    gamma = 4.5
    found = distance._places(lists, ["a", "d", "J", "zz"], gamma)
    short = gamma * math.log(999 * 4) / math.log(999 * 9)
    assert 3 < short < 4.5
    assert found[0, 1] == max(min(3, gamma), min(3, short)) and found[1, 2] == pytest.approx(max(gamma, min(4, short)))
    assert found[0, 2] == pytest.approx(gamma) and found[0, 0] == 0.0
    assert distance._places(lists, ["a", "d", "J"])[1, 2] == 6.0
    assert np.isnan(found[0, 3])


# --- lists and long texts


@pytest.mark.parametrize(("leak", "where"), [(None, ""), ("all", "all places"), (7, "place 8")])
def test_guesses_in_lists_are_counted_for_each_place_and_for_all(leak, where, monkeypatch):
    texts = [f"word{k}" for k in range(batches.BATCH)]
    asked: list[int] = []

    def called(subject, m, some, stream, call):
        asked.append(call)
        told = lambda i: leak == "all" or leak == i  # noqa: E731
        return [SimpleNamespace(text=t if told(i) else "nothing") for i, t in enumerate(some)]

    monkeypatch.setattr(batches, "_rewrite_batch", called)
    monkeypatch.setattr(batches, "GUESSED", 8)
    monkeypatch.setattr(batches, "success_bound", lambda m, texts: 0.05)
    m = SimpleNamespace(config=SimpleNamespace(epsilon=0.5))
    check = batches._by_guesses(SimpleNamespace(meter=Meter()), m, texts, STREAM)  # type: ignore[arg-type]
    assert asked == list(range(8)) and check.draws == 8 * 32
    if leak is None:
        assert check.status == "tested" and check.leak == release_statistics.least_share(8, 0.05, LEVEL / 33)
        everywhere = release_statistics.least_share(256, 0.05, LEVEL / 33)
        assert everywhere is not None and f"all places is detected if {format_share(everywhere)}" in check.description
        assert check.description.startswith("256 texts in lists of 32, as for data sets, at ε = 0.5. A leak")
    else:
        assert check.status == "refuted" and check.witness is not None
        n = 256 if leak == "all" else 8
        assert f"In lists of 32 texts, the words of a rewrite at {where}" in check.witness.details
        assert f"in {n} of {n} guesses. The guarantee allows 5.0% (ε = 0.5)." in check.witness.details
        assert (check.witness.first, check.witness.second) == ("word0", "word1")


def draws_at(hits_at, n=400, times=4, chance=0.02):
    return [SimpleNamespace(place=p, hit=p in hits_at, chance=chance) for _ in range(times) for p in range(0, n, 2)]


@pytest.mark.parametrize(
    ("hits", "tokens"),
    [
        ((), None),
        ((100,), None),
        (range(64, 80), "tokens 65 to 80"),
        (range(390, 400), "tokens 393 to 399"),
        (range(0, 400), "tokens 1 to 399"),
    ],
)
def test_where_words_of_a_long_text_come_through_is_found(hits, tokens):
    m = SimpleNamespace(config=SimpleNamespace(epsilon=2.0))
    check = long_texts._judge(m, "x " * 150, draws_at(hits), 4)  # type: ignore[arg-type]
    assert check is not None and check.draws == 800
    looked = "A text of 399 tokens, 200 of them sampled, rewritten 4 times at ε = 2"
    if tokens is None:
        assert check.status == "tested" and check.description.startswith(
            f"{looked}. A leak at one token would not be detected. "
        )
        spans = 200 + 25 + 50
        late = release_statistics.least_share(4 * 9, 0.02, LEVEL / spans)
        assert (
            late is not None
            and f"the last 16 tokens is detected if {format_share(late)} of the draws there leak" in check.description
        )
        assert check.leak == late and "anything after token 399" in check.blind
    else:
        assert check.status == "refuted" and check.witness is not None and check.description == f"{looked}."
        assert f"draws at {tokens} were unchanged" in check.witness.details, check.witness.details
        assert check.witness.first == "x " * 100 + "…"
    assert long_texts._judge(m, "x", [], 4) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("leak", [True, False])
def test_long_texts_that_are_named_by_their_rewrites(leak, monkeypatch):
    texts = [f"{'the ' * 60}last{k}" for k in range(32)]
    monkeypatch.setattr(long_texts, "success_bound", lambda m, texts: 0.25)
    listed = lambda m, some, noise: [SimpleNamespace(text=t if leak else "zz") for t in some]  # noqa: E731
    subject = SimpleNamespace(rewriter=SimpleNamespace(listed=listed))
    m = SimpleNamespace(config=SimpleNamespace(epsilon=1.0))
    check = long_texts._by_guesses(subject, m, texts, STREAM)  # type: ignore[arg-type]
    assert check.draws == 20 and check.description.startswith("20 texts of 700 tokens, rewritten at ε = 1")
    if leak:
        assert check.status == "refuted" and check.witness is not None
        assert "in 20 of 20 guesses; the guarantee allows 25.0% (ε = 1)." in check.witness.details
        assert (check.witness.first, check.witness.second) == (texts[0][-120:], texts[1][-120:])
    else:
        least = release_statistics.least_share(20, 0.25, LEVEL)
        assert (
            check.status == "tested"
            and check.leak == least
            and f"detected if {format_share(least or 1)} of them" in check.description
        )


# --- what was released


def a_text(**more) -> Any:
    d = stated(np.log([0.5, 0.3, 0.2]))
    tokens = [SimpleNamespace(text=t) for t in "abc"]
    given = {"per_draw": False, "once": False, "stated": {0: d, 2: d}, "first": {0: 0, 2: 2}, "shared": {0: 0, 2: 2}}
    given |= more
    return SimpleNamespace(m=None, document=SimpleNamespace(tokens=tokens), **given)


def test_words_that_are_left_out_or_followed_by_others_are_counted_at_each_place(monkeypatch):
    monkeypatch.setattr(
        fit_statistics,
        "require_alignment",
        lambda m: SimpleNamespace(deletion_probability=0.1, insertion_probability=0.25),
    )
    counts = fit_statistics.Counts(n=40, deleted={0: 9}, added={0: 10, 2: 21})
    fits = fit_statistics.fits_of(a_text(), "a way", counts, {}, {})
    expected = [("left out", 0, 9, 0.1), ("left out", 2, 0, 0.1)]
    expected += [("followed by an added word", 0, 10, 0.25), ("followed by an added word", 2, 21, 0.25)]
    assert [(f.key, f.p, f.share, f.log_p, f.place) for f in fits] == [
        ((what, i), fit_statistics._tail(hits, 40, p), hits / 40, math.log(p), i) for what, i, hits, p in expected
    ]
    monkeypatch.setattr(
        fit_statistics,
        "require_alignment",
        lambda m: SimpleNamespace(deletion_probability=0.0, insertion_probability=0.0),
    )
    assert fit_statistics.fits_of(a_text(), "a way", counts, {}, {}) == []


def test_words_whose_chances_differ_by_draw_are_held_against_their_mean():
    counts = fit_statistics.Counts(n=9, unchanged=7, expected=5.0, samples=20)
    (fit,) = fit_statistics.fits_of(a_text(per_draw=True), "a way", counts, {}, {})
    assert (fit.key, fit.p, fit.share, fit.log_p) == (
        ("stays",),
        fit_statistics._tail(7, 20, 0.25),
        0.35,
        math.log(0.25),
    )
    (none,) = fit_statistics.fits_of(a_text(per_draw=True), "a way", fit_statistics.Counts(), {}, {})
    assert none.p == 1.0 and none.share == 0.0 and none.log_p == -math.inf


def test_words_of_a_rewrite_are_read_with_what_was_released_before_them():
    d = {i: f"stated {i}" for i in (0, 2, 3, 4)}
    step = lambda index, word, action="replace": SimpleNamespace(  # noqa: E731
        index=index, original=word, replacement=word.upper() + "!", action=action
    )
    steps = [step(0, "A"), step(1, "b", "keep"), step(2, "c"), step(3, "a"), step(4, "d")]
    chances = SimpleNamespace(after=lambda prepared, i, before: (i, before))

    def read(steps, order=(), unit="word", known=chances):
        stated = SimpleNamespace(unit=ProtectedUnit.of(unit))
        result = SimpleNamespace(steps=steps, guarantee=stated, distribution=lambda k: f"own {k}")
        reader = SimpleNamespace(
            m=SimpleNamespace(likelihood=known),
            _order=lambda p: list(order),
            stated=lambda p, i: d.get(i),
            _observe=lambda place, d, word, others, at: (place, d, word, others, at),
        )
        return list(release_statistics.ReleaseReader.of_words(reader, None, result))  # type: ignore[arg-type]

    plain = [(i, d[i], f"{w}!", (w,), None) for i, w in ((0, "a"), (2, "c"), (3, "a"), (4, "d"))]
    assert read(steps) == plain and read(steps, (4, 0, 2, 3), known=None) == plain
    assert read(steps, unit="distinct word") == [plain[k] for k in (0, 1, 3)]
    # The fourth is drawn first, so that nothing is before it.
    assert [s[1] for s in read(steps, (4, 0, 2))] == [
        (0, [(4, "D!")]),
        (2, [(4, "D!"), (0, "A!")]),
        "stated 3",
        "stated 4",
    ]
    edited = [*steps[:2], step(1, "x", "insert"), step(2, "c", "delete"), *steps[3:]]
    found = read(edited, (4, 0, 3))
    assert [(s[0], s[1]) for s in found] == [(0, "own 0"), (3, "own 4"), (4, "own 5")]


def test_a_text_is_rewritten_again_in_the_same_way():
    said: list[Any] = []
    m = SimpleNamespace(
        prepare=lambda text, task: f"prepared {text}",
        rewrite=lambda what, stream, task: said.append(("rewrite", what)) or [what],
        rewrites=lambda what, n, stream, task: said.append(("rewrites", what, n)) or [what] * n,
        rewrite_each=lambda what, stream, task: said.append(("each", what)) or iter(what),
    )
    for way in (rewriting.TEXT, rewriting.PREPARED, rewriting.FRESH, rewriting.LIST, "lists, one by one"):
        rewriting._repeat_rewrites(m, way, "t", 3, STREAM, None)  # type: ignore[arg-type]
    assert said == [
        ("rewrite", "t"),
        ("rewrite", "prepared t"),
        ("rewrites", "t", 3),
        ("rewrite", ["t"] * 3),
        ("each", ["t"] * 3),
    ]


def test_what_lies_deeper_than_a_sampler_is_told_with_its_chance():
    fine, deep = stated([0.0, -700.0]), stated([0.0, -730.0, -math.inf, -725.0])
    probes = [Probe("one", None, "w", fine, None, 0, True), Probe("two", "at", "v", deep, None, 0, True)]  # type: ignore[arg-type]
    assert exact.too_deep(probes[:1]) is None
    w = exact.too_deep(probes)
    assert w is not None and (w.first, w.second, w.outputs, w.first_at, w.kind) == (
        "two",
        "two",
        ("b",),
        "at",
        "release",
    )
    assert (w.log_p_first, w.log_p_second, w.distance) == (-730.0, -math.inf, 0.0)
    assert w.details.startswith("“b” is stated to have a probability of e^-730 under “v”, but the sampler only")
    estimate = Probe("two", None, "v", stated([0.0, -730.0], draws=9), None, 0, True)  # type: ignore[arg-type]
    assert exact.too_deep([estimate]) is None
    reaches = stated([0.0, -800.0], depth=1e6)
    assert exact.too_deep([Probe("x", None, "w", reaches, None, 0, True)]) is None  # type: ignore[arg-type]


def test_a_budget_in_words():
    plan = lambda values, drawn, shows=(): Budget(values, drawn, (0.5,) * len(drawn), 5.0, "hand", shows).sentence()  # noqa: E731
    assert plan((9.0, 2.5, 2.5), (1, 2)) == "2 words, ε = 2.5 per word, together ε = 5."
    exposing = plan((2.0, 9.0, 3.0), (0, 2), ("x",))
    assert exposing == "2 words, between ε = 2 and 3 per word, together ε = 5. This reveals x."
    assert plan((5.0,), (0,)) == "1 word, ε = 5 per word, together ε = 5."
    assert Budget((1.0, 4.0), (0, 1), (0.2, 0.8), 5.0, "hand").sum == 5.0


# --- verdicts on whole outputs

FOUND = AuditReport("m", 2.0, "pure", 2.0, 0.0, True, 0.0, "", "", None, "", 0, 0, (), 0, None, 0.95)


def whole_outputs(monkeypatch, claim=None, notion="pure", total=2.0, delta=0.0, pairs=True, draws=200, **found):
    """The verdict where the parts of an audit of whole outputs come to what is given; and what they were asked."""
    more = {"reason": "of that."} if notion == "none" else {"metric": "m"} if notion == "metric" else {}
    guarantee = Guarantee(notion, total, "piece", "any", 1, total, delta=delta, **more)
    asked: list[Any] = []
    text = lambda *a: output_events.OutputSample(a[1], guarantee, ({}, {}), None, Counter())  # noqa: E731
    monkeypatch.setattr(outputs, "sample_outputs", lambda *a: asked.append(a[-2:]) or text(*a))
    monkeypatch.setattr(outputs, "find_misstatement", lambda *a: found.get("misstated"))
    monkeypatch.setattr(outputs, "first_pieces", lambda report, *a: (report, found.get("first")))
    monkeypatch.setattr(outputs, "every_piece", lambda report, *a: found.get("whole"))
    stated = found.get("stated", {})
    monkeypatch.setattr(outputs, "_latent_limits", lambda *a: asked.append(a[-1]) or stated)
    shown = {"measured": found.get("measured", 0.0), "detectable": found.get("detectable", 9.0), "tested": "Draws."}

    def bounded(report, texts, limits, half, meter, level=None):
        asked.append((half, level))
        return replace(report, **shown | ({"measured": found.get("against", 0.0)} if level else {}))

    monkeypatch.setattr(outputs, "bounded_loss", bounded)
    exact_ = found.get("exact")
    latent_ = lambda report, *a: report if exact_ is None else replace(report, exact=True, measured=exact_)  # noqa: E731
    monkeypatch.setattr(outputs, "_latent", latent_)
    m = SimpleNamespace(
        prepare=lambda t, task: SimpleNamespace(text=t),
        audit_support=SimpleNamespace(adjacent=lambda a, b: pairs and {a, b} != {"b", "c"}),
        likelihood=None,
    )
    subject = Subject(m, guarantee, ["a", "b", "c"], STREAM, Meter(), claim=claim, draws=draws)  # type: ignore[arg-type]
    report = outputs.audit_outputs(FOUND, subject)
    return report, asked


def test_whole_outputs_hold_where_nothing_speaks_against_it(monkeypatch):
    report, asked = whole_outputs(monkeypatch)
    assert (report.verdict, report.claimed, report.delta, report.notion) == ("holds", 2.0, 0.0, "pure")
    assert (report.inputs, report.pairs, report.draws, report.of) == (
        3,
        2,
        600,
        "the whole output",
    ) and not report.exact
    limits = {pair: (2.0, 0.0) for pair in ((0, 1), (0, 2), (1, 0), (2, 0))}
    assert asked == [(0.0, 1 / 3), (1 / 3, 1 / 3), (2 / 3, 1 / 3), (100, None), limits, (100, 2.5e-8 / 8)]
    report, asked = whole_outputs(monkeypatch, claim=0.5)
    assert (report.claimed, report.pairs) == (0.5, 3) and asked[4] == {
        (a, b): (0.5, 0.0) for a in range(3) for b in range(3) if a != b
    }


@pytest.mark.parametrize(
    ("given", "verdict", "reason"),
    [
        ({"measured": 2.0 + 1e-9}, "holds", ""),
        ({"measured": 2.0 + 4e-9}, "refuted", ""),
        ({"against": 9.0}, "holds", ""),
        ({"against": 2.0 + 9e-9, "stated": {(0, 1): (1.0, 0.0)}}, "refuted", outputs._UNDERSTATED),
        ({"against": 2.0 + 1e-9, "stated": {(0, 1): (1.0, 0.0)}}, "holds", ""),
        ({"exact": 2.0 + 9e-9}, "refuted", ""),
        ({"exact": 2.0}, "holds", ""),
        ({"notion": "none", "claim": 3.0}, "holds", ""),
        ({"notion": "none", "claim": None}, "inconclusive", "there is no guarantee: of that."),
        ({"notion": "metric"}, "inconclusive", "the guarantee counts distances between words"),
        ({"notion": "metric", "claim": 2.0}, "holds", ""),
        ({"pairs": False}, "inconclusive", "the guarantee covers no two of these texts"),
        ({"detectable": 1.9}, "inconclusive", "with 200 rewrites of each text, the largest detectable loss is"),
        ({"detectable": 1.9, "exact": 1.0}, "holds", ""),
        ({"detectable": 2.0}, "holds", ""),
        ({"delta": 1e-9}, "inconclusive", "δ = 1e−9 allows failures too rare to detect: 100 rewrites"),
        ({"delta": 1e-9, "exact": 1.0}, "holds", ""),
        ({"delta": 0.5}, "holds", ""),
        ({"misstated": ("w", "wrong.")}, "refuted", "wrong."),
        ({"first": replace(FOUND, verdict="refuted", reason="one")}, "refuted", "one"),
        ({"whole": replace(FOUND, verdict="refuted", reason="all")}, "refuted", "all"),
        ({"whole": replace(FOUND, tested="Pieces."), "detectable": 0.0}, "holds", ""),
    ],
)
def test_what_parts_of_whole_outputs_come_to(given, verdict, reason, monkeypatch):
    notion = "approx" if given.get("delta") else given.get("notion", "pure")
    report, _ = whole_outputs(monkeypatch, **given | {"notion": notion})
    assert report.verdict == verdict and report.reason.startswith(reason), report.reason
    assert bool(reason) == bool(report.reason)
    if "misstated" in given:
        assert (report.witness, report.sampler_p) == ("w", 0.0)
    if "whole" in given and verdict == "holds":
        assert report.tested == "Pieces. Draws."
    if reason == outputs._UNDERSTATED:
        assert report.of == "its stated noise"
    if given.get("notion") == "metric" and verdict == "inconclusive":
        assert report.pairs == 0


# --- the worst fit is looked at again


@pytest.mark.parametrize(
    ("first", "again", "p", "breach"),
    [
        (0.5, None, 1.0, False),
        (0.0051, None, 0.0102, False),
        (0.004, 0.3, 0.3, False),
        (0.004, 1e-5, 1e-5, False),
        (0.004, 0.9e-6, 0.9e-6, True),
        (1e-30, 1.1e-6, 1.1e-6, False),
        (1e-30, "gone", 1.0, False),
    ],
)
def test_the_worst_fit_decides_by_draws_of_its_own(first, again, p, breach, monkeypatch):
    asked: list[tuple[str, int]] = []
    text = a_text(per_draw=False, ways={"one": 40, "fresh draws": 60}, forms=None, text="a b")
    text.m = SimpleNamespace(config=SimpleNamespace(epsilon=1.0))
    fit = lambda p, key: fit_statistics.Fit(p, text, "one", key, 0, f"“{key[0]}”", 0.25, math.log(0.5), "words")  # noqa: E731

    def look(text, way, n, seeds, rewriter, out):
        asked.append((way, n))
        if n > 60:
            return [fit(1e-9, ("other",)), *([] if again == "gone" else [fit(again, ("worst",))])]
        return [fit(first, ("worst",))] if way == "one" else [fit(0.9, ("other",))]

    monkeypatch.setattr(goodness_of_fit, "_texts", lambda *a: [text])
    monkeypatch.setattr(goodness_of_fit, "_check_independence", lambda *a: None)
    monkeypatch.setattr(goodness_of_fit, "_same_name", lambda *a: None)
    monkeypatch.setattr(goodness_of_fit, "with_small_epsilon", lambda m: m)
    monkeypatch.setattr(goodness_of_fit, "smallest_leak", lambda text, n, fits: 0.01 * n / fits)
    monkeypatch.setattr(goodness_of_fit, "_look", look)
    out = goodness_of_fit.check_releases(text.m, [], 500, STREAM, Meter(), None)  # type: ignore[arg-type]
    assert asked == [("one", 40), ("fresh draws", 60)] + [("one", 240)] * (again is not None)
    assert out.p == pytest.approx(p) and (out.texts, out.each) == (1, 60)
    assert (out.leak, out.leak_fresh, out.leak_epsilon) == (0.3, 0.3, 1.0)
    assert (out.breach is not None) == breach and bool(out.reason) == breach
    if breach:
        assert out.breach is not None and out.breach.details == (
            "For “a” in “a b” (entry point: one), “worst” occurred in 25.0% of the draws; the stated distribution "
            "gives it 50.0%."
        )
        assert (out.breach.log_p_first, out.breach.log_p_second) == (math.log(0.25), math.log(0.5))


def test_draws_that_fall_together_and_those_at_another_epsilon_are_told():
    m = SimpleNamespace(config=SimpleNamespace(epsilon=0.125))
    text = a_text(text="a\nb", per_draw=False)
    text.m = m
    fit = fit_statistics.Fit(1e-9, text, "a list", ("k",), None, "“a” and “b”", 0.876, -math.inf, "together")
    w = fit_statistics.describe_fit(fit, m)  # type: ignore[arg-type]
    assert w.details == (
        "In “a b” (entry point: a list), “a” and “b” were not sampled independently: their quantiles "
        "have a correlation of 0.88."
    )
    assert w.first_at is None and w.kind == "sampler" and w.outputs == ("“a” and “b”",)
    stays = fit_statistics.Fit(1e-9, text, "a list", ("k",), 2, "the word itself", 0.0, math.log(1e-5), "stays")
    w = fit_statistics.describe_fit(stays, SimpleNamespace())  # type: ignore[arg-type]
    assert w.details.startswith("For “c” in “a b” (entry point: a list) at ε = 0.125, the word itself occurred in ")
    assert w.log_p_first == -math.inf and w.first_at == w.second_at == "c"


# --- rules of a release


def release_of(steps, total=3.0, **more) -> Any:
    guarantee = Guarantee("pure", 1.0, "word", "any", 3, total, **more)
    return SimpleNamespace(steps=steps, guarantee=guarantee)


def a_step(index, action, replacement="", epsilon=1.0) -> Any:
    return SimpleNamespace(index=index, action=action, replacement=replacement, epsilon=epsilon)


FINE = [a_step(0, "replace", "x"), a_step(1, "keep", "b", 0.0), a_step(2, "replace", "y")]


@pytest.mark.parametrize(
    ("steps", "total", "told"),
    [
        (FINE, 3.0, ""),
        (FINE[:2], 3.0, ""),
        (
            [a_step(0, "keep", "a", 0.0), *FINE[1:]],
            3.0,
            "“a” in “a b c” (entry point: w) should be sampled, but was unchanged without a draw",
        ),
        (
            [a_step(0, "delete"), *FINE[1:]],
            3.0,
            "“a” in “a b c” (entry point: w) should be sampled, but was deleted.",
        ),
        ([FINE[0], a_step(1, "replace", "z", 0.0), FINE[2]], 3.0, "should be unchanged, but “z” was released for it."),
        ([FINE[0], a_step(1, "delete", "", 0.0), FINE[2]], 3.0, "should be unchanged, but “” was released for it."),
        (
            [*FINE, a_step(0, "insert", "n", 0.0)],
            3.0,
            "After “a” in “a b c” (entry point: w), a word without a stated distribution was added",
        ),
        ([*FINE[:2], a_step(2, "replace", "y", 2.0)], 3.0, ""),
        (
            [*FINE[:2], a_step(2, "replace", "y", 2.1)],
            3.0,
            "states a total of 3, its words spend 3.1, and the guarantee",
        ),
        (FINE, 2.9, "states a total of 2.9, its words spend 2, and the guarantee of the text says 3."),
    ],
)
def test_what_a_release_shows_of_its_words_is_what_is_stated(steps, total, told, monkeypatch):
    monkeypatch.setattr(
        goodness_of_fit,
        "require_alignment",
        lambda m: SimpleNamespace(deletion_probability=0.0, insertion_probability=0.0),
    )
    text = a_text(text="a b c", guarantee=Guarantee("pure", 1.0, "word", "any", 3, 3.0))
    look = lambda of: goodness_of_fit._follows(  # noqa: E731
        text, "w", release_of(of, total), {s.index: s for s in of if s.action != "insert"}, {1: "keep"}
    )
    if not told:
        return look(steps)
    with pytest.raises(goodness_of_fit.Breach) as breach:
        look(steps)
    assert told in breach.value.witness.details, breach.value.witness.details


@pytest.mark.parametrize(("deleted", "added"), [(0.1, 0.0), (0.0, 0.1), (0.1, 0.1)])
def test_words_may_be_left_out_or_added_where_that_has_a_chance(deleted, added, monkeypatch):
    monkeypatch.setattr(
        goodness_of_fit,
        "require_alignment",
        lambda m: SimpleNamespace(deletion_probability=deleted, insertion_probability=added),
    )
    text = a_text(text="a b c", guarantee=Guarantee("pure", 1.0, "word", "any", 3, 3.0))

    def fine(*steps) -> bool:
        try:
            goodness_of_fit._follows(
                text, "w", release_of(steps), {s.index: s for s in steps if s.action != "insert"}, {}
            )
        except goodness_of_fit.Breach:
            return False
        return True

    assert fine(a_step(0, "delete"), *FINE[1:]) == (deleted > 0) and fine(*FINE, a_step(2, "insert", "n")) == (
        added > 0
    )
    assert not fine(*FINE, a_step(1, "insert", "n", 0.0)), "after a word that stays nothing is added"


def test_a_word_that_cannot_come_out_is_told_with_how_it_would_be_written():
    m = SimpleNamespace(
        config=SimpleNamespace(recase="sentence"),
        language=SimpleNamespace(case=lambda word, begins: word.title() if begins else word),
    )
    d = stated(np.log([0.5, 0.5]))
    text = a_text(text="a b", per_draw=False)
    text.m, text.forms = m, fit_statistics._Forms({}, {}, {})
    text.bare_word = str.casefold
    d = TokenDistribution(("other", "apple"), np.log([0.5, 0.5]), "x", 1.0)
    breach = goodness_of_fit._impossible(text, "w", 2, d, "APPLE", False)
    assert breach.witness.details == (
        "“APPLE” was released for “c” in “a b” (entry point: w): the correct spelling is “apple”, because capital "
        "letters depend only on the place."
    )
    other = goodness_of_fit._impossible(text, "w", 2, d, "z", True)
    assert other.witness.details.endswith("it is none of the 2 words that are stated to be possible there.")
    assert other.witness.first_at == "c"


# --- events of whole outputs


def halves(**kinds) -> Any:
    """Of each kind of event how often it came in each half."""
    return tuple({k: Counter({"yes": both[i]}) for k, both in kinds.items()} for i in (0, 1))


def whole(name, delta=0.0, **kinds) -> Any:
    guarantee = Guarantee("approx", 1.0, "piece", "any", 1, 1.0, delta=delta)
    return output_events.OutputSample(SimpleNamespace(text=name), guarantee, halves(**kinds), None, Counter())  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [None, 1e-4])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_loss_of_whole_outputs_is_bounded_by_the_event_that_shows_most_of_its_limit(level, delta):
    half = 200
    texts = [
        whole("one", **{"word a": (150, 160), "blanks": (30, 20), "first": (100, 90)}),
        whole("two", **{"word a": (20, 10), "blanks": (90, 100), "first": (100, 110)}),
        whole("three", **{"word a": (150, 150), "blanks": (10, 4)}),
    ]
    limits = {(0, 1): (1.0, delta), (1, 0): (0.1, delta), (0, 2): (9.0, delta), (2, 1): (math.inf, delta)}
    alpha = 0.05 / 16 if level is None else level

    def value(a, b, kind) -> float:
        k, n = (texts[i].halves[1].get(kind, Counter())["yes"] for i in (a, b))
        low = float(beta.ppf(alpha, k, half - k + 1)) if k else 0.0
        high = float(beta.ppf(1 - alpha, n + 1, half - n))
        return math.log((low - delta) / high) if low > delta else -math.inf

    found = [
        (value(a, b, kind) - (allowed if allowed < 99 else 0), value(a, b, kind), a, b, kind)
        for (a, b), (allowed, _) in limits.items()
        for kind in texts[a].halves[0]
    ]
    _, most, a, b, kind = max(found)
    report = output_events.bounded_loss(FOUND, texts, limits, half, Meter(), level)
    assert report.measured == pytest.approx(max(0.0, most)) and (report.claimed, report.delta) == limits[a, b]
    assert report.detectable == sampled.could_show(half, alpha, delta)
    assert report.tested.startswith("400 whole rewrites of each of 3 texts, compared by features")
    w = report.witness
    assert w is not None and (w.first, w.second, w.outputs, w.distance) == (
        texts[a].prepared.text,
        texts[b].prepared.text,
        ("yes",),
        1.0,
    )
    message = output_events.EVENTS[kind.split()[0]] + (" “a”" if kind == "word a" else " “yes”")
    assert f"Rewrites of “{w.first}” {message} with probability at least " in w.details
    assert output_events.bounded_loss(FOUND, texts, {}, half, Meter(), level) is FOUND


def test_of_many_values_those_are_counted_together_that_tell_most():
    one, other = Counter(a=40, b=40, c=20), Counter(a=2, b=2, c=96)
    texts = [
        output_events.OutputSample(SimpleNamespace(text=n), None, ({"last": c}, {"last": c}), None, Counter())
        for n, c in (("x", one), ("y", other))
    ]  # type: ignore[arg-type]
    report = output_events.bounded_loss(FOUND, texts, {(0, 1): (1.0, 0.0)}, 100, Meter(), 0.01)
    low, high = float(beta.ppf(0.01, 80, 21)), float(beta.ppf(0.99, 5, 96))
    assert report.measured == pytest.approx(math.log(low / high)) and report.witness is not None
    assert report.witness.outputs == ("a", "b")
    assert "end with “a” or one other with probability" in report.witness.details


def test_the_noise_behind_outputs_is_looked_at_where_it_exceeds_its_limit_most():
    texts = [whole("one", 0.01), whole("two", 0.02), whole("three")]
    loss = {(0, 1): 1.5, (1, 0): 1.0, (0, 2): 3.0}
    m = SimpleNamespace(audit_support=SimpleNamespace(latent_loss=lambda a, b: loss.get((a.i, b.i))))
    for i, t in enumerate(texts):
        t.prepared.i = i  # type: ignore[attr-defined]
    limits = {(0, 1): (1.0, 0.02), (1, 0): (2.0, 0.02), (0, 2): (2.9, 0.01)}
    stated_ = outputs._latent_limits(m, texts, limits)  # type: ignore[arg-type]
    assert stated_ == {(0, 1): (1.5, 0.02), (1, 0): (1.0, 0.02), (0, 2): (3.0, 0.01)}
    assert outputs._latent_limits(m, texts, limits | {(0, 1): (1.0, 0.01)}) == {}, "a δ that is smaller"  # type: ignore[arg-type]
    assert outputs._latent_limits(m, texts, limits | {(2, 0): (1.0, 0.5)}) == {}, "a loss that is not stated"  # type: ignore[arg-type]
    report = outputs._latent(FOUND, texts, limits, stated_)
    assert (report.measured, report.claimed, report.exact) == (1.5, 1.0, True) and report.witness is not None
    assert (report.witness.first, report.witness.second, report.witness.log_p_second) == ("one", "two", -1.5)
    assert (
        report.witness.details
        == "The vectors of “one” and “two” are so far apart that no ε below 1.5 holds with δ = 0.02."
    )
    pure = {pair: (allowed, 0.0) for pair, (allowed, _) in limits.items()}
    told = outputs._latent(FOUND, texts, pure, stated_).witness.details  # type: ignore[union-attr]
    assert told.startswith("Some noisy vectors are e^1.5 times as likely for “one” as for “two”")
    unlimited = limits | {(0, 2): (math.inf, 0.01)}
    assert outputs._latent(FOUND, texts, unlimited, stated_).measured == 3.0
    assert outputs._latent(FOUND, texts, limits, {}) is FOUND


def test_rewrites_are_looked_at_in_two_halves_by_blocks(monkeypatch):
    monkeypatch.setattr(output_events, "_BLOCK", 4)
    monkeypatch.setattr(output_events, "check_pieces", lambda *a: None)
    asked: list[tuple[int, int]] = []
    same, number = stated(np.log([0.5, 0.25, 0.25])), iter(range(10**6))
    moved = stated(np.log([0.5, 0.25 + 1e-5, 0.25 - 1e-5]))

    def result(k, d=same, can=("distribution",), drawn=True, known: int | None = 1, name=None):
        piece = SimpleNamespace(text="Word", is_sampled=drawn, epsilon=1.0, span=(0, 4))
        return SimpleNamespace(
            text="Word b",
            releases=[piece],
            can=set(can),
            noise_id=name or str(next(number)),
            distribution=lambda i: d,
            candidate=lambda i: known,
            guarantee=SimpleNamespace(total=2.0),
        )

    def look(make, half=10):
        asked.clear()
        rewriter = SimpleNamespace(
            fresh=lambda m, p, n, seed, distributions: asked.append((n, seed)) or [make(k) for k in range(n)]
        )
        guarantee = Guarantee("pure", 1.0, "piece", "any", 2, 2.0)
        m = SimpleNamespace(guarantee=lambda p: guarantee, title="M")
        seeds = iter(range(99))
        return output_events.sample_outputs(
            m, SimpleNamespace(text="t"), half, ["b", "zz"], lambda: next(seeds), Meter(), rewriter, 0.0, 1.0
        )  # type: ignore[arg-type]

    found = look(result)
    assert asked == [(4, 0), (4, 1), (2, 2), (4, 3), (4, 4), (2, 5)] and found.first is same
    assert found.drawn_first == {1: 20} and all(h["word b"] == {"yes": 10} for h in found.halves)
    assert all(h["text"] == {"Word b": 10} and h["first"] == {"word": 10} and "word zz" not in h for h in found.halves)
    assert look(lambda k: result(k, known=None)).drawn_first == {"word": 20}
    assert look(lambda k: result(k, can=())).first is None and look(lambda k: result(k, drawn=False)).first is None
    assert look(lambda k: result(k, d=moved if k == 1 else same)).first is None, "two distributions"
    late = iter(range(99))
    assert look(lambda k: result(k, d=moved if next(late) > 5 else same)).first is same, "the first five are compared"
    with pytest.raises(InputError, match="M gives rewrites of one text the same noise"):
        look(lambda k: result(k, name="one"))


@pytest.mark.parametrize(
    ("spent", "promised", "error"),
    [
        (2.0, 2.0, None),
        (2.0 + 1e-9, 2.0, None),
        (2.1, 2.0, "spends 2.1 in a rewrite, but guarantees 2"),
        (1.0, 2.0 - 1e-9, None),
        (1.0, 1.9, "guarantees 1.9 with a rewrite, but 2 for its text"),
        (1.0, 2.5, None),
    ],
)
def test_a_rewrite_spends_no_more_than_its_text_and_promises_no_less(spent, promised, error, monkeypatch):
    monkeypatch.setattr(output_events, "check_pieces", lambda *a: None)
    r = SimpleNamespace(
        text="", releases=[SimpleNamespace(epsilon=spent / 2)] * 2, guarantee=SimpleNamespace(total=promised)
    )
    check = lambda: output_events.check_totals(SimpleNamespace(title="M"), r, SimpleNamespace(total=2.0))  # type: ignore[arg-type]  # noqa: E731
    if error is None:
        check()
    else:
        with pytest.raises(InputError, match=error):
            check()


@pytest.mark.parametrize("per_draw", [False, True])
def test_what_rewrites_released_is_counted_for_each_place(per_draw, monkeypatch):
    """Words, which are left out, which are followed by another, and whether equal words came out alike."""
    own = stated(np.log([0.5, 0.3, 0.2]))
    step = lambda i, action, word="": SimpleNamespace(index=i, action=action, replacement=word)  # noqa: E731
    rewrites = [
        [step(0, "replace", "a"), step(1, "keep"), step(2, "replace", "A"), step(2, "insert", "b")],
        [step(0, "replace", "b"), step(1, "keep"), step(2, "delete")],
        [
            step(0, "replace", "b"),
            step(0, "insert", "c"),
            step(1, "keep"),
            step(2, "replace", "B"),
            step(2, "insert", "b"),
        ],
        [step(0, "delete"), step(1, "keep"), step(2, "replace", "c")],
    ]
    results = [SimpleNamespace(steps=steps, distribution=lambda k: own) for steps in rewrites]
    monkeypatch.setattr(goodness_of_fit, "_independent_rewrites", lambda text, way, n, seeds, rewriter: iter(results))
    monkeypatch.setattr(goodness_of_fit, "_follows", lambda *a: None)
    seen_: list[Any] = []
    monkeypatch.setattr(
        goodness_of_fit,
        "fits_of",
        lambda text, way, counts, inserted, middles: seen_.append((counts, inserted, middles)),
    )
    monkeypatch.setattr(fit_statistics, "ENOUGH", 2)
    text = a_text(per_draw=per_draw, text="a b a", first={0: 0, 2: 0})
    text.m = SimpleNamespace(
        config=SimpleNamespace(recase="sentence"),
        language=SimpleNamespace(case=lambda w, begins: w.title() if begins else w),
    )
    text.forms, text.bare_word = fit_statistics._Forms({}, {}, {}), str.casefold
    text.capital = lambda i, deleted: i == 2 and 0 not in deleted
    text.stays = lambda d, word: 0.25
    out = goodness_of_fit.ReleaseFindings()
    goodness_of_fit._look(text, "a way", 4, None, None, out)  # type: ignore[arg-type]
    ((counts, inserted, middles),) = seen_
    assert (counts.n, counts.deleted, counts.added, out.draws) == (4, {2: 1, 0: 1}, {2: 2, 0: 1}, 9)
    assert counts.both == {(0, 2): 2} and counts.equal == {(0, 2): 2}
    if per_draw:
        figures = counts.unchanged, counts.expected, counts.samples
        assert figures == (2, 2.25, 9) and middles == {} and not counts.words
    else:
        assert counts.words == {
            (0, False, False): {"a": 1, "b": 2},
            (2, True, False): {"A": 1, "B": 1},
            (2, False, False): {"c": 1},
            (2, False, True): {"b": 2},
            (0, False, True): {"c": 1},
        }
        middle = [0.25, 0.65, 0.9]
        nan = math.nan
        expected = [[middle[0], middle[0]], [middle[1], nan], [middle[1], middle[1]], [nan, middle[2]]]
        assert np.array_equal(np.stack(counts.places), expected, equal_nan=True) or np.allclose(
            np.stack(counts.places), expected, equal_nan=True
        )
        assert set(inserted) == {0, 2} and set(middles) == {0, 2}


@pytest.mark.parametrize("mirrored", [True, False])
def test_places_that_fall_exactly_alike_or_as_in_a_mirror_have_a_chance(mirrored):
    text = a_text(text="a b c")
    x = np.tile([0.0, 1.0], 152)
    counts = fit_statistics.Counts(places=list(np.stack([x, 1 - x if mirrored else x], axis=1)))
    (fit,) = fit_statistics._correlation_fits(text, "w", counts, {0: (0, None), 2: (1, None)})
    assert fit.share == pytest.approx(1.0) and 0 <= fit.p < 1e-100 and fit.key == ("together", 0, 2)


@pytest.mark.parametrize("n", [1, 2, 300])
def test_a_blank_stands_between_two_pieces_alone(n):
    spelling = rules.Spelling(SimpleNamespace())  # type: ignore[arg-type]
    text = " ".join(["a"] * n)
    pieces = [SimpleNamespace(span=(2 * k, 2 * k + 1), text="a") for k in range(n)]
    spelling._covered("t", SimpleNamespace(text=text), pieces)  # type: ignore[arg-type]
    moved = [SimpleNamespace(span=(p.span[0] + 1, p.span[1] + 1), text="a") for p in pieces]
    for other, where, given in ((f"{text} ", "after the last span", pieces), (f" {text}", "before all spans", moved)):
        with pytest.raises(rules.Breach) as breach:
            spelling._covered("t", SimpleNamespace(text=other), given)  # type: ignore[arg-type]
        assert breach.value.witness.details == (f"A release of “t” has 1 space {where}, outside all of them.")


# --- texts of one call


@pytest.mark.parametrize("shared", [False, True])
def test_coincidences_of_each_two_rewrites_are_counted_place_by_place(shared):
    """By plain loops: the same candidate, the same part of the distribution, and its mirror."""
    rng, stream = np.random.default_rng(3), STREAM.at("pairs")
    tables = [stated(np.log(p)) for p in ([0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25] * 4)]
    tables.append(stated(np.log([0.4, 0.6]), draws=50))
    one = lambda p, d, at: release_statistics.ObservedDraw(p, False, 0.1, tables[d], at, 0.5)  # noqa: E731
    n, places = 7, (2, 5, 9)
    rows = []
    for k in range(n):
        drawn = [one(p, (k + p) % 4 if p == 9 else p % 3, int(rng.integers(0, 2))) for p in places if (k, p) != (3, 5)]
        if k == 4:
            drawn[0] = one(2, 2, None)  # it is not known which
        rows.append(SimpleNamespace(seen=drawn, call=k // 4))
    found = batches._pairs(rows, SimpleNamespace(shares_draws=shared), stream)  # type: ignore[arg-type]
    jitter = stream.uniforms(n * 3).reshape(n, 3)
    known = [{s.place: s for s in r.seen} for r in rows]

    def lies(k: int, p: int) -> float:
        s = known[k][p]
        if s.d.draws is not None:
            return math.nan
        return float(s.d.probs[: s.at].sum() + jitter[k, places.index(p)] * s.d.probs[s.at])

    def near(x: float) -> bool:
        return min(x % 1, 1 - x % 1) <= batches.NEAR

    def count(a: int, b: int) -> list[tuple[int, list[float]]]:
        out: list[tuple[int, list[float]]] = [(0, []), (0, []), (0, [])]
        for p in places:
            both = [known[k].get(p) for k in (a, b)]
            chance = [0.0, 0.0, 0.0]
            hits = [0, 0, 0]
            if all(s is not None and s.at is not None for s in both):
                x, y = both
                if not (shared and rows[a].call == rows[b].call and x.d is y.d):
                    hits[0] = int(x.at == y.at)
                    chance[0] = float(release_statistics.bounds(y.d)[x.at]) if x.at < len(y.d) else 0.0
                    u, v = lies(a, p), lies(b, p)
                    if not math.isnan(u + v):
                        hits[1], hits[2] = int(near(abs(u - v))), int(near(abs(u + v - 1)))
                        chance[1] = chance[2] = 2 * batches.NEAR
            out = [(h + more, [*c, one]) for (h, c), more, one in zip(out, hits, chance, strict=True)]
        return out

    for kind in range(3):
        tests, said = found[2 * kind]
        lags, over = found[2 * kind + 1]
        assert (
            set(tests) == {(a, b) for a in range(n) for b in range(a + 1, n)}
            and over == f"{said}, over all pairs of texts at this distance"
        )
        for a, b in tests:
            hits, chance = count(a, b)[kind]
            assert tests[a, b] == pytest.approx(release_statistics.too_many(hits, np.array(chance))), (kind, a, b)
        assert set(lags) == (set() if shared else {(n - lag - 1, n - 1) for lag in range(1, n)})
        for a, _ in lags:
            each = [count(k, k + n - 1 - a)[kind] for k in range(a + 1)]
            expected = release_statistics.too_many(
                sum(h for h, _ in each), np.array([c for _, some in each for c in some])
            )
            assert lags[a, n - 1] == pytest.approx(expected)
    nothing = [SimpleNamespace(seen=[], call=0)] * 2
    assert batches._pairs(nothing, SimpleNamespace(shares_draws=shared), stream) == []  # type: ignore[arg-type]


# --- noise behind a text


def test_rewrites_are_told_apart_by_what_was_learnt_from_others():
    words = [f"w{k}" for k in range(6)]
    rng = np.random.default_rng(8)
    make = lambda p: [SimpleNamespace(text=" ".join(rng.choice(words, 4, p=p))) for _ in range(30)]  # noqa: E731
    one, other = [0.4, 0.2, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 0.2, 0.4]
    first, second = [make(one), make(other)], [make(one), make(other)]

    def seen_in(results, f) -> float:
        return (sum(f in latent.features(r.text) for r in results) + 0.5) / (len(results) + 1)

    def score(text) -> float:
        return sum(math.log(seen_in(first[0], f) / seen_in(first[1], f)) for f in latent.features(text))

    scores = [[score(r.text) for r in results] for results in first]
    right = lambda cut: sum(s >= cut for s in scores[0]) - sum(s >= cut for s in scores[1])  # noqa: E731
    every = sorted([*scores[0], *scores[1]], reverse=True)
    best = max(right(cut) for cut in every)
    cuts = [cut for cut in every if right(cut) == best]
    expected = tuple(sum(score(r.text) >= cuts[0] - 1e-9 for r in results) for results in second)
    assert latent.count_distinguished(first, second) == expected and expected[0] > expected[1] + 10
    assert latent.count_distinguished(second[::-1], second)[0] < 10


def test_a_test_is_made_at_a_very_small_epsilon_and_where_an_advantage_is_the_wanted_one(monkeypatch):
    def at(e):
        audited = SimpleNamespace(latent_advantage=lambda a, b: e / 40 if told else None)
        return SimpleNamespace(config=SimpleNamespace(epsilon=e), audit_support=audited)

    monkeypatch.setattr(latent, "with_small_epsilon", lambda m: at(0.5))
    monkeypatch.setattr(latent, "with_epsilon", lambda m, e: at(e))
    told = True
    assert latent._epsilons(at(100.0), None, None) == [0.5, pytest.approx(40 * latent.ADVANTAGE, rel=1e-9)]  # type: ignore[arg-type]
    assert latent._epsilons(at(2.0), None, None) == [0.5, pytest.approx(2.0, rel=1e-9)]  # type: ignore[arg-type]
    told = False
    assert latent._epsilons(at(100.0), None, None) == [0.5]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loss", "advantage", "tpr", "fpr", "said"),
    [
        (9.0, 0.95, 150, 0, ""),
        (1.0, 0.95, 150, 0, "Their loss is at least "),
        (
            9.0,
            0.5,
            150,
            0,
            f"The shares differ by at least {100 * (2 * (LEVEL / 6) ** (1 / 150) - 1):.0f} percentage points",
        ),
        (None, 0.5, 150, 0, ""),
        (1.0, None, 80, 75, ""),
    ],
)
def test_texts_that_are_told_apart_better_than_their_noise_lets_are_refuted(
    loss, advantage, tpr, fpr, said, monkeypatch
):
    asked: list[Any] = []
    far = lambda a, b: 0.1 * abs(a.i - b.i) if loss is not None else 3.0  # noqa: E731
    audited = SimpleNamespace(latent_loss=far, latent_advantage=lambda a, b: advantage, writes_from_noise=True)
    guarantee = Guarantee("pure", 1.0, "text", "any", 1, 1.0)
    own = SimpleNamespace(latent_loss=lambda a, b: loss, latent_advantage=lambda a, b: advantage)
    mine = SimpleNamespace(audit_support=own, guarantee=lambda p: guarantee)
    m = SimpleNamespace(
        audit_support=audited,
        guarantee=lambda t: guarantee,
        prepare=lambda t, task: SimpleNamespace(text=t, i=list(latent._TEXTS).index(t)),
        slow_to_prepare=False,
        config=SimpleNamespace(epsilon=2.0),
    )
    monkeypatch.setattr(latent, "_epsilons", lambda *a: [0.5, 2.0])
    monkeypatch.setattr(latent, "with_epsilon", lambda m, e: mine)
    monkeypatch.setattr(
        latent,
        "count_distinguished",
        lambda first, second: asked.append([len(r) for r in (*first, *second)]) or (tpr, fpr),
    )
    fresh = lambda m, p, n, noise: [SimpleNamespace(text="t")] * n  # noqa: E731
    subject = SimpleNamespace(
        m=m,
        guarantee=guarantee,
        claim=None,
        thorough=False,
        stream=STREAM,
        meter=Meter(),
        rewriter=SimpleNamespace(fresh=fresh),
    )
    check = latent.behind_a_text(subject)  # type: ignore[arg-type]
    assert check is not None and asked[0] == [150] * 4
    if not said:
        assert check.status == "tested" and check.draws == 1200 and len(asked) == 2
        level = LEVEL / 6
        expected = min(latent._smallest_share(150, level, loss or 0.0, 0.0, advantage), 1.0)
        assert check.leak == expected and check.detectable == latent.lower_bound(150, 0, 150, level)
    else:
        assert (
            check.status == "refuted"
            and check.draws == 600
            and check.witness is not None
            and said in check.witness.details
        )
        assert f"A classifier attributed {tpr} of 150 rewrites of " in check.witness.details
        assert check.witness.log_p_first == math.log(tpr / 150) and check.witness.log_p_second == math.log(0.5 / 150)


# --- every word of a vocabulary


@pytest.mark.parametrize(
    ("leaks", "refuted"), [({}, False), ({"ddd": 1.0}, True), ({"ddd": 0.4}, False), ({"fff": "same"}, True)]
)
def test_words_of_a_vocabulary_that_come_out_the_same_are_rewritten_again(leaks, refuted, monkeypatch):
    """Those that stayed in one of two rewrites, or became one word in both; the others are not asked again."""
    names = [chr(97 + k) * 3 for k in range(12)]
    d = TokenDistribution(tuple(names), np.log(np.full(12, 1 / 12)), None, 1.0)
    rng, asked = np.random.default_rng(1), []

    def rewritten(m, by_word, some, stream, turn, subject):
        asked.append((turn, list(some)))
        for w in some:
            leak = leaks.get(w, 0.0)
            if leak == "same":
                yield w, "aaa"
            elif rng.random() < leak:
                yield w, f"  {w.upper()}"
            else:
                yield w, f"{w} {turn} {len(asked)}"

    m = SimpleNamespace(
        by_word=SimpleNamespace(vocabulary=SimpleNamespace(words=["1", *names])),
        config=SimpleNamespace(epsilon=0.25),
        prepare=lambda w: w,
    )
    monkeypatch.setattr(vocabulary, "with_small_epsilon", lambda of: m)
    monkeypatch.setattr(vocabulary, "_some_distributions", lambda *a: iter([d]))
    monkeypatch.setattr(vocabulary, "_released_pairs", lambda *a: rewritten(*a))
    monkeypatch.setattr(
        vocabulary,
        "_rewrite_lists",
        lambda m, by_word, some, stream, subject: rewritten(m, by_word, some, stream, 1, subject),
    )
    places = {w: np.array([k]) for k, w in enumerate(names)}
    reader = SimpleNamespace(stated=lambda prepared, i: d, places=lambda d: places)
    monkeypatch.setattr(vocabulary, "ReleaseReader", lambda m, meter: reader)
    monkeypatch.setattr(vocabulary, "shuffle", lambda words, stream: list(reversed(words)))
    subject = SimpleNamespace(m=m, stream=STREAM, meter=Meter(), thorough=False)
    check = vocabulary.released_words(subject)  # type: ignore[arg-type]
    assert check is not None and [turn for turn, _ in asked[:2]] == [0, 1] and asked[0][1] == asked[1][1] == names[::-1]
    again = [some for _, some in asked[2:]]
    assert len(again) == vocabulary.AGAIN and [turn for turn, _ in asked[2:]] == list(range(2, 32))
    assert check.draws == 24 + sum(map(len, again))
    if refuted:
        (word,) = leaks
        became = word if leaks[word] == 1.0 else "aaa"
        assert all(some == [word] for some in again)
        assert check.status == "refuted" and check.witness is not None
        assert check.description == "All 12 words of the vocabulary, each rewritten twice at ε = 0.25."
        assert (
            check.witness.details
            == f"“{word}” became “{became}” in 30 of 30 rewrites at ε = 0.25; its stated probability is 0.083."
        )
        assert (check.witness.log_p_first, check.witness.log_p_second) == (0.0, pytest.approx(-math.log(12)))
    else:
        assert check.status == "tested"
        one = vocabulary._one_word(1 / 12, LEVEL / (1 + len(again[0])))
        assert check.leak == one
        assert f"is detected if it occurs in {format_share(one)} of its rewrites" in check.description
        message = (
            "Unchanged words, and words with the same output twice: none."
            if not again[0]
            else "Unchanged words, and words with the same output twice: 1, rewritten 30 more times."
        )
        assert message in check.description, check.description


@pytest.mark.parametrize("near", [False, True])
def test_where_outputs_are_no_words_more_of_the_spread_ones_are_looked_at(near, monkeypatch):
    spread = [chr(97 + k // 6) * 2 + chr(97 + k % 6) for k in range(40)]
    likely = lambda w: SimpleNamespace(draws=None, top=lambda n: [("??", 0.9), (w, 0.05), (f"{w}z", 0.02)])  # noqa: E731
    known = [*spread, *(f"{w}z" for w in spread)] if near else spread
    monkeypatch.setattr(inputs, "_by_frequency", lambda by_word: known)
    monkeypatch.setattr(
        inputs, "probes_of", lambda m, names, meter: ([SimpleNamespace(word=w, d=likely(w)) for w in names], [])
    )
    monkeypatch.setattr(inputs, "_without_kept", lambda m, words: list(words))
    distances = lambda words: np.ones((len(words), len(words)))  # noqa: E731
    m = SimpleNamespace(
        by_word=SimpleNamespace(words_alike=lambda words, n: None), audit_support=SimpleNamespace(distances=distances)
    )
    found = inputs.default_words(m, 12)  # type: ignore[arg-type]
    n = len(known)
    ranks = [*(k * (n - 1) / 8 for k in range(9)), *(n ** (k / 8) - 1 for k in range(9))]
    names = list(dict.fromkeys(known[int(r + 1e-9)] for r in ranks))
    first = names[:: len(names) // 6][:6]
    if not near:
        assert found == [*first, *(w for w in names[:6] if w not in first)] and len(found) > 6
    else:
        pairs = [x for w in first for x in (w, f"{w}z") if x in known]
        assert found[: len(set(pairs))] == list(dict.fromkeys(pairs)) and len(found) <= 12
