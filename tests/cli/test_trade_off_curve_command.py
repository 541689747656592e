"""The command ``trade-off-curve``: its numbers are those of ``dpt.trade_off_curve``, and bad input gets an error."""

from __future__ import annotations

import json

import pytest

import dptext_core as dpt
from dptext_core import cli

ONE, OTHER = "My doctor treated my sister.", "My doctor treated my brother."
COMMAND = ["trade-off-curve", "--mechanism", "santext"]


def test_json_and_csv_hold_the_numbers_of_the_package(capsys):
    own = dpt.trade_off_curve(dpt.get_mechanism("santext"), ONE, OTHER, [1.0, 15.0], false_alarms=[0.0, 0.05])
    given = [*COMMAND, "--other", OTHER, "--epsilons", "1,15", "--false-alarms", "0, 0.05", "--quiet", ONE]
    assert cli.main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"mechanism": "santext"} | own.to_dict()
    assert cli.main([*given, "--csv"]) == 0
    assert capsys.readouterr().out == own.to_csv()


def test_texts_are_read_from_files(capsys, tmp_path):
    for name, text in (("one.txt", ONE), ("other.txt", OTHER)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = ["--file", str(tmp_path / "one.txt"), "--other-file", str(tmp_path / "other.txt")]
    assert cli.main([*COMMAND, "--epsilon", "15", *files]) == 0
    out, err = capsys.readouterr()
    own = dpt.trade_off_curve(dpt.get_mechanism("santext", epsilon=15), ONE, OTHER)
    assert own.sentence() in out and err
    assert [line.split()[0] for line in out.splitlines()[1:9]] == [row[0] for row in own.rows()]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--other", ONE], ["--other", OTHER, "--false-alarms", "2"], ["--other", OTHER, "--false-alarms", "x"]],
)
def test_bad_input_is_an_error(capsys, arguments):
    try:
        status = cli.main([*COMMAND, *arguments, ONE])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and capsys.readouterr().err
