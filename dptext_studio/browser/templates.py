"""What a mechanism states and guarantees, as data for the browser edition: templates that its page fills with numbers.

The templates of a guarantee come from :mod:`dptext_core.privacy.sentences`, which words it for the app too.
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
from dptext_core.pieces import FLAGGED
from dptext_core.privacy import sentences
from dptext_core.privacy.kinds import NotProtectedKind
from dptext_core.privacy.terms import NotProtected

from .detection import DETECTORS

#: A word that is sampled, and a text with a token of every kind that is kept or unknown.
_DRAWN = "doctor"
_EVERY_KIND = f"the ; 🙂 qxzv {_DRAWN}"
#: ε at which the guarantee is asked for a second time, to see that only its numbers depend on ε.
_OTHER_EPSILON = 0.731

#: What is said of ε where no word is sampled by looking at it.
NO_EPSILON = "ε has no effect: no sampling depends on the original words."

#: The options that a browser offers, where a mechanism has them, with the values of those that are numbers.
CONTROLS: dict[str, tuple[Any, ...]] = {
    "clip": (),
    "k": (),
    "slots": (None, 1, 2, 3, 5),
    "keep_stopwords": (True, False),
    "surrogates": (False, True),
    "detector": DETECTORS,
}


def mechanism_data(mechanism: Mechanism, frozen: Collection[str] = ()) -> dict[str, Any]:
    """Return a mechanism for the browser as plain JSON: how it is listed, and for each choice of options its axis of ε
    and its guarantee. Choices are keyed by their values in the order of ``controls``.

    frozen: options that are not offered.
    """
    fields = {f.name: option_meta(f) for f in dataclasses.fields(mechanism.config)}
    offered = [name for name in CONTROLS if name in fields and name not in frozen]
    used_with = {name: fields[name].used_with for name in offered if fields[name].used_with}
    values = [CONTROLS[n] or fields[n].trade_off_values or fields[n].choices or () for n in offered]
    takes_never = mechanism.takes_never and "never" not in frozen
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
                "used_with": fields[name].used_with,
            }
            for name, each in zip(offered, values, strict=True)
        ],
        "takes_never": takes_never,
        "replaces": not mechanism.uses_epsilon,
        "no_epsilon": "" if mechanism.uses_epsilon else NO_EPSILON,
        "variants": {
            json.dumps(chosen, separators=(",", ":")): _variant(
                mechanism.replace(**dict(zip(offered, chosen, strict=True))), takes_never
            )
            for chosen in product(*values)
            if _is_plain(mechanism, dict(zip(offered, chosen, strict=True)), used_with)
        },
    }


def _is_plain(mechanism: Mechanism, chosen: dict[str, Any], used_with: dict[str, Any]) -> bool:
    """Return False for a choice in which an option that has no effect is not at its default."""
    unused = [name for name, (other, value) in used_with.items() if chosen[other] != value]
    return all(chosen[name] == getattr(mechanism.config, name) for name in unused)


def _variant(mechanism: Mechanism, takes_never: bool) -> dict[str, Any]:
    """Return one choice of options: its axis of ε, the ε that have a guarantee, all its options, and its guarantee."""
    config = mechanism.config
    options = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "epsilon"}
    (of_epsilon,) = [option_meta(f) for f in dataclasses.fields(config) if f.name == "epsilon"]
    guarantee = mechanism.guarantee(_DRAWN)
    if guarantee.metric != mechanism.replace(epsilon=_OTHER_EPSILON).guarantee(_DRAWN).metric:
        raise ValueError(f"the metric of {mechanism.title} depends on ε, which the browser edition does not support")
    return {
        "axis": list(mechanism.epsilon_range(mechanism.setting.options)),
        "limits": [of_epsilon.min, min(of_epsilon.max or math.inf, mechanism.max_epsilon)],
        "options": options,
        "guarantee": {
            "notion": guarantee.notion,
            "unit": guarantee.unit,
            "adjacency": guarantee.adjacency,
            "near": guarantee.near or 0.0,
            "largest": guarantee.largest or 0.0,
            "sentences": sentences.templates(guarantee),
            "exposed": [_entry(entry) for entry in mechanism.guarantee(_EVERY_KIND).exposed],
            "blocklist": NotProtected(NotProtectedKind.BLOCKLIST) if takes_never else "",
        },
    }


def _entry(entry: NotProtected) -> dict[str, Any]:
    """Return an entry of what is not protected. ``of``: the kind of tokens that it counts, "" where it always holds;
    ``one`` and ``many``: what is said of one of them and, with the place ``{count}``, of several; ``always``: also of
    none."""
    of = str(entry.parameters["reason"]) if entry.kind is NotProtectedKind.KEPT_TOKENS else ""
    if entry.kind in (
        NotProtectedKind.UNKNOWN_REPLACED,
        NotProtectedKind.UNKNOWN_MASKED,
        NotProtectedKind.UNKNOWN_DROPPED,
    ):
        of = "unknown"
    always = entry.kind is NotProtectedKind.FLAGGED_PLACES
    if always:
        of = FLAGGED
    if not of:
        return {"of": "", "one": entry, "many": entry, "always": True}
    one, many = sentences.count_templates(entry.kind, entry.parameters)
    return {"of": of, "one": one, "many": many, "always": always}
