"""The command ``belief``: its numbers are those of ``dpt.belief``, and bad input gets an error."""

from __future__ import annotations

import json
import re

import pytest

import dptext_core as dpt
from dptext_core import cli

TEXT = "My doctor treated my sister."


def test_json_holds_the_numbers_of_the_package(capsys):
    arguments = ["--mechanism", "custext", "--fact", "sister", "--alternatives", "brother, mother"]
    assert cli.main(["belief", *arguments, "--epsilons", "1,8", "--seed", "3", "--json", "--quiet", TEXT]) == 0
    printed = json.loads(capsys.readouterr().out)
    own = dpt.belief(
        dpt.get_mechanism("custext"), TEXT, "sister", ["brother", "mother"], epsilons=[1.0, 8.0], seed=3
    ).to_dict()
    assert printed == {"mechanism": "custext"} | own


def test_the_table_has_a_row_for_each_alternative(capsys):
    assert cli.main(["belief", "--mechanism", "custext", "--epsilon", "3", "--fact", "sister", TEXT]) == 0
    out, err = capsys.readouterr()
    rows = [line.split()[0] for line in out.splitlines()[1:6]]
    assert rows == ["alternative", "sister", "mother", "father", "brother"] and err


@pytest.mark.parametrize(("given", "at"), [(["--epsilon", "3"], ["3"]), (["--epsilons", "1,8"], ["1", "8"])])
def test_each_ceiling_names_its_epsilon(capsys, given, at):
    assert cli.main(["belief", "--mechanism", "custext", *given, "--fact", "sister", "--quiet", TEXT]) == 0
    (header,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("alternative"))
    assert re.findall(r"guarantee allows at ε = (\S+)", header) == at


def test_a_mechanism_without_a_guarantee_has_no_ceiling_at_an_epsilon(capsys):
    assert cli.main(["belief", "--mechanism", "redact", "--fact", "sister", "--quiet", TEXT]) == 0
    out = capsys.readouterr().out
    assert "ε" not in out and "at most" not in out and "There is no guarantee" in out
    assert cli.main(["belief", "--mechanism", "redact", "--fact", "sister", "--epsilons", "1,2", "--quiet", TEXT]) == 2


def test_the_number_of_draws_that_a_ceiling_counts_is_stated(capsys, tiny_model):
    """Where other draws see the changed word in their context; a mechanism of single words loses at that word alone."""
    arguments = ["--fact", "sister", "--alternatives", "brother", "--epsilon", "1", "--draws", "0", "--quiet", TEXT]
    counted = {}
    for name, more in (("dp-mlm", ["--model", str(tiny_model)]), ("custext", [])):
        assert cli.main(["belief", "--mechanism", name, *more, *arguments]) == 0
        counted[name] = re.findall(r"counts all (\d+) draws", capsys.readouterr().out)
    draws = dpt.get_mechanism("dp-mlm", model=tiny_model).rewrite(TEXT, seed=1).guarantee.draws
    assert draws > 1 and counted == {"dp-mlm": [str(draws)], "custext": []}


@pytest.mark.parametrize(
    "arguments",
    [["--fact", "absent"], ["--fact", "sister", "--epsilons", "x"], ["--fact", "sister", "--alternatives", ","], []],
)
def test_bad_input_is_an_error(capsys, arguments):
    try:
        status = cli.main(["belief", "--mechanism", "custext", *arguments, TEXT])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and capsys.readouterr().err
