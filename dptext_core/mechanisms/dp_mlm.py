"""DP-MLM and DP-MLM± (Meisenbacher, Chevli, Vladika, Matthes: Findings of ACL 2024; Algorithms 1 to 3, Appendix A).

Each word is masked, a masked language model scores every candidate at the mask, the scores are clipped to
[Cmin, Cmax], and one candidate is drawn with probability ∝ exp(ε·clipped / 2(Cmax−Cmin)): the exponential mechanism,
ε-LDP per word for any two contexts.

Deviations from the paper and its released code, each on purpose:

* all words are masked and drawn in parallel, each in the original text; ``order="sequential"`` is Algorithm 2 as
  printed, where later words see earlier replacements;
* punctuation is kept unless ``keep_punctuation=False``;
* the bundled model was trained with the context half as input (pairs of a text and the same text with words masked);
  the paper takes an encoder as it was pretrained, which never saw a text beside its masked copy;
* candidates are a fixed, public set of whole words; the released code also samples word pieces;
* the draw is float64 with full-range noise: a float32 softmax gives some words probability 0 from ε ≈ 190 on;
* the capital letter of an original word is not copied to its replacement unless ``recase="original"`` asks for it;
* long texts: a window centred on the target, in each half;
* Algorithm 3: a deleted token is removed (as printed, the last originals would survive verbatim), the choices to
  delete and to add use two random numbers, and both concern only tokens that are replaced, so that n is their number;
* Appendix A: the similarity is that of two static word vectors (the paper compares whole sentences), and both parts
  are clipped, so that the sensitivity is (simmax−simmin) + α(Cmax−Cmin).
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from ..checks import whole
from ..distribution import Channel, ScoreTable, TokenDistribution
from ..document import Document, Token
from ..errors import ConfigError, InputError, NoDistribution
from ..guarantee import Guarantee
from ..language import Language
from ..result import PARTS, RewriteResult, Step, Trace, Unit
from ..sampling import NoiseStream, draw
from ..skeleton import Edit, Skeleton
from ..words.lexicons import Lexicon, antonyms, stop_words
from .base import ClipCost, Mechanism, Prepared, Progress, check_cancel
from .config import epsilon_option, keep_stopwords_option, option, recase_option, stopwords_option

#: Rows of scores (one a token, 4 bytes a candidate) a prepared text keeps; longer texts are scored again on demand.
ROWS_KEPT = 800
_BLOCK = 128
#: Seconds a call waits for the engine (and one more for each mask) before it says "busy".
PATIENCE = 60.0


@dataclass(frozen=True)
class DPMLMConfig:
    """Options of DP-MLM. ``clip_min`` and ``clip_max`` default to the ends of the range that ``clip`` names."""

    epsilon: float | tuple[float, ...] = epsilon_option(50.0, 5.0, 500.0)
    order: str = option(
        "parallel",
        label="Order",
        kind="choice",
        choices=("parallel", "sequential"),
        help="In parallel order every word is masked in the original text; in sequential order (Algorithm 2) later "
        "words see "
        "the replacements of earlier ones. Both orders spend the same.",
        said="{} order",
    )
    contextualize: bool = option(
        True,
        label="Show the original text to the model",
        kind="flag",
        help="The model reads the original text, and then the text with one word masked. When this is off, it reads "
        "only the "
        "masked text.",
        said=("only the masked text shown", "original text shown"),
    )
    keep_stopwords: bool = keep_stopwords_option()
    keep_punctuation: bool = option(
        True,
        label="Keep punctuation",
        kind="flag",
        advanced=True,
        help="Punctuation stays as it is. When this is off, each mark is replaced by a word.",
        said=("punctuation drawn", "punctuation kept"),
    )
    clip: str = option(
        "tuned",
        label="Clipping range",
        kind="choice",
        choices=("tuned", "paper"),
        live=True,
        help="The model's scores are cut to this range before a word is drawn. The tuned range was chosen on public "
        "text and "
        "is wide enough to keep the best words apart. The paper's range goes from the mean to four standard deviations "
        "above it, where many words are tied at the upper end. The promise is the same. A model for which only one "
        "range is known uses that one.",
        said="clipping range: {}",
    )
    clip_min: float | None = option(
        None,
        label="Clipping range, lower end",
        help="Lower scores of the model are raised to this end. A narrow range makes more words look alike.",
        said="clipping from {}",
        advanced=True,
        live=True,
    )
    clip_max: float | None = option(
        None,
        label="Clipping range, upper end",
        help="Higher scores of the model are lowered to this end. Words above it cannot be told apart.",
        said="clipping to {}",
        advanced=True,
        live=True,
    )
    score: str = option(
        "logit",
        label="Score",
        kind="choice",
        choices=("logit", "similarity"),
        advanced=True,
        live=True,
        help="The logit is the model's own score. The similarity (Appendix A) is the likeness to the original word "
        "plus α "
        "times the logit.",
    )
    alpha: float = option(
        0.003,
        label="α, weight of the model's score",
        min=0.0,
        max=1.0,
        advanced=True,
        live=True,
        help="The similarity score uses it: it is the similarity plus α times the logit.",
        said="α = {}",
    )
    antonym_filter: bool = option(
        False,
        label="Never use an antonym",
        kind="flag",
        advanced=True,
        live=True,
        help="Opposites of the original word are removed. What can come out then depends on the private word, so "
        "that there "
        "is no guarantee.",
        said=("antonyms allowed", "antonyms removed"),
    )
    recase: str = recase_option()
    model: str = option(
        "bundled",
        label="Masked language model",
        kind="text",
        advanced=True,
        models=True,
        help="This is “bundled”, or the hub id or the folder of a masked language model on this machine.",
    )
    stopwords: str | None = stopwords_option()


@dataclass(frozen=True)
class DPMLMPlusConfig(DPMLMConfig):
    """Options of DP-MLM±: those of DP-MLM, and the chances to add and to delete."""

    add_prob: float = option(
        0.1,
        label="Chance to add a word (A)",
        min=0.0,
        max=1.0,
        live=True,
        help="After each replaced word, one more word is added with this chance.",
        said="add {}",
    )
    del_prob: float = option(
        0.05,
        label="Chance to delete a word (D)",
        min=0.0,
        max=1.0,
        live=True,
        help="Each replaced word is left out with this chance.",
        said="delete {}",
    )


@dataclass(frozen=True, eq=False)
class DPMLMPrepared(Prepared):
    """A text cut into word pieces, and the model's scores at its masks (raw logits, before clipping).

    reasons: for each token why it is kept, None where it is replaced. stop: the list of stop words that were kept, None
    where none are. Scores appear when they are first asked for.
    """

    reasons: tuple[str | None, ...]
    targets: tuple[int, ...]
    model: str
    contextualize: bool
    stop: Lexicon | None = None

    _rows: dict[tuple[int, bool], np.ndarray] = field(default_factory=dict, init=False, repr=False)
    _pieces: list[list[int]] = field(default_factory=list, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    @cached_property
    def skeleton(self) -> Skeleton:
        """What is released besides drawn words: kept tokens and gaps."""
        return self.document.skeleton([r is None for r in self.reasons])

    @property
    def pieces(self) -> list[list[int]]:
        """Word-piece ids of each token."""
        with self._lock:
            if not self._pieces:
                self._pieces.extend(_language_model(self.model, self.document.language).encode(self.document))
        return self._pieces

    def fill(self, keys: Sequence[tuple[int, bool]], logits: np.ndarray) -> None:
        """Keep scores that were computed already, as many as a prepared text holds."""
        with self._lock:
            for k, row in zip(keys, logits, strict=True):
                if len(self._rows) < ROWS_KEPT:
                    self._rows[k] = row

    def request(self, index: int, insert: bool = False, masked: list[list[int]] | None = None, at: int = 0):
        """What the model is asked for: the mask on token ``index``, or on a new token after it.

        masked, at: the masked half and the place of its mask where it is no longer the original text.
        """
        from ..models import MaskRequest

        if masked is None:
            masked, at = list(self.pieces), index
            if insert:
                at = index + 1
                masked.insert(at, [])
        context = self.pieces if self.contextualize else None
        return MaskRequest(context=context, masked=masked, target=at, context_target=index)

    def logits(
        self,
        keys: Sequence[tuple[int, bool]],
        progress: Progress | None = None,
        cancel: threading.Event | None = None,
    ) -> np.ndarray:
        """Raw logits float32 (len(keys), V) of (token index, insertion?), original text in the masked half."""
        rows = self._rows
        with self._lock:
            missing = [k for k in keys if k not in rows]
        if missing:
            scores = _score(
                self.model, self.document.language, [self.request(i, insert) for i, insert in missing], cancel, progress
            )
            if len(missing) == len(keys):
                fresh = scores
            else:
                at = {k: j for j, k in enumerate(missing)}
                with self._lock:
                    fresh = np.stack([scores[at[k]] if k in at else rows[k] for k in keys])
            self.fill(missing, scores)
            return fresh
        with self._lock:
            return np.stack([rows[k] for k in keys]) if keys else np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class MaskedTrace(Trace):
    """How each word was drawn. acts: what was released at each token; keys: the draw of each step as (token, whether it
    was added), None where there was none. fresh: the noise is not that of ``stream``."""

    mechanism: DPMLM
    prepared: DPMLMPrepared
    acts: dict[int, tuple[str | None, str | None]]
    keys: tuple[tuple[int, bool] | None, ...]
    stream: NoiseStream
    fresh: bool

    @property
    def can(self) -> frozenset[str]:  # type: ignore[override]
        return self.mechanism.can - {"sweep"} if self.fresh else self.mechanism.can

    def logits(self, i: int, unit: Unit) -> np.ndarray | None:
        key = self.keys[i]
        if key is None:
            return None
        if self.mechanism.config.order == "parallel":
            return self.prepared.logits([key])[0]
        before = {j: a for j, a in self.acts.items() if j < key[0]} | {key[0]: (self.acts[key[0]][0], None)}
        return self.mechanism._logits_given(self.prepared, before, *key)

    def table(self, i: int, unit: Unit) -> ScoreTable:
        logits = self.logits(i, unit)
        assert logits is not None
        return self.mechanism.table(logits, unit.original or None)

    def distribution(self, i: int, unit: Unit) -> TokenDistribution:
        return self.table(i, unit).at(unit.epsilon)

    def locked(self, i: int, unit: Unit) -> tuple[Channel, NoiseStream]:
        key = self.keys[i]
        if key is None or "sweep" not in self.can:
            return super().locked(i, unit)
        return self.table(i, unit), self.stream.at(*key)


class DPMLM(Mechanism):
    """DP-MLM: every word is replaced by a draw from a masked language model (Algorithms 1 and 2)."""

    name = "dp-mlm"
    title = "DP-MLM"
    family = "masked language model"
    notion = "pure"
    summary = "A masked language model rewrites the text word by word, seeing the sentence around each word."
    config_cls: ClassVar[type] = DPMLMConfig
    needs = ("masked language model",)

    @classmethod
    def resolve(cls, config: Any) -> Any:
        from ..models import masked_lm_spec

        known = masked_lm_spec(config.model).clips
        # The config names the range that holds, also where a model has one only.
        name = config.clip if config.clip in known else next(iter(known), config.clip)
        low, high = config.clip_min, config.clip_max
        if name in known:
            low = known[name].low if low is None else low
            high = known[name].high if high is None else high
        if low is None or high is None:
            raise ConfigError(
                f"No clipping range is known for {config.model!r}. Give clip_min and clip_max; "
                "dptext_core.models.estimate_clip_range finds them from public texts of yours."
            )
        if not low < high:
            raise ConfigError(f"clip_min must be below clip_max; they are {low:g} and {high:g}.")
        return dataclasses.replace(config, clip=name, clip_min=float(low), clip_max=float(high))

    def with_(self, **options: Any) -> Self:
        if options.keys() & {"clip", "model"}:
            from ..models import masked_lm_spec

            # Ends that came with the old name or model follow the new one; those that were given stay.
            old = masked_lm_spec(self.config.model).clips.get(self.config.clip)
            ends = {} if old is None else {"clip_min": old.low, "clip_max": old.high}
            options = {k: None for k, end in ends.items() if getattr(self.config, k) == end} | options
        return super().with_(**options)

    # --- which tokens are replaced

    def _reasons(self, document: Document, stop: Lexicon | None) -> tuple[str | None, ...]:
        return tuple(self._reason(t, stop) for t in document.tokens)

    def _reason(self, token: Token, stop) -> str | None:
        if token.kind == "symbol":
            return "symbol"
        if token.kind == "punct":
            return "punctuation" if self.config.keep_punctuation else None
        if stop is not None and (token.kind == "clitic" or token.text in stop):
            return "stop word"
        return None

    def _prepare(self, document: Document, progress: Progress | None, cancel: threading.Event | None) -> DPMLMPrepared:
        prepared = self.plan(document)
        if self.config.order == "parallel" and len(prepared.targets) <= ROWS_KEPT:
            prepared.logits([(i, False) for i in prepared.targets], progress, cancel)
        return prepared

    @property
    def can(self) -> frozenset[str]:
        """In sequential order what a word is drawn from depends on the words before it, at every ε on others."""
        return frozenset(PARTS) - ({"sweep"} if self.config.order == "sequential" else set())

    def plan(self, text: str | Prepared | Document) -> DPMLMPrepared:
        """The text with what is kept and what is replaced; scores are computed when they are first asked for."""
        if isinstance(text, Prepared):
            return self._planned(text)
        document = text if isinstance(text, Document) else self._document(text)
        stop = stop_words(self.config.stopwords, self.language) if self.config.keep_stopwords else None
        reasons = self._reasons(document, stop)
        targets = tuple(i for i, r in enumerate(reasons) if r is None)
        return DPMLMPrepared(document, self.key, reasons, targets, self.config.model, self.config.contextualize, stop)

    def _planned(self, text: str | Prepared) -> DPMLMPrepared:
        prepared = self._prepared(text) if isinstance(text, Prepared) else self.plan(text)
        assert isinstance(prepared, DPMLMPrepared)
        return prepared

    def scores_of(self, prepared: Prepared) -> np.ndarray | None:
        planned = self._planned(prepared)
        return planned.logits([(i, False) for i in planned.targets])

    def with_scores(self, document: Document, scores: np.ndarray) -> DPMLMPrepared | None:
        planned = self.plan(document)
        if len(planned.targets) != len(scores):
            return None
        planned.fill([(i, False) for i in planned.targets], scores)
        return planned

    def drawn_tokens(self, text: str | Prepared) -> tuple[int, ...]:
        return self._planned(text).targets

    # --- scores to distributions

    def table(self, logits: np.ndarray, source: str | None) -> ScoreTable:
        """Raw logits float32 (V,) at one mask → clipped scores whose spread is at most 1/2."""
        c = self.config
        clipped = np.clip(logits.astype(np.float64), c.clip_min, c.clip_max)
        if c.score == "similarity":
            likeness = np.clip(_similarities(c.model, self.language, source), 0.0, 1.0)
            scores = (likeness + c.alpha * (clipped - c.clip_max)) / (2 * (1.0 + c.alpha * (c.clip_max - c.clip_min)))
        else:
            scores = (clipped - c.clip_max) / (2 * (c.clip_max - c.clip_min))
        keep = _lookup(c.model, self.language).get(source.casefold(), _NOWHERE) if source is not None else _NOWHERE
        if c.antonym_filter and source is not None:
            for word in antonyms(language=self.language).of(source):
                scores[_lookup(c.model, self.language).get(word.casefold(), _NOWHERE)] = -np.inf
        return ScoreTable(_candidates(c.model, self.language), scores, source, keep)

    def clip_costs(self, logits: np.ndarray, source: str | None, epsilon: float) -> tuple[ClipCost, ...]:
        """The ranges that are known of the model, and the one in use, at one mask with raw logits float32 (V,)."""
        from ..models import masked_lm_spec

        mine = (self.config.clip_min, self.config.clip_max)
        ranges = {name: (c.low, c.high) for name, c in masked_lm_spec(self.config.model).clips.items()}
        used = self.config.clip if ranges.get(self.config.clip) == mine else "your own"
        ranges.setdefault(used, mine)
        out = []
        for name, (low, high) in ranges.items():
            m = self.with_(clip_min=low, clip_max=high)
            assert isinstance(m, DPMLM)
            keep = m.table(logits, source).at(epsilon).p_keep()
            out.append(ClipCost(name, low, high, name == used, int((logits >= high).sum()), keep))
        return tuple(out)

    def tables(self, prepared: DPMLMPrepared, keys: Sequence[tuple[int, bool]], cancel=None) -> list[ScoreTable]:
        """Score tables of (token index, insertion?) given the original text."""
        tokens = prepared.document.tokens
        return [
            self.table(row, None if insert else tokens[i].text)
            for (i, insert), row in zip(keys, prepared.logits(keys, None, cancel), strict=True)
        ]

    def distribution(self, text: str | Prepared, index: int) -> TokenDistribution:
        prepared = self._planned(text)
        tokens = prepared.document.tokens
        if not 0 <= whole("index, the number of a token,", index) < len(tokens):
            raise InputError(f"There is no token {index}: the text has {len(tokens)}, counted from 0.")
        reason = prepared.reasons[index]
        if reason is not None:
            raise NoDistribution(f"Token {index} is kept as it is ({reason}), so no word is drawn for it.")
        epsilon = self._epsilons(prepared)[index]
        return self.tables(prepared, [(index, False)])[0].at(epsilon)

    def coverage(self, text: str | Prepared) -> tuple[int, int]:
        from ..models.coverage import knows

        prepared = self._planned(text)
        known = knows(self.config.model, prepared.document)
        words = [i for i, t in enumerate(prepared.document.tokens) if t.kind == "word"]
        return sum(known[i] or prepared.reasons[i] is not None for i in words), len(words)

    def uncovered(self) -> str:
        return "the model reads them letter by letter or not at all, and puts other words in their place."

    # --- the promise

    def guarantee(self, text: str | Prepared) -> Guarantee:
        prepared = self._planned(text)
        every = self._epsilons(prepared)
        spent = [every[i] for i in prepared.targets]
        per_draw = max(spent, default=0.0 if isinstance(self.config.epsilon, tuple) else self.config.epsilon)
        worst, expected, most = self._composition(spent)
        reason = ""
        if self.config.antonym_filter:
            reason = (
                "the antonym filter makes the set of possible words depend on the private word, so some outputs are "
                "possible under one text and impossible under another."
            )
        return Guarantee(
            notion="none" if reason else "pure",
            epsilon=per_draw,
            unit="released word",
            adjacency=self._same(),
            draws=most,
            total=worst,
            expected=expected,
            exposed=self._exposed(prepared),
            reason=reason,
            spent=tuple(spent) * (most // max(1, len(spent))),
            bounded_range=True,
        )

    def _composition(self, spent: Sequence[float]) -> tuple[float, float | None, int]:
        """Worst-case total, expected total where it is random, largest number of draws."""
        return float(sum(spent)), None, len(spent)

    def _exposed(self, prepared: DPMLMPrepared) -> tuple[str, ...]:
        kept = {r: sum(x == r for x in prepared.reasons) for r in set(prepared.reasons) if r}
        names = {
            "stop word": ("stop word", "stop words"),
            "punctuation": ("punctuation mark", "punctuation marks"),
            "symbol": ("symbol or emoji", "symbols and emoji"),
        }
        items = [f"{kept[r]} {names[r][kept[r] != 1]}, unchanged and in place" for r in names if r in kept]
        if "stop word" in kept and prepared.stop is not None:
            items[0] += f" (the list: {prepared.stop.source})"
        items.append(self._length_exposed())
        items.append("the spacing and the line breaks")
        if self.config.recase == "original":
            items.append("which original words began with a capital letter")
        if isinstance(self.config.epsilon, tuple):
            items.append("the list of ε, which tells something if it was chosen by looking at the text")
        return tuple(items)

    def _length_exposed(self) -> str:
        return "the number of words, and which places were kept"

    # --- drawing

    def _rewrite(
        self, prepared: Prepared, stream: NoiseStream, progress: Progress | None, cancel: threading.Event | None
    ) -> RewriteResult:
        assert isinstance(prepared, DPMLMPrepared)
        epsilons = self._epsilons(prepared)
        if self.config.order == "sequential":
            acts = self._draw_sequential(prepared, epsilons, stream, progress, cancel)
        else:
            acts = self._draw_parallel(prepared, epsilons, stream, progress, cancel)
        return self._result(prepared, epsilons, acts, stream)

    def _rewrites(self, prepared: Prepared, n: int, stream: NoiseStream, progress, cancel) -> list[RewriteResult]:
        assert isinstance(prepared, DPMLMPrepared)
        if self.config.order == "sequential" or type(self)._choices is not DPMLM._choices:
            return super()._rewrites(prepared, n, stream, progress, cancel)
        epsilons = self._epsilons(prepared)
        acts: list[dict[int, tuple[str | None, str | None]]] = [{} for _ in range(n)]
        for start in range(0, len(prepared.targets), _BLOCK):
            block = prepared.targets[start : start + _BLOCK]
            for i, table in zip(block, self.tables(prepared, [(i, False) for i in block], cancel), strict=True):
                check_cancel(cancel)
                drawn = draw(table.at(epsilons[i]).log_probs, stream.at(i, False), n)
                for act, word in zip(acts, drawn, strict=True):
                    act[i] = (table.candidates[word], None)
            if progress:
                progress(start + len(block), len(prepared.targets))
        promise = self.guarantee(prepared)
        return [self._result(prepared, epsilons, act, stream.at("fresh", k), promise) for k, act in enumerate(acts)]

    def _choices(self, index: int, stream: NoiseStream) -> tuple[bool, bool]:
        """Whether token ``index`` is deleted, and whether a word is added after it."""
        return False, False

    def _draw_parallel(self, prepared, epsilons, stream, progress, cancel) -> dict[int, tuple[str | None, str | None]]:
        """For each replaced token: the released word (None: deleted), and the word added after it (None: none)."""
        keys: list[tuple[int, bool]] = []
        for i in prepared.targets:
            delete, add = self._choices(i, stream)
            keys += [(i, False)] * (not delete) + [(i, True)] * add
        acts: dict[int, tuple[str | None, str | None]] = dict.fromkeys(prepared.targets, (None, None))
        for start in range(0, len(keys), _BLOCK):
            check_cancel(cancel)
            block = keys[start : start + _BLOCK]
            for (i, insert), table in zip(block, self.tables(prepared, block, cancel), strict=True):
                word = _draw_word(table, epsilons[i], stream.at(i, insert))
                acts[i] = (acts[i][0], word) if insert else (word, acts[i][1])
            if progress:
                progress(min(start + _BLOCK, len(keys)), len(keys))
        return acts

    def _draw_sequential(
        self, prepared, epsilons, stream, progress, cancel
    ) -> dict[int, tuple[str | None, str | None]]:
        """As :meth:`_draw_parallel`, but the masked half holds what was released before (Algorithms 2 and 3)."""
        acts: dict[int, tuple[str | None, str | None]] = {}
        tokens = prepared.document.tokens
        for done, i in enumerate(prepared.targets):
            check_cancel(cancel)
            delete, add = self._choices(i, stream)
            acts[i] = (None, None)
            if not delete:
                row = self._logits_given(prepared, acts, i, False, cancel)
                acts[i] = (_draw_word(self.table(row, tokens[i].text), epsilons[i], stream.at(i, False)), None)
            if add:
                row = self._logits_given(prepared, acts, i, True, cancel)
                acts[i] = (acts[i][0], _draw_word(self.table(row, None), epsilons[i], stream.at(i, True)))
            if progress:
                progress(done + 1, len(prepared.targets))
        return acts

    def _logits_given(self, prepared: DPMLMPrepared, acts, index: int, insert: bool, cancel=None) -> np.ndarray:
        """Raw logits of one draw, given what was released at the tokens before it."""
        lm = _language_model(self.config.model, self.language)
        masked: list[list[int]] = []
        at = 0
        for i, pieces in enumerate(prepared.pieces):
            released, added = acts.get(i, ("", None)) if i <= index else ("", None)
            if i == index:
                if not insert:
                    at = len(masked)
                    masked.append([])
                else:
                    if released is not None:
                        masked.append(lm.word_pieces(released))
                    at = len(masked)
                    masked.append([])
                continue
            if released == "":
                masked.append(pieces)
            elif released is not None:
                masked.append(lm.word_pieces(released))
            if added is not None:
                masked.append(lm.word_pieces(added))
        return _score(self.config.model, self.language, [prepared.request(index, insert, masked, at)], cancel)[0]

    def _result(
        self, prepared: DPMLMPrepared, epsilons, acts, stream: NoiseStream, promise: Guarantee | None = None
    ) -> RewriteResult:
        """The released text with its steps. promise: given where the noise is fresh and not that of ``stream``."""
        document = prepared.document
        deleted = {i for i, (word, _) in acts.items() if word is None}
        begins = prepared.skeleton.starts(deleted)
        edits: list[Edit] = []
        capitals: list[bool] = []
        for i, token in enumerate(document.tokens):
            capitals.append(i in acts and self._capital(token, begins[i]))
            if i in acts:
                word, added = acts[i]
                shown = "" if word is None else self._case(word, capitals[i])
                edits.append(Edit(text=shown, after=None if added is None else self._case(added, False)))
            else:
                edits.append(Edit())
        spliced = prepared.skeleton.render(edits)
        steps: list[Step] = []
        drawn: list[tuple[int, bool] | None] = []
        for i, token in enumerate(document.tokens):
            span, out = (token.start, token.end), spliced.spans[i]
            if i not in acts:
                reason = prepared.reasons[i] or ""
                steps.append(Step(span, token.text, token.text, "keep", reason, 0.0, out, i))
                drawn.append(None)
                continue
            word, added = acts[i]
            if word is None:
                steps.append(Step(span, token.text, "", "delete", "deleted by chance", 0.0, out, i))
                drawn.append(None)
            else:
                steps.append(
                    Step(span, token.text, edits[i].text or "", "replace", "", epsilons[i], out, i, capitals[i])
                )
                drawn.append((i, False))
            if added is not None:
                inserted = spliced.inserted[i]
                assert inserted is not None
                after = (token.end, token.end)
                steps.append(
                    Step(after, "", edits[i].after or "", "insert", "added by chance", epsilons[i], inserted, i)
                )
                drawn.append((i, True))

        return RewriteResult(
            spliced.text, document.text, tuple(steps), promise or self.guarantee(prepared), self.name, self.config,
            stream.seed, stream.noise_id, MaskedTrace(self, prepared, acts, tuple(drawn), stream, promise is not None),
            language=self.language,
        )  # fmt: skip

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        others = ({"clip": "paper"}, {"score": "similarity"}, {"order": "sequential"}, {"keep_punctuation": False})
        return ({}, *others)


class DPMLMPlus(DPMLM):
    """DP-MLM±: words are also deleted and added, so that the length changes (Algorithm 3)."""

    name = "dp-mlm-plus"
    title = "DP-MLM±"
    summary = "This DP-MLM also deletes and adds words by chance, so that the length of the text changes."
    config_cls = DPMLMPlusConfig

    def _choices(self, index: int, stream: NoiseStream) -> tuple[bool, bool]:
        c = self.config
        delete = c.del_prob > 0 and stream.at(index, "delete").uniform() < c.del_prob
        return delete, c.add_prob > 0 and stream.at(index, "add").uniform() <= c.add_prob

    def _composition(self, spent: Sequence[float]) -> tuple[float, float | None, int]:
        """Worst case 2nε. The expected number of draws is (1−D+A)n; the paper prints (A−D)nε."""
        c, total = self.config, float(sum(spent))
        twice = 2 if c.add_prob > 0 else 1
        return twice * total, (1 - c.del_prob + c.add_prob) * total, twice * len(spent)

    def _length_exposed(self) -> str:
        return (
            "the number of words after deleting and adding, and which were kept; whoever sees this guarantee with its "
            "total learns the original number too"
        )

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return ({},)


_NOWHERE = np.empty(0, np.int64)


def _draw_word(table: ScoreTable, epsilon: float, stream: NoiseStream) -> str:
    return table.candidates[table.draw(epsilon, stream)]


def _language_model(model: str, language: Language):
    from ..models import load_masked_lm

    return load_masked_lm(model, language=language)


def _score(
    model: str, language: Language, requests: list, cancel: threading.Event | None, progress: Progress | None = None
) -> np.ndarray:
    """Raw logits (n, V) of the requests, or Busy instead of an endless wait."""
    from ..models import engine

    scored = engine(model, language=language)
    return scored.score(requests, cancel=cancel, progress=progress, timeout=PATIENCE + len(requests))


@lru_cache(maxsize=8)
def _candidates(model: str, language: Language) -> tuple[str, ...]:
    """The model's candidates; of the bundled model without loading it."""
    if model != "bundled":
        return _language_model(model, language).candidates
    from ..words.vocabulary import read_pieces

    return tuple(p for p in read_pieces() if language.is_word(p))


@lru_cache(maxsize=8)
def _lookup(model: str, language: Language) -> dict[str, np.ndarray]:
    """Lower-case word → indices among the model's candidates."""
    found: dict[str, list[int]] = {}
    for i, word in enumerate(_candidates(model, language)):
        found.setdefault(word.casefold(), []).append(i)
    return {w: np.array(at) for w, at in found.items()}


@lru_cache(maxsize=8)
def _space_rows(model: str, language: Language) -> tuple[np.ndarray, np.ndarray]:
    """For the model's candidates: rows in the word space, and which of them are there."""
    from ..words import word_space

    space = word_space("minilm")
    rows = np.array([-1 if (j := space.index(w)) is None else j for w in _candidates(model, language)])
    return np.maximum(rows, 0), rows >= 0


def _similarities(model: str, language: Language, word: str | None) -> np.ndarray:
    """Cosine of every candidate with ``word`` in the static word space, float64 (V,); 0 where one is not in it."""
    from ..words import word_space

    rows, there = _space_rows(model, language)
    space = word_space("minilm")
    if word is None or space.index(word) is None:
        return np.zeros(len(rows))
    return np.where(there, space.similarities(word)[rows], 0.0).astype(np.float64)
