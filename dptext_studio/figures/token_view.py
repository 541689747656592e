"""The data of the token view for a rewrite: what the browser needs to show it at every ε.

``token_payload.Payload`` and its tokens are the only definition of that data. Each sampled token has the candidates
worth showing, the parts of their probabilities, and the points at which the released word changes under locked noise.
The data contain the original words and the winners of the noise, so they are for the author's screen and never for a
release.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from dptext_core.attacks.risk import Lead, WordSuccess
from dptext_core.detectors.rules import KINDS, find_pii
from dptext_core.measure.pii_survival import is_unchanged, standing_among, trace_pii
from dptext_core.mechanisms.config import capitals
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.preparing import Prepared
from dptext_core.privacy.distribution import Channel, ScoreTable
from dptext_core.privacy.numbers import bound
from dptext_core.result import RewriteResult, Unit
from dptext_core.support.cache import cache_with
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.text import names
from dptext_core.text.document import Document
from dptext_core.text.readable import agreeing_article, is_free_article

from .token_channels import (
    FLOOR,
    LONG_TEXT,
    N_CHANNEL_CANDIDATES,
    N_CHANNEL_CANDIDATES_LONG,
    N_CHANNEL_GRID,
    N_GRID,
    drawn_at_one_epsilon,
    drawn_from_channel,
    drawn_from_scores,
    log_z,
)
from .token_payload import (
    Action,
    AttackMarks,
    DrawnToken,
    Flips,
    GridToken,
    Identifier,
    Payload,
    PlacedToken,
    ProbabilitiesAt,
    ScoredToken,
)


def payload(
    result: RewriteResult,
    *,
    run: int,
    low: float,
    high: float,
    default: float,
    pin: str = "",
    prepared: Prepared | None = None,
    task: Task = UNWATCHED,
) -> Payload:
    """Return the data of the token view of a rewrite, for ε from ``low`` to ``high``.

    pin: the word to show first. prepared: the original text, which stores the identifiers found in it. task: receives
    the number of finished tokens and of all tokens.
    """
    epsilon = result.config.epsilon
    shown_at = float(epsilon) if isinstance(epsilon, float) else float(default)
    live = {"sweep", "distribution"} <= result.can and isinstance(epsilon, float)
    aligned = "alignment" in result.can
    placed, places, end = _place_units(result, live, aligned, task)
    drawn = _draw_units(result, placed, places, live, low, high, shown_at, task)
    total = max((t["total"] for t in drawn.values()), default=0)
    for token in drawn.values():
        if token["total"] == total:
            del token["total"]
    if live and aligned:
        _agree_articles(result, placed, drawn)
    made: Payload = {
        "run": run,
        "draw": result.noise_id,
        "eps": shown_at,
        "lo": float(low),
        "hi": float(high),
        "n_grid": N_GRID,
        "lp_grid": N_CHANNEL_GRID,
        "default_eps": float(default),
        "unit": _unit(result.config),
        "live": live,
        "seeded": result.seed is not None,
        "total_candidates": total,
        "aligned": aligned,
        "tokens": [drawn.get(k, token) for k, token in enumerate(placed)],
        "tail": result.text[end:],
    }
    if not aligned:
        made["original"] = result.original
    elif pin and (at := [k for k, t in enumerate(placed) if t["o"].casefold() == pin.casefold()]):
        # Prefer a sampled word: a mechanism that replaces only flagged words samples none.
        made["pin"] = min([k for k in at if k in drawn] or at)
    among = live and not aligned
    made["telling"] = _identifiers_among(result, drawn) if among else _identifiers(result, aligned, prepared)
    if (finder := names.finder()) is not None:
        made["finder"] = finder.title
    if isinstance(epsilon, tuple):
        made["spread"] = _spread_text(result)
    return made


def _place_units(
    result: RewriteResult, live: bool, aligned: bool, task: Task
) -> tuple[list[PlacedToken], dict[str, list[int]], int]:
    """Return all units as tokens, the sampled ones by their word, and the end of the last one in the text.

    Equal words are together, because they may share one channel.
    """
    placed: list[PlacedToken] = []
    places: dict[str, list[int]] = {}
    end = 0
    for k, unit in enumerate(result.units):
        task.check()
        chances = unit.is_sampled and "distribution" in result.can
        before = result.text[end : unit.out[0]]
        if live and not aligned and k and not (unit.text and unit.out[0]):
            before = " "  # if at another ε it or the space before it is not empty
        placed.append(_placed_token(unit, before, aligned, chances))
        if unit.action != "delete":
            end = unit.out[1]
        if chances:
            places.setdefault(unit.original.casefold() if aligned else f"{k}", []).append(k)
    return placed, places, end


def _agree_articles(
    result: RewriteResult, placed: Sequence[PlacedToken], drawn: Mapping[int, ScoredToken | GridToken]
) -> None:
    """Add the forms of a copied article as the next word changes, if the mechanism adapts it."""
    articles, steps = result.language.articles, result.steps
    if articles is None or capitals(result.config) != "public":
        return
    holes = {s.index for s in steps if s.action in ("replace", "delete")}
    document = Document.parse(result.original, result.language)
    skeleton = document.skeleton([i in holes for i in range(len(document.words))])
    for k, s in enumerate(steps):
        if s.action == "keep" and k + 1 in drawn and is_free_article(skeleton, s.index):
            placed[k]["forms"] = [agreeing_article(result.language, s.text, form) for form in ("b", "a")]
            token = drawn[k + 1]
            token["second"] = [j for j, word in enumerate(token["c"]) if articles.takes_second(word)]


def _draw_units(
    result: RewriteResult,
    placed: Sequence[PlacedToken],
    places: Mapping[str, list[int]],
    live: bool,
    low: float,
    high: float,
    shown_at: float,
    task: Task,
) -> dict[int, ScoredToken | GridToken]:
    """Return the sampled tokens by their place; report each to ``task``."""
    to_draw = sum(map(len, places.values()))
    n = N_CHANNEL_CANDIDATES if to_draw <= LONG_TEXT else N_CHANNEL_CANDIDATES_LONG
    drawn: dict[int, ScoredToken | GridToken] = {}
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if more:
            task.report(done, len(placed))

    count(len(placed) - to_draw)
    for equal in places.values():
        channels: dict[int, tuple[Channel, dict[int, Flips]]] = {}
        for k in equal:
            task.check()
            if not live:
                drawn[k] = drawn_at_one_epsilon(placed[k], result, k, low, shown_at)
                count(1)
                continue
            channel, stream = result.locked(k)
            flips = channel.epsilon_breakpoints(stream, low, high)
            if isinstance(channel, ScoreTable) and channel.log_base is None:
                drawn[k] = drawn_from_scores(placed[k], result, k, channel, flips, log_z(channel, low, high))
                count(1)
            else:
                channels.setdefault(id(channel), (channel, {}))[1][k] = flips
        for channel, units_of_channel in channels.values():
            task.check()
            drawn.update(drawn_from_channel(placed, result, channel, units_of_channel, n, low, high))
            count(len(units_of_channel))
    return drawn


def probabilities_at(
    result: RewriteResult, shown: Payload, tokens: Iterable[int] | None = None
) -> ProbabilitiesAt | None:
    """Return the probabilities of ``tokens`` (None: all) at the ε of a rewrite, for those that have none between
    points.

    None if there are no such tokens. shown: the view, made at any ε.
    """
    logs = {}
    for k in range(len(shown["tokens"])) if tokens is None else tokens:
        if bent := cast(DrawnToken, shown["tokens"][k]).get("bent"):
            logs[str(k)] = np.maximum(result.distribution(k).log_probs[bent], FLOOR).round(8).tolist()
    return {"eps": float(result.config.epsilon), "lp": logs} if logs else None


def attack_marks(result: RewriteResult, found: WordSuccess) -> AttackMarks:
    """Return what the browser needs to mark the words of a rewrite by an attacker's success."""
    drawn = {k: step.index for k, step in enumerate(result.steps) if step.action == "replace"}
    # A word whose sampling ignores it is in no vocabulary, so no attacker guesses it.
    marks: AttackMarks = {
        "eps": found.epsilon,
        "p": [found.success.get(drawn[k], 0.0) if k in drawn else None for k in range(len(result.steps))],
        "chance": found.chance,
        "guess": found.guess,
    }
    if found.leads is not None:
        leads = [found.leads.get(drawn[k]) if k in drawn else None for k in range(len(result.steps))]
        marks["along"] = [None if lead is None else _lead(lead) for lead in leads]
    return marks


def _lead(lead: Lead) -> tuple[list[float], list[float], list[list[float]]]:
    possible = np.flatnonzero(np.isfinite(lead.scores) & np.isfinite(lead.log_base))
    return (
        [round(float(lead.scores[j]), 12) for j in possible],
        [round(float(lead.log_base[j]), 12) for j in possible],
        [[float(f"{e:.10g}") for e in lead.won[j]] for j in possible],
    )


def _identifiers(result: RewriteResult, aligned: bool, prepared: Prepared | None) -> list[Identifier]:
    tellings: dict[tuple[str, str], Identifier] = {}
    drawn = "distribution" in result.can
    finder = names.finder()
    pii = None
    if prepared is not None:
        find = lambda: find_pii(result.original, result.language, finder)  # noqa: E731
        pii = cache_with(prepared, ("identifiers", finder), find)
    for t, units in trace_pii(result, finder, pii):
        said = tellings.setdefault(
            (t.kind, t.text.casefold()), {"kind": t.kind, "kinds": KINDS[t.kind], "text": t.text, "at": []}
        )
        # A token with chances knows itself at which ε it stands; the others are the same at every ε.
        at = [
            k
            for k in units
            if not aligned or is_unchanged(result, k) or (drawn and result.units[k].action == "replace")
        ]
        said["at"] = sorted({*said["at"], *at})
    return list(tellings.values())


def _identifiers_among(result: RewriteResult, drawn: Mapping[int, DrawnToken]) -> list[Identifier]:
    """Return the identifiers in candidates that are released at some ε, for tokens that do not correspond to words."""
    places = [(k, j) for k, token in sorted(drawn.items()) for j in sorted({int(j) for _, j in token["flips"]})]
    tellings: dict[tuple[str, str], Identifier] = {}
    for t, numbers in standing_among(result, [drawn[k]["c"][j] for k, j in places]):
        where: dict[int, list[int]] = {}
        for n in numbers:
            where.setdefault(places[n][0], []).append(places[n][1])
        said: Identifier = {"kind": t.kind, "kinds": KINDS[t.kind], "text": t.text, "at": [*where]}
        tellings.setdefault((t.kind, t.text.casefold()), {**said, "among": [*where.values()]})
    return list(tellings.values())


def _placed_token(unit: Unit, before: str, aligned: bool, chances: bool) -> PlacedToken:
    token: PlacedToken = {
        "pre": "" if unit.action == "delete" else before,
        "o": unit.original if chances or (aligned and not unit.is_sampled) else unit.text,
        "a": cast(Action, unit.action) if chances or not unit.is_sampled else "whole",
        "why": unit.reason,
    }
    if unit.action == "keep" and unit.text != token["o"]:
        token["t"] = unit.text
    return token


def _spread_text(result: RewriteResult) -> str:
    """Return how the budget is spent if each word has a separate ε."""
    each = [u.epsilon for u in result.units if u.epsilon > 0] or [0.0]
    low, high = bound(min(each)), bound(max(each))
    message = f"Every word has ε = {low}" if low == high else f"Each word has a separate ε, from {low} to {high}"
    unit = " for each unit of distance" if result.guarantee.notion == "metric" else ""
    return f"{message}, together at most {bound(result.guarantee.total)}{unit}"


def _unit(config) -> str:
    """Return what one ε covers, from the mechanism's option."""
    for option in dataclasses.fields(config):
        if option.name == "epsilon":
            return option_meta(option).unit or "per word"
    return "per word"
