"""Sections that several files share: the guarantee, the settings, and how to reproduce them."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from dptext_core.mechanisms import codec
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.recommended import spelled_out
from dptext_core.mechanisms.registry import mechanism_of
from dptext_core.result import RewriteResult
from dptext_core.support.checks import public_value
from dptext_core.support.version import PROG, __version__

from .html import escape, rows

#: The file from which a command or a program reads the text: nothing copied from a page contains a text.
FILE = "text.txt"


def as_command(mechanism: Mechanism, seed: int | None = None, places: bool = True) -> str:
    """Return the command line that rewrites a text file with the same mechanism, ε and options.

    It omits options at the defaults that the command line shares with pages. places: whether it names files, which
    works on this machine only.
    """
    seeded = [] if seed is None else [f"--seed={seed}"]
    options = ["--mechanism", mechanism.name, *spelled_out(mechanism.setting).flags(places)]
    return shlex.join([*PROG.split(), "rewrite", *options, *seeded, "--file", FILE])


def as_python(mechanism: Mechanism, seed: int | None = None) -> str:
    """Return the same in Python, which reads the text from the same file."""
    return (
        "from pathlib import Path\n\nimport dptext_core as dpt\n\n"
        f"m = {spelled_out(mechanism.setting).call()}\n"
        f"text = Path({FILE!r}).read_text(encoding='utf-8')\n"
        f"r = m.rewrite(text{'' if seed is None else f', seed={seed}'})\n"
        "print(r.text)\nprint(r.guarantee.sentence())\n"
    )


def setting(result: RewriteResult) -> str:
    """Return the mechanism and its options; options that are not named have their defaults."""
    mechanism = mechanism_of(result)
    fields = {f.name: f for f in dataclasses.fields(mechanism.config)}
    epsilon = fields.pop("epsilon")
    pairs = [
        ("Mechanism", f"{mechanism.title} ({mechanism.name})"),
        ("Privacy budget ε", f"{result.guarantee.each()} {option_meta(epsilon).unit}".strip()),
    ]
    for name, value in mechanism.setting.options.items():
        value = _list_text(public_value(fields[name], value))
        pairs.append((option_meta(fields[name]).label, codec.format_value(value)))
    pairs.append(("Seed", "" if result.seed is None else f"{result.seed}: a demonstration, not private"))
    pairs.append(("Made by", f"DP-Text Studio {__version__}"))
    return rows(pairs) + '<p class="p-small">All other options are at their defaults.</p>'


def _list_text(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def promise(result: RewriteResult, formal: bool = True) -> str:
    """Return the guarantee, in plain words and formally, and what everyone can see despite it."""
    g = result.guarantee
    out = f"<p>{escape(g.sentence())}</p>"
    if g.exposed:
        out += f"<p><strong>Everyone can see</strong> {escape('; '.join(g.exposed))}.</p>"
    if formal:
        out += "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in g.lines()) + "</ul>"
    return out


def reproduction(result: RewriteResult) -> str:
    """Return how to rewrite another text with the same settings."""
    command = as_command(mechanism_of(result), result.seed, places=False)
    return (
        f"<p>This command rewrites a text file with the same settings:</p><pre><code>{escape(command)}</code></pre>"
    )
