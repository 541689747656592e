"""The live token strip: a rewritten text whose ε is dragged in the browser, with no server trip while dragging.

The chances of every word travel to the browser once, as scores (the chance of candidate y at ε is
exp(ε·s_y − logZ(ε))) or as log-probabilities on a grid of ε; the released word at ε is read from the intervals in which
each candidate wins. The server hears of it when the drag ends.

Mount it inside ``@st.fragment`` and with a ``key``: then a click does not interrupt a running rewrite, and new data
reaches the strip that is on the page instead of building another one. The payload holds the original words: it is for
their author's screen only.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from dptext_core.figures.token_view import Payload
from pages.ui.glossary import said_of

_HERE = Path(__file__).parent


def _tip(name: str) -> str:
    """A bubble that says what a symbol means, for the mouse and for the keyboard."""
    said = html.escape(said_of(name))
    return (
        f'<button type="button" class="tip" aria-label="What is {name}? {said}">?'
        f'<span class="bubble" aria-hidden="true">{said}</span></button>'
    )


# Fixed markup: everything that comes from a text is set by the script as text content.
_HTML = f"""
<section class="strip" aria-label="Rewritten text, word by word" hidden>
  <p class="error" role="alert" hidden></p>
  <div class="body">
    <div class="card dial">
      <div class="head">
        <div class="budget">
          <div class="label"><label for="exact">Privacy budget <span class="unit"></span></label>{_tip("ε")}
            <span class="badge seeded" hidden>demonstration, not private</span></div>
          <div class="reading"><span class="symbol" aria-hidden="true">ε</span>
            <input id="exact" class="exact" type="number" step="any" inputmode="decimal" autocomplete="off"
              title="Type an exact ε and press Enter">
            <button type="button" class="reset"></button><span class="limit" role="status"></span></div>
          <p class="spread" hidden></p>
        </div>
        <p class="count"><strong></strong><span></span></p>
      </div>
      <div class="axis">
        <div class="chart" aria-hidden="true">
          <svg viewBox="0 0 1000 100" preserveAspectRatio="none" focusable="false">
            <path class="share"/><path class="edge"/><path class="line"/></svg>
          <span class="tag line-tag"></span><span class="tag share-tag">words kept</span>
          <div class="playhead"><i></i></div>
        </div>
        <input class="slider" type="range" min="0" step="1">
        <div class="lane" role="toolbar" aria-label="What the chosen word becomes as ε grows"></div>
        <div class="ticks" aria-hidden="true"></div>
      </div>
      <div class="ends" aria-hidden="true"><span>more private</span><span>closer to the original</span></div>
    </div>
    <div class="columns">
      <div class="before" hidden><h3>Your text</h3><p dir="auto"></p></div>
      <div class="reader">
        <div class="bar">
          <h3>Rewritten text</h3>
          <p class="hint" role="status"></p>
          <select class="tint" aria-label="What the words are marked by"><option value="changed">mark changes</option>
            <option value="stays">mark chance of staying</option></select>
          <label class="toggle"><input class="originals" type="checkbox" checked> Originals</label>
          <button type="button" class="copy">Copy text</button>
        </div>
        <p class="copied" role="status"></p>
        <div class="text" role="toolbar" aria-label="Words of the rewritten text"></div>
        <ul class="legend" aria-label="Legend"></ul>
        <p class="rule">Copying or downloading counts as released.
          Dragging ε, choosing words and opening panels are looks, and free.</p>
      </div>
      <aside class="card inspector" aria-label="Chosen word">
        <div class="which"><span class="place"></span>
          <button type="button" class="badge pin" hidden>pinned <span aria-hidden="true">×</span></button></div>
        <p class="pair"><span class="from"></span><span class="arrow" aria-hidden="true">→</span>
          <span class="to"></span></p>
        <p class="chance"><strong></strong><span>chance of staying (N_w)</span>{_tip("N_w")}</p>
        <p class="note"></p>
        <ul class="rows" aria-label="Chances of the words, most likely first"></ul>
      </aside>
    </div>
  </div>
  <p class="spoken" role="status"></p>
</section>
"""

_mount = st.components.v2.component(
    "dptext_token_strip",
    html=_HTML,
    css=(_HERE / "token_strip.css").read_text(encoding="utf-8"),
    js="\n".join((_HERE / name).read_text(encoding="utf-8") for name in ("token_math.js", "token_strip.js")),
)


def _ignore() -> None:
    """Streamlit keeps a state attribute only where a callback is given."""


def _read_view(raw: Any) -> dict[str, Any] | None:
    """The browser's snapshot as plain Python values; None where there is none or it does not have the right form."""
    if not isinstance(raw, Mapping):
        return None
    run, eps, token = raw.get("run"), raw.get("eps"), raw.get("token")
    numbers = (int, float)
    if isinstance(run, bool) or isinstance(eps, bool) or not isinstance(run, numbers) or not isinstance(eps, numbers):
        return None
    place = int(token) if isinstance(token, numbers) and not isinstance(token, bool) else None
    return {"run": int(run), "eps": float(eps), "token": place, "copies": _read_copies(raw.get("copies"))}


def _read_copies(raw: Any) -> list[tuple[str, int, float]]:
    """The copies of a snapshot as (draw, run, ε); what does not have that form is left out."""
    out = []
    for copy in raw if isinstance(raw, Sequence) and not isinstance(raw, str | bytes) else ():
        match copy:
            case [str(draw), int(run) | float(run), int(eps) | float(eps)] if not isinstance(run, bool):
                if math.isfinite(run) and math.isfinite(eps):
                    out.append((draw, int(run), float(eps)))
    return out


def token_strip(
    payload: Payload, *, key: str, on_view_change: Callable[[], None] | None = None
) -> dict[str, Any] | None:
    """Show a rewrite whose ε the user moves, and return what the user looks at.

    Args:
        payload: What the strip shows; :class:`dptext_core.figures.token_view.Payload` says what each key of it holds.
        key: Name of this strip in the session. The browser keeps ε and the chosen word under it.
        on_view_change: Called with no argument before the rerun that a new view starts; the view is then in
            ``st.session_state[key]["view"]``.

    Returns:
        The newest view ``{"run": int, "eps": float, "token": int | None, "copies": list}`` or None before the first.
        ``run`` may be older than the payload's, when the user has not moved since. ``token`` is the chosen index in
        ``tokens``. ``copies`` are all that left by copying so far, each as (draw, run, ε).
    """
    result = _mount(key=key, data={**payload, "key": key}, on_view_change=on_view_change or _ignore)
    return _read_view(result.get("view"))
