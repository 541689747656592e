"""Code that repeats a trade-off curve of two texts, which it reads from files."""

from __future__ import annotations

import shlex

from dptext_core.mechanisms.recommended import spelled_out
from dptext_core.mechanisms.setting import Setting
from dptext_core.support.version import PROG

from .parts import FILE

#: The file of the second text.
OTHER_FILE = "other.txt"


def curve_command(setting: Setting) -> str:
    """Return the command line that prints the curve of two texts with a setting."""
    named = ["--mechanism", setting.mechanism, *spelled_out(setting).flags()]
    return shlex.join([*PROG.split(), "trade-off-curve", *named, "--file", FILE, "--other-file", OTHER_FILE])


def curve_python(setting: Setting, rates: int) -> str:
    """Return the same in Python. rates: the number of steps of the false-alarm rate from 0 to 1."""
    return (
        "from pathlib import Path\n\nimport dptext_core as dpt\n\n"
        f"m = {spelled_out(setting).call()}\n"
        f"one, other = (Path(name).read_text(encoding='utf-8') for name in ({FILE!r}, {OTHER_FILE!r}))\n"
        f"curve = dpt.trade_off_curve(m, one, other, false_alarms=[i / {rates} for i in range({rates} + 1)])\n"
        "print(curve.sentence())\nprint(curve.to_csv())\n"
    )
