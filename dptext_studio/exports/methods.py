"""The methods paragraph of a paper: settings, guarantee, randomness and software, with the BibTeX entries it cites."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dptext_core.mechanisms import codec
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.guarantee import Notion
from dptext_core.privacy.numbers import number, with_minus
from dptext_core.support.checks import public_value
from dptext_core.support.version import __version__

from ..references import OWN, bibtex, references

#: A public text: the paragraph states the guarantee of a setting, and nothing about the rewritten text.
PUBLIC_TEXT = "a"
FRESH = "The noise was fresh randomness from the operating system's generator, with no seed."
POLISHED = (
    "A language model then rewrote each output. This post-processing did not read the original texts, so it spends "
    "no ε."
)


def seeded(seed: int | None) -> str:
    """Return the sentence on the randomness of a run; None: it had no seed."""
    if seed is None:
        return FRESH
    return (
        f"The noise was generated from seed {seed}: a reproducible demonstration without any privacy guarantee."
    )


@dataclass(frozen=True)
class Methods:
    """A paragraph with citation keys for Pandoc and Quarto (``[@key]``), and the BibTeX entries of these keys."""

    text: str
    bibtex: str


def methods(
    uses: Sequence[tuple[Mechanism, Sequence[float]]], randomness: str = FRESH, polish: bool = False
) -> Methods:
    """Return how texts were rewritten, as a paper states it. The paragraph contains no text and no private option
    value.

    Parameters
    ----------
    uses
        Each mechanism with the values of ε it was used at; empty: those of its config.
    randomness
        A sentence on where the noise came from.
    polish
        Whether the outputs were cleaned up afterwards.
    """
    keys = list(dict.fromkeys(key for m, _ in uses for key in _known_keys(m)))
    parts = [_describe(m, sorted(epsilons or _epsilons(m))) for m, epsilons in uses]
    end = [POLISHED] * polish + [randomness, f"We used DP-Text Studio {__version__} [@{OWN}]."]
    cited = tuple(dict.fromkeys([*keys, OWN]))
    return Methods("\n\n".join([*parts[:-1], " ".join([*parts[-1:], *end])]), bibtex(cited))


def _known_keys(m: Mechanism) -> list[str]:
    """Return the references of a mechanism that have an entry; a plugin may name others."""
    return [key for key in m.references if key in references()]


def _epsilons(m: Mechanism) -> Sequence[float]:
    epsilon = m.config.epsilon
    return epsilon if isinstance(epsilon, tuple) else (epsilon,)


def _describe(m: Mechanism, epsilons: Sequence[float]) -> str:
    """Return the sentences about one mechanism; epsilons in ascending order."""
    keys = "; ".join(f"@{key}" for key in _known_keys(m))
    cited = f" [{keys}]" if keys else ""
    low, high = epsilons[0], epsilons[-1]
    at = ""
    if m.uses_epsilon:
        unit = next(option_meta(f).unit for f in dataclasses.fields(m.config) if f.name == "epsilon")
        spread = f"ε = {number(low)}" if low == high else f"ε from {number(low)} to {number(high)}"
        at = f" at {spread}" + (f" ({unit})" if unit else "")
    settings = "; ".join([*_settings(m), "every other option at its default"])
    return (
        f"We rewrote texts with {m.title}{cited}{at}. Settings: {settings}. "
        f"{_guarantee(m.replace(epsilon=high), low != high)}"
    )


def _guarantee(m: Mechanism, largest: bool) -> str:
    g = m.guarantee(PUBLIC_TEXT)
    line = g.lines()[0]
    said = f"Guarantee{' at the largest ε' if largest else ''}: {line[0].lower()}{line[1:]}"
    return said if g.notion is Notion.NONE else f"{said} Neighbours: {g.adjacency}."


def _settings(m: Mechanism) -> Iterable[str]:
    """Yield the options that have an effect, as phrases."""
    clip = type(m).clipping
    named = set() if clip is None else {clip.name, clip.low, clip.high}
    if clip is not None:
        name, low, high = (codec.format_value(getattr(m.config, n)) for n in (clip.name, clip.low, clip.high))
        own_ends = {clip.low, clip.high} & m.setting.options.keys()
        yield with_minus(f"scores clipped to [{low}, {high}]") + ("" if own_ends else f" ({name})")
    for field in dataclasses.fields(m.config):
        value, meta = getattr(m.config, field.name), option_meta(field)
        if field.name == "epsilon" or field.name in named:
            continue
        if meta.used_with is not None and getattr(m.config, meta.used_with[0]) != meta.used_with[1]:
            continue
        # A switch that is off or an empty list is an unused option.
        if value == field.default and (value is None or value in ("", "none", False, ())):
            continue
        yield _in_words(field, value)


def _in_words(field: dataclasses.Field, value: Any) -> str:
    """Return an option with its value; for a list of words, only their number."""
    meta = option_meta(field)
    if meta.phrase not in (None, "{}"):
        return codec.in_words(field.name, value, field)
    value = public_value(field, value)
    text = ", ".join(map(codec.format_value, value)) if isinstance(value, tuple) else codec.format_value(value)
    return f"{meta.label[0].lower()}{meta.label[1:]}: {text}"
