"""What every word-level mechanism keeps: what is drawn is what is shown, at every ε; what is kept is said.

Statistical tests have fixed seeds and the level 1e-5, except where a mechanism's own estimate takes part, whose noise
nobody can seed: there the level is 1e-7. Each also shows its power: the same draws are refused at another ε.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import itertools

import numpy as np
import pytest
from guarantee_terms import entries, kinds
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import counts_of, diffractor, fit, on, random_space, rewritten, same, shuffled_lists, words
from splicing import splice
from text.test_document import TEXTS

import dptext_core as dpt
from dptext_core import NoiseStream, WordSpace, attacks
from dptext_core.mechanisms.words import word_level
from dptext_core.mechanisms.words.word_codes import MASK
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.privacy.numbers import number
from dptext_core.text import document, skeleton
from dptext_core.text.skeleton import Edit
from dptext_lab.results import speeds as speed_rows
from dptext_lab.speed import words as speeds
from dptext_lab.speed.words import STAGES, shares

SPACE = random_space()
COMMON, RARE = SPACE.words[2], SPACE.words[33]
LISTS = shuffled_lists(25, 3)

#: Mechanisms with a closed form: how to make one, the word, low and high ε, and ε's to draw at.
CLOSED = {
    "santext": (lambda e: on(SPACE, "santext", epsilon=e), RARE, (1.0, 5.0)),
    "santext-plus, sensitive": (lambda e: on(SPACE, "santext-plus", epsilon=e, sensitive=0.6), RARE, (1.0, 5.0)),
    "santext-plus, common": (lambda e: on(SPACE, "santext-plus", epsilon=e, sensitive=0.6, p=0.8), COMMON, (2.0, 6.0)),
    "tem": (lambda e: on(SPACE, "tem", epsilon=e, beta=0.2), RARE, (2.0, 8.0)),
    "tem, given γ": (lambda e: on(SPACE, "tem", epsilon=e, gamma=1.3), RARE, (1.5, 6.0)),
    **{
        f"custext, {mapping}": (
            lambda e, mapping=mapping: on(SPACE, "custext", epsilon=e, k=8, mapping=mapping),
            RARE,
            (1.0, 6.0),
        )
        for mapping in ("balanced", "conservative", "aggressive")
    },
    "custext, Euclidean": (lambda e: on(SPACE, "custext", epsilon=e, k=8, metric="euclidean"), COMMON, (1.0, 6.0)),
    **{
        f"1-Diffractor, {noise}, {n} lists": (
            lambda e, noise=noise, n=n: diffractor(LISTS[:n], epsilon=e, noise=noise, gamma=4),
            words(25)[5],
            (0.4, 1.5),
        )
        for noise in ("geometric", "tem")
        for n in (1, 3)
    },
}
#: Mechanisms without: the same.
DRAWN = {
    "mvc": (lambda e: on(SPACE, "mvc", epsilon=e), RARE, (2.0, 12.0)),
    "mahalanobis": (lambda e: on(SPACE, "mahalanobis", epsilon=e, lam=0.6), RARE, (2.0, 12.0)),
    "vickrey": (lambda e: on(SPACE, "vickrey", epsilon=e), RARE, (2.0, 12.0)),
    "vickrey, Mahalanobis": (lambda e: on(SPACE, "vickrey", epsilon=e, noise="mahalanobis", t=0.4), RARE, (2.0, 12.0)),
    "gumbel": (lambda e: on(SPACE, "gumbel", epsilon=e), RARE, (30.0, 90.0)),
}
ALL = CLOSED | DRAWN
#: One of each mechanism, and those that draw in another way.
QUICK = ("santext", "santext-plus, sensitive", "tem", "custext, balanced", "1-Diffractor, geometric, 3 lists")
DRAW = (*QUICK, "santext-plus, common", "1-Diffractor, tem, 3 lists")
EACH = (*DRAW, "mvc", "mahalanobis", "vickrey", "gumbel")


def channel_of(m, word):
    return m.channel([w.lower() for w in m.vocabulary.words].index(word))


def test_every_word_level_mechanism_is_here():
    here = {on(SPACE, "santext").name} | {make(1.0).name for make, _, _ in ALL.values()}
    assert here == {s.name for s in dpt.mechanisms() if issubclass(dpt.mechanism_class(s.name), WordMechanism)}
    assert len(here) == 9


@pytest.mark.slow
@pytest.mark.parametrize("case", DRAW)
def test_what_is_drawn_has_the_probabilities_that_are_shown(case):
    make, word, epsilons = CLOSED[case]
    n = 800
    for k, epsilon in enumerate(epsilons):
        m = make(epsilon)
        channel = channel_of(m, word)
        d, other = channel.at(epsilon), channel.at(epsilon * 3)
        assert d.draws is None and d.probs.sum() == pytest.approx(1.0, abs=1e-12)
        stream = NoiseStream(100 + k)
        samples = {
            "a rewrite": counts_of(rewritten(m, word, n, k + 1), d.candidates),
            "sample": counts_of(d.sample(n, seed=k), d.candidates),
        }
        if k == 0:  # at other ε flips are held against it
            drawn = [channel.draw(epsilon, stream.at(i)) for i in range(n)]
            samples["draw"] = np.bincount(drawn, minlength=len(d))
        for how, counts in samples.items():
            assert counts.sum() == n
            assert fit(counts, d.probs) > 1e-5, how
            assert fit(counts, other.probs) < 1e-5, f"{how}: the test has no power"


@pytest.mark.slow
@pytest.mark.parametrize("case", ["mvc", "vickrey", "gumbel"])
def test_estimates_agree_with_what_is_drawn(case):
    """The estimate has 1,000 draws of its own, the same for every ε, apart from those of any release."""
    make, word, epsilons = DRAWN[case]
    n = 400
    for k, epsilon in enumerate(epsilons):
        m = make(epsilon)
        channel = channel_of(m, word)
        d = channel.at(epsilon)
        assert d.draws == channel.draws == 1000 and d.probs.sum() == pytest.approx(1.0)
        estimate = np.rint(d.probs * 1000)
        stream = NoiseStream(100 + k)
        samples = {
            "a rewrite": counts_of(rewritten(m, word, n, k + 1), d.candidates),
            "sample": counts_of(d.sample(n, seed=k), d.candidates),
        }
        if k == 0:
            drawn = [channel.draw(epsilon, stream.at(i)) for i in range(n)]
            samples["draw"] = np.bincount(drawn, minlength=len(d))
        for how, counts in samples.items():
            assert same(counts, estimate) > 1e-7, how
        low, high = d.keep_interval(1 - 1e-7)
        keep = samples["a rewrite"][channel.source_index].sum() / n
        assert low - 6 * np.sqrt(keep / n) <= keep <= high + 6 * np.sqrt(keep / n) and high - low < 0.2


@pytest.mark.parametrize("case", EACH)
def test_flips_are_the_draws_at_every_epsilon(case):
    make, word, (low, high) = ALL[case]
    low, high = low / 3, high * 3
    channel = channel_of(make(low), word)
    grid = np.geomspace(low, high, 10)  # not of the points on which flips of rules without a formula are searched
    flipped = 0
    for seed in range(25):
        stream = NoiseStream(seed).at(0)
        flips = channel.epsilon_breakpoints(stream, low, high)
        at = np.array([e for e, _ in flips])
        assert at[0] == low and (np.diff(at) >= 0).all() and at[-1] <= high
        assert all(a != b for (_, a), (_, b) in itertools.pairwise(flips)), "a flip to the same word"
        flipped += len(flips) - 1
        for epsilon in grid:
            if np.abs(at[1:] / epsilon - 1).min(initial=1) > 1e-4:
                assert flips[np.searchsorted(at, epsilon, side="right") - 1][1] == channel.draw(float(epsilon), stream)
    assert flipped > 3


@pytest.mark.parametrize("case", CLOSED)
def test_curves_are_those_of_the_distribution(case):
    make, word, (low, high) = CLOSED[case]
    channel = channel_of(make(low), word)
    epsilons, which = np.geomspace(low / 20, high * 20, 7), np.arange(len(channel.candidates))[::-1]
    log_probs = channel.log_p(epsilons, which)
    assert log_probs.shape == (len(which), 7)
    for j, e in enumerate(epsilons):
        d = channel.at(e)
        assert log_probs[:, j] == pytest.approx(d.log_probs[which], rel=1e-9, abs=1e-9)
        keep, distinct = channel.deniability(e)
        assert keep == pytest.approx(d.p_keep(), rel=1e-9, abs=1e-12)
        assert distinct == pytest.approx(d.expected_distinct(100), rel=1e-9)
        assert keep == pytest.approx(d.probs[channel.source_index].sum(), rel=1e-12)


@pytest.mark.parametrize("case", DRAWN)
def test_estimated_curves_are_those_of_the_distribution(case):
    make, word, (low, high) = DRAWN[case]
    channel = channel_of(make(low), word)
    which = np.arange(len(SPACE))
    probabilities = np.exp(channel.log_p(np.array([low, high]), which))
    for j, e in enumerate((low, high)):
        d = channel.at(e)
        # A fifth of the same draws: the difference of two shares has a deviation of √(p(1−p)·(1/200 − 1/1000)).
        assert (np.abs(probabilities[:, j] - d.probs) <= 6 * np.sqrt(np.maximum(d.probs, 0.01) / 250)).all()
        keep, distinct = channel.deniability(e)
        assert abs(keep - d.p_keep()) <= 6 * np.sqrt(max(d.p_keep(), 0.01) / 250) and 1 <= distinct <= 40


@pytest.mark.parametrize("case", EACH)
def test_shown_candidates_are_the_likely_ones(case):
    make, word, (low, high) = ALL[case]
    channel = channel_of(make(low), word)
    shown = channel.shown(6, low, high)
    assert shown.dtype == np.int64 and 1 <= len(shown) <= 6 and len(set(shown.tolist())) == len(shown)
    best = np.argmax(channel.at(high * 20).log_probs)
    assert best in shown
    assert len(channel.shown(10_000, low, high)) <= len(channel.candidates)


@pytest.mark.parametrize("case", EACH)
def test_locked_stream_draw_the_released_word_again(case):
    make, word, (low, high) = ALL[case]
    m = make(high)
    others = [w for w in m.vocabulary.words[:12] if w != word]
    result = m.rewrite(f"{word} {others[3]}, unknownword {others[5]} {word}. 42 {others[8]} {others[9]}", seed=5)
    drawn = 0
    for k, step in enumerate(result.steps):
        if step.action != "replace":
            continue
        channel, stream = result.locked(k)
        assert channel.candidates[channel.draw(high, stream)] == step.replacement
        flips = channel.epsilon_breakpoints(stream, high, high * 2)
        assert channel.candidates[flips[0][1]] == step.replacement
        assert result.distribution(k).source == step.original
        drawn += 1
    assert drawn == 8
    again = m.replace(epsilon=low)
    again.__dict__["vocabulary"] = m.vocabulary
    at_low = again.rewrite(result.original, seed=5)
    for k, step in enumerate(at_low.steps):
        if step.action == "replace":
            channel, stream = result.locked(k)
            assert channel.candidates[channel.draw(low, stream)] == step.replacement


# --- lists of texts


def some_text(n: int, seed: int, vocabulary) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(vocabulary.words[i] for i in rng.integers(0, len(vocabulary.words), n))


@pytest.mark.parametrize("case", EACH)
def test_a_list_is_rewritten_as_its_texts_are(case):
    make, _, (_, high) = ALL[case]
    m = make(high)
    a, b = (some_text(9, s, m.vocabulary) + " strangeword" for s in (1, 2))
    both = m.rewrite([a, b], seed=7)
    assert both[0].text == m.rewrite(a, seed=7).text
    assert [r.original for r in both] == [a, b]
    assert both[1].text == m.rewrite(b, stream=_Shifted(7, 1)).text
    assert both[0].noise_id != both[1].noise_id


@pytest.mark.parametrize("case", ["custext, balanced", "1-Diffractor, tem, 3 lists", "santext"])
def test_noise_that_is_extended_is_that_of_its_own_stream(case, monkeypatch):
    """The random words of many texts are read at once. Here all begin with so many zeros that bits are added."""
    real = NoiseStream.words
    monkeypatch.setattr(NoiseStream, "words", lambda self, n: real(self, n) >> np.uint64(24))
    make, _, (_, high) = ALL[case]
    m = make(high)
    results = m.rewrite(["", *(f"{some_text(6, s, m.vocabulary)} strangeword" for s in (1, 2, 3)), "?!"], seed=7)
    for result in results[1:4]:
        for k in range(7):
            channel, stream = result.locked(k)
            assert channel.candidates[channel.draw(high, stream)] == result.steps[k].replacement


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(TEXTS, st.lists(st.sampled_from([*SPACE.words[:5], "strange", "the", ". ", "\n", "('"])), st.data())
def test_the_columns_of_a_result_are_its_steps(text, more, data):
    options = {"oov": ["random", "keep", "drop", "mask"], "recase": ["none", "sentence", "original"]}
    chosen = {name: data.draw(st.sampled_from(values)) for name, values in options.items()}
    m = on(SPACE, "custext", k=5, keep_stopwords=True, **chosen)
    result = m.rewrite((text + " ".join(more)).encode("utf-8", "ignore").decode(), seed=1)
    document = dpt.Document.parse(result.original)
    spliced = splice(document, [Edit(None if s.action == "keep" else s.replacement) for s in result.steps])
    assert (result.text, [s.out for s in result.steps]) == (spliced.text, list(spliced.spans))
    assert [(s.original, s.span) for s in result.steps] == [(t.text, (t.start, t.end)) for t in document.tokens]
    assert dpt.Document(document.text, document.tokens) == document
    deleted = [i for i, s in enumerate(result.steps) if s.action == "delete"]
    begins = document.skeleton([s.action != "keep" for s in result.steps]).starts(deleted)
    for step, begin in zip(result.steps, begins, strict=True):
        if step.action == "replace" and step.replacement != MASK:
            original = step.original[:1].isupper()
            assert step.capital is {"none": False, "sentence": begin, "original": original}[m.config.recase]


@pytest.mark.slow
def test_what_nobody_looks_at_is_not_made(monkeypatch, new_objects):
    """A token and a step are objects, and the collector has to go through all that are kept."""

    m = on(SPACE, "custext", k=5)
    text = f"The {COMMON}, {RARE} and strangeword."
    steps = m.rewrite(text, seed=1).steps[:]
    with monkeypatch.context() as patch:
        for module, name in ((word_level, "Step"), (document, "Token"), (skeleton, "Edit")):
            patch.setattr(module, name, lambda *_: pytest.fail("an object was made"))
        texts = [" ".join(words(40)) for _ in range(20)]
        m.rewrite(texts)
        gc.collect()
        before = len(gc.get_objects())
        results = m.rewrite(texts)
        gc.collect()
        assert len(gc.get_objects()) - before < 25 * len(results), "fewer than a text has words"
        (result,) = m.rewrite([text], seed=1)
        assert len(result.steps) == 7 and "alignment" in result.can and result.guarantee.draws == 2
        assert result.to_dict()["text"] == result.text and next(dpt.rewrite_records([text], m)).text
    assert result.steps == steps


def test_every_mechanism_is_rated():
    assert {name for name, _, _ in speeds.RATED} == {spec.name for spec in dpt.mechanisms()}


def test_rates_are_tokens_a_processor_second_of_each_in_turns(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(speeds, "RATED", (("diffractor", {"noise": "geometric", "lists": ("L2",)}, 40), ("tem", {}, 1)))
    rows = speeds.rates(speeds.RATED, rounds=3)
    assert [(r.mechanism, r.metric, r.seeds) for r in rows] == [
        ("diffractor", "tokens_per_second", 3),
        ("tem", "tokens_per_second", 3),
    ]
    tokens = [len(dpt.Document.parse(t).tokens) for t in speeds._texts()[:40]]
    assert [r.n for r in rows] == [sum(tokens), tokens[0]]
    for row in rows:
        assert 0 < row.low <= row.value <= row.high
    monkeypatch.setattr(speeds, "rates", lambda: rows)
    assert speeds.main(["--out", str(tmp_path / "words.json")]) == 0
    assert "tokens per CPU second" in capsys.readouterr().out
    assert list(speed_rows.MEASUREMENT.read(tmp_path / "words.json")) == rows


def test_the_shares_of_a_rewrite_are_of_all_its_time():
    before = list(gc.callbacks)
    seconds, found, looked = shares("diffractor", [f"My doctor saw {n} cats." for n in range(30)], oov="keep")
    assert seconds > 0 and sum(found.values()) == pytest.approx(1) and looked >= 1
    assert all(found[stage] > 0 for stage in STAGES.values()) and gc.callbacks == before


class _Shifted(NoiseStream):
    """NoiseStream whose text 0 is text ``shift`` of the stream of a seed."""

    __slots__ = ("base", "shift")

    def __init__(self, seed, shift):
        super().__init__(seed)
        self.base, self.shift = NoiseStream(seed), shift

    def at(self, *path):
        return self.base.at(self.shift, *path[1:])


@pytest.mark.parametrize("case", EACH)
def test_texts_and_repeated_rewrites_have_noise_of_their_own(case):
    """75 pairs of two draws each: that they agree oftener than two independent ones is found at level 1e-5."""
    make, word, (low, _) = ALL[case]
    m = make(low)
    d = channel_of(m, word).at(low)
    together = float((d.probs**2).sum())
    for results in (
        m.rewrites(word, 150, seed=3),
        m.rewrite([word] * 150, seed=3),
        m.rewrite([word, word] * 75, seed=4),
    ):
        out = [r.text for r in results]
        agree = sum(a == b for a, b in zip(out[::2], out[1::2], strict=True))
        assert abs(agree - 75 * together) < 5 * np.sqrt(75 * together) + 1
        assert len({r.noise_id for r in results}) == 150
    one = m.rewrite(" ".join([word] * 150), seed=3)
    out = [s.replacement for s in one.steps]
    agree = sum(a == b for a, b in zip(out[::2], out[1::2], strict=True))
    assert abs(agree - 75 * together) < 5 * np.sqrt(75 * together) + 1


@pytest.mark.parametrize("case", EACH)
def test_each_token_may_have_its_own_epsilon(case):
    make, word, (low, high) = ALL[case]
    texts = f"{word} {word}, {word}"
    every = (low, high, 3.0, high * 15)  # the comma has one too
    m = make(every)
    r = m.rewrite(texts, seed=1)
    assert [s.epsilon for s in r.steps] == [low, high, 0.0, high * 15]
    assert r.guarantee.total == pytest.approx(low + high * 16) and r.guarantee.epsilon == high * 15
    assert "epsilon-list" in kinds(r.guarantee)
    for k, e in zip((0, 1, 3), (low, high, high * 15), strict=True):
        channel, stream = r.locked(k)
        assert channel.candidates[channel.draw(e, stream)] == r.steps[k].replacement
        assert r.distribution(k).epsilon == e
    with pytest.raises(dpt.ConfigError, match="values"):
        m.rewrite(word, seed=1)


# --- words that are kept, and words that the vocabulary does not have

KNOWN = SPACE.words[20]
NAMES_TEXT = f"Zebulon met {KNOWN} in 1987, ana-maria @ {KNOWN}!"


def test_unknown_words_are_drawn_from_the_whole_vocabulary_alike():
    m = on(SPACE, "santext", epsilon=5.0)
    r = m.rewrite(" ".join(["Zebulon", "1987", "qqqzx"] * 1300), seed=3)
    assert all(s.action == "replace" and s.reason == "not in the vocabulary" and s.epsilon == 0 for s in r.steps)
    for kind in range(3):
        counts = counts_of([s.replacement for s in r.steps[kind::3]], SPACE.words)
        assert fit(counts, np.full(40, 1 / 40)) > 1e-5
    d = r.distribution(1)
    assert d.probs == pytest.approx(np.full(40, 1 / 40)) and d.p_keep() == 0.0 and d.draws is None
    assert d.source == "1987" and len(d.sample(500, seed=1)) == 500
    assert fit(counts_of(d.sample(4000, seed=2), SPACE.words), d.probs) > 1e-5
    assert m.distribution("1987", 0).log_probs == pytest.approx(d.log_probs)


@pytest.mark.parametrize("name", ["santext", "mvc", "custext"])
def test_what_becomes_of_unknown_words(name):
    def rewrite(oov):
        return on(SPACE, name, epsilon=5.0, oov=oov).rewrite(NAMES_TEXT, seed=2)

    unknown = {"Zebulon", "met", "in", "1987", "ana-maria"}
    for oov in ("random", "keep", "drop", "mask"):
        r = rewrite(oov)
        by = {s.original: s for s in r.steps}
        assert unknown | {KNOWN, ",", "@", "!"} == set(by)
        assert by[KNOWN].action == "replace" and by[KNOWN].epsilon == 5.0 and by[KNOWN].reason == ""
        assert (by[","].action, by[","].reason) == ("keep", "punctuation") and by["@"].reason in (
            "symbol",
            "punctuation",
        )
        assert r.guarantee.draws == 2 and r.guarantee.total == 10.0
        for word in unknown:
            s = by[word]
            assert s.epsilon == 0.0 and s.reason == "not in the vocabulary"
            assert s.action == {"random": "replace", "keep": "keep", "drop": "delete", "mask": "replace"}[oov]
            if oov == "mask":
                assert s.replacement == MASK and r.text[slice(*s.out)] == MASK
            if oov == "random":
                assert s.replacement in SPACE.words
            assert (word in r.text) == (oov == "keep")
        i = next(k for k, s in enumerate(r.steps) if s.original == "1987")
        m = on(SPACE, name, epsilon=5.0, oov=oov)
        if oov in ("keep", "drop"):
            for ask in (lambda i=i, r=r: r.distribution(i), lambda i=i, m=m: m.distribution(NAMES_TEXT, i)):
                with pytest.raises(dpt.NoDistribution, match="not in the vocabulary"):
                    ask()
        else:
            assert list(r.distribution(i).candidates) == ([MASK] if oov == "mask" else list(SPACE.words))


def test_the_guarantee_names_what_is_exposed():
    def exposed(text=NAMES_TEXT, **options):
        return on(SPACE, "santext", epsilon=5.0, **options).guarantee(text)

    unknown = {"reason": "not in the vocabulary", "count": 5, "source": None}
    assert unknown in entries(exposed(oov="keep"), "kept-tokens")
    assert entries(exposed(oov="mask"), "unknown-masked") == [{"count": 5, "mask": MASK}]
    assert entries(exposed(oov="drop"), "unknown-dropped") == [{"count": 5}]
    assert entries(exposed(oov="random"), "unknown-replaced") == [{}], "how many they are is not told"
    assert "unknown-replaced" not in kinds(exposed(KNOWN))
    marks = [{"reason": "punctuation", "count": n, "source": None} for n in (2, 1)]
    assert entries(exposed(f"{KNOWN}, {KNOWN}!"), "kept-tokens") == marks[:1]
    assert entries(exposed(f"{KNOWN}!"), "kept-tokens") == marks[1:]
    assert {"spacing", "token-count"} <= set(kinds(exposed()))
    assert "capitals" in kinds(exposed(recase="original")) and "capitals" not in kinds(exposed(recase="sentence"))


def test_stop_words_are_kept_or_not(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text(f"{KNOWN}\nthe\n")
    text = f"The {KNOWN.upper()} {RARE} it's"
    m = on(SPACE, "santext", epsilon=5.0, keep_stopwords=True, stopwords=str(path))
    r = m.rewrite(text, seed=1)
    assert [s.action for s in r.steps] == ["keep", "keep", "replace", "replace", "keep"]
    assert [s.reason for s in r.steps] == ["stop word", "stop word", "", "not in the vocabulary", "stop word"]
    assert r.text.startswith(f"The {KNOWN.upper()} ") and r.guarantee.draws == 1
    (kept,) = entries(r.guarantee, "kept-tokens")
    assert (kept["reason"], kept["count"]) == ("stop word", 3) and "stop.txt" in kept["source"]
    with pytest.raises(dpt.NoDistribution, match="stop word"):
        m.distribution(text, 0)
    r = on(SPACE, "santext", epsilon=5.0, keep_stopwords=False, stopwords=str(path)).rewrite(text, seed=1)
    assert [s.action for s in r.steps] == ["replace"] * 5 and r.guarantee.draws == 2
    assert not entries(r.guarantee, "kept-tokens")


def test_the_list_of_stop_words_is_the_file_as_it_is_when_a_text_is_prepared(tmp_path, monkeypatch):
    """A list that is edited, replaced through a change of folder, or deleted while the process runs."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, word in ((here, KNOWN), (there, COMMON)):
        folder.mkdir()
        (folder / "stop.txt").write_text(f"{word}\n")
    monkeypatch.chdir(here)
    m = on(SPACE, "santext", epsilon=5.0, keep_stopwords=True, stopwords="stop.txt")

    def kept(given) -> list[str]:
        return [s.original for s in m.rewrite(given).steps if s.action == "keep"]

    text = f"{KNOWN} {COMMON}"
    before = m.prepare(text)
    assert kept(text) == kept(before) == [KNOWN]
    monkeypatch.chdir(there)
    assert kept(text) == [COMMON] and m.guarantee(text) != m.guarantee(before)
    (there / "stop.txt").write_text("nothing\n")
    assert kept(text) == [] and [len(r.guarantee.spent) for r in m.rewrite([text, text])] == [2, 2]
    assert attacks.public_prior(m).p.min() > 0
    (there / "stop.txt").unlink()
    with pytest.raises(dpt.InputError, match=r"stop\.txt"):
        m.rewrite(text)
    # A prepared text keeps the list that it was prepared with, and its guarantee names that one.
    assert kept(before) == [KNOWN] and m.rewrite(before).guarantee == m.guarantee(before)
    (named,) = entries(m.guarantee(before), "kept-tokens")
    assert hashlib.sha256(f"{KNOWN}\n".encode()).hexdigest()[:12] in named["source"]


def test_capital_letters_are_by_place_unless_the_original_is_asked_for():
    text = f"{KNOWN} {RARE.upper()} {COMMON}. {COMMON} {RARE}"

    def capitals(recase, **options):
        r = on(SPACE, "santext", epsilon=9.0, recase=recase, **options).rewrite(text, seed=4)
        return [s.replacement[0].isupper() for s in r.steps if s.action == "replace"]

    assert capitals("sentence") == [True, False, False, True, False]
    assert capitals("none") == [False] * 5
    assert capitals("original") == [False, True, False, False, False]
    r = on(SPACE, "santext", epsilon=9.0, recase="sentence", oov="drop").rewrite(f"Zebulon {KNOWN} {RARE}", seed=4)
    assert r.text[0].isupper() and [s.action for s in r.steps] == ["delete", "replace", "replace"]
    low = on(SPACE, "santext", epsilon=9.0, recase="none").rewrite(text.lower(), seed=4)
    assert low.text == on(SPACE, "santext", epsilon=9.0, recase="none").rewrite(text, seed=4).text, (
        "case is not looked at"
    )


def test_a_text_of_unknown_words_only_is_not_called_released_as_it_is():
    m = on(SPACE, "santext", epsilon=5.0)
    r = m.rewrite("Zebulon Quxly", stream=NoiseStream())
    assert r.text != r.original and r.guarantee.draws == 0 and r.guarantee.total == 0
    assert "no privacy guarantee" not in r.guarantee.sentence()


@pytest.mark.parametrize("case", ALL)
def test_the_promise_of_each(case):
    make, word, (low, _) = ALL[case]
    m = make(low)
    r = m.rewrite(f"{word} {word}", stream=NoiseStream())
    g = r.guarantee
    assert g.notion == type(m).notion
    assert g.epsilon == low and g.draws == 2 and g.total == pytest.approx(2 * low)
    if g.notion == "none":
        assert g.sentence().startswith("There is no privacy guarantee") and g.formal().startswith("No finite ε")
        assert np.isnan(m.distances(SPACE.words[:3])).all()
        return
    assert number(low) in g.sentence()
    if g.notion == "metric":
        assert g.metric in g.sentence() and g.metric in g.formal() and "unit of distance" in g.sentence()
        every = m.distances(list(m.vocabulary.words))
        known = every[np.isfinite(every) & (every > 0)]
        assert 0 < g.near <= g.largest and known.max() <= g.largest + 1e-6
    else:
        assert "group" in g.sentence() and g.group in g.formal()
    assert dataclasses.replace(g, exposed=()).to_dict()["notion"] == g.notion


@pytest.mark.parametrize("case", EACH)
@pytest.mark.parametrize("epsilon", [1e-9, 1400.0])
def test_at_the_ends_of_what_epsilon_may_be(case, epsilon):
    make, word, _ = ALL[case]
    m = make(1.0)
    epsilon = min(epsilon, m.max_epsilon, 900.0)  # the options name a bundled space, which takes no more
    m = make(epsilon)
    channel = channel_of(m, word)
    d = channel.at(epsilon)
    assert d.probs.sum() == pytest.approx(1.0, abs=1e-9) and not np.isnan(d.log_probs).any()
    assert m.rewrite(word, seed=1).text in m.vocabulary.words or hasattr(m.vocabulary, "outputs")
    keep, distinct = channel.deniability(epsilon)
    assert 0 <= keep <= 1 + 1e-12 and 0.99 <= distinct <= 41
    assert not np.isnan(channel.log_p(np.array([epsilon]), np.arange(len(d)))).any()
    top = min(1400.0, epsilon * 10)
    assert channel.epsilon_breakpoints(NoiseStream(1), epsilon, top)[0] == (
        epsilon,
        channel.draw(epsilon, NoiseStream(1)),
    )
    assert len(channel.shown(5, epsilon, top)) >= 1 and m.guarantee(word).sentence()


@pytest.mark.parametrize("case", ["santext-plus, common", "custext, aggressive", "mahalanobis"])
def test_similarities_are_cosines(case):
    make, word, (low, _) = ALL[case]
    r = make(low).rewrite(f"{word} Zebulon", seed=1)
    x = SPACE.vectors.astype(float)
    own = x[SPACE.index(word)]
    found = r.similarities(0)
    assert found == pytest.approx(
        {w: v @ own / np.linalg.norm(v) / np.linalg.norm(own) for w, v in zip(SPACE.words, x, strict=True)}, abs=1e-5
    )
    assert r.similarities(1) is None


@pytest.mark.parametrize("name", [s.name for s in dpt.mechanisms() if s.family == "words"])
def test_a_vocabulary_of_one_word_is_refused_or_always_gives_that_word(name):
    """A user's vectors may be few."""
    one = WordSpace("one", "one word", ("babaq",), np.ones((1, 3), np.float32))
    m = diffractor([["babaq"]]) if name == "diffractor" else on(one, name, epsilon=5.0)
    try:
        r = m.rewrite("babaq", seed=1)
    except dpt.DPTextError as error:
        assert "Use a larger one" in str(error)
    else:
        assert r.text == "babaq" and r.distribution(0).p_keep() == 1.0


@pytest.mark.slow
def test_the_bundled_space_gives_readable_neighbours():
    """ε at which words move but stay near: the released word is among the nearest hundred more often than not."""
    space = dpt.word_space("minilm")
    row = space.index("doctor")
    near = {space.words[i] for i in space.nearest(np.array([row]), 100)[0][0]}
    for name, epsilon in (("santext", 17.0), ("vickrey", 250.0)):
        m = dpt.get_mechanism(name, epsilon=epsilon, recase="none")
        out = rewritten(m, "doctor", 30, seed=1)
        assert len(set(out)) > 1, name
        assert sum(w in near for w in out) > 15, name
        d = m.distribution("doctor", 0)
        assert len(d) == 21_719 and 0 < d.p_keep() < 1


@pytest.mark.parametrize("strategy", ["token", "record"])
def test_the_chance_of_released_words_counts_a_shared_draw_once(strategy):
    space = random_space(30, 4)
    w = space.words
    m = on(space, "custext", k=6, epsilon=2.0, strategy=strategy, mapping="conservative")
    p = m.prepare(f"{w[4]} {w[0]} Zebulon {w[4].title()} {w[0]} Zebulon")
    a, b = (m.channel(row).at(2.0) for row in (4, 0))
    places = [0, 1, 2, 3, 4, 5]
    at = lambda *names: dict(zip(places, names, strict=True))  # noqa: E731
    x, y, z = a.candidates[1], b.candidates[2], w[9]
    released = [
        at(x, y, z, x.upper(), y, w[2]),
        at(x, y, z, a.candidates[0], y, z),
        at(x, y, z, x, b.candidates[0], z),
        at(x, "zzz", z, x, "zzz", z),
    ]
    found = m.likelihood.in_places(p, released)
    of = lambda d, word: float(d.log_probs[list(d.candidates).index(word)])  # noqa: E731
    unknown = -2 * np.log(30)
    if strategy == "record":
        assert found == pytest.approx([of(a, x) + of(b, y) + unknown, -np.inf, -np.inf, -np.inf])
    else:
        assert found == pytest.approx(
            [
                2 * of(a, x) + 2 * of(b, y) + unknown,
                of(a, x) + of(a, a.candidates[0]) + 2 * of(b, y) + unknown,
                2 * of(a, x) + of(b, y) + of(b, b.candidates[0]) + unknown,
                -np.inf,
            ]
        )
    assert m.likelihood.in_places(p, []).shape == (0,)
