"""What the tests of the browser edition share: texts, a visit, and what its page is asked."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: How far ln p may lie from the core's: both compute the same file in float32, in sums of other orders.
LOG_P = 2e-4


def law(page: Page, text: str, index: int, mechanism: str, epsilon: float, **more: Any) -> dict[str, Any]:
    # As one string: Playwright takes a second for a list of so many words.
    call = "async ([text, index, how]) => JSON.stringify(await window.dptext.distribution(text, index, how))"
    return json.loads(page.evaluate(call, [text, index, {"mechanism": mechanism, "epsilon": epsilon, **more}]))


def rewrite(page: Page, text: str, mechanism: str, epsilon: float, **more: Any) -> dict[str, Any]:
    call = "([text, how]) => window.dptext.rewrite(text, how)"
    return page.evaluate(call, [text, {"mechanism": mechanism, "epsilon": epsilon, **more}])


def until(page: Page, what: str, seconds: float = 60) -> None:
    """Wait for an expression. Playwright's own wait evaluates strings in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(what):
        assert time.monotonic() < end, what
        page.wait_for_timeout(50)


def drawn(prepared: Any) -> list[int]:
    return [i for i, reason in enumerate(prepared.reasons) if reason is None]
