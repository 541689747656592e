"""Labels that are the same are one label, however a file writes them."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.cli.main import main
from dptext_core.data import components, tables
from dptext_core.data.labels import label_of
from dptext_lab.measurements.downstream import downstream


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ((1, 1.0, "1", " 1 ", "1.0", "1.", "1.000", np.int64(1), np.float32(1), Decimal("1.0")), "1"),
        ((0, -0.0, "0", "-0", "-0.0", "0.0"), "0"),
        ((-2, "-2", "-2.0"), "-2"),
        ((0.5, "0.5", "0.50"), "0.5"),
        ((10**30, "1" + "0" * 30, "1" + "0" * 30 + ".0"), "1" + "0" * 30),
        ((True, "true", "True", "TRUE", np.True_), "true"),
        ((False, "false", "False "), "false"),
        (("spam", " spam\n", "\u00a0spam"), "spam"),
        (("café", "cafe\u0301"), "café"),
        (("Spam",), "Spam"),
        (("01",), "01"),
        (("1e3",), "1e3"),
        (("１",), "１"),
        (("1.2.3",), "1.2.3"),
    ],
)
def test_what_is_one_label_has_one_name(values, label):
    assert {label_of(value) for value in values} == {label}


@pytest.mark.parametrize("value", [None, "", "  ", float("nan")])
def test_what_is_no_label_has_no_name(value):
    assert label_of(value) is None


def files(tmp_path, train, test):
    """Training rows as JSON Lines, test rows as CSV."""
    one, other = tmp_path / "train.jsonl", tmp_path / "test.csv"
    one.write_text("".join(json.dumps({"text": f"text {i}", "label": y}) + "\n" for i, y in enumerate(train)))
    other.write_text("text,label\n" + "".join(f"other {i},{y}\n" for i, y in enumerate(test)))
    return one, other


@pytest.fixture
def run(capsys):
    """Runs a command: its status, standard output and standard error."""

    def command(*argv):
        status = main([str(a) for a in argv])
        return status, *capsys.readouterr()

    return command


@pytest.fixture
def first(monkeypatch):
    """A classifier that knows the number at the end of a text."""

    def learn(train, labels, test, seed):
        return [labels[int(text.split()[-1])] for text in test]

    monkeypatch.setitem(components._classifiers, "first", learn)
    return "first"


def scores(tmp_path, first, train, test):
    one, other = (tables.source(file, ("text", "label")) for file in files(tmp_path, train, test))
    return downstream(one, other, tmp_path / "out", seeds=1, learner=first)


def test_numbers_of_two_kinds_of_files_are_one_label(tmp_path, first):
    found = scores(tmp_path, first, [1.0, 0.0, True], ["1", "0", "True"])
    assert found["accuracy"]["mean"] == found["macro_f1"]["mean"] == 1.0 and found["labels"] == 3
    assert found["labels_only"] == {"train": 0, "test": 0}


def test_labels_that_no_file_shares_are_refused_by_name(tmp_path, first):
    with pytest.raises(dpt.InputError) as refused:
        scores(tmp_path, first, [1.0, 0.0], ["yes", "no"])
    assert all(name in str(refused.value) for name in ("'0'", "'1'", "'no'", "'yes'", "train.jsonl", "test.csv"))
    assert not (tmp_path / "out" / "result.json").exists()


def test_a_label_of_one_file_alone_is_named_beside_the_scores(tmp_path, run, first):
    one, other = files(tmp_path, ["spam", "ham", "ham"], ["Spam", "ham", "ham"])
    status, _, error = run(
        "downstream", "--train", one, "--test", other, "--out", tmp_path / "out", "--seeds", 1, "--classifier", first
    )
    assert status == 0
    assert "1 label of test.csv" in error and "'Spam'" in error and "1 label of train.jsonl" in error
    assert json.loads((tmp_path / "out" / "result.json").read_text())["labels_only"] == {"train": 1, "test": 1}
    assert "Spam" not in (tmp_path / "out" / "log.txt").read_text()


def test_many_labels_of_one_file_are_counted_and_the_first_are_named(tmp_path, first):
    with pytest.raises(dpt.InputError) as refused:
        scores(tmp_path, first, [f"a text about somebody {i}" * 9 for i in range(300)], [5, 6])
    assert "300" in str(refused.value) and len(str(refused.value)) < 700


def test_a_missing_number_is_no_label(tmp_path, first):
    with pytest.raises(dpt.InputError, match="without a label"):
        scores(tmp_path, first, [1.0, float("nan")], ["1"])
