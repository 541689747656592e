"""The attackers on the text of the page, who see the rewrite and know the mechanism."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

import dptext_core as dpt
from dptext_core import attacks

from ...components.text import literal
from ...server import runs
from ...server.session import session
from .facts import facts_panel
from .text_attacks import limit_panel, reader_panel, two_texts_panel
from .word_attacks import (
    bayes_panel,
    language_model_panel,
    nearest_words_panel,
    plain_panel,
    repeated_answers_panel,
    strongest_panel,
)

OWN = "These numbers come from your private text. Do not publish them."


def panel(run: runs.Run, result: dpt.RewriteResult, token: int | None) -> None:
    """Show the attackers on the rewrite ``result`` of ``run``: on its step ``token`` (by default the first sampled
    one), and on the whole text.
    """
    st.subheader("Attacks")
    mechanism = type(run.mechanism)(result.config)
    every = attacks.attackers("word") + attacks.attackers("text")
    refusals = [_refusal(a, mechanism) for a in every]
    if "alignment" not in mechanism.can:
        _text_panels(run, mechanism, result, dict(zip(every, refusals, strict=True)))
        return
    drawn = [i for i, u in enumerate(result.units) if u.is_sampled]
    if not drawn:
        st.caption("No word was sampled, so there is nothing to guess: the output is your text.")
        return
    token = token if token is not None and token < len(result.units) else drawn[0]
    st.caption(OWN)
    # The strongest first, which newcomers look for; never one that cannot attack this mechanism.
    able = [a for a, refusal in zip(every, refusals, strict=True) if not refusal] or every
    first = next((a for a in able if a.name == "best"), able[0]).title
    tabs = st.tabs([a.title for a in every], default=first)
    for tab, attacker, refusal in zip(tabs, every, refusals, strict=True):
        with tab:
            if refusal:
                st.info(literal(refusal))
            else:
                _PANELS.get(attacker.name, plain_panel)(attacker, run, mechanism, result, token)


def _refusal(attacker: attacks.Attacker, mechanism: dpt.Mechanism) -> str:
    """Return why an attacker cannot attack this mechanism; empty if it can."""
    try:
        attacker.check(mechanism)
    except dpt.NoDistribution as reason:
        return str(reason)
    return ""


def _text_panels(
    run: runs.Run, mechanism: dpt.Mechanism, result: dpt.RewriteResult, refusals: dict[attacks.Attacker, str]
) -> None:
    """Show the attackers for a mechanism that writes a new text, in which attackers on single words do not apply."""
    st.caption(OWN)
    able = [a for a, refusal in refusals.items() if not refusal]
    for tab, attacker in zip(st.tabs([a.title for a in able]), able, strict=True):
        with tab:
            _PANELS.get(attacker.name, plain_panel)(attacker, run, mechanism, result, 0)
    others = [a.title for a, refusal in refusals.items() if refusal]
    why = next((refusal for refusal in refusals.values() if refusal), "")
    if others:
        st.caption(literal(f"Not available: {', '.join(others)}. {why}"))
    if why := next((refusal for a, refusal in refusals.items() if a.name == "which-text"), ""):
        st.info(literal(why))
        limit_panel(run, mechanism, result)


def finished_attacks(run: runs.Run, result: dpt.RewriteResult) -> list[tuple[str, attacks.AttackFinding]]:
    """Return the results of attackers on this rewrite so far, with their titles."""
    titles = {"bayes": "best-guess", "query": "repeated-answers", "nearest": "nearest-words"}
    known = {a.name: a.title for a in attacks.attackers()}
    out = []
    for place, work in session().work.items():
        name = place.removeprefix("attack: ")
        title = known.get(titles.get(name, name))
        asked = work.request
        of_this = isinstance(asked, tuple) and asked[:2] == (run.number, result.config)
        if place != name and title and of_this and work.result is not None:
            out.append((title, work.result))
    return out


#: Attackers with separate panels.
_PANELS: dict[str, Callable[..., None]] = {
    "best-guess": bayes_panel,
    "repeated-answers": repeated_answers_panel,
    "reader": reader_panel,
    "nearest-words": nearest_words_panel,
    "language-model": language_model_panel,
    "likely-text": language_model_panel,
    "which-text": facts_panel,
    "two-texts": two_texts_panel,
    "best": strongest_panel,
}
