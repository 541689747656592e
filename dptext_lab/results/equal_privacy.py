"""Points at equal privacy and points with single lists: their files, and the commands that repeat them."""

from __future__ import annotations

from dataclasses import dataclass

from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.support import assets
from dptext_core.words.lists import CONFIGURATIONS

from . import curves
from . import summary as store
from .rows import Row, make_record
from .summary import Results

#: The first list of each space in L0.
SINGLE = tuple((name,) for name in CONFIGURATIONS["L0"])
CHOICES = (("L0",), ("L1",), ("L2",), *SINGLE)
VOCABULARY = "vocabulary"


@dataclass(frozen=True)
class Crossing(SettingFields):
    """A setting with N_w equal to ``n_w``. Its ε is None if it never has this N_w. exact: whether by a closed form."""

    setting: Setting
    n_w: float
    exact: bool


def bundled(what: str) -> Results | None:
    """Return the bundled results of ``equal`` or ``lists``, or None if missing."""
    return assets.bundled(f"benchmarks/{what}.json", store.read, None)


def bundled_crossings() -> tuple[Crossing, ...]:
    """Return the settings at which ``equal`` was measured."""
    points = bundled("equal")
    return () if points is None else tuple(make_record(Crossing, c) for c in points.about.get("crossings", ()))


def file_of_point(point: str) -> str | None:
    """Return which of the two contains this point, or None."""
    for what in ("equal", "lists"):
        if point and any(r.point == point for r in getattr(bundled(what), "rows", ())):
            return what
    return None


def command(row: Row) -> str:
    """Return the command that repeats the point of a row, or "" if no grid has it."""
    if (what := file_of_point(row.point)) is not None:
        return f"python -m dptext_core bench equal-privacy {what} --point {row.point} --data DIR --stopwords FILE"
    return curves.command(row)
