"""Properties of a mechanism's class and options, independent of any text."""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

from ..errors import ConfigError
from ..privacy.distribution import MAX_EPSILON
from ..text.language import Language
from ..text.languages import ENGLISH
from .blocklist import NOTHING, Blocklist, public_blocklist
from .option_meta import option_meta


class ConfiguredBase(ABC):
    """The options of a mechanism, and the properties that depend on them alone."""

    name: ClassVar[str]
    title: ClassVar[str]
    family: ClassVar[str]
    notion: ClassVar[str]
    summary: ClassVar[str] = ""
    #: The sampling of one word in at most four short steps for a reader. ``{n}`` is the number of candidates,
    #: ``{noise}`` is 1/ε, or for clipped scores the noise on their scale; ``{low}``, ``{high}`` are their range,
    #: ``{tied}`` is the number of ties at its upper end.
    steps: ClassVar[tuple[str, ...]] = ()
    config_cls: ClassVar[type]
    needs: ClassVar[tuple[str, ...]] = ()
    #: Keys of its papers (``dptext_studio.references``), the one to cite first.
    references: ClassVar[tuple[str, ...]] = ()
    #: The language of its texts; a mechanism for another language is a subclass.
    language: ClassVar[Language] = ENGLISH

    def __init__(self, config: Any):
        self._config = config

    @classmethod
    def resolve(cls, config: Any) -> Any:
        """Return the config with values that depend on other options filled in.

        Parameters
        ----------
        config
            An instance of ``config_cls``, each option checked separately.

        Returns
        -------
        config
            The same, or another instance of that class.

        Raises
        ------
        ConfigError
            The options contradict each other.
        """
        return config

    @classmethod
    def spec(cls) -> MechanismSpec:
        """Return how the class is listed, without creating a mechanism."""
        return MechanismSpec(cls.name, cls.title, cls.family, cls.notion, cls.config_cls, cls.needs, cls.summary)

    @property
    def config(self) -> Any:
        return self._config

    #: Whether the words of the option ``never`` are removed from its candidates, and never copied.
    takes_never: ClassVar[bool] = False

    @classmethod
    def check_never(cls, never: Blocklist, config: Any) -> None:
        """Refuse words that cannot be excluded from the release.

        Parameters
        ----------
        never : Never
            The words.
        config
            The options, each checked separately.

        Raises
        ------
        ConfigError
            One of them could still be released; always if ``takes_never`` is False.
        """
        if not cls.takes_never:
            raise ConfigError(
                f"{cls.title} does not support a blocklist. Remove the blocklist, or choose another mechanism."
            )
        never.check(cls.language)

    @cached_property
    def never(self) -> Blocklist:
        """Return the words on the blocklist."""
        words = frozenset(getattr(self.config, "never", ()))
        public = frozenset() if getattr(self.config, "loaded_words", True) else public_blocklist()
        return Blocklist(words | public, public - words) if words or public else NOTHING

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config!r})"

    def loads(self) -> Mapping[str, str]:
        """Return the SHA-256 of files that may change under the same name, by the option that names them.

        A run over a data set resumes only with the same files, wherever they are.
        """
        return {}

    @property
    def model_ready(self) -> bool:
        """Return True if its models are in memory, so that a rewrite need not wait."""
        return True

    @classmethod
    def epsilon_range(cls, options: Mapping[str, Any] | None = None) -> tuple[float, float, float]:
        """Return the axis of ε.

        Parameters
        ----------
        options : mapping, optional
            Options that are not given have their defaults.

        Returns
        -------
        low, high, default : float
        """
        field = next(f for f in dataclasses.fields(cls.config_cls) if f.name == "epsilon")
        (low, high), default = cast("tuple[float, float]", option_meta(field).slider), cast(Any, field.default)
        return low, high, (low * high) ** 0.5 if default is None else float(default)

    @cached_property
    def key(self) -> tuple:
        """Return the key of a prepared text: every option that is not marked live."""
        return (
            self.name,
            *(
                (f.name, getattr(self.config, f.name))
                for f in dataclasses.fields(self.config)
                if not option_meta(f).live
            ),
        )

    @property
    def max_epsilon(self) -> float:
        """Return the largest ε of one draw at which every possible output is within the sampler's depth.

        It depends on the vocabulary, never on the text, so that a refusal reveals nothing.
        """
        return MAX_EPSILON

    #: Whether ε affects the release. If not, pages offer no ε, and ``get_mechanism`` accepts none.
    uses_epsilon: ClassVar[bool] = True
    #: Whether a distribution comes from a formula; else it is estimated from draws that all words share.
    closed_form: ClassVar[bool] = True
    #: Whether preparing a text is slow, so that one preparation must serve every ε and seed.
    slow_to_prepare: ClassVar[bool] = True

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        """Return options without ε, one set for each variant of the mechanism: the audit checks every one."""
        return ({},)

    @classmethod
    def over_spaces(cls, spaces: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """Return options for which N_w and S_w over ε are measured on these word spaces; () without a vocabulary."""
        return ()


@dataclass(frozen=True)
class MechanismSpec:
    """A registered mechanism.

    Attributes
    ----------
    name, title : str
        The name on the command line, and the title for readers.
    family : str
        The folder of its family.
    notion : {"pure", "approx", "group", "metric", "none"}
        The notion of the guarantee.
    config_cls : type
        The options, a frozen dataclass.
    needs : tuple of str
        The requirements on this machine ("masked language model", "word space", …).
    summary : str
        A sentence about what it does.
    """

    name: str
    title: str
    family: str
    notion: str
    config_cls: type
    needs: tuple[str, ...]
    summary: str


def require_epsilon(mechanism: ConfiguredBase) -> None:
    """Raise ConfigError for a mechanism without ε."""
    if not mechanism.uses_epsilon:
        raise ConfigError(
            f"{mechanism.title} has no ε because no sampling depends on the original words. Omit epsilon."
        )


def check_depth(epsilon: float | tuple[float, ...], most: float) -> None:
    """Raise ConfigError for an ε above ``most``."""
    largest = max(epsilon) if isinstance(epsilon, tuple) else epsilon
    if largest > most:
        raise ConfigError(
            f"epsilon must be at most {most:.6g} with these options; it is {largest:.6g}. Beyond it, some words could "
            "be sampled for one text but not for another, so no finite ε holds. Choose a smaller ε."
        )
