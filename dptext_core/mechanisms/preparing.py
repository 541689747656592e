"""Read a text before it is rewritten: the part of a rewrite that is independent of ε."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import ConfigError, InputError
from ..support.checks import one_text, pluralize, text_list
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from ..text.document import Document, too_long
from .configured import ConfiguredBase, check_depth

_SURROGATE = re.compile("[\ud800-\udfff]")


class PreparationBase(ConfiguredBase):
    """Cut a text into tokens and prepare it."""

    def prepare(self, text: str, *, task: Task | None = None) -> Prepared:
        """Return the expensive part, which is independent of ε. Keep it and pass it instead of the text.

        Parameters
        ----------
        text : str
        task : Task, optional
            Receives the progress, and may cancel the work.

        Returns
        -------
        Prepared
            For this text and these options; ε may change, see :meth:`replace`.

        Raises
        ------
        InputError
            It is no text, or too long a one.
        ModelUnavailable
            What the mechanism reads with is not on this machine.
        """
        task = task or UNWATCHED
        task.check()
        return self.prepare_document(self.document(text), task)

    def prepare_many(self, texts: Sequence[str], *, task: Task | None = None) -> Iterator[Prepared]:
        """Yield prepared texts in order. Mechanisms that batch over texts override this loop."""
        task = task or UNWATCHED
        documents = [self.document(t) for t in text_list(texts)]
        for i, document in enumerate(documents):
            yield self.prepare_document(document, task.quiet)
            task.report(i + 1, len(documents))

    def prepare_document(self, document: Document, task: Task) -> Prepared:
        """Return the expensive part, which is independent of ε, of a tokenised text. Override it if there is one.

        Parameters
        ----------
        document
            The text, cut by :attr:`language`.
        task
            Call its :meth:`~Task.check` regularly if this takes long.

        Returns
        -------
        Prepared
            Or an instance of a derived class, with :attr:`key` as its key.
        """
        return Prepared(document, self.key)

    def plan(self, text: str | Prepared) -> Prepared:
        """Return the text as :meth:`prepare` does, without a model pass if it can wait."""
        return self.prepared(text)

    def document(self, text: str) -> Document:
        """Return a tokenised text. Raises InputError for other values than texts, or a text that is too long."""
        if why := too_long(one_text(text)):
            raise InputError(why)
        if not text.isascii() and _SURROGATE.search(text):
            raise InputError("The text contains invalid characters (lone surrogates). Decode the file as UTF-8 first.")
        return Document.parse(text, self.language)

    def prepared(self, text: str | Prepared, task: Task = UNWATCHED) -> Prepared:
        """Return the prepared form of a text or prepared text. Raises ConfigError if it was prepared with other
        options."""
        if not isinstance(text, Prepared):
            return self.prepare(text, task=task)
        if text.key != self.key:
            raise ConfigError("This text was prepared with other options. Prepare it again with this mechanism.")
        return text

    def epsilons(self, prepared: Prepared) -> tuple[float, ...]:
        """Return one ε per token. Raises ConfigError if the list has another length, or a value exceeds max_epsilon."""
        n, epsilon = len(prepared.document.words), self.config.epsilon
        check_depth(epsilon, self.max_epsilon)
        if not isinstance(epsilon, tuple):
            return (epsilon,) * n
        if len(epsilon) != n:
            raise ConfigError(
                f"epsilon has {pluralize(len(epsilon), 'value')}, but the text has {pluralize(n, 'token')} (including "
                "punctuation and kept words). Give one value per token, or one for all."
            )
        return epsilon


@dataclass(frozen=True, eq=False)
class Prepared(Private):
    """The ε-independent part of a rewrite, held by the caller.

    Attributes
    ----------
    document : Document
    key : tuple
        The ``key`` of the mechanism that it was prepared for.
    """

    document: Document
    key: tuple

    _shown: ClassVar[tuple[str, ...]] = ("document",)

    @property
    def text(self) -> str:
        return self.document.text

    def share(self) -> None:
        """Store results computed from its scores with it, for a public text that many sessions use."""
