"""The inputs of an audit: default words and texts, and the distribution of every sampled word in them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError, NoDistribution
from ..mechanisms.base import Mechanism, Prepared, WordByWord
from ..mechanisms.capabilities import public_context, sampled_tokens
from ..privacy.distribution import TokenDistribution
from ..privacy.sampling import NoiseStream
from ..support.task import UNWATCHED, Task
from .rules import OURS, flat

#: Maximum number of inputs of one audit: their log-probabilities are in memory together, 0.17 MB each over 21,719
#: words.
MAX_INPUTS = 1000
#: Default number of words; and without a closed form, where every draw is computed.
WORDS, NOISY_WORDS = 200, 8

#: Contexts for language models, written for this project.
TEXTS = (
    "My doctor in Lisbon changed the dose because the old one made me sick.",
    "She sold the blue car and paid her student loan with the money.",
    "The film was boring, but the music and the young actors were wonderful.",
    "Our lawyer told the judge that the company knew about the fire.",
    "He moved to a small village after the divorce and started painting.",
    "Please cancel my order and send the refund to my bank account.",
)


@dataclass(frozen=True, eq=False)
class Probe:
    """One distribution that the audit compares. prepared, index: its origin. alone: whether nothing else is sampled.
    after: the places and words released before it."""

    text: str
    at: str | None
    word: str
    d: TokenDistribution
    prepared: Prepared
    index: int
    alone: bool
    after: tuple[tuple[int, str], ...] = ()


class MissingDistribution(str):
    """The reason why a sampled word has no usable distribution."""

    __slots__ = ()


def inputs_without_statement(skipped: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the skipped inputs that are sampled, with the reason why they have no stated distribution."""
    return [(word, why) for word, why in skipped if isinstance(why, MissingDistribution)]


class Meter:
    """Progress in thousandths, which never decreases; also checks for cancellation."""

    def __init__(self, task: Task = UNWATCHED):
        self._outer_task, self.task, self._largest_share = task, task.quiet, 0.0

    def at(self, share: float) -> None:
        self.task.check()
        self._largest_share = max(self._largest_share, share)
        self._outer_task.report(int(1000 * self._largest_share), 1000)


def default_inputs(m: Mechanism) -> list[str]:
    """Return words spread over the public frequencies, each with a near one; short texts for language models.

    If the guarantee only compares draws in the same public context, the texts differ only in sampled words.
    """
    if m.by_word is not None:
        return default_words(m)
    planned = [m.plan(text) for text in TEXTS]
    first = sampled_tokens(m, planned[0])
    if not first or public_context(m, planned[0], first[0]) is None:
        return list(TEXTS)
    return [text for p in planned[:3] for text in exchange_words(m, p, planned)]


def exchange_words(m: Mechanism, prepared: Prepared, others: Sequence[Prepared], n: int = 4) -> list[str]:
    """Return a text and n − 1 variants with other sampled words: words of other texts and likely outputs, if the
    guarantee compares them with the original ones."""
    pool = list(dict.fromkeys(p.document.tokens[i].text.lower() for p in others for i in sampled_tokens(m, p)))
    places, tokens = sampled_tokens(m, prepared), prepared.document.tokens
    choices: list[list[str]] = []
    for j, i in enumerate(places):
        word = tokens[i].text.lower()
        # Each place starts at another word, so that a text does not repeat one word everywhere.
        known = [*pool[7 * j % len(pool) :], *pool[: 7 * j % len(pool)]]
        known += [w.lower() for w, _ in m.distribution(prepared, i).top(12)]
        known = [w for w in dict.fromkeys(known) if w != word and _is_drawn(m, w)]
        apart = m.audit_support.distances([word, *known])[0, 1:]
        choices.append([w for w, d in zip(known, apart, strict=True) if np.isfinite(d)])
    out = [prepared.text]
    for k in range(n - 1):
        text, end = "", 0
        for i, words in zip(places, choices, strict=True):
            text += prepared.text[end : tokens[i].start] + (words[k % len(words)] if words else tokens[i].text)
            end = tokens[i].end
        out.append(text + prepared.text[end:])
    return list(dict.fromkeys(out))


def _is_drawn(m: Mechanism, word: str) -> bool:
    """Return whether this is one word, and sampled at its place."""
    planned = m.plan(word)
    return len(planned.document.tokens) == 1 and sampled_tokens(m, planned) == (0,)


def default_words(m: Mechanism, n: int | None = None) -> list[str]:
    """Return about n words of the vocabulary, always the same ones.

    Half are spread over the public frequencies (half by rank, half by its logarithm). The other half are the most
    likely outputs of these that the guarantee compares with them. Words that are kept or not covered are excluded.
    Sampled words without stated probabilities are included: an audit is inconclusive about them.
    """
    by_word = m.by_word
    if by_word is None:
        raise InputError(f"{m.title} does not sample words one by one. Give texts instead of words.")
    spread = _by_frequency(by_word)
    if n is None:
        n = NOISY_WORDS if m.distribution(m.prepare(_first_drawn(m, spread)), 0).draws is not None else WORDS
    if (alike := by_word.words_alike(spread, n)) is not None:
        return _without_kept(m, alike)
    every, known = len(spread), set(spread)
    half = max(1, n // 4)
    ranks = np.concatenate([np.linspace(0, every - 1, 3 * half), np.geomspace(1, every, 3 * half) - 1])
    names = list(dict.fromkeys(spread[int(r)] for r in ranks))
    covered = np.isfinite(np.diag(m.audit_support.distances(names)))
    if covered.any():
        names = [w for w, yes in zip(names, covered, strict=True) if yes]
    probes, skipped = probes_of(m, names, Meter())
    step = max(1, len(probes) // max(1, n // 2))
    chosen: dict[str, None] = {}
    for probe in probes[::step][: max(1, n // 2)]:
        chosen[probe.word] = None
        # The most likely outputs of an estimate differ between processes; the nearest words do not.
        likely = probe.d.top(12) if probe.d.draws is None else by_word.space.neighbours(probe.word, 12)
        near = [w for w, _ in likely if w in known and w.casefold() != probe.word.casefold()]
        apart = m.audit_support.distances([probe.word, *near])[0, 1:]
        covered_too = [w for w, d in zip(near, apart, strict=True) if np.isfinite(d)]
        chosen |= dict.fromkeys((covered_too or near)[:1])
    # If outputs are no words, or few are comparable: more words spread over the frequencies.
    chosen |= dict.fromkeys([p.word for p in probes][: n - len(chosen)])
    return _without_kept(m, [*chosen, *(word for word, _ in inputs_without_statement(skipped))])


def _without_kept(m: Mechanism, words: Sequence[str]) -> list[str]:
    """Return the words that are not kept."""
    probes, skipped = probes_of(m, words, Meter())
    return [*(p.word for p in probes), *(word for word, _ in inputs_without_statement(skipped))]


def _first_drawn(m: Mechanism, words: Sequence[str]) -> str:
    for word in words:
        prepared = m.prepare(word)
        if prepared.document.tokens and not isinstance(_look(m, prepared, 0), str):
            return word
    raise InputError("This mechanism samples no word of its vocabulary. Give words that it replaces.")


def _by_frequency(by_word: WordByWord) -> list[str]:
    """Return the vocabulary, common words first."""
    from ..words import word_space

    words = list(by_word.vocabulary.words)
    if hasattr(by_word.vocabulary, "counts"):  # a word space is already in that order
        return words
    known = word_space("minilm")
    rank = [i if (i := known.index(w)) is not None else len(known) for w in words]
    return [words[i] for i in np.argsort(rank, kind="stable")]


def probes_of(
    m: Mechanism, inputs: Sequence[str | Prepared], meter: Meter
) -> tuple[list[Probe], list[tuple[str, str]]]:
    """Return the distribution of every sampled word, and the inputs without one, with the reason."""
    probes: list[Probe] = []
    skipped: list[tuple[str, str]] = []
    given, alone = list(inputs), 0
    # NumPy's loops over a whole vocabulary leave the other core free for another word.
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        while given:
            block = given[:1] if alone else _prepare_together(m, given)
            alone = max(0, alone - 1)
            one = block[0]
            text = " ".join(map(str, block)) if len(block) > 1 else one
            prepared = text if isinstance(text, Prepared) else m.prepare(text, task=meter.task)
            tokens = prepared.document.tokens

            def look(i: int, prepared: Prepared = prepared) -> TokenDistribution | str:
                meter.task.check()
                return _look(m, prepared, i)

            # The first one computes what all of a prepared text share.
            looks = [look(i) for i in range(min(1, len(tokens)))]
            looks += pool.map(look, range(1, len(tokens)))
            if len(block) > 1 and all(isinstance(d, MissingDistribution) for d in looks):
                alone = len(block)  # one of them may make the others fail
                continue
            for i, d in enumerate(looks):
                if not isinstance(d, str):
                    inside = len(block) == 1 < len(tokens)
                    name = prepared.text if len(block) == 1 else str(block[i])
                    at = tokens[i].text if inside else None
                    probes.append(Probe(name, at, tokens[i].text, d, prepared, i, len(tokens) == 1))
                elif len(block) > 1:
                    skipped.append((str(block[i]), d))
                elif isinstance(d, MissingDistribution) and len(tokens) > 1:
                    skipped.append((tokens[i].text, d))
            if len(block) == 1 and all(isinstance(d, str) for d in looks):
                why = looks[-1] if looks else "there is no word in it"
                skipped.append((prepared.text, why))  # type: ignore[arg-type]
            given = given[len(block) :]
            meter.at(0.4 * (1 - len(given) / len(inputs)))
    return probes, skipped


def probes_after(m: Mechanism, probes: Sequence[Probe], stream: NoiseStream, meter: Meter) -> list[Probe]:
    """Return the same words, given earlier releases from one rewrite of the first text of each public context. Empty if
    draws do not depend on earlier releases."""
    out: list[Probe] = []
    if m.likelihood is None:
        return out
    released: dict[tuple[Hashable, ...], dict[int, tuple[tuple[int, str], ...]]] = {}
    texts: dict[int, list[Probe]] = {}
    for p in probes:
        texts.setdefault(id(p.prepared), []).append(p)
    for mine in texts.values():
        meter.task.check()
        key = tuple(public_context(m, p.prepared, p.index) for p in mine)
        if key not in released:
            released[key] = m.likelihood.before(mine[0].prepared, stream.at("released", len(released)))
        for p in mine:
            if after := released[key].get(p.index):
                d = m.likelihood.after(p.prepared, p.index, after)
                text = f"{p.text} (released before: {', '.join(word for _, word in after)})"
                out.append(replace(p, text=text, d=d, after=after))
    return out


def _prepare_together(m: Mechanism, given: Sequence[str | Prepared]) -> Sequence[str | Prepared]:
    """Return the next inputs that can be prepared together: single words of a mechanism that samples words one by
    one."""
    if m.by_word is None or isinstance(given[0], Prepared):
        return given[:1]
    block: list[str] = []
    for one in given[:200]:
        if isinstance(one, Prepared) or not one.isalpha():
            break
        block.append(one)
    if len(block) > 1 and [t.text for t in m.prepare(" ".join(block)).document.tokens] == block:
        return block
    return given[:1]


def _look(m: Mechanism, prepared: Prepared, i: int) -> TokenDistribution | str:
    """Return the distribution of token i, or the reason why there is none; MissingDistribution if it is sampled."""
    row = None if m.by_word is None else m.by_word.token_row(prepared, i)
    try:
        distribution = m.distribution(prepared, i)
    except NoDistribution as reason:
        return (
            str(reason)
            if row is None
            else MissingDistribution(f"it is sampled, but has no stated probabilities ({reason})")
        )
    except OURS:
        raise
    except Exception as error:  # the mechanism's error, for this word alone
        if row is None:
            raise
        return MissingDistribution(f"it has no usable distribution ({type(error).__name__}: {flat(str(error))})")
    if m.by_word is not None and row is None:
        return "not in the vocabulary"
    return distribution
