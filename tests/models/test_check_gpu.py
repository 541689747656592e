"""The check on a GPU, rehearsed on the CPU."""

from __future__ import annotations

import copy
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).resolve().parents[2] / "tools" / "check_gpu.py"
spec = importlib.util.spec_from_file_location("check_gpu", FILE)
check_gpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_gpu)

ALL = (*check_gpu.WITH_MODEL, *check_gpu.WITHOUT_MODEL)


class Arrays(dict):
    files = property(list)


def side():
    one = {"rewrites": ["b"], "again": ["b"], "pieces": [["x", "y", "z"]]}
    found = {"errors": {}, "parity": {name: copy.deepcopy(one) for name in ALL}, "dtype": "float32"}
    found |= {"device": "cpu", "asked": "cpu"}
    arrays = {f"{name}/0/{k}": np.log([0.25, 0.75]) for name in check_gpu.WITH_MODEL for k in range(3)}
    found |= {"memory": {"writer": True}, "fallback": {"takes the CPU": True}}
    return found, Arrays(arrays | {check_gpu.ENCODER: np.ones((1, 3))})


def failed(device, a, cpu, b):
    return {(c["check"], c["of"]) for c in check_gpu.checks(device, cpu, a, b) if not c["passed"]}


def test_each_difference_between_the_devices_fails_its_own_check():
    (device, a), (cpu, b) = side(), side()
    assert failed(device, a, cpu, b) == set()
    a["dp-mlm/0/2"] = a["dp-mlm/0/2"] + 0.02
    a["dp-prompt/0/1"] = np.array([-np.inf, 0.0])
    a[check_gpu.ENCODER] = a[check_gpu.ENCODER] + 0.01
    device["parity"]["dp-paraphrase"]["again"] = ["c"]
    device["parity"]["mahalanobis"] = {"rewrites": ["c"], "again": ["c"], "pieces": [[]]}
    device["memory"]["writer"] = False
    device["asked"] = "cuda"
    del cpu["parity"]["adept"]
    assert failed(device, a, cpu, b) == {
        ("largest difference of ln p", "dp-mlm"),
        ("largest difference of ln p", "dp-prompt"),
        ("largest difference of the vectors", check_gpu.ENCODER),
        ("same text twice", "dp-paraphrase"),
        ("same text as on the CPU", "mahalanobis"),
        ("lack of memory", "writer"),
        ("computes on", "device"),
        ("runs", "adept"),
    }


def test_what_follows_a_different_token_is_not_compared():
    (device, a), (cpu, b) = side(), side()
    device["parity"]["dp-prompt"]["pieces"] = [["x", "other", "z"]]
    a["dp-prompt/0/2"] = a["dp-prompt/0/2"] + 5
    assert failed(device, a, cpu, b) == set()
    a["dp-prompt/0/1"] = a["dp-prompt/0/1"] + 5
    assert failed(device, a, cpu, b) == {("largest difference of ln p", "dp-prompt")}


def test_missing_packages_are_named_with_the_commands_that_bring_them():
    missing = check_gpu.missing_packages({"numpy": "numpy", "no_such_module": "no-such-package"})
    assert missing == ["no-such-package"] and check_gpu.missing_packages() == []
    lines = check_gpu.how_to_bring(missing).splitlines()
    commands = [line.split() for line in lines if line.startswith("  python -m pip")]
    assert [(c[3], c[-1]) for c in commands] == [("download", "no-such-package"), ("install", "wheels/*.whl")]


@pytest.mark.slow
def test_a_rehearsal_on_the_cpu_passes_and_writes_a_report(tmp_path):
    done = subprocess.run([sys.executable, FILE, "--device", "cpu", "--small", "--out", tmp_path], capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert {f.name for f in tmp_path.iterdir()} == {"report.json", "report.md"}
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    value = {(c["check"], c["of"]): c["value"] for c in report["checks"]}
    assert all(value["same text twice", name] is True for name in ALL)
    # PyTorch and ONNX Runtime round apart: a difference of 0 would mean that one of them computed both.
    assert 0 < value["largest difference of ln p", "dp-mlm"] < check_gpu.LOG_P[report["dtype"]]
    assert 0 < value["largest difference of the vectors", check_gpu.ENCODER] < 1e-5
    assert sum(check == "lack of memory" for check, _ in value) == 4
    measured = {s["what"].partition(",")[0] for s in report["speeds"]}
    assert measured == set(ALL) and all(s["device"] > 0 and s["times_as_fast"] > 0 for s in report["speeds"])
    assert report["machine"]["versions"]["torch"]
