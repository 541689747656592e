"""The gauge of the meaning preserved, computed in a thread after a rewrite is shown."""

from __future__ import annotations

from typing import Any

import dptext_core as dpt
from dptext_core.support.extras import ENCODER
from dptext_core.words.vocabulary import trunk_folder

from ...figures.meaning_curve import MOST, MeaningCurve, meaning_kept
from ...figures.token_payload import Similarity
from ...server import runs, sessions
from ...server.session import session

PLACE = "meaning"
#: The task's place for the displayed text, and seconds that the page waits for it.
REST, WAIT = "meaning at rest", 0.15
#: Seconds in which a visitor's first figure has the processor alone; longer if many visitors open the page.
PICTURE = 1.0
#: Seconds after an edit, because nobody looks at the gauge while typing.
PAUSE = 1.0
#: Up to this many visitors, each gauge has all its texts. With more visitors, each has fewer, down to this number: a
#: gauge costs as much as a rewrite, and is viewed less often.
VISITORS, LEAST = 5, 4


def need() -> str:
    """Return what to install so that the gauge can measure; "" if it can."""
    try:
        trunk_folder()
    except dpt.ModelUnavailable:
        return f"The gauge *Meaning preserved* needs the sentence encoder. Install it with: `{ENCODER}`"
    return ""


def similarity_of(run: runs.Run, result: dpt.RewriteResult) -> Similarity | None:
    """Return the gauge's data for a run, and start computing it; None before that."""
    made = _along(run, result)
    if made is None or made["all"] or not made["at"]:
        session().at(REST).drop()
    elif (exact := _at_rest(result)) is not None:
        made["now"] = {"eps": float(result.config.epsilon), "cosine": round(exact, 4)}
    return made


def _along(run: runs.Run, result: dpt.RewriteResult) -> Similarity | None:
    """Return the cosines along ε, without that of the displayed text."""
    if need():
        return {"at": [], "cosine": [], "all": False}
    place = session().at(PLACE)
    mine = place.request is not None and place.request[0] is run and not place.is_running(patience=0.0)
    if mine and (curve := place.take_result()) is not None:
        run.meaning[place.request[1]] = curve
    live = run.payload["live"] and not run.spread
    config = run.result.config if live else result.config  # a live text covers every ε
    known = run.meaning.get(config)
    if known is None:
        if place.request != (run, config):
            start((run, config), result)
        return None
    return {"at": list(known.at), "cosine": [round(c, 4) for c in known.cosine], "all": known.complete}


def _at_rest(result: dpt.RewriteResult) -> float | None:
    """Return the cosine of the displayed text; None until it is known.

    One text is fast, so the page waits for it briefly.
    """
    place = session().at(REST)
    key = (result.original, result.text)
    if place.request != key:
        place.start(key, lambda _: float(dpt.metrics.score("cosine", [result.original], [result.text])[0]), "Comparing")
        place.wait(WAIT)
    if place.is_running(patience=0.0):
        return None
    return place.result if place.error is None else None


def start(asked: tuple[runs.Run, Any], result: dpt.RewriteResult) -> None:
    """Start computing, and replace a computation for another text."""
    run = asked[0]
    low, live = run.payload["lo"], run.payload["live"] and not run.spread
    changes = [low, *(max(low, float(f[0])) for t in run.payload["tokens"] for f in t.get("flips", ()))]  # type: ignore[attr-defined]
    crowd = max(1.0, sessions.session_count() / VISITORS)
    most = max(min(MOST, LEAST), int(MOST / crowd))

    def work(task: dpt.Task) -> MeaningCurve:
        if live:
            return meaning_kept(run.mechanism, run.prepared, run.stream, changes, most=most, task=task)
        cosine = float(dpt.metrics.score("cosine", [result.original], [result.text])[0])
        return MeaningCurve((low,), (cosine,), True)

    after = PICTURE * crowd if run.number == 1 else 0.0 if run.edited is None else PAUSE
    session().at(PLACE).start(asked, work, "Measuring the meaning", after, last=True)


def follow() -> None:
    """Rerun the page when the values are ready. Until then the gauge says so itself."""
    for place in (PLACE, REST):
        session().at(place).follow()
