"""Panels of the attackers on single words."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.attacks import bayes, best, mask_inference, nearest, query
from dptext_core.privacy.numbers import percent
from dptext_core.support.checks import pluralize

from ...components.charts import chart
from ...components.text import literal
from ...figures import query_figure
from ...server import runs
from .attack_work import attack_result, attack_table, is_replaced

POINTS = 13


def bayes_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the posterior over the original word."""
    step = result.steps[token]
    if not is_replaced(step):
        return
    ask, note = None, ""
    if bayes.is_available(mechanism) and not bayes.is_ready(mechanism, step.epsilon or _largest(result)):
        ask = "Compute optimal guess"
        note = "The first time for these options, this takes about ten seconds."

    def work(task: dpt.Task):
        return bayes.attack(mechanism, result, token, task=task)

    key = (run.number, result.config, token)
    finding = attack_result("bayes", key, "Counting distances", work, ask=ask, note=note)
    if finding is None:
        return
    guess, rank, chance = st.columns(3)
    guess.metric(
        "Optimal guess correct", percent(finding.success), help="Words are weighted by their frequency in public text."
    )
    rank.metric("Rank of your word", "not listed" if finding.rank is None else f"{finding.rank:,}")
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help=f"Success of always guessing “{finding.chance_guess}”.",
    )
    rows = [(i, *row) for i, row in enumerate(finding.top, 1)]
    if finding.rank is not None and finding.rank > len(finding.top):
        prior = attacks.public_prior(mechanism)
        at = next(i for i, w in enumerate(prior.words) if w.lower() == step.original.lower())
        rows.append((finding.rank, prior.words[at], finding.p_true or 0.0, float(prior.p[at])))
    attack_table(
        {
            "place": [f"{i:,}" for i, *_ in rows],
            "word": [w for _, w, _, _ in rows],
            "": ["◀ yours" if w.lower() == step.original.lower() else "" for _, w, _, _ in rows],
            "probability": [p for _, _, p, _ in rows],
            "before": [percent(p) for _, _, _, p in rows],
        },
        "probability",
    )
    st.markdown(literal(finding.sentence()))
    st.caption(
        "The best possible guess for anyone who knows the mechanism, ε and word frequencies, and sees only this "
        "word. Attackers who also read the context can do better: see “Language model”."
        + (
            f" Probabilities of less likely words have a relative error of at most {finding.error:.1g}."
            if finding.error
            else ""
        )
    )


def _largest(result: dpt.RewriteResult) -> float:
    return max((s.epsilon for s in result.steps), default=0.0) or 1.0


def repeated_answers_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show how many answers reveal the word."""
    step = result.steps[token]
    if not is_replaced(step):
        return
    if step.reason:
        st.caption(
            f"The replacement of “{literal(step.original)}” does not depend on it ({step.reason}). Any number of "
            "answers reveals nothing about it."
        )
        return
    finding = attack_result(
        "query",
        (run.number, result.config, token),
        "Asking again and again",
        lambda task: query.query_number(result.distribution(token), task=task),
    )
    if finding is not None:
        number, original, rival = st.columns(3)
        number.metric("Answers needed", "never" if math.isinf(finding.n) else f"about {finding.n:,.0f}")
        original.metric("Your word is returned", percent(finding.p_original))
        rival.metric("Likeliest other word", percent(finding.p_rival), help=literal(finding.rival))
        st.markdown(literal(finding.sentence()))
    if "sweep" not in result.can:
        return
    channel = result.locked(token)[0]
    epsilons = np.geomspace(run.payload["lo"], run.payload["hi"], POINTS).tolist()
    kind = (run.number, channel.draws is None)
    curve = attack_result(
        "curve",
        (*kind, token),
        "Computing the curve",
        lambda task: query.query_curve(channel, epsilons, task=task),
        ask=None if channel.draws is None else "Compute the curve",
    )
    channels = query.sampled_channels(result)
    text = None
    if len(channels) > 1:
        text = attack_result(
            "text curve",
            kind,
            "Computing the curve of the text",
            lambda task: query.query_curve(channels, epsilons[::2], task=task),
            ask=f"Add all {len(channels)} words",
        )
    lines = {f"“{step.original}”": curve} if curve is not None else {}
    if text is not None:
        lines[f"half of the {pluralize(text.words, 'word')}"] = text
    if lines:
        dark = st.context.theme.type == "dark"
        figure = query_figure(lines, epsilon=finding.epsilon if finding is not None else None, dark=dark)
        alt = "Number of answers that reveal the original, over ε; described below"
        chart(figure, key="attack_query", alt=alt)
        st.markdown(literal(" ".join(c.sentence() for c in lines.values())))
    st.caption(
        "The attacker takes the most frequent of N fresh answers, in 2,000 simulations. Every released answer spends "
        "its ε again."
    )


def nearest_words_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the released word, or its nearest neighbour, as the guess."""
    finding = attack_result(
        "nearest",
        (run.number, result.config),
        "Looking for the nearest words",
        lambda task: nearest.attack(mechanism, result, task=task),
    )
    if finding is None:
        return
    same, near, chance = st.columns(3)
    same.metric("Same word", percent(finding.same), help="This attacker guesses that the word is unchanged.")
    near.metric("Nearest word", percent(finding.nearest), help="The attacker guesses the nearest other word.")
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="Success of always guessing the most frequent word.",
    )
    st.markdown(literal(finding.sentence()))
    guess = next((g for g in finding.guesses if g.step == token), None)
    if guess is None:
        if (reason := result.steps[token].reason) and result.steps[token].is_sampled:
            original = literal(result.steps[token].original)
            st.caption(f"The replacement of “{original}” does not depend on it ({reason}).")
        return
    if not guess.neighbours:
        st.caption(f"“{literal(guess.released_word)}” is not in the word space {literal(finding.space)}.")
        return
    words = [guess.released_word, *guess.neighbours]
    attack_table(
        {
            "guess": words,
            "": ["◀ yours" if w.lower() == guess.original.lower() else "" for w in words],
        }
    )
    if guess.rank is not None and guess.rank >= len(words):
        st.caption(f"“{literal(guess.original)}” has rank {guess.rank + 1:,}.")


def language_model_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show what a language model infers from the context."""
    assert isinstance(attacker, mask_inference.LanguageModel)
    finding = attack_result(
        attacker.name,
        (run.number, result.config),
        "Running the language model",
        lambda task: attacker.attack(mechanism, result, task=task),
        ask="Run language model",
        note=attacker.how,
    )
    if finding is None:
        return
    first, ten, chance = st.columns(3)
    first.metric("First guess correct", percent(finding.top1))
    ten.metric(
        "Among ten guesses", percent(finding.top10), help=f"Without the output it would be {percent(finding.chance10)}."
    )
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="Success of always guessing the most frequent word.",
    )
    st.markdown(literal(finding.sentence()))
    steps = result.steps
    attack_table(
        {
            "released": [g.released_word for g in finding.guesses],
            "your word": [steps[g.step].original for g in finding.guesses],
            "its rank": ["unknown" if g.rank is None else f"{g.rank:,}" for g in finding.guesses],
            "the model's guesses": [", ".join(g.guesses) for g in finding.guesses],
            "": ["◀ chosen" if g.step == token else "" for g in finding.guesses],
        }
    )


def plain_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show the results of an attacker without a separate panel."""
    assert isinstance(attacker, attacks.TextAttacker)
    st.caption(literal(attacker.question))
    unit = token if attacker.scope == "word" else None
    finding = attack_result(
        attacker.name,
        (run.number, result.config, unit),
        attacker.title,
        lambda task: attacker.attack(mechanism, result, unit, task=task),
    )
    if finding is not None:
        success, chance = st.columns(2)
        success.metric("Success", percent(finding.success))
        chance.metric("Without the output", percent(finding.chance))
        st.markdown(literal(finding.sentence()))


def strongest_panel(
    attacker: attacks.Attacker, run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, token: int
) -> None:
    """Show which attacker on single words recovers most."""
    finding = attack_result(
        attacker.name,
        (run.number, result.config),
        "Running all attackers",
        lambda task: best.ask(mechanism, [result], task=task),
        ask="Run all attackers",
        note=f"Attackers compared: {', '.join(best.ASKED.values()).lower()}. They guess the same words.",
    )
    if finding is None:
        return
    who, right, chance = st.columns(3)
    who.metric("Strongest attacker", finding.title)
    right.metric(
        "Success",
        percent(finding.success),
        help=f"95% interval, corrected for the choice: {percent(finding.low)} to {percent(finding.high)}.",
    )
    chance.metric(
        "Without the output",
        percent(finding.chance),
        help="Success of always guessing the most frequent word.",
    )
    attack_table(
        {
            "attacker": [best.title(name) for name in finding.shares],
            "": ["◀ best" if name == finding.name else "" for name in finding.shares],
            "success": list(finding.shares.values()),
        },
        "success",
    )
    st.markdown(literal(finding.sentence()))
    st.caption("The best of several attackers on the same few words seems slightly better than it is. Use the "
               "interval.")
