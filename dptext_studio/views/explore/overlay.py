"""The strongest attacker's guesses over the text, computed when a visitor asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dptext_core as dpt
from dptext_core.attacks import best

from ...figures.token_payload import AttackGuesses
from ...server import runs
from ...server.session import session

#: All attackers, and those that need no second pass over the text, whose guesses are shown first.
PLACE, QUICK = "guesses", "first guesses"
#: Seconds that the fast ones have before the others begin.
LATER = 0.3
#: The mark in the browser's snapshot while the guesses are shown over the text.
MARK = "guesses"


def is_possible(run: runs.Run) -> bool:
    """Return True if each released word replaces one word of the original."""
    return "alignment" in run.result.can


def guesses_of(run: runs.Run, result: dpt.RewriteResult, view: Mapping[str, Any]) -> AttackGuesses | None:
    """Return the guesses for the displayed release, or why there are none yet; None if nobody asked."""
    if view.get("tint") != MARK or not is_possible(run):
        for place in (QUICK, PLACE):
            session().at(place).drop()
        return None
    epsilon = run.payload["eps"] if run.spread else float(result.config.epsilon)
    all_of_them = _attack(run, result, quick=False)
    if isinstance(all_of_them, best.AttackedWords):
        session().at(QUICK).drop()
        return guesses_view(all_of_them, epsilon)
    first = _attack(run, result, quick=True)
    if isinstance(first, best.AttackedWords) and not all_of_them:
        return {**guesses_view(first, epsilon), "pending": True}
    return {"eps": epsilon, "why": all_of_them or "The attackers are guessing …"}


def _attack(run: runs.Run, result: dpt.RewriteResult, quick: bool) -> best.AttackedWords | str:
    """Return the attackers' results, or those of fast attackers, and a sentence on why there are none ("" while they
    guess).
    """
    place, key = session().at(QUICK if quick else PLACE), (run.number, result.config)
    if place.request != key:
        mechanism = type(run.mechanism)(result.config)

        def work(task: dpt.Task) -> best.AttackedWords:
            return best.attack_words(mechanism, result, quick=quick, task=task)

        place.start(key, work, "Guessing the words", after=0.0 if quick else LATER)
    if place.is_running(patience=0.0):
        return ""
    return place.result if place.error is None else place.failure_text("Stopped.")


def guesses_view(found: best.AttackedWords, epsilon: float) -> AttackGuesses:
    """Return the browser's data of the attackers' results at ε."""
    if not found.places:
        return {"eps": epsilon, "why": "No word of this text was sampled, so there is nothing to guess."}
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
    """Rerun the page when the guesses are ready."""
    for place in (QUICK, PLACE):
        session().at(place).follow()
