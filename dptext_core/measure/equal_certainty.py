"""The setting that preserves the most meaning of a text if the optimal reader is equally certain about one fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import Cancelled, DPTextError, InputError
from ..mechanisms.base import Mechanism, Prepared
from ..mechanisms.recommended import label
from ..privacy.numbers import number, percent
from ..support.private import Private
from ..support.task import UNWATCHED, Task
from .calibration import calibrate
from .certainty import Fact, shared_fact
from .target_figures import TargetFigure
from .text_targets import text_target
from .trade_off_advice import unreadable_note

#: The certainty at which settings are compared.
LEVEL = 0.5


@dataclass(frozen=True)
class EqualCertaintyRow(Private):
    """One setting at which the reader's certainty does not exceed the level.

    Attributes
    ----------
    mechanism : Mechanism
        At the calibrated ε, else at its own.
    epsilon : float or None
        None if no ε reaches the level, for a ``reason``; and for a setting on which ε has no effect.
    certainty : float
        The expected success of the optimal reader at this ε.
    meaning : TargetFigure or None
        The mean cosine of fresh rewrites to the text.
    reason : str
        Why the setting is not at the level.
    """

    mechanism: Mechanism
    epsilon: float | None = None
    certainty: float = 0.0
    meaning: TargetFigure | None = None
    reason: str = ""

    _shown: ClassVar[tuple[str, ...]] = ("mechanism", "epsilon")

    @property
    def title(self) -> str:
        """Return the setting without its ε, in words."""
        return label(self.mechanism.setting.at(None))


@dataclass(frozen=True)
class EqualCertainty(Private):
    """All settings at one certainty of the reader about one fact; rows in the requested order."""

    level: float
    fact: Fact
    rows: tuple[EqualCertaintyRow, ...]

    _shown: ClassVar[tuple[str, ...]] = ("level", "rows")

    @property
    def best(self) -> EqualCertaintyRow | None:
        """Return the row that preserves the most meaning; None if no setting reaches the level."""
        able = [(row.meaning.value, row) for row in self.rows if row.meaning is not None]
        return max(able, key=lambda pair: pair[0])[1] if able else None

    @property
    def rivals(self) -> tuple[EqualCertaintyRow, ...]:
        """Return the other rows whose 95% interval overlaps with that of the best."""
        best = self.best
        if best is None or best.meaning is None:
            return ()
        low, high = best.meaning.interval
        others = [row for row in self.rows if row is not best and row.meaning is not None]
        return tuple(r for r in others if r.meaning and r.meaning.interval[0] <= high and low <= r.meaning.interval[1])

    def sentence(self) -> str:
        """Return the answer in plain words."""
        best, at = self.best, percent(self.level)
        if best is None or best.meaning is None:
            return f"None of these settings keeps a reader at {at} certainty about “{self.fact.word}”."
        at_epsilon = "" if best.epsilon is None else f" at ε = {number(best.epsilon)}"
        cosine = f"cosine {best.meaning.value:.2f}{at_epsilon}"
        if len(self.rows) > 1 and sum(not row.reason for row in self.rows) == 1:
            sentence = f"Only {best.title} keeps a reader at {at} certainty about “{self.fact.word}”: {cosine}."
        else:
            sentence = f"At {at} certainty about “{self.fact.word}”, {best.title} preserves the most meaning: {cosine}."
        if self.rivals:
            rivals = " and ".join(row.title for row in self.rivals)
            sentence += f" The comparison with {rivals} is inconclusive: the intervals overlap."
        if note := unreadable_note(best.meaning.value):
            sentence += f" {note}"
        return sentence


def equal_certainty(
    mechanisms: Sequence[Mechanism],
    text: str,
    level: float = LEVEL,
    fact: str = "",
    alternatives: Sequence[str] | None = None,
    *,
    task: Task | None = None,
) -> EqualCertainty:
    """Return each setting at the ε where the optimal reader is equally certain of one fact, and the meaning preserved.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        Settings, of which the ε does not matter.
    text : str
    level : float
        The largest allowed certainty of the reader.
    fact : str
        A word of the text; without it, the rarest content word with public alternatives.
    alternatives : sequence of str, optional
        The alternatives, the same for all settings; by default, public ones.
    task : Task, optional
        Receives the progress, and may cancel the work.

    Returns
    -------
    EqualCertainty

    Raises
    ------
    InputError
        The text has no such fact, or there is no setting.
    """
    if not mechanisms:
        raise InputError("There is no setting to compare. Give at least one.")
    task, known = task or UNWATCHED, shared_fact(text, mechanisms, fact, alternatives)
    rows = []
    for i, m in enumerate(mechanisms):
        part = task.child(i, i + 1, len(mechanisms))
        rows.append(_row(m, text, level, known, part))
        part.report(1, 1)
    return EqualCertainty(level, known, tuple(rows))


def _row(m: Mechanism, text: str, level: float, fact: Fact, task: Task) -> EqualCertaintyRow:
    try:
        prepared = m.prepare(text, task=task.quiet)
        _, meaning = text_target(m, "meaning", prepared, None, None, task.child(0.8, 1))
        if not m.uses_epsilon:
            return _without_epsilon(m, prepared, level, fact, meaning, task)
        figure = calibrate(
            m,
            {"certainty": level},
            text=prepared,
            fact=fact.word,
            alternatives=fact.alternatives,
            task=task.child(0, 0.8),
        )
        assert figure.epsilon is not None
        return EqualCertaintyRow(figure.calibrated, figure.epsilon, figure.reached, meaning(figure.epsilon))
    except Cancelled:
        raise
    except DPTextError as error:
        return EqualCertaintyRow(m, reason=str(error))


def _without_epsilon(
    m: Mechanism, prepared: Prepared, level: float, fact: Fact, meaning: Callable[[float], TargetFigure], task: Task
) -> EqualCertaintyRow:
    """Return the row of a setting on which ε has no effect, or the reason for none."""
    _, certainty = text_target(m, "certainty", prepared, fact.word, fact.alternatives, task)
    success = certainty(m.config.epsilon).value
    if success > level:
        return EqualCertaintyRow(m, None, success, None, f"{m.title} leaves the reader {percent(success)} certain.")
    return EqualCertaintyRow(m, None, success, meaning(m.config.epsilon))
