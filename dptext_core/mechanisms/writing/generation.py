"""The shared base of mechanisms that write a new text with a generator, token by token.

At every step a language model that has read the private text scores each token of a fixed, public set. The scores are
clipped to a public range, and one token is sampled with probability ∝ exp(ε·clipped / 2(Cmax − Cmin)). This is the
softmax at temperature T = 2(Cmax − Cmin)/ε: the exponential mechanism, ε-LDP between any two texts given the same
earlier tokens. Sampling stops at the end token or at a public limit. By adaptive composition, the text costs ε times
the limit. The number of written tokens follows from the samples, so the guarantee covers it.

Whole tokens are sampled. If a token contains a line break, which ends the text, only the part before the break is
shown. That is computed from the sample.

With ``prior="released"``, sampling starts from the same model's proposal without the private text, given the tokens so
far: p(y) ∝ b(y)·exp(ε·clip(ln a(y) − ln b(y), c₁, c₂) / 2(c₂ − c₁)). Between two texts b cancels, since it depends only
on the prompt's public words and on released tokens. InvisibleInk (NeurIPS 2025) introduced clipping this difference; it
averages over several texts, and here it is one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...errors import ConfigError
from ...models.generators import GeneratorSpec, generator_spec
from ...models.registry import ClipRange, weights_sha256
from ...privacy.distribution import MAX_EPSILON, ScoreTable, logsumexp
from ...privacy.guarantee import Guarantee
from ...privacy.kinds import ConditionKind, NotProtectedKind, UnitKind
from ...privacy.sampling import DEPTH, NoiseStream
from ...privacy.terms import Adjacency, ComparisonScope, Condition, NotProtected, ProtectedUnit
from ...result import Release, RewriteResult
from ...support.checks import shorten_repr
from ...support.task import UNWATCHED, Task
from ...text.document import Document
from ..audit_support import AuditSupport
from ..base import in_runs
from ..blocklist import Blocklist
from ..capabilities import InputCoverage
from ..clipping import ClippedMechanism
from ..configured import check_depth
from ..likelihood import Likelihood
from ..preparing import Prepared
from .generation_facets import GenerationCoverage, TokenLikelihood, _AuditSupport
from .generation_options import GenerationConfig, public_shift
from .generation_trace import TOGETHER, GeneratedTokens, GenerationPrepared, GenerationTrace
from .spelling import Spelling

#: Maximum span of a proposal's logarithm in nats: lower values are raised, so that every token is possible.
SPREAD = 25.0
#: Maximum bytes of scores that one result stores; others are recomputed on demand.
KEPT = 4 << 20
#: Number of tokens for a prompt and some text.
LEAST_ROOM = 24
#: Prompts of a list are padded to a multiple of this, which depends on the prompt alone.
STEP = 16


def _room(spec: GeneratorSpec, written: int) -> int:
    """Return how many tokens can be read if so many may be written: an encoder has a separate window."""
    if spec.kind == "encoder-decoder":
        return spec.max_length if written <= spec.max_length else 0
    return spec.max_length - written


class Generation(ClippedMechanism):
    """The base of mechanisms that sample a new text token by token. Subclasses define what the model reads."""

    family = "language models"
    notion = "pure"
    needs = ("language model",)
    steps = (
        "A model scores {n} tokens: which comes next?",
        "The scores are clipped to {low} … {high}; {tied} tie at the top",
        "Noise of size {noise} is added on the same scale",
        "The best token is written, then the next one is scored",
    )
    config_cls: ClassVar[type] = GenerationConfig
    estimator = "estimate_generator_clip"
    #: The bundled model's folder in ``assets/models``.
    bundled: ClassVar[str]
    takes_never = True

    @property
    def likelihood(self) -> Likelihood[Generation]:
        return TokenLikelihood(self)

    @property
    def reading(self) -> InputCoverage[Generation]:
        return GenerationCoverage(self)

    @property
    def audit_support(self) -> AuditSupport[Generation]:
        return _AuditSupport(self)

    @property
    def alignment(self) -> None:
        return None

    def around(self) -> tuple[str, str]:
        """Return the parts of the prompt before and after the text."""
        raise NotImplementedError

    @classmethod
    def known_ranges(cls, model: str) -> Mapping[str, ClipRange]:
        return generator_spec(model, cls.bundled).clips

    @classmethod
    def resolve(cls, config: Any) -> Any:
        ends = cls.clip_ends(config)
        spec = generator_spec(config.model, cls.bundled)
        if (room := _room(spec, config.max_tokens)) < LEAST_ROOM:
            raise ConfigError(
                f"max_tokens is {config.max_tokens}, but {config.model!r} reads and writes {spec.max_length} tokens at "
                f"most: {max(0, room)} remain for the text and the prompt. Choose at most "
                f"{max(1, config.max_tokens - LEAST_ROOM + room)}."
            )
        given = config.shift_min, config.shift_max
        if (given[0] is None) != (given[1] is None):
            raise ConfigError("Only one of shift_min and shift_max is set. Set both or neither.")
        if given[0] is not None and not given[0] < given[1]:
            raise ConfigError(
                f"shift_min must be below shift_max; they are {config.shift_min:g} and {config.shift_max:g}."
            )
        if given[0] is not None and config.prior == "none":
            raise ConfigError("shift_min and shift_max need a public prior. Set prior, or omit them.")
        return dataclasses.replace(config, **ends)

    @property
    def max_epsilon(self) -> float:
        if self.config.prior == "none":
            return MAX_EPSILON
        # ln p spans ε/2, the proposal's SPREAD and ln of the number of tokens, which is at most a million here.
        return float(2 * (DEPTH - SPREAD - np.log(1e6)))

    def loads(self) -> Mapping[str, str]:
        return {"model": weights_sha256(generator_spec(self.config.model, self.bundled).folder)}

    @property
    def model_ready(self) -> bool:
        from ...models.loaded_generators import is_loaded

        return is_loaded(self.config.model, self.bundled)

    def generator(self):
        """Return the language model, loaded."""
        from ...models.loaded_generators import load_generator

        return load_generator(self.config.model, self.bundled)

    def public_ids(self) -> list[int]:
        """Return the ids of the prompt without a text."""
        before, after = self.around()
        g = self.generator()
        return g.prompt(before, "", after, _room(g.spec, self.config.max_tokens))[0]

    # --- scores to distributions

    def table(
        self,
        logits: np.ndarray,
        public: np.ndarray | None = None,
        candidates: Sequence[str] | None = None,
        before: Sequence[int] = (),
    ) -> ScoreTable:
        """Return scores with a spread of at most 1/2 from raw logits float32 (n,) of the next token.

        public: the logits without the private text, if sampling starts from them. candidates: those of the model, if
        the caller has them. before: the tokens written so far, which determine what would complete a blocklisted
        word."""
        c = self.config
        # Looking up a model reads the disk, which takes as long as many tables.
        candidates = self.generator().candidates if candidates is None else candidates
        a = logits.astype(np.float64)
        if public is None:
            scores = (np.clip(a, c.clip_min, c.clip_max) - c.clip_max) / (2 * (c.clip_max - c.clip_min))
            return ScoreTable(candidates, self._open(scores, before))
        b = public.astype(np.float64)
        a, b = a - logsumexp(a), b - logsumexp(b)
        low, high = public_shift(float(c.epsilon)) if c.shift_min is None else (c.shift_min, c.shift_max)
        scores = (np.clip(a - b, low, high) - high) / (2 * (high - low))
        return ScoreTable(candidates, self._open(scores, before), log_base=np.maximum(b, b.max() - SPREAD))

    def _open(self, scores: np.ndarray, before: Sequence[int]) -> np.ndarray:
        """Return the scores (n,), −∞ for tokens that may not follow those before."""
        if self.never:
            scores[self._spelling.banned(before)] = -np.inf
        return scores

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self.generator().surfaces, self.never)

    @classmethod
    def check_never(cls, never: Blocklist, config: Any) -> None:
        super().check_never(never, config)
        for word in sorted(never.words):
            if not word.isalnum():
                raise ConfigError(
                    f"{shorten_repr(word)} cannot be on the blocklist: {cls.title} can only exclude words of letters "
                    "and digits. Remove it."
                )

    @property
    def clips_alone(self) -> bool:
        # With a blocklist, the cost of a range depends on the tokens before.
        return self.config.prior == "none" and not self.never

    def keep_probability(self, logits: np.ndarray, source: str | None, epsilon: float) -> float:
        return float(self.table(logits).at(epsilon).probs[int(np.argmax(logits))])

    def greedy(self, text: str | Prepared) -> str:
        """Return the text with the best token after clipping at every step: the limit of large ε. No privacy."""
        prepared = self.prepared(text)
        assert isinstance(prepared, GenerationPrepared)
        written = self._write([prepared], 1, None)[0]
        return self._result(prepared, written, NoiseStream(0)).text

    def greedy_scores(self, text: str | Prepared) -> list[np.ndarray]:
        """Return raw scores float32 (n,) of every token that :meth:`greedy` writes."""
        prepared = self.prepared(text)
        assert isinstance(prepared, GenerationPrepared)
        written = self._write([prepared], 1, None)[0]
        return self.generator().replay(prepared.ids, written.shape, written.tokens)

    def _ends(self) -> set[int]:
        """Return the tokens that end the text."""
        g = self.generator()
        return {g.end} | (set(g.breaks) if self.config.stop == "line" else set())

    def _is_cut(self, text: str | Prepared) -> bool:
        """Return whether the model reads only the beginning. For a plain text, this is known once the model is
        loaded."""
        if isinstance(text, GenerationPrepared):
            return text.cut
        if isinstance(text, Prepared) or not self.model_ready:
            return False
        g = self.generator()
        return g.prompt(*self._parts(self.document(text).visible.text), _room(g.spec, self.config.max_tokens))[1]

    # --- guarantees

    def limit(self, document: Document) -> int:
        """Return the maximum number of sampled tokens."""
        if self.config.length == "fixed":
            return self.config.max_tokens
        return max(1, min(self.config.max_tokens, len(document.tokens)))

    def guarantee(self, text: str | Prepared) -> Guarantee:
        document = text.document if isinstance(text, Prepared) else self.document(text)
        check_depth(self.config.epsilon, self.max_epsilon)
        n, epsilon = self.limit(document), float(self.config.epsilon)
        shared: tuple[Condition, ...] = ()
        exposed = [NotProtected(NotProtectedKind.TOKEN_LIMIT, count=n)]
        if self.config.length == "input":
            shared = (Condition(ConditionKind.WORD_AND_MARK_COUNT),)
            exposed = [NotProtected(NotProtectedKind.WORD_AND_MARK_COUNT)]
        exposed += self.never.exposed()
        return Guarantee(
            notion="pure",
            epsilon=epsilon,
            unit=ProtectedUnit(UnitKind.RELEASED_TOKEN),
            adjacency=Adjacency(*shared),
            draws=n,
            total=epsilon * n,
            exposed=tuple(exposed),
            bounded_range=True,
            among=ComparisonScope(*shared),
            **self.never.counts(),
        )

    # --- writing

    def prepare_document(self, document: Document, task: Task) -> GenerationPrepared:
        task.check()
        g = self.generator()
        # The public limit, not the text's own one, so that the cut does not depend on the text.
        ids, cut = g.prompt(*self._parts(document.visible.text), _room(g.spec, self.config.max_tokens))
        prefix = g.prefix(self.around()[0], ids, STEP + self.config.max_tokens)
        return GenerationPrepared(document, self.key, tuple(ids), cut, prefix)

    def _parts(self, text: str) -> tuple[str, str, str]:
        before, after = self.around()
        return before, " ".join(text.split()), after

    def rewrite_prepared(self, prepared: Prepared, stream: NoiseStream, task: Task) -> RewriteResult:
        assert isinstance(prepared, GenerationPrepared)
        return self._result(prepared, self._write([prepared], 1, [stream], task)[0], stream)

    def rewrite_repeatedly(self, prepared: Prepared, n: int, stream: NoiseStream, task: Task) -> list[RewriteResult]:
        assert isinstance(prepared, GenerationPrepared)
        out: list[RewriteResult] = []
        while len(out) < n:
            streams = [stream.at("fresh", k) for k in range(len(out), min(n, len(out) + TOGETHER))]
            written = self._write([prepared], len(streams), streams, task.quiet)
            out += [self._result(prepared, w, s) for w, s in zip(written, streams, strict=True)]
            task.report(len(out), n)
        return out

    def rewrite_list(self, texts: list[str], stream: NoiseStream, task: Task) -> list[RewriteResult]:
        """Rewrite texts of similar length together.

        The shape in which a text is computed depends on that text alone: padding follows its own length, and every
        block has the same number of rows. So no bit depends on the other texts."""
        if len(texts) == 1:
            prepared = self.prepare_document(self.document(texts[0]), task.quiet)
            return [self.rewrite_prepared(prepared, stream.at(0), task)]
        every = [p for text, n in in_runs(texts) for p in [self.prepare_document(self.document(text), task.quiet)] * n]
        alike: dict[tuple[int, int], list[int]] = {}
        for i, p in enumerate(every):
            alike.setdefault((p.prefix, -(-(len(p.ids) - p.prefix) // STEP) * STEP), []).append(i)
        out: dict[int, RewriteResult] = {}
        for (_, width), places in alike.items():
            for first in range(0, len(places), TOGETHER):
                mine = places[first : first + TOGETHER]
                streams = [stream.at(i) for i in mine]
                written = self._write([every[i] for i in mine], 1, streams, task.quiet, width)
                for i, w, s in zip(mine, written, streams, strict=True):
                    out[i] = self._result(every[i], w, s)
                task.report(len(out), len(texts))
        return [out[i] for i in range(len(texts))]

    def _write(
        self,
        block: Sequence[GenerationPrepared],
        draws: int,
        streams: Sequence[NoiseStream] | None,
        task: Task = UNWATCHED,
        width: int | None = None,
    ) -> list[GeneratedTokens]:
        """Return texts for each prepared one; row k·draws + j is the j-th of the k-th. Without streams, the best token
        is used at every step. width: the padded length, in a block of TOGETHER rows."""
        check_depth(self.config.epsilon, self.max_epsilon)
        g, epsilon = self.generator(), float(self.config.epsilon)
        state = self._read(block, draws, width)
        rows = len(block) * draws
        fill = [g.end] * (len(state.logits) - rows)
        public = None if self.config.prior == "none" else g.public(self.public_ids(), len(state.logits))
        limits = [self.limit(p.document) for p in block for _ in range(draws)]
        ends = self._ends()
        tokens: list[list[int]] = [[] for _ in range(rows)]
        done = [False] * rows
        blocks: list[np.ndarray] = []
        public_blocks: list[np.ndarray] = []
        alone = rows == 1 and width is None
        most = KEPT // (4 * len(g.candidate_ids) * (1 if public is None else 2)) if alone else 0
        for k in range(max(limits)):
            task.check()
            if k:
                last = [row[-1] for row in tokens] + fill
                g.step(state, last)
                if public is not None:
                    g.step(public, last)
            for r in range(rows):
                if done[r]:
                    tokens[r].append(g.end)
                    continue
                a, b = state.logits[r], None if public is None else public.logits[r]
                table = self.table(a, b, g.candidates, tokens[r])
                if streams is None:
                    token = int(np.argmax(table.log_weights(epsilon)))
                else:
                    token = table.draw(epsilon, streams[r].at(k))
                tokens[r].append(token)
                # A text that reached its limit stops while others continue.
                done[r] = token in ends or k + 1 >= limits[r]
                if len(blocks) < most:
                    blocks.append(a.copy())
                    if b is not None:
                        public_blocks.append(b.copy())
            task.report(k + 1, max(limits))
            if all(done):
                break
        out = []
        for r, row in enumerate(tokens):
            stop = next((k + 1 for k, t in enumerate(row) if t in ends), len(row))
            written = tuple(row[: min(stop, limits[r])])
            shape = dataclasses.replace(state.shape, row=r)
            public_shape = None if public is None else dataclasses.replace(public.shape, row=r)
            out.append(GeneratedTokens(written, shape, public_shape, blocks, public_blocks))
        return out

    def _read(self, block: Sequence[GenerationPrepared], draws: int, width: int | None) -> Any:
        """Return the state after the prompts. The state of a single text is stored with it."""
        g = self.generator()
        if width is not None:
            filled = [p.ids for p in block] + [block[-1].ids] * (TOGETHER - len(block))
            return g.begin(filled, draws, width, block[0].prefix)
        (prepared,) = block
        with prepared._lock:
            if not prepared._state:
                prepared._state.append(g.begin([prepared.ids], prefix=prepared.prefix))
            return g.repeated(prepared._state[0], draws)

    def _result(self, prepared: GenerationPrepared, written: GeneratedTokens, stream: NoiseStream) -> RewriteResult:
        text, pieces = self._spelled(written.tokens)
        return RewriteResult.of(
            self, prepared, stream, text, trace=GenerationTrace(self, prepared, written), pieces=pieces
        )

    def _spelled(self, tokens: Sequence[int]) -> tuple[str, tuple[Release, ...]]:
        """Return the text and releases, computed from the written tokens alone."""
        g, epsilon, ends = self.generator(), float(self.config.epsilon), self._ends()
        texts = g.pieces(tokens)
        text, pieces = "", []
        for token, part, following in zip(tokens, texts, [*texts, ""][1:], strict=True):
            if token in ends:
                part = part.partition("\n")[0].rstrip()
            if not text:
                part = part.lstrip()
            space = len(part) - len(part.lstrip())
            word, begin = part[space:], False
            if word and self.config.recase == "sentence":
                inside = not space and bool(text) and (text[-1].isalnum() or text[-1] == "'")
                begin = not inside and (not text or text.rstrip()[-1:] in ".!?" or "\n" in part[:space])
                if not inside and not following[:1].isalnum():
                    word = self.language.case(word, begin)
                elif begin:
                    word = word[:1].upper() + word[1:]
            at = len(text) + space
            text += part[:space] + word
            pieces.append(Release((at, len(text)), word, epsilon, "drawn", capital=begin))
        return text, tuple(pieces)

    slow_to_prepare = False

    @classmethod
    def variants(cls) -> tuple[dict[str, Any], ...]:
        return ({}, {"prior": "released"})
