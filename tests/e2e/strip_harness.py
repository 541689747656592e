"""A page with nothing but the token strip over made-up scores: what the browser tests drive.

By hand, from the top folder: ``PYTHONPATH=. streamlit run tests/e2e/strip_harness.py`` and ``?variant=long``,
``seeded``, ``sequential`` or ``broken`` in the address.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

LO, HI, N_GRID, N_CANDIDATES = 5.0, 500.0, 60, 8000
HOSTILE = '<img src=x onerror="window.hurt=1">'
TEXT = (
    "After my |second operation my |sister Ana stayed at the clinic in |Lisbon for nine days, and the doctor who "
    "treated her (a quiet |woman) asked us to keep the letter secret.\nInsurance refused "
    "to pay for the HOSTILE and the **bold** therapy 🙂 because שלום was written there; "
    "my very old |uncle paid the bill"
)


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
        "run": 1, "eps": 50.0, "lo": LO, "hi": HI, "n_grid": N_GRID, "default_eps": 50.0, "live": True, "seeded": False,
        "total_candidates": N_CANDIDATES, "unit": "per word", "cap_rule": True, "tail": ".\n", "tokens": many,
    }  # fmt: skip
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


def main() -> None:
    """The page."""
    import streamlit as st

    from pages.ui.token_strip import token_strip

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
        state.broken = variant == "broken" and not st.toggle("Repair")

    @st.fragment
    def strip() -> None:
        payload, scores = make_payload(60 if variant == "long" else 1)
        payload = payload | {"run": state.run, "seeded": variant == "seeded"}
        if state.command:
            payload |= {"cmd": {"n": state.command, "eps": 20.0}}
        if state.broken:
            payload |= {"tokens": [{"pre": "", "o": "doctor", "a": "replace"}]}
        if variant == "sequential":
            seen = (state.get("strip") or {}).get("view") or {}
            payload = at_one_eps(payload, scores, seen.get("eps", 50.0))
        view = token_strip(payload, key="strip", on_view_change=lambda: state.update(heard=state.get("heard", 0) + 1))
        st.text(f"view {json.dumps(view)} heard {state.get('heard', 0)}")

    strip()


if __name__ == "__main__":
    main()
