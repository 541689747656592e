"""Which containers are a column of texts, and which are refused, wherever texts are taken."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from foreign import Swap

import dptext_core as dpt
from dptext_core.attacks import two_texts, which_text
from dptext_core.auditing import audit
from dptext_core.measure import metrics
from dptext_core.models.clip import estimate_clip_range

TEXTS = ["My doctor likes music.", "The nurse wrote a letter.", "No water in the garden."]
COLUMNS = {"id": ["a", "b", "c"], "text": TEXTS}


class PolarsSeries(list):
    """A list is what a Series of polars looks like from outside: it yields str."""


class PolarsFrame:
    """A data frame of polars yields its columns."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    def __iter__(self):
        return iter([PolarsSeries(values) for values in self._columns.values()])

    def iter_rows(self, *, named=False):
        assert named
        return (dict(zip(self._columns, row, strict=True)) for row in zip(*self._columns.values(), strict=True))


class LazyFrame:
    """A lazy one of polars knows its columns by asking for its schema."""

    def collect_schema(self):
        return {name: str for name in COLUMNS}

    @property
    def columns(self):
        raise AssertionError("asking for this warns of a slow query")


class Loaded(dict):
    """Values by name; a function in their place makes its value where it is asked for: ``datasets`` loads PyTorch."""

    def __getitem__(self, kind):
        value = super().__getitem__(kind)
        return value() if inspect.isfunction(value) else value


def data_set():
    import datasets

    return datasets.Dataset.from_dict(COLUMNS)


def splits():
    import datasets

    return datasets.DatasetDict(train=data_set())


COLUMNS_OF_TEXTS = Loaded(
    {
        "list": list(TEXTS),
        "tuple": tuple(TEXTS),
        "array": np.array(TEXTS),
        "array of objects": np.array(TEXTS, dtype=object),
        "series": pd.Series(TEXTS),
        "series whose labels are names": pd.Series(TEXTS, index=["columns", "ndim", "to_pylist"], dtype=object),
        "categories": pd.Series(TEXTS, dtype="category"),
        "index": pd.Index(TEXTS),
        "arrow": pa.array(TEXTS),
        "chunked": pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        "dictionary": pa.array(TEXTS).dictionary_encode(),
        "datasets": lambda: data_set()["text"],
        "polars": PolarsSeries(TEXTS),
    }
)
TABLES = Loaded(
    {
        "pandas": pd.DataFrame(COLUMNS),
        "polars": PolarsFrame(COLUMNS),
        "lazy": LazyFrame(),
        "arrow": pa.table(COLUMNS),
        "batch": pa.record_batch(COLUMNS),
        "datasets": data_set,
        "structured": np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=[("id", "U9"), ("text", "U99")]),
    }
)
OTHERS = Loaded(
    {
        "pandas with one column": pd.DataFrame({"text": TEXTS}),
        "rows and columns": np.array([TEXTS, TEXTS]).T,
        "one column of two dimensions": np.array(TEXTS).reshape(-1, 1),
        "groups": pd.DataFrame(COLUMNS).groupby("id"),
        "dict": dict(COLUMNS),
        "splits": splits,
        "set": set(TEXTS),
        "bytes": b"My doctor",
        "number": 3,
    }
)
#: What takes a list of texts.
LISTS = {
    "rewrite": lambda given: Swap.create().rewrite(given),
    "rewrite_each": lambda given: list(Swap.create().rewrite_each(given)),
    "prepare_many": lambda given: list(Swap.create().prepare_many(given)),
    "DPRewriter": lambda given: dpt.DPRewriter("custext").fit(given).transform(given),
    "BatchRewriter": lambda given: dpt.BatchRewriter("custext")({"text": given})["text"],
    "score": lambda given: [dpt.score(given, TEXTS)] * 3,
    "score of rewrites": lambda given: [dpt.score(TEXTS, given)] * 3,
    "score with labels": lambda given: [dpt.score(TEXTS, TEXTS, labels=given)] * 3,
    "metric": lambda given: metrics.score("unchanged", given, TEXTS),
    "metric of rewrites": lambda given: metrics.score("unchanged", TEXTS, given),
    "audit": lambda given: [audit(Swap.create(), given, draws=100, seed=1)] * 3,
    "which text": lambda given: which_text.listed_lineup("A letter.", given).texts[1:],
    "tradeoff": lambda given: [dpt.tradeoff(given, [Swap.create()])] * 3,
    "clip range": lambda given: [estimate_clip_range(given, n_masks=1)] * 3,
}
#: What takes one text.
ONE = {
    "prepare": lambda m, given: m.prepare(given),
    "plan": lambda m, given: m.plan(given),
    "guarantee": lambda m, given: m.guarantee(given),
    "sweep": lambda m, given: m.sweep(given, [1.0]),
    "rewrites": lambda m, given: m.rewrites(given, 2),
    "calibrate": lambda m, given: dpt.calibrate(m, 0.5, text=given),
    "two texts": lambda m, given: two_texts.measure(m, (given, "A letter."), 100),
}


@pytest.mark.parametrize("entry", LISTS)
def test_a_column_of_texts_is_taken_by_everything_that_takes_a_list(entry):
    kinds = ["arrow"] if entry.startswith(("score", "audit")) else COLUMNS_OF_TEXTS  # these take seconds
    for kind, given in ((kind, COLUMNS_OF_TEXTS[kind]) for kind in kinds):
        assert len(LISTS[entry](given)) == 3, kind


@pytest.mark.parametrize("kind", COLUMNS_OF_TEXTS)
def test_a_column_gives_its_texts_in_order_as_plain_strings(kind):
    results = Swap.create().rewrite(COLUMNS_OF_TEXTS[kind], seed=4)
    assert [r.original for r in results] == TEXTS and {type(r.original) for r in results} == {str}
    assert [r.text for r in results] == [r.text for r in Swap.create().rewrite(TEXTS, seed=4)]


@pytest.mark.parametrize("entry", LISTS)
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_refused_with_the_names_of_its_columns(entry, kind):
    with pytest.raises(dpt.InputError) as refused:
        LISTS[entry](TABLES[kind])
    assert "'text'" in str(refused.value) and "'id'" in str(refused.value) and "[" in str(refused.value)


@pytest.mark.parametrize("entry", LISTS)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_column_is_refused(entry, kind):
    with pytest.raises(dpt.InputError):
        LISTS[entry](OTHERS[kind])


@pytest.mark.parametrize("entry", ONE)
def test_one_text_is_no_table_and_no_column(entry):
    m = Swap.create()
    for kind, given in (TABLES | OTHERS | COLUMNS_OF_TEXTS | {"generator": iter(TEXTS)}).items():
        try:
            ONE[entry](m, given)
        except (dpt.InputError, dpt.ConfigError):
            continue
        pytest.fail(f"{entry} took a {kind}")
    with pytest.raises(dpt.InputError, match="'text'"):
        m.prepare(TABLES["pandas"])


@pytest.mark.parametrize(
    "missing", [None, float("nan"), pd.NA, pd.NaT, np.nan, b"bytes", 5, ["a"], {"text": "a"}, pd.Series(["a"])]
)
def test_a_column_with_what_is_no_text_says_where(missing):
    given = [TEXTS[0], missing, TEXTS[1]]
    for take in (Swap.create().rewrite, lambda x: dpt.score(x, TEXTS), lambda x: metrics.score("unchanged", TEXTS, x)):
        with pytest.raises(dpt.InputError, match="number 2 of 3"):
            take(given)
    with pytest.raises(dpt.InputError, match="number 2 of 2"):
        Swap.create().rewrite(pa.array([TEXTS[0], None]))


def test_a_table_is_no_generator_and_a_generator_is_a_column():
    m = Swap.create()
    assert [r.original for r in m.rewrite(text for text in TEXTS)] == TEXTS
    assert len(dpt.score((t for t in TEXTS), iter(TEXTS)).rows)


@pytest.mark.parametrize("kind", [k for k in TABLES if k not in ("lazy", "structured")])
def test_records_are_the_rows_of_a_table(kind):
    found = list(dpt.rewrite_records(TABLES[kind], Swap.create()))
    assert [r.row for r in found] == [{"id": name} for name in "abc"]
    assert all(r.error is None and r.text for r in found)


@pytest.mark.parametrize("kind", COLUMNS_OF_TEXTS)
def test_records_are_the_texts_of_a_column(kind):
    found = list(dpt.rewrite_records(COLUMNS_OF_TEXTS[kind], Swap.create(), seed=1))
    assert [r.text for r in found] == [r.text for r in dpt.rewrite_records(TEXTS, Swap.create(), seed=1)]


@pytest.mark.parametrize("kind", ["lazy", "structured", *(k for k in OTHERS if k != "pandas with one column")])
def test_records_are_not_made_of_anything_else(kind):
    with pytest.raises(dpt.InputError):
        dpt.rewrite_records((TABLES if kind in TABLES else OTHERS)[kind], Swap.create())
