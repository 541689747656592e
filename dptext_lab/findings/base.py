"""A claim, the test that decides it, and its outcome."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..results.rows import Row
from ..results.tasks import TASKS
from .evidence import MISSING
from .runs import Runs

#: The utility metric of each data set, and its name in a sentence.
UTILITY = {task.data: task.metric for task in TASKS if task.role == "utility"}
TITLES = {"sst2": "SST-2", "snips": "Snips", "atis": "ATIS", "reviews": "film reviews", "authors": "speeches"}
METRIC_DP = ("mahalanobis", "mvc", "vickrey", "gumbel", "tem")


@dataclass(frozen=True)
class Test:
    """What decides a claim, said before the numbers. quantity: what is compared. direction: what the claim expects of
    it. least: the smallest effect that matters, with where that is from."""

    quantity: str
    direction: str
    least: str

    __test__ = False  # no test of pytest's


@dataclass(frozen=True)
class ClaimOutcome:
    """What the rows say about a claim. effect: the size of it, shortly. numbers: sentences made from the rows. rows:
    those that they come from. reason: why, as we see it. missing: the command that would measure what is not there.

    figure: the name of the figure in ``dptext_studio.figures`` that draws ``drawn``, "" where there is none.
    """

    verdict: str = MISSING
    effect: str = ""
    numbers: tuple[str, ...] = ()
    reason: str = ""
    rows: tuple[Row, ...] = ()
    missing: str = ""
    figure: str = ""
    drawn: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim and its test, before any row was looked at; ``look`` holds it against rows.

    quote: the paper's words. place: where they stand. turns: what would change the verdict. itself: where the paper
    says something else, with both places.
    """

    name: str
    claim: str
    paper: str
    place: str
    quote: str
    test: Test
    turns: str
    itself: str | Callable[[], str]
    look: Callable[[Runs], ClaimOutcome]

    @property
    def source(self) -> str:
        return ", ".join(filter(None, (self.paper, self.place)))

    @property
    def differences(self) -> str:
        """Return what differs from the paper that makes the claim; "" where none does."""
        apart = APART.get(self.paper)
        said = "The verdict is about the direction of the effect."
        return "" if apart is None else f"{apart[0].upper()}{apart[1:]}. {said}"

    def against_itself(self) -> str:
        """Return where the paper says something else, with both places; "" where it does not. Counted in its own
        rows."""
        return self.itself if isinstance(self.itself, str) else self.itself()


#: The paper of claims that no paper makes.
OURS = "Ours"
#: What differs here from each paper, so that a verdict is one of the direction.
APART = {
    "DP-MLM": "the paper draws with roberta-base, lets DeBERTa judge, and guesses authors of Yelp's and Trustpilot's "
    "reviews; here it is the bundled model, the bundled encoder, and critics and presidents",
    "1-Diffractor": "the paper has Numberbatch, three spaces of GloVe and word2vec, and lets a fine-tuned BERT judge; "
    "here it is the five bundled spaces and the bundled encoder",
    "CusText": "the paper has counter-fitted, GloVe's and word2vec's vectors, and lets a fine-tuned BERT judge; here "
    "it is the bundled space and the bundled encoder",
    "DP-Rewrite": "the data sets are the paper's; the autoencoder was trained anew, and the bundled encoder judges in "
    "BERT's place",
}
#: Every claim that was made, in the order in which their files are read.
REGISTERED: list[Claim] = []


@cache
def _claim_texts() -> dict[str, dict[str, str]]:
    """Return what is written of every claim; the end of a line counts as a blank."""
    with Path(__file__).with_name("claims.toml").open("rb") as file:
        claims = tomllib.load(file)
    return {name: {key: " ".join(text.split()) for key, text in parts.items()} for name, parts in claims.items()}


def claim(itself: Callable[[], str] | None = None) -> Callable[[Callable[[Runs], ClaimOutcome | None]], Claim]:
    """Make a claim of the function that looks at its rows, and register it.

    What it says and what decides it are below the function's name in ``claims.toml``; there too what would measure it,
    and the reason, unless the function gives one. The function returns None where its rows are missing. itself: counts
    where the paper says something else.
    """

    def register(compute: Callable[[Runs], ClaimOutcome | None]) -> Claim:
        written = _claim_texts()[compute.__name__]

        def look(runs: Runs) -> ClaimOutcome:
            outcome = compute(runs)
            if outcome is None or (outcome.verdict == MISSING and not outcome.missing):
                return ClaimOutcome(missing=written["missing"])
            if outcome.verdict == MISSING or outcome.reason:
                return outcome
            return replace(outcome, reason=written["reason"])

        test = Test(**{part.name: written[part.name] for part in fields(Test)})
        told = {key: written.get(key, "") for key in ("paper", "place", "quote", "turns")}
        counted = itself or written.get("itself", "")
        REGISTERED.append(Claim(compute.__name__, written["says"], **told, test=test, itself=counted, look=look))
        return REGISTERED[-1]

    return register
