"""What the browser needs to show one rewrite at every ε by itself: the token view's data, as plain JSON.

:class:`Payload` and the tokens in it are the one definition of that data: :func:`payload` makes it, and
``browser/token_math.js`` and ``browser/token_strip.js`` read it. For each drawn token there are the candidates worth
showing, with what their chances are worked out from, and the points where the released word flips under the locked
noise. It holds the original words and the winners of the noise: it is for the author's screen, never for a release.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict, cast

import numpy as np

from dptext_core.attacks.risk import Lead, WordSuccess
from dptext_core.errors import InputError
from dptext_core.measure.pii_survival import KINDS, standing_among, stands, traced
from dptext_core.mechanisms.config import capitals
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.distribution import Channel, ScoreTable
from dptext_core.privacy.guarantee import bound
from dptext_core.result import RewriteResult, Unit
from dptext_core.support.cache import weak_cache
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.text import names

from .belief_view import Exactness
from .how import How

N_GRID = 40
#: Of a score table: as many as are shown at once, since their order is the same at every ε.
N_CANDIDATES = 9
#: Of a channel that is no score table, or one with a proposal: points of ε; candidates, and those where more than
#: LONG_TEXT words are drawn.
N_CHANNEL_GRID = 40
N_CHANNEL_CANDIDATES = 20
N_CHANNEL_CANDIDATES_LONG = 12
LONG_TEXT = 200
#: ln p of what is impossible: JSON has no −inf.
FLOOR = -1e4

Flips = list[tuple[float, int]]
Action = Literal["replace", "keep", "insert", "delete", "whole"]


class PlacedToken(TypedDict):
    """One token of the text, as far as every token has it; all that a token has where nothing was drawn.

    ``pre``: the released text between the token before and this one; "" for a deleted token. ``o``: the original word
    where there is one, else what stands there. ``a``: what happened, as the action of a step; "whole" for a drawn piece
    that has no chances of its own. ``why``: why it was kept, deleted, inserted or replaced in another way; "" where
    there is nothing to say. ``t``: what was released, where its candidate is listed otherwise.
    """

    pre: str
    o: str
    a: Action
    why: str
    t: NotRequired[str]


class DrawnToken(PlacedToken):
    """A token that was drawn from a distribution, as far as all of them have it.

    ``cap``: 1 where the released word gets a capital by rule, else 0. ``c``: the candidates worth showing, as the
    mechanism writes them. ``src``: the index of the original word among them, −1 where it cannot be drawn. ``flips``:
    [ε, index in ``c``], ascending: from that ε on, this candidate is the released word. ``total``: how many candidates
    there are in all, where that differs from the payload's ``total_candidates``. ``draws``: where chances are
    estimated, from how many draws. ``bent``: where they bend along ε, so that between points they are known roughly:
    the place of each of ``c`` among all candidates.
    """

    cap: int
    c: list[str]
    src: int
    flips: list[list[float]]
    total: NotRequired[int]
    draws: NotRequired[int]
    bent: NotRequired[list[int]]


class ScoredToken(DrawnToken):
    """A drawn token whose candidates have scores alone: the chance of candidate j at ε is exp(ε·s[j] − ln Z(ε)).

    ``s``: the scores. ``rank``: the place of each candidate among all, 1 for the best. ``z``: ln Z at the payload's
    ``n_grid`` points of ε.
    """

    s: list[float]
    rank: list[int]
    z: list[float]


class GridToken(DrawnToken):
    """A drawn token whose chances are known at points of ε.

    ``lp``: for each candidate ln p at consecutive ones of the payload's ``lp_grid`` points of ε. ``off``: for each
    candidate the point that its row begins with. A candidate that is there only because it is released somewhere has
    the points around the ε at which it is; all others have all.
    """

    lp: list[list[float]]
    off: list[int]


PayloadToken: TypeAlias = PlacedToken | DrawnToken | ScoredToken | GridToken


class Telling(TypedDict):
    """A name, number, date or place that rules found in the original. Equal ones of one kind are one.

    ``kind``: one of :data:`dptext_core.measure.pii_survival.KINDS`. ``kinds``: the word for several. ``text``: as it
    was read. ``at``: the indices of tokens that hold its words: it stands at an ε where one of them is released
    unchanged. Where tokens answer to no words: the tokens in which it stands.
    ``among``: where those are drawn at every ε, for
    each of ``at`` the candidates in which it stands.
    """

    kind: str
    kinds: str
    text: str
    at: list[int]
    among: NotRequired[list[list[int]]]


class Attack(TypedDict):
    """How often the attacker's best guess names each word, before it is drawn (``dptext_core.attacks.risk``).

    ``why``: why there is no figure, or none yet; the others are missing then. ``eps``: the ε that ``p`` belongs to.
    ``p``: for each token the figure, None where no word was drawn in its place. ``along``: where it is known at every
    ε, for each token what it comes from: the scores of the outputs, their bases, and for each output the points of ε
    where the word begins and ceases to be the best guess; None where ``p`` holds at every ε. ``chance``, ``guess``: how
    often one guess for all words is right without the output, and which.
    """

    why: NotRequired[str]
    eps: NotRequired[float]
    p: NotRequired[list[float | None]]
    along: NotRequired[list[tuple[list[float], list[float], list[list[float]]] | None]]
    chance: NotRequired[float]
    guess: NotRequired[str]


class Meaning(TypedDict):
    """How much of the meaning is kept. ``at``: values of ε, ascending. ``cosine``: of the text that is released from
    each on, with the original. ``all``: whether every text on the axis is among them. Both lists are empty where
    nothing can measure it."""

    at: list[float]
    cosine: list[float]
    all: bool


class Here(TypedDict):
    """Chances at one ε of tokens whose chances bend along it. ``eps``: that ε. ``lp``: for the index of a token ln p
    of each of its ``c``."""

    eps: float
    lp: dict[str, list[float]]


class Command(TypedDict):
    """What the page asks the browser to do once. ``n``: the number of the command. ``eps``: the ε to move to."""

    n: int
    eps: float


class Payload(TypedDict):
    """One rewrite for the browser. All values are plain JSON, and no number is NaN or infinite.

    ``run``: grows with each new rewrite. ``draw``: names the noise, which several runs may share. ``key``: the name of
    the view in the session, set where it is mounted. ``cmd``: a command of the page, where there is one.

    ``eps``: the ε of the result. ``lo``, ``hi``: the ends of the axis of ε. ``n_grid``, ``lp_grid``: how many points,
    log-spaced from ``lo`` to ``hi``, the ``z`` and the ``lp`` of tokens stand for. ``default_eps``: the ε to return to.
    ``unit``: what one ε is spent on. ``spread``: what is spent where each word has an ε of its own, in one sentence;
    then none can be dragged. ``live``: whether the text at another ε needs no new pass; if not, all holds at ``eps``
    only. ``seeded``: whether the result is a demonstration that is not private.

    ``total_candidates``: how many words can be drawn for a token. ``aligned``: whether tokens answer to the words that
    were read; where not, ``original`` holds the text. ``telling``: what rules found in the original, of which the
    browser can say at every ε what still stands. ``finder``: the spaCy pipeline that looked beside them. ``attack``:
    set where it is mounted, where words may be marked by what an attacker would get. ``tokens``: in order. ``tail``:
    the released text after the last.
    ``pin``: the index of the token that is chosen until the user chooses, where there is one. ``here``: what is known
    at ``eps`` beside the points, where no server tells it for the ε that is looked at.

    Set where it is mounted: ``stage``: whether the view is a first screen, with the steps of the chosen word and gauges
    beside the slider. ``how``: those steps. ``meaning``: for a gauge; missing as long as it is worked out. ``tour``:
    whether ε moves once without the user. ``belief``: set where the page says what a reader believes: whether it can.
    """

    run: int
    draw: str
    key: NotRequired[str]
    cmd: NotRequired[Command]
    eps: float
    lo: float
    hi: float
    n_grid: int
    lp_grid: int
    default_eps: float
    unit: str
    spread: NotRequired[str]
    live: bool
    seeded: bool
    total_candidates: int
    aligned: bool
    original: NotRequired[str]
    telling: NotRequired[list[Telling]]
    finder: NotRequired[str]
    attack: NotRequired[Attack]
    pin: NotRequired[int]
    here: NotRequired[Here]
    stage: NotRequired[bool]
    how: NotRequired[How]
    tour: NotRequired[bool]
    belief: NotRequired[Exactness]
    tokens: list[PayloadToken]
    tail: str


def payload(
    result: RewriteResult, *, run: int, low: float, high: float, default: float, pin: str = "", task: Task = UNWATCHED
) -> Payload:
    """The data of the token view of a rewrite, over the ε from ``low`` to ``high``.

    pin: the word to look at first. task: is told the tokens that are done, and all of them.
    """
    epsilon = result.config.epsilon
    shown_at = float(epsilon) if isinstance(epsilon, float) else float(default)
    live = {"sweep", "distribution"} <= result.can and isinstance(epsilon, float)
    placed: list[PlacedToken] = []
    places: dict[str, list[int]] = {}  # of equal words, which may share one channel
    end = 0
    aligned = "alignment" in result.can
    for k, unit in enumerate(result.units):
        task.check()
        chances = unit.drawn and "distribution" in result.can
        before = result.text[end : unit.out[0]]
        if live and not aligned and k and not (unit.text and unit.out[0]):
            before = " "  # where at another ε something stands in it, or before it
        placed.append(_placed(unit, before, aligned, chances))
        if unit.action != "delete":
            end = unit.out[1]
        if chances:
            places.setdefault(unit.original.casefold() if aligned else f"{k}", []).append(k)
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
                drawn[k] = _of_one_epsilon(placed[k], result, k, low, shown_at)
                count(1)
                continue
            channel, stream = result.locked(k)
            flips = channel.flips(stream, low, high)
            if isinstance(channel, ScoreTable) and channel.log_base is None:
                drawn[k] = _of_scores(placed[k], result, k, channel, flips, _log_z(channel, low, high))
                count(1)
            else:
                channels.setdefault(id(channel), (channel, {}))[1][k] = flips
        for channel, found in channels.values():
            task.check()
            drawn.update(_of_channel(placed, result, channel, found, n, low, high))
            count(len(found))
    total = max((t["total"] for t in drawn.values()), default=0)
    for token in drawn.values():
        if token["total"] == total:
            del token["total"]
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
    elif pin and (at := [k for k, t in drawn.items() if t["o"].casefold() == pin.casefold()]):
        made["pin"] = min(at)
    made["telling"] = _telling(result, aligned) if aligned or not live else _telling_among(result, drawn)
    if (finder := names.finder()) is not None:
        made["finder"] = finder.title
    if isinstance(epsilon, tuple):
        made["spread"] = _spread(result)
    return made


def here(result: RewriteResult, shown: Payload, tokens: Iterable[int] | None = None) -> Here | None:
    """The chances at the ε of a rewrite of those ``tokens`` (None: all) that have none between points; None where there
    are no such tokens. shown: the view, at whatever ε it was made."""
    found = {}
    for k in range(len(shown["tokens"])) if tokens is None else tokens:
        if bent := cast(DrawnToken, shown["tokens"][k]).get("bent"):
            found[str(k)] = np.maximum(result.distribution(k).log_probs[bent], FLOOR).round(8).tolist()
    return {"eps": float(result.config.epsilon), "lp": found} if found else None


def attack_marks(result: RewriteResult, found: WordSuccess) -> Attack:
    """What the browser needs to mark the words of a rewrite by what an attacker would get."""
    drawn = {k: step.index for k, step in enumerate(result.steps) if step.action == "replace"}
    # A word that is drawn without being looked at is in no vocabulary: nobody guesses it.
    marks: Attack = {
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


def _telling(result: RewriteResult, aligned: bool) -> list[Telling]:
    tellings: dict[tuple[str, str], Telling] = {}
    drawn = "distribution" in result.can
    for t, units in traced(result):
        said = tellings.setdefault(
            (t.kind, t.text.casefold()), {"kind": t.kind, "kinds": KINDS[t.kind], "text": t.text, "at": []}
        )
        # A token with chances knows itself at which ε it stands; the others are the same at every ε.
        at = [k for k in units if not aligned or stands(result, k) or (drawn and result.units[k].action == "replace")]
        said["at"] = sorted({*said["at"], *at})
    return list(tellings.values())


def _telling_among(result: RewriteResult, drawn: Mapping[int, DrawnToken]) -> list[Telling]:
    """Of pieces that answer to no words: the candidates that are released at some ε are looked through."""
    places = [(k, j) for k, token in sorted(drawn.items()) for j in sorted({int(j) for _, j in token["flips"]})]
    tellings: dict[tuple[str, str], Telling] = {}
    for t, numbers in standing_among(result, [drawn[k]["c"][j] for k, j in places]):
        where: dict[int, list[int]] = {}
        for n in numbers:
            where.setdefault(places[n][0], []).append(places[n][1])
        said: Telling = {"kind": t.kind, "kinds": KINDS[t.kind], "text": t.text, "at": [*where]}
        tellings.setdefault((t.kind, t.text.casefold()), {**said, "among": [*where.values()]})
    return list(tellings.values())


def _placed(unit: Unit, before: str, aligned: bool, chances: bool) -> PlacedToken:
    return {
        "pre": "" if unit.action == "delete" else before,
        "o": unit.original if chances or (aligned and not unit.drawn) else unit.text,
        "a": cast(Action, unit.action) if chances or not unit.drawn else "whole",
        "why": unit.reason,
    }


def _spread(result: RewriteResult) -> str:
    """What is spent where each word has an ε of its own."""
    each = [u.epsilon for u in result.units if u.epsilon > 0] or [0.0]
    low, high = bound(min(each)), bound(max(each))
    said = f"Every word has ε = {low}" if low == high else f"Each word has its own ε, from {low} to {high}"
    unit = " for each unit of distance" if result.guarantee.notion == "metric" else ""
    return f"{said}, together at most {bound(result.guarantee.total)}{unit}"


def _unit(config) -> str:
    """What one ε is spent on, as the mechanism's option says it."""
    for option in dataclasses.fields(config):
        if option.name == "epsilon":
            return option_meta(option).unit or "per word"
    return "per word"


def _of_one_epsilon(placed: PlacedToken, result: RewriteResult, k: int, low: float, shown_at: float) -> ScoredToken:
    """A drawn unit at ``shown_at`` alone: there ε·s is log p, and ln Z is 0."""
    word, d = result.units[k].text, result.distribution(k)
    known = result.candidate(k)
    at = d.index(word) if known is None else np.array([known])
    if not len(at):  # pieces of words may be written without the blank that they begin with
        at = np.flatnonzero([c.strip().casefold() == word.strip().casefold() for c in d.candidates])
    if not len(at):
        raise InputError(
            f"Piece {k} of this rewrite is none of the candidates that its distribution states, so its chances cannot "
            "be shown."
        )
    exact = [i for i in at if d.candidates[i] == word]
    if known is not None:
        placed = {**placed, "t": word}
    table = ScoreTable(d.candidates, np.maximum(d.log_probs, -1e5) / shown_at, d.source)
    token = _of_scores(placed, result, k, table, [(low, int((exact or list(at))[0]))], np.zeros(N_GRID))
    if d.draws is not None:
        token["draws"] = int(d.draws)
    return token


@weak_cache(2)
def _log_z(table: ScoreTable, low: float, high: float) -> np.ndarray:
    return table.log_z(np.geomspace(low, high, N_GRID))


@weak_cache(1)
def _likeliest(table: ScoreTable) -> np.ndarray:
    """The candidates with the highest scores, the best first."""
    scores = table.scores
    n = min(N_CANDIDATES, int(np.isfinite(scores).sum()))
    best = np.argpartition(-scores, n - 1)[:n]
    return best[np.argsort(-scores[best], kind="stable")]


def _of_scores(
    placed: PlacedToken, result: RewriteResult, k: int, table: ScoreTable, flips: Flips, z: np.ndarray
) -> ScoredToken:
    """A drawn unit whose channel is a score table without a proposal."""
    scores = table.scores
    chosen = _chosen(_likeliest(table), table, flips)
    ranks = len(scores) - np.searchsorted(table.ascending, scores[chosen], side="right") + 1
    return {
        **_drawn(placed, result, k, table, chosen, flips),
        "s": [round(float(scores[i]), 8) if np.isfinite(scores[i]) else FLOOR for i in chosen],
        "rank": [int(r) for r in ranks],
        "z": [round(float(x), 6) for x in z],
    }


def _of_channel(
    placed: Sequence[PlacedToken],
    result: RewriteResult,
    channel: Channel,
    found: dict[int, Flips],
    n: int,
    low: float,
    high: float,
) -> Iterator[tuple[int, GridToken]]:
    """The drawn units of one channel, with the flips of each: the channel is asked for its probabilities once."""
    best = channel.shown(n, low, high)
    everywhere = set(_chosen(best, channel, []))
    asked = np.array(_chosen(best, channel, [f for flips in found.values() for f in flips]), np.int64)
    curves = dict(zip(asked.tolist(), channel.log_p(np.geomspace(low, high, N_CHANNEL_GRID), asked), strict=True))
    for k, flips in found.items():
        chosen = _chosen(best, channel, flips)
        ends = [e for e, _ in flips[1:]] + [high]
        span = {i: (0, N_CHANNEL_GRID) for i in everywhere}
        for (start, i), stop in zip(flips, ends, strict=True):
            if i not in everywhere:
                # Two points before and three after: what interpolation with six points reads.
                a, b = (int(np.log(e / low) / np.log(high / low) * (N_CHANNEL_GRID - 1)) for e in (start, stop))
                old = span.get(i, (N_CHANNEL_GRID, 0))
                span[i] = (
                    min(old[0], max(0, min(a - 2, N_CHANNEL_GRID - 6))),
                    max(old[1], min(N_CHANNEL_GRID, max(b + 4, 6))),
                )
        token: GridToken = {
            **_drawn(placed[k], result, k, channel, chosen, flips),
            "lp": [_rounded(curves[i][slice(*span[i])]) for i in chosen],
            "off": [span[i][0] for i in chosen],
        }
        if channel.draws is not None:
            token["draws"] = int(channel.draws)
        if channel.bends:
            token["bent"] = chosen
        yield k, token


def _chosen(best: np.ndarray, channel: Channel, flips: Flips) -> list[int]:
    """The best candidates, then those that are released somewhere and the original word where they are not among."""
    return list(dict.fromkeys([*best.tolist(), *(int(w) for _, w in flips), *channel.source_index[:1].tolist()]))


def _drawn(
    placed: PlacedToken, result: RewriteResult, k: int, channel: Channel, chosen: list[int], flips: Flips
) -> DrawnToken:
    place = {i: j for j, i in enumerate(chosen)}
    source = channel.source_index
    return {
        **placed,
        "cap": int(result.units[k].capital),
        "c": [_display(channel.candidates[i], result) for i in chosen],
        "src": place[int(source[0])] if len(source) else -1,
        "flips": [[float(f"{e:.7g}"), place[int(w)]] for e, w in flips],
        "total": len(channel.candidates),
    }


def _rounded(log_p: np.ndarray) -> list[float]:
    """ln p with the digits that can be seen: p within 2e-4, and within 5e-4 of itself where it is above 1e-5."""
    x = np.maximum(log_p, FLOOR)
    digits = np.select([x > -1, x > -12, x > -30], [np.round(x, 4), np.round(x, 3), np.round(x, 1)], np.round(x))
    return [int(v) if v.is_integer() else v for v in digits.tolist()]


def _display(word: str, result: RewriteResult) -> str:
    return word if capitals(result.config) == "none" else result.language.case(word, False)
