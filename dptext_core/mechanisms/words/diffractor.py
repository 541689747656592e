"""1-Diffractor (Meisenbacher, Chevli, Matthes: IWSPA 2024; Equations 1 to 6).

A list orders all words so that each is next to its nearest (Algorithm 1, ``dptext_core.words.lists``). Integer noise is
added to the word's position, and the word at the noisy position is released: metric DP in positions on the list. With
several lists, each proposes a candidate, and one candidate, chosen uniformly, is released: ε times the largest of the
distances.

* geometric (1-D_G): P(k) = (e^ε−1)/(e^ε+1)·e^(−ε|k|); positions beyond an end become the end.
* tem (1-D_T): the exponential mechanism with score −min(|i−j|, γ), so positions beyond γ are equally likely. In the
  paper (4.1.3), γ depends on ε. As in TEM it is γ(ε) = (2/ε)·ln((1−β)(|V|−1)/β) with β = 0.001 and |V| the length of
  the list, so all positions beyond γ together have probability at most β. For 21,719 positions, ε·γ is 33.8 at any ε:
  no word reveals more than that. Above ε = 33.8, γ is below 1, and ε changes nothing.

Deviations from the paper and its released code:

* Positions end at |V|−1 (the paper writes |V|).
* The released code uses γ = 5 at every ε, which is an option here.
* The word spaces are the bundled ones (the paper has ConceptNet Numberbatch, GloVe and word2vec). L0, L1 and L2 are
  lists over these, of 21,719 or 18,060 words.
* A list is a greedy chain through exact nearest words; the released code searches approximately.
* A word that is missing from one of the lists is an unknown word: with different supports, no finite ε holds. Unknown
  words become random words unless ``oov`` says otherwise (the paper prints them unchanged).
* Words on the blocklist (``never``) are removed from a finished list, and later words move up. The guarantee is the
  same for any public order.

Noise is an integer, sampled by the inverse of its distribution function in the log domain, from ln U of a uniform whose
range covers the list. A table of probabilities would underflow on a long list at ε = 0.04. A float64 uniform ends 745/ε
positions away, so more distant words would be impossible for some originals only. With locked noise, the released
position moves towards the original as ε grows. With γ(ε), it may leave once for the positions beyond γ, whose number
grows; a second uniform decides this because their probability grows with ε. With other noise it never leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConfigError
from ...privacy.distribution import Channel
from ...privacy.kinds import MetricKind
from ...privacy.sampling import LOG_DEPTH, NoiseStream
from ...privacy.terms import Metric
from ...support.checks import without_path
from ...support.task import UNWATCHED, Task
from ...words.lists import CONFIGURATIONS, check_list
from ..config import epsilon_option, keep_stopwords_option, option
from .diffractor_channel import DiffractorChannel
from .list_bundle import Bundle, bundle
from .list_draws import _list_outputs, _random, _read_noise, _words_each
from .list_noise import log_pmf, noisy_place, window
from .word_level import WordMechanism
from .word_options import WordConfig
from .word_trace import Draws, WordPrepared

if TYPE_CHECKING:
    from ...words import WordSpace

#: Maximum number of lists of one mechanism.
MAX_LISTS = 20
#: Kinds of noise: TEM with the paper's window, which depends on ε, and with the released code's window.
NOISES: tuple[dict[str, Any], ...] = (
    {"noise": "geometric"},
    {"noise": "tem", "gamma": None},
    {"noise": "tem", "gamma": 5.0},
)
#: The key of TEM noise with a given γ among the measured ranges of ε: measured with the released code's 5.
FIXED = "tem, γ = 5"
#: In the name of a distance: γ of the longest list; shorter lists have smaller values.
#: Number of positions shown on either side of the word.
WINDOW = 10


@dataclass(frozen=True)
class DiffractorConfig(WordConfig):
    """Options of 1-Diffractor. ``lists``: names of lists, or one of the paper's configurations L0, L1, L2."""

    epsilon: float | tuple[float, ...] = epsilon_option(None, 0.1, 10.0, "per word and place on the list")
    #: Unlike other mechanisms in the paper, 1-Diffractor keeps “a”, “and”, “with” and “is” there (Tables 6 and 7).
    keep_stopwords: bool = keep_stopwords_option()
    noise: str = option(
        "geometric",
        label="Noise",
        changes_distribution=True,
        choices=("geometric", "tem"),
        help="Both kinds of noise prefer near positions. With TEM, all positions beyond γ are equally likely.",
        phrase="{}",
    )
    lists: tuple[str, ...] = option(
        ("L2",),
        label="Lists",
        word_lists=True,
        help="“L2” is one list; “L0” has one list from each of five word spaces, and “L1” has two from each. You can "
        "also name lists.",
        phrase="{}",
    )
    gamma: float | None = option(
        None,
        label="Window γ",
        min=0.0,
        max=1000.0,
        advanced=True,
        help="With TEM noise, all positions beyond γ are equally likely. The default depends on ε and the list "
             "length, as in the paper.",
        phrase="γ = {}",
        unset_phrase="γ from ε",
    )


# --- noise: all functions broadcast over their arguments


class Diffractor(WordMechanism):
    """1-Diffractor: noise on a word's position in one-dimensional lists."""

    name = "diffractor"
    references = ("meisenbacher2024diffractor",)
    title = "1-Diffractor"
    notion = "metric"
    summary = (
        "A random step moves a word along a list of similar words; the word at the new position is released."
    )
    steps = (
        "Your word has a position in lists of similar words",
        "A random step of size 1/ε = {noise} moves the position",
        "The word at this position is released",
    )
    config_cls = DiffractorConfig
    needs = ("word lists",)

    @classmethod
    def resolve(cls, config: Any) -> Any:
        names = tuple(n for given in config.lists for n in CONFIGURATIONS.get(given, (given,)))
        if not names:
            raise ConfigError("lists is empty. Give at least one list, or L0, L1 or L2.")
        for name in names:
            check_list(name)
        if len(names) > MAX_LISTS or len(set(names)) < len(names):
            raise ConfigError(f"lists has too many or repeated lists. Give at most {MAX_LISTS} different ones.")
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
        chosen, sign, log_uniform, log_far = _read_noise(b, *draws.words("lists", _words_each(b)))
        out = _list_outputs(b, draws.rows, draws.epsilons, c.noise, c.gamma, chosen, sign, log_uniform, log_far)
        task.report(len(out), len(out))
        return [b.outputs[i] for i in out.tolist()]

    def _windows(self, epsilon: float) -> np.ndarray:
        """Return the largest distance of positions in the guarantee, for each list, float64 (lists,)."""
        lengths = self.vocabulary.lengths
        most = lengths - 1.0
        if self.config.noise != "tem" or not epsilon:
            return most
        # If each token has its own ε, the widest window applies to all.
        given = self.config.epsilon
        return np.minimum(most, window(self.config.gamma, min(given) if isinstance(given, tuple) else epsilon, lengths))

    def distances(self, words: Sequence[str]) -> np.ndarray:
        """Return the largest distance on any of the lists, in positions; with TEM noise, at most the list's γ."""
        at = {w: i for i, w in enumerate(self.vocabulary.words)}
        rows = np.array([at.get(w.lower(), -1) for w in words])
        places = self.vocabulary.places[:, rows]
        epsilon = self.config.epsilon
        most = self._windows(min(epsilon) if isinstance(epsilon, tuple) else epsilon)
        out = np.minimum(np.abs(places[:, :, None] - places[:, None]), most[:, None, None]).max(axis=0)
        out[rows < 0] = np.nan
        out[:, rows < 0] = np.nan
        return out

    def guarantee_fields(self, epsilon: float) -> dict[str, Any]:
        lists = self.config.lists
        metric = Metric(MetricKind.LIST_PLACES, lists=len(lists))
        # The unit names the lists unless they are the default: positions on other lists are another distance.
        named = {} if lists == CONFIGURATIONS["L2"] else {"names": tuple(map(without_path, lists))}
        distance = Metric(MetricKind.LIST_PLACES, lists=len(lists), **named)
        most = self._windows(epsilon)
        largest = float(most.max())
        if (most < self.vocabulary.lengths - 1).any():
            by_length = self.config.gamma is None and len(set(self.vocabulary.lengths.tolist())) > 1
            metric = metric.at_most(largest, **({"shortest": float(most.min())} if by_length else {}))
        near = min(self.vocabulary.nearest, largest)
        return {"notion": "metric", "metric": metric, "distance": distance, "near": near, "largest": largest}

    @property
    def space(self) -> WordSpace:
        """Return the space of the first list."""
        from ...words import word_space
        from ...words.lists import list_space

        return word_space(list_space(self.config.lists[0]), language=self.language)

    def log_likelihood(self, released: str, epsilon: float, task: Task = UNWATCHED) -> tuple[np.ndarray, float]:
        """Return log-probabilities over all positions of all lists."""
        if not self._draws_as(Diffractor):
            return super().log_likelihood(released, epsilon, task)
        b, noise, gamma = self.vocabulary, self.config.noise, self.config.gamma
        output = b.place_of.get(released.lower())
        out = np.full(len(b.words), -np.inf)
        if output is None:
            return out, 0.0
        for places, where, n in zip(b.places, b.where[:, output].tolist(), b.lengths.tolist(), strict=True):
            task.check()
            if where >= 0:
                out = np.logaddexp(out, log_pmf(noise, epsilon, places, where, n, gamma))
        return out - np.log(len(b.order)), 0.0

    def likelihood_ready(self, epsilon: float) -> bool:
        return self._draws_as(Diffractor) or super().likelihood_ready(epsilon)

    def _similarities(self, row: int) -> Mapping[str, float] | None:
        """Return similarities in the space of the first list."""
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
        """Return one set of options per list: each list belongs to its own space."""
        return cls.variants()
