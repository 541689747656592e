"""Tables of results: a cell without a value never shows "None"."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dptext_studio.components.tables import MEASURED, WIDEST, label_width

VIEWS = Path(__file__).resolve().parents[2] / "dptext_studio" / "views"


def test_a_gap_in_a_table_is_a_dash():
    def page() -> None:
        from dptext_studio.components.tables import table

        table([{"p": 0.5}, {"p": None}])

    at = AppTest.from_function(page).run()
    assert at.dataframe[0].proto.placeholder == "–" and at.dataframe[0].value["p"].isna().tolist() == [False, True]


@pytest.mark.parametrize("folder", ["audit", "benchmarks", "findings", "learn"])
def test_tables_of_results_have_dashes_for_gaps(folder):
    sources = [path.read_text(encoding="utf-8") for path in (VIEWS / folder).glob("*.py")]
    assert not [s for s in sources if re.search(r"\.dataframe\(", s)]


def test_a_long_label_below_the_first_rows_is_not_cut():
    labels = ["DP-MLM"] * MEASURED
    assert label_width(labels) is None and label_width([1.0] * 20) is None and label_width([]) is None
    assert label_width([*labels, "DP-MLM at ε 0.01, stop words replaced"]) == 24 + 6 * 37
    assert label_width([*labels, "x" * 100]) == WIDEST
    assert label_width(["x" * 60] * 10 + ["x" * 100]) is None, "a wide column gets no narrower"
    assert label_width(["CusText"] * 6 + ["DP-MLM with a public prior"]) == 24 + 6 * 26, "an outlier"
    assert label_width(["CusText"] * 6 + ["1-Diffractor"]) is None

    def page() -> None:
        from dptext_studio.components.tables import table

        table([{"system": "DP-MLM", "n": 1}] * 10 + [{"system": "DP-MLM, stop words kept", "n": 1}])

    columns = json.loads(AppTest.from_function(page).run().dataframe[0].proto.columns)
    assert columns["system"]["width"] == 24 + 6 * 23
