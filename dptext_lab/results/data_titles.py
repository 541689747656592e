"""Titles of the public data sets that the benchmarks read."""

from __future__ import annotations

#: Titles by name.
TITLES = {
    "sst2": "SST-2",
    "cola": "CoLA",
    "mrpc": "MRPC",
    "rte": "RTE",
    "wnli": "WNLI",
    "atis": "ATIS",
    "snips": "Snips",
    "reviews": "Film reviews",
    "authors": "Presidents' speeches",
    "builtin": "Invented notes",
    "notes": "Notes with identifying words",
}


def title(name: str) -> str:
    """Return the title of a data set, or its name if it is unknown."""
    return TITLES.get(name, name)


def in_sentence(name: str) -> str:
    """Return the title of a data set as it is written within a sentence."""
    shown = title(name)
    return shown[0].lower() + shown[1:] if name in ("reviews", "builtin", "notes") else shown
