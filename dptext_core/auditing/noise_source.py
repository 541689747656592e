"""Test that the noise of a release comes from the given stream, and from all of its bits.

Every guarantee requires noise that is secret, fresh and fine-grained. Outputs alone do not show that: a generator with
a fixed seed, or with 65,536 seeds, passes any test of a distribution. So the same text is rewritten with streams whose
numbers the audit exchanges (``tapped``), and the releases are compared:

* elsewhere: the same stream, with or without a seed, must give the same release from any instance;
* numbers: with other numbers under the same name, the release must change as with another stream, also if only the
  leading bits change. The probability that a correct mechanism changes in none of the trials is below 2^−20;
* bits: bisection finds a boundary between two numbers with different releases. If each boundary is a number with at
  most 32 significant bits, the uniforms are that coarse. A correct mechanism reads at least 53 bits: each of its
  boundaries is that round with probability 2^−12, and BOUNDARIES of them are tested;
* entropy: the samples cannot have more entropy than the numbers that were read;
* separate noise: each word of a mechanism that samples words one by one has numbers that affect no other word.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import NoDistribution
from ..mechanisms.base import Mechanism, Prepared
from ..privacy.sampling import NoiseStream
from ..result import RewriteResult
from .checks import Subject
from .release_statistics import drawn_words, has_alignment, is_cheap, new_instance, public_words, with_small_epsilon
from .report import Check, Witness
from .rules import flat
from .tapped import EXTENSION, PREFIX, Exchange, Group, Tape, TappedStream

NAME = "source of noise"
#: Number of releases that must differ before equal ones count, and of streams that are tried for this.
CHANGES, TRIES = 20, 80
#: Number of boundaries that are tested before uniforms are called coarse; one fine boundary ends the search.
BOUNDARIES = 24
#: Maximum significant bits of coarse uniforms; and the extra precision before a boundary counts as coarse.
COARSE, CLOSER = 32, 12
#: Number of leading bits of a 64-bit number, and of a 32-bit prefix.
TOP, TOP_PREFIX = 24, 12
#: Number of words of the text whose entropy is counted, for mechanisms that sample words one by one and for others.
WORDS, MODEL_WORDS = 100, 6
#: Number of words that must each have separate noise, and of exchanges of the numbers of each group.
PLACES, EXCHANGES, MORE = 6, 2, 20
#: Maximum number of a group's numbers that are exchanged one by one.
MOST_NUMBERS = 200

#: The exchanged numbers: those of a group, or the one at a place of it.
Unit = tuple[Group, int | None]
#: More bits than COARSE.
FINE = 1 << 10

REPLAY = "releases do not follow from the given noise: the mechanism uses another source"


def noise_source(subject: Subject) -> Check | None:
    """Test that all noise comes from the given stream, with the precision and entropy that the stated distributions
    need."""
    m = new_instance(with_small_epsilon(subject.m))
    stream = subject.stream.at(NAME)
    n = WORDS if m.by_word is not None else MODEL_WORDS
    if has_alignment(m):
        words = drawn_words(m, [p.word for p in subject.probes], n, stream.at("words"), subject.meter)
    else:
        words = public_words(m, n, stream.at("words"))
    if not words:
        return None
    rewriter = _Releases(m, stream, subject)
    return rewriter.check_source(words)


def without_seed(stream: NoiseStream) -> NoiseStream:
    """Return the stream with the same numbers but without a declared seed, as in a private run."""
    return NoiseStream.of_key(stream._key)


def global_generators() -> dict[str, object]:
    """Return the states of the global generators, by the name of their library."""
    states: dict[str, object] = {"random": hash(random.getstate())}
    state: Any = np.random.get_state(legacy=False)
    states["numpy.random"] = (hash(state["state"]["key"].tobytes()), state["state"]["pos"], state["gauss"])
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "get_rng_state"):
        states["torch"] = hash(torch.get_rng_state().numpy().tobytes())
    return states


def generators_read(before: dict[str, object]) -> list[str]:
    """Return the libraries whose generators were read since these states."""
    return [name for name, state in global_generators().items() if before.get(name, state) != state]


@dataclass
class _Releases:
    """Releases of one mechanism under streams with exchanged numbers."""

    m: Mechanism
    stream: NoiseStream
    subject: Subject
    draws: int = 0
    _others: dict[tuple[int, Group], np.ndarray] = field(default_factory=dict)

    def check_source(self, words: Sequence[str]) -> Check:
        """Return the result of the check."""
        m = self.m
        texts = [" ".join(words[:PLACES]), words[0]]
        subject_text = f"{len(words)} words"
        if (check := self._elsewhere(texts[:1] * 2)) is not None:
            return check
        prepared = m.prepare(texts[0], task=self.subject.meter.task)
        if (check := self._numbers(prepared)) is not None:
            return check
        if (check := self._entropy(m.prepare(" ".join(words)))) is not None:
            return check
        costly = not is_cheap(m)
        if not costly and (check := self._coarse(m.prepare(texts[1]))) is not None:
            return check
        if m.by_word is not None and (check := self._own(prepared)) is not None:
            return check
        looked = f"Rewrites of {subject_text} with some or all random numbers replaced."
        blind = "a weak generator that is seeded with more bits than its draws need"
        if costly:
            blind = "random numbers of few bits, if each draw needs a pass of a model; nor " + blind
        return Check(NAME, "tested", looked, blind=blind, draws=self.draws)

    def rewrite(self, text: str | Prepared, stream: NoiseStream, exchange: Exchange | None = None) -> RewriteResult:
        """Return one rewrite; another check tests its rules."""
        self.draws += 1
        tapped = TappedStream.of(stream, Tape(exchange))
        return self.m.rewrite(text, stream=tapped, task=self.subject.meter.task)

    # --- elsewhere

    def _elsewhere(self, texts: Sequence[str]) -> Check | None:
        """Check that the same numbers give the same release: with and without a seed, by another instance and at
        another time."""
        for k, text in enumerate(texts):
            seeded = NoiseStream(1 + k)
            before, first = global_generators(), self.m.rewrite(text, stream=seeded).text
            read = generators_read(before)
            ways = {
                "a second time": (self.m, seeded),
                "by another instance": (new_instance(self.m), seeded),
                "with an undeclared seed": (self.m, without_seed(seeded)),
                "without a seed, by another instance": (new_instance(self.m), without_seed(seeded)),
            }
            for way, (m, stream) in ways.items():
                self.draws += 1
                if m.rewrite(text, stream=stream).text != first:
                    message = f" (the generator of {' and '.join(read)} was also read)" if read else ""
                    message = f"“{flat(text)}” was rewritten differently {way}, with the same random numbers{message}."
                    where = f" ({', '.join(read)})" if read else ""
                    return self._refuted(text, message, f"{REPLAY}{where}.")
        return None

    # --- numbers, and their leading bits

    def _numbers(self, prepared: Prepared) -> Check | None:
        """Check that the release depends on the numbers of the stream, and on their leading bits."""
        changed, fixed = 0, {"numbers": 0, "leading bits": 0}
        for k in range(TRIES):
            key = self.stream.at("numbers", k)
            first = self.rewrite(prepared, without_seed(key)).text
            changed += self.rewrite(prepared, without_seed(key.at("other"))).text != first
            for what, exchange in (("numbers", self._all(k)), ("leading bits", self._leading(k))):
                fixed[what] += self.rewrite(prepared, without_seed(key), exchange).text == first
            if changed >= CHANGES or (k >= 5 and max(fixed.values()) <= k):
                break
        n = k + 1
        if changed < CHANGES:
            return None
        text = f"“{flat(prepared.text)}”"
        if fixed["numbers"] == n:
            message = f"With other numbers under the same noise ID, {n} of {n} releases of {text} are the same."
            reason = "releases do not follow from the random numbers of the noise, but from public data such as its ID."
            return self._refuted(prepared.text, message, reason)
        if fixed["leading bits"] == n:
            message = f"With other leading bits of all numbers, {n} of {n} releases of {text} are the same."
            reason = (
                f"no more than {64 - TOP} bits of each random number are used, so there are few possible noise values."
            )
            return self._refuted(prepared.text, message, reason)
        return None

    def _all(self, k: int) -> Exchange:
        return lambda group, places, numbers: self._other(k, group, places).astype(numbers.dtype)

    def _leading(self, k: int) -> Exchange:
        def exchange(group: Group, places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            if group[1] == EXTENSION:
                return numbers
            width, top = (32, TOP_PREFIX) if group[1] == PREFIX else (64, TOP)
            low = numbers.dtype.type((1 << width - top) - 1)
            return (numbers & low) | (self._other(k, group, places).astype(numbers.dtype) & ~low)

        return exchange

    def _other(self, k: int, group: Group, places: np.ndarray) -> np.ndarray:
        """Return other numbers for these places of a group, the same ones each time; uint64, or uint32 for a prefix."""
        size = int(places.max(initial=0)) + 1
        known = self._others.get((k, group))
        if known is None or len(known) < size:
            words = self.stream.at("exchanged", k, repr(group)).words(size)
            known = (words >> np.uint64(32)).astype(np.uint32) if group[1] == PREFIX else words
            if len(self._others) > 64:
                self._others.clear()
            self._others[k, group] = known
        return known[places]

    # --- entropy

    def _entropy(self, prepared: Prepared) -> Check | None:
        """Return a reason for doubt if the samples have more entropy than the bits that were read."""
        tape = Tape()
        result = self.m.rewrite(prepared, stream=TappedStream.of(self.stream.at("entropy"), tape))
        if result.no_chances:
            return None
        entropy = sum(d.entropy() for _, d in result.distributions() if d.draws is None)
        if entropy <= tape.bits:
            return None
        reason = (
            f"draws with {entropy:,.0f} bits of entropy read {tape.bits} random bits of the noise that the mechanism "
            "is given. It uses another generator, which the audit cannot inspect."
        )
        return Check(NAME, "not tested", "", reason, draws=self.draws)

    # --- coarse uniforms

    def _coarse(self, prepared: Prepared) -> Check | None:
        """Check for uniforms of few bits, for which all boundaries between two releases are round numbers."""
        precisions = list[int]()
        for bits in self._boundaries(prepared):
            if bits == FINE:
                return None
            precisions.append(bits)
        if len(precisions) < BOUNDARIES:
            return None
        widest = max(precisions)
        few = f"{widest} bits or fewer"
        message = (
            f"A release of “{flat(prepared.text)}” changes only at random numbers of {few} ({len(precisions)} "
            "tries)."
        )
        reason = f"the random numbers of its draws have {few}, so rarer outputs never occur, and no finite ε holds."
        try:
            d = self.m.distribution(prepared, 0) if has_alignment(self.m) else None
        except NoDistribution:
            d = None
        if d is not None and d.draws is None:
            steps = d.probs * 2.0**widest
            if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6):
                return None  # so many bits are enough
            return self._refuted(prepared.text, message, reason)
        doubt = (
            f"only {few} of each random number are used. Without stated probabilities, it is unknown whether that "
            "is enough."
        )
        return Check(NAME, "not tested", "", doubt, draws=self.draws)

    def _boundaries(self, prepared: Prepared) -> Iterator[int]:
        """Return the precision in bits of the read numbers, from boundaries between two releases of a text."""
        n = 0
        for k in range(4 * BOUNDARIES):
            self.subject.meter.task.check()
            if n == BOUNDARIES:
                return
            if (bits := self._boundary(prepared, k)) is not None:
                n += 1
                yield bits

    def _boundary(self, prepared: Prepared, k: int) -> int | None:
        key = without_seed(self.stream.at("boundary", k))
        tape = Tape()
        first = self.m.rewrite(prepared, stream=TappedStream.of(key, tape)).text
        groups = list(tape.sizes.items())
        turn = k % max(1, len(groups))
        groups = groups[turn:] + groups[:turn]
        ends = np.cumsum([size for _, size in groups])

        def mixed(upto: int, at: tuple[Group, int] | None = None, value: int = 0) -> Exchange:
            """Return an exchange of the first numbers up to one, which is set to a value."""
            begins = {g: int(end) - size for (g, size), end in zip(groups, ends, strict=True)}

            def exchange(group: Group, places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
                full_group = (group[0], PREFIX) if group[1] == EXTENSION else group
                out = numbers.copy()
                chosen = np.flatnonzero(begins.get(full_group, upto) + places < upto)
                out[chosen] = self._other(-1 - k, group, places[chosen])
                if at is not None and full_group == at[0]:
                    number = value >> 64 if group[1] == PREFIX else value & ((1 << 64) - 1)
                    out[places == at[1]] = number
                return out

            return exchange

        def same(exchange: Exchange) -> bool:
            return self.rewrite(prepared, key, exchange).text == first

        low, high = 0, int(ends[-1]) if len(ends) else 0
        if not high or same(mixed(high)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if same(mixed(middle)) else (low, middle)
        which = int(np.searchsorted(ends, low, side="right"))
        group = groups[which][0]
        at = (group, low - (int(ends[which]) - groups[which][1]))
        a, b = self._numbers_at(prepared, key, mixed, low, at, k)
        if same(mixed(low, at, b)) or not same(mixed(low, at, a)):
            return None  # the numbers read depend on the sample
        width = 96 if group[1] == PREFIX else 64
        return _resolution(a, b, width, lambda value: same(mixed(low, at, value)))

    def _numbers_at(
        self,
        prepared: Prepared,
        key: NoiseStream,
        mixed: Callable[..., Exchange],
        low: int,
        at: tuple[Group, int],
        k: int,
    ) -> tuple[int, int]:
        """Return the number of a variable in the stream, and its replacement, with 64 more bits for a prefix."""
        (path, purpose), place = at
        parts: dict[str, int] = {}
        plain = mixed(low)

        def noted(group: Group, places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            if group[0] == path and group[1] in (purpose, EXTENSION):
                for j in np.flatnonzero(places == place)[:1]:
                    parts.setdefault(group[1], int(numbers[j]))
            return plain(group, places, numbers)

        self.rewrite(prepared, key, noted)
        other = int(self._other(-1 - k, at[0], np.array([place]))[0])
        if purpose != PREFIX:
            return parts.get(purpose, 0), other
        more = int(self._other(-1 - k, (path, EXTENSION), np.array([place]))[0])
        return parts.get(PREFIX, 0) << 64 | parts.get(EXTENSION, 0), other << 64 | more

    # --- separate noise

    def _own(self, prepared: Prepared) -> Check | None:
        """Return a reason for doubt if a word has no numbers that affect only this word."""
        key, tape = without_seed(self.stream.at("own")), Tape()
        base = self.m.rewrite(prepared, stream=TappedStream.of(key, tape))
        words = [s.replacement for s in base.steps]

        def moved_by(unit: Unit, k: int) -> set[int]:
            steps = self.rewrite(prepared, key, self._one(unit, k)).steps
            return {i for i, (s, w) in enumerate(zip(steps, words, strict=True)) if s.replacement != w}

        moves: dict[Unit, set[int]] = {
            (group, None): set().union(*(moved_by((group, None), k) for k in range(EXCHANGES))) for group in tape.sizes
        }
        # A group that affects several words may have numbers for each of them.
        for group, size in tape.sizes.items():
            if len(moves[group, None]) > 1 and size <= MOST_NUMBERS:
                del moves[group, None]
                moves |= {(group, j): set() for j in range(size)}
        for k in range(EXCHANGES, EXCHANGES + MORE):
            separate = {i for places in moves.values() if len(places) == 1 for i in places}
            lacking = sorted(set().union(*moves.values()) - separate)
            if not lacking and k > EXCHANGES:
                return None
            for unit, places in moves.items():
                places |= moved_by(unit, k)
        i = lacking[0]
        others = sorted(set().union(*(p for p in moves.values() if i in p)) - {i})
        named = ", ".join(f"“{base.steps[j].original}”" for j in others)
        reason = (
            f"the draw of “{base.steps[i].original}” shares all its noise with the draws of {named}, so it is unknown "
            "whether they are independent."
        )
        return Check(NAME, "not tested", "", reason, draws=self.draws)

    def _one(self, unit: Unit, k: int) -> Exchange:
        (path, purpose), place = unit

        def exchange(group: Group, places: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            if group[0] != path or group[1] not in (purpose, EXTENSION):
                return numbers
            chosen = np.ones(len(places), bool) if place is None else places == place
            return np.where(chosen, self._other(10_000 + k, group, places), numbers)

        return exchange

    def _refuted(self, text: str, details: str, reason: str) -> Check:
        looked = "Rewrites with given random numbers."
        return Check(NAME, "refuted", looked, reason, Witness.of_rule(details, text, kind="release"), draws=self.draws)


def _resolution(a: int, b: int, width: int, same: Callable[[int], bool]) -> int:
    """Return the precision in bits from the boundary between a, whose release is the first one, and b; FINE if it has
    more than COARSE significant bits."""
    while True:
        low, high = sorted((a, b))
        grid = 1 << max(0, high.bit_length() - COARSE)
        if high // grid == low // grid and low % grid:
            return FINE  # no round number remains between them
        if high - low <= 1 or (high - low) << CLOSER < grid:
            break
        middle = (a + b) // 2
        a, b = (middle, b) if same(middle) else (a, middle)
    for bits in range(1, width):
        grid = 1 << width - bits
        if high // grid != low // grid or not low % grid:
            return bits
    return FINE
