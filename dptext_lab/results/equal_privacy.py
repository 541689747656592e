"""Points where systems are equally private, and those of single lists: their files and how to measure them again."""

from __future__ import annotations

from dataclasses import dataclass

from dptext_core.mechanisms.setting import Setting, SettingFields
from dptext_core.support import assets
from dptext_core.words.lists import CONFIGURATIONS

from . import curves
from . import summary as store
from .rows import Row, make_record
from .summary import Results

#: Of each space of L0 its first list.
SINGLE = tuple((name,) for name in CONFIGURATIONS["L0"])
CHOICES = (("L0",), ("L1",), ("L2",), *SINGLE)
VOCABULARY = "vocabulary"


@dataclass(frozen=True)
class Crossing(SettingFields):
    """A setting whose N_w is ``n_w``; its ε is None where it does not get there. exact: by a closed form."""

    setting: Setting
    n_w: float
    exact: bool


def bundled(what: str) -> Results | None:
    """Return what comes with the program of ``equal`` or ``lists``; None where it is missing."""
    return assets.bundled(f"benchmarks/{what}.json", store.read, None)


def bundled_crossings() -> tuple[Crossing, ...]:
    """Return the crossings that ``equal`` was measured at."""
    points = bundled("equal")
    return () if points is None else tuple(make_record(Crossing, c) for c in points.about.get("crossings", ()))


def file_of_point(point: str) -> str | None:
    """Return which of the two measured this point; None for neither."""
    for what in ("equal", "lists"):
        if point and any(r.point == point for r in getattr(bundled(what), "rows", ())):
            return what
    return None


def command(row: Row) -> str:
    """Return what measures the point of a row again, of ``bench run`` or of these; "" for a row that no grid has."""
    if (what := file_of_point(row.point)) is not None:
        return f"python -m dptext_core bench equal-privacy {what} --point {row.point} --data DIR --stopwords FILE"
    return curves.command(row)
