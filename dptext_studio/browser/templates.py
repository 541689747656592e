"""What a mechanism says and promises, as templates that a browser fills in: made by asking the core, not written anew.

A promise is taken from :class:`Guarantee` at numbers that occur nowhere else in it, and these become places to fill.
What is exposed is taken from texts that hold one or two tokens of a kind.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection
from itertools import product
from typing import Any

from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.guarantee import Guarantee, bound, odds_or_any, odds_text

#: A word that is drawn, and tokens that are kept or unknown, by the reason.
_DRAWN = "doctor"
#: A word of the list of those that are never released.
_LISTED = "nurse"
_KINDS = {"stop word": "the", "punctuation": ";", "symbol": "🙂", "unknown": "qxzv"}
#: ε of a template whose odds say something, and of one whose odds hide little; ε of one that counts by distance, where
#: that is not said; draws of a template about several.
_EPSILON = {"plain": 7.31, "little": 73.1}
_BY_DISTANCE = {"plain": 0.731, "little": 0.731}
_DRAWS = 1234


#: The options that a browser offers, where a mechanism has them, with the values of those that are numbers.
CONTROLS: dict[str, tuple[Any, ...]] = {
    "clip": (),
    "k": (),
    "slots": (None, 1, 2, 3, 5),
    "keep_stopwords": (True, False),
}


def mechanism_data(mechanism: Mechanism, frozen: Collection[str] = ()) -> dict[str, Any]:
    """A mechanism for the browser: how it is listed, and its axis of ε, its options and its promise for each choice of
    options, by their values in the order of ``controls``. Plain JSON. frozen: options that are not offered."""
    fields = {f.name: option_meta(f) for f in dataclasses.fields(mechanism.config)}
    offered = [name for name in CONTROLS if name in fields and name not in frozen]
    values = [CONTROLS[n] or fields[n].trade_off_values or fields[n].choices or () for n in offered]
    return {
        "name": mechanism.name,
        "title": mechanism.title,
        "summary": mechanism.summary,
        "unit": fields["epsilon"].unit or "per word",
        "controls": [
            {
                "name": name,
                "label": fields[name].label,
                "help": fields[name].help,
                "values": each,
                "value": getattr(mechanism.config, name),
                "unset": fields[name].unset_phrase or "",
            }
            for name, each in zip(offered, values, strict=True)
        ],
        "takes_never": "never" not in frozen,
        "variants": {
            json.dumps(chosen, separators=(",", ":")): _variant(
                mechanism.replace(**dict(zip(offered, chosen, strict=True))), "never" not in frozen
            )
            for chosen in product(*values)
        },
    }


def _variant(mechanism: Mechanism, takes_never: bool) -> dict[str, Any]:
    """One choice of options: its axis of ε, between which ε it promises anything, all its options, and its promise."""
    config = mechanism.config
    options = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "epsilon"}
    (of_epsilon,) = [option_meta(f) for f in dataclasses.fields(config) if f.name == "epsilon"]
    promise = mechanism.guarantee(_DRAWN)
    if mechanism.guarantee(_DRAWN).metric != mechanism.replace(epsilon=_BY_DISTANCE["plain"]).guarantee(_DRAWN).metric:
        raise ValueError(f"what {mechanism.title} promises depends on ε otherwise than by numbers")
    listed = ""
    if takes_never:
        other = mechanism.replace(never=(_LISTED,)).guarantee(_DRAWN)
        (listed,) = [item for item in other.exposed if item not in promise.exposed]
        if (sentences(other), other.adjacency) != (sentences(promise), promise.adjacency):
            raise ValueError(f"what {mechanism.title} promises is said otherwise with words that are never released")
    return {
        "axis": list(mechanism.epsilon_range(mechanism.setting.options)),
        "limits": [of_epsilon.min, min(of_epsilon.max or math.inf, mechanism.max_epsilon)],
        "options": options,
        "promise": {
            "notion": promise.notion,
            "unit": promise.unit,
            "adjacency": promise.adjacency,
            "near": promise.near or 0.0,
            "largest": promise.largest or 0.0,
            "sentences": sentences(promise),
            "exposed": exposed(mechanism),
            "never": listed,
        },
    }


def sentences(promise: Guarantee) -> dict[str, dict[str, str]]:
    """The promise in plain words, by the number of draws (none, one, many) and by whether its odds hide little.

    Places: ``{near}`` and ``{largest}``, odds of the nearest and of the most different word; ``{odds}``, e^ε;
    ``{each}``, ε of a draw; ``{draws}``, or ``{grouped}`` where thousands are set apart; ``{total}``, ε of all.
    """
    sizes = _BY_DISTANCE if promise.notion == "metric" else _EPSILON
    return {
        name: {size: _sentence(promise, epsilon, draws) for size, epsilon in sizes.items()}
        for name, draws in (("none", 0), ("one", 1), ("many", _DRAWS))
    }


def _sentence(promise: Guarantee, epsilon: float, draws: int) -> str:
    total = epsilon * draws
    said = dataclasses.replace(promise, epsilon=epsilon, draws=draws, total=total, spent=(epsilon,) * draws).sentence()
    if not draws:
        return said
    if promise.notion == "metric":
        assert promise.near is not None and promise.largest is not None
        places = [
            (f"{odds_or_any(epsilon * promise.near)} for its nearest", "{near} for its nearest"),
            (f"{odds_or_any(epsilon * promise.largest)} for the most", "{largest} for the most"),
        ]
    else:
        places = [(odds_text(epsilon), "{odds}")]
        if draws > 1 or "together" in said:
            places.insert(0, (f"together at most ε = {bound(total)}", "together at most ε = {total}"))
    places.append((f"ε = {bound(epsilon)}", "ε = {each}"))
    if draws > 1:
        places.append((f"{draws} ", "{draws} ") if f"{draws} " in said else (f"{draws:,} ", "{grouped} "))
    for number, place in places:
        if said.count(number) != 1:
            raise ValueError(f"a promise does not hold {number!r} once: {said}")
        said = said.replace(number, place)
    return said


def exposed(mechanism: Mechanism) -> list[dict[str, str]]:
    """What a rewrite shows that the promise does not cover, in order. ``of``: the kind of tokens that it is about, with
    what is said of ``one`` and of ``many`` of them (with their number in the place ``{n}``); "" where it always holds.
    """

    def said(*words: str) -> tuple[str, ...]:
        return mechanism.guarantee(" ".join((*words, _DRAWN))).exposed

    always = set(said())
    out = []
    found: dict[str, dict[str, str]] = {}
    for kind, word in _KINDS.items():
        one = [item for item in said(word) if item not in always]
        # Of two there are three gaps, so that runs of marks stay two tokens.
        many = [item for item in said(word, _DRAWN, word) if item not in always]
        if one:
            (first,), (second,) = one, many
            found[first] = {"of": kind, "one": first, "many": second.replace("2 ", "{n} ", 1)}
    for item in said(*(w for w in _KINDS.values())):
        out.append(found.get(item, {"of": "", "one": item, "many": item}))
    return out
