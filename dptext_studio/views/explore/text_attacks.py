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
        help="1 is the rewrite above; larger numbers add rewrites of the same text with fresh noise. Releasing them "
             "would also spend their ε.",
    )


def reader_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the release as read by an attacker who knows the mechanism and the language."""
    seen = _rewrites_control("Number of rewrites", "attack_reader_seen")

    def work(task: dpt.Task):
        rewrites = which_text.collect_rewrites(mechanism, result, seen, task=task)
        return reader.read_releases(mechanism, rewrites, task=task)

    finding = attack_result(
        "reader",
        (run.number, result.config, seen),
        "Reading",
        work,
        ask="Read the release",
        note="This attacker combines the mechanism's probabilities with the predictions of the bundled language "
             "model. For language-model mechanisms, it needs one or two seconds per word.",
    )
    if finding is None:
        return
    right, alone, same, chance = st.columns(4)
    right.metric(
        "Contextual Bayes",
        percent(finding.success),
        help="Share of the replaced words that the attacker recovers.",
    )
    alone.metric("Optimal guess", percent(finding.context_free_share),
                 help="This attacker considers each released word separately.")
    same.metric("Same word", percent(finding.unchanged_share), help="This attacker guesses that the word is unchanged.")
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="Success of always guessing the most frequent word.",
    )
    st.caption("The attacker's reconstruction:")
    st.markdown(literal(finding.text))
    attack_table(
        {
            "released": [w.released_word for w in finding.words],
            "read": [w.word for w in finding.words],
            "": ["✓ right" if w.rank == 1 else "" for w in finding.words],
            "certainty": [percent(w.guesses[0][1]) for w in finding.words],
            "your word": [w.original for w in finding.words],
            "its rank": ["not listed" if w.rank is None else f"{w.rank:,}" for w in finding.words],
            "other likely words": [", ".join(word for word, _ in w.guesses[1:]) for w in finding.words],
        }
    )
    st.markdown(literal(finding.sentence()))


def limit_panel(run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult) -> None:
    """Show what the guarantee allows any guess among a few texts, if no exact value can be computed."""
    st.markdown("**Limit for any attacker** who knows a few texts, one of which is yours:")
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
    most.metric("Limit for any attacker", percent(limit.value))
    chance.metric("Without the output", percent(1 / n), help="All texts were equally likely at first.")
    st.markdown(literal(limit.sentence()))


def two_texts_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show how well the text is distinguished from another one."""
    draws = two_texts.default_rewrites(mechanism)
    st.markdown(
        f"Your text and another are rewritten {draws} times each. Classifiers train on one half and predict the "
        "originals of the other half. This works for every mechanism."
    )
    made = candidate_texts(run, mechanism, result, "attack_two", 2)
    if made is None:
        return
    what, lineup = made

    def work(task: dpt.Task):
        one, *others = lineup().texts
        if len(others) > 1:
            raise dpt.InputError(f"This compares two texts: enter one other text, not {len(others):,}.")
        return two_texts.measure(mechanism, (one, others[0]), task=task)

    finding = attack_result(
        "two texts", (run.number, result.config, what), "Distinguishing the texts", work, ask="Distinguish them"
    )
    if finding is not None:
        distinguishability.show(finding)
