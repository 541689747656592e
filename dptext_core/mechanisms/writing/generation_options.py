"""Options that mechanisms share which write with a generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...models.generators import BUNDLED
from ..config import epsilon_option, never_option, option

#: The shape of :func:`public_shift`.
SHARP, BELOW, LEAST = 1.5, 0.25, 2.0


def max_tokens_option(default: int) -> Any:
    """Return the field ``max_tokens``."""
    return option(
        default,
        label="Tokens, at most",
        kind="integer",
        min=1,
        max=256,
        help="So many tokens are written at most, the end included. Each spends ε, and the promise counts them all, "
        "written or not. The limit is public.",
        phrase="at most {} tokens",
    )


def length_option() -> Any:
    """Return the field ``length``."""
    return option(
        "fixed",
        label="Length limit",
        choices=("fixed", "input"),
        advanced=True,
        help="Fixed: the number above. Input, as in the papers: as many tokens as the text has words and marks, and "
        "never more than the number above; then only texts of the same length are alike.",
        phrase="length limit: {}",
    )


def clip_option() -> Any:
    """Return the field ``clip``."""
    return option(
        "tuned",
        label="Clipping range",
        changes_distribution=True,
        choices=("tuned", "paper"),
        presets={"paper": "paper"},
        help="The model's scores are cut to this range before a token is drawn. The tuned range was chosen on public "
        "text. The paper's range goes from the mean to four standard deviations above it, or is the published one. "
        "The promise is the same. A model for which only one range is known uses that one.",
        phrase="clipping range: {}",
    )


def clip_end_option(upper: bool) -> Any:
    """Return the fields ``clip_min`` and ``clip_max``."""
    where, moved = ("upper", "lowered") if upper else ("lower", "raised")
    return option(
        None,
        label=f"Clipping range, {where} end",
        help=f"{'Higher' if upper else 'Lower'} scores of the model are {moved} to this end.",
        phrase=f"clipping {'to' if upper else 'from'} {{}}",
        advanced=True,
        has_own_control=True,
    )


def prior_option() -> Any:
    """Return the field ``prior``."""
    return option(
        "none",
        label="Use a public prior",
        changes_distribution=True,
        choices=("none", "released"),
        advanced=True,
        help="None: plain clipping. Released: the model without your text, given what was written so far, proposes the "
        "next token, and your text moves the proposal. The promise is the same.",
        phrase="public prior: {}",
    )


def public_shift(epsilon: float) -> tuple[float, float]:
    """Return the range that a difference is clipped to where none is given: a public function of ε.

    Its width is ε/(2·SHARP), at least LEAST: beyond that a difference inside the range counts SHARP times, whatever ε
    is, and what grows with ε is how far the text may move a token. BELOW of it lie where the text makes a token less
    likely.
    """
    width = max(LEAST, epsilon / (2 * SHARP))
    return -BELOW * width, (1 - BELOW) * width


def shift_option(upper: bool) -> Any:
    """Return the fields ``shift_min`` and ``shift_max``."""
    where = "upper" if upper else "lower"
    return option(
        None,
        label=f"Shift, {where} end",
        help="With a public prior: the nats by which your text moves a token are cut to the range between the two "
        "ends. When none is given, the range is wider for a larger ε.",
        phrase=f"shift {'to' if upper else 'from'} {{}}",
        advanced=True,
    )


def stop_option() -> Any:
    """Return the field ``stop``."""
    return option(
        "line",
        label="Stop at",
        choices=("line", "end"),
        advanced=True,
        help="Line: the text ends at a line break, and nothing more is drawn. End: only the end token ends it.",
        phrase="stops at the {}",
    )


def recase_option() -> Any:
    """Return the field ``recase``, of text that has no original to copy from."""
    return option(
        "sentence",
        label="Capital letters",
        choices=("sentence", "none"),
        advanced=True,
        help="Sentence: the first word of a sentence and I, by position in what was written.",
        phrase="capital letters: {}",
    )


def generator_option(kind: str | None, bundled: str) -> Any:
    """Return the field ``model``."""
    return option(
        BUNDLED,
        label="Language model",
        kind="text",
        generators=(kind, bundled),
        shared_with="kind",
        help="This is “bundled”, a model that was added (`python -m dptext_core models add`), or the hub id or the "
        "folder of one on this machine.",
    )


@dataclass(frozen=True)
class GenerationConfig:
    """Options that every mechanism of this kind has."""

    epsilon: float | tuple[float, ...] = epsilon_option(100.0, 5.0, 500.0, "per token")
    max_tokens: int = max_tokens_option(24)
    clip: str = clip_option()
    clip_min: float | None = clip_end_option(upper=False)
    clip_max: float | None = clip_end_option(upper=True)
    prior: str = prior_option()
    shift_min: float | None = shift_option(upper=False)
    shift_max: float | None = shift_option(upper=True)
    length: str = length_option()
    stop: str = stop_option()
    recase: str = recase_option()
    never: tuple[str, ...] = never_option()
