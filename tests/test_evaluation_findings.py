"""Every claim's verdict follows its rows: turn the rows round and the verdict turns; take them away and it says so."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest

from dptext_core import figures
from dptext_core.evaluation import findings as f
from dptext_core.evaluation.public_prior import Mean
from dptext_core.evaluation.rows import Row

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0, 50.0)


def row(mechanism: str, data: str, metric: str, epsilon: float | None, value: float, half: float = 0.01, **options):
    return Row(mechanism, options, epsilon, data, "", metric, value, value - half, value + half, 100, 3, "0")


def rising(epsilon: float, scale: float = 1.0) -> float:
    return epsilon / (epsilon + scale)


def one_metric(metric: str, first: Callable[[float], float], second: Callable[[float], float], a: dict, b: dict):
    """Rows of 1-Diffractor at every ε with the options a and b."""
    return [
        row("diffractor", "sst2", metric, e, made(e), **options)
        for e in EPSILONS
        for made, options in ((first, a), (second, b))
    ]


def utility(sign: int):
    return [
        row("santext", "sst2", m, e, 0.5 + sign * 0.3 * rising(e)) for m in ("accuracy", "cosine") for e in EPSILONS
    ]


def attackers(sign: int):
    return [
        row("custext", "reviews", metric, e, 0.5 + 0.1 * sign * (metric == "f1_adaptive"))
        for e in EPSILONS
        for metric in ("f1_static", "f1_adaptive")
    ]


def dp_mlm(sign: int):
    def table(mechanism):
        rows = f.paper_rows("sst2", mechanism, "accuracy")
        return {r.epsilon: r.value / 100 for r in rows if r.table == "Table 1" and r.paper == "DP-MLM"}

    base = table("baseline")[None]
    rows = [row("baseline", "sst2", "accuracy", None, 0.85)]
    for e, x in table("dp-mlm").items():
        rows.append(row("dp-mlm", "sst2", "accuracy", e, 0.85 - (base - x if sign > 0 else 0.5), clip="paper"))
    return rows


def gains(sign: int):
    return [
        row("dp-mlm", "reviews", f"relative_gain_{kind}", e, 0.1 * sign, clip="paper")
        for e in (10, 25)
        for kind in ("static", "adaptive")
    ]


def plus(sign: int):
    return [
        row(mechanism, data, metric, 25, 0.5 + 0.1 * sign * (mechanism == "dp-mlm-plus"))
        for mechanism in ("dp-mlm", "dp-mlm-plus")
        for data, metric in (("sst2", "accuracy"), ("authors", "f1_adaptive"))
    ]


def lists(sign: int):
    return [
        row("diffractor", "sst2", metric, 1.0, 0.5 + 0.1 * sign * (name == "L2"), lists=[name], noise="geometric")
        for metric in ("accuracy", "n_w")
        for name in ("L0", "L1", "L2")
    ]


def two_lists(sign: int):
    return one_metric(
        "n_w", lambda e: 0.5 + 0.1 * sign, lambda e: 0.5, {"lists": ["L0"], "noise": "tem"},
        {"lists": ["L1"], "noise": "tem"},
    )  # fmt: skip


def test_each_window_of_tem_noise_is_compared_with_its_own():
    """Rows with γ = 5, and rows with the paper's: neither hides the other, and each is named."""
    given = {"lists": ["L2"], "noise": "tem"}
    rows = one_metric("n_w", lambda e: 0.3, lambda e: 0.4, {**given, "gamma": 5.0}, {**given, "gamma": None})
    rows += [row("diffractor", "sst2", "n_w", e, 0.6, noise="geometric", lists=["L2"]) for e in EPSILONS]
    found = f.noises_differ(f.Runs(rows))
    assert f"{2 * len(EPSILONS)} of {2 * len(EPSILONS)} comparisons" in found.numbers[0]
    assert "/ 40.0% ± 1.0% (tem)" in found.numbers[1] and "/ 30.0% ± 1.0% (tem, γ = 5)" in found.numbers[1]


def noises(sign: int):
    return one_metric(
        "n_w", lambda e: 0.5 + 0.1 * sign, lambda e: 0.5, {"lists": ["L2"], "noise": "geometric"},
        {"lists": ["L2"], "noise": "tem"},
    )  # fmt: skip


def sixty(sign: int):
    return [
        row("diffractor", "sst2", "n_w", 1.0, 0.4 if sign > 0 else 0.9, noise="geometric", lists=["L2"]),
        row("diffractor", "sst2", "n_w", 1.0, 0.4 if sign > 0 else 0.9, noise="geometric", lists=["L0"]),
        row("mahalanobis", "sst2", "n_w", 10.0, 0.05 if sign > 0 else 0.6),
    ]


def ranges(sign: int):
    wide, tight = (lambda e: rising(e, 2.0), lambda e: min(0.95, e / 1.2))
    first, second = (tight, wide) if sign > 0 else (wide, tight)
    rows = [row("diffractor", "sst2", "n_w", e, first(e), noise="geometric", lists=["L2"]) for e in EPSILONS]
    return rows + [row("mvc", "sst2", "n_w", e, second(e)) for e in EPSILONS]


def five(sign: int):
    rows = []
    for e in EPSILONS:
        for metric in ("accuracy", "cosine"):
            rows.append(row("diffractor", "sst2", metric, e, 0.5 + 0.1 * sign, noise="geometric", lists=["L2"]))
            rows.append(row("tem", "sst2", metric, e, 0.5))
    return rows


def rates(sign: int):
    return [
        row("diffractor", "sst2", "tokens_per_second", 1.0, 1000.0, noise="geometric"),
        row("diffractor", "sst2", "tokens_per_second", 1.0, 100.0 if sign > 0 else 5000.0, noise="tem"),
        row("mvc", "sst2", "tokens_per_second", 1.0, 100.0 if sign > 0 else 5000.0),
    ]


def ks(sign: int):
    return [
        row("custext", "sst2", metric, 1.0, 0.7 - 0.1 * sign * i, k=k, mapping="balanced", strategy="record")
        for i, k in enumerate((5, 50, 500))
        for metric in ("accuracy", "cosine")
    ]


def maps(sign: int):
    return [
        row("custext", "sst2", metric, 1.0, 0.7 - 0.1 * sign * i, k=50, mapping=m, strategy="record")
        for i, m in enumerate(("aggressive", "balanced", "conservative"))
        for metric in ("accuracy", "cosine")
    ]


def strategies(sign: int):
    return [
        row(
            "custext", "sst2", "accuracy", 5.0, 0.7 + 0.1 * sign * (s == "record"), k=50, mapping="balanced", strategy=s
        )
        for s in ("token", "record", "dataset")
    ]


def stops(sign: int):
    return [
        row("custext", "sst2", metric, 5.0, 0.7 + 0.1 * sign * kept, k=50, mapping="balanced", keep_stopwords=kept)
        for kept in (True, False)
        for metric in ("accuracy", "cosine")
    ]


CLAIMS = {
    f.rises_with_epsilon: utility, f.adaptive_beats_static: attackers, f.dp_mlm_keeps_utility: dp_mlm,
    f.dp_mlm_gains: gains, f.dp_mlm_plus: plus, f.one_list_is_best: lists, f.more_lists: two_lists,
    f.noises_differ: noises, f.sixty_percent: sixty, f.tight_range: ranges, f.one_dimension_wins: five, f.speed: rates,
    f.small_k: ks, f.mappings_utility: maps, f.record_strategy: strategies, f.stop_words: stops,
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.__name__)
def test_a_claims_verdict_follows_its_rows(claim):
    for sign, verdict in ((1, f.AGREES), (-1, f.DISAGREES)):
        rows = CLAIMS[claim](sign)
        found = claim(f.Runs(rows))
        assert found.verdict == verdict, found
        assert found.numbers and found.reason
        assert found.rows and all(any(own is r for r in rows) for own in found.rows), "a number must have its rows"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.__name__)
def test_a_claim_without_rows_is_not_measured(claim):
    found = claim(f.Runs([]))
    assert (found.verdict, found.rows) == (f.MISSING, ())


def test_every_claim_of_the_page_is_tested_here():
    assert set(f.CLAIMS) == {
        *CLAIMS,
        f.mappings_alone,
        f.little_memory,
        f.clipping_range,
        f.at_equal_privacy,
        f.starts_from_what_is_public,
    }


def test_a_difference_within_the_intervals_proves_nothing():
    rows = [row("custext", "reviews", m, 1.0, 0.5 + 0.01 * (m == "f1_adaptive")) for m in ("f1_static", "f1_adaptive")]
    assert f.adaptive_beats_static(f.Runs(rows)).verdict == f.OPEN
    tally = f.Tally()
    tally.add(
        row("custext", "sst2", "cosine", 1.0, 0.5, half=0.03), row("custext", "sst2", "cosine", 1.0, 0.46, half=0.03)
    )
    tally.add(
        row("custext", "sst2", "cosine", 1.0, 0.5, half=0.03), row("custext", "sst2", "cosine", 1.0, 0.45, half=0.03)
    )
    assert (tally.yes, tally.same, tally.no) == (1, 1, 0), "0.04 is less than √2·0.03, 0.05 is more"


def test_at_equal_n_w_values_are_read_between_the_points():
    rows = [row("tem", "sst2", "n_w", e, x) for e, x in ((1.0, 0.2), (5.0, 0.6), (10.0, 0.9))]
    rows += [row("tem", "sst2", "cosine", e, x) for e, x in ((1.0, 0.3), (5.0, 0.5), (10.0, 0.8))]
    rows += [row("diffractor", "sst2", m, e, x) for m in ("n_w", "cosine") for e, x in ((1.0, 0.1), (5.0, 0.8))]
    runs = f.Runs(rows)
    line = runs.find("sst2", "cosine", "tem")
    assert runs.at_n_w(line, 0.4) == pytest.approx(0.4)
    assert runs.at_n_w(line, 0.95) is None and runs.at_n_w(line, 0.1) is None
    found = f.at_equal_privacy(runs)
    assert "between the points: 1-Diffractor 0.500, TEM 0.450." in found.numbers[1]


def test_options_are_compared_with_defaults_filled_in():
    runs = f.Runs([row("custext", "sst2", "cosine", 1.0, 0.5, k=50)])
    assert runs.find("sst2", "cosine", "custext", mapping="balanced", k=50)
    assert not runs.find("sst2", "cosine", "custext", mapping="aggressive")
    assert not runs.find("sst2", "cosine", "custext", k=20)


def test_the_clipping_range_follows_its_rows(monkeypatch):
    found = f.clipping_range(f.Runs([]))
    assert found.verdict == f.PARTLY and len(found.numbers) >= 6
    rows = f.clipping.bundled()
    rising = [dataclasses.replace(r, n_w=0.9 if r.epsilon == 250 else r.n_w) for r in rows]
    monkeypatch.setattr(f.clipping, "bundled", lambda: tuple(rising))
    assert f.clipping_range(f.Runs([])).verdict == f.AGREES
    flat = [dataclasses.replace(r, n_w=0.1, cosine=0.5) for r in rows]
    monkeypatch.setattr(f.clipping, "bundled", lambda: tuple(flat))
    assert f.clipping_range(f.Runs([])).verdict == f.DISAGREES
    monkeypatch.setattr(f.clipping, "bundled", lambda: ())
    assert f.clipping_range(f.Runs([])).verdict == f.MISSING


def test_the_bundled_mappings_agree_with_the_papers_order():
    found = f.mappings_alone(f.Runs([]))
    assert found.verdict == f.PARTLY and "the paper 0.12%" in " ".join(found.numbers)


def test_memory_is_compared_with_the_papers_table(monkeypatch):
    found = f.little_memory(f.Runs([]))
    assert found.verdict == f.AGREES and "MVC" in found.numbers[0] and "(206.89)" in found.numbers[0]
    turned = [dataclasses.replace(r, value=1e4 if r.mechanism == "diffractor" else 1.0) for r in f.memory.bundled()]
    monkeypatch.setattr(f.memory, "bundled", lambda: tuple(turned))
    assert f.little_memory(f.Runs([])).verdict == f.DISAGREES
    monkeypatch.setattr(f.memory, "bundled", lambda: ())
    assert f.little_memory(f.Runs([])).verdict == f.MISSING


def test_the_memory_of_a_mechanism_grows_with_what_it_holds():
    few, many = (
        f.memory.measure("diffractor", {"noise": "geometric", "lists": ("L2",)}, words=n)[1] for n in (20, 2000)
    )
    assert 0 < few < many / 5


def test_what_is_drawn_is_compared_with_what_is_drawn():
    """N_w over all words and N_w over all but the stop words are two things."""
    rows = [
        row(name, "sst2", m, e, x, **options)
        for name, options in (("tem", {"keep_stopwords": False}), ("diffractor", {}), ("mvc", {}))
        for m in ("n_w", "cosine")
        for e, x in ((1.0, 0.05), (5.0, 0.8))
    ]
    found = f.at_equal_privacy(f.Runs(rows))
    assert "MVC" in found.numbers[0] and "TEM" not in " ".join(found.numbers)


def test_verdicts_of_two_halves():
    assert f._both(f.AGREES, f.OPEN) == f._both(f.AGREES, f.MISSING) == f._both(f.AGREES, f.DISAGREES) == f.PARTLY
    assert f._both(f.DISAGREES, f.OPEN) == f.DISAGREES and f._both(f.OPEN, f.MISSING) == f.OPEN
    assert f._both(f.MISSING, f.MISSING) == f.MISSING


def test_few_comparisons_for_a_claim_are_no_agreement():
    assert f.Tally(yes=2, same=18).verdict == f.PARTLY and f.Tally(yes=10, same=9).verdict == f.AGREES
    assert f.Tally(yes=1, same=25).verdict == f.OPEN and f.Tally(yes=1, no=5, same=20).verdict == f.DISAGREES
    assert f.Tally(yes=30, no=1, same=9).verdict == f.AGREES, "one of forty is what chance brings"
    assert f.Tally(yes=30, no=5).verdict == f.PARTLY and f.Tally(no=5, same=3).verdict == f.DISAGREES
    exact = [row("diffractor", "sst2", "n_w", 1.0, x, half=0.0) for x in (0.5, 0.5001, 0.6)]
    tally = f.Tally()
    tally.add(exact[1], exact[0])
    tally.add(exact[2], exact[0])
    assert (tally.yes, tally.same) == (1, 1), "a ten thousandth of N_w matters to nobody"


def public_means(gain: float, ratio: float) -> tuple[Mean, ...]:
    shared = {
        "data": "sst2",
        "system": "with prior, parallel",
        "half": 0.01,
        "texts": 9,
        "seeds": 1,
        "beside": "DP-MLM",
    }
    return tuple(
        Mean(epsilon=e, measure=m, mean=0.5, difference=d, difference_half=0.02, **shared)
        for e in (5.0, 10.0, 100.0)
        for m, d in (("cosine", gain), ("pseudo_perplexity", math.log(ratio)), ("attacker", 0.03))
    )


@pytest.mark.parametrize(
    ("gain", "ratio", "verdict"),
    [(0.1, 0.5, f.AGREES), (0.01, 0.5, f.DISAGREES), (0.1, 1.5, f.DISAGREES), (-0.1, 2.0, f.DISAGREES)],
)
def test_a_public_prior_is_better_where_both_differences_lie_beyond_their_intervals(monkeypatch, gain, ratio, verdict):
    monkeypatch.setattr(f.public_prior, "bundled", lambda: public_means(gain, ratio))
    found = f.starts_from_what_is_public(f.Runs([]))
    assert found.verdict == verdict and found.figure == "public_prior"
    assert (
        f"ε 10: 0.50 ({gain:+.2f})" in found.numbers[0]
        and "SST-2" in found.numbers[0]
        and "ε 100" not in found.numbers[0]
    )
    assert f"2 (× {ratio:.2f})" in found.numbers[1] and "the bundled model" in found.numbers[1]
    assert "50.0% (+3.0 points)" in found.numbers[2]


def test_one_cell_that_is_not_better_makes_it_a_part(monkeypatch):
    rows = list(public_means(0.1, 0.5))
    rows[0] = dataclasses.replace(rows[0], difference=0.0)
    monkeypatch.setattr(f.public_prior, "bundled", lambda: tuple(rows))
    found = f.starts_from_what_is_public(f.Runs([]))
    assert found.verdict == f.PARTLY and "in 1 of 2 cells, and more fluent in 2" in found.numbers[3]
    monkeypatch.setattr(f.public_prior, "bundled", lambda: ())
    assert f.starts_from_what_is_public(f.Runs([])).verdict == f.MISSING


def test_the_figure_of_the_public_prior_has_its_lines():
    rows = [
        dataclasses.replace(m, system=s)
        for m in public_means(0.1, 0.5)
        for s in ("DP-MLM, tuned range", "with prior, parallel")
    ]
    figure = figures.public_prior(rows)
    drawn = {(t.name, t.yaxis): t for t in figure.data if len(t.x)}
    assert {n for n, _ in drawn} == {"DP-MLM, tuned range", "with prior, parallel"} and len(drawn) == 6
    cosine, perplexity = (next(t for t in figure.data if len(t.x) and t.yaxis == a) for a in ("y", "y2"))
    assert list(cosine.x) == [5.0, 10.0, 100.0] and list(cosine.y) == [0.5] * 3
    assert perplexity.y[0] == pytest.approx(math.exp(0.5)) and figure.layout.yaxis2.type == "log"
    assert perplexity.error_y.array[0] == pytest.approx(math.exp(0.51) - math.exp(0.5))
