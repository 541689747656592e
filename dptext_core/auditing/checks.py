"""What every look of an audit is: a function of one subject that answers with a typed :class:`Check`.

The verdict is a function of the checks alone (``verdict``). A new look is a function ``(subject) -> Check | None`` in a
file of its own and an entry in ``verdict.FIRST`` (needs no distributions, may be had for nothing) or ``verdict.LATER``;
None where it has nothing to look at in such a mechanism.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..mechanisms.base import Mechanism, Prepared
from ..privacy.guarantee import Guarantee
from ..privacy.sampling import NoiseStream
from .inputs import Meter, Probe
from .report import Check
from .rewriting import Rewriter
from .rules import OURS, Breach, flat


class Seeds:
    """A seed for each call, other ones for each name, where the audit has one; else None each time."""

    def __init__(self, stream: NoiseStream, name: str = ""):
        own = zlib.crc32(name.encode()) % 1_000_003
        self._next = None if stream.seed is None else (stream.seed + own) * 1_000_003

    def __call__(self) -> int | None:
        if self._next is not None:
            self._next += 1
        return self._next


@dataclass(frozen=True)
class Subject:
    """What an audit looks at. inputs: as they were given, or the default ones; probes: the distributions of their drawn
    words, () where only whole outputs can be looked at, and in ``FIRST``. guarantee: of the first text. claim: an ε of
    the caller's in the place of the promise. draws: rewrites of each text that the caller asked for, None for none.
    thorough: whether what takes minutes is looked at too. rewriter: makes the rewrites of all looks."""

    m: Mechanism
    guarantee: Guarantee
    inputs: Sequence[str | Prepared]
    stream: NoiseStream
    meter: Meter
    probes: Sequence[Probe] = ()
    claim: float | None = None
    draws: int | None = None
    confidence: float = 0.95
    thorough: bool = False
    rewriter: Rewriter = field(default_factory=Rewriter)

    def seeds(self, name: str) -> Seeds:
        """Seeds of the look of this name."""
        return Seeds(self.stream, name)

    @property
    def claimed(self) -> float:
        """ε that one draw may lose; inf where nothing is promised."""
        if self.claim is not None:
            return self.claim
        return float("inf") if self.guarantee.notion == "none" else self.guarantee.epsilon


Look = Callable[[Subject], Check | None]


def name_of(look: Look) -> str:
    """Return the name of a look's checks: that of its file, or of the function where a file has several."""
    return getattr(look, "__name__", "look").replace("_", " ")


def failed(name: str, error: Exception) -> Check:
    """Return the check of a look at which the mechanism failed, where it did not before."""
    said = flat(str(error))
    reason = (
        f"a rewrite failed ({name}; {type(error).__name__}: “{said[:160]}{'…' * (len(said) > 160)}”), so it is "
        "unknown whether errors reveal the private text."
    )
    return Check(name, "not looked at", "", reason)


def look_at(looks: Iterable[Look], subject: Subject, failures: bool = False) -> tuple[Check, ...]:
    """Return the checks, each with its seconds, up to the first one that refutes. failures: whether a look at which the
    mechanism fails is one that could not be made; else its error is raised."""
    out: list[Check] = []
    for look in looks:
        subject.meter.task.check()
        began = time.perf_counter()
        try:
            check = look(subject)
        except Breach as breach:
            check = Check(name_of(look), "refuted", "", breach.reason, breach.witness)
        except OURS:
            raise
        except Exception as error:  # the mechanism's, which may tell of a text
            if not failures:
                raise
            check = failed(name_of(look), error)
        if check is None:
            continue
        out.append(replace(check, seconds=time.perf_counter() - began))
        if check.status == "refuted":
            break
    return tuple(out)
