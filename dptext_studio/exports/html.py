"""Self-contained HTML files: their content is escaped, and their policy forbids requests."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dptext_core.support.version import __version__

from ..figures import browser

_HERE = Path(__file__).parent
_BROKEN = re.compile("[\ud800-\udfff]")
#: Names of the two files that the pages of a folder share.
STYLE, SCRIPT = "style.css", "strip.js"


def escape(text: object) -> str:
    """Escape a text for HTML, in an element or in an attribute between quotes."""
    return html.escape(_BROKEN.sub("\ufffd", str(text)))


def data(identity: str, value: Any) -> str:
    """Return a value for a script to read. Its content cannot end the element or a line of the script."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    text = _BROKEN.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
    return f'<script type="application/json" id="{escape(identity)}">{text}</script>'


def paragraphs(text: str, kind: str = "p-block") -> str:
    """Return paragraphs of a user's text with its line breaks and its reading direction."""
    return f'<div class="{kind}" dir="auto">{escape(text)}</div>'


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values as rows."""
    return "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs if v) + "</dl>"


def style(live: bool = True) -> str:
    """Return the style of every file, with that of the token view if there is one."""
    return (browser.style() if live else "") + (_HERE / "page.css").read_text(encoding="utf-8")


def script() -> str:
    """Return the script that shows the token view of the data next to it."""
    start = (_HERE / "page.js").read_text(encoding="utf-8")
    return f'(() => {{\n"use strict";\n{browser.plain_script()}\n{start}}})();\n'


def page(
    title: str,
    body: str,
    *,
    live: bool = False,
    shared: bool = False,
    private: bool = True,
    wide: bool = True,
    sheet: str = STYLE,
) -> str:
    """Return one HTML file.

    title: plain text. body: HTML. live: whether it has a token view. shared: whether style and script are separate
    files; sheet: the name of that style. private: whether to ask search engines to leave it out. wide: whether it
    contains more than text to read.
    """
    if shared:
        policy = "style-src 'self'; script-src 'self'" if live else "style-src 'self'"
        head = f'<link rel="stylesheet" href="{sheet}">'
        end = f'<script src="{SCRIPT}"></script>' if live else ""
    else:
        css, js = style(live), script() if live else ""
        policy = f"style-src '{_digest(css)}'" + (f"; script-src '{_digest(js)}'" if live else "")
        head = f"<style>{css}</style>"
        end = f"<script>{js}</script>" if live else ""
    robots = '<meta name="robots" content="noindex, nofollow">\n' if private else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {policy}; img-src data:; base-uri 'none'; \
form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="DP-Text Studio {escape(__version__)}">
{robots}<title>{escape(title)}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
<main{"" if wide else ' class="p-narrow"'}>
{body}
</main>
{end}
</body>
</html>
"""


def _digest(content: str) -> str:
    """Return the hash by which a browser recognises an allowed style or script of the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")
