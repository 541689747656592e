"""The interface of an audit's checks: each is a function of one subject that returns a typed :class:`Check`.

The verdict is a function of the checks alone (``verdict``). A new check is a function ``(subject) -> Check | None`` in
a separate file and an entry in ``verdict.FIRST`` (needs no distributions and is cheap) or ``verdict.LATER``. It returns
None if it does not apply to the mechanism.
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
    """A different seed for each call and name if the audit has a seed; else None each time."""

    def __init__(self, stream: NoiseStream, name: str = ""):
        name_hash = zlib.crc32(name.encode()) % 1_000_003
        self._next = None if stream.seed is None else (stream.seed + name_hash) * 1_000_003

    def __call__(self) -> int | None:
        if self._next is not None:
            self._next += 1
        return self._next


@dataclass(frozen=True)
class Subject:
    """The subject of an audit. inputs: as given, or the default ones. probes: the distributions of their sampled words;
    () in ``FIRST``, or if only whole outputs can be tested. guarantee: of the first text. claim: the caller's ε instead
    of the guarantee. draws: the requested number of rewrites per text, or None. thorough: whether to run checks that
    take minutes. rewriter: creates the rewrites of all checks."""

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
        """Return the seeds of the check with this name."""
        return Seeds(self.stream, name)

    @property
    def claimed(self) -> float:
        """Return the ε that one draw may lose; inf without a guarantee."""
        if self.claim is not None:
            return self.claim
        return float("inf") if self.guarantee.notion == "none" else self.guarantee.epsilon


Look = Callable[[Subject], Check | None]


def name_of(look: Look) -> str:
    """Return the name of a check: that of its file, or of the function if a file has several."""
    return getattr(look, "__name__", "look").replace("_", " ")


def failed(name: str, error: Exception) -> Check:
    """Return the result of a check during which the mechanism raised an error for the first time."""
    message = flat(str(error))
    reason = (
        f"a rewrite failed ({name}; {type(error).__name__}: “{message[:160]}{'…' * (len(message) > 160)}”), so it is "
        "unknown whether errors reveal the private text."
    )
    return Check(name, "not tested", "", reason)


def look_at(looks: Iterable[Look], subject: Subject, failures: bool = False) -> tuple[Check, ...]:
    """Return the results of checks, with their seconds, up to the first one that refutes. failures: whether a check
    during which the mechanism fails counts as not tested; else its error is raised."""
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
        except Exception as error:  # the mechanism's error, which may reveal a text
            if not failures:
                raise
            check = failed(name_of(look), error)
        if check is None:
            continue
        out.append(replace(check, seconds=time.perf_counter() - began))
        if check.status == "refuted":
            break
    return tuple(out)
