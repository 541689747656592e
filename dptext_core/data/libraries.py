"""Mechanisms where other libraries want a function: rows of Hugging Face's datasets, and texts of a spaCy pipeline.

Neither library is imported here: datasets calls a function of plain lists, and spaCy finds its component by the entry
point of the installed package (``spacy_component`` registers it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import ConfigError, InputError
from ..mechanisms.base import Mechanism
from ..mechanisms.registry import DEFAULT_MECHANISM, get_mechanism
from ..privacy.guarantee import Guarantee
from ..support.checks import to_list
from .records import rewrite_records


def total(guarantee: Guarantee | None) -> float | None:
    """Return what a rewrite spends in total; None without a guarantee or a finite total."""
    if guarantee is None or guarantee.notion == "none" or not math.isfinite(guarantee.total):
        return None
    return guarantee.total


def one_by_one(mechanism: str | None, options: Mapping[str, Any]) -> Mechanism:
    """Return a mechanism whose texts are drawn each by itself. Raises ConfigError."""
    m = get_mechanism(mechanism or DEFAULT_MECHANISM, **options)
    if m.shares_draws:
        raise ConfigError(
            "With these options the draws are for all texts at once, and here texts come in blocks. Use "
            "dptext_core.rewrite_records, or another strategy."
        )
    return m


class BatchRewriter:
    """A function for ``datasets.Dataset.map(…, batched=True)``: each row's text rewritten by itself.

    The original leaves its column. Beside it stand what the row spends (``text_epsilon``, NaN where nothing is
    promised) and why a row was not rewritten (``text_error``, empty where it was). Other columns stay as they are,
    unprotected. Every row that is mapped is drawn anew, and two rewrites of one text add up; ``map`` reads its cache
    where the same rows are mapped by the same settings again, which spends nothing.

    Parameters
    ----------
    mechanism : str, optional
        One of ``dptext_core.mechanisms()``.
    column : str
        Where the texts stand.
    **options
        Of the mechanism, such as ``epsilon``.

    Raises
    ------
    ConfigError
        For wrong options, and where the mechanism draws for all rows at once.

    Examples
    --------
    ::

        rows.map(dpt.BatchRewriter("custext", epsilon=3), batched=True)
    """

    def __init__(self, mechanism: str | None = None, column: str = "text", **options: Any) -> None:
        self.mechanism = one_by_one(mechanism, options)
        self.column = column
        self._given = mechanism, dict(options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings alone: what the mechanism has loaded stays here, and each process loads its own."""
        return {"column": self.column, "given": self._given}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        mechanism, options = state["given"]
        BatchRewriter.__init__(self, mechanism, state["column"], **options)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the columns that change. Raises InputError where the batch has not the column, or has those already
        that are added."""
        if self.column not in batch:
            raise InputError(f"There is no column {self.column!r}. Name the one that holds the texts: column=…")
        for added in (f"{self.column}_epsilon", f"{self.column}_error"):
            if added in batch:
                raise InputError(f"There is a column {added!r} already, which would be lost. Give it another name.")
        texts = batch[self.column]
        if isinstance(texts, str):
            raise InputError("Give map the option batched=True: this rewrites lists of texts.")
        records = list(rewrite_records(to_list(texts), self.mechanism, self.column))
        spent = [total(r.guarantee) for r in records]
        # Never None: the first block decides on the types, and one of nothing but None would allow nothing else.
        return {
            self.column: [r.text for r in records],
            f"{self.column}_epsilon": [math.nan if x is None else x for x in spent],
            f"{self.column}_error": [r.error or "" for r in records],
        }


class DocRewriter:
    """A component of a spaCy pipeline: what ``nlp.add_pipe("dp_rewriter")`` makes.

    A Doc keeps its words. The rewritten text is in ``doc._.dp_text``, its promise in ``doc._.dp_promise``, and what it
    spends in ``doc._.dp_epsilon`` (None where nothing is promised). A text that cannot be rewritten, such as one that
    is too long, says why in ``doc._.dp_error`` and has None in the others; those after it are rewritten.

    Parameters
    ----------
    mechanism : str, optional
        One of ``dptext_core.mechanisms()``.
    options : mapping
        Of the mechanism, such as ``epsilon``.
    """

    #: The attributes of a Doc that it sets.
    ATTRIBUTES = ("dp_text", "dp_promise", "dp_epsilon", "dp_error")

    def __init__(self, mechanism: str | None = None, options: Mapping[str, Any] | None = None) -> None:
        self.mechanism = one_by_one(mechanism, dict(options or {}))
        self._given = mechanism, dict(options or {})

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self._given}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        DocRewriter.__init__(self, *state["given"])

    def __call__(self, doc: Any) -> Any:
        (doc,) = self.pipe([doc])
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 32) -> Iterable[Any]:
        """Many at a time, as ``nlp.pipe`` asks for it."""
        block: list[Any] = []
        for doc in stream:
            block.append(doc)
            if len(block) == batch_size:
                yield from self._rewritten(block)
                block = []
        yield from self._rewritten(block)

    def _rewritten(self, docs: list[Any]) -> Iterable[Any]:
        for doc, record in zip(docs, rewrite_records([d.text for d in docs], self.mechanism), strict=True):
            doc._.dp_text, doc._.dp_error = record.text, record.error
            doc._.dp_promise = None if record.guarantee is None else record.guarantee.sentence()
            doc._.dp_epsilon = None if record.guarantee is None else total(record.guarantee)
            yield doc
