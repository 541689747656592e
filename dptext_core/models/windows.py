"""Requests for scores at a mask, and the model input of each: template, window, position of the mask."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..errors import InputError
from ..support.private import Private

Pieces = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class MaskRequest(Private):
    """One position to score, with tokens given as word-piece ids (`MaskedLM.encode`, `MaskedLM.word_pieces`).

    `masked`: the tokens of the text in which one mask replaces token `target`. `context`: the tokens of the half before
    it (DP-MLM's contextualised form), or None. `context_target`: the token on which the window of a long context is
    centred; `target` if None. A model that answers queries reads `masked` alone, with token `target` unchanged, or a
    mask if that token has no pieces.
    """

    context: Pieces | None
    masked: Pieces
    target: int
    context_target: int | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """How a tokenizer frames one and two texts: special tokens around them, and the token types of each part.

    `single` and `pair` contain the ids before, between and after the texts. `*_types` contain the types of these and of
    the texts in order of appearance, or None if the model has no token types.
    """

    single: tuple[tuple[int, ...], ...]
    pair: tuple[tuple[int, ...], ...]
    single_types: tuple[int, ...] | None
    pair_types: tuple[int, ...] | None

    def room(self, max_length: int, paired: bool) -> int:
        """Return how many word pieces fit into each text's part of `max_length` positions."""
        parts = self.pair if paired else self.single
        return (max_length - sum(map(len, parts))) // (2 if paired else 1)


@dataclass(frozen=True, slots=True)
class ModelInput(Private):
    """Ids and types of one sequence and the position of its mask; for a query, the text alone and the queried position.

    Queries of one text share the list of its ids.
    """

    ids: list[int]
    types: list[int] | None
    position: int
    query: bool = False


def window(tokens: Pieces, target: int, centre: Sequence[int], room: int) -> tuple[list[int], int]:
    """Return at most `room` word pieces around token `target`, with pieces `centre`, and where `centre` begins.

    The window depends only on numbers of pieces. Near an end of the text, the other side gets the remaining room.
    """
    middle = list(centre[:room])
    remaining = room - len(middle)
    pieces_left: list[int] = []  # reversed
    for i in range(target - 1, -1, -1):
        if len(pieces_left) >= remaining:
            break
        pieces_left.extend(reversed(tokens[i]))
    right: list[int] = []
    for i in range(target + 1, len(tokens)):
        if len(right) >= remaining:
            break
        right.extend(tokens[i])
    n_left = min(len(pieces_left), max(remaining // 2, remaining - len(right)))
    before = pieces_left[:n_left][::-1]
    return [*before, *middle, *right[: remaining - n_left]], n_left


def _outside(request: MaskRequest) -> str:
    n = len(request.masked)
    return f"The position {request.target} is outside the text, which has {n} tokens. Choose one from 0 to {n - 1}."


def model_input(request: MaskRequest, template: Template, mask_id: int, max_length: int) -> ModelInput:
    """Return the sequence for `request`: at most `max_length` positions, with exactly one mask that we inserted."""
    if not 0 <= request.target < len(request.masked):
        raise InputError(_outside(request))
    if request.context is None:
        texts = [window(request.masked, request.target, [mask_id], template.room(max_length, False))]
        frame, part_types = template.single, template.single_types
    else:
        at = request.target if request.context_target is None else request.context_target
        room = template.room(max_length, True)
        if 0 <= at < len(request.context):
            first = window(request.context, at, request.context[at], room)
        else:
            # All context around the target was deleted: use the end nearest to it.
            first = window(request.context, max(-1, min(at, len(request.context))), [], room)
        texts = [first, window(request.masked, request.target, [mask_id], room)]
        frame, part_types = template.pair, template.pair_types
    ids: list[int] = list(frame[0])
    lengths = [len(frame[0])]
    position = 0
    for (text, at), after in zip(texts, frame[1:], strict=True):
        position = len(ids) + at
        ids += text
        ids += after
        lengths += [len(text), len(after)]
    types = None
    if part_types is not None:
        types = [t for t, n in zip(part_types, lengths, strict=True) for _ in range(n)]
    return ModelInput(ids, types, position)


def overlapping(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Return windows (first token, token after the last) over tokens with these numbers of pieces.

    There is one window if all pieces fit into `room`. Otherwise windows begin half a window apart, and the last one is
    full. A token longer than a window has one of its own.
    """
    ends = list(accumulate(lengths))
    starts = [0, *ends[:-1]]
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        after = max(first + 1, bisect_right(ends, starts[first] + room)) if ends else 0
        if after >= len(ends):
            full = bisect_left(starts, ends[-1] - room) if ends else 0
            return [*spans, (min(first, full), len(ends))]
        spans.append((first, after))
        first = min(max(first + 1, bisect_left(starts, starts[first] + room // 2)), after)


class Queries:
    """The queries of a call: each text is windowed and framed once for all its queries.

    `signs`: ids of pieces without a letter or digit, which are never queried.
    """

    def __init__(self, template: Template, mask_id: int, max_length: int, signs: Container[int] = ()):
        self.template, self.mask_id, self.room = template, mask_id, template.room(max_length, False)
        self.signs = signs
        self._texts: dict[int, tuple[Pieces, list[int], list[tuple[int, int]], dict[int, list[int]]]] = {}

    def __call__(self, request: MaskRequest) -> ModelInput:
        """Return the text around the target, and the position of the target's query.

        In a text longer than the window, the query uses the window of `overlapping` in which the target is most
        central. A word of several pieces is queried at its last piece with a letter or digit. At the first piece the
        model answers with that piece ("ref" for "refund"), which is not another word; the last piece has read the whole
        word.
        """
        if not 0 <= request.target < len(request.masked):
            raise InputError(_outside(request))
        tokens, at = request.masked, request.target
        if not tokens[at]:
            tokens = [*tokens[:at], [self.mask_id], *tokens[at + 1 :]]
        if id(tokens) not in self._texts:
            lengths = [len(t) for t in tokens]
            self._texts[id(tokens)] = (tokens, [0, *accumulate(lengths)], overlapping(lengths, self.room), {})
        _, starts, windows, framed = self._texts[id(tokens)]
        middle = starts[at] + starts[at + 1]
        n = min(
            (i for i, (a, b) in enumerate(windows) if a <= at < b),
            key=lambda i: abs(starts[windows[i][0]] + starts[windows[i][1]] - middle),
        )
        first, last = windows[n]
        before, after = self.template.single
        if n not in framed:
            pieces = [piece for token in tokens[first:last] for piece in token][: self.room]
            framed[n] = [*before, *pieces, *after]
        asked = starts[at] - starts[first] + self._query_position(tokens[at][: self.room])
        return ModelInput(framed[n], None, len(before) + asked, query=True)

    def _query_position(self, pieces: Sequence[int]) -> int:
        """Return the position of the last piece that is not a sign; of the first if all are signs."""
        return next((k for k in range(len(pieces) - 1, 0, -1) if pieces[k] not in self.signs), 0)


def bucket(length: int) -> int:
    """Return the padded length of a sequence: a function of its own length only."""
    step = 4 if length <= 64 else 8 if length <= 128 else 32
    return -(-length // step) * step
