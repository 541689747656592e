"""Typing into Explore at a steady pace, and how old the rewrite is that stands beside it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

#: 60 words, none of them of an example of ours.
SIXTY = (
    "My neighbour Paul Reyes told me last night that his daughter has left the clinic in Turin, where she had been "
    "treated for weeks after her fall. The doctors there wanted her to stay until spring, but she missed her dog and "
    "her own bed. She now walks with a stick, sleeps badly, takes two tablets every day, and drives again."
)
MORE = " Her brother comes on Sundays, and they play cards until late."

# What the rewrite is of is read from the originals that the strip shows below its words. Blanks are left out on both
# sides. Ages in milliseconds: how long ago the box held what is shown.
_WATCH = """() => {
  const plain = (text) => text.replace(/[\\s\\u2060]+/g, '');
  const box = () => document.querySelector('.st-key-play_text textarea');
  let host = null;
  const strip = () => {
    if (!host?.isConnected) {
      host = [...document.querySelectorAll('*')].find((e) => e.shadowRoot?.querySelector('.strip .text'));
    }
    return host?.shadowRoot.querySelector('.strip .text');
  };
  const original = (node) => {
    if (!node.querySelector) return node.textContent;
    if (!node.matches('button')) return [...node.childNodes].map(original).join('');
    const marks = [...node.querySelectorAll(':scope > .mark')];
    const said = (lead) => marks.filter((m) => m.matches('.lead') === lead).map((m) => m.textContent).join('');
    const was = node.querySelector('.was').textContent || node.querySelector('.now').textContent;
    return said(true) + was + said(false);
  };
  const shown = () => plain([...(strip()?.childNodes ?? [])].map(original).join(''));
  const at = new Map(), left = new Map();
  let now = plain(box().value), seen = -1;
  at.set(now, 0);
  const told = { ages: [], unknown: 0, backwards: 0, unfocused: 0 };
  box().addEventListener('input', () => {
    const next = plain(box().value);
    if (next === now) return;
    left.set(now, performance.now());
    left.delete(next);
    now = next;
    at.set(now, at.size);
  });
  const timer = setInterval(() => {
    const text = shown(), number = at.get(text);
    told.unfocused += document.activeElement !== box();
    if (number === undefined) {
      told.unknown += 1;
      return;
    }
    told.backwards += number < seen;
    seen = Math.max(seen, number);
    told.ages.push(text === now ? 0 : performance.now() - left.get(text));
  }, 50);
  window.watched = () => ({ ...told, same: shown() === plain(box().value) });
  window.unwatch = () => clearInterval(timer);
}"""


@dataclass(frozen=True)
class Watched:
    """What was seen while somebody typed, looked at every 50 ms. ages: seconds since the box held what was shown.
    unknown: how often something was shown that the box never held; backwards: an older text after a newer one;
    unfocused: the box without the focus. settled: seconds from the last key until its rewrite was there."""

    ages: list[float]
    unknown: int
    backwards: int
    unfocused: int
    settled: float

    def age(self, share: float) -> float:
        """The age that so large a share of the looks does not exceed."""
        return sorted(self.ages)[max(0, math.ceil(share * len(self.ages)) - 1)]


def watched(page: Any, more: str = MORE, per_second: float = 5.0, patience: float = 60.0) -> Watched:
    """Type into the box where the cursor stands, at a steady pace, and watch until the rewrite is that of the text."""
    page.evaluate(_WATCH)
    begun = time.monotonic()
    for i, letter in enumerate(more):
        page.wait_for_timeout(max(0.0, 1000 * (begun + i / per_second - time.monotonic())))
        page.keyboard.press(letter if letter != " " else "Space")
    last = time.monotonic()
    page.wait_for_function("watched().same", timeout=1000 * patience)
    settled = time.monotonic() - last
    value = page.evaluate("watched()")
    page.evaluate("unwatch()")
    ages = [age / 1000 for age in value["ages"]]
    return Watched(ages, value["unknown"], value["backwards"], value["unfocused"], settled)
