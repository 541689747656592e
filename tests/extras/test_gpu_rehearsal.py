"""The whole check on a GPU, rehearsed on the CPU: minutes, so that `.ci/long rehearsal` runs it (see conftest)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from installed import beyond, hiding
from models.test_check_gpu import ALL, FILE, ROOT, TEXT, check_gpu, gpu_report


def smaller_tree(folder: Path) -> Path:
    """Return what is left of the repository after the command that the tool's documentation prints."""
    listed = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT, capture_output=True)
    names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    if listed.returncode:  # no clone
        made = {".venv", "build", "__pycache__"}
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if not made & set(p.parts)]
    for name in (n for n in names if (ROOT / n).is_file()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (command,) = re.findall(r"git sparse-checkout set (?:.+\\\n)*.+", check_gpu.__doc__)
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "core.looseCompression=0"]
    for argv in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "all"]):
        subprocess.run(["git", *argv], cwd=folder, check=True)
    subprocess.run(command, shell=True, cwd=folder, check=True)
    return folder


def test_a_rehearsal_on_the_cpu_passes_and_writes_a_report(tmp_path):
    done = subprocess.run([sys.executable, FILE, "--device", "cpu", "--small", "--out", tmp_path], capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert {f.name for f in tmp_path.iterdir()} == {"report.json", "report.md"}
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    value = {(c["check"], c["of"]): c["value"] for c in report["checks"]}
    assert all(value["same text twice", name] is True for name in ALL)
    # PyTorch and ONNX Runtime round apart: a difference of 0 would mean that one of them computed both.
    assert 0 < value["largest difference of ln p", "dp-mlm"] < gpu_report.LOG_P[report["dtype"]]
    assert 0 < value["largest difference of the vectors", gpu_report.ENCODER] < 1e-5
    assert sum(check == "lack of memory" for check, _ in value) == 4
    measured = {s["what"].partition(",")[0] for s in report["speeds"]}
    assert measured == set(ALL) and all(s["device"] > 0 and s["times_as_fast"] > 0 for s in report["speeds"])
    assert report["machine"]["versions"]["torch"] and report["left_out"] == {} and report["training"] is None


def test_the_smaller_tree_trains_and_rehearses_with_six_packages(tmp_path):
    tree, out, site = smaller_tree(tmp_path / "tree"), tmp_path / "out", tmp_path / "site"
    files = [f for f in tree.rglob("*") if f.is_file() and ".git" not in f.parts]
    assert sum(f.stat().st_size for f in files) < 60 << 20
    site.mkdir()
    (site / "sitecustomize.py").write_text(hiding(beyond(check_gpu.NEEDED.values())))
    (tmp_path / "text.txt").write_text(TEXT)
    command = [sys.executable, "tools/check_gpu.py", "--device", "cpu", "--small", "--out", out]
    command += ["--train", "0.02", "--text", tmp_path / "text.txt"]
    done = subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert set(report["machine"]["versions"]) == set(check_gpu.NEEDED.values())
    assert set(report["left_out"]) == {*set(ALL) - set(gpu_report.ALWAYS), gpu_report.ENCODER}
    measured = {s["what"].partition(",")[0] for s in report["speeds"]}
    assert measured == set(gpu_report.ALWAYS)
    trained, files = report["training"], sorted(out.iterdir())
    assert trained["steps"] >= 1 and trained["before"]["masked"] == trained["after"]["masked"] > 0
    assert trained["before"]["nll"] != trained["after"]["nll"] and trained["vectors"].startswith("mean word")
    assert [f.name for f in files if "part" in f.name] == trained.get("weights", {}).get("parts", [])
    assert len(files) <= 8 and all(f.stat().st_size <= 16 << 20 for f in files)
