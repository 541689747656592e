"""Read a paper's claim: the measurements first, then the verdict."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from dptext_core.errors import InputError
from dptext_core.mechanisms.setting import Setting
from dptext_lab.findings import verdicts
from dptext_lab.findings.evidence import CONTRADICTED, INCONCLUSIVE, NOT_COMPARABLE, REPLICATED, VERDICTS
from dptext_lab.findings.verdicts import ClaimFinding

from .base import Control, Facts, Lesson, Part, Question, Reveal

#: Claims of papers, in the order of the control.
CLAIMS = ("noises_differ", "dp_mlm_headline", "tight_range", "dp_mlm_speed")
#: The number of measured sentences that the verdict counts, and of others that are shown after the question.
COUNTED, MORE = {name: 2 if name == "dp_mlm_headline" else 1 for name in CLAIMS}, 2
MEANING = {
    REPLICATED: "At least half of the comparisons significantly agree with the claim.",
    CONTRADICTED: "Comparisons significantly contradict the claim, or show that the effect is too small.",
    INCONCLUSIVE: "There are too few comparisons or texts to decide.",
    NOT_COMPARABLE: "The paper measured something else, or the result depends on the setting.",
}
REPLIES = {
    REPLICATED: "That takes significant differences in at least half of the comparisons.",
    CONTRADICTED: "That takes significant differences in the other direction, or effects that are shown to be too "
                  "small. Missing evidence does not contradict it.",
    INCONCLUSIVE: "More texts would not change this. Look at what was compared, and how far apart the numbers are.",
    NOT_COMPARABLE: "Here the paper's quantity was measured, so its claim can be tested.",
}


@lru_cache(maxsize=1)
def findings() -> dict[str, ClaimFinding]:
    """Return the bundled findings by the name of their claim."""
    by_claim = {one.name: one for one in verdicts.bundled()}
    if missing := [name for name in CLAIMS if name not in by_claim]:
        raise InputError(f"The bundled findings lack {', '.join(missing)}. Restore the folder 'assets' from the "
                         "repository.")
    return by_claim


def number_of(name: str) -> str:
    """Return the control's number of a claim."""
    return f"Claim {CLAIMS.index(name) + 1}" if name in CLAIMS else name


class PaperClaim(Lesson):
    name = "paper"
    title = "Read a paper's claim"
    goal = "Decide from measurements whether a claim was replicated."
    minutes = 4
    across = True
    sentences = (
        "A paper says that one mechanism is better. A second measurement can agree, disagree, or leave it open.",
        "The test is fixed before anyone looks at the numbers: what is compared, and how large a difference matters.",
    )
    task = "Choose a claim. Read the test and the numbers, and decide for yourself."
    take_home = "“Inconclusive” does not mean “contradicted”: ask what was measured, and with how many texts."
    control = Control("Claim", CLAIMS, CLAIMS[0], number_of)
    door: ClassVar[Setting] = Setting("diffractor", {}, 1.0)

    def show(self, value: Any) -> tuple[Part, ...]:
        finding = findings()[value]
        claim = finding.of
        return (
            Facts(
                (),
                (
                    (f"claim of {claim.paper}", claim.claim),
                    ("test", claim.test.quantity),
                    ("expected by the claim", claim.test.direction),
                    ("smallest effect that matters", claim.test.least),
                    *(("measured here", line) for line in finding.numbers[: COUNTED[value]]),
                    ("effect: all comparisons above" if COUNTED[value] > 1 else "effect", finding.effect),
                ),
            ),
        )

    def ask(self, value: Any) -> Question:
        return Question("Which verdict do these measurements support?", tuple(v[:1].upper() + v[1:] for v in VERDICTS))

    def reveal(self, value: Any) -> Reveal:
        finding = findings()[value]
        if finding.verdict not in VERDICTS:
            raise InputError("This claim was not measured. Choose another one.")
        rest = tuple(("measured here", line) for line in finding.numbers[COUNTED[value] :][:MORE])
        because = tuple(filter(None, (finding.reason, finding.of.differences)))
        return Reveal(
            VERDICTS.index(finding.verdict),
            (
                f"Verdict: {finding.verdict}. Effect: {finding.effect}.",
                f"What would change the verdict: {finding.of.turns}",
            ),
            because or (MEANING[finding.verdict],),
            (
                Facts(("verdict", "meaning"), tuple(MEANING.items())),
                *((Facts((), rest),) if rest else ()),
            ),
            tuple(REPLIES[v] for v in VERDICTS),
        )
