"""The live token strip: a rewritten text whose ε the user drags in the browser, without a request to the server.

The probabilities of every word are sent to the browser once. They are either scores (the probability of candidate y at
ε is exp(ε·s_y − logZ(ε))) or log-probabilities on a grid of ε. The released word at ε follows from the intervals in
which each candidate wins. The server receives ε when the drag ends.

Use it inside ``@st.fragment`` and with a ``key``: then a click does not interrupt a running rewrite, and new data
updates the existing strip. The payload contains the original words, so it is for the author's screen only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ..figures import browser
from ..figures.belief_view import BeliefView
from ..figures.token_payload import AttackGuesses, Payload, ProbabilitiesAt, Similarity
from ..figures.tour_view import TourNumbers
from .text import number

#: The number of facts for which a visitor may enter alternatives, and the characters of each list.
MOST_FACTS, MOST_TYPED = 8, 400

_mount = st.components.v2.component(
    "dptext_token_strip", html=browser.markup(), css=browser.style(), js=browser.script()
)

_tell = st.components.v2.component(
    "dptext_here",
    js="""
// While the server does not know the current ε, ignore the keys and clicks that start something with it.
function wait(event) {
  const presses = event.type === "click" || event.key === "Enter" || event.key === " ";
  const behind = document.documentElement.hasAttribute("data-behind");
  if (presses && behind && event.target.closest("[class*=st-key-play_does]")) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

export default function ({ data }) {
  if (!document.dptextHere) for (const kind of ["click", "keydown"]) document.addEventListener(kind, wait, true);
  document.dptextHere = data;
  document.dispatchEvent(new Event("dptext-here"));
}
""",
)


def _ignore() -> None:
    """Do nothing: Streamlit keeps a state attribute only if a callback is given."""


def _read_view(raw: Any) -> dict[str, Any] | None:
    """Return the browser's snapshot as plain Python values; None if it is missing or malformed."""
    if not isinstance(raw, Mapping):
        return None
    run, eps, token = (number(raw.get(name)) for name in ("run", "eps", "token"))
    if run is None or eps is None:
        return None
    tint, fact, step = raw.get("tint"), raw.get("fact"), number(raw.get("step"))
    return {
        "run": int(run),
        "eps": float(eps),
        "token": None if token is None else int(token),
        "copies": _read_copies(raw.get("copies")),
        "tint": tint if isinstance(tint, str) else "",
        "fact": fact if isinstance(fact, str) else "",
        "others": _read_others(raw.get("others")),
        "step": 0 if step is None else int(step),
    }


def _read_copies(raw: Any) -> list[tuple[str, int, float]]:
    """Return the copies of a snapshot as (draw, run, ε), without malformed entries."""
    out = []
    for copy in raw if isinstance(raw, Sequence) and not isinstance(raw, str | bytes) else ():
        match copy:
            case [str(draw), run, eps] if number(run) is not None and number(eps) is not None:
                out.append((draw, int(run), float(eps)))
    return out


def _read_others(raw: Any) -> dict[str, str]:
    """Return the alternatives that the user typed for each fact, without malformed entries."""
    pairs = raw if isinstance(raw, Sequence) and not isinstance(raw, str | bytes) else ()
    out = {}
    for pair in pairs[-MOST_FACTS:]:
        match pair:
            case [str(fact), str(others)] if max(len(fact), len(others)) <= MOST_TYPED:
                out[fact] = others
    return out


def view_of(held: Any) -> dict[str, Any]:
    """Return the view from the session value under a strip's key; empty before the first."""
    return (_read_view(held.get("view")) if isinstance(held, Mapping) else None) or {}


def token_strip(
    payload: Payload, *, key: str, on_view_change: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Show a rewrite whose ε the user moves, and return what the user looks at.

    Args:
        payload: What the strip shows; :class:`dptext_studio.figures.token_payload.Payload` says what each key holds.
        key: Name of this strip in the session. The browser keeps ε and the chosen word under it.
        on_view_change: Called with no argument before the rerun that a new view starts; the view is then in
            ``st.session_state[key]["view"]``.

    Returns:
        The newest view ``{"run": int, "eps": float, "token": int | None, "copies": list, "tint": str, "fact": str,
        "others": dict, "step": int}`` or None before the first.
        ``run`` may be older than the payload's, when the user has not moved since. ``token`` is the chosen index in
        ``tokens``. ``copies`` are all that left by copying so far, each as (draw, run, ε). ``tint``: what the
        words are marked by. ``fact``: the one that was named where no word can be chosen. ``others``: the alternatives
        that were named for a fact. ``step``: that of the tour, 0 outside of it.
    """
    result = _mount(key=key, data={**payload, "key": key}, on_view_change=on_view_change or _ignore)
    return _read_view(result.get("view"))


def send_state(
    payload: Payload,
    epsilon: float,
    here: ProbabilitiesAt | None,
    meaning: Similarity | None,
    belief: BeliefView | None = None,
    tour: TourNumbers | None = None,
    guesses: AttackGuesses | None = None,
    *,
    key: str,
) -> None:
    """Send the browser the state of the page: the current ε, its exact results, the meaning preserved, the reader's
    belief, the tour's numbers and the attacker's guesses.

    This is separate from the payload of the strip, which is much longer and need not be sent again. Call it in the
    fragment of the strip, after the strip.
    """
    lp = {} if here is None else here["lp"]
    known = {"key": key, "run": payload["run"], "eps": epsilon, "lp": lp, "meaning": meaning, "belief": belief}
    known |= {"tour": tour, "guesses": guesses}
    _tell(key=f"{key}_here", data=known)
