"""The rows that a claim lists: each number of its sentences is among them, or follows from them."""

from __future__ import annotations

from lab.findings.test_findings import of_k, row

from dptext_lab import findings as f
from dptext_lab.findings import custext


def test_the_same_k_are_compared_at_every_epsilon():
    """K 500 has no row at the largest ε, so K 5 is compared with K 50 at both."""
    last = [of_k(10.0, 0.1)[i] for i in (0, 1)] + [row("custext", "sst2", "accuracy", 10.0, 0.6, k=20, **custext.MAIN)]
    found = custext.small_k_fades.look(f.Runs([*of_k(1.0, 0.2), *last]))
    assert {(r.epsilon, r.options["k"]) for r in found.rows} == {(1.0, 5), (1.0, 50), (10.0, 5), (10.0, 50)}
    assert found.numbers[0].startswith("K 5 minus K 50, ") and "+10.0 points at ε 1, +5.0 at ε 10." in found.numbers[0]
    (only,) = (r for r in last if r.options["k"] == 20)
    alone = custext.small_k_fades.look(f.Runs([*of_k(1.0, 0.2), only]))
    assert alone.missing, "an ε with a single K has nothing to compare"
