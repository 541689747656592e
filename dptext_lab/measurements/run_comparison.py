"""Compare runs: one row for each folder, one column for each setting that differs and each result.

A run has one mode: "rewrite", "downstream" and "case-study" have folders of ``dptext_core.data.folder``, and "pretrain"
has a checkpoint with its learning curve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dptext_core.data.folder import CONFIG, RESULT, read_lines
from dptext_core.errors import ConfigError, InputError
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import fields_of
from dptext_core.models import autoencoder
from dptext_core.privacy.numbers import bound, scientific
from dptext_core.privacy.sentences import NOTIONS
from dptext_core.support.assets import read_json
from dptext_core.support.checks import shorten_repr, usable_path

from ..results.case_study import SETS, epsilon_text
from ..results.downstream import METRICS, mean_and_deviation
from ..training.pretraining import LOG

#: Settings that the table always shows, in this order.
ALWAYS = ("run", "mode", "state", "mechanism", "epsilon", "data", "train", "test", "checkpoints", "epsilons", "n")


def compare(folders: Sequence[str | Path]) -> list[list[list[str]]]:
    """Return a table for each mode, with its heading first. Raises InputError.

    Besides ALWAYS, only settings that differ have a column."""
    if not folders:
        raise InputError("No run was given. Name at least one folder of a run.")
    modes: dict[str, list[tuple[dict[str, str], dict[str, str]]]] = {}
    for given in folders:
        mode, asked, results = _run(usable_path(given))
        modes.setdefault(mode, []).append((asked, results))
    return [_table(rows) for rows in modes.values()]


def _table(rows: Sequence[tuple[dict[str, str], dict[str, str]]]) -> list[list[str]]:
    names = dict.fromkeys([*ALWAYS, *(name for asked, _ in rows for name in asked)])
    asked = [
        name
        for name in names
        if any(name in a for a, _ in rows) and (name in ALWAYS or len({a.get(name, "") for a, _ in rows}) > 1)
    ]
    distinct = list(dict.fromkeys(name for _, f in rows for name in f))
    return [
        [*asked, *distinct],
        *([*(a.get(name, "") for name in asked), *(f.get(name, "") for name in distinct)] for a, f in rows),
    ]


def _run(folder: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return a run's mode, settings and results."""
    if not (folder / CONFIG).is_file():
        raise InputError(f"{shorten_repr(str(folder))} is not a run: it has no {CONFIG}. Name the folder of a run.")
    config = read_json(folder / CONFIG)
    if isinstance(config, dict) and config.get("kind") == autoencoder.KIND and (folder / LOG).is_file():
        return _pretraining_run(folder)
    if not isinstance(config, dict) or not isinstance(config.get("mode"), str):
        raise InputError(f"{CONFIG} in {folder.name} does not describe a run. Name another folder.")
    asked = {"run": folder.name, "mode": config["mode"], "state": "finished"}
    for key, value in config.items():
        if key == "epsilons" and isinstance(value, list):
            asked[key] = ", ".join(map(epsilon_text, value))
        elif key == "loads" and isinstance(value, dict):
            asked |= {f"files of {name}": str(one)[:8] for name, one in value.items()}
        elif (isinstance(value, dict) and any(isinstance(one, dict) for one in value.values())) or _is_data(value):
            asked[key] = _data(value)
        elif isinstance(value, dict):
            asked |= {name: str(one) for name, one in value.items()}
        elif key != "mode" and value not in (None, [], ""):
            asked[key] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    if "epsilon" in asked and (unit := _unit(asked.get("mechanism", ""))):
        asked["epsilon"] += f" {unit}"
    if not (folder / RESULT).is_file():
        lines = sum(1 for _ in read_lines(folder))
        return config["mode"], asked | {"state": f"not finished, {lines:,} lines"}, {}
    return config["mode"], asked, _result_columns(read_json(folder / RESULT))


def _is_data(value: Any) -> bool:
    return isinstance(value, dict) and "sha256" in value


def _data(value: Any) -> str:
    """Return the name and the start of the hash of one or several files or checkpoints."""
    if _is_data(value):
        return f"{value.get('name')} {str(value['sha256'])[:8]}"
    if not isinstance(value, dict):
        return str(value)
    several = (_data(one) if _is_data(one) else f"{name}: {_data(one)}" for name, one in value.items())
    return ", ".join(several)


def _unit(mechanism: str) -> str:
    """Return what one ε is spent on, from the mechanism's option; empty for an unknown mechanism."""
    try:
        epsilon = fields_of(mechanism).get("epsilon")
    except ConfigError:
        return ""
    return option_meta(epsilon).unit if epsilon else ""


def _pretraining_run(folder: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the same for a pre-training, which has its settings and figures in LOG."""
    log = read_json(folder / LOG)
    try:
        history, data = log["history"], log["data"]
        state = f"finished: {log['ended']}" if log["ended"] else f"not finished, {len(history):,} epochs"
        asked = {"run": folder.name, "mode": "pretrain", "state": state}
        if "file" in data:
            asked["data"] = _data({"name": data["file"], "sha256": data["sha256"]})
        asked |= {name: "none" if value is None else str(value) for name, value in log["settings"].items()}
        results = {
            "texts": f"{data['texts']:,}",
            "validation texts": f"{data['validation']:,}",
            "epochs": f"{len(history):,}",
        }
        if best := [e for e in history if e["epoch"] == log["best"]]:
            results |= {
                "best epoch": f"{log['best']:,}",
                "loss": f"{best[0]['loss']:.3f}",
                "validation loss": f"{best[0]['validation_loss']:.3f}",
                "word piece accuracy": f"{best[0]['accuracy']:.3f}",
            }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{LOG} in {folder.name} is not a pre-training log. Name another folder.") from None
    return "pretrain", asked, results


def _result_columns(result: Mapping[str, Any]) -> dict[str, str]:
    out: dict[str, str] = {}
    if "one_row" in result:
        out |= {name: f"{result[name]:,}" for name in ("rows", "errors")}
        out["notion"] = ", ".join(NOTIONS.get(name, name) for name in result["notions"])
        unit = " per unit of distance" if "metric" in result["notions"] else ""
        for key, title in (("one_row", "largest ε of a row"), ("all_rows", "ε of all rows")):
            promised = result[key] is not None and "none" not in result["notions"]
            delta = f", δ = {scientific(result[f'{key}_delta'])}" if result[f"{key}_delta"] else ""
            out[title] = f"{bound(result[key])}{unit}{delta}" if promised else "no guarantee"
            if result["seeded"]:
                out[title] += ", seeded: not private"
    for name, value in result.get("measures", {}).items():
        out[name] = f"{value['mean']:.3f}"
    for metric in METRICS:
        if metric in result:
            out[metric] = mean_and_deviation(result[metric])
            out["seeds"] = str(result.get("seeds", ""))
            out[f"{metric}, no information"] = f"{result['no_information'][metric]:.3f}"
    return out | (_settings(result) if result.get("mode") == "case-study" else {})


def _settings(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the scores of a case study over ε, one column for each data set and model."""
    (metric, _), out = METRICS, {"seeds": str(result["about"]["seeds"])}
    for name, title in SETS.items():
        for pre in ("", *SETS):
            some = [r for r in result["rows"] if (r["pretrained"], r["data"]) == (pre, name)]
            at = (f"{epsilon_text(r['epsilon'])}: " if pre else "" for r in some)
            scores = (f"{one}{r[metric]['mean']:.2f}" for one, r in zip(at, some, strict=True))
            out[f"{metric} of {title} {f'by {SETS[pre]}, at ε' if pre else 'without rewriting'}"] = "; ".join(scores)
        out[f"{title}, no information"] = f"{result['no_information'][name][metric]:.2f}"
    return out
