"""What the tests of audits share."""

from __future__ import annotations

import pytest


@pytest.fixture
def few_releases(few_draws, monkeypatch):
    """Audits that hold a third of the rewrites against what is stated: what is found here shows in most of them."""
    from dptext_core.auditing import goodness_of_fit, verdict

    check = goodness_of_fit.check_releases
    monkeypatch.setattr(verdict, "check_releases", lambda m, probes, n, *more: check(m, probes, n // 3, *more))
    monkeypatch.setattr(goodness_of_fit, "every_input", lambda n: 20)
