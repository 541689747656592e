"""What the tests of the browser edition share: texts, a visit, and what its page is asked."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXTS = (
    "My doctor in Lisbon treated my sister for a broken leg.",
    "Mrs. O'Neil paid $3.50 (twice!) at 10,000 Main St. on Jan. 5th… I can't say what it's for 🙂🙂.",
    "He said: \"Don’t — I won't go.\"\n\nThe U.S. team's e-mail is a.b@c.org; see http://x.y/z?q=1.",
    "Ünïcode naïve café ½ 日本語 zzqx 👩‍👩‍👧 rock ’n’ roll.",
    "",
    "the and of , .",
    # What nobody sees, and letters written as symbols.
    "Ⓜⓐⓡⓘⓐ\U000e0041 saw 🅹🅾🅷🅽,\u200b ⒨⒜⒭⒤⒜ and 🇲🇦\ufe0f.\u0301 ⠍⠁⠗⠊⠁\u2009①½² ☙ ‐‑ 👍🏽 \ue000\n \r\n\tof\u3164 \u2028",
    f"A word of {'x' * 150}, http://a.b/{'c' * 150} and {'-' * 150}",
)


#: With what identifies: names, places, dates, numbers and addresses.
TELLING = """Mrs Halvorsen and Dr. J. Peter von Berg saw Anna's son. Nora Lindqvist left. Ask Tom, please; Grace cried.
She is at St Olav's Hospital or 14 Mill Lane near Ashgrove, in New York, then Turkey. A nice reading, a cold turkey.
The 12th of March 2024, 2024-03-12, 3/12/24, Jan. 5th, May 1987; May I? In 1990, since the autumn 1991, on Mondays, sat.
Forty-two, room B12, £3,500, +47 555 12 345, (030) 123 4567, a.b@example.org, www.example.org/x, https://x.y/z.
Bill phoned. Will you? Don met Will in the US with Can; Call five, one and two: double oh 7! I had one. 5 may.
A TEST A. Dear will, i am may: W I L L. At half past one in room six; THe first of May, third may, one-oh-two."""


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
