"""1-Diffractor (Meisenbacher, Chevli, Matthes: IWSPA 2024; Equations 1 to 6).

A list puts all words in one row, each next to its nearest (Algorithm 1, ``dptext_core.words.lists``). The word's place
gets whole-numbered noise and the word at the noisy place is released: metric DP in places on the list. With several
lists each draws a candidate and one of them, chosen uniformly, is released: ε times the largest of the distances.

* geometric (1-D_G): P(k) = (e^ε−1)/(e^ε+1)·e^(−ε|k|), places beyond an end become the end;
* tem (1-D_T): the exponential mechanism with score −min(|i−j|, γ): places beyond γ count alike. The paper lets γ depend
  on ε (4.1.3): as in TEM it is γ(ε) = (2/ε)·ln((1−β)(|V|−1)/β) with β = 0.001 and |V| the length of the list, so that
  all places beyond γ together are rarer than β. ε·γ is 33.8 for 21,719 places, whatever ε is: no word tells more than
  that, and beyond ε = 33.8, where γ is below 1, ε changes nothing.

Deviations from the paper and its released code:

* places end at |V|−1 (the paper writes |V|);
* released code takes γ = 5 at every ε: an option here;
* the word spaces are the bundled ones (the paper has ConceptNet Numberbatch, GloVe and word2vec), so that lists are as
  long as these (21,719 or 18,060 words), and L0, L1 and L2 are lists of them;
* a list is a greedy chain through exactly nearest words; released code searches approximately;
* a word that one of the lists lacks is an unknown word, since with supports that differ no finite ε holds; unknown
  words are drawn at random unless ``oov`` says otherwise (the paper prints them unchanged);
* words that are never released (``never``) are taken out of a list that was made with them, and those behind move up:
  any public order has the same promise.

Noise is drawn as a whole number, by the inverse of its distribution function in the log domain, from ln U of a uniform
that is extended as far as the list is long: a table of probabilities underflows on a long list at ε = 0.04 already, and
a float64 uniform ends 745/ε places away, so that words beyond would be impossible under some words only. With the
noise locked, the released place comes nearer to the original as ε grows. With γ(ε) it may leave once, to the places
beyond γ, which become more (a second uniform decides that, since their chance grows with ε); with any other noise it
does not leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConfigError
from ...privacy.distribution import Channel, TokenDistribution, seen_at_least_once
from ...privacy.guarantee import bound
from ...privacy.sampling import LOG_DEPTH, NoiseStream, Place, log_full_range
from ...support.checks import placeless
from ...support.task import UNWATCHED, Task
from ...text.language import Language
from ...text.languages import ENGLISH
from ...words.lists import CONFIGURATIONS, WordList, check_list, without, word_list
from ..blocklist import Never
from ..config import epsilon_option, option
from .word_level import Draws, WordConfig, WordMechanism, WordPrepared

if TYPE_CHECKING:
    from ...words import WordSpace

#: Lists that one mechanism takes at most.
MAX_LISTS = 20
#: Places beyond γ(ε) are drawn with this probability or less.
BETA = 0.001
#: Its noises: TEM with the window of the paper, which depends on ε, and with the one of the released code.
NOISES: tuple[dict[str, Any], ...] = (
    {"noise": "geometric"},
    {"noise": "tem", "gamma": None},
    {"noise": "tem", "gamma": 5.0},
)
#: TEM noise with γ given, among the measured ranges of ε: measured with the released code's 5.
FIXED = "tem, γ = 5"
#: In the name of a distance: the γ named is that of the longest list, shorter ones have less.
BY_LENGTH = "by the length of the list"
#: Places shown on either side of the word.
WINDOW = 10


@dataclass(frozen=True)
class DiffractorConfig(WordConfig):
    """Options of 1-Diffractor. ``lists``: names of lists, or one of the paper's configurations L0, L1, L2."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 10.0, "per word and place on the list")
    noise: str = option(
        "geometric",
        label="Noise",
        draws=True,
        choices=("geometric", "tem"),
        help="Both kinds of noise prefer near places. With TEM, all places beyond γ are alike.",
        said="{}",
    )
    lists: tuple[str, ...] = option(
        ("L2",),
        label="Lists",
        lists=True,
        help="L2 is one list, L0 has one list of each of five word spaces, and L1 has two of each. You can also name "
        "lists.",
        said="{}",
    )
    gamma: float | None = option(
        None,
        label="Window γ",
        min=0.0,
        max=1000.0,
        advanced=True,
        help="The TEM noise uses it: places farther away than γ all count alike. Without a value, γ is computed from ε "
        "and the length of the list, as in the paper. The authors' released code takes 5 at every ε.",
        said="γ = {}",
        unset="γ from ε",
    )


@dataclass(frozen=True, eq=False)
class Bundle:
    """Lists that are used together.

    words: those on every list (rows count in them). outputs: those on any list. places: int64 (lists, words), where
    each word stands. order: for each list, the output at each place.
    """

    lists: tuple[WordList, ...]
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    places: np.ndarray
    order: tuple[np.ndarray, ...]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Lower-case word → where it stands among the outputs."""
        return {w.lower(): i for i, w in reversed(list(enumerate(self.outputs)))}

    @cached_property
    def where(self) -> np.ndarray:
        """int64 (lists, outputs): the place of each output, −1 where a list lacks it."""
        found = np.full((len(self.order), len(self.outputs)), -1, np.int64)
        for row, order in zip(found, self.order, strict=True):
            row[order] = np.arange(len(order))
        return found

    @cached_property
    def output_of(self) -> np.ndarray:
        """int64 (words,): the output that each row is."""
        return self.order[0][self.places[0]]

    @cached_property
    def nearest(self) -> float:
        """How many places a word is from its nearest other one on the list where the two are farthest apart: the
        median over 400 words, spread evenly."""
        n = len(self.words)
        if len(self.lists) == 1 or n < 2:
            return 1.0
        nearest = []
        for row in np.unique(np.linspace(0, n - 1, min(400, n)).astype(np.int64)):
            distances = np.abs(self.places - self.places[:, [row]]).max(0)
            nearest.append(np.delete(distances, row).min())
        return float(np.median(nearest))

    @cached_property
    def lengths(self) -> np.ndarray:
        """int64 (lists,)"""
        return np.array([len(o) for o in self.order])


def bundle(names: tuple[str, ...], language: Language = ENGLISH, never: Never | None = None) -> Bundle:
    """The lists of these names, together, without the words that are never released."""
    lists = [word_list(n, language=language) for n in names]
    return _bundled(tuple(one if not never else without(one, never.places(one.words)) for one in lists))


@lru_cache(maxsize=16)
def _bundled(lists: tuple[WordList, ...]) -> Bundle:
    # By the lists, not by their names: one over a user's file is another once that has changed.
    lowered = [[w.lower() for w in one] for one in lists]
    shared = set(lowered[0]).intersection(*lowered[1:])
    if not shared:
        raise ConfigError("These lists have no word in common. Choose lists over the same words.")
    words = tuple(w for w in lowered[0] if w in shared)
    outputs = tuple(dict.fromkeys(w for one in lowered for w in one))
    at = {w: i for i, w in enumerate(outputs)}
    order = tuple(np.array([at[w] for w in one], np.int64) for one in lowered)
    places = np.empty((len(lists), len(words)), np.int64)
    for row, one in zip(places, lowered, strict=True):
        place = {w: i for i, w in enumerate(one)}
        row[:] = [place[w] for w in words]
    return Bundle(lists, words, outputs, places, order)


# --- noise: all functions broadcast over their arguments


def span(length: Any) -> np.ndarray:
    """ε·γ(ε)/2 on a list of ``length``: ln((1−β)(|V|−1)/β)."""
    return np.log(np.maximum(2.0, (1 - BETA) * (np.asarray(length, np.float64) - 1) / BETA))


def window(gamma: float | None, epsilon: Any, length: Any) -> np.ndarray:
    """γ on a list of ``length``: as given, else computed from ε."""
    computed = 2 * span(length) / np.asarray(epsilon, np.float64)
    return computed if gamma is None else np.full(computed.shape, gamma, np.float64)


def log_pmf(noise: str, epsilon: Any, at: Any, to: Any, length: Any, gamma: float | None) -> np.ndarray:
    """ln of the chance that place ``at`` becomes place ``to`` on a list of ``length``, float64."""
    epsilon, at, to = np.asarray(epsilon, np.float64), np.asarray(at), np.asarray(to)
    distance = np.abs(at - to)
    if noise == "geometric":
        # ln tanh(ε/2) and ln 1/(1+e^−ε), without losing digits.
        inside = np.log(-np.expm1(-epsilon)) - np.log1p(np.exp(-epsilon))
        end = (to == 0) | (to == length - 1)
        out = -epsilon * distance + np.where(end, -np.log1p(np.exp(-epsilon)), inside)
        return np.where(np.asarray(length) == 1, 0.0, out)
    near = Window.of(epsilon, at, length, gamma)
    return -epsilon / 2 * np.minimum(distance, near.gamma) - np.logaddexp(near.inside, near.beyond)


@dataclass(frozen=True)
class Window:
    """TEM noise around places: the places at distance ``reach`` or less, and those beyond; all arrays broadcast.

    gamma: γ. reach: the whole places within it. before, after: how many of them lie on either side of the word.
    inside, beyond: ln of the weights of both parts; the word's own is 1.
    """

    epsilon: np.ndarray
    gamma: np.ndarray
    reach: np.ndarray
    before: np.ndarray
    after: np.ndarray
    outside: np.ndarray
    inside: np.ndarray
    beyond: np.ndarray

    @classmethod
    def of(cls, epsilon: Any, at: Any, length: Any, gamma: float | None) -> Window:
        epsilon, at, length = np.asarray(epsilon, np.float64), np.asarray(at), np.asarray(length)
        far = window(gamma, epsilon, length)
        reach = np.minimum(np.floor(far), length).astype(np.int64)
        before, after = np.minimum(at, reach), np.minimum(length - 1 - at, reach)
        outside = length - 1 - before - after
        with np.errstate(divide="ignore"):
            beyond = np.log(outside.astype(np.float64)) - epsilon / 2 * far
        inside = np.logaddexp(0.0, _log_steps(epsilon, before, after, 1))
        return cls(epsilon, far, reach, before, after, outside, inside, beyond)

    def log_tail(self, j: Any) -> np.ndarray:
        """ln of the weight of the places at distance j or more (j ≥ 1) that lie within γ."""
        return _log_steps(self.epsilon, self.before, self.after, j)


def _log_steps(epsilon: np.ndarray, before: np.ndarray, after: np.ndarray, j: Any) -> np.ndarray:
    """ln Σ e^(−εi/2) over i = j … before, and over i = j … after: two geometric series."""
    with np.errstate(divide="ignore"):
        sides = [np.log(-np.expm1(-epsilon / 2 * np.maximum(side + 1 - j, 0))) for side in (before, after)]
    return np.logaddexp(*sides) - epsilon / 2 * j - np.log(-np.expm1(-epsilon / 2))


def _crossing(holds: Callable[[np.ndarray], np.ndarray], n: int, low: float, high: float) -> np.ndarray:
    """From which ε on each of n conditions holds that, once true, stay so; those that hold before ``high``."""
    a, b = np.full(n, low), np.full(n, high)
    for _ in range(60):
        middle = (a + b) / 2
        true = holds(middle)
        a, b = np.where(true, a, middle), np.where(true, middle, b)
    return b[b < high]


def geometric_steps(epsilon: Any, log_uniform: Any) -> np.ndarray:
    """|k| for ln U: the largest m with U ≤ P(|k| ≥ m) = 2·e^(−εm)/(1+e^(−ε)); float64, whole."""
    epsilon = np.asarray(epsilon, np.float64)
    return np.floor((np.log(2.0) - np.log1p(np.exp(-epsilon)) - np.asarray(log_uniform)) / epsilon)


def noisy_place(
    noise: str,
    epsilon: Any,
    at: np.ndarray,
    length: Any,
    gamma: float | None,
    sign: Any,
    log_uniform: Any,
    log_far: Any,
) -> np.ndarray:
    """Where places (m,) land, int64 (m,). sign: ±1; log_uniform: ln U behind the distance; log_far: ln of a uniform
    behind a place beyond γ."""
    if noise == "geometric":
        steps = np.minimum(geometric_steps(epsilon, log_uniform), np.asarray(length, np.float64)).astype(np.int64)
        return np.clip(at + sign * steps, 0, np.asarray(length) - 1)
    near = Window.of(epsilon, at, length, gamma)
    steps, pick = tem_steps(near, gamma is None, log_uniform, log_far)
    # One side only near an end.
    forward, back = at + steps, at - steps
    inside = np.where(
        (sign > 0) & (forward < length) | (back < 0), np.minimum(forward, np.asarray(length) - 1), np.maximum(back, 0)
    )
    first, size = at - near.before, near.before + near.after + 1
    place = np.minimum(np.floor(np.exp(pick) * near.outside), near.outside - 1).astype(np.int64)
    return np.where(steps <= near.reach, inside, np.where(place < first, place, place + size))


def tem_steps(near: Window, computed: bool, log_uniform: Any, log_far: Any) -> tuple[np.ndarray, np.ndarray]:
    """How many places TEM noise goes, reach + 1 for beyond γ; and ln of the uniform that picks a place there.

    With γ given, one uniform decides on the distance and on leaving, whose chance then falls as ε grows. With γ(ε) that
    chance grows, so that the other uniform decides on it: either way each changes its mind once, from one ε on.
    """
    total, extra = np.logaddexp(near.inside, near.beyond), near.beyond
    if computed:
        leaves, pick = log_far <= near.beyond - total, log_uniform
        total, extra = near.inside, np.full(np.shape(near.inside), -np.inf)
    else:
        leaves, pick = np.zeros(np.shape(total), bool), log_far
    low = np.zeros(np.broadcast_shapes(np.shape(near.reach), np.shape(log_uniform)), np.int64)
    high = low + near.reach + 1
    while (low < high).any():
        middle = (low + high + 1) // 2
        reached = log_uniform <= np.logaddexp(near.log_tail(np.maximum(middle, 1)), extra) - total
        low, high = np.where(reached, middle, low), np.where(reached, high, np.maximum(middle - 1, low))
    return np.where(leaves, near.reach + 1, low), pick


@dataclass(frozen=True, eq=False)
class DiffractorChannel(Channel):
    """One word through the lists."""

    bundle: Bundle
    row: int
    noise: str
    gamma: float | None

    @property
    def candidates(self) -> Sequence[str]:
        return self.bundle.outputs

    @property
    def source(self) -> str:
        return self.bundle.words[self.row]

    @property
    def source_index(self) -> np.ndarray:
        return self.bundle.output_of[self.row : self.row + 1]

    def at(self, epsilon: float) -> TokenDistribution:
        b, n = self.bundle, len(self.bundle.order)
        total: np.ndarray | None = None
        for place, order in zip(b.places[:, self.row], b.order, strict=True):
            log_p = np.full(len(b.outputs), -np.inf)
            log_p[order] = log_pmf(self.noise, epsilon, place, np.arange(len(order)), len(order), self.gamma)
            total = log_p if total is None else np.logaddexp(total, log_p)
        assert total is not None
        return TokenDistribution(
            candidates=self.candidates,
            log_probs=total - np.log(n),
            source=self.source,
            epsilon=float(epsilon),
            draws=None,
            _keep=self.source_index,
            _sampler=lambda m, stream: self._sample(epsilon, m, stream),
            depth=LOG_DEPTH,
        )

    def _sample(self, epsilon: float, n: int, stream: NoiseStream) -> np.ndarray:
        return released(self.bundle, np.full(n, self.row), np.full(n, epsilon), self.noise, self.gamma, stream, n)[0]

    def draw(self, epsilon: float, stream: NoiseStream) -> int:
        return int(self._sample(epsilon, 1, stream)[0])

    def flips(self, stream: NoiseStream, low: float, high: float) -> list[tuple[float, int]]:
        chosen, sign, log_uniform, log_far = _random(self.bundle, stream, 1)
        c = int(chosen[0])
        at, length, order = self.bundle.places[c, self.row], self.bundle.lengths[c], self.bundle.order[c]
        args = (sign[0, c], log_uniform[0, c], log_far[0, c])

        def landed(epsilon: np.ndarray) -> np.ndarray:
            return noisy_place(self.noise, epsilon, np.full(len(epsilon), at), length, self.gamma, *args)

        def steps(epsilon: np.ndarray) -> np.ndarray:
            """How far the noise goes, leaving by the second uniform apart: it falls as ε grows."""
            if self.noise == "geometric":
                return geometric_steps(epsilon, args[1])
            near = Window.of(epsilon, at, length, self.gamma)
            return tem_steps(near, self.gamma is None, args[1], np.inf)[0]

        most = int(min(steps(np.array([low]))[0], length))
        wanted = np.arange(1, most + 1)
        points = [_crossing(lambda e: steps(e) < wanted, most, low, high)]
        if self.noise == "tem" and self.gamma is None:
            # From where it is beyond γ, its place changes whenever the window gets smaller: at whole γ.
            gone = _crossing(
                lambda e: args[2] <= (n := Window.of(e, at, length, None)).beyond - np.logaddexp(n.inside, n.beyond),
                1,
                low,
                high,
            )
            whole = np.arange(1, int(min(window(None, low, length), length)) + 1)
            edges = 2 * span(length) / whole * (1 + 1e-15)
            points += [gone, edges[(edges > (gone[0] if len(gone) else np.inf)) & (edges < high)]]
        found = np.append([low], np.unique(np.concatenate(points)))
        out: list[tuple[float, int]] = []
        for epsilon, place in zip(found, landed(found), strict=True):
            if not out or out[-1][1] != order[place]:
                out.append((float(epsilon), int(order[place])))
        return out

    def shown(self, n: int, low: float, high: float) -> np.ndarray:
        b = self.bundle
        each = max(1, n // len(b.order) // 2)
        near = [
            order[max(0, place - each) : place + each + 1]
            for place, order in zip(b.places[:, self.row], b.order, strict=True)
        ]
        found = np.unique(np.concatenate(near))
        best = self.log_p(np.geomspace(low, high, 5), found).max(axis=1)
        return found[np.argsort(-best, kind="stable")[:n]]

    def deniability(self, epsilon: float) -> tuple[float, float]:
        """Only places near the word: geometric noise beyond has a chance below 1e-19 together, TEM's beyond is even."""
        if self.noise == "tem" and len(set(self.bundle.lengths.tolist()) | {len(self.bundle.outputs)}) > 1:
            return super().deniability(epsilon)  # lists over different words
        b, n = self.bundle, len(self.bundle.order)
        outputs, chances, even = [], [], 0.0
        for at, order in zip(b.places[:, self.row].tolist(), b.order, strict=True):
            size, beyond = len(order), 0.0
            reach = int(min(size, 46.0 / epsilon)) + 1
            if self.noise == "tem":
                near = Window.of(epsilon, at, size, self.gamma)
                reach = int(near.reach)
                if near.outside:
                    beyond = float(np.exp(near.beyond - np.logaddexp(near.inside, near.beyond)) / near.outside)
            to = np.arange(max(0, at - reach), min(size, at + reach + 1))
            p = np.exp(log_pmf(self.noise, epsilon, at, to, size, self.gamma))
            even += beyond / n
            outputs.append(order[to])
            chances.append((p - beyond) / n)
        which, place = np.unique(np.concatenate(outputs), return_inverse=True)
        p = np.bincount(place, np.concatenate(chances)) + even
        keep = float(p[which == self.source_index[0]].sum())
        distinct = seen_at_least_once(p, 100).sum()
        if even:
            distinct += (len(b.outputs) - len(which)) * seen_at_least_once(np.array([even]), 100)[0]
        return keep, float(distinct)

    def log_p(self, epsilons: np.ndarray, which: np.ndarray) -> np.ndarray:
        b = self.bundle
        to = b.where[:, which][:, :, None]
        log_p = log_pmf(
            self.noise,
            np.asarray(epsilons),
            b.places[:, self.row][:, None, None],
            to,
            b.lengths[:, None, None],
            self.gamma,
        )
        log_p = np.where(to >= 0, log_p, -np.inf)
        return np.logaddexp.reduce(log_p, axis=0) - np.log(len(b.order))


def _random(bundle: Bundle, stream: NoiseStream, n: int):
    """The chosen list (n,), signs, ln U and ln of far uniforms (n, lists) of the first n tokens of a stream."""
    each = _words_each(bundle)
    return _read(bundle, stream.words(n * each).reshape(n, each), lambda j: (stream, j))


def _words_each(bundle: Bundle) -> int:
    """How many random words a token takes."""
    return 2 * (1 + len(bundle.order))


def _read(bundle: Bundle, words: np.ndarray, token: Place):
    """What the random words of tokens (n, each) come to: see :func:`_random`. token: of row j its stream and number."""
    lists, each = len(bundle.order), words.shape[1]
    chosen = np.minimum((words[:, 0] * 2.0**-64 * lists).astype(np.int64), lists - 1)
    sign = np.where(words[:, 1, None] >> np.arange(lists, dtype=np.uint64) & 1, 1, -1)

    def place(j: int) -> tuple[NoiseStream, int]:
        row, column = divmod(j, each - 2)
        stream, number = token(row)
        return stream, number * each + 2 + column

    logs = log_full_range(words[:, 2:].ravel(), place).reshape(-1, each - 2)
    return chosen, sign, logs[:, :lists], logs[:, lists:]


def released(
    bundle: Bundle,
    rows: np.ndarray,
    epsilons: np.ndarray,
    noise: str,
    gamma: float | None,
    stream: NoiseStream,
    n: int,
    tokens: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The released output of each row (m,), and the list it came from.

    tokens: which of the n tokens of the stream each row is; all in order without it.
    """
    drawn = _random(bundle, stream, n)
    chosen, sign, log_uniform, log_far = drawn if tokens is None else (x[tokens] for x in drawn)
    return _land(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, log_far), chosen


def _land(bundle, rows, epsilons, noise, gamma, chosen, sign, log_uniform, log_far) -> np.ndarray:
    """Outputs (m,) of rows through their chosen lists."""
    each = np.arange(len(rows))
    at, length = bundle.places[chosen, rows], bundle.lengths[chosen]
    place = noisy_place(
        noise, epsilons, at, length, gamma, sign[each, chosen], log_uniform[each, chosen], log_far[each, chosen]
    )
    out = np.empty(len(rows), np.int64)
    for c, order in enumerate(bundle.order):
        mine = chosen == c
        out[mine] = order[place[mine]]
    return out


class Diffractor(WordMechanism):
    """1-Diffractor: noise on a word's place in one-dimensional lists."""

    name = "diffractor"
    references = ("meisenbacher2024diffractor",)
    title = "1-Diffractor"
    notion = "metric"
    summary = (
        "The place of a word in a row of near words is moved by a random number; the word that stands "
        "there is released."
    )
    steps = (
        "Your word has a place in rows of near words",
        "A random step of size 1/ε = {noise} moves the place",
        "The word that stands there is released",
    )
    config_cls = DiffractorConfig
    needs = ("word lists",)

    @classmethod
    def resolve(cls, config: Any) -> Any:
        names = tuple(n for given in config.lists for n in CONFIGURATIONS.get(given, (given,)))
        if not names:
            raise ConfigError("lists is empty. Give at least one, or L0, L1, L2.")
        for name in names:
            check_list(name)
        if len(names) > MAX_LISTS or len(set(names)) < len(names):
            raise ConfigError(f"lists takes at most {MAX_LISTS} lists, each once.")
        return replace(config, lists=names)

    @classmethod
    def range_key(cls, options: Mapping[str, Any]) -> str:
        noise = str(options.get("noise", "geometric"))
        return noise if noise != "tem" or options.get("gamma") is None else FIXED

    @cached_property
    def vocabulary(self) -> Bundle:
        return bundle(self.config.lists, self.language, self.never)

    @cached_property
    def max_epsilon(self) -> float:
        """The noise reaches both ends of the longest list."""
        return min(super().max_epsilon, LOG_DEPTH / float(self.vocabulary.lengths.max()))

    def channel(self, row: int) -> Channel:
        return DiffractorChannel(self.vocabulary, row, self.config.noise, self.config.gamma)

    def _stream(self, prepared: WordPrepared, i: int, stream: NoiseStream) -> NoiseStream:
        return stream.at("lists").skip(i * (1 + len(self.config.lists)))

    def _draw(self, draws: Draws, task: Task = UNWATCHED) -> list[str]:
        task.check()
        b, c = self.vocabulary, self.config
        chosen, sign, log_uniform, log_far = _read(b, *draws.words("lists", _words_each(b)))
        out = _land(b, draws.rows, draws.epsilons, c.noise, c.gamma, chosen, sign, log_uniform, log_far)
        task.report(len(out), len(out))
        return [b.outputs[i] for i in out.tolist()]

    def _windows(self, epsilon: float) -> np.ndarray:
        """How far places on each list are apart at most in the promise, float64 (lists,)."""
        lengths = self.vocabulary.lengths
        most = lengths - 1.0
        if self.config.noise != "tem" or not epsilon:
            return most
        # Where tokens have an ε each, the widest window serves all.
        given = self.config.epsilon
        return np.minimum(most, window(self.config.gamma, min(given) if isinstance(given, tuple) else epsilon, lengths))

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """The largest distance on any of the lists, in places; at most the list's γ for the TEM noise."""
        at = {w: i for i, w in enumerate(self.vocabulary.words)}
        rows = np.array([at.get(w.lower(), -1) for w in words])
        places = self.vocabulary.places[:, rows]
        epsilon = self.config.epsilon
        most = self._windows(min(epsilon) if isinstance(epsilon, tuple) else epsilon)
        out = np.minimum(np.abs(places[:, :, None] - places[:, None]), most[:, None, None]).max(axis=0)
        out[rows < 0] = np.nan
        out[:, rows < 0] = np.nan
        return out

    def promise(self, epsilon: float) -> dict[str, Any]:
        lists = self.config.lists
        name = (
            "places on the list"
            if len(lists) == 1
            else f"places on the list where they are farthest apart, of {len(lists)}"
        )
        # A total names other lists than the one that is taken by default: their places are another distance.
        distance = name if lists == CONFIGURATIONS["L2"] else f"{name}: {', '.join(map(placeless, lists))}"
        most = self._windows(epsilon)
        largest = float(most.max())
        if (most < self.vocabulary.lengths - 1).any():
            name += f", at most γ = {bound(largest)}"
            if self.config.gamma is None and len(set(self.vocabulary.lengths.tolist())) > 1:
                name += f" {BY_LENGTH} ({bound(most.min())} on the shortest)"
        near = min(self.vocabulary.nearest, largest)
        return {"notion": "metric", "metric": name, "distance": distance, "near": near, "largest": largest}

    @property
    def space(self) -> WordSpace:
        """That of the first list."""
        from ...words import word_space
        from ...words.lists import list_space

        return word_space(list_space(self.config.lists[0]), language=self.language)

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """All places of all lists."""
        if not self._draws_as(Diffractor):
            return super().log_likelihood(released, epsilon, task)
        b, noise, gamma = self.vocabulary, self.config.noise, self.config.gamma
        found = b.place_of.get(released.lower())
        out = np.full(len(b.words), -np.inf)
        if found is None:
            return out, 0.0
        for places, where, n in zip(b.places, b.where[:, found].tolist(), b.lengths.tolist(), strict=True):
            task.check()
            if where >= 0:
                out = np.logaddexp(out, log_pmf(noise, epsilon, places, where, n, gamma))
        return out - np.log(len(b.order)), 0.0

    def likelihood_ready(self, epsilon: float) -> bool:
        return self._draws_as(Diffractor) or super().likelihood_ready(epsilon)

    def _similarities(self, row: int) -> Mapping[str, float] | None:
        """In the space of the first list."""
        space = self.space
        return dict(zip(space.words, space.similarities(self.vocabulary.words[row]).tolist(), strict=True))

    def _views(self, released: str, row: int, epsilon: float, stream: NoiseStream) -> tuple:
        from ...explain import DiffractionView, ListNeighbourhood

        b, c = self.vocabulary, self.config
        chosen, sign, log_uniform, log_far = _random(b, stream, 1)
        lanes = []
        for j, order in enumerate(b.order):
            at, n = int(b.places[j, row]), len(order)
            to = np.arange(max(0, at - WINDOW), min(n, at + WINDOW + 1))
            random = (sign[0, j], log_uniform[0, j], log_far[0, j])
            landed = int(noisy_place(c.noise, epsilon, np.array([at]), n, c.gamma, *random)[0])
            chances = np.exp(log_pmf(c.noise, epsilon, at, to, n, c.gamma))
            words = tuple(b.outputs[order[i]] for i in to)
            lanes.append(ListNeighbourhood(c.lists[j], words, to - at, chances, b.outputs[order[landed]], landed - at))
        return (DiffractionView(b.words[row], released, tuple(lanes), int(chosen[0])),)

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return tuple({**noise, "lists": (name,)} for noise in NOISES for name in ("L2", "L0", "L1"))

    @classmethod
    def over_spaces(cls, spaces: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """Its lists come from spaces of their own: each of them, whatever the spaces."""
        return cls.variants()
