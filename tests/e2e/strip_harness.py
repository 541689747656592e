"""A page with nothing but the token strip over made-up words and chances: what the browser tests drive.

By hand, from the top folder: ``PYTHONPATH=. streamlit run tests/e2e/strip_harness.py`` and ``?variant=long``,
``seeded``, ``sequential``, ``broken`` or ``lists`` (channels that are no score tables) in the address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dptext_core.mechanisms.config import epsilon_option
from dptext_core.privacy.distribution import Channel, ScoreTable, TokenDistribution
from dptext_core.privacy.guarantee import Guarantee
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.result import RewriteResult, Step, Trace
from dptext_studio.figures import token_view

LO, HI, N_GRID, N_CANDIDATES = 5.0, 500.0, 60, 8000
HOSTILE = '<img src=x onerror="window.hurt=1">'
TEXT = (
    "After my |second operation my |sister Ana stayed at the clinic in |Lisbon for nine days, and the doctor who "
    "treated her (a quiet |woman) asked us to keep the letter secret.\nInsurance refused "
    "to pay for the HOSTILE and the **bold** therapy 🙂 because שלום was written there; "
    "my very old |uncle paid the bill"
)


class Stated(Trace):
    """Made-up chances, and the channels behind them where ε can be dragged."""

    def __init__(self, distribution: Callable[[int], TokenDistribution], locked: Callable | None):
        self._distribution, self._locked = distribution, locked
        self.can = frozenset({"distribution", "alignment"} | ({"sweep"} if locked else set()))

    def distribution(self, i, unit):
        return self._distribution(i)

    def locked(self, i, unit):
        return super().locked(i, unit) if self._locked is None else self._locked(i)


def listed(words: str) -> list[str]:
    """The words of a string."""
    return words.split()


STOP = set(listed("after my at the in for and who her a us to was there because very"))
NEAR = {
    "doctor": ["surgeon", "nurse", "physician", "specialist", "therapist", "lawyer", "teacher", "dentist", "midwife"],
    "clinic": ["hospital", "centre", "practice", "surgery", "ward", "office", "school", "church"],
    "ana": ["maria", "eva", "rosa", "clara", "lena", "anna", "sara", "elena"],
    "secret": ["private", "safe", "hidden", "quiet", "closed", "sealed", "close"],
}

POOL = listed(
    "table river second garden winter letter yellow copper station window marble harbour village thunder pepper ladder "
    "summer basket candle mirror ticket engine pocket button meadow forest saddle hammer needle planet castle cotton "
    "silver market bottle kettle carpet feather island lantern orchard pencil ribbon shadow temple valley wagon anchor"
)


def pieces() -> list[tuple[str, str]]:
    """(text before, word) of each token of TEXT; a bar marks the place of something special."""
    found = []
    before = ""
    for part in TEXT.replace("\n", " \n ").split(" "):
        if part == "\n":
            before += "\n"
            continue
        core = part.strip("(),.;")
        lead = part[: part.find(core)] if core else part
        found.append((before + lead, HOSTILE if core == "HOSTILE" else core))
        before = part[len(lead) + len(core) :] + " "
    return [(pre.replace(" \n ", "\n").replace(" \n", "\n").replace("\n ", "\n"), word) for pre, word in found]


def envelope(s: np.ndarray, g: np.ndarray) -> list[tuple[float, int]]:
    """Winners of argmax ε·s + g for ε from LO to HI, as (first ε, candidate), by walking from crossing to crossing."""
    now = int(np.argmax(LO * s + g))
    out = [(LO, now)]
    while True:
        above = s > s[now]
        if not above.any():
            return out
        meet = np.where(above, (g[now] - g) / np.where(above, s - s[now], 1.0), np.inf)
        now = int(np.argmin(meet))
        if meet[now] > HI:
            return out
        out.append((float(meet[now]), now))


def scored(word: str, rng: np.random.Generator) -> tuple[dict[str, Any], np.ndarray]:
    """The payload's part of one drawn token, and the scores of all candidates (best first)."""
    s = np.sort(0.5 * rng.beta(2.2, 5.0, N_CANDIDATES))[::-1].copy()
    s[0] = min(0.5, s[1] + rng.uniform(0.0, 0.06))
    near = NEAR.get(word.lower(), [])
    pool = [POOL[k] for k in rng.permutation(len(POOL)) if POOL[k] != word.lower()]
    more = (f"{'bcdfglmnprst'[k % 12]}{'aeiou'[k % 5]}rt{k}" for k in range(N_CANDIDATES))
    names = [word.lower(), *near, *pool, *more]
    grid = np.geomspace(LO, HI, N_GRID)
    z = [float(np.log(np.exp(eps * (s - s[0])).sum()) + eps * s[0]) for eps in grid]
    flips = envelope(s, rng.gumbel(size=N_CANDIDATES))
    shown = sorted({*range(30), *(k for _, k in flips)})
    place = {k: j for j, k in enumerate(shown)}
    part = {
        "c": [names[k] for k in shown],
        "s": [float(s[k]) for k in shown],
        "rank": [k + 1 for k in shown],
        "z": z,
        "src": 0,
        "flips": [[eps, place[k]] for eps, k in flips],
    }
    return part, s


@lru_cache(maxsize=4)
def make_payload(repeat: int = 1) -> tuple[dict[str, Any], list[np.ndarray | None]]:
    """A payload over TEXT, ``repeat`` times over, and every token's full scores (None where nothing is drawn)."""
    rng = np.random.default_rng(7)
    tokens: list[dict[str, Any]] = []
    scores: list[np.ndarray | None] = []
    for pre, word in pieces():
        special, word = word.startswith("|"), word.removeprefix("|")
        first = not tokens or "\n" in pre
        token: dict[str, Any] = {"pre": pre, "o": word, "a": "replace", "why": "", "cap": int(first)}
        full = None
        if word == "🙂":
            token |= {"a": "keep", "why": "symbol"}
        elif word.lower() in STOP:
            token |= {"a": "keep", "why": "stop word"}
        elif special and word == "woman":
            token |= {"a": "delete", "why": "drawn for deletion", "pre": ""}
        else:
            part, full = scored(word, rng)
            token |= part
            if word == "Lisbon":
                token["src"] = -1
                token["c"][0] = "porto"
        tokens.append(token)
        scores.append(full)
        if special and word == "uncle":
            part, full = scored("cousin", rng)
            added = {"pre": " ", "o": "", "a": "insert", "why": "drawn for insertion", "cap": 0}
            tokens.append(added | part | {"src": -1})
            scores.append(full)
    many = [dict(t) for _ in range(repeat) for t in tokens]
    for j in range(len(tokens), len(many), len(tokens)):
        many[j]["pre"] = ".\n\n" if j % (4 * len(tokens)) == 0 else ". "
    payload = {
        "run": 1,
        "eps": 50.0,
        "lo": LO,
        "hi": HI,
        "n_grid": N_GRID,
        "default_eps": 50.0,
        "live": True,
        "seeded": False,
        "total_candidates": N_CANDIDATES,
        "unit": "per word",
        "tail": ".\n",
        "tokens": many,
    }
    return payload, scores * repeat


def at_one_eps(payload: dict[str, Any], scores: list[np.ndarray | None], eps: float) -> dict[str, Any]:
    """What Python answers where words at other ε need another pass: words and chances at this ε only."""
    tokens = []
    for token, full in zip(payload["tokens"], scores, strict=True):
        if full is not None:
            log_z = np.log(np.exp(eps * (full - full.max())).sum()) + eps * full.max()
            token = token | {
                "flips": [[LO, [k for start, k in token["flips"] if start <= eps][-1]]],
                "s": [float(s - log_z / eps) for s in token["s"]],
                "z": [0.0] * N_GRID,
            }
        tokens.append(token)
    return payload | {"tokens": tokens, "eps": eps, "live": False}


# ---------------------------------------------------------------- channels that are no score tables

LIST_LO, LIST_HI, LIST_UNIT = 0.1, 10.0, "per word and place on the list"
VOCABULARY = [*POOL, *(f"{'bcdfglmnprst'[k % 12]}{'aeiou'[k % 5]}rt{k}" for k in range(len(POOL), 1200))]
LIST_TEXT = (
    f"The table zorblax stood in {' '.join(POOL[1:14])} glimmer . "
    f"\nthe nurse and the gate was {' '.join(POOL[14:])} table"
)


class FakeChannel(Channel):
    """A channel over a few words of VOCABULARY (or others) that counts how often its probabilities are asked for."""

    def __init__(self, candidates: Sequence[str], source: str):
        self.candidates, self.source, self.asked = candidates, source, 0

    @property
    def source_index(self) -> np.ndarray:
        return np.flatnonzero([c == self.source.casefold() for c in self.candidates])

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        self.asked += 1
        return super().log_p(epsilons, which)


class ListChannel(FakeChannel):
    """Two-sided geometric noise on the place of a word, on one of two lists: a mixture with clamped ends."""

    def __init__(self, source: str):
        super().__init__(VOCABULARY, source)
        rng = np.random.default_rng(3)
        self.lists = np.stack([rng.permutation(len(VOCABULARY)) for _ in range(2)])  # places to words
        self.places = np.argsort(self.lists, axis=1)  # words to places
        self.own = self.places[:, self.source_index[0]]

    def at(self, epsilon: float) -> TokenDistribution:
        last = len(VOCABULARY) - 1
        logs = -epsilon * np.abs(self.places - self.own[:, None])
        inside = (self.places > 0) & (self.places < last)
        logs = logs + np.where(inside, np.log(np.tanh(epsilon / 2)), -np.log1p(np.exp(-epsilon)))
        return TokenDistribution(VOCABULARY, np.logaddexp(*logs) - np.log(2), self.source, epsilon)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        which, u = stream.uniforms(2)
        k = int(which * 2)
        steps = int(max(0.0, np.floor((-np.log(min(u, 1 - u)) - np.log1p(np.exp(-epsilon))) / epsilon)))
        return int(self.lists[k, np.clip(self.own[k] + (steps if u < 0.5 else -steps), 0, len(VOCABULARY) - 1)])


class CountedChannel(FakeChannel):
    """Noise of scale 1/ε on a point in the plane, the nearest word wins: known only from counting draws."""

    def __init__(self, source: str, draws: int = 1000):
        super().__init__([source, *POOL[:24]], source)
        rng = np.random.default_rng(5)
        self.draws = draws
        self.points = np.vstack([np.zeros(2), rng.normal(size=(24, 2))])
        self.noise = rng.normal(size=(draws, 2))

    def nearest(self, points: np.ndarray) -> np.ndarray:
        return np.linalg.norm(points[:, None] - self.points, axis=2).argmin(1)

    def at(self, epsilon: float) -> TokenDistribution:
        counts = np.bincount(self.nearest(self.noise / epsilon), minlength=len(self.candidates))
        with np.errstate(divide="ignore"):
            return TokenDistribution(self.candidates, np.log(counts / self.draws), self.source, epsilon, self.draws)

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self.nearest(stream.normals(2)[None] / epsilon)[0])


class GateChannel(FakeChannel):
    """The first of three words becomes less likely as ε grows, and impossible from 2 on."""

    def __init__(self, source: str):
        super().__init__(["amber", "birch", source], source)

    def at(self, epsilon: float) -> TokenDistribution:
        first = max(0.0, 0.5 - epsilon / 4)
        with np.errstate(divide="ignore"):
            return TokenDistribution(self.candidates, np.log([first, 0.3, 0.7 - first]), self.source, epsilon)


@dataclass(frozen=True)
class FakeConfig:
    """What the payload reads of a mechanism's options."""

    epsilon: float = epsilon_option(1.0, LIST_LO, LIST_HI, unit=LIST_UNIT)
    recase: str = "sentence"


@cache
def channel_of(word: str) -> tuple[str, Channel | None, str]:
    """Action, channel and reason of a word: equal words share one channel."""
    key = word.casefold()
    if word in STOP:
        return "keep", None, "stop word"
    if not word.isalnum():
        return "keep", None, "symbol"
    if key in POOL:
        return "replace", ListChannel(key), ""
    if key == "nurse":
        return "replace", CountedChannel(key), ""
    if key == "gate":
        return "replace", GateChannel(key), ""
    if key == "glimmer":
        return "replace", ScoreTable(("[MASK]",), np.zeros(1), word), "not in the vocabulary"
    if key == "zorblax":
        return "replace", Uniform(word), "not in the vocabulary"
    return "delete", None, "not in the vocabulary"


class Uniform(FakeChannel):
    """Every word of VOCABULARY alike, whatever ε is."""

    def __init__(self, source: str):
        super().__init__(VOCABULARY, source)

    def at(self, epsilon: float) -> TokenDistribution:
        n = len(VOCABULARY)
        return TokenDistribution(VOCABULARY, np.full(n, -np.log(n)), self.source, epsilon)


def fake_rewrite(
    text: str,
    epsilon: float = 1.0,
    channels: Callable[[str], tuple[str, Channel | None, str]] = channel_of,
    live: bool = True,
) -> RewriteResult:
    """``text``, cut at blanks, with every word drawn from its channel under a stream of its own."""
    steps, out, at = [], "", 0
    stream = NoiseStream(11)
    for k, word in enumerate(text.split(" ")):
        gap, word = word[: len(word) - len(word.lstrip())], word.lstrip()
        action, channel, reason = channels(word)
        new = word
        if channel is not None:
            new = channel.candidates[channel.draw(epsilon, stream.at(k))]
        elif action == "delete":
            new = ""
        out += (" " if k and new else "") + gap
        spent = 0.0 if reason else epsilon
        span = (at + len(gap), at + len(gap) + len(word))
        steps.append(Step(span, word, new, action, reason, spent, (len(out), len(out) + len(new)), k))
        out += new
        at = span[1] + 1

    def locked(k: int) -> tuple[Channel, NoiseStream]:
        channel = channels(steps[k].original)[1]
        assert channel is not None
        return channel, stream.at(k)

    nothing = Guarantee("none", epsilon, "word", "", len(steps), 0.0, reason="made up")
    return RewriteResult(
        out,
        text,
        tuple(steps),
        nothing,
        "fake",
        FakeConfig(epsilon),
        None,
        "",
        Stated(lambda k: locked(k)[0].at(epsilon), locked if live else None),
    )


@lru_cache(maxsize=1)
def list_payload() -> dict[str, Any]:
    """The payload of LIST_TEXT."""
    return token_view.payload(fake_rewrite(LIST_TEXT), run=1, low=LIST_LO, high=LIST_HI, default=1.0)


def main() -> None:
    """The page."""
    import streamlit as st

    from dptext_studio.components.token_strip import token_strip

    st.set_page_config(page_title="Token strip", layout="wide")
    variant = st.query_params.get("variant", "")
    state = st.session_state
    state.setdefault("run", 1)
    state.setdefault("command", 0)
    with st.container(horizontal=True):
        if st.button("New run"):
            state.run += 1
        if st.button("ε = 20"):
            state.command += 1
        if st.button("Other axis"):
            state.wider, state.run = True, state.run + 1
        state.broken = variant == "broken" and not st.toggle("Repair")

    @st.fragment
    def strip() -> None:
        payload, scores = make_payload(60 if variant == "long" else 1)
        if variant == "lists":
            payload = list_payload()
        if not variant:
            named = [0.25 if t["a"] == "replace" else None for t in payload["tokens"]]
            payload = payload | {"attack": {"eps": 50.0, "p": named, "chance": 0.01, "guess": "man"}}
        if state.get("wider"):
            payload = payload | {"hi": 4 * HI}
        payload = payload | {"run": state.run, "seeded": variant == "seeded"}
        if state.command:
            payload |= {"cmd": {"n": state.command, "eps": 20.0}}
        if state.broken:
            payload |= {"tokens": [{"pre": "", "o": "doctor", "a": "replace"}]}
        if variant == "sequential":
            seen = (state.get("strip") or {}).get("view") or {}
            payload = at_one_eps(payload, scores, seen.get("eps", 50.0))
        view = token_strip(payload, key="strip", on_view_change=lambda: state.update(heard=state.get("heard", 0) + 1))
        copies = view.pop("copies") if view else []
        view = {name: view[name] for name in ("run", "eps", "token")} if view else view
        st.text(f"view {json.dumps(view)} heard {state.get('heard', 0)}")
        st.text(f"copies {json.dumps(copies)}")

    strip()


if __name__ == "__main__":
    main()
