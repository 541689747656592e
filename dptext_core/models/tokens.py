"""Tokenizers of language models: word pieces of a text, whole words of a vocabulary, and how texts are framed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConfigError, ModelUnavailable
from ..support import extras
from ..text.language import Language
from ..text.languages import ENGLISH
from ..words.vocabulary import read_pieces
from .windows import Template

if TYPE_CHECKING:
    from ..text.document import Token
    from .registry import MaskedLMSpec

_SURROGATES = re.compile("[\ud800-\udfff]")
_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_MARKERS = ("Ġ", "▁")  # how byte-level BPE and SentencePiece write the space before a word


def clean(text: str) -> str:
    """Return the text in the form that a tokenizer accepts."""
    return _SURROGATES.sub("\ufffd", text)


def owners(offsets: Sequence[tuple[int, int]], tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the token that each piece belongs to, given at least one token: see `MaskedLM.encode`."""
    ends = [t.end for t in tokens]
    at, last = 0, len(tokens) - 1
    for start, end in offsets:
        while at < last and ends[at] <= start:
            at += 1
        yield at - 1 if at and end <= tokens[at].start else at


def first_line(error: Exception) -> str:
    """Return the first line of a library's message, shortened for our own messages."""
    return str(error).strip().split("\n")[0][:200].rstrip(".") or type(error).__name__


def bundled_tokenizer() -> Any:
    """Return the engine of all-MiniLM-L6-v2's tokenizer, over the bundled vocabulary. Raises ModelUnavailable."""
    extras.require("tokenizers")

    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    vocabulary = {piece: i for i, piece in enumerate(read_pieces())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in _SPECIAL.values()])
    return tokenizer


class TrunkTokenizer:
    """The trunk's tokenizer with the few methods of a transformers tokenizer that are used here."""

    model_input_names = ("input_ids", "token_type_ids", "attention_mask")
    is_fast = True

    def __init__(self) -> None:
        self.backend_tokenizer = bundled_tokenizer()
        ids = {name: self.backend_tokenizer.token_to_id(token) for name, token in _SPECIAL.items()}
        self.mask_token_id, self.unk_token_id, self.pad_token_id = ids["mask"], ids["unk"], ids["pad"]
        self.all_special_ids = list(ids.values())

    def get_vocab(self) -> dict[str, int]:
        return self.backend_tokenizer.get_vocab()

    def __call__(
        self, text: str, pair: str | None = None, add_special_tokens: bool = True, return_token_type_ids: bool = True
    ) -> dict[str, list[int]]:
        encoding = self.backend_tokenizer.encode(text, pair, add_special_tokens=add_special_tokens)
        return {"input_ids": encoding.ids, "token_type_ids": encoding.type_ids}


def private_backend(tokenizer: Any) -> Any:
    """Return a copy of the tokenizer's engine that neither truncates nor pads, and stores no words.

    It reads special tokens in a user's text as plain characters.
    """
    extras.require("tokenizers")

    from tokenizers import Tokenizer

    backend = _plain(Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()))
    backend.encode_special_tokens = True
    return backend


def _plain(backend: Any) -> Any:
    """Return a tokenizer's engine that neither truncates nor pads, and stores no words of a text."""
    backend.no_truncation()
    backend.no_padding()
    # The engines of byte-pair and unigram models cache 10,000 words.
    if (resize := getattr(backend.model, "_resize_cache", None)) is not None:
        resize(0)
    return backend


def read_tokenizer(file: Path) -> Any:
    """Return the engine of a tokenizer.json. Raises ModelUnavailable."""
    extras.require("tokenizers")

    from tokenizers import Tokenizer

    try:
        return _plain(Tokenizer.from_file(str(file)))
    except Exception as error:  # tokenizers raises no narrower error
        raise ModelUnavailable(
            f"The tokenizer {file.name} in {file.parent} cannot be read; it may be damaged or truncated. Download the "
            "model again."
        ) from error


def special_id(tokenizer: Any, name: str, spec: MaskedLMSpec) -> int:
    """Return the id of a special token. Raises ConfigError if the tokenizer has none."""
    value = getattr(tokenizer, f"{name}_id")
    if value is None:
        raise ConfigError(f"The tokenizer of {spec.id!r} has no {name.replace('_', ' ')}. Choose another model.")
    return int(value)


def whole_words(tokenizer: Any, language: Language = ENGLISH) -> tuple[np.ndarray, tuple[str, ...], str]:
    """Return a tokenizer's fixed public candidates: ids (ascending), words, and the marker of a word's beginning ("").

    The candidates are the whole words of the language: no special tokens, no pieces inside words, no placeholders. They
    depend on the tokenizer and the language alone.
    """
    vocab: dict[str, int] = tokenizer.get_vocab()
    special = set(tokenizer.all_special_ids)
    marker = ""
    if type(tokenizer.backend_tokenizer.model).__name__ != "WordPiece":
        counts = {m: sum(p.startswith(m) for p in vocab) for m in _MARKERS}
        marker = max(counts, key=lambda m: counts[m])
        if not counts[marker]:
            raise ConfigError("This tokenizer does not mark where words begin, so it does not distinguish words from "
                              "word pieces. Choose another model.")
    words = {}
    for piece, number in vocab.items():
        if piece.startswith(marker) and number not in special and language.is_word(piece[len(marker) :]):
            words[number] = piece[len(marker) :]
    if not words:
        raise ConfigError(f"The vocabulary of this tokenizer has no whole {language.name} words. Choose another model.")
    ids = np.array(sorted(words), np.int64)
    return ids, tuple(words[i] for i in ids.tolist()), marker


def probe_template(tokenizer: Any, uses_types: bool, spec: MaskedLMSpec) -> Template:
    """Return how the tokenizer frames one and two texts, using one probe each."""
    a, b = ([*tokenizer(x, add_special_tokens=False)["input_ids"]] for x in ("a", "b"))

    def split(given: tuple[str, ...], parts: list[list[int]]) -> tuple[Any, tuple[int, ...] | None]:
        probe = tokenizer(*given, return_token_type_ids=uses_types)
        ids, frame, types, start = list(probe["input_ids"]), [], [], 0
        for part in parts:
            at = next((i for i in range(start, len(ids)) if ids[i : i + len(part)] == part), None)
            if at is None or not part:
                raise ConfigError(f"The tokenizer of {spec.id!r} joins two texts in an unknown way. Choose another "
                                  "model.")
            frame.append(tuple(ids[start:at]))
            types += [(start, at), (at, at + len(part))]
            start = at + len(part)
        frame.append(tuple(ids[start:]))
        types.append((start, len(ids)))
        kinds = None
        if uses_types:
            row = list(probe["token_type_ids"])
            kinds = tuple(row[i] if i < j else 0 for i, j in types)
        return tuple(frame), kinds

    single, single_types = split(("a",), [a])
    pair, pair_types = split(("a", "b"), [a, b])
    return Template(single, pair, single_types, pair_types)
