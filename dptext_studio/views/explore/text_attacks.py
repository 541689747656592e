"""Panels of the attackers on the whole text."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import reader, two_texts, which_text
from dptext_core.privacy.guarantee import percent

from ...components.text import literal
from ...server import runs
from ..compare import distinguishability
from .attack_work import REWRITES, attack_result, attack_table, candidate_texts


def _rewrites_control(label: str, key: str) -> int:
    """Ask how many rewrites the attacker has."""
    return st.segmented_control(
        label,
        REWRITES,
        default=1,
        required=True,
        key=key,
        help="1: the one above. More: others of the same text with fresh noise, made for this. To release them "
        "would spend their ε too.",
    )


def reader_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the whole release as somebody reads it who knows the mechanism and the language."""
    seen = _rewrites_control("Rewrites that it reads", "attack_reader_seen")

    def work(task: dpt.Task):
        return reader.read_releases(mechanism, which_text.rewrites_seen(mechanism, result, seen, task=task), task=task)

    finding = attack_result(
        "reader",
        (run.number, result.config, seen),
        "Reading",
        work,
        ask="Read the release",
        note="This attacker joins the chances of the mechanism with what the bundled language model expects in each "
        "place. Where words are drawn by the words around them, a second or two for each word pass.",
    )
    if finding is None:
        return
    right, alone, same, chance = st.columns(4)
    right.metric("Reader right", percent(finding.success), help="So many of the drawn words are read as they were.")
    alone.metric("Best guess", percent(finding.alone), help="This looks at each released word by itself.")
    same.metric("Same word", percent(finding.unchanged), help="The attacker guesses that nothing was changed.")
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="This is what always guessing the most frequent word reaches.",
    )
    st.caption("The release as it is read:")
    st.markdown(literal(finding.text))
    attack_table(
        {
            "released": [w.released for w in finding.words],
            "read": [w.word for w in finding.words],
            "": ["✓ right" if w.rank == 1 else "" for w in finding.words],
            "how sure": [percent(w.guesses[0][1]) for w in finding.words],
            "your word": [w.original for w in finding.words],
            "its place": ["not listed" if w.rank is None else f"{w.rank:,}" for w in finding.words],
            "other likely words": [", ".join(word for word, _ in w.guesses[1:]) for w in finding.words],
        }
    )
    st.markdown(literal(finding.sentence()))


def which_text_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show which of a few texts it was."""
    st.markdown(
        "This attacker knows the mechanism, its ε, and a few texts, one of which is yours. It works out exactly how "
        "likely each of them makes what was released."
    )
    made = candidate_texts(run, mechanism, result)
    if made is None:
        return
    what, lineup = made
    seen = _rewrites_control("Rewrites that it sees", "attack_which_seen")

    def work(task: dpt.Task):
        texts = lineup()
        given = which_text.rewrites_seen(mechanism, result, seen, task=task)
        return which_text.attack(mechanism, given, texts, task=task)

    key = (run.number, result.config, what, seen)
    ask = "Weigh the texts" if "alignment" in mechanism.can else None
    finding = attack_result("which text", key, "Weighing the texts", work, ask=ask)
    if finding is None:
        return
    right, place, chance, most = st.columns(4)
    right.metric("Best guess right", percent(finding.success), help="So sure is the attacker of its best guess.")
    place.metric("Place of your text", f"{finding.rank:,} of {len(finding.p)}")
    chance.metric("Without the output", percent(finding.chance), help="Each of the texts was as likely before.")
    most.metric("At most, for anyone", percent(finding.limit.value), help=literal(finding.limit.sentence()))
    own = finding.lineup.true
    attack_table(
        {
            "probability": [finding.p[i] for i in finding.order],
            "": ["yours ▶" if i == own else "" for i in finding.order],
            "word" if finding.lineup.word else "text": [finding.lineup.labels[i] for i in finding.order],
        },
        "probability",
    )
    st.markdown(literal(finding.sentence()))
    _measure_on_fresh_rewrites(mechanism, finding, (result.config, what))


def _measure_on_fresh_rewrites(mechanism: dpt.Mechanism, found: which_text.WhichText, key: tuple) -> None:
    """Measure on request how often such a guess is right."""
    draws = which_text.default_rewrites(mechanism)
    measured = attack_result(
        "which text, fresh",
        key,
        "Rewriting the texts, and guessing",
        lambda task: which_text.measure(mechanism, found.lineup, draws, REWRITES, task=task),
        ask=f"Measure it on {draws} fresh rewrites",
        note="How often is such a guess right? Each of the texts is rewritten as often, and the attacker guesses.",
    )
    if measured is None:
        return
    attack_table(
        {
            "rewrites seen": [f"{m.answers:,}" for m in measured],
            "right": [percent(m.value) for m in measured],
            "95% interval": ["{} to {}".format(*map(percent, m.interval)) for m in measured],
            "right where it was your text": [percent(m.own) for m in measured],
            "guesses": [f"{m.trials:,}" for m in measured],
        }
    )
    st.caption("No one who knows the same guesses better. None of these rewrites is released, and none is counted.")


def limit_panel(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult) -> None:
    """Show what the promise says of any guess among a few texts, where no exact one can be worked out."""
    st.markdown("**What holds for any attacker** who knows a few texts, one of which is yours:")
    made = candidate_texts(run, mechanism, result)
    if made is None:
        return
    what, lineup = made

    def work(task: dpt.Task):
        texts = lineup()
        return len(texts), which_text.limit(mechanism, list(mechanism.prepare_many(texts.texts, task=task.quiet)))

    finding = attack_result("limit", (run.number, result.config, what), "Comparing the texts", work)
    if finding is None:
        return
    n, limit = finding
    most, chance = st.columns(2)
    most.metric("At most, for anyone", percent(limit.value))
    chance.metric("Without the output", percent(1 / n), help="Each of the texts was as likely before.")
    st.markdown(literal(limit.sentence()))


def two_texts_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show how well the text is distinguished from another one."""
    draws = two_texts.default_rewrites(mechanism)
    st.markdown(
        f"Your text and another one are rewritten {draws} times each. Classifiers learn from one half which text a "
        "rewrite is of, and are asked about the other half. It works for every mechanism."
    )
    made = candidate_texts(run, mechanism, result, "attack_two", 2)
    if made is None:
        return
    what, lineup = made

    def work(task: dpt.Task):
        one, *others = lineup().texts
        if len(others) > 1:
            raise dpt.InputError(f"Two texts are told apart: give one other text, not {len(others):,}.")
        return two_texts.measure(mechanism, (one, others[0]), task=task)

    finding = attack_result(
        "two texts", (run.number, result.config, what), "Telling them apart", work, ask="Tell them apart"
    )
    if finding is not None:
        distinguishability.show(finding)
