"""What tests of mechanisms share."""

from __future__ import annotations

import functools

import pytest

from dptext_core.auditing import goodness_of_fit, metadata_leakage, stated_pieces, verdict
from dptext_core.models import loaded_generators

FEW = {
    goodness_of_fit: {"FEW": 2, "OTHERS": 6, "LOW": 1},
    stated_pieces: {"_PIECEWISE": 4, "_CROSSED": 1},
    metadata_leakage: {"REWRITTEN": 1, "ALONE": 60},
    verdict: {"FRESH": 25},
}


@pytest.fixture
def few_rewrites(few_looks, monkeypatch):
    """Audits that are asked for what chances prove: of rewrites, which test_conformance looks at, only a few. Where a
    model's files lie is looked up once, not for each rewrite."""
    monkeypatch.setattr(loaded_generators, "generator_spec", functools.cache(loaded_generators.generator_spec))
    for module, sizes in FEW.items():
        for size, n in sizes.items():
            monkeypatch.setattr(module, size, n)
