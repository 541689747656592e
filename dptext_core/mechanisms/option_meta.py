"""What pages, the command line and checks need to know about one option of a mechanism."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: Entries of ``dataclasses.Field.metadata`` that can also be read by name, without this module.
PUBLIC_KEYS = ("label", "help", "min", "max", "unit")
#: Sets of options: as in the mechanism's paper (without what breaks its guarantee), and as in the bundled benchmarks.
PRESETS = ("paper", "benchmark")
#: The recommended value of an option whose default is recommended.
SAME_AS_DEFAULT: Any = object()


@dataclass(frozen=True, kw_only=True)
class OptionMeta:
    """Describe one option of a mechanism's config.

    ``dptext_core.option`` makes the config's field and attaches this description; :func:`option_meta` returns it.

    Attributes
    ----------
    label, help : str
        For forms and for ``--help``.
    kind : str
        "number", "integer", "flag", "choice", "text", "texts" (a tuple of texts), "words" (a set of words, as an
        ordered tuple) or "epsilon".
    min, max : float or None
        The smallest and the largest value, both allowed.
    unit : str
        The unit of the value.
    choices : tuple of str or None
        The values of a "choice".
    advanced : bool
        Whether forms fold the option away.
    live : bool
        Whether a change needs no new model pass.
    slider : (float, float) or None
        The ends of the slider of ε, which are not the limits of what is allowed.
    phrase : str, (str, str), mapping of str to str or None
        The option in words, for tables: "K = {}", the words for no and yes of a flag, or what each choice means.
    unset_phrase : str or None
        The same for the value None.
    offered_names : tuple of str
        The names that pages offer for a "text".
    masked_models : bool
        Whether the option names a masked language model on this machine.
    generators : (str or None, str) or None
        The kind of generator that the option names (None for any) and the bundled one.
    word_spaces, word_lists : bool
        Whether the option names a word space, or word lists.
    on_pages : bool
        Whether pages may offer it. False for the name of a file on the server.
    in_links : bool
        Whether a link may carry it. False for what users type.
    has_own_control : bool
        Whether a page has a control of another kind for it, so that forms and links leave it out.
    shared_with : str
        Which mechanisms take the value over when they are compared: "all", or those that need the same "kind" of model.
    changes_distribution : bool
        Whether it changes the distribution of a word, and nothing about how the text is assembled.
    keeps_distribution : bool
        Whether it decides which words are sampled and how the text is assembled, and leaves their distribution alone.
    trade_off_values : tuple
        Values to try beside ε, where the option moves between privacy and utility as ε does.
    recommended : object
        The value that pages begin with; ``SAME_AS_DEFAULT`` where that is the default.
    presets : mapping of str to object
        The value in each preset of ``PRESETS`` that has another one than the default.
    is_public_filter : bool
        Whether it removes the program's public list of words from the candidates, and changes nothing else.
    copies_words : bool
        Whether the words of a "words" are copied, instead of removed.
    begins_batch : bool
        Whether pages that rewrite data sets begin with this flag on.
    is_stop_word_file : bool
        Whether it names the file of stop words.
    row_meanings : mapping of str to str or None
        What each choice means for the rows of a data set.
    used_with : (str, object) or None
        Another option and its value without which this one has no effect.
    """

    label: str
    help: str
    kind: str
    min: float | None = None
    max: float | None = None
    unit: str = ""
    choices: tuple[str, ...] | None = None
    advanced: bool = False
    live: bool = False
    slider: tuple[float, float] | None = None
    phrase: str | tuple[str, str] | Mapping[str, str] | None = None
    unset_phrase: str | None = None
    offered_names: tuple[str, ...] = ()
    masked_models: bool = False
    generators: tuple[str | None, str] | None = None
    word_spaces: bool = False
    word_lists: bool = False
    on_pages: bool = True
    in_links: bool = True
    has_own_control: bool = False
    shared_with: Literal["", "all", "kind"] = ""
    changes_distribution: bool = False
    keeps_distribution: bool = False
    trade_off_values: tuple[Any, ...] = ()
    recommended: Any = SAME_AS_DEFAULT
    presets: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_public_filter: bool = False
    copies_words: bool = False
    begins_batch: bool = False
    is_stop_word_file: bool = False
    row_meanings: Mapping[str, str] | None = None
    used_with: tuple[str, Any] | None = None

    @property
    def writes_only(self) -> bool:
        """Return whether the option only changes how released words are written."""
        return self.live and self.keeps_distribution

    @property
    def names_model(self) -> bool:
        """Return whether the option names a model on this machine."""
        return self.masked_models or self.generators is not None

    def field(self, default: Any) -> Any:
        """Return a dataclass field with this description and a default."""
        public = {key: getattr(self, key) for key in PUBLIC_KEYS}
        return dataclasses.field(default=default, metadata={**public, "option": self})


def is_option(field: dataclasses.Field) -> bool:
    """Return whether a config's field was made by ``dptext_core.option``."""
    return isinstance(field.metadata.get("option"), OptionMeta)


def option_meta(field: dataclasses.Field) -> OptionMeta:
    """Return the description of a config's field."""
    return field.metadata["option"]
