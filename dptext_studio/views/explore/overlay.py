"""The strongest attacker's guesses, laid over the text: worked out when a visitor asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dptext_core as dpt
from dptext_core.attacks import best

from ...figures.token_payload import AttackGuesses
from ...server import runs
from ...server.session import session

PLACE = "guesses"
#: What the browser's snapshot says the words are marked by, while the guesses lie over the text.
MARK = "guesses"


def is_possible(run: runs.Run) -> bool:
    """Return whether each released word stands in the place of one of the original."""
    return "alignment" in run.result.can


def guesses_of(run: runs.Run, result: dpt.RewriteResult, view: Mapping[str, Any]) -> AttackGuesses | None:
    """Return the guesses for the release on the page, or why there are none yet; None where nobody asked."""
    if view.get("tint") != MARK or not is_possible(run):
        return None
    epsilon = run.payload["eps"] if run.spread else float(result.config.epsilon)
    held, key = session().at(PLACE), (run.number, result.config)
    if held.asked != key:
        mechanism = type(run.mechanism)(result.config)
        held.start(key, lambda task: best.attack_words(mechanism, result, task=task), "Guessing the words")
    if held.is_running(patience=0.0):
        return {"eps": epsilon, "why": "The attackers are guessing. This takes some seconds."}
    if held.error is not None:
        return {"eps": epsilon, "why": held.failure_text("Stopped.")}
    return guesses_view(held.result, epsilon)


def guesses_view(found: best.AttackedWords, epsilon: float) -> AttackGuesses:
    """Return what the browser shows of what the attackers found at ε."""
    if not found.places:
        return {"eps": epsilon, "why": "No word of this text was drawn, so there is nothing to guess."}
    name = found.strongest
    pairs = list(zip(found.places, found.words[name], found.hits[name], strict=True))
    return {
        "eps": epsilon,
        "name": best.title(name),
        "words": {str(i): word for i, word, _ in pairs if word},
        "right": [i for i, _, hit in pairs if hit],
        "of": len(pairs),
    }


def follow() -> None:
    """Have the page run again when they are there."""
    session().at(PLACE).follow()
