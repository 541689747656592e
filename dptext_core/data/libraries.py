"""Adapters for other libraries: rows of Hugging Face's datasets, and texts of a spaCy pipeline.

Neither library is imported here. datasets calls a function of plain lists, and spaCy loads its component by the entry
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
    """Return the total ε of a rewrite; None without a guarantee or a finite total."""
    if guarantee is None or guarantee.notion == "none" or not math.isfinite(guarantee.total):
        return None
    return guarantee.total


def one_by_one(mechanism: str | None, options: Mapping[str, Any]) -> Mechanism:
    """Return a mechanism that samples each text independently. Raises ConfigError."""
    m = get_mechanism(mechanism or DEFAULT_MECHANISM, **options)
    if m.shares_draws:
        raise ConfigError(
            "With these options, all texts share their draws, but here texts come in blocks. Use "
            "dptext_core.rewrite_records, or another strategy."
        )
    return m


class BatchRewriter:
    """A function for ``datasets.Dataset.map(…, batched=True)``: each row's text is rewritten independently.

    The rewrite replaces the original in its column. New columns state what the row spends (``text_epsilon``, NaN
    without a guarantee) and why a row was not rewritten (``text_error``, else empty). Other columns are unchanged and
    unprotected. Every mapped row is sampled with fresh noise, and two rewrites of one text add up. If the same rows are
    mapped again with the same settings, ``map`` reads its cache, which spends nothing.

    Parameters
    ----------
    mechanism : str, optional
        One of ``dptext_core.mechanisms()``.
    column : str
        The column of texts.
    **options
        Of the mechanism, such as ``epsilon``.

    Raises
    ------
    ConfigError
        An option is invalid, or all rows share the mechanism's draws.

    Examples
    --------
    ::

        rows.map(dpt.BatchRewriter("custext", epsilon=3), batched=True)
    """

    def __init__(self, mechanism: str | None = None, column: str = "text", **options: Any) -> None:
        self.mechanism = one_by_one(mechanism, options)
        self.column = column
        self._mechanism_and_options = mechanism, dict(options)

    def __getstate__(self) -> dict[str, Any]:
        """Return only the settings: loaded models stay here, and each process loads its own."""
        return {"column": self.column, "given": self._mechanism_and_options}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        mechanism, options = state["given"]
        BatchRewriter.__init__(self, mechanism, state["column"], **options)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the changed columns.

        Raises InputError if the batch lacks the column, or already has one of the added names.
        """
        if self.column not in batch:
            raise InputError(f"There is no column {self.column!r}. Name the column of texts: column=…")
        for added in (f"{self.column}_epsilon", f"{self.column}_error"):
            if added in batch:
                raise InputError(f"A column {added!r} already exists and would be lost. Rename it.")
        texts = batch[self.column]
        if isinstance(texts, str):
            raise InputError("This rewrites lists of texts. Use map with batched=True.")
        records = list(rewrite_records(to_list(texts), self.mechanism, self.column))
        spent = [total(r.guarantee) for r in records]
        # Never None: the first block decides on the types, and a block of None alone would allow nothing else.
        return {
            self.column: [r.text for r in records],
            f"{self.column}_epsilon": [math.nan if x is None else x for x in spent],
            f"{self.column}_error": [r.error or "" for r in records],
        }


class DocRewriter:
    """A component of a spaCy pipeline: what ``nlp.add_pipe("dp_rewriter")`` makes.

    The words of a Doc are unchanged. The rewritten text is in ``doc._.dp_text``, its guarantee in ``doc._.dp_promise``,
    and its total ε in ``doc._.dp_epsilon`` (None without a guarantee). A text that cannot be rewritten, such as one
    that is too long, has the reason in ``doc._.dp_error`` and None in the others; later texts are rewritten.

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
        self._mechanism_and_options = mechanism, dict(options or {})

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self._mechanism_and_options}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        DocRewriter.__init__(self, *state["given"])

    def __call__(self, doc: Any) -> Any:
        (doc,) = self.pipe([doc])
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 32) -> Iterable[Any]:
        """Rewrite many documents at a time, as ``nlp.pipe`` requests."""
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
