"""Memory over the number of words, and the number from which one mechanism takes less than another."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_lab.results import memory
from dptext_lab.results.rows import Row
from dptext_studio.figures import memory_over_words

LISTS, OTHER = dpt.Setting("diffractor", {"lists": ("L2",)}, 1.0), dpt.Setting("mvc", {}, 1.0)


def rows(setting: dpt.Setting, *values: float) -> list[Row]:
    return [
        Row(setting, "vocabulary", "speed", memory.WITH_TABLES, value, None, None, n, 1, "")
        for n, value in zip((10, 100, 1000), values, strict=False)
    ]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((60.0, 60.0, 60.0), 0.0),
        ((10.0, 40.0, 60.0), 550.0),
        ((10.0, 60.0, 60.0), 10 + 90 * 40 / 50),
        ((60.0, 40.0, 60.0), 550.0),
        ((10.0, 40.0, 50.0), None),
        ((), None),
    ],
)
def test_crossover_is_where_the_lines_cross_for_the_last_time(other, words):
    both = [*rows(LISTS, 50.0, 50.0, 50.0), *rows(OTHER, *other)]
    assert memory.crossover(both, LISTS, OTHER) == words
    if other:
        assert memory.crossovers(both) == {"MVC": {"1-Diffractor, L2": words}}


def test_the_figure_has_a_line_for_each_setting_with_all_numbers_of_words():
    lines = memory_over_words([*rows(LISTS, 5.0, 5.0, 6.0), *rows(OTHER, 1.0, 9.0, 90.0)])["data"]
    assert {line["name"]: (line["x"], line["y"]) for line in lines} == {
        "1-Diffractor, L2": ([10, 100, 1000], [5.0, 5.0, 6.0]),
        "MVC": ([10, 100, 1000], [1.0, 9.0, 90.0]),
    }
    with pytest.raises(dpt.InputError):
        memory_over_words([])


def test_bundled_rows_measure_every_setting_with_and_without_tables():
    with_tables = memory.bundled_with_tables()
    assert {r.setting for r in with_tables} == {r.setting for r in memory.bundled()}
    assert {r.n for r in with_tables} == {10, 100, 1000, 10_000}
