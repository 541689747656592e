"""Statements and guarantees of mechanisms as data for the browser edition: templates that its page fills with numbers.

The templates of a guarantee come from :mod:`dptext_core.privacy.sentences`, as in the app.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection
from itertools import product
from typing import Any

from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import SAME_AS_DEFAULT, OptionMeta, option_meta
from dptext_core.pieces import FLAGGED
from dptext_core.privacy import sentences
from dptext_core.privacy.kinds import NotProtectedKind
from dptext_core.privacy.terms import NotProtected

from .detection import DETECTORS

#: A sampled word, and a text with a token of every kind that is kept or unknown.
_DRAWN = "doctor"
_EVERY_KIND = f"the ; 🙂 qxzv {_DRAWN}"
#: ε at which the guarantee is computed a second time, to check that only its numbers depend on ε.
_OTHER_EPSILON = 0.731

#: The note on ε if no sampling depends on the original words.
NO_EPSILON = "ε has no effect: no sampling depends on the original words."

#: The options that the browser edition offers, if a mechanism has them, with the values of numeric ones.
CONTROLS: dict[str, tuple[Any, ...]] = {
    "clip": (),
    "k": (),
    "slots": (None, 1, 2, 3, 5),
    "keep_stopwords": (True, False),
    "surrogates": (False, True),
    "detector": DETECTORS,
    "recase": ("none", "sentence", "public"),
}
#: A word for an allowlist, to find what a mechanism states about it.
_ALLOWED = "zzqx"


def mechanism_data(mechanism: Mechanism, frozen: Collection[str] = ()) -> dict[str, Any]:
    """Return a mechanism for the browser as plain JSON: its description, and for each choice of options its range of ε
    and its guarantee.

    The keys of choices are their values in the order of ``controls``, without options that only change how words are
    written. frozen: options that are not offered.
    """
    fields = {f.name: option_meta(f) for f in dataclasses.fields(mechanism.config)}
    offered = [name for name in CONTROLS if name in fields and name not in frozen]
    used_with = {name: fields[name].used_with for name in offered if fields[name].used_with}
    values = {n: _values(n, fields[n]) for n in offered}
    varied = [n for n in offered if not fields[n].writes_only]
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
                "values": values[name],
                "value": _start(mechanism, name, fields[name]),
                "writes_only": fields[name].writes_only,
                "unset": fields[name].unset_phrase or "",
                "used_with": fields[name].used_with,
            }
            for name in offered
        ],
        "takes_never": takes_never,
        "replaces": not mechanism.uses_epsilon,
        "no_epsilon": "" if mechanism.uses_epsilon else NO_EPSILON,
        "variants": {
            json.dumps(chosen, separators=(",", ":")): _variant(
                mechanism.replace(**dict(zip(varied, chosen, strict=True))), takes_never
            )
            for chosen in product(*(values[n] for n in varied))
            if _is_plain(mechanism, dict(zip(varied, chosen, strict=True)), used_with)
        },
    }


def _values(name: str, meta: OptionMeta) -> tuple[Any, ...]:
    """Return the values of an option that the browser edition offers: those in CONTROLS, or all."""
    known = meta.trade_off_values or meta.choices or ()
    return tuple(v for v in CONTROLS[name] if not meta.choices or v in meta.choices) or tuple(known)


def _start(mechanism: Mechanism, name: str, meta: OptionMeta) -> Any:
    """Return the initial value of an option. Options for the writing of words start as on the app's pages."""
    if meta.writes_only and meta.recommended is not SAME_AS_DEFAULT:
        return meta.recommended
    return getattr(mechanism.config, name)


def _is_plain(mechanism: Mechanism, chosen: dict[str, Any], used_with: dict[str, Any]) -> bool:
    """Return False if an option without an effect is not at its default."""
    unused = [name for name, (other, value) in used_with.items() if chosen[other] != value]
    return all(chosen[name] == getattr(mechanism.config, name) for name in unused)


def _variant(mechanism: Mechanism, takes_never: bool) -> dict[str, Any]:
    """Return one choice of options: its range of ε, the ε with a guarantee, all its options, and its guarantee."""
    config = mechanism.config
    options = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "epsilon"}
    (of_epsilon,) = [option_meta(f) for f in dataclasses.fields(config) if f.name == "epsilon"]
    guarantee = mechanism.guarantee(_DRAWN)
    allowing = _allowing(mechanism)
    if guarantee.metric != mechanism.replace(epsilon=_OTHER_EPSILON).guarantee(_DRAWN).metric:
        raise ValueError(
            f"The metric of {mechanism.title} depends on ε. Leave this mechanism out of the browser edition."
        )
    return {
        "axis": list(mechanism.epsilon_range(mechanism.setting.options)),
        "limits": [of_epsilon.min, min(of_epsilon.max or math.inf, mechanism.max_epsilon)],
        "options": options,
        "takes_allowlist": allowing is not None,
        "guarantee": {
            "notion": guarantee.notion,
            "unit": guarantee.unit,
            "adjacency": guarantee.adjacency,
            "near": guarantee.near or 0.0,
            "largest": guarantee.largest or 0.0,
            "sentences": sentences.templates(guarantee),
            "exposed": [_entry(entry) for entry in (allowing or mechanism).guarantee(_EVERY_KIND).exposed],
            "blocklist": NotProtected(NotProtectedKind.BLOCKLIST) if takes_never else "",
        },
    }


def _allowing(mechanism: Mechanism) -> Mechanism | None:
    """Return the mechanism with an allowlist; None if such a list has no effect."""
    metas = {f.name: option_meta(f) for f in dataclasses.fields(mechanism.config)}
    if "allowlist" not in metas:
        return None
    used = metas["allowlist"].used_with
    is_used = used is None or getattr(mechanism.config, used[0]) == used[1]
    return mechanism.replace(allowlist=(_ALLOWED,)) if is_used else None


def _entry(entry: NotProtected) -> dict[str, Any]:
    """Return an entry of the list of what is not protected.

    ``of``: the kind of tokens that it counts, "" if it always applies. ``one`` and ``many``: the wording for one token
    and, with the place ``{count}``, for several. ``always``: also for none, as for "allowed" if there is an allowlist.
    """
    of = str(entry.parameters["reason"]) if entry.kind is NotProtectedKind.KEPT_TOKENS else ""
    if entry.kind in (
        NotProtectedKind.UNKNOWN_REPLACED,
        NotProtectedKind.UNKNOWN_MASKED,
        NotProtectedKind.UNKNOWN_DROPPED,
    ):
        of = "unknown"
    counted: dict[Any, str] = {NotProtectedKind.FLAGGED_PLACES: FLAGGED, NotProtectedKind.ALLOWLIST: "allowed"}
    always = entry.kind in counted
    if always:
        of = counted[entry.kind]
    if not of:
        return {"of": "", "one": entry, "many": entry, "always": True}
    one, many = sentences.count_templates(entry.kind, entry.parameters)
    return {"of": of, "one": one, "many": many, "always": always}
