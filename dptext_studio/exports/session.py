"""A session as a file: its settings and seed, and its text only on request. Never the noise.

The file is JSON: ``{"kind": …, "version": 1, "mechanism": name, "options": {name: text}, "seed"?: n, "text"?: text}``.
Options are written as in a link or on the command line (``codec``). Nothing that is read is trusted: the caller checks
options as those of a link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dptext_core.errors import InputError
from dptext_core.support.checks import shorten_repr
from dptext_core.support.private import Private

KIND = "DP-Text Studio session"
VERSION = 1
#: Limits of a file: bytes, characters of a text, options, characters of one option.
MAX_BYTES, MAX_TEXT, MAX_OPTIONS, MAX_OPTION = 4 << 20, 1 << 20, 64, 65536
#: Seeds that a browser's number field represents exactly.
MAX_SEED = (1 << 53) - 1
_NEEDED, _MAY = {"kind", "version", "mechanism", "options"}, {"seed", "text"}


@dataclass(frozen=True)
class SavedSession(Private):
    """The content of a session file. query: its settings in the form of a link (``Setting.to_query``), not yet checked.
    """

    query: Mapping[str, str]
    seed: int | None = None
    text: str | None = None

    _shown: ClassVar[tuple[str, ...]] = ("seed",)

    def to_json(self) -> str:
        options = dict(self.query)
        mechanism = options.pop("mechanism")
        out: dict[str, Any] = {"kind": KIND, "version": VERSION, "mechanism": mechanism, "options": options}
        if self.seed is not None:
            out["seed"] = self.seed
        if self.text is not None:
            out["private"] = "This file holds the original text."
            out["text"] = self.text
        return json.dumps(out, ensure_ascii=False, indent=2) + "\n"


class _DuplicateKey(ValueError):
    """A name that occurs twice in one object."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _DuplicateKey("a field occurs twice")
    return values


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def read_session(data: bytes, name: str = "The file") -> SavedSession:
    """Return the content of a session file. Raise InputError that states the problem without quoting a text."""
    if len(data) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES >> 20} MB, so it is not a session file. Choose another "
                         "file.")
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8, so it is not a session file. Save the session again.") from None
    except _DuplicateKey as error:
        raise InputError(f"{name} is not a valid session file: {error}. Save the session again.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name} is truncated or not JSON. Save the session again and open the whole file.") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise InputError(f"{name} is not a session of DP-Text Studio. Choose a file from “Save the session”.")
    version = content.get("version")
    if isinstance(version, bool) or not isinstance(version, int):
        raise InputError(f"{name} does not state its version. Save the session again.")
    if version != VERSION:
        raise InputError(
            f"{name} has version {shorten_repr(version)}, but this program reads version {VERSION}. Open it with the "
            "program that saved it."
        )
    return _check(content, name)


def _check(found: Mapping[str, Any], name: str) -> SavedSession:
    keys = set(found) - {"private"}
    if missing := sorted(_NEEDED - keys):
        raise InputError(f"{name} lacks {', '.join(missing)}. Save the session again.")
    if more := sorted(keys - _NEEDED - _MAY):
        raise InputError(f"{name} holds {shorten_repr(more[0])}, which is not a session field. Save the session again.")
    mechanism, options, seed, text = found["mechanism"], found["options"], found.get("seed"), found.get("text")
    if not isinstance(mechanism, str) or not 0 < len(mechanism) <= 200:
        raise InputError(f"{name} does not name a mechanism. Save the session again.")
    if not isinstance(options, dict) or len(options) > MAX_OPTIONS:
        raise InputError(f"{name} has no valid list of options. Save the session again.")
    for option, value in options.items():
        if not isinstance(value, str) or len(value) > MAX_OPTION or len(option) > 200:
            bad = f"an option {shorten_repr(option)} whose value is not valid text"
            raise InputError(f"{name} has {bad}. Save the session again.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or abs(seed) > MAX_SEED):
        raise InputError(f"{name} has a seed that is not a valid whole number. Save the session again.")
    if text is not None:
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise InputError(f"{name} has a text that is invalid or too long. Save the session again.")
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            raise InputError(f"{name} has a text with broken characters. Save the session again.")
    return SavedSession({**options, "mechanism": mechanism}, seed, text)
