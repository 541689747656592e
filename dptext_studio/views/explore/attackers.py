"""The attackers on the text of the page: what somebody can find out who sees the rewrite and knows the mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import bayes, best, mask_inference, nearest, query, reader, two_texts, which_text
from dptext_core.privacy.guarantee import percent
from dptext_core.support.checks import many

from ...components.charts import chart
from ...components.text import literal, too_long
from ...figures import query_figure
from ...server import runs
from ...server.session import session
from ..compare import distinguishability as told_apart

#: Seconds that a run of the page waits for work before it shows progress.
PATIENCE = 0.7
POINTS = 13
OWN = "Each figure is worked out from your own text: for your eyes, not for release."
#: How many rewrites of one text the attacker of whole texts may be given.
SEEN = (1, 2, 4, 8)


def panel(run: runs.Run, result: dpt.RewriteResult, token: int | None) -> None:
    """The attackers on the rewrite ``result`` of ``run``: on its step ``token`` (the first drawn one without it), and
    on the whole text."""
    st.subheader("What an attacker gets")
    mechanism = type(run.mechanism)(result.config)
    every = attacks.attackers("word") + attacks.attackers("text")
    refusals = [_refuses(a, mechanism) for a in every]
    if "alignment" not in mechanism.can:
        _of_texts(run, mechanism, result, dict(zip(every, refusals, strict=True)))
        return
    drawn = [i for i, u in enumerate(result.units) if u.drawn]
    if not drawn:
        st.caption("No word was drawn, so there is nothing to guess: what stands there is your text.")
        return
    token = token if token is not None and token < len(result.units) else drawn[0]
    st.caption(OWN)
    # First who finds most, which is what a newcomer asks for; never one that cannot attack this mechanism.
    able = [a for a, refusal in zip(every, refusals, strict=True) if not refusal] or every
    first = next((a for a in able if a.name == "best"), able[0]).title
    tabs = st.tabs([a.title for a in every], default=first)
    for tab, attacker, refusal in zip(tabs, every, refusals, strict=True):
        with tab:
            if refusal:
                st.info(literal(refusal))
            else:
                _PANELS.get(attacker.name, _any)(attacker, run, mechanism, result, token)


def _refuses(attacker: attacks.Attacker, mechanism: dpt.Mechanism) -> str:
    """Why it cannot attack this mechanism; empty where it can."""
    try:
        attacker.check(mechanism)
    except dpt.NoDistribution as reason:
        return str(reason)
    return ""


def _of_texts(
    run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, refusals: dict[attacks.Attacker, str]
) -> None:
    """The attackers where a new text stands in the place of the old one: those of single words have nothing to ask."""
    st.caption(OWN)
    able = [a for a, refusal in refusals.items() if not refusal]
    for tab, attacker in zip(st.tabs([a.title for a in able]), able, strict=True):
        with tab:
            _PANELS.get(attacker.name, _any)(attacker, run, mechanism, result, 0)
    others = [a.title for a, refusal in refusals.items() if refusal]
    why = next((refusal for refusal in refusals.values() if refusal), "")
    if others:
        st.caption(literal(f"Not here: {', '.join(others)}. {why}"))
    if why := next((refusal for a, refusal in refusals.items() if a.name == "which-text"), ""):
        st.info(literal(why))
        _limit(run, mechanism, result)


def worked_out(run: runs.Run, result: dpt.RewriteResult) -> list[tuple[str, attacks.AttackFinding]]:
    """What attackers have found out about this rewrite so far, with their titles."""
    titles = {"bayes": "best-guess", "query": "repeated-answers", "nearest": "nearest-words"}
    known = {a.name: a.title for a in attacks.attackers()}
    out = []
    for place, work in session().work.items():
        name = place.removeprefix("attack: ")
        title = known.get(titles.get(name, name))
        asked = work.asked
        of_this = isinstance(asked, tuple) and asked[:2] == (run.number, result.config)
        if place != name and title and of_this and work.result is not None:
            out.append((title, work.result))
    return out


# --- work beside the page


def _work(name: str, key: tuple, label: str, work: Callable, *, ask: str | None = None, note: str = "") -> Any:
    """The result of ``work(task)`` for ``key``, or None while it is not there.

    One job a name: another key stops the one before. ask: the label of a button that starts it; without it, it starts
    at once. Errors of the package are shown in place.
    """
    held = session().at(f"attack: {name}")
    if held.asked != key:
        held.stop()
        held.asked = None
        if ask is not None:
            if note:
                st.caption(note)
            if not st.button(ask, key=f"attack_start_{name}"):
                return None
        held.start(key, work, label)
    if held.running(PATIENCE):
        held.waiting(f"attack_stop_{name}")
        return None
    if held.error is None:
        return held.result
    refused = isinstance(held.error, dpt.NoDistribution)
    (st.info if refused else st.error)(literal(held.said("Stopped.")))
    if not refused and st.button("Try again", key=f"attack_again_{name}"):
        held.asked = None
        st.rerun()
    return None


def _replaced(step: dpt.Step) -> bool:
    """Whether a word was replaced here; says so where not."""
    try:
        attacks.drawn_by_looking(step)
    except dpt.NoDistribution as reason:
        st.caption(literal(str(reason)))
        return False
    return True


def _table(columns: dict[str, list], share: str = "") -> None:
    """share: the column that is a probability, shown as a bar."""
    bar = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1)
    st.dataframe(columns, hide_index=True, height="content", column_config={share: bar} if share else None)


# --- the attackers


def _bayes(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """The posterior over what the word was."""
    step = result.steps[token]
    if not _replaced(step):
        return
    ask, note = None, ""
    if bayes.is_available(mechanism) and not bayes.is_ready(mechanism, step.epsilon or _largest(result)):
        ask = "Work out the best guess"
        note = "Once for these options, the distances of all pairs of words are counted, for ten seconds or so."

    def work(task: dpt.Task):
        return bayes.attack(mechanism, result, token, task=task)

    key = (run.number, result.config, token)
    found = _work("bayes", key, "Counting distances", work, ask=ask, note=note)
    if found is None:
        return
    guess, rank, chance = st.columns(3)
    guess.metric(
        "Best guess right", percent(found.success), help="This counts each word as often as it occurs in public text."
    )
    rank.metric("Place of your word", "not listed" if found.rank is None else f"{found.rank:,}")
    chance.metric(
        "Without the output",
        percent(found.chance),
        help=f"This is what always guessing “{found.chance_guess}” reaches.",
    )
    rows = [(i, *row) for i, row in enumerate(found.top, 1)]
    if found.rank is not None and found.rank > len(found.top):
        prior = attacks.public_prior(mechanism)
        at = next(i for i, w in enumerate(prior.words) if w.lower() == step.original.lower())
        rows.append((found.rank, prior.words[at], found.p_true or 0.0, float(prior.p[at])))
    _table(
        {
            "place": [f"{i:,}" for i, *_ in rows],
            "word": [w for _, w, _, _ in rows],
            "": ["◀ yours" if w.lower() == step.original.lower() else "" for _, w, _, _ in rows],
            "probability": [p for _, _, p, _ in rows],
            "before": [percent(p) for _, _, _, p in rows],
        },
        "probability",
    )
    st.markdown(literal(found.sentence()))
    st.caption(
        "The best that anyone can do who knows the mechanism, its ε and how frequent words are, and looks at this word "
        "alone. Whoever reads the words around it too can do better: see “Language model”."
        + (f" Words beyond the likeliest are off by {found.error:.1g} of themselves at most." if found.error else "")
    )


def _largest(result: dpt.RewriteResult) -> float:
    return max((s.epsilon for s in result.steps), default=0.0) or 1.0


def _query(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """How many answers give the word away."""
    step = result.steps[token]
    if not _replaced(step):
        return
    if step.reason:
        st.caption(
            f"“{literal(step.original)}” is {step.reason}: it is drawn without being looked at. Any number of "
            "answers tells nothing about it."
        )
        return
    found = _work(
        "query",
        (run.number, result.config, token),
        "Asking again and again",
        lambda task: query.query_number(result.distribution(token), task=task),
    )
    if found is not None:
        number, own, rival = st.columns(3)
        number.metric("Answers needed", "never" if math.isinf(found.n) else f"about {found.n:,.0f}")
        own.metric("Your word comes out", percent(found.p_original))
        rival.metric("Likeliest other word", percent(found.p_rival), help=literal(found.rival))
        st.markdown(literal(found.sentence()))
    if "sweep" not in result.can:
        return
    channel = result.locked(token)[0]
    epsilons = np.geomspace(run.payload["lo"], run.payload["hi"], POINTS).tolist()
    kind = (run.number, channel.draws is None)
    curve = _work(
        "curve",
        (*kind, token),
        "Working out the curve",
        lambda task: query.query_curve(channel, epsilons, task=task),
        ask=None if channel.draws is None else "Show the number at every ε",
    )
    channels = query.drawn_channels(result)
    text = None
    if len(channels) > 1:
        text = _work(
            "text curve",
            kind,
            "Working out the curve of the text",
            lambda task: query.query_curve(channels, epsilons[::2], task=task),
            ask=f"Add the curve of all {len(channels)} words",
        )
    lines = {f"“{step.original}”": curve} if curve is not None else {}
    if text is not None:
        lines[f"half of the {many(text.words, 'word')}"] = text
    if lines:
        dark = st.context.theme.type == "dark"
        figure = query_figure(lines, epsilon=found.epsilon if found is not None else None, dark=dark)
        chart(figure, key="attack_query", alt="Chance of finding the original over the answers; in words below")
        st.markdown(literal(" ".join(c.sentence() for c in lines.values())))
    st.caption(
        "The most frequent of N fresh answers, in 2,000 simulated repeats. Every answer that you give spends its ε "
        "again."
    )


def _nearest(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """The released word, or its nearest neighbour, as the guess."""
    found = _work(
        "nearest",
        (run.number, result.config),
        "Looking for the nearest words",
        lambda task: nearest.attack(mechanism, result, task=task),
    )
    if found is None:
        return
    same, near, chance = st.columns(3)
    same.metric("Same word", percent(found.same), help="The attacker guesses that nothing was changed.")
    near.metric("Nearest word", percent(found.nearest), help="The attacker guesses the nearest other word.")
    chance.metric(
        "Without the output", percent(found.chance), help="This is what always guessing the most frequent word reaches."
    )
    st.markdown(literal(found.sentence()))
    guess = next((g for g in found.guesses if g.step == token), None)
    if guess is None:
        if (reason := result.steps[token].reason) and result.steps[token].drawn:
            st.caption(f"“{literal(result.steps[token].original)}” is {reason}: it was drawn without being looked at.")
        return
    if not guess.neighbours:
        st.caption(f"“{literal(guess.released)}” is not in the word space {literal(found.space)}.")
        return
    words = [guess.released, *guess.neighbours]
    _table(
        {
            "guess": words,
            "": ["◀ yours" if w.lower() == guess.original.lower() else "" for w in words],
        }
    )
    if guess.rank is not None and guess.rank >= len(words):
        st.caption(f"“{literal(guess.original)}” comes in place {guess.rank + 1:,}.")


def _read(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """The whole release as somebody reads it who knows the mechanism and the language."""
    seen = st.segmented_control(
        "Rewrites that it reads",
        SEEN,
        default=1,
        required=True,
        key="attack_reader_seen",
        help="1: the one above. More: others of the same text with fresh noise, made for this. To release them "
        "would spend their ε too.",
    )

    def work(task: dpt.Task):
        return reader.read(mechanism, which_text.rewrites_seen(mechanism, result, seen, task=task), task=task)

    found = _work(
        "reader",
        (run.number, result.config, seen),
        "Reading",
        work,
        ask="Read the release",
        note="This attacker joins the chances of the mechanism with what the bundled language model expects in each "
        "place. Where words are drawn by the words around them, a second or two for each word pass.",
    )
    if found is None:
        return
    right, alone, same, chance = st.columns(4)
    right.metric("Reader right", percent(found.success), help="So many of the drawn words are read as they were.")
    alone.metric("Best guess", percent(found.alone), help="This looks at each released word by itself.")
    same.metric("Same word", percent(found.unchanged), help="The attacker guesses that nothing was changed.")
    chance.metric(
        "Without the output", percent(found.chance), help="This is what always guessing the most frequent word reaches."
    )
    st.caption("The release as it is read:")
    st.markdown(literal(found.text))
    _table(
        {
            "released": [w.released for w in found.words],
            "read": [w.word for w in found.words],
            "": ["✓ right" if w.rank == 1 else "" for w in found.words],
            "how sure": [percent(w.guesses[0][1]) for w in found.words],
            "your word": [w.original for w in found.words],
            "its place": ["not listed" if w.rank is None else f"{w.rank:,}" for w in found.words],
            "other likely words": [", ".join(word for word, _ in w.guesses[1:]) for w in found.words],
        }
    )
    st.markdown(literal(found.sentence()))


def _mask(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """What a language model reads from the words around."""
    assert isinstance(attacker, mask_inference.LanguageModel)
    finding = _work(
        attacker.name,
        (run.number, result.config),
        "The language model guesses",
        lambda task: attacker.attack(mechanism, result, task=task),
        ask="Let the language model guess",
        note=attacker.how,
    )
    if finding is None:
        return
    first, ten, chance = st.columns(3)
    first.metric("First guess right", percent(finding.top1))
    ten.metric(
        "Among ten guesses", percent(finding.top10), help=f"Without the output it would be {percent(finding.chance10)}."
    )
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="This is what always guessing the most frequent word reaches.",
    )
    st.markdown(literal(finding.sentence()))
    steps = result.steps
    _table(
        {
            "released": [g.released for g in finding.guesses],
            "your word": [steps[g.step].original for g in finding.guesses],
            "its place": ["cannot be said" if g.rank is None else f"{g.rank:,}" for g in finding.guesses],
            "the model's guesses": [", ".join(g.guesses) for g in finding.guesses],
            "": ["◀ chosen" if g.step == token else "" for g in finding.guesses],
        }
    )


def _which(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Which text of a few it was."""
    st.markdown(
        "This attacker knows the mechanism, its ε, and a few texts, one of which is yours. It works out exactly how "
        "likely each of them makes what was released."
    )
    made = _texts_of(run, mechanism, result)
    if made is None:
        return
    what, lineup = made
    seen = st.segmented_control(
        "Rewrites that it sees",
        SEEN,
        default=1,
        required=True,
        key="attack_which_seen",
        help="1: the one above. More: others of the same text with fresh noise, made for this. To release them "
        "would spend their ε too.",
    )

    def work(task: dpt.Task):
        texts = lineup()
        given = which_text.rewrites_seen(mechanism, result, seen, task=task)
        return which_text.attack(mechanism, given, texts, task=task)

    key = (run.number, result.config, what, seen)
    ask = "Weigh the texts" if "alignment" in mechanism.can else None
    found = _work("which text", key, "Weighing the texts", work, ask=ask)
    if found is None:
        return
    right, place, chance, most = st.columns(4)
    right.metric("Best guess right", percent(found.success), help="So sure is the attacker of its best guess.")
    place.metric("Place of your text", f"{found.rank:,} of {len(found.p)}")
    chance.metric("Without the output", percent(found.chance), help="Each of the texts was as likely before.")
    most.metric("At most, for anyone", percent(found.limit.value), help=literal(found.limit.sentence()))
    own = found.lineup.true
    _table(
        {
            "probability": [found.p[i] for i in found.order],
            "": ["yours ▶" if i == own else "" for i in found.order],
            "word" if found.lineup.word else "text": [found.lineup.labels[i] for i in found.order],
        },
        "probability",
    )
    st.markdown(literal(found.sentence()))
    draws = which_text.fresh(mechanism)
    measured = _work(
        "which text, fresh",
        (result.config, what),
        "Rewriting the texts, and guessing",
        lambda task: which_text.measure(mechanism, found.lineup, draws, SEEN, task=task),
        ask=f"Measure it on {draws} fresh rewrites",
        note="How often is such a guess right? Each of the texts is rewritten as often, and the attacker guesses.",
    )
    if measured is None:
        return
    _table(
        {
            "rewrites seen": [f"{m.answers:,}" for m in measured],
            "right": [percent(m.value) for m in measured],
            "95% interval": ["{} to {}".format(*map(percent, m.interval)) for m in measured],
            "right where it was your text": [percent(m.own) for m in measured],
            "guesses": [f"{m.trials:,}" for m in measured],
        }
    )
    st.caption("No one who knows the same guesses better. None of these rewrites is released, and none is counted.")


def _limit(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult) -> None:
    """What the promise says of any guess among a few texts, where no exact one can be worked out."""
    st.markdown("**What holds for any attacker** who knows a few texts, one of which is yours:")
    made = _texts_of(run, mechanism, result)
    if made is None:
        return
    what, lineup = made

    def work(task: dpt.Task):
        texts = lineup()
        return len(texts), which_text.limit(mechanism, list(mechanism.prepare_many(texts.texts, task=task.quiet)))

    found = _work("limit", (run.number, result.config, what), "Comparing the texts", work)
    if found is None:
        return
    n, limit = found
    most, chance = st.columns(2)
    most.metric("At most, for anyone", percent(limit.value))
    chance.metric("Without the output", percent(1 / n), help="Each of the texts was as likely before.")
    st.markdown(literal(limit.sentence()))


def _two(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """How well the text is told from another one."""
    draws = two_texts.fresh(mechanism)
    st.markdown(
        f"Your text and another one are rewritten {draws} times each. Classifiers learn from one half which text a "
        "rewrite is of, and are asked about the other half. It works for every mechanism."
    )
    made = _texts_of(run, mechanism, result, "attack_two", 2)
    if made is None:
        return
    what, lineup = made

    def work(task: dpt.Task):
        one, *others = lineup().texts
        if len(others) > 1:
            raise dpt.InputError(f"Two texts are told apart: give one other text, not {len(others):,}.")
        return two_texts.measure(mechanism, (one, others[0]), task=task)

    found = _work("two texts", (run.number, result.config, what), "Telling them apart", work, ask="Tell them apart")
    if found is not None:
        told_apart.show(found)


def _texts_of(
    run: runs.Run,
    mechanism: dpt.Mechanism,
    result: dpt.RewriteResult,
    key: str = "attack_which",
    n: int = which_text.TEXTS,
) -> tuple[tuple, Callable[[], attacks.Lineup]] | None:
    """Controls, with keys that begin so, for the texts that it could have been, n where they are made by exchanging a
    word: what was asked for, and what makes them."""
    words = _work(
        f"which words {key}",
        (run.inputs.text, run.inputs.setting),
        "Looking words up",
        lambda task: which_text.content_words(mechanism, result.original),
    )
    if words is None:
        return None
    kinds = ["All but one word", "Another text" if n == 2 else "A list of texts"]
    default = kinds[0] if words else kinds[1]
    kind = st.segmented_control("The attacker knows", kinds, default=default, required=True, key=f"{key}_kind")
    if kind == kinds[0]:
        if not words:
            st.info("This text has no word that others could stand in for. Give other texts yourself.")
            return None
        if st.session_state.get(f"{key}_word") not in words:
            st.session_state.pop(f"{key}_word", None)
        word = st.selectbox(
            "The word that it does not know",
            words,
            key=f"{key}_word",
            help="The other texts have a word in its place that is near it in the word space.",
        )
        return (kind, word), lambda: which_text.lineup(mechanism, result.original, word, n)
    given = st.text_area(
        "Another text" if n == 2 else "Other texts that it could have been, one a line",
        key=f"{key}_list",
        height=120,
        help="Yours is added. The list counts as public: the attacker has it.",
    )
    others = tuple(line for line in (given or "").splitlines() if line.strip())
    if not others:
        st.caption("Type at least one other text, and press Ctrl+Enter.")
        return None
    if said := too_long(given):
        st.error(said)
        return None
    return (kind, others), lambda: which_text.listed_lineup(result.original, others)


def _any(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """An attacker without a panel of its own: what it says."""
    assert isinstance(attacker, attacks.TextAttacker)
    st.caption(literal(attacker.question))
    unit = token if attacker.scope == "word" else None
    finding = _work(
        attacker.name,
        (run.number, result.config, unit),
        attacker.title,
        lambda task: attacker.attack(mechanism, result, unit, task=task),
    )
    if finding is not None:
        success, chance = st.columns(2)
        success.metric("Right", percent(finding.success))
        chance.metric("Without the output", percent(finding.chance))
        st.markdown(literal(finding.sentence()))


def _best(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Who of all on single words finds most."""
    finding = _work(
        attacker.name,
        (run.number, result.config),
        "Asking all attackers",
        lambda task: best.ask(mechanism, [result], task=task),
        ask="Ask all attackers",
        note=f"Asked are: {', '.join(best.ASKED.values()).lower()}. They guess the same words of the rewrite above.",
    )
    if finding is None:
        return
    who, right, chance = st.columns(3)
    who.metric("Best attacker", finding.title)
    right.metric(
        "Right",
        percent(finding.success),
        help=f"95% interval, corrected for the choice: {percent(finding.low)} to {percent(finding.high)}.",
    )
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="This is what always guessing the most frequent word reaches.",
    )
    _table(
        {
            "attacker": [best.title(name) for name in finding.shares],
            "": ["◀ best" if name == finding.name else "" for name in finding.shares],
            "right": list(finding.shares.values()),
        },
        "right",
    )
    st.markdown(literal(finding.sentence()))
    st.caption("The best of several on the same few words looks a little better than it is: read the interval.")


#: Attackers with a panel of their own.
_PANELS: dict[str, Callable[..., None]] = {
    "best-guess": _bayes,
    "repeated-answers": _query,
    "reader": _read,
    "nearest-words": _nearest,
    "language-model": _mask,
    "likely-text": _mask,
    "which-text": _which,
    "two-texts": _two,
    "best": _best,
}
