"""One rewrite as a self-contained file with a draggable ε: for a paper, a blog or a hand-out."""

from __future__ import annotations

from typing import cast

from dptext_core.privacy.numbers import number
from dptext_core.result import RewriteResult
from dptext_core.support.task import UNWATCHED, Task

from ..figures import browser
from ..figures.glossary import NO_EPSILON
from ..figures.token_payload import Payload
from ..figures.token_view import payload, probabilities_at
from . import html
from .parts import mechanism_of, promise, reproduction, setting

PRIVATE = "This file shows the original words. Do not publish it for a private text."
_DRAG = (
    "Drag ε to the left for more privacy, or to the right to approach the original. Click a word to see its "
    "candidates."
)
_STAY = "Click a word to see its candidates."
_WHOLE = "This mechanism writes whole texts, so words have no distribution. Choose another mechanism."
ONE_NOISE = (
    "All slider positions share one draw of noise. The guarantee covers one version: publishing two versions of one "
    "draw voids it."
)


def inspection(
    result: RewriteResult,
    view: Payload | None = None,
    *,
    title: str = "",
    note: str = "",
    above: str = "",
    shared: bool = False,
) -> str:
    """Return the file as HTML.

    view: the token view's data of this result, if it exists already (:func:`view_of`). title: the heading. note:
    replaces the warning for a public text. above: HTML of a link back. shared: see :func:`html.page`.
    """
    mechanism = mechanism_of(result)
    view = view or view_of(result)
    title = title or f"A text rewritten with {mechanism.title}"
    shown = identifiers_below(result, view)
    movable = "spread" not in shown
    chances = any("c" in token for token in shown["tokens"])
    how = _DRAG if movable else _STAY if chances else _WHOLE
    mark = f'<p class="p-mark">{html.escape(note)}</p>' if note else f'<p class="p-mark p-private">{PRIVATE}</p>'
    at = f" at ε = {number(shown['eps'])}" if movable else ""
    other = ""
    if movable:
        other = (
            f"<p>This is the guarantee at the initial ε = {number(shown['eps'])}. It changes with ε. {ONE_NOISE}</p>"
        )
    body = f"""{above}{mark}
<h1>{html.escape(title)}</h1>
<p class="p-lede">{how}</p>
<noscript><p class="p-mark">Dragging needs JavaScript. Without it, this is the rewrite:</p>
{html.paragraphs(result.text)}</noscript>
{browser.markup()}
<div class="p-prose">
<h2>Guarantee{at}</h2>
{promise(result)}
{other}
<h2>Setting</h2>
{setting(result)}
<h2>Reproduce</h2>
{reproduction(result)}
</div>
<footer>Made by DP-Text Studio. This page sends no data.</footer>
{html.data("payload", shown)}"""
    return html.page(title, body, live=True, shared=shared, private=not note)


def view_of(result: RewriteResult, *, task: Task = UNWATCHED) -> Payload:
    """Return the token view's data over the mechanism's own range of ε."""
    mechanism = mechanism_of(result)
    low, high, default = type(mechanism).epsilon_range(mechanism.setting.options)
    epsilon = mechanism.config.epsilon
    if isinstance(epsilon, float):
        low, high, default = min(low, epsilon), max(high, epsilon), epsilon
    view = payload(result, run=1, low=low, high=high, default=default, task=task)
    if not mechanism.uses_epsilon:
        view["spread"] = NO_EPSILON
    return view


def identifiers_below(result: RewriteResult, view: Payload) -> Payload:
    """Return the view for a file without a server: at the ε of the result, and without a slider if another ε needs the
    server.
    """
    shown = dict(view) | {"run": 1}
    if (exact := probabilities_at(result, view)) is not None:
        shown["here"] = exact
    for name in ("key", "cmd"):
        shown.pop(name, None)
    epsilon = result.config.epsilon
    if isinstance(epsilon, float):
        shown["eps"] = shown["default_eps"] = epsilon
    if not view["live"] and "spread" not in view:
        shown["spread"] = f"ε = {number(view['eps'])} {view['unit']}: another ε needs a new pass of the model"
    return cast(Payload, shown)
