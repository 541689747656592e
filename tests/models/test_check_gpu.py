"""The check on a GPU, rehearsed on the CPU."""

from __future__ import annotations

import copy
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from scripts import script

import dptext_core as dpt
from dptext_core.models import masked_lm_spec
from dptext_core.models.registry import WEIGHTS_FILE

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tools" / "check_gpu.py"
check_gpu = script("tools/check_gpu.py")
gpu_report = check_gpu.sys.modules["gpu_report"]

NAMES = ("teacher", "doctor", "farmer", "painter", "sailor", "baker", "writer", "singer", "driver", "lawyer")
PLACES = ("school", "harbour", "village", "market", "garden")
#: 50 lines, of which three are held out.
TEXT = "".join(
    f"The old {name} walked slowly from the {place} to the river and told every child a short story about the sea.\n"
    for name in NAMES
    for place in PLACES
)
ALL = (*gpu_report.WITH_MODEL, *gpu_report.WITHOUT_MODEL)


class Arrays(dict):
    files = property(list)


def side():
    one = {"rewrites": ["b"], "again": ["b"], "pieces": [["x", "y", "z"]]}
    found = {"errors": {}, "left_out": {}, "parity": {name: copy.deepcopy(one) for name in ALL}, "dtype": "float32"}
    found |= {"device": "cpu", "asked": "cpu"}
    arrays = {f"{name}/0/{k}": np.log([0.25, 0.75]) for name in gpu_report.WITH_MODEL for k in range(3)}
    found |= {"memory": {"writer": True}, "fallback": {"takes the CPU": True}}
    return found, Arrays(arrays | {gpu_report.ENCODER: np.ones((1, 3))})


def failed(device, a, cpu, b):
    return {(c["check"], c["of"]) for c in gpu_report.checks(device, cpu, a, b) if not c["passed"]}


def test_each_difference_between_the_devices_fails_its_own_check():
    (device, a), (cpu, b) = side(), side()
    assert failed(device, a, cpu, b) == set()
    a["dp-mlm/0/2"] = a["dp-mlm/0/2"] + 0.02
    a["dp-prompt/0/1"] = np.array([-np.inf, 0.0])
    a[gpu_report.ENCODER] = a[gpu_report.ENCODER] + 0.01
    device["parity"]["dp-paraphrase"]["again"] = ["c"]
    device["parity"]["mahalanobis"] = {"rewrites": ["c"], "again": ["c"], "pieces": [[]]}
    device["memory"]["writer"] = False
    device["asked"] = "cuda"
    del cpu["parity"]["adept"]
    assert failed(device, a, cpu, b) == {
        ("largest difference of ln p", "dp-mlm"),
        ("largest difference of ln p", "dp-prompt"),
        ("largest difference of the vectors", gpu_report.ENCODER),
        ("same text twice", "dp-paraphrase"),
        ("same text as on the CPU", "mahalanobis"),
        ("lack of memory", "writer"),
        ("computes on", "device"),
        ("runs", "adept"),
    }


def test_what_both_devices_lack_is_left_out_and_what_one_lacks_is_not():
    (device, a), (cpu, b) = side(), side()
    for found, arrays in ((device, a), (cpu, b)):
        for name in ("dp-prompt", gpu_report.ENCODER):
            found["left_out"][name] = "It is not here."
        del found["parity"]["dp-prompt"], arrays[gpu_report.ENCODER]
    assert failed(device, a, cpu, b) == set()
    del device["parity"]["adept"], cpu["parity"]["dp-mlm"], device["parity"]["dp-mlm"]
    device["left_out"] |= {"adept": "It is not here.", "dp-mlm": "It is not here."}
    cpu["left_out"]["dp-mlm"] = "It is not here."
    assert failed(device, a, cpu, b) == {("runs", "adept"), ("runs", "dp-mlm")}


def test_noise_without_cryptography_has_the_same_bits():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    aes, key = check_gpu.aes_in_numpy(), bytes(range(100, 132))
    first, wraps = bytes(16), b"\x01" * 11 + b"\x02" + b"\xff" * 4
    for theirs, ours in ((modes.ECB(), None), *((modes.CTR(c), c) for c in (first, wraps, b"\xff" * 16))):
        want, found = Cipher(algorithms.AES(key), theirs).encryptor(), aes.Cipher(key, ours).encryptor()
        for n in (16, 160) if ours is None else (4, 100, 7, 1600, 16):
            data = bytes(i % 251 for i in range(n))
            assert found.update(data) == want.update(data)


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
    assert set(check_gpu.NEEDED) == {"numpy", "torch", "transformers", "tokenizers", "safetensors", "onnxruntime"}
    lines = check_gpu.how_to_bring(missing).splitlines()
    commands = [line.split() for line in lines if line.startswith("  python -m pip")]
    assert [(c[3], c[-1]) for c in commands] == [("download", "no-such-package"), ("install", "wheels/*.whl")]


# --- training


def test_weights_are_kept_where_accuracy_and_cosine_both_improve():
    training = check_gpu.continue_training()
    before, worse = [(0.0, 0.2), (0.2, 0.6), (0.5, 0.9)], [(0.0, 0.1), (0.3, 0.6), (0.5, 0.8)]
    levels = training.at_equal(before, worse)
    assert [x["n_w"] for x in levels] == list(training.LEVELS) and levels[3]["before"] == pytest.approx(0.6)
    assert levels[3]["after"] == pytest.approx(0.1 + 0.5 * 2 / 3)
    assert training.at_equal(before, [(0.6, 0.9), (0.7, 1.0)]) == []
    for accuracy in (0.3, 0.2):
        for a, b in ((before, worse), (worse, before), (before, [(0.6, 0.9), (0.7, 1.0)])):
            found = {"before": {"top1": 0.2}, "after": {"top1": accuracy}, "at_equal_n_w": training.at_equal(a, b)}
            assert training.is_better(found) == (accuracy > 0.2 and a is worse)


def test_parts_of_weights_join_to_the_whole(tmp_path, monkeypatch):
    training = check_gpu.continue_training()
    monkeypatch.setattr(training, "PART", 1000)
    whole = tmp_path / "weights.safetensors"
    whole.write_bytes(bytes(i % 251 for i in range(2500)))
    (tmp_path / "report").mkdir()
    found = training.write_parts(whole, tmp_path / "report")
    assert [(tmp_path / "report" / name).stat().st_size for name in found["parts"]] == [1000, 1000, 500]
    subprocess.run(found["join"], shell=True, cwd=tmp_path / "report", check=True)
    joined = (tmp_path / "report" / whole.name).read_bytes()
    assert joined == whole.read_bytes() and hashlib.sha256(joined).hexdigest() == found["sha256"]


@pytest.mark.slow
def test_training_begins_with_the_bundled_weights_and_is_read_back_as_a_model(tmp_path):
    """Without a step, what is written has the bits of what was read, up to a second rounding of the word embeddings."""
    from dptext_core.models.eight_bits import CODES, in_floats

    training = check_gpu.continue_training()
    training.write_model(training.bundled_model(), tmp_path)
    own, made = (load_file(f / WEIGHTS_FILE) for f in (masked_lm_spec().folder, tmp_path))
    assert list(own) == list(made)
    for name, value in in_floats(own).items():
        np.testing.assert_allclose(in_floats(made)[name], value, rtol=0, atol=1e-6, err_msg=name)
    assert sum((own[n] != made[n]).mean() for n in own if n.endswith(CODES)) < 1e-3
    text = TEXT.splitlines()[0]
    ours, bundled = (dpt.get_mechanism("dp-mlm", model=m).rewrite(text, seed=3) for m in (str(tmp_path), "bundled"))
    np.testing.assert_allclose(ours.distribution(1).log_probs, bundled.distribution(1).log_probs, atol=1e-3)


def test_the_smaller_tree_is_named_once_and_its_folders_are_here():
    """The tool's docstring alone names it: what a document names as well has to be the same."""
    pages = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").rglob("*.md"))]
    told = [check_gpu.__doc__, *(p for p in pages if "git sparse-checkout set" in p)]
    here, *there = (sorted(re.findall(r"'(!?/[\w/*]+)'", text)) for text in told)
    assert all(found == here for found in there) and "/*" in here and len(here) > 5
    assert all((ROOT / name.removeprefix("!/")).is_dir() for name in here if name != "/*")


def test_too_little_text_and_half_an_order_to_train_are_refused(tmp_path):
    (tmp_path / "text.txt").write_text("One line.\n")
    for more in (
        ["--train", "1"],
        ["--text", tmp_path / "text.txt"],
        ["--train", "1", "--text", tmp_path / "none.txt"],
    ):
        command = [sys.executable, FILE, "--device", "cpu", "--small", "--out", tmp_path / "out", *more]
        assert subprocess.run(command, capture_output=True).returncode == 2
    with pytest.raises(dpt.InputError, match="at least 40"):
        check_gpu.continue_training().split(tmp_path / "text.txt")
