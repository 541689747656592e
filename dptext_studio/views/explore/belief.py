"""What a reader can still infer about the chosen word, computed in a thread after a rewrite is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import dptext_core as dpt
from dptext_core.errors import Busy, Cancelled
from dptext_core.support.cache import cache_with
from dptext_core.support.private import Private

from ... import precomputed
from ...components.text import named_words
from ...figures.belief_view import BeliefView, belief_curve, belief_view, points
from ...server import runs, sessions
from ...server.chosen_fact import ChosenFact
from ...server.session import session
from . import meaning

PLACE = "belief"
#: The largest number of alternatives: each needs a pass of the model, and has a bar.
MOST = 7
#: The number of questions that a session keeps, each with the passes of one fact.
HELD = 3


@dataclass(frozen=True)
class Answer(Private):
    """The belief about a fact at every point of ε, or why there is none."""

    question: dpt.BeliefQuestion | None = None
    curve: Mapping[float, dpt.Belief] = field(default_factory=dict)
    why: str = ""

    _shown: ClassVar[tuple[str, ...]] = ()


def belief_of(
    run: runs.Run, result: dpt.RewriteResult, token: int | None, view: Mapping[str, Any]
) -> BeliefView | None:
    """Return the belief about the chosen word, and start computing missing parts. None if the mechanism has no beliefs.

    Parameters
    ----------
    run, result
        What the page shows, and the release at the ε where the slider rests.
    token
        The chosen token; None: the word that gives an example away.
    view
        The browser's snapshot, with the alternatives that the visitor named.
    """
    fact = _fact(run, token, view)
    _share(run, fact, view)
    if run.payload["belief"]["why"]:
        return None
    if fact is None:
        return {"fact": "", "tokens": []}
    live = run.payload["live"] and not run.spread
    key = (fact, (run.result if live else result).config)
    answer = run.beliefs.get(key) or _result_of(run, key)
    made: BeliefView = {"fact": fact.word, "tokens": _tokens(run, fact)}
    if named_words(view.get("others", {}).get(fact.word) or "", MOST)[1]:
        made["first"] = MOST
    if answer is None:
        if session().at(PLACE).request != (run, key):
            start(run, key, result)
        return made
    if answer.question is None:
        return {**made, "why": answer.why}
    rest, epsilon = (fact, result.config), _epsilon(run, result)
    if rest not in run.rest:
        run.rest.clear()
        run.rest[rest] = answer.curve.get(epsilon) or answer.question.answer(result)
    return {**made, **belief_view(answer.question, answer.curve, made["tokens"], (epsilon, run.rest[rest]))}


def follow() -> None:
    """Rerun the page when the belief is ready. Until then, the panel says that it is being computed."""
    session().at(PLACE).follow()


def start(run: runs.Run, key: tuple[ChosenFact, Any], result: dpt.RewriteResult) -> None:
    """Start the computation, and replace one for another word."""
    mine, (fact, _) = session(), key
    live = run.payload["live"] and not run.spread
    name = (run.inputs.text, run.inputs.setting, fact)
    held, public = mine.questions.get(name), precomputed.load(run.inputs.text, run.inputs.setting)

    def work(task: dpt.Task) -> Answer:
        text = run.inputs.text if run.bundled else run.prepared  # bundled scores are rounded, others are not

        make = partial(dpt.BeliefQuestion.make, run.mechanism, text, fact.word, fact.alternatives)
        if public is not None and fact == ChosenFact(run.secret):
            # One for all visitors of this example. Without a task it does not give way, so none is made twice.
            question = cache_with(public, "belief", make)
        else:
            question = held or make(task=task.child(0, 0.4))
        if not live:
            return Answer(question, {_epsilon(run, result): question.answer(result, task=task)})
        where = points(question, run.payload["lo"], run.payload["hi"]).tolist()
        return Answer(question, belief_curve(question, run.prepared, run.stream, where, task.child(0.4, 1)))

    crowd = max(1.0, sessions.session_count() / meaning.VISITORS)
    after = meaning.PICTURE * crowd if run.number == 1 else 0.0 if run.edited is None else meaning.PAUSE
    mine.at(PLACE).start((run, key), work, "Computing the reader's certainty", after, last=True)


def _result_of(run: runs.Run, key: tuple[ChosenFact, Any]) -> Answer | None:
    """Store the result of a finished task with its run."""
    mine = session()
    place = mine.at(PLACE)
    if place.request != (run, key) or place.is_running(patience=0.0):
        return None
    answer = place.take_result()
    if answer is None:
        answer = Answer(why=place.failure_text("Stopped. Choose another word, and then this one again."))
    if isinstance(place.error, Cancelled | Busy):
        return answer
    run.beliefs[key] = answer
    if answer.question is not None:
        name = (run.inputs.text, run.inputs.setting, key[0])
        mine.questions.pop(name, None)
        mine.questions[name] = answer.question
        for old in list(mine.questions)[:-HELD]:
            del mine.questions[old]
    return answer


def _fact(run: runs.Run, token: int | None, view: Mapping[str, Any]) -> ChosenFact | None:
    """Return the word of the chosen token.

    If tokens do not correspond to words, return the word that the visitor entered, or the one that reveals the fact of
    an example.
    """
    word = ""
    if "alignment" in run.result.can:
        at = run.payload.get("pin") if token is None else token
        word = "" if at is None else run.result.units[at].original
    elif run.secret or view.get("fact"):
        word = view.get("fact") or run.secret
    if not word:
        return None
    named = view.get("others", {}).get(word)
    alternatives = None if named is None else named_words(named, MOST)[0]
    return ChosenFact(word, alternatives)


def _share(run: runs.Run, fact: ChosenFact | None, view: Mapping[str, Any]) -> None:
    """Store the chosen fact for Compare. Keep that of the same text until the browser reports a choice."""
    mine, text = session(), run.inputs.text
    before = mine.explored_fact
    if before is not None and before[0] == text and not (view and fact):
        return
    is_default = fact is None or fact == ChosenFact(run.secret)
    mine.explored_fact = None if fact is None or is_default else (text, fact)


def _tokens(run: runs.Run, fact: ChosenFact) -> list[int]:
    if "alignment" not in run.result.can:
        return []
    return [k for k, u in enumerate(run.result.units) if u.original.casefold() == fact.word.casefold()]


def _epsilon(run: runs.Run, result: dpt.RewriteResult) -> float:
    """Return ε; if each word has a separate one, the one of the payload."""
    return run.payload["eps"] if run.spread else float(result.config.epsilon)
