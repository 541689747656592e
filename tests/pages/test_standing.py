"""What still stands: a column for each kind that is there."""

from streamlit.testing.v1 import AppTest

from dptext_core.detectors.rules import KINDS
from dptext_studio.components import identifier_table


def script() -> None:
    from dptext_studio.components import identifier_table

    identifier_table.identifier_table(
        [(1, [("place", "Lisbon"), ("number", "3")]), (4, [("place", "<b>Rome</b>")])], key="them"
    )


def test_a_column_for_each_kind_and_no_other() -> None:
    (shown,) = AppTest.from_function(script).run().dataframe
    assert list(shown.value.columns) == ["row", "places", "numbers"]
    assert [[number, list(places), list(numbers)] for number, places, numbers in shown.value.to_numpy()] == [
        [1, ["Lisbon"], ["3"]],
        [4, ["<b>Rome</b>"], []],
    ]


def test_every_kind_has_a_colour() -> None:
    assert set(identifier_table.COLORS) == set(KINDS)
