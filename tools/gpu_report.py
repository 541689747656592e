"""Judge what ``tools/check_gpu.py`` measured on two devices, and write the report as a page.

Run:  python tools/gpu_report.py FOLDER/report.json      (print the page again)
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

#: Mechanisms that read or write with a model.
WITH_MODEL = ("dp-mlm", "dp-mlm-prior", "dp-mlm-plus", "dp-prompt", "dp-paraphrase", "dp-sentence", "adept")
WITHOUT_MODEL = ("diffractor", "mahalanobis")
#: Those that need no more than ``NEEDED`` and the smaller tree: none of them is left out.
ALWAYS = ("dp-mlm", "dp-mlm-prior", "dp-mlm-plus", "diffractor")
ENCODER = "sentence encoder"
#: The largest difference of ln p that is accepted, by the type that the device computes in: ln p is a logit times ε
#: over twice the clipping range, and a logit has 8 significant bits in bfloat16.
LOG_P = {"float32": 0.01, "bfloat16": 0.5}
#: That of DP-Sentence: embeddings are rounded to codes, and one that lies between two codes can take the other.
OF_CODES = {"dp-sentence": 0.1}
#: The largest difference of a number in a vector of length 1.
VECTOR = 1e-3
#: Mechanisms whose vector is compared, since they state no probabilities.
VECTORS = {"adept"}


def difference(name: str, here: dict[str, Any], there: dict[str, Any], a: Any, b: Any) -> float:
    """Return the largest difference of ln p, or of a number of a vector, of a mechanism on two devices. What is written
    after a first different token is left out: it is drawn from something else."""
    import numpy as np

    worst = 0.0
    if (keys := sorted(k for k in a.files if k.startswith(name + "/"))) == []:
        return float("nan")
    for key in keys:
        _, t, k = key.split("/")
        mine, other = (side["parity"][name]["pieces"][int(t)][: int(k)] for side in (here, there))
        if key not in b.files or mine != other:
            continue
        if not np.array_equal(finite := np.isfinite(a[key]), np.isfinite(b[key])):
            return float("inf")  # something can be drawn on one device alone
        worst = max(worst, float(np.abs(a[key][finite] - b[key][finite]).max(initial=0.0)))
    return worst


def checks(device: dict[str, Any], cpu: dict[str, Any], a: Any, b: Any) -> list[dict[str, Any]]:
    """Return the result of each check: its value, its limit, and whether it passed."""
    found: list[dict[str, Any]] = []

    def add(check: str, of: str, value: float | bool, limit: float | bool) -> None:
        passed = value is limit if isinstance(limit, bool) else value <= limit
        found.append({"check": check, "of": of, "value": value, "limit": limit, "passed": passed})

    for name in (*WITH_MODEL, *WITHOUT_MODEL):
        if name not in ALWAYS and all(name in side["left_out"] for side in (device, cpu)):
            continue
        if name not in device["parity"] or name not in cpu["parity"]:
            add("runs", name, False, True)
            continue
        mine, other = device["parity"][name], cpu["parity"][name]
        if name in VECTORS:
            add("largest difference of the vector", name, difference(name, device, cpu, a, b), VECTOR)
        elif name in WITH_MODEL:
            # Writers below 100 million weights, and the encoder, compute in float32 everywhere.
            computed = device["dtype"] if name.startswith("dp-mlm") else "float32"
            limit = OF_CODES.get(name, LOG_P[computed])
            add("largest difference of ln p", name, difference(name, device, cpu, a, b), limit)
        else:
            add("same text as on the CPU", name, mine["rewrites"] == other["rewrites"], True)
        add("same text twice", name, mine["rewrites"] == mine["again"], True)
    if not all(ENCODER in side["left_out"] for side in (device, cpu)):
        vectors = [arrays[ENCODER] for arrays in (a, b) if ENCODER in arrays.files]
        apart = float(abs(vectors[0] - vectors[1]).max()) if len(vectors) == 2 else float("inf")
        add("largest difference of the vectors", ENCODER, apart, VECTOR)
    for check, side, key in (("lack of memory", device, "memory"), ("no GPU in sight", cpu, "fallback")):
        for of, passed in side[key].items():
            add(check, of, passed, True)
    add("computes on", "device", device["device"] == device["asked"], True)
    add("computes on", "CPU", cpu["device"] == "cpu", True)
    for role, side in (("device", device), ("CPU", cpu)):
        for of, error in side["errors"].items():
            add(f"no error on the {role}: {error}", of, False, True)
    return found


def ratios(device: dict[str, Any], cpu: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each figure of the device beside the CPU's, and how many times as fast the device is."""
    beside = {what: value for what, _, value in cpu["speeds"]}
    rows = []
    for what, unit, value in device["speeds"]:
        if (other := beside.get(what)) is not None:
            times = value / other if unit == "texts/s" else other / value
            rows.append({"what": what, "unit": unit, "device": value, "cpu": other, "times_as_fast": times})
    return rows


def as_markdown(report: dict[str, Any]) -> str:
    """Return the report as a page."""
    m = report["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    lines = [
        "# Check on a GPU",
        "",
        f"- Device: {m['device']} (CUDA {m['cuda']}, masked model in {report['dtype']})",
        f"- Processor: {m['processor']}, {m['cores']} cores",
        f"- {m['system']}, Python {m['python']}: {versions}",
        f"- {report['seconds']:.0f} seconds{', small rehearsal' if report['small'] else ''}",
        "",
        "| check | of | value | limit | passed |",
        "|---|---|---:|---:|---|",
    ]
    for c in report["checks"]:
        both = (c["value"], c["limit"])
        value, limit = (("yes" if v else "no") if isinstance(v, bool) else f"{v:.2g}" for v in both)
        lines.append(f"| {c['check']} | {c['of']} | {value} | {limit} | {'yes' if c['passed'] else '**no**'} |")
    lines += ["", "One run of each:" if report["small"] else "Medians of several runs:", ""]
    lines += ["| | unit | device | CPU | times as fast |", "|---|---|---:|---:|---:|"]
    for s in report["speeds"]:
        figures = f"{s['device']:.4g} | {s['cpu']:.4g} | {s['times_as_fast']:.2f}"
        lines.append(f"| {s['what']} | {s['unit']} | {figures} |")
    if report["left_out"]:
        lines += ["", "Left out here:", ""]
        lines += [f"- {what}: {why}" for what, why in report["left_out"].items()]
    if (t := report["training"]) is not None:
        lines += ["", *training_lines(t)]
    return "\n".join(lines) + "\n"


def training_lines(t: dict[str, Any]) -> list[str]:
    """Return what the report says of the training."""
    lines = ["## Training", ""]
    if "error" in t:
        return [*lines, f"It failed: {t['error']}"]
    lines += [
        f"{t['steps']} steps in {t['minutes']:g} minutes, {t['lines']} lines of {t['text']}; {t['held_out']} held out.",
        f"Cosine by {t['vectors']}, of {t['texts']} rewrites.",
        "",
        "| | before | after |",
        "|---|---:|---:|",
        f"| top-1 of {t['before']['masked']} masks | {t['before']['top1']:.2%} | {t['after']['top1']:.2%} |",
    ]
    lines += [f"| cosine at N_w {x['n_w']} | {x['before']:.4f} | {x['after']:.4f} |" for x in t["at_equal_n_w"]]
    if not t["better"]:
        return [*lines, "", "Not both improved, so no weights were written."]
    w = t["weights"]
    joined = f"`{w['join']}` gives a file of {w['bytes']:,} bytes with the SHA-256 {w['sha256']}."
    return [*lines, "", f"Both improved. {joined} It belongs into assets/models/masked_lm."]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("report", type=Path, help="report.json, as tools/check_gpu.py wrote it")
    print(as_markdown(json.loads(parser.parse_args().report.read_text(encoding="utf-8"))), end="")


if __name__ == "__main__":
    main()
