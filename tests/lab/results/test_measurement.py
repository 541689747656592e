"""What measurements have in common: every bundled file is read and written again byte for byte, options, tables."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import dataclass

import pytest

from dptext_core.cli.main import main
from dptext_core.errors import InputError
from dptext_core.support import assets
from dptext_lab.commands.bench import BENCHES
from dptext_lab.measurements import case_study
from dptext_lab.results import case_study as case_study_rows
from dptext_lab.results.measurement import Measurement, markdown, plus_minus
from dptext_lab.runner.options import options_in, parser, which_stop_words

MODULES = {name: importlib.import_module(f"dptext_lab.{module}") for name, module in BENCHES.items()}
MEASURED = [m.MEASUREMENT for m in (*MODULES.values(), case_study) if hasattr(m, "MEASUREMENT")]


@dataclass(frozen=True)
class Found:
    word: str
    value: float
    n: int


@pytest.mark.parametrize("measured", MEASURED, ids=lambda m: m.name)
def test_a_bundled_file_is_written_again_byte_for_byte(measured, tmp_path):
    path = assets.assets_folder() / "benchmarks" / measured.file
    rows = measured.read(path)
    more = {k: v for k, v in measured.whole().items() if k not in ("about", measured.rows)}
    said = measured.whole()["about"]
    measured.write(tmp_path / "again.json", rows, said, **more)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert rows and len(measured.bundled()) == len(rows)
    if measured is not case_study_rows.MEASUREMENT:  # a command of its own
        assert said["command"] == measured.about()["command"], "what printed it is still its command"
        assert measured.name.split()[0] in BENCHES


def test_every_bundled_file_has_its_measurement():
    files = {path.name for path in (assets.assets_folder() / "benchmarks").glob("*.json")}
    assert {m.file for m in MEASURED} == files - {"results.json", "equal.json", "lists.json"}, "those are of the grid"


def test_numbers_are_as_short_as_is_said_and_a_missing_path_writes_nothing(tmp_path):
    short = Measurement("found", Found, "found.json", digits=3)
    short.write(tmp_path / "found.json", [Found("a", 1 / 3, 12345)], {"x": 1})
    text = (tmp_path / "found.json").read_text(encoding="utf-8")
    assert text == '{"about":{"x":1},"rows":[\n{"word":"a","value":0.333,"n":12345}]}\n'
    assert short.read(tmp_path / "found.json") == (Found("a", 0.333, 12345),)
    short.write(None, [Found("a", 1.0, 1)], {})
    short.write(tmp_path / "none.json", [], {})
    assert json.loads((tmp_path / "none.json").read_text(encoding="utf-8")) == {"about": {}, "rows": []}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["found.json", "none.json"]
    assert short.bundled() == (), "nothing of that name ships"
    with pytest.raises(InputError, match=r"lost\.json cannot be read"):
        short.read(tmp_path / "lost.json")
    (tmp_path / "other.json").write_text('{"rows": [{"letter": "a"}]}', encoding="utf-8")
    with pytest.raises(TypeError, match="letter"):
        short.read(tmp_path / "other.json")


@pytest.mark.parametrize(
    "command",
    [
        "audit",
        "budget --data none",
        "findings",
        "generators",
        "words",
        "run",
        "run --summary",
        "equal-privacy",
        "equal-privacy --summary",
        "prior --rows",
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_measured(command, tmp_path, capsys):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    option = [] if command.split()[-1] in ("--summary", "--rows") else ["--out"]
    for place in (tmp_path / "file" / "out.json", tmp_path):
        assert main(["bench", *command.split(), *option, str(place)]) == 2
        output = capsys.readouterr()
        assert not output.out and output.err.count("\n") == 1, output
        assert output.err.startswith("error: ") and "Name another" in output.err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_place_that_is_lost_meanwhile_is_said_in_words(tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r" cannot be written: .*\. Name another file\."):
        Measurement("found", Found, "found.json").write(tmp_path / "file" / "out.json", [], {})


def test_what_json_does_not_know_is_no_number_of_a_file(tmp_path):
    measured = Measurement("found", Found, "found.json", digits=3)
    measured.write(tmp_path / "out.json", [Found("a", x, 1) for x in (math.nan, math.inf, 0.5)], {})
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert [row["value"] for row in rows] == [None, None, 0.5]
    with pytest.raises(ValueError, match="not JSON compliant"):
        measured.write(tmp_path / "other.json", [], {"seconds": math.nan})
    assert not (tmp_path / "other.json").exists()


def test_the_common_options_are_those_that_are_asked_for(capsys):
    takes = parser("found", "Words that are found.\n\nMore of them.", "data", "stopwords", required=["data"])
    args = takes.parse_args(["--data", "here", "--stopwords", "list.txt"])
    assert (args.data.name, options_in(args), which_stop_words(args)) == ("here", {"stopwords": "list.txt"}, "given")
    args = takes.parse_args(["--data", "here"])
    assert (options_in(args), which_stop_words(args)) == ({}, "the default list")
    for wrong in ([], ["--data", "here", "--space", "minilm"]):
        with pytest.raises(SystemExit):
            takes.parse_args(wrong)
    help = takes.format_help()
    assert help.startswith("usage: python -m dptext_core bench found ") and "More of them" not in help
    said = Measurement("found", Found, "found.json").about(seed=1)
    assert (said["command"], said["seed"]) == ("python -m dptext_core bench found", 1)


def test_a_mean_without_an_interval_says_so():
    assert (plus_minus(0.69, 0.0214), plus_minus(0.69, None)) == ("0.690 ± 0.021", "0.690 (interval unknown)")


def test_a_table_has_a_line_below_its_heading():
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"
    assert markdown(["a"], []) == "| a |\n|---|"
