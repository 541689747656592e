"""Figures, texts and sentences behind the looks of an audit, function by function: what is expected of each lies in
``tests/golden/figures.json`` (``GOLDEN=write`` writes it anew), where there is no other way to compute it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import math
import pkgutil
from collections import Counter
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from foreign import Generator, Latent, Swap
from golden_files import compare_case, plain
from scipy import stats
from small_spaces import diffractor, on, random_space, shuffled_lists, words

import dptext_core as dpt
from dptext_core import auditing
from dptext_core.auditing import (
    batches,
    exact,
    fit_statistics,
    goodness_of_fit,
    guesses,
    inputs,
    latent,
    metadata_leakage,
    output_events,
    outputs,
    release_statistics,
    rewriting,
    rules,
    sampled,
    stated_pieces,
    statefulness,
    text_integrity,
    verdict,
    vocabulary,
)
from dptext_core.auditing.checks import Subject, failed
from dptext_core.auditing.inputs import Meter, Probe
from dptext_core.auditing.report import AuditReport, Check, Witness
from dptext_core.mechanisms import audit_support
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.privacy.terms import ProtectedUnit
from dptext_lab.broken_mechanisms import sound

STREAM = NoiseStream(4)
SPACE = random_space(24, 4)


def stated(log_p, candidates=None, **more) -> TokenDistribution:
    log_p = np.asarray(log_p, float)
    return TokenDistribution(tuple(candidates or (f"w{i}" for i in range(len(log_p)))), log_p, "x", 1.0, **more)


def probe(log_p, candidates=None, text="t", at=None, **more) -> Probe:
    return Probe(text, at, text, stated(log_p, candidates, **more), None, 0, True)  # type: ignore[arg-type]


def some_counts() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    out = []
    for n, size in ((40, 3), (400, 6), (3000, 40), (5000, 9), (60, 1), (120, 2)):
        p = rng.dirichlet(np.full(size, 0.6))
        for lean in (0.0, 0.08):
            q = (1 - lean) * p + lean * p[::-1]
            out.append((rng.multinomial(n, q), np.log(np.maximum(p, 1e-12))))
    return out


def two_counts() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(6)
    return [
        (rng.multinomial(n, rng.dirichlet(np.ones(size))), rng.multinomial(n, rng.dirichlet(np.ones(size))))
        for n, size in ((50, 2), (300, 5), (2000, 30), (90, 8))
    ]


def log_table(n: int, outputs_: int, seed: int, holes: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(outputs_), n)
    p[rng.random(p.shape) < holes] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum(axis=1, keepdims=True))


def stretches(words_: list[str]) -> list[list[int]]:
    """Return the first and the last of consecutive numbers."""
    out: list[list[int]] = []
    for n in map(int, words_):
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return out


FIGURES = {
    "misfit": lambda: [sampled.misfit(c, p) for c, p in some_counts()],
    "two samples": lambda: [sampled.two_samples(a, b) for a, b in two_counts()],
    "event": lambda: [
        (*sampled.event(a, b, int(a.sum()), alpha, delta),)
        for a, b in two_counts()
        for alpha in (0.05, 1e-4)
        for delta in (0.0, 0.1)
    ],
    "could show": lambda: [
        sampled.could_show(n, a, d) for n in (20, 500) for a in (0.05, 1e-6) for d in (0, 0.2, 0.99)
    ],
    "too many": lambda: [
        release_statistics.too_many(h, np.full(n, p)) for n, p in ((12, 0.05), (100, 0.3)) for h in (0, 1, 5, 12)
    ],
    "least hits": lambda: [
        (
            release_statistics.least_hits(n, p, 1e-6),
            release_statistics.least_share(n, p, 1e-6),
            release_statistics.least_share(n, p, 0.01, 0.5),
        )
        for n in (1, 4, 30, 300)
        for p in (0.0001, 0.05, 0.4)
    ],
    "once in": lambda: [release_statistics.once_in(n, p) for n in (1, 3, 40) for p in (0.5, 0.95)],
    "lower bound": lambda: [
        latent.lower_bound(a, b, 50, 0.01, d) for a in (0, 20, 50) for b in (0, 20, 50) for d in (0.0, 0.1)
    ],
    "least": lambda: [
        latent._smallest_share(n, 0.001, loss, d, gap)
        for n in (30, 200)
        for loss in (0.1, 2.0)
        for d in (0.0, 0.05)
        for gap in (None, 0.1, 0.5)
    ],
    "one word": lambda: [vocabulary._one_word(p, level) for p in (0.0005, 0.05, 0.5, 0.99) for level in (1e-4, 1e-9)],
    "uniform": lambda: [stated_pieces._uniform(STREAM.at(k).uniforms(20).tolist()) for k in range(3)],
    "features": lambda: [latent.features(t) for t in ("", "A b, a B!", "one")],
    "guess": lambda: [
        guesses.guess(("a b c", "a d", "d e f a"), SimpleNamespace(text=t), STREAM)
        for t in ("b c", "d", "A E", "", "zzz", "d a", "f c b")
    ],
    "picked": lambda: guesses.pick(30, 7, STREAM),
    "right": lambda: [
        guesses.success_bound(m, ["a b", "c d", "e f", "g h i"]) for m in (Generator.create(), Latent.create())
    ],
    "some": lambda: [
        stretches(vocabulary._spread_sample([*map(str, range(400))], n)) for n in (1, 50, 99, 100, 150, 399, 400, 401)
    ],
    "texts of": lambda: [batches.texts_of(list("abcdefg"), n) for n in (1, 2, 3, 7, 8)],
    "shown by": lambda: [
        verdict._shown_by(n, np.array(d, float), c)
        for n in (50, 500)
        for c in (0.5, 0.95)
        for d in (
            [[np.nan, 2], [2, np.nan]],
            [[0.0, 3], [3, 0.0]],
            [[np.nan]],
            [[np.nan, 1, 2], [1, np.nan, 4], [2, 4, np.nan]],
        )
    ],
    "every input": lambda: [goodness_of_fit.every_input(n) for n in (10, 399, 400, 401, 408, 5000)],
    "tail": lambda: [fit_statistics._tail(h, 50, p) for h in (0, 10, 25, 50) for p in (-0.1, 0.0, 0.2, 0.5, 1.0, 1.1)],
    "apart": lambda: [
        fit_statistics._fisher_p(3, 50, 9, 60),
        fit_statistics._fisher_p(0, 5, 5, 5),
        fit_statistics._log(0.0),
        fit_statistics._log(0.5),
    ],
    "percent": lambda: [fit_statistics._percent(math.log(p)) for p in (1.0, 0.123, 2e-4, 0.99e-4, 1e-9)],
    "apart at": lambda: [
        rules.apart_at(a, b, n)
        for a, b, n in (
            ("abc", "abd", 24),
            ("abc", "abc", 24),
            ("abc", "abcdef", 2),
            ("", "xyz", 1),
            ("0123456789" * 3, "0123456789x", 4),
            ("0123456789", "01234x6789", 5),
            ("0123456789", "01234x6789", 4),
            ("0123456789", "01234x6789", 6),
        )
    ],
    "short": lambda: (
        [metadata_leakage._shorten(v) for v in (("a", 1), [], "", "x\ny", "z" * 160, "z" * 161, None, {"a": 1})]
        + [metadata_leakage._shorten("abcdef", 3)]
    ),
    "first apart": lambda: [
        metadata_leakage._first_difference(a, b)
        for a, b in (({"a": {"b": 1}}, {"a": {"b": 2}}), ({"a": 1}, {}), (1, 2), ({"a": 1}, {"a": 1}), ({"a": 1}, 2))
    ],
    "differs": lambda: [
        metadata_leakage._Metadata(a).differs(metadata_leakage._Metadata(b))
        for a, b in (
            ((("x", 1), ("y", 2)), (("x", 1), ("y", 3))),
            ((("x", 1),), (("x", 1),)),
            ((("x", 1),), (("error", 1),)),
            ((("x", 1),), (("x", 2), ("y", 2))),
        )
    ],
    "hostile": lambda: [text_integrity.hostile(t) for t in (["a"], list("abcdefgh"), ["one two, three"], ["1", "2"])],
    "limit": lambda: [
        outputs._limit([Guarantee("approx", 1.0, "u", "a", 2, t, delta=d) for t, d in g], c)
        for g in ([(1.0, 0.1)], [(1.0, 0.3), (2.0, 0.2)])
        for c in (None, 0.5)
    ],
    "failed": lambda: [failed("a", ValueError("x" * n)) for n in (3, 160, 161)],
    "words": lambda: [output_events.words_of(t) for t in ("A b a, B c", "")],
    "events": lambda: [
        output_events.events(SimpleNamespace(text=t, releases=[1, 2]), frozenset("abc"))
        for t in ("A b!  c d \n ", "", "…", "É a")
    ],
    "other outputs": lambda: exact.largest_loss(
        [probe(log_table(1, 3, 1)[0], "abc", "a"), probe(log_table(1, 4, 2)[0], "bcda", "b")],
        np.array([[np.nan, 1.0], [1.0, np.nan]]),
        Meter(),
    ),
    "too deep": lambda: [
        exact.too_deep([probe(np.log([1 - 1e-9, 1e-9])), probe([0.0, low])])
        for low in (-10.0, -719.0, -721.0, -750.0, -math.inf)
    ],
}


def _distances(seed: int) -> list[np.ndarray]:
    one = 1.0 - np.eye(5)
    one[np.eye(5, dtype=bool)] = np.nan
    groups = one.copy()
    groups[:2, 2:] = groups[2:, :2] = np.nan
    chain = one.copy()
    chain[0, 2:] = chain[2:, 0] = np.nan
    metric = one * np.add.outer(np.arange(5.0), np.arange(5.0))
    zero = one.copy()
    zero[0, 1] = zero[1, 0] = 0.0
    alone = np.full((5, 5), np.nan)
    return [one, groups, chain, metric, zero, alone]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stays(name):
    compare_case("figures", name, {"found": plain(FIGURES[name]())})


# --- the loss, by plain loops


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_the_largest_loss_is_that_of_plain_loops(holes):
    for seed in range(4):
        rows = log_table(5, 7, seed, holes)
        for apart in _distances(seed):
            if (apart == 0).any() or not np.isfinite(apart).any():
                continue
            best = 0.0
            for a, b in itertools.permutations(range(5), 2):
                if np.isfinite(apart[a, b]):
                    best = max(
                        best, *((x - y) / apart[a, b] for x, y in zip(rows[a], rows[b], strict=True) if x > -math.inf)
                    )
            found, w = exact.largest_loss([probe(r, text=str(k)) for k, r in enumerate(rows)], apart, Meter())
            assert found == pytest.approx(best, rel=1e-9)
            a, b = int(w.first), int(w.second)
            y = int(w.output[1:])
            assert (w.log_p_first, w.log_p_second) == (rows[a, y], rows[b, y]) and w.distance == apart[a, b]


def test_the_loss_beyond_a_delta_is_where_the_divergence_is_the_delta():
    rows = log_table(4, 5, 8)
    probes = [probe(r, text=str(k)) for k, r in enumerate(rows)]
    p = np.exp(rows)
    for delta in (0.001, 0.05, 0.2):
        epsilon, w = exact.loss_beyond(probes, delta, Meter())
        worst = max(
            np.maximum(p[a] - math.exp(epsilon) * p[b], 0).sum() for a, b in itertools.permutations(range(4), 2)
        )
        assert worst == pytest.approx(delta, rel=1e-6)
        y = int(w.output[1:])
        assert (w.log_p_first, w.log_p_second) == (rows[int(w.first), y], rows[int(w.second), y])
    assert exact.loss_beyond(probes, 1.0, Meter()) == (0.0, None)
    never = [probe([0.0, -math.inf], text="0"), probe([-math.inf, 0.0], text="1")]
    assert exact.loss_beyond(never, 0.5, Meter())[0] == math.inf


def test_a_loss_per_distance_of_two_words():
    loss = lambda x, y, apart, **more: vocabulary._loss(probe(x), probe(y, **more), apart)  # noqa: E731
    x, y = np.log([0.5, 0.5]), np.log([0.25, 0.75])
    assert loss(x, y, 2.0) == pytest.approx(math.log(2) / 2) and loss(x, x, 0.0) == 0.0
    assert loss(x, y, 0.0) == math.inf == loss(x, y, 2.0, candidates="ab")
    hole = [0.0, -math.inf]
    assert loss(hole, hole, 1.0) == 0.0 and loss(x, hole, 1.0) == math.inf
    assert loss(x, x + 2e-9, 1.0) > 0 == loss(x, x + 0.5e-9, 1.0)


# --- verdicts

FOUND = AuditReport(
    "m",
    2.0,
    "pure",
    2.0,
    1.5,
    True,
    0.7,
    "",
    "",
    Witness("a", "b", ("c",), 0.0, -1.0, 1.0),
    "",
    3,
    2,
    (),
    300,
    0.5,
    0.95,
    proven="Formulas.",
    tested="Draws.",
)
PROMISES = {
    "pure": Guarantee("pure", 2.0, "word", "any", 1, 2.0),
    "none": Guarantee("none", 2.0, "word", "any", 1, 2.0, reason="it is not known."),
    "metric": Guarantee("metric", 2.0, "word", "any", 1, 2.0, metric="places"),
}
CHANGED: tuple[dict[str, Any], ...] = (
    {},
    {"pairs": 0},
    {"exact": False},
    {"exact": False, "delta": 0.01},
    {"exact": False, "delta": 0.5},
    {"exact": False, "detectable": 2.0},
    {"exact": False, "detectable": 1.9},
    {"exact": False, "detectable": 5.0},
    {"claimed": math.inf},
    {"detectable": 2.0},
    {"delta": 0.1},
    {"draws": 0, "inputs": 0, "exact": False},
    {"verdict": "refuted"},
    {"verdict": "inconclusive"},
    {"verdict": "inconclusive", "proven": ""},
    {"exact": False, "delta": 0.06, "detectable": 5.0},
    {"exact": False, "delta": 0.061, "detectable": 5.0},
)


def brief(checks: Any) -> Any:
    """Return checks by the fields that differ from their defaults; the witness of ``FOUND`` by that name."""
    if not isinstance(checks, Check):
        return [brief(one) for one in checks]
    given = {f.name: getattr(checks, f.name) for f in fields(checks) if getattr(checks, f.name) != f.default}
    return plain(given | ({"witness": "FOUND"} if given.get("witness") == FOUND.witness else {}))


def test_what_a_loss_comes_to():
    found = []
    for more in CHANGED:
        r = replace(FOUND, **more)
        found.append([more, verdict._exceeds(r), brief(outputs.output_checks(r)) if r.draws else None])
        for promise in PROMISES.values():
            for claim in (None, 1.0):
                found.append(brief(verdict._loss_check(r, promise, claim)))
    proven = [
        verdict._describe_proof(replace(FOUND, **more), PROMISES["metric"], known, exempt)
        for more in ({}, {"pairs": 0}, {"delta": 0.1})
        for known in (True, False)
        for exempt in (0, 3)
    ]
    compare_case("figures", "what a loss comes to", {"found": plain(found), "proven": proven})


@pytest.mark.parametrize(
    ("measured", "claimed", "over"),
    [
        (2.0, 2.0, False),
        (2 + 1.9e-9, 2.0, False),
        (2 + 2.1e-9, 2.0, True),
        (0.9e-9, 0.0, False),
        (1.1e-9, 0.0, True),
        (0.5 + 0.9e-9, 0.5, False),
        (0.5 + 1.1e-9, 0.5, True),
    ],
)
def test_a_loss_is_above_the_claim_from_rounding_on(measured, claimed, over):
    assert verdict._exceeds(replace(FOUND, measured=measured, claimed=claimed)) is over


def test_what_draws_come_to():
    witness = Witness.of_rule("So.", "x")
    found = []
    for tested in (
        goodness_of_fit.ReleaseFindings(),
        goodness_of_fit.ReleaseFindings(40, 2, 9),
        goodness_of_fit.ReleaseFindings(4000, 2, 9, 0.5, None, "", 0.03, 0.01, 0.1),
        goodness_of_fit.ReleaseFindings(4, 1, 1, 0.5, witness, "So."),
        goodness_of_fit.ReleaseFindings(4000, 2, 9, 0.5, None, "", 0.03, 0.01, 2.0),
        goodness_of_fit.ReleaseFindings(4000, 2, 9, 0.5, None, "", 0.03, 0.01, 3.0),
    ):
        for own in (0.05, 2.0, 5.0):
            found.append(verdict._describe_releases(tested, own))
        for more in CHANGED:
            found.append(brief(verdict._releases_check(replace(FOUND, **more), tested)))
    compare_case("figures", "what draws come to", {"found": plain(found)})


def test_a_verdict_follows_from_the_checks_alone():
    def of(*checks):
        r = verdict.with_verdict(replace(FOUND, checks=checks))
        return r.verdict, r.reason, r.draws, r.witness

    own = Witness.of_rule("So.", "x")
    fine, bad = Check("a", "proven", "", draws=3), Check("b", "refuted", "", "It leaks.", own, draws=4)
    missed = Check("c", "not tested", "", "No list.", draws=5)
    assert of(fine) == ("holds", "", 3, FOUND.witness) and of() == ("holds", "", 0, FOUND.witness)
    assert of(fine, missed, bad) == ("refuted", "It leaks.", 12, own)
    assert of(replace(bad, witness=None)) == ("refuted", "It leaks.", 4, FOUND.witness)
    assert of(fine, missed) == ("inconclusive", "No list.", 8, FOUND.witness)
    assert of(fine, replace(missed, is_required=False))[0] == "holds"


# --- texts and words


MECHANISMS = {
    "santext": lambda: on(SPACE, "santext", epsilon=3.0),
    "groups": lambda: on(SPACE, "custext", k=5, mapping="conservative"),
    "diffractor": lambda: diffractor(shuffled_lists(24, 2), epsilon=0.7),
    "swap": Swap.create,
    "generator": Generator.create,
    "length": lambda: sound("weak-noise"),
}


def shortened(groups: Any) -> list[list[str]]:
    """Return each text of each group by its beginning and its length."""
    return [[f"{text[:12]} {len(text)}" for text in group] for group in groups]


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "length"])
def test_texts_and_words_that_are_looked_at(name):
    m = MECHANISMS[name]()
    own = list(words(7)) if m.by_word is not None else ["doctor", "nurse", "water"]
    found: dict[str, Any] = {}
    for given in (own, [f"{own[0]} and {own[1]}.", f"{own[1]}, {own[0]}"], [own[0]]):
        subject = Subject(m, m.guarantee(given[0]), given, STREAM, Meter())
        found["groups of " + given[0] + str(len(given))] = shortened(metadata_leakage._groups(subject))
        found["the same under a claim"] = shortened(metadata_leakage._groups(replace(subject, claim=1.0)))
    found["repeats"] = metadata_leakage._repeats(m, f"{own[0]} {own[1]} {own[0].upper()} and and")
    found["public"] = release_statistics.public_words(m, 30, STREAM)
    found["small"] = plain(release_statistics.with_small_epsilon(m).config.epsilon)
    found["other options"] = [said for said, _ in text_integrity.other_options(m)]
    if "alignment" in m.can:
        found["drawn"] = release_statistics.drawn_words(m, own, 6, STREAM, Meter())
        found["inputs"] = inputs.default_inputs(m)
        probes, skipped = inputs.probes_of(m, [*own, "the", f"{own[0]} the {own[1]}", "!"], Meter())
        found["probes"] = [(p.text, p.at, p.word, p.index, p.alone, len(p.d)) for p in probes]
        found["skipped"] = skipped
        plans = [m.plan(f"{own[0]} saw a {own[1]}."), m.plan(f"{own[2]}?")]
        found["exchanged"] = [inputs.exchange_words(m, plans[0], plans, n) for n in (1, 2, 4)]
    if m.by_word is not None:
        found["row"] = [vocabulary._in_a_row(m.by_word, notion) for notion in ("pure", "group", "metric")]
        found["words"] = [inputs.default_words(m, n) for n in (4, 12)]
        some = vocabulary._probes(m, m.by_word, own, {})
        apart = vocabulary._apart(m, m.guarantee(own[0]), some)
        found["apart"] = plain(apart)
        found["compared"] = plain(
            vocabulary._compare_pairs(Subject(m, m.guarantee(own[0]), own, STREAM, Meter()), some, apart)
        )
        any_ = {"metric": "m", "group": "g"}
        found["distances"] = [
            plain(verdict._distances(m, some, replace(m.guarantee(own[0]), notion=n, **any_), c))
            for n in ("pure", "metric", "group")
            for c in (None, 1.0)
        ]
    if name == "swap":
        found.pop("other options")
    compare_case("figures", f"texts of {name}", plain(found))


# --- rules of a released text


def broken_results() -> dict[str, dpt.RewriteResult]:
    m = Swap.create()
    r = m.rewrite("The doctor saw water, and a nurse.", seed=3)
    first, second, *rest = r.steps
    step = lambda **more: replace(r, steps=(first, replace(second, **more), *rest))  # noqa: E731
    return {
        "sound": r,
        "another original": replace(r, original="x"),
        "a step left out": replace(r, steps=r.steps[1:]),
        "a step twice": replace(r, steps=(first, *r.steps)),
        "in another order": replace(r, steps=r.steps[::-1]),
        "another word": step(original="x"),
        "another place": step(span=(0, 1)),
        "another action": step(action="swap"),
        "kept and changed": replace(r, steps=(replace(first, replacement="A"), second, *rest)),
        "kept a drawn one": step(action="keep"),
        "deleted": step(action="delete"),
        "another out": step(out=(0, 3)),
        "another text": replace(r, text=r.text + "!"),
        "a text in the middle": replace(r, text=r.text.replace("saw", "sew")),
        "added after nothing": replace(r, steps=(*r.steps, replace(second, action="insert", index=99))),
        "added": replace(r, steps=(*r.steps, replace(second, action="insert"))),
        "pieces of another": replace(r, pieces=(dpt.Release((0, 3), r.text[:3], 1.0, "drawn"),)),
    }


def test_each_broken_rule_of_steps_is_said():
    found = {}
    for name, r in broken_results().items():
        try:
            rules.follow_steps(dpt.Document.parse("The doctor saw water, and a nurse."), "a text", r)
            found[name] = None
        except rules.Breach as breach:
            found[name] = plain([breach.reason, breach.witness])
    assert [k for k, v in found.items() if v is None][:1] == ["sound"] and sum(v is None for v in found.values()) <= 2
    compare_case("figures", "broken steps", found)


def written(text: str, *pieces: tuple[int, int, str], tables=None) -> dpt.RewriteResult:
    r = Generator.create().rewrite("doctor", seed=1)
    own = tuple(dpt.Release((a, b), text[a:b], 1.0, origin, reason="r") for a, b, origin in pieces)
    return replace(r, text=text, pieces=own)


SPELLED = {
    "all": [written("sun rain.", (0, 3, "drawn"), (4, 8, "drawn"), (8, 9, "rule"))],
    "without a blank": [written("sunrain", (0, 3, "drawn"), (3, 7, "drawn"))],
    "two blanks": [written("sun  rain", (0, 3, "drawn"), (5, 9, "drawn"))],
    "before": [written(" sun", (1, 4, "drawn"))],
    "after": [written("sun ", (0, 3, "drawn"))],
    "words after": [written("sun x", (0, 3, "drawn"))],
    "words between": [written("sun, rain", (0, 3, "drawn"), (5, 9, "drawn"))],
    "copied": [written("sun rain", (0, 3, "drawn"), (4, 8, "copied"))],
    "blanks differ": [
        written("sun rain", (0, 3, "drawn"), (4, 8, "drawn")),
        written("sunrain", (0, 3, "drawn"), (3, 7, "drawn")),
    ],
    "rules differ": [
        written("sun.", (0, 3, "drawn"), (3, 4, "rule")),
        written("sun!", (0, 3, "drawn"), (3, 4, "rule")),
    ],
    "not listed": [written("moon", (0, 4, "drawn"))],
    "otherwise written": [written("Sun", (0, 3, "drawn"))],
}


@pytest.mark.parametrize("exposed", [(), ("a word",)])
def test_each_broken_rule_of_pieces_is_said(exposed):
    found = {}
    for name, results in SPELLED.items():
        spelling = rules.Spelling(Generator.create())
        try:
            for k, r in enumerate(results):
                spelling.follow(f"doctor {k}", r, exposed)
            found[name] = spelling.unclear
        except rules.Breach as breach:
            found[name] = plain([breach.reason, breach.witness])
    assert found["all"] == ""
    compare_case("figures", f"broken pieces {bool(exposed)}", found)


def test_two_promises_of_one_text_are_told_apart():
    m = Swap.create()
    r = m.rewrite("The doctor", seed=1)
    rules.same_guarantee(r, m.guarantee("The doctor"))
    fresh = m.rewrite("The doctor")
    rules.same_guarantee(fresh, m.guarantee("The doctor"))
    for one in (r, fresh):
        with pytest.raises(rules.Breach) as seen_:
            rules.same_guarantee(replace(one, guarantee=replace(one.guarantee, total=9.0)), m.guarantee("The doctor"))
        assert "the total of the guarantee is 9.0; for the text itself it is 2.0" in seen_.value.witness.details
    nan = replace(m.guarantee("The doctor"), largest=math.nan)
    rules.same_guarantee(replace(fresh, guarantee=replace(nan, largest=float("nan"))), nan)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ({"total": 3.0}, False),
        ({"total": 1.9}, True),
        ({"epsilon": 1.9}, True),
        ({"delta": 0.05}, True),
        ({"delta": 0.2}, False),
        ({"notion": "pure", "delta": 0.0}, True),
        ({"unit": "x"}, True),
        ({"adjacency": "x"}, True),
        ({"metric": "x"}, True),
        ({"group": "x"}, True),
        ({"exposed": ("a",)}, True),
        ({"exposed": ("a", "b", "c")}, False),
        ({"total": 2.0 * (1 - 0.9e-9)}, False),
        ({"total": 2.0 * (1 - 1.1e-9)}, True),
        ({"epsilon": 2.0 * (1 - 0.9e-9)}, False),
        ({"epsilon": 2.0 * (1 - 1.1e-9)}, True),
    ],
)
def test_a_result_promises_no_more_than_its_text(more, less):
    text = Guarantee("approx", 2.0, "u", "any", 1, 2.0, delta=0.1, exposed=("a", "b"))
    assert goodness_of_fit._guarantees_more(replace(text, **more), text) is less
    assert not goodness_of_fit._guarantees_more(text, text)


def test_first_pieces_that_are_not_what_is_stated():
    def of(counts, log_p, candidates, n=1):
        first = stated(log_p, candidates)
        one = output_events.OutputSample(SimpleNamespace(text="t"), None, ({}, {}), first, Counter(counts))  # type: ignore[arg-type]
        return plain(stated_pieces.find_misstatement([one] * n))

    half = np.log([0.5, 0.5])
    found = [
        of({0: 50, 1: 50}, half, "ab"),
        of({0: 100, 1: 1}, half, "ab"),
        of({"a": 50, "b": 50}, half, ["A ", "b"]),
        of({"c": 3, "a": 50}, half, "ab"),
        of({0: 10, 1: 1}, [0.0, -math.inf], "ab"),
        of({"a": 90}, half, "ab"),
        of({"a": 60, "b": 40}, np.log([0.3, 0.4, 0.3]), ["a", "b", "A"]),
        of({0: 66, 1: 34}, half, "ab", 3),
        of({0: 71, 1: 29}, half, "ab", 1),
        of({0: 76, 1: 24}, half, "ab", 1),
        of({0: 75, 1: 25}, half, "ab", 9),
    ]
    compare_case("figures", "first pieces", {"found": found})


@pytest.mark.parametrize(
    ("n", "mixed", "found"), [(300, 0.0, True), (299, 0.0, False), (400, 1.0, True), (300, 0.05, True)]
)
def test_places_that_are_drawn_together_are_told_from_those_that_are_not(n, mixed, found):
    u = STREAM.at("together").uniforms(3 * n).reshape(n, 3)
    places = [np.array([a, (1 - mixed) * a + mixed * b, 0.5 + 0.1 * c]) for a, b, c in u]
    document = SimpleNamespace(tokens=[SimpleNamespace(text=t) for t in "abc"])
    text = SimpleNamespace(once=False, shared={i: i for i in range(3)}, document=document)
    middles = {0: (0, None), 1: (1, None), 2: (2, None)}
    fits = fit_statistics._correlation_fits(text, "a text", fit_statistics.Counts(places=places), middles)
    # The third hardly spreads, so that nothing is told of it.
    assert [f.key for f in fits] == [("together", 0, 1)] * found
    for fit in fits:
        r = abs(np.corrcoef(np.stack(places)[:, :2].T)[0, 1])
        assert fit.share == pytest.approx(r) and fit.log_p == -math.inf and fit.output == "“a” and “b”"
        assert (fit.p < 1e-100) == (mixed < 1) and (mixed < 1 or fit.p > 1e-3)
    again = SimpleNamespace(**vars(text) | {"once": True, "first": {0: 0, 1: 0, 2: 2}})
    assert fit_statistics._correlation_fits(again, "a text", fit_statistics.Counts(places=places), middles) == []


# --- what is compared, and how often


@pytest.mark.parametrize(
    ("first", "pairs"), [([0, 1, 0], [(0, 1), (1, 2)]), ([0, 0, 2], [(0, 2), (1, 2)]), ([0, 1, 2], None)]
)
def test_places_of_one_word_that_is_drawn_once_are_not_told_to_be_drawn_together(first, pairs):
    u = STREAM.at("once").uniforms(300)
    text = SimpleNamespace(
        once=True,
        first=dict(enumerate(first)),
        shared=dict(enumerate(range(len(first)))),
        document=SimpleNamespace(tokens=[SimpleNamespace(text=t) for t in "abc"]),
    )
    counts = fit_statistics.Counts(places=[np.array([x, x, x]) for x in u])
    fits = fit_statistics._correlation_fits(text, "a text", counts, {i: (i, None) for i in range(3)})
    assert [f.key[1:] for f in fits] == (pairs or [(0, 1), (0, 2), (1, 2)])


@pytest.mark.parametrize("listed", ["alpha", "nu", "omega"])
def test_a_piece_that_is_written_otherwise_than_listed_is_unclear_whatever_its_letters(listed):
    spelling = rules.Spelling(SimpleNamespace())  # type: ignore[arg-type]
    d, result = stated([0.0], [f" {listed.title()} "]), SimpleNamespace(candidate=lambda i: 0)
    spelling._listed("t", result, 0, SimpleNamespace(text="NU"), d)  # type: ignore[arg-type]
    assert bool(spelling.unclear) == (listed != "nu")


def test_of_every_piece_ten_rewrites_of_each_text_are_looked_at_and_two_under_every_other():
    p = np.array([[0.5, 0.5], [0.8, 0.2], [0.1, 0.9]])
    tables = [stated(np.log(row), "ab") for row in p]
    texts = [
        output_events.OutputSample(SimpleNamespace(text=str(k)), None, ({}, {}), None, Counter()) for k in range(3)
    ]  # type: ignore[arg-type]
    rng, given = np.random.default_rng(2), []

    class Rewritten(SimpleNamespace):
        def distributions(self):
            return enumerate([tables[self.text]] * 3)

        def candidate(self, i):
            return self.drawn[i]

    def one(m, prepared, stream):
        k = int(prepared.text)
        drawn = [int(x) for x in rng.random(3) < p[k, 1]]
        return Rewritten(text=k, can={"distribution"}, releases=[None] * 3, drawn=drawn)

    def of_pieces(prepared, result):
        given.append((result.text, int(prepared.text)))
        return [tables[int(prepared.text)]] * 3

    m = SimpleNamespace(likelihood=SimpleNamespace(states_pieces=True, given=of_pieces))
    # The second and the third are not alike under the promise.
    pairs = [(0, 1), (1, 0), (0, 2), (2, 0)]
    asked: list[Any] = []
    rewriter = SimpleNamespace(one=lambda *a: asked.append(1) or one(*a))
    guarantee = Guarantee("pure", 3.0, "piece", "any", 3, 9.0)
    look = lambda claim: stated_pieces.every_piece(  # noqa: E731
        FOUND,
        m,
        texts,
        pairs,
        guarantee,
        claim,
        STREAM,
        Meter(),
        rewriter,  # type: ignore[arg-type]
    )
    found = look(None)
    assert len(asked) == 30 and given == 2 * [(0, 0), (0, 1), (0, 2)] + 2 * [(1, 1), (1, 0)] + 2 * [(2, 2), (2, 0)]
    assert found.measured == pytest.approx(math.log(5)) and found.claimed == 3.0 and found.verdict == FOUND.verdict
    assert (found.witness.first, found.witness.second, found.witness.output) == ("0", "2", "a")
    assert "90 spans of 30 rewrites" in found.tested and "every span of 6 rewrites" in found.proven
    assert found.sampler_p > 0.001 and f"p = {found.sampler_p:.2g}" in found.tested
    assert look(math.log(5) - 1e-6).verdict == "refuted" and look(math.log(5)).verdict == FOUND.verdict
    p[:] = 0.0, 1.0  # drawn otherwise than is stated
    worse = look(None)
    assert worse.verdict == "refuted" and "spans do not follow" in worse.reason and worse.sampler_p < 1e-6


def test_without_a_number_of_draws_a_thousand_rewrites_make_each_half(monkeypatch):
    asked = []

    def look(m, prepared, half, *rest):
        asked.append((half, rest[-2], rest[-1]))
        raise rules.Breach("t", "told", "why")

    monkeypatch.setattr(outputs, "sample_outputs", look)
    m = Generator.create()
    for draws, half in ((None, 1000), (500, 250), (101, 50), (40, 50)):
        subject = Subject(m, m.guarantee("a"), ["a", "b"], STREAM, Meter(), draws=draws)
        found = outputs.audit_outputs(FOUND, subject)
        assert (found.verdict, found.reason) == ("refuted", "why") and asked[-1] == (half, 0.0, 0.5)


@pytest.mark.parametrize("texts", [1, 2])
def test_words_are_looked_at_again_behind_those_that_were_released_before(texts):
    calls = []

    class Chances:
        def before(self, prepared, stream):
            calls.append((prepared.text, stream.noise_id))
            return {1: ((0, "red"),), 2: ((0, "red"), (1, "blue"))}

        def after(self, prepared, index, released):
            return (prepared.text, index, released)

    m = SimpleNamespace(likelihood=Chances(), public_prior=None)
    prepared = [SimpleNamespace(text=f"text {k}") for k in range(texts)]
    probes = [replace(probe([0.0], text=p.text), prepared=p, index=i) for p in prepared for i in range(3)]
    found = inputs.probes_after(m, probes, STREAM, Meter())  # type: ignore[arg-type]
    assert calls == [("text 0", STREAM.at("released", 0).noise_id)], "one rewrite serves all with the same public words"
    assert [(f.text, f.d, f.after, f.index) for f in found] == [
        (f"text {k} (released before: {', '.join(w for _, w in after)})", (f"text {k}", i, after), after, i)
        for k in range(texts)
        for i, after in ((1, ((0, "red"),)), (2, ((0, "red"), (1, "blue"))))
    ]
    assert inputs.probes_after(SimpleNamespace(likelihood=None), probes, STREAM, Meter()) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [Swap.create(), Latent.create()])
def test_half_of_the_first_rewrites_are_by_an_instance_of_their_own(m, monkeypatch):
    made: list[Any] = []
    asked: list[tuple[Any, str, int]] = []
    monkeypatch.setattr(
        statefulness, "new_instance", lambda m, of=statefulness.new_instance: made.append(of(m)) or made[-1]
    )

    def noted(name, way):
        def call(rewriter, own, text, noise):
            asked.append((own, name, len(noise)))
            return way(rewriter, own, text, noise)

        return call

    monkeypatch.setattr(statefulness, "WAYS", {name: noted(name, way) for name, way in statefulness.WAYS.items()})
    each = ["doctor", "nurse", "water", "music"] if isinstance(m, Swap) else []
    probes = [Probe(w, None, w, m.distribution(w, 0), m.prepare(w), 0, True) for w in each]
    check = statefulness.at_first(Subject(m, m.guarantee("doctor"), ["doctor"], STREAM, Meter(), probes))
    assert check.status == "tested" and len(asked) > 8
    ways = list(statefulness.WAYS)
    assert [name for _, name, _ in asked] == [ways[k % 4] for k in range(len(asked))]
    assert [own is made[0] for own, *_ in asked] == [k // 4 % 2 == 1 for k in range(len(asked))]
    alone = [own for own, *_ in asked if own is not made[0]]
    assert len({*map(id, alone)}) == len(alone)
    times = statefulness.TIMES if m.by_word is not None else statefulness.MODEL_TIMES
    assert {n for *_, n in asked} == {times}
    assert f"The first {times} rewrites of {len(asked)} new texts" in check.description


MODULES = [importlib.import_module(f"{auditing.__name__}.{m.name}") for m in pkgutil.iter_modules(auditing.__path__)]


def test_how_much_an_audit_looks_at_and_from_which_chance_on_it_refutes():
    """What the sentences of its reports, the documents and the measured power of it were made with."""
    found = {}
    for module in MODULES:
        for node in ast.parse(inspect.getsource(module)).body:
            for name in (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)):
                value = getattr(module, name, None)
                if isinstance(node, ast.Assign) and name.isupper() and isinstance(value, int | float | np.ndarray):
                    found[f"{module.__name__.rpartition('.')[2]} {name.lstrip('_')}"] = plain(value)
    assert found["outputs DRAWS"] == 2000 and found["release_statistics LEVEL"] == 5e-8 and len(found) > 50
    compare_case("figures", "constants", dict(sorted(found.items())))


def test_pieces_are_compared_where_the_promise_is_of_one_draw_between_texts():
    some = SimpleNamespace(states_pieces=True)
    text = output_events.OutputSample(SimpleNamespace(text="t"), None, ({}, {}), None, Counter())  # type: ignore[arg-type]
    for pairs, notion, chances in (
        ([], "pure", some),
        ([(0, 1)], "none", some),
        ([(0, 1)], "pure", None),
        ([(0, 1)], "pure", SimpleNamespace(states_pieces=False)),
    ):
        m, promise = SimpleNamespace(likelihood=chances), Guarantee(notion, 3.0, "piece", "any", 3, 9.0, reason="r")
        assert (
            stated_pieces.every_piece(FOUND, m, [text] * 2, pairs, promise, None, STREAM, Meter(), None) is None  # type: ignore[arg-type]
        )


def test_words_are_prepared_together_where_they_are_cut_as_they_stand():
    cut = {"ab cd": ["ab", "cd"], "ab ef": ["ab", "f"], "ab gh": ["ab", "a"], "ab ij": ["ab", "ij", "k"]}
    tokens = lambda text: [SimpleNamespace(text=t) for t in cut[text]]  # noqa: E731
    m = SimpleNamespace(by_word=1, prepare=lambda text: SimpleNamespace(document=SimpleNamespace(tokens=tokens(text))))
    together = lambda *given: list(inputs._prepare_together(m, given))  # type: ignore[arg-type]  # noqa: E731
    assert together("ab", "cd") == together("ab", "cd", "e f", "gh") == ["ab", "cd"]
    assert together("ab", "ef") == together("ab", "gh") == together("ab", "ij") == ["ab"]
    assert together("ab") == ["ab"] and together("a b", "cd") == ["a b"] and together("ab", "c1") == ["ab"]
    m.prepare = lambda text: SimpleNamespace(document=dpt.Document.parse(text))
    many = [f"{a}{b}" for a in "bcdfg" for b in "bcdfghjklmnpqrstvwxz" * 3]
    assert together(*many[:250]) == many[:200]
    m.by_word = None
    assert together("ab", "cd") == ["ab"]


def test_so_many_words_are_looked_at_where_nobody_says_how_many():
    m = on(random_space(420, 4), "custext", k=6, mapping="conservative")
    words = inputs.default_words(m)
    assert len(words) == len(set(words)) == 200


def test_a_chance_that_is_no_number_makes_no_piece_possible():
    spelling = rules.Spelling(SimpleNamespace())  # type: ignore[arg-type]
    piece, result = SimpleNamespace(text="A"), SimpleNamespace(candidate=lambda i: None)
    spelling._listed("t", result, 0, piece, stated([-9.0, 0.0], ["a", "b"]))  # type: ignore[arg-type]
    for d in (stated([math.nan, 0.0], ["a", "b"]), stated([-math.inf, 0.0], "ab"), stated([0.0], "b", draws=5)):
        with pytest.raises(rules.Breach, match="differs from its spans"):
            spelling._listed("t", result, 0, piece, d)  # type: ignore[arg-type]
    spelling._listed("t", result, 0, piece, stated([-math.inf, 0.0], "ab", draws=5))  # type: ignore[arg-type]
    assert spelling.unclear == ""


@pytest.mark.parametrize("told_", [True, False])
def test_texts_that_are_named_by_their_first_rewrites(told_, monkeypatch):
    """Each of 60 is guessed among two; what the promise allows is that of the first."""
    ways = list(statefulness.WAYS)
    lineups = {f"a{k} b{k}": [f"c{k} d{k}", f"a{k} b{k}"] for k in range(60)}
    first = next(iter(lineups.values()))
    monkeypatch.setattr(statefulness, "success_bound", lambda m, texts: 0.5 if texts is first else 0.97)
    released_ = [
        (ways[k % 4], j, text, SimpleNamespace(text=text if told_ and j == 1 and k % 4 == 2 else "z"))
        for k, text in enumerate(lineups)
        for j in range(2)
    ]
    m = SimpleNamespace(config=SimpleNamespace(epsilon=1.25))
    check = statefulness._by_guesses(m, lineups, released_, STREAM, 2)  # type: ignore[arg-type]
    looked = "The first 2 rewrites of 60 new texts, in 4 ways, at ε = 1.25"
    assert check.draws == 120
    if told_:
        assert check.status == "tested", "15 right guesses of 15 are too few"
        more = [(way, j, text, SimpleNamespace(text=text if j == 1 else "z")) for way, j, text, _ in released_]
        check = statefulness._by_guesses(m, lineups, more, STREAM, 2)  # type: ignore[arg-type]
        assert (check.status, check.description) == ("refuted", f"{looked}.")
        assert check.witness is not None and check.witness.details == (
            "In the second rewrites, the words of a rewrite identified the original text in 60 of 60 guesses. "
            "The guarantee allows 50.0% (ε = 1.25)."
        )
        assert (check.witness.first, check.witness.second) == ("a0 b0", "a1 b1")
    else:
        least = release_statistics.least_share(60, 0.5, 5e-8 / 10)
        assert least is not None and check.status == "tested" and check.leak == least < 1
        assert check.description.startswith(f"{looked}. A leak")
        assert check.blind.startswith("a leak in the first rewrites")


def test_an_error_that_one_of_two_texts_raises_tells_them_apart():
    def of(errors: dict[str, str], whole: bool = True, far: bool = False):
        def rewrite(text):
            if errors[text]:
                raise dpt.InputError(errors[text])

        apart = np.full((2, 2), np.nan if far else 1.0)
        m = SimpleNamespace(
            rewrite=rewrite,
            can=frozenset() if whole else frozenset({"alignment"}),
            audit_support=SimpleNamespace(distances=lambda words: apart),
        )
        return metadata_leakage.find_error_breach(m, list(errors))  # type: ignore[arg-type]

    assert of({"a": "", "b": ""}) is None and of({"a": "same", "b": "same"}) is None
    found = of({"a": "same", "b": "same", "c": "other"})
    assert found.witness.first == "a" and found.witness.second == "c" and "error depends" in found.reason
    assert (
        found.witness.details == "The error of “a” is “InputError: same”, but the error of “c” is “InputError: other”."
    )
    found = of({"a": "", "b": "x"})
    assert (found.witness.first, found.witness.second) == ("b", "a")
    assert found.witness.details == "The error of “b” is “InputError: x”, but “a” is rewritten."
    # Where words are drawn in places, two words are alike that have a distance.
    assert of({"a": "", "b": "x"}, whole=False) and not of({"a": "", "b": "x"}, whole=False, far=True)
    assert not of({"a c": "", "b": "x"}, whole=False)
    assert of(dict.fromkeys(map(str, range(metadata_leakage.MOST)), "") | {"more": "x"}) is None, (
        "of so many texts at most"
    )


@pytest.mark.parametrize("confidence", [0.0, 0.49, 1.0, 1.5])
def test_a_confidence_is_from_one_half_to_below_one(confidence):
    with pytest.raises(dpt.ConfigError, match=r"at least 0\.5 and below 1, not"):
        dpt.audit(Swap.create(), confidence=confidence)
    for least in (0.5, 0.999):
        with pytest.raises(dpt.InputError, match="The list of inputs is empty"):
            dpt.audit(Swap.create(), [], confidence=least)


def test_the_largest_loss_over_a_vocabulary_is_looked_for_between_all_blocks_of_it(monkeypatch):
    """A word of the first block and one of the last, which no block compares."""
    n = 2 * vocabulary._TOGETHER + 30
    p = np.tile([0.5, 0.3, 0.2], (n, 1))
    p[3], p[-2] = (0.7, 0.2, 0.1), (0.05, 0.55, 0.4)
    names = ("x", "y", "z")
    every = [
        replace(probe(np.log(row), names, text=f"w{k}"), d=TokenDistribution(names, np.log(row), "x", 1.0))
        for k, row in enumerate(p)
    ]
    asked: list[int] = []
    monkeypatch.setattr(vocabulary, "_in_a_row", lambda *a: [f"w{k}" for k in range(n)])
    monkeypatch.setattr(vocabulary, "_probes", lambda m, by_word, words, _: [every[int(w[1:])] for w in words])
    monkeypatch.setattr(vocabulary, "_apart", lambda *a: len(a[-1]))
    monkeypatch.setattr(
        vocabulary, "_compare_pairs", lambda s, probes, apart: (asked.append(apart), (0.5, None, apart))[1]
    )
    m = SimpleNamespace(by_word=1, public_prior=None)

    def look(epsilon):
        guarantee = Guarantee("pure", epsilon, "word", "any", 1, epsilon)
        given = SimpleNamespace(m=m, guarantee=guarantee, claim=None, thorough=True, meter=Meter())
        return vocabulary.stated_words(given)  # type: ignore[arg-type]

    check = look(2.0)
    assert asked == [vocabulary._TOGETHER] * 2 + [30] and check is not None
    assert check.status == "refuted"
    assert "all 430 words of the vocabulary over all outputs, in 430 pairs" in check.description
    w = check.witness
    assert w is not None and w.outputs == ("x",) and w.log_p_first == np.log(0.7) and w.log_p_second == np.log(0.05)
    assert w.details == "“x” is e^2.64 times as likely under one word of the vocabulary as under another."
    assert look(math.log(14)).status == "proven" and look(math.log(14) - 1e-6).status == "refuted"  # type: ignore[union-attr]


def test_blocks_of_a_vocabulary_have_every_word_once_and_are_filled_up(monkeypatch):
    monkeypatch.setattr(metadata_leakage, "BLOCK", 4)
    cut = list("abcdefghij")

    class Counted:
        notion = "pure"

        def guarantee(self, word):
            return SimpleNamespace(unit=self.unit)

    m = Counted()
    m.unit = ProtectedUnit("distinct-word")  # type: ignore[attr-defined]
    (texts,) = metadata_leakage._blocks(m, None, cut)  # type: ignore[arg-type]
    assert texts == [["a", "d", "g", "j"], ["b", "e", "h", "a"], ["c", "f", "i", "a"]]
    m.unit = ProtectedUnit("released-word")  # type: ignore[attr-defined]
    assert list(metadata_leakage._blocks(m, None, cut)) == [[list("adgj"), list("behb"), list("cfic")]]  # type: ignore[arg-type]
    assert list(metadata_leakage._blocks(m, None, list("abc"))) == [[list("acac"), list("bbbb")]]  # type: ignore[arg-type]
    near = np.array([[w // 3 == v // 3 for w in range(10)] for v in range(10)])

    class Grouped(Counted):
        notion = "group"
        audit_support = SimpleNamespace(
            distances=lambda some: np.where(near[np.ix_(*[["abcdefghij".index(w) for w in some]] * 2)], 1.0, np.nan)
        )

    by_word = SimpleNamespace(words_alike=lambda words, n: ["a", "b", "c", "z", "d", "e", "g", "h", "j"])
    found = list(metadata_leakage._blocks(Grouped(), by_word, cut))  # type: ignore[arg-type]
    assert found == [[["a", "g"], ["b", "h"], ["c", "g"]]], "groups of two and more, the smaller one over again"


def test_what_leaves_with_a_release_is_the_same_for_texts_that_are_alike():
    made = {"a": {"text": "x", "noise_id": "1", "guarantee": {"total": 1.0, "draws": 2}}}
    made["b"] = {"text": "y", "noise_id": "2", "guarantee": {"total": 1.0, "draws": 2}}
    made["c"] = {"text": "y", "noise_id": "2", "guarantee": {"total": 1.0, "draws": 3}}
    asked: list[str] = []

    def one(m, text, noise):
        asked.append(text)
        if text == "d":
            raise dpt.InputError("no")
        return SimpleNamespace(to_dict=lambda: made[text])

    m = SimpleNamespace(
        audit_support=SimpleNamespace(adjacent=lambda a, b: True),
        guarantee=lambda t: SimpleNamespace(unit=ProtectedUnit.of("")),
    )
    given = SimpleNamespace(m=m, seeds=lambda name: lambda: 5, rewriter=SimpleNamespace(one=one))
    said = {t: metadata_leakage._Metadata((("rewrite", ""),)) for t in "abcd"}
    look = lambda *group: metadata_leakage._releases(given, group, said)  # type: ignore[arg-type]  # noqa: E731
    look("a", "b", "zzz")
    look("a", "zzz", "b", "c")  # beyond the first three
    assert asked == list("abab") and metadata_leakage.REWRITTEN == 3
    for group, what in (
        ("ac", "For “a” it is “2”, for “c” “3”."),
        ("bac", "For “b” it is “2”, for “c” “3”."),
    ):
        with pytest.raises(rules.Breach) as breach:
            look(*group)
        assert breach.value.witness.details == what and "guarantee of a result depends" in breach.value.reason
        assert (breach.value.witness.first, breach.value.witness.second) == (group[0], "c")
    with pytest.raises(rules.Breach, match="the error depends"):
        look("a", "d")


@pytest.mark.parametrize(
    ("rule", "expected"), [("original", [True, False, True]), ("none", [None] * 3), ("sentence", [True, False, False])]
)
def test_which_words_of_a_release_have_a_capital(rule, expected):
    m = Swap.create()
    document = dpt.Document.parse("Doctor saw Water.")
    d = stated([0.0])
    text = fit_statistics.StatedText(m, document.text, None, document, {0: d, 1: d, 2: d}, None, {})  # type: ignore[arg-type]
    text.m = SimpleNamespace(config=SimpleNamespace(recase=rule))  # type: ignore[assignment]
    assert [text.capital(i, frozenset()) for i in range(3)] == expected
    assert rule != "sentence" or text.capital(1, frozenset({0})) is True


def subject_of(m, own, **more) -> Subject:
    probes, _ = inputs.probes_of(m, own, Meter())
    return Subject(m, m.guarantee(own[0]), own, STREAM, Meter(), probes, **more)


@pytest.mark.parametrize("name", ["santext", "groups", "diffractor", "swap"])
def test_the_loss_of_one_draw_and_how_often_texts_are_rewritten_stay(name):
    m = MECHANISMS[name]()
    own = list(words(7)) if m.by_word is not None else ["doctor", "nurse", "water"]
    found: dict[str, Any] = {}
    for claim in (None, 0.05, 90.0):
        for draws in (None, 130):
            subject = subject_of(m, own, claim=claim, draws=draws)
            empty = replace(FOUND, measured=0.0, pairs=0, inputs=0, witness=None, detectable=0.0, proven="", tested="")
            report, check, count = verdict._loss(m, subject, subject.probes, (("a", "b"),), empty)
            assert count == (draws or (4 if subject.probes[0].d.depth > 720 else 1) * goodness_of_fit.FRESH)
            found[f"{claim} {draws}"] = [report, check, count]
    compare_case("figures", f"loss of {name}", plain(found))


def test_of_an_estimate_fresh_draws_are_never_more_than_without_one(monkeypatch):
    asked: list[int] = []

    def estimate(report, m, probes, distances, n, stream, meter, rewriter):
        asked.append(n)
        return replace(report, draws=n, measured=0.1, detectable=9.0)

    monkeypatch.setattr(verdict, "estimate", estimate)
    m = on(random_space(30, 3), "mvc", epsilon=2.0)
    counts = [
        verdict._loss(m, s, s.probes, (), FOUND)[2]
        for s in (subject_of(m, list(words(3)), draws=draws) for draws in (None, 100, 499, 501, 3000))
    ]
    assert asked == [20_000, 100, 499, 501, 3000] and counts == [500, 100, 499, 500, 500]


def test_pieces_of_a_text_that_is_alike_to_no_other_are_not_called_compared():
    d = stated(np.log([0.5, 0.5]), "ab")
    made = {
        k: SimpleNamespace(
            can={"distribution"}, releases=[1] * n, distributions=lambda n=n: enumerate([d] * n), candidate=lambda i: 0
        )
        for k, n in (("0", 0), ("1", 0), ("2", 2))
    }
    m = SimpleNamespace(likelihood=SimpleNamespace(states_pieces=True, given=lambda p, r: [d] * len(r.releases)))
    texts = [output_events.OutputSample(SimpleNamespace(text=k), None, ({}, {}), None, Counter()) for k in made]  # type: ignore[arg-type]
    rewriter = SimpleNamespace(one=lambda m, prepared, noise: made[prepared.text])
    guarantee = Guarantee("pure", 3.0, "piece", "any", 3, 9.0)
    look = lambda pairs: stated_pieces.every_piece(FOUND, m, texts, pairs, guarantee, None, STREAM, Meter(), rewriter)  # type: ignore[arg-type]  # noqa: E731
    assert look([(0, 1), (1, 0)]) is None and look([(0, 2), (2, 0)]) is not None


def test_a_blank_between_two_pieces_is_expected_between_the_same_two():
    spelling = rules.Spelling(Generator.create())
    for text in ("sun rain fog", "wind rain fog"):
        ends = [len(text.split()[0]), len(text) - 4, len(text)]
        starts = [0, ends[0] + 1, ends[1] + 1]
        spelling._covered(
            "t",
            SimpleNamespace(text=text),
            [SimpleNamespace(span=x, text=text[slice(*x)]) for x in zip(starts, ends, strict=True)],
        )  # type: ignore[arg-type]
    assert spelling.unclear == ""
    text = "sun rainfog"
    pieces = [SimpleNamespace(span=x, text=text[slice(*x)]) for x in ((0, 3), (4, 8), (8, 11))]
    spelling._covered("t", SimpleNamespace(text=text), pieces)  # type: ignore[arg-type]
    assert spelling.unclear.startswith("the same two spans are separated by a space in one text but not in another")
    other = rules.Spelling(Generator.create())
    for text, spans in (("sun rainfog", ((0, 3), (4, 8), (8, 11))), ("sun hail fog", ((0, 3), (4, 8), (9, 12)))):
        other._covered("t", SimpleNamespace(text=text), [SimpleNamespace(span=x, text=text[slice(*x)]) for x in spans])  # type: ignore[arg-type]
    assert other.unclear == "", "another piece stands before"


@pytest.mark.parametrize(("p", "n", "comparisons"), [(0.2, 300, 10), (0.0, 50, 1), (0.03, 400, 500)])
def test_the_smallest_leak_that_rewrites_show_is_that_of_binomial_tails(p, n, comparisons):
    text = SimpleNamespace(
        stated={0: stated(np.log([0.5, 0.5])), 1: stated(np.log([0.5, 0.5]), draws=100)},
        once=False,
        first={0: 0, 1: 1},
        shared={0: 0, 1: 1},
        document=SimpleNamespace(tokens=[SimpleNamespace(text="w0")]),
        stays=lambda d, word: p,
    )
    level = fit_statistics.AGAIN / 2 / comparisons
    least = next(k for k in range(n + 1) if stats.binom.sf(k - 1, n, p) <= level)
    leak = fit_statistics.smallest_leak(text, n, comparisons)  # type: ignore[arg-type]
    assert stats.binom.sf(least - 1, n, p + (1 - p) * leak) == pytest.approx(0.95)
    assert fit_statistics.smallest_leak(text, 0, comparisons) is None  # type: ignore[arg-type]
    text.stated.pop(0)  # what was estimated from draws has no chance to be held against
    assert fit_statistics.smallest_leak(text, n, comparisons) is None  # type: ignore[arg-type]


def test_of_a_vocabulary_nothing_is_compared_at_a_claim_of_the_callers():
    m = on(SPACE, "santext", epsilon=4.0)
    subject = subject_of(m, list(words(3)))
    assert vocabulary.stated_words(subject) is not None
    assert vocabulary.stated_words(replace(subject, claim=4.0)) is None


def test_words_that_lie_on_one_another_are_compared_with_the_others_alone():
    m = on(SPACE, "mvc", epsilon=2.0)
    subject = subject_of(m, list(words(3)), draws=200)
    apart = np.array([[np.nan, 0.0, 1.0], [0.0, np.nan, 1.0], [1.0, 1.0, np.nan]])
    found = sampled.estimate(FOUND, m, subject.probes, apart, 200, STREAM, Meter(), rewriting.Rewriter())
    assert found.witness.distance == 1.0 and math.isfinite(found.measured) and found.detectable > 0
    none = sampled.estimate(FOUND, m, subject.probes, apart * 0, 200, STREAM, Meter(), rewriting.Rewriter())
    assert none.detectable == 0 and none.measured == FOUND.measured


def test_the_first_of_several_impossible_outputs_is_named():
    counts, log_p = np.array([5, 1, 0, 2]), np.array([0.0, -np.inf, -np.inf, -np.inf])
    assert sampled.misfit(counts, log_p) == (0.0, 1)


@pytest.mark.parametrize("way", goodness_of_fit.WAYS)
@pytest.mark.parametrize("shared", [False, True])
def test_rewrites_of_a_text_are_asked_for_in_its_way_until_there_are_enough(way, shared):
    """shared: all rewrites of one call have one noise, so that one of each call counts, and fewer are asked for."""
    asked: list[tuple[str, int]] = []

    def some(kind, n):
        asked.append((kind, n))
        return [SimpleNamespace(noise_id=f"{len(asked)} {0 if shared else k}") for k in range(n)]

    rewriter = SimpleNamespace(
        task=dpt.Task(),
        fresh=lambda m, prepared, n, seed: some("fresh", n),
        listed=lambda m, texts, seed: some("list", len(texts)),
        one=lambda m, given, seed: some(given, 1)[0],
    )
    text = SimpleNamespace(m=None, text="text", prepared="prepared")
    found = list(goodness_of_fit._independent_rewrites(text, way, 1100, lambda: None, rewriter))  # type: ignore[arg-type]
    kind = {"fresh draws": "fresh", rewriting.LIST: "list", rewriting.TEXT: "text", rewriting.PREPARED: "prepared"}[way]
    assert {k for k, _ in asked} == {kind} and len({r.noise_id for r in found}) == len(found)
    if kind not in ("fresh", "list"):
        assert asked == [(kind, 1)] * 1100 and len(found) == 1100
    elif shared:
        assert asked == [(kind, 500)] + [(kind, 2)] * (2 * goodness_of_fit.OTHERS - 2) + [(kind, 1)]
        assert len(found) == 2 * goodness_of_fit.OTHERS
    else:
        assert asked == [(kind, 500), (kind, 500), (kind, 100)] and len(found) == 1100


def test_any_two_words_of_a_vocabulary_are_one_apart_where_all_are_alike():
    apart = np.array([[np.nan, 1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0, np.nan]])
    some = [SimpleNamespace(word=w) for w in words(3)]
    pure = Guarantee("pure", 3.0, "word", "any", 3, 9.0)
    assert np.array_equal(vocabulary._apart(None, pure, some), apart, equal_nan=True)  # type: ignore[arg-type]
    assert (
        np.array_equal(audit_support.notion_distances("pure", 3), np.nan_to_num(apart))
        and np.isnan(audit_support.notion_distances("none", 2)).all()
    )


def test_what_stays_is_held_against_its_chance_over_all_words_of_a_text(monkeypatch):
    monkeypatch.setattr(
        fit_statistics,
        "require_alignment",
        lambda m: SimpleNamespace(deletion_probability=0.0, insertion_probability=0.0),
    )
    d, kept = stated(np.log([0.25, 0.75]), ["sun", "rain"]), {"sun": 40, "rain": 20}
    text = SimpleNamespace(
        per_draw=False,
        once=True,
        m=None,
        stated={0: d, 1: d},
        first={0: 0, 1: 1},
        shared={0: 0, 1: 1},
        forms=SimpleNamespace(written={}),
        document=SimpleNamespace(tokens=[SimpleNamespace(text="Sun"), SimpleNamespace(text="rain")]),
        bare_word=str.lower,
        stays=lambda d, word: float(d.probs[list(d.candidates).index(word.lower())]),
    )
    counts = SimpleNamespace(words={(0, None, False): kept, (1, None, False): {"rain": 40, "sun": 20}}, both={})
    counts.deleted = counts.added = {}
    counts.n, counts.places = 60, []
    fits = fit_statistics.fits_of(text, "a way", counts, {}, {})  # type: ignore[arg-type]
    (stays,) = [f for f in fits if f.key == ("stays",)]
    p = (0.25 + 0.75) / 2
    assert stays.p == pytest.approx(min(1.0, 2 * stats.binom.sf(79, 120, p))) and stays.share == 80 / 120
    first = next(f for f in fits if f.key == ("words", 0, None, False))
    assert (first.share, first.log_p) == (40 / 60, pytest.approx(math.log(0.25))) and first.output == "“sun”"


def test_lists_of_a_vocabulary_are_full_and_their_texts_no_longer_than_others(monkeypatch):
    monkeypatch.setattr(vocabulary, "_TEXT", 3)
    monkeypatch.setattr(vocabulary, "BATCH", 4)
    monkeypatch.setattr(vocabulary, "_word_pairs", lambda by_word, prepared, result: [(prepared, result)])
    for n, each, lists in ((5, 2, 1), (12, 3, 1), (13, 2, 2), (24, 3, 2), (30, 3, 3)):
        given: list[list[str]] = []
        listed = lambda m, some, noise, given=given: (given.append(some), some)[1]  # noqa: E731
        subject = SimpleNamespace(meter=Meter(), rewriter=SimpleNamespace(listed=listed))
        m = SimpleNamespace(prepare=lambda text: text, prepare_many=lambda texts, *a, **k: texts)
        all_words = [f"w{k}" for k in range(n)]
        list(vocabulary._rewrite_lists(m, None, all_words, STREAM, subject))  # type: ignore[arg-type]
        assert [len(some) for some in given] == [4] * lists, (n, given)
        assert {len(t.split()) for some in given for t in some} == {each}
        assert {w for some in given for t in some for w in t.split()} == set(all_words)
