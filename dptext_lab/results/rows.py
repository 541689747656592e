"""The records of a benchmark from the runner to the chart, and their conversion from and to JSON.

A ``RunLine`` is a point as the runner writes it. A ``Row`` is one metric of one setting over its seeds. ``read`` takes
a JSON object and raises InputError with the problem; the caller adds the file name.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self, TypeVar

from dptext_core.errors import InputError
from dptext_core.measure.metrics.registry import REGISTRY, measure
from dptext_core.mechanisms.setting import Setting, SettingFields

from .paired_comparison import unpack

R = TypeVar("R")

#: The mechanism of unprotected text.
BASELINE = "baseline"
#: The columns of a setting.
COLUMNS = ("mechanism", "options", "epsilon")
#: The possible tasks of a metric.
TASKS = tuple(dict.fromkeys(m.task for m in REGISTRY.values()))


def column_names(cls: type) -> tuple[str, ...]:
    """Return the columns of a record, of which its setting takes three."""
    return tuple(name for f in fields(cls) for name in (COLUMNS if f.name == "setting" else (f.name,)))


def plain(record: Any) -> dict[str, Any]:
    """Return a record as a JSON object with its columns in order."""
    out: dict[str, Any] = {}
    for f in fields(record):
        value = getattr(record, f.name)
        out |= value.to_dict() if isinstance(value, Setting) else {f.name: value}
    return out


def make_record(cls: Callable[..., R], content: Mapping[str, Any]) -> R:
    """Return the record of these checked columns."""
    others = {name: value for name, value in content.items() if name not in COLUMNS}
    return cls(setting=Setting(*(content[name] for name in COLUMNS)), **others)


def is_finite(x: Any) -> bool:
    """Return whether this is a finite number and no bool."""
    return not isinstance(x, bool) and isinstance(x, int | float) and math.isfinite(x)


def is_whole(x: Any) -> bool:
    return not isinstance(x, bool) and isinstance(x, int)


def check_columns(cls: type, content: Any, what: str) -> None:
    """Raise InputError unless ``content`` has exactly the columns of ``cls``. Those with a default may be missing."""
    needed = set(column_names(cls)) - {f.name for f in fields(cls) if f.default is not MISSING}
    if not isinstance(content, dict) or not needed <= set(content) <= set(column_names(cls)):
        raise InputError(f"{what} needs exactly {', '.join(column_names(cls))}")


def check_texts(content: Mapping[str, Any], *columns: str) -> None:
    """Raise InputError unless these columns are strings."""
    for column in columns:
        if not isinstance(content[column], str):
            raise InputError(f"{column} must be a string")


@dataclass(frozen=True, slots=True)
class Row(SettingFields):
    """One metric of one setting.

    low, high: the 95% interval (None: unknown); for speed, the smallest and largest value. n: number of texts or words.
    seeds: their number, 1 for metrics of words. point: id of the first seed's point, or "" if the grid has none. runs:
    the value of each seed, or (). texts: mean over the seeds for each test text, packed by ``paired_comparison.pack``,
    or ""."""

    setting: Setting
    data: str
    task: str
    metric: str
    value: float
    low: float | None
    high: float | None
    n: int | None
    seeds: int
    point: str
    runs: tuple[float, ...] = ()
    texts: str = ""

    @classmethod
    def read(cls, content: Any) -> Self:
        """Read from JSON. Raises InputError."""
        check_columns(cls, content, "a row")
        if content["task"] not in TASKS or not isinstance(content["options"], dict):
            raise InputError("unknown task, or options that are not an object")
        check_texts(content, "mechanism", "data", "metric", "point")
        for column in ("epsilon", "value", "low", "high"):
            if content[column] is None and column != "value":
                continue
            if not is_finite(content[column]):
                raise InputError(f"{column} must be a finite number" + ("" if column == "value" else " or null"))
        if not is_whole(content["seeds"]) or not (content["n"] is None or is_whole(content["n"])):
            raise InputError("n and seeds must be whole numbers")
        if (content["low"] is None) != (content["high"] is None):
            raise InputError("an interval needs both ends or none")
        if content["low"] is not None and not content["low"] - 1e-9 <= content["value"] <= content["high"] + 1e-9:
            raise InputError("the value lies outside its interval")
        bounds = measure(content["metric"])
        if not bounds.low - 1e-9 <= content["value"] <= bounds.high + 1e-9:
            raise InputError(f"{content['metric']} must be between {bounds.low:g} and {bounds.high:g}")
        runs, of_texts = content.get("runs", []), content.get("texts", "")
        if not isinstance(runs, list) or not all(is_finite(x) for x in runs) or not isinstance(of_texts, str):
            raise InputError("runs must be a list of finite numbers, and texts must be a string")
        if of_texts:
            unpack(of_texts)
        return make_record(cls, content | {"runs": tuple(runs)})

    @property
    def measured(self) -> str:
        """Return how often it was measured, as text."""
        if self.seeds == 1:
            return "measured once" if measure(self.metric).once else "one seed"
        return f"{self.seeds} seeds"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object without unknown values."""
        out = plain(self) | {"runs": list(self.runs)}
        return {k: v for k, v in out.items() if v or k not in ("runs", "texts")}


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the classifier can do a task on original texts. If not, rewriting cannot harm it.

    A task counts if score - majority > 3 standard errors of the score. With macro F1, the accuracy must also pass,
    because random guesses of all labels have a higher macro F1 than the majority class.
    """

    data: str
    task: str
    role: str
    metric: str
    score: float
    majority: float
    se: float
    n_test: int
    enters: bool

    @classmethod
    def read(cls, content: Any) -> Self:
        """Read from JSON. Raises InputError."""
        check_columns(cls, content, "a gate")
        check_texts(content, "data", "task", "role", "metric")
        if not all(is_finite(content[c]) for c in ("score", "majority", "se")):
            raise InputError("score, majority and se of a gate must be finite numbers")
        if not is_whole(content["n_test"]) or not isinstance(content["enters"], bool):
            raise InputError("n_test of a gate must be a whole number, and “enters” must be true or false")
        return cls(**content)

    def to_dict(self) -> dict[str, Any]:
        return {k: six_digits(v) if isinstance(v, float) else v for k, v in plain(self).items()}


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a line: program version, command without local paths, files, machine and time."""

    version: str
    command: str
    data_sha256: str
    device: str
    machine: str
    stopwords: str
    finished: str


#: The columns that identify a point, in the order of a line.
NAMED = (*COLUMNS, "data", "seed", "n_train", "n_test", "max_words")


@dataclass(frozen=True, slots=True)
class RunLine(SettingFields):
    """A finished point. errors: standard errors over the test texts or words (None: unknown).

    outcomes: values of each test text for some metrics, packed by ``paired_comparison.pack``; for a classifier, whether
    it is right. dataset and gates: only for unprotected text, a description of the data and the possible tasks.
    """

    id: str
    setting: Setting
    data: str
    seed: int
    n_train: int | None
    n_test: int | None
    max_words: int | None
    scores: Mapping[str, float]
    errors: Mapping[str, float | None]
    counts: Mapping[str, int]
    outcomes: Mapping[str, str]
    seconds: float
    tokens: int
    provenance: Provenance
    dataset: Mapping[str, Any] | None = None
    gates: tuple[Gate, ...] | None = None

    @property
    def named(self) -> dict[str, Any]:
        """Return the identifying columns as JSON values."""
        columns = plain(self)
        return {name: columns[name] for name in NAMED}

    @classmethod
    def read(cls, content: Any) -> Self:
        """Read from JSON without unknown columns. Raises InputError."""
        if not isinstance(content, dict) or not set(LINE) <= set(content):
            raise InputError(f"it needs {', '.join(LINE)}")
        check_texts(content, "id", "mechanism", "data")
        if not all(
            isinstance(content[c], dict) for c in ("options", "scores", "errors", "counts", "outcomes", "provenance")
        ):
            raise InputError("options, scores, errors, counts, outcomes and provenance must be objects")
        if point_id({name: content[name] for name in NAMED}) != content["id"]:
            raise InputError("its id does not match its setting")
        if not all(is_finite(x) for x in (*content["scores"].values(), content["seconds"])):
            raise InputError("scores and seconds must be finite numbers")
        if not all(x is None or is_finite(x) for x in content["errors"].values()):
            raise InputError("errors must be finite numbers or null")
        if not all(is_whole(x) for x in (*content["counts"].values(), content["seed"], content["tokens"])):
            raise InputError("counts, seed and tokens must be whole numbers")
        for packed in content["outcomes"].values():
            unpack(packed if isinstance(packed, str) else "")
        if not set(column_names(Provenance)) <= set(content["provenance"]):
            raise InputError(f"provenance needs {', '.join(column_names(Provenance))}")
        check_texts(content["provenance"], *column_names(Provenance))
        more: dict[str, Any] = {}
        if content["mechanism"] == BASELINE:
            if not isinstance(content.get("gates"), list) or not isinstance(content.get("dataset"), dict):
                raise InputError("unprotected text needs a list “gates” and an object “dataset”")
            more = {"dataset": content["dataset"], "gates": tuple(map(Gate.read, content["gates"]))}
        provenance = Provenance(**{name: content["provenance"][name] for name in column_names(Provenance)})
        return make_record(cls, {name: content[name] for name in LINE} | {"provenance": provenance} | more)

    def to_dict(self) -> dict[str, Any]:
        columns = plain(self) | {"provenance": plain(self.provenance)}
        out = {name: columns[name] for name in LINE}
        if self.gates is None:
            return out
        return out | {"dataset": self.dataset, "gates": [g.to_dict() for g in self.gates]}


LINE = tuple(name for name in column_names(RunLine) if name not in ("dataset", "gates"))


def point_id(named: Mapping[str, Any]) -> str:
    """Return the id of a point: 12 hexadecimal digits of the SHA-256 of its identifying columns (see ``NAMED``)."""
    text = json.dumps(named, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def six_digits(x: float) -> float:
    """Round to six digits, as in files."""
    return float(f"{x:.6g}")
