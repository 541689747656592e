"""A claim, the test that decides it, and its outcome."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
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
    """The test of a claim, written before the results. quantity: what is compared. direction: what the claim expects.
    least: the smallest effect that matters, with its source."""

    quantity: str
    direction: str
    least: str

    __test__ = False  # not a pytest test


@dataclass(frozen=True)
class ClaimOutcome:
    """The outcome of a claim. effect: its size in a few words. numbers: sentences made from the rows. rows: the rows
    behind them, each once. reason: our explanation. missing: the command that measures missing rows.

    records: the values behind ``numbers`` that are in no ``Row``, by column title.

    figure: the name of the figure in ``dptext_studio.figures`` that shows ``drawn``, or "".
    """

    verdict: str = MISSING
    effect: str = ""
    numbers: tuple[str, ...] = ()
    reason: str = ""
    rows: tuple[Row, ...] = ()
    missing: str = ""
    figure: str = ""
    drawn: tuple[Any, ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim and its test, written before the results; ``look`` tests it on rows.

    quote: the paper's words. place: where the paper has them. turns: what would change the verdict. itself: where the
    paper contradicts itself, with both places. is_significance_tested: whether differences must be significant; closed
    forms, speeds, memory and single runs have no test.
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
    is_significance_tested: bool = True

    @property
    def source(self) -> str:
        return ", ".join(filter(None, (self.paper, self.place)))

    @property
    def differences(self) -> str:
        """Return how our setting differs from the claim's paper, or "" if no paper makes it."""
        apart = APART.get(self.paper)
        note = "The verdict is about the direction of the effect."
        return "" if apart is None else f"{apart[0].upper()}{apart[1:]}. {note}"

    def against_itself(self) -> str:
        """Return where the paper contradicts itself, with both places, or "". It is counted in the paper's own rows."""
        return self.itself if isinstance(self.itself, str) else self.itself()


#: The paper of claims that no paper makes.
OURS = "Ours"
#: How our setting differs from each paper's, so a verdict is about the direction only.
APART = {
    "DP-MLM": "the paper uses roberta-base, DeBERTa as judge, and authors of Yelp and Trustpilot reviews. We use the "
    "bundled model, the bundled encoder, and film critics and presidents",
    "1-Diffractor": "the paper uses Numberbatch, three GloVe spaces, word2vec, and a fine-tuned BERT as judge; we "
    "use the five bundled spaces and the bundled encoder",
    "CusText": "the paper uses counter-fitted, GloVe and word2vec vectors, and a fine-tuned BERT as judge; we use "
    "the bundled space and the bundled encoder",
    "DP-Rewrite": "we use the paper's data sets, but train the autoencoder ourselves and use the bundled encoder as "
    "judge instead of BERT",
}
#: Every registered claim, in the order of registration.
REGISTERED: list[Claim] = []


def majority_record(data: str, share: float) -> dict[str, Any]:
    """Return the share of a data set's most frequent class, for the rows of a claim."""
    return {"mechanism": "always the most frequent class", "data": data, "metric": "accuracy", "value": share}


@cache
def _claim_texts() -> dict[str, dict[str, str]]:
    """Return the texts of every claim, with line ends as spaces."""
    with Path(__file__).with_name("claims.toml").open("rb") as file:
        claims = tomllib.load(file)
    return {name: {key: " ".join(text.split()) for key, text in parts.items()} for name, parts in claims.items()}


def claim(itself: Callable[[], str] | None = None) -> Callable[[Callable[[Runs], ClaimOutcome | None]], Claim]:
    """Register the decorated function as the test of a claim.

    The claim's texts are below the function's name in ``claims.toml``, with the command that measures it, and the
    reason unless the function gives one. The function returns None if its rows are missing. itself: counts where the
    paper contradicts itself.
    """

    def register(compute: Callable[[Runs], ClaimOutcome | None]) -> Claim:
        written = _claim_texts()[compute.__name__]

        def look(runs: Runs) -> ClaimOutcome:
            outcome = compute(runs)
            if outcome is None or (outcome.verdict == MISSING and not outcome.missing):
                return ClaimOutcome(missing=written["missing"])
            outcome = replace(outcome, rows=tuple({id(row): row for row in outcome.rows}.values()))
            if outcome.verdict == MISSING or outcome.reason:
                return outcome
            return replace(outcome, reason=written["reason"])

        test = Test(**{part.name: written[part.name] for part in fields(Test)})
        parts = {key: written.get(key, "") for key in ("paper", "place", "quote", "turns")}
        counted = itself or written.get("itself", "")
        tested = written.get("significance", "") != "none"
        REGISTERED.append(
            Claim(
                compute.__name__,
                written["says"],
                **parts,
                test=test,
                itself=counted,
                look=look,
                is_significance_tested=tested,
            )
        )
        return REGISTERED[-1]

    return register
