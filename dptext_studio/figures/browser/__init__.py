"""Markup, style and script of the token view, for the app and for self-contained files.

The markup is fixed: the script sets everything that comes from a text as text content.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from ..glossary import definition

_HERE = Path(__file__).parent
#: Files of the script, in the order of joining.
_SCRIPTS = (
    "token_math.js",
    "belief_panel.js",
    "tour_steps.js",
    "strip_tour.js",
    "strip_dom.js",
    "strip_slider.js",
    "strip_words.js",
    "strip_choice.js",
    "strip_identifiers.js",
    "strip_tint.js",
    "strip_curves.js",
    "strip_inspector.js",
    "strip_steps.js",
    "strip_attack.js",
    "strip_odds.js",
    "strip_server.js",
    "strip_copy.js",
    "strip_listeners.js",
    "token_strip.js",
)
#: Files of the style in order: later ones override earlier ones.
_STYLES = (
    "token_strip.css",
    "strip_dial.css",
    "strip_words.css",
    "strip_inspector.css",
    "strip_stage.css",
    "belief_panel.css",
    "strip_tour.css",
    "strip_preferences.css",
)


def markup() -> str:
    """Return the empty token view. ``{{tip NAME}}`` becomes a tooltip that defines the symbol."""
    return re.sub(r"\{\{tip (.+?)\}\}", lambda m: _tip(m[1]), _read("token_strip.html"))


def _tip(name: str) -> str:
    """Return a tooltip that defines a symbol, for mouse and keyboard."""
    said = html.escape(definition(name))
    return (
        f'<button type="button" class="tip" aria-label="What is {name}? {said}">?'
        f'<span class="bubble" aria-hidden="true">{said}</span></button>'
    )


def style() -> str:
    """Return the style. It does not prefix its selectors with ``.strip``, so other elements on a page need other names.
    """
    return "\n".join(_read(name) for name in _STYLES)


def script() -> str:
    """Return its script as a module, whose default export takes ``{parentElement, data, setStateValue}``."""
    return "\n".join(_read(name) for name in _SCRIPTS)


def plain_script() -> str:
    """Return the same without an export, as the body of a function: browsers load no module from a local file."""
    code, exported, rest = script().partition("export default ")
    assert exported and "export default " not in rest
    return code + rest


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
