"""Options of mechanisms: frozen dataclasses whose fields carry an ``OptionMeta``.

Pages and the command line are made from it, and every value is checked against it before a model is
loaded. ``codec`` writes options as text and reads them.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from ..detectors import DETECTORS
from ..errors import ConfigError
from ..privacy.distribution import MAX_EPSILON
from ..support.checks import check_whole_number, real, shorten_repr
from ..text.language import Language
from ..text.readable import readable
from ..text.skeleton import Skeleton
from ..words.capitals import public_form
from .blocklist import word_set
from .option_meta import OptionMeta, option_meta

#: Smallest ε. Noise is divided by it, and below about 1e-37 the result exceeds float32, in which vectors are compared;
#: at 1e-9 a word already reveals almost nothing.
MIN_EPSILON = 1e-9
_LONGEST_NAME = 4096
_KINDS = {bool: "flag", int: "integer", float: "number", str: "text", tuple: "texts", type(None): "number"}


def option(
    default: Any, *, label: str, help: str, kind: str = "", choices: Sequence[str] | None = None, **described: Any
) -> Any:
    """Return a dataclass field with the description for forms and checks.

    Parameters
    ----------
    default
        The value if none is given.
    label, help : str
        For forms, and for ``--help``.
    kind : str, optional
        See ``OptionMeta``. By default it follows from the choices or the default: None is a number, and so is an
        integer with a limit that is none.
    choices : sequence of str, optional
    **described
        Other attributes of ``OptionMeta``. An unknown name raises TypeError.

    Returns
    -------
    dataclasses.Field
    """
    if not kind:
        kind = "choice" if choices else _KINDS[type(default)]
        limits = (described.get("min"), described.get("max"))
        if kind == "integer" and any(end is not None and end != int(end) for end in limits):
            kind = "number"
    listed = tuple(choices) if choices else None
    return OptionMeta(label=label, help=help, kind=kind, choices=listed, **described).field(default)


def epsilon_option(
    default: float | None,
    low: float,
    high: float,
    unit: str = "per word",
    spent: str = "Every replaced word spends it.",
    most: float = MAX_EPSILON,
) -> Any:
    """Return the field ``epsilon`` of a config.

    Parameters
    ----------
    default : float or None
        None: the default of ``Mechanism.epsilon_range`` for the other options; a finished config has a number.
    low, high : float
        The ends of the slider, which are not limits.
    unit : str
        The unit of ε.
    spent : str
        A sentence about what spends it.
    most : float
        The largest accepted value; it may differ from ``MAX_EPSILON`` if no probability of a word is a float64.

    Returns
    -------
    dataclasses.Field
    """
    return option(
        default,
        label="Privacy budget ε",
        help=f"A smaller ε is more private; a larger ε preserves more of the text. {spent}",
        kind="epsilon",
        min=MIN_EPSILON,
        max=most,
        unit=unit,
        live=True,
        slider=(low, high),
    )


def takes_epsilon_list(config: Any) -> bool:
    """Return True if the type of the option ``epsilon`` allows one value per token."""
    owner = next(c for c in type(config).__mro__ if "epsilon" in inspect.get_annotations(c))
    # Resolved alone, since another option's type may be known to type checkers only.
    alone = {"__annotations__": {"epsilon": owner.__annotations__["epsilon"]}, "__module__": owner.__module__}
    hint = get_type_hints(type(owner.__name__, (), alone))["epsilon"]
    return any(get_origin(each) is tuple for each in (hint, *get_args(hint)))


def keep_stopwords_option(presets: Mapping[str, bool] | None = None) -> Any:
    """Return the field ``keep_stopwords``, with its values in presets."""
    return option(
        True,
        label="Keep stop words",
        shared_with="all",
        keeps_distribution=True,
        help="Words such as “the”, “of” and “not” are unchanged unless they look like a name or a number. They "
             "spend no ε, and everyone can read them.",
        phrase=("stop words replaced", "stop words kept"),
        presets=presets or {},
    )


def with_presets(config: type, name: str, **presets: Any) -> Any:
    """Return the field of a base config once more, with values in more presets."""
    (field,) = (f for f in dataclasses.fields(config) if f.name == name)
    meta = option_meta(field)
    return dataclasses.replace(meta, presets={**meta.presets, **presets}).field(field.default)


def stop_list(config: Any) -> str | None:
    """Return the file of stop words in a config; None for the default list, or without the option."""
    return getattr(config, "stopwords", None)


def keeps_stop_words(config: Any) -> bool:
    """Return True if stop words are unchanged."""
    return getattr(config, "keep_stopwords", False)


def capitals(config: Any) -> str:
    """Return the rule for capital letters: "sentence", "public", "original" or "none".

    A config without the option has "none".
    """
    return getattr(config, "recase", "none")


def own_model(config: Any) -> bool:
    """Return True if an option names another model than the bundled one."""
    named = [f for f in dataclasses.fields(config) if option_meta(f).names_model]
    return any(getattr(config, f.name) != f.default for f in named)


def keep_punctuation_option() -> Any:
    """Return the field ``keep_punctuation``."""
    return option(
        True,
        label="Keep punctuation",
        advanced=True,
        help="Punctuation is unchanged. When this is off, each mark is replaced by a word.",
        phrase=("punctuation replaced", "punctuation kept"),
    )


def model_option() -> Any:
    """Return the field ``model``: a masked language model."""
    return option(
        "bundled",
        label="Masked language model",
        advanced=True,
        masked_models=True,
        shared_with="kind",
        help="“bundled”, or the hub id or folder of a masked language model on this machine.",
    )


def recase_option() -> Any:
    """Return the field ``recase``."""
    return option(
        "sentence",
        label="Capital letters",
        choices=("sentence", "public", "none", "original"),
        recommended="public",
        advanced=True,
        live=True,
        keeps_distribution=True,
        help="“Sentence” capitalises “I” and each first word; “public” also capitalises words such as March and "
             "corrects articles and spaces. “Original” copies the original capitals, which everyone can then see.",
        phrase="capital letters: {}",
    )


def clean_up_option() -> Any:
    """Return the field ``recase`` of a mechanism that copies the other words."""
    return option(
        "none",
        label="Articles, capitals and spacing",
        choices=("none", "public"),
        recommended="public",
        advanced=True,
        live=True,
        keeps_distribution=True,
        help="“Public” corrects “a” and “an”, capital letters of sentences and spaces before punctuation.",
        phrase="articles, capitals and spacing: {}",
    )


def has_capital(recase: str, word: str, begin: bool) -> bool:
    """Return True if the replacement of ``word`` is capitalised by this rule. begin: it is first in a sentence."""
    return word[:1].isupper() if recase == "original" else begin and recase in ("sentence", "public")


def cased(config: Any, language: Language, word: str, capital: bool) -> str:
    """Return a released word in the spelling of these options. capital: whether its position asks for one."""
    rule = capitals(config)
    if rule == "none":
        return word
    return language.case(public_form(word) if rule == "public" and language.code == "en" else word, capital)


def finished(
    config: Any, skeleton: Skeleton, texts: Sequence[str | None], after: Sequence[str | None] = ()
) -> tuple[Skeleton, Mapping[int, str]]:
    """Return the skeleton in the spelling of these options, and the copied tokens that have another form in it."""
    return readable(skeleton, texts, after) if capitals(config) == "public" else (skeleton, {})


def surrogates_option() -> Any:
    """Return the field ``surrogates``: see ``dptext_core.mechanisms.detected.hybrid``."""
    return option(
        False,
        label="Stand-ins for names and numbers",
        shared_with="all",
        begins_batch=True,
        help="Flagged words first become random words of their type, so the originals do not influence the release.",
        phrase=("flagged words sampled", "stand-ins for flagged words"),
    )


def allowlist_option(used_with: tuple[str, Any] | None = None) -> Any:
    """Return the field ``allowlist``. used_with: as in ``OptionMeta``."""
    return option(
        (),
        label="Allowlist",
        kind="words",
        advanced=True,
        in_links=False,
        copies_words=True,
        shared_with="all",
        help="These words are not protected: they are always copied, even if a detector flags them. List each form, "
             "such as a plural.",
        phrase="{} always copied",
        used_with=used_with,
    )


def detector_option(used: str, used_with: tuple[str, Any] | None = None) -> Any:
    """Return the field ``detector``. used: a sentence on when it is used. used_with: as in ``OptionMeta``."""
    return option(
        "rules",
        label="Detector",
        choices=tuple(DETECTORS),
        advanced=True,
        help=f"The method that flags names, places, dates, numbers and addresses. {used}",
        phrase="detector: {}",
        used_with=used_with,
    )


def stopwords_option() -> Any:
    """Return the field ``stopwords``: a file, so that no page offers it."""
    return option(
        None,
        label="Stop word file",
        kind="text",
        advanced=True,
        on_pages=False,
        keeps_distribution=True,
        is_stop_word_file=True,
        help="A file with one word per line. The default is the list of NLTK or gensim if installed, otherwise a "
             "built-in one.",
    )


def never_option() -> Any:
    """Return the field ``never``: see ``dptext_core.mechanisms.blocklist``."""
    return option(
        (),
        label="Blocklist",
        kind="words",
        advanced=True,
        in_links=False,
        shared_with="all",
        help="These words are never in the output; list each form, such as a plural. ε is unchanged only if you made "
             "the list without looking at the text.",
        phrase="{} never released",
    )


def loaded_words_option() -> Any:
    """Return the field ``loaded_words``. By default all words are possible, as in the papers; pages exclude them."""
    return option(
        True,
        label="Allow offensive words",
        recommended=False,
        is_public_filter=True,
        shared_with="all",
        changes_distribution=True,
        advanced=True,
        help="When this is off, likely abusive, sexual or violent words on a public list are excluded. The list is "
             "the same for every text, so the guarantee is unchanged.",
        phrase=("no offensive words", "offensive words allowed"),
    )


def build(cls: type, values: Mapping[str, Any]) -> Any:
    """Return an instance of the config class ``cls``, checked. Raises ConfigError for anything unknown or out of
    range."""
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = [k for k in values if k not in fields]
    if unknown:
        raise ConfigError(f"Unknown option {shorten_repr(unknown[0])}. Choose one of: {', '.join(fields)}.")
    return cls(**{name: check(fields[name], value) for name, value in values.items()})


def check(field: dataclasses.Field, value: Any) -> Any:
    """Return ``value`` in the field's form, or raise ConfigError."""
    meta, name = option_meta(field), field.name
    kind = meta.kind
    if value is None and field.default is None and kind != "epsilon":
        return None
    if kind == "epsilon" and _is_list(value):
        if not value:
            raise ConfigError(f"{name} is an empty list. Give one ε, or one per token.")
        return tuple(_number(name, v, meta) for v in value)
    if kind in ("number", "epsilon"):
        return _number(name, value, meta)
    if kind == "integer":
        number = check_whole_number(name, value)
        _number(name, number, meta)
        return number
    if kind == "flag":
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be True or False, not {shorten_repr(value)}.")
        return value
    if kind == "choice":
        if not isinstance(value, str) or value not in (meta.choices or ()):
            raise ConfigError(f"{name} must be one of {', '.join(meta.choices or ())}, not {shorten_repr(value)}.")
        return value
    if kind == "words":
        if not _is_list(value):
            raise ConfigError(f"{name} must be a list of words, not {shorten_repr(value)}.")
        return word_set(name, value)
    if kind == "texts":
        if not _is_list(value) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{name} must be a list of names, not {shorten_repr(value)}.")
        return tuple(_name(name, v) for v in value)
    return _name(name, value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _name(name: str, value: Any) -> str:
    """Return a name or a path that a file system accepts."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{name} must be a name, not {shorten_repr(value)}.")
    try:
        usable = "\0" not in value and len(os.fsencode(value)) <= _LONGEST_NAME
    except UnicodeError:
        usable = False
    if not usable:
        raise ConfigError(
            f"{name} is not a valid name: {shorten_repr(value)}. It has a character that file names cannot "
            f"have, or more than {_LONGEST_NAME:,} bytes. Choose another name."
        )
    return value


def _number(name: str, value: Any, meta: OptionMeta) -> float:
    x = real(name, value)
    low, high = meta.min, meta.max
    if low is not None and x < low:
        if meta.kind != "epsilon":
            raise ConfigError(f"{name} must be at least {low:g}; it is {x:g}.")
        why = "" if x <= 0 else " The noise scale is divided by ε, and a smaller value would not be more private."
        raise ConfigError(f"{name} must be above 0, and at least {low:g}; it is {x:g}.{why}")
    if high is not None and x > high:
        why = (
            " Beyond it, float64 rounds some probabilities to 0 for one text but not for another, so no finite ε holds."
            if meta.kind == "epsilon" and high == MAX_EPSILON
            else ""
        )
        raise ConfigError(f"{name} must be at most {high:g}; it is {x:g}.{why}")
    return x
