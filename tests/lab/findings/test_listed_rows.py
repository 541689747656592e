"""The rows that a claim lists: every number of its sentences is one of them, or is computed from them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

import pytest
from lab.findings.test_at_certainty import reader_rows  # noqa: F401
from lab.findings.test_findings import equal, in_file, judged, of_k, row

from dptext_lab import findings as f
from dptext_lab.findings import custext, diffractor_comparisons, own_claims, tables, verdicts
from dptext_lab.findings.base import ClaimOutcome
from dptext_lab.results import belief
from dptext_lab.results import summary as results

#: Sentences on comparisons: counts, differences and their significance follow from the listed rows.
COMPARISON = re.compile(r"comparisons? |Median difference|p [<=] |^Detecting ")
#: Parts of sentences that are computed from listed rows: differences, ratios, means and interpolated values.
COMPUTED = re.compile(
    r"^Share lost.*|^Accuracy lost.*|mean loss over Table 1.*|^K \d+ minus K.*|^As a multiple of.*|^Cosine under TEM .*"
    r"|^The geometric noise is.*|their mean: .*|Their mean: \S+ ± \S+|factor \d\S+|It is \S+ with .*interpolated"
)
DECIMAL = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(%?)")


@pytest.fixture(scope="module")
def outcomes() -> dict[str, ClaimOutcome]:
    whole = results.bundled()
    runs = f.Runs(whole.rows, whole.gates)
    return {claim.name: claim.look(runs) for claim in f.CLAIMS}


def listed(outcome: ClaimOutcome) -> Iterator[float]:
    """Return the numbers that a claim lists, and half of each interval."""
    for line in tables.listing(outcome):
        yield from (x for x in line.values() if isinstance(x, int | float))
        if str(line.get("measure", "")).startswith("log of "):
            yield from (math.exp(x) for x in (line["mean"], line.get("difference")) if x is not None)
        if line.get("low") is not None:
            yield max(line["value"] - line["low"], line["high"] - line["value"])


def as_printed(values: Iterator[float]) -> set[tuple[int, float]]:
    """Return each value, or the share that it leaves, as a share or in percent, with up to four decimals."""
    forms = {y for x in map(abs, values) for y in (x, 1 - x if x <= 1 else x)}
    return {(digits, round(scale * x + 1e-12, digits)) for x in forms for scale in (1, 100) for digits in range(5)}


@pytest.mark.parametrize("name", [claim.name for claim in f.CLAIMS])
def test_every_decimal_number_of_a_claim_is_among_its_rows(name, outcomes):
    found = outcomes[name]
    known = as_printed(listed(found))
    for sentence in found.numbers:
        parts = [part for part in re.split(r"(?<=\.) (?=[A-Z])", sentence) if not COMPARISON.search(part)]
        for number, percent in DECIMAL.findall(COMPUTED.sub("", " ".join(parts))):
            digits = len(number.partition(".")[2])
            if digits or percent:
                assert (digits, float(number.replace(",", ""))) in known, (number, sentence)


def test_an_unlisted_number_is_found(outcomes):
    """Without the rows of the cosine, the sentences on it have numbers from nowhere."""
    found = outcomes["at_equal_privacy"]
    fewer = dataclasses.replace(found, rows=tuple(r for r in found.rows if r.metric != "cosine"))
    with pytest.raises(AssertionError, match="Cosine on SST-2"):
        test_every_decimal_number_of_a_claim_is_among_its_rows("at_equal_privacy", {"at_equal_privacy": fewer})


def test_each_row_is_listed_once(outcomes):
    for name, found in outcomes.items():
        assert len({id(r) for r in found.rows}) == len(found.rows), name


#: Metrics of which a claim's sentences compare rows, beside the utility.
COMPARED = {
    "at_equal_privacy": {"accuracy", "cosine", "n_w"},
    "beats_tem_at_equal_privacy": {"accuracy", "cosine", "n_w", "s_w", belief.METRIC},
    "custext_against_santext": {"accuracy", "cosine", "n_w", "s_w", belief.METRIC},
    "dp_mlm_headline": {"accuracy", "cosine"},
    "judges_agree": {"accuracy", "n_w"},
    "meaning_at_half_certainty": {"cosine", belief.METRIC},
    "one_list_is_best": {"accuracy", "cosine", "n_w", "s_w"},
    "rises_with_epsilon": {"accuracy", "cosine"},
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_claim_lists_every_metric_that_it_compares(name, outcomes):
    assert COMPARED[name] <= {line["metric"] for line in tables.listing(outcomes[name])}


def test_the_verdicts_do_not_depend_on_what_is_listed(outcomes):
    assert {name: found.verdict for name, found in outcomes.items()} == {x.name: x.verdict for x in verdicts.bundled()}


def test_points_at_equal_n_w_list_their_n_w_cosine_and_variety(monkeypatch, reader_rows):  # noqa: F811
    for claim, name, other, module in (
        (custext.custext_against_santext, "custext", "santext", custext),
        (diffractor_comparisons.beats_tem_at_equal_privacy, "diffractor", "tem", diffractor_comparisons),
    ):
        equal(name, other, module)(1, monkeypatch.setattr)
        found = claim.look(f.Runs(()))
        at = {(r.mechanism, r.epsilon) for r in found.rows if r.metric == "accuracy"}
        for metric in ("n_w", "cosine", "s_w"):
            assert at <= {(r.mechanism, r.epsilon) for r in found.rows if r.metric == metric}, metric


def test_judges_list_the_rows_of_every_judge(monkeypatch):
    judged(1, monkeypatch.setattr)
    found = own_claims.judges_agree.look(f.Runs(()))
    assert {r.metric for r in found.rows} == {"accuracy", "n_w", *own_claims.OTHERS}
    in_file(monkeypatch.setattr, [])
    assert own_claims.judges_agree.look(f.Runs(())).rows == ()


def test_rows_and_records_are_listed_together():
    rows, records = (row("tem", "sst2", "accuracy", 9.0, 0.6),), ({"mechanism": "tem", "source": "a paper, Table 1"},)
    lines = tables.listing(ClaimOutcome(rows=rows, records=records))
    assert [line.get("value") for line in lines] == [0.6, None] and lines[1]["source"] == "a paper, Table 1"


def test_the_same_k_are_compared_at_every_epsilon():
    """K 500 has no row at the largest ε, so K 5 is compared with K 50 at both."""
    last = [of_k(10.0, 0.1)[i] for i in (0, 1)] + [row("custext", "sst2", "accuracy", 10.0, 0.6, k=20, **custext.MAIN)]
    found = custext.small_k_fades.look(f.Runs([*of_k(1.0, 0.2), *last]))
    assert {(r.epsilon, r.options["k"]) for r in found.rows} == {(1.0, 5), (1.0, 50), (10.0, 5), (10.0, 50)}
    assert found.numbers[0].startswith("K 5 minus K 50, ") and "+10.0 points at ε 1, +5.0 at ε 10." in found.numbers[0]
    (only,) = (r for r in last if r.options["k"] == 20)
    alone = custext.small_k_fades.look(f.Runs([*of_k(1.0, 0.2), only]))
    assert alone.missing, "an ε with a single K has nothing to compare"
