"""What tests of mechanisms share."""

from __future__ import annotations

import pytest

from dptext_core.auditing import outputs, releases, told, verdict

FEW = {
    releases: {"FEW": 2, "OTHERS": 6, "LOW": 1},
    outputs: {"_PIECEWISE": 4, "_CROSSED": 1},
    told: {"REWRITTEN": 1, "ALONE": 60},
    verdict: {"FRESH": 25},
}


@pytest.fixture
def few_rewrites(few_looks, monkeypatch):
    """Audits that are asked for what chances prove: of rewrites, which test_conformance looks at, only a few."""
    for module, sizes in FEW.items():
        for size, n in sizes.items():
            monkeypatch.setattr(module, size, n)
