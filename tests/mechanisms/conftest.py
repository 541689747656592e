"""What tests of mechanisms share."""

from __future__ import annotations

import pytest

from dptext_core.auditing import releases


@pytest.fixture
def few_rewrites(few_looks, monkeypatch):
    """Audits that are asked for what chances prove: of rewrites, which test_conformance looks at, only a few."""
    for size, n in {"FEW": 3, "OTHERS": 6, "LOW": 1}.items():
        monkeypatch.setattr(releases, size, n)
