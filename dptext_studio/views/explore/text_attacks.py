"""Panels of the attackers on the whole text."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import reader, two_texts, which_text
from dptext_core.privacy.numbers import percent

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


def limit_panel(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult) -> None:
    """Show what the promise says of any guess among a few texts, where no exact one can be worked out."""
    st.markdown("**What holds for any attacker** who knows a few texts, one of which is yours:")
    made = candidate_texts(run, mechanism, result, "attack_which")
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
