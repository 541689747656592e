"""Audit a broken mechanism: the page finds its fault while you look for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.auditing import AuditReport, audit
from dptext_core.auditing.metadata_leakage import NAME as METADATA
from dptext_core.auditing.text_integrity import NAME as TEXT
from dptext_core.auditing.verdict import LOSS
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.sentences import NOTIONS
from dptext_lab.broken_mechanisms import FAULTS, broken

from .base import Control, Facts, Lesson, Part, Question, Reveal, epsilon_text

#: Deliberately broken mechanisms, in the order of the control, and the checks of an audit that the question offers.
BROKEN = ("unchanged-noise", "private-support", "telling-exposed")
CHECKS = (LOSS, TEXT, METADATA)
WORDS = ("doctor", "nurse", "river", "garden")
SEED, RELEASES = 1, 4


@lru_cache(maxsize=len(BROKEN))
def report(name: str) -> AuditReport:
    """Return the report of an audit on a few words."""
    return audit(broken(name), WORDS, seed=SEED)


def found_by(name: str) -> str:
    """Return the check that found the violation; "" if none did."""
    return next((c.name for c in report(name).checks if c.status == "refuted"), "")


class BrokenAudit(Lesson):
    name = "audit"
    title = "Audit a broken mechanism"
    goal = "Find faults that are invisible in a release."
    minutes = 4
    across = True
    sentences = (
        "A mechanism can state a guarantee and break it: by a bug, or because its proof is wrong.",
        "Here are three deliberately broken mechanisms.",
    )
    task = "Choose a mechanism. Read what it releases and what it publishes, and look for the fault."
    take_home = "An audit can find a violation, but it can never prove a guarantee."
    control = Control(
        "Mechanism", BROKEN, BROKEN[1], lambda name: f"Mechanism {BROKEN.index(name) + 1}" if name in BROKEN else name
    )
    door: ClassVar[Setting] = Setting("santext", {}, 16.0)

    def show(self, value: Any) -> tuple[Part, ...]:
        m, text = broken(value), " ".join(WORDS[:2])
        released = [m.rewrite(text, seed=SEED + i).text for i in range(RELEASES)]
        stated = [m.guarantee(word) for word in WORDS[:2]]
        return (
            Facts(
                (),
                (
                    ("guarantee", f"{NOTIONS[m.notion]}, {epsilon_text(stated[0].epsilon)}"),
                    (f"releases of “{text}”", ", ".join(f"“{one}”" for one in released)),
                    *(
                        (f"not protected, as stated for “{word}”", "; ".join(one.exposed))
                        for word, one in zip(WORDS, stated, strict=False)
                    ),
                ),
            ),
        )

    def ask(self, value: Any) -> Question:
        return Question(
            f"Where will the audit find the fault in {self.control.format_value(value).lower()}?",
            (
                "In its probabilities: two words differ by more than the guarantee allows",
                "In its release: it contains words that were not sampled",
                "In its statement: what it publishes depends on the private word",
                "Nowhere: the guarantee is not violated",
            ),
        )

    def reveal(self, value: Any) -> Reveal:
        result, check = report(value), found_by(value)
        fault = FAULTS[value]
        witness = next((c.witness for c in result.checks if c.status == "refuted"), None) or result.witness
        rows = tuple(
            (self.control.format_value(name), FAULTS[name].title, report(name).line, found_by(name)) for name in BROKEN
        )
        return Reveal(
            CHECKS.index(check) if check in CHECKS else len(CHECKS),
            (
                f"The audit says: {result.line}",
                *((witness.sentence(),) if witness else ()),
                f"The fault: {fault.explanation}",
            ),
            (
                "The audit was run for this page. It needs no access to the code: it compares the statement with the "
                "probabilities and with real releases.",
                "If an audit finds nothing, a fault can still be in the cases that it did not try.",
            ),
            (Facts(("", "fault", "verdict", "detected by"), rows),),
            (
                "The audit finds this fault elsewhere: see the last column of the table.",
                "The releases contain only sampled words. Look elsewhere.",
                "The statements are the same for both words. Look elsewhere.",
                "The audit finds a violation. Read the sentence below.",
            ),
        )
