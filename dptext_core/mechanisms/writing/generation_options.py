"""Options shared by mechanisms that write with a generator."""

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
        label="Maximum tokens",
        kind="integer",
        min=1,
        max=256,
        help="The largest number of output tokens, including the end token; the limit is not protected. The "
             "guarantee counts ε for all of them, written or not.",
        phrase="at most {} tokens",
    )


def length_option() -> Any:
    """Return the field ``length``."""
    return option(
        "fixed",
        label="Length limit",
        choices=("fixed", "input"),
        advanced=True,
        help="“Fixed” is the maximum number of tokens; “input”, as in the papers, is the length of the text, up to "
             "that maximum. With “input”, the guarantee covers only texts of the same length.",
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
        help="Scores are clipped to this range before sampling; the guarantee is the same. The paper's range "
             "is from the mean to four standard deviations above it; the tuned range was chosen on public text.",
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
        help="With “released”, the model proposes the next token from the output so far, and your text shifts the "
             "proposal. “None” is plain clipping, with the same guarantee.",
        phrase="public prior: {}",
    )


def public_shift(epsilon: float) -> tuple[float, float]:
    """Return the default clipping range of the difference: a public function of ε.

    Its width is ε/(2·SHARP), at least LEAST. Above LEAST, a difference inside the range counts SHARP times at any ε,
    and a larger ε lets the text shift a token further. The share BELOW of the range is for less likely tokens.
    """
    width = max(LEAST, epsilon / (2 * SHARP))
    return -BELOW * width, (1 - BELOW) * width


def shift_option(upper: bool) -> Any:
    """Return the fields ``shift_min`` and ``shift_max``."""
    where = "upper" if upper else "lower"
    return option(
        None,
        label=f"Shift, {where} end",
        help="With a public prior, the influence of your text on a token (in nats) is clipped to this range. "
             "Without values, the range grows with ε.",
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
        help="With “line”, the output ends at a line break; with “end”, only at the end token.",
        phrase="stops at the {}",
    )


def recase_option() -> Any:
    """Return the field ``recase`` of a text without original capitals to copy."""
    return option(
        "sentence",
        label="Capital letters",
        choices=("sentence", "none"),
        advanced=True,
        help="“Sentence” capitalises “I” and the first word of each sentence of the output.",
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
        help="“bundled”, an added model (`python -m dptext_core models add`), or the hub id or folder of a model on "
             "this machine.",
    )


@dataclass(frozen=True)
class GenerationConfig:
    """Options of every mechanism that writes with a generator."""

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
