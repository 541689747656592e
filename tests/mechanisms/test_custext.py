"""CusText: Algorithm 1's three mappings against plain loops, its utility, its strategies, and what it costs."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from guarantee_terms import entries, kinds, shared
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import counts_of, diffractor, fit, on, random_space, shuffled_lists, words

import dptext_core as dpt
from dptext_core import NoiseStream, WordSpace
from dptext_core.mechanisms.words import word_groups
from dptext_core.mechanisms.words.custext import MAPPINGS
from dptext_core.mechanisms.words.word_groups import build_groups
from dptext_core.privacy.sampling import log_full_range
from dptext_lab.measurements import mappings
from dptext_lab.results import mappings as mappings_rows

SPACE = random_space(60, 5, seed=6)


def plain(vectors: np.ndarray, k: int, mapping: str, metric: str) -> list[tuple[int, ...]]:
    """Algorithm 1 as printed: the output set of each word, nearest first, ties by order."""
    x = vectors.astype(np.float64)
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    n = len(x)

    def nearest(i: int, among: list[int]) -> list[int]:
        # What differs by rounding only is equally far. The first word of a shared set is always in it.
        far = np.linalg.norm(x - x[i], axis=1).round(9).tolist()
        return sorted(among, key=lambda j: (mapping != "aggressive" and j != i, far[j], j))[:k]

    if mapping == "aggressive":
        return [tuple(nearest(i, list(range(n)))) for i in range(n)]
    sets: dict[int, tuple[int, ...]] = {}
    left = list(range(n))
    for i in range(n):
        if i in sets:
            continue
        chosen = tuple(nearest(i, left if mapping == "conservative" else list(range(n))))
        for j in chosen:
            sets.setdefault(j, chosen)
        if mapping == "conservative":
            left = [j for j in left if j not in chosen]
    return [sets[i] for i in range(n)]


def check(vectors: np.ndarray, k: int, mapping: str, metric: str) -> None:
    space = WordSpace("random", "", words(len(vectors)), vectors)
    groups = build_groups(space, k, mapping, metric)
    expected = plain(space.vectors, k, mapping, metric)
    n = len(vectors)
    found = [tuple(groups.outputs[g].tolist()) for g in groups.group]
    assert [set(s) for s in found] == [set(s) for s in expected]
    assert all(len(s) == len(set(s)) for s in found)
    if mapping == "conservative":
        sizes = [len(o) for o in groups.outputs]
        assert all(s == min(k, n) for s in sizes[:-1]) and sizes[-1] == (n % k or k if k < n else n)
        assert sorted(i for o in groups.outputs for i in o) == list(range(n)), "disjoint, and nobody is left out"
        assert all(set(groups.members(i)) == set(found[i]) for i in range(n))
    else:
        assert all(len(s) == min(k, n) for s in found)
    if mapping == "balanced":
        assert all(i in s for i, s in enumerate(found))
    # Words share a set if and only if their sets are the same words.
    crowds: dict[object, set[int]] = {}
    of = [frozenset(s) if mapping == "aggressive" else id(s) for s in expected]
    for i, s in enumerate(of):
        crowds.setdefault(s, set()).add(i)
    for i, s in enumerate(of):
        assert crowds[s] == set(np.flatnonzero(groups.group == groups.group[i]).tolist())
        assert crowds[s] == set(groups.members(i).tolist())
    assert groups.alone == np.mean([len(crowds[s]) == 1 for s in of])


@settings(max_examples=40)
@given(
    st.integers(1, 45),
    st.integers(1, 50),
    st.sampled_from(MAPPINGS),
    st.sampled_from(["cosine", "euclidean"]),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_the_mappings_are_those_of_the_algorithm(n, k, mapping, metric, seed, twins):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, int(rng.integers(2, 12)))).astype(np.float32)
    if twins:
        vectors = vectors[rng.integers(0, max(1, n // 2), n)]
    check(vectors, k, mapping, metric)


@pytest.mark.parametrize(
    ("mapping", "metric"), [("balanced", "euclidean"), ("conservative", "cosine"), ("aggressive", "cosine")]
)
def test_the_mappings_over_several_blocks(mapping, metric):
    """700 words of 20 dimensions, some twice: more than is worked on at once."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(700, 20)).astype(np.float32)
    vectors[650:] = vectors[:50]
    check(vectors, 9, mapping, metric)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_mapping_of_some_words_is_that_of_a_smaller_space(mapping):
    rows = np.array([3, 50, 7, 8, 21, 30, 31, 59, 2])
    part = build_groups(SPACE, 3, mapping, "cosine", rows)
    small = WordSpace("part", "", tuple(SPACE.words[i] for i in rows), SPACE.vectors[rows])
    whole = build_groups(small, 3, mapping, "cosine")
    assert np.array_equal(part.group, whole.group)
    assert all(np.array_equal(a, b) for a, b in zip(part.outputs, whole.outputs, strict=True))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("epsilon", [0.01, 3.0, 40.0])
def test_probabilities_are_the_exponential_mechanism_on_normalised_similarity(mapping, metric, epsilon):
    m = on(SPACE, "custext", epsilon=epsilon, k=7, mapping=mapping, metric=metric)
    x = SPACE.vectors.astype(np.float64)
    sets = plain(SPACE.vectors, 7, mapping, metric)
    for row in range(0, 60, 7):
        chosen = list(sets[row])
        if metric == "cosine":
            s = [x[row] @ x[y] / np.linalg.norm(x[row]) / np.linalg.norm(x[y]) for y in chosen]
            u = np.array([(v - min(s)) / (max(s) - min(s)) for v in s])
        else:
            far = [np.linalg.norm(x[row] - x[y]) for y in chosen]
            u = np.array([1 - (v - min(far)) / (max(far) - min(far)) for v in far])
        p = np.exp(epsilon * u / 2)
        d = m.channel(row).at(epsilon)
        found = {w: d.p(w) for w in d.candidates}
        assert found == pytest.approx(dict(zip([SPACE.words[y] for y in chosen], p / p.sum(), strict=True)))
        assert d.p_keep() == pytest.approx(found.get(SPACE.words[row], 0.0))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 2, 20, 500])
def test_utility_lies_in_0_to_1_and_reaches_both(mapping, metric, k):
    m = on(SPACE, "custext", k=k, mapping=mapping, metric=metric)
    for row in range(60):
        u = 2 * m.channel(row).scores + 1
        assert u.min() >= 0 and u.max() == 1.0
        assert u.min() == (0.0 if len(u) > 1 else 1.0)
        assert len(u) == (min(k, 60) if mapping != "conservative" else len(m.groups.members(row)))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("n", [2, 7, 13])
def test_where_all_similarities_are_equal_all_words_are_alike(metric, n):
    """Rounding must not become a utility: the same vector many times, in many dimensions."""
    for seed in range(6):
        vector = np.random.default_rng(seed).normal(size=(1, 37)).astype(np.float32)
        space = WordSpace("twins", "", words(n), np.repeat(vector, n, axis=0))
        m = on(space, "custext", epsilon=20.0, k=n, metric=metric)
        for row in range(n):
            assert m.channel(row).at(20.0).probs == pytest.approx(np.full(n, 1 / n))
    # The same direction with other lengths: equal for the cosine.
    if metric == "cosine":
        vectors = 2.0 ** np.arange(n)[:, None] * vector
        m = on(WordSpace("rays", "", words(n), vectors.astype(np.float32)), "custext", epsilon=20.0, k=n)
        assert m.channel(0).at(20.0).probs == pytest.approx(np.full(n, 1 / n))


@pytest.mark.parametrize("mapping", ["balanced", "conservative"])
@pytest.mark.parametrize("epsilon", [0.5, 10.0])
def test_the_promise_holds_inside_groups_and_only_there(mapping, epsilon):
    m = on(SPACE, "custext", epsilon=epsilon, k=8, mapping=mapping)
    claim = m.distances(SPACE.words)
    table = np.full((60, 60), -np.inf)
    for row in range(60):
        channel = m.channel(row)
        table[row, SPACE.rows(channel.candidates)] = channel.at(epsilon).log_probs
    inside = 0
    for a in range(60):
        for b in range(60):
            same_set = m.groups.group[a] == m.groups.group[b]
            assert np.isnan(claim[a, b]) != same_set
            if same_set:
                possible = np.isfinite(table[a])
                assert np.array_equal(possible, np.isfinite(table[b]))
                loss = (table[a][possible] - table[b][possible]).max()
                assert loss <= epsilon * claim[a, b] + 1e-9 and claim[a, b] == (a != b)
                inside += a != b
            else:
                possible = np.isfinite(table[a])
                assert np.isposinf((table[a][possible] - table[b][possible]).max()), "no ε holds between groups"
    assert inside > 100
    assert np.isnan(m.distances(["nosuchword", SPACE.words[0]])).sum() == 3


def test_the_guarantee_says_group_size_and_who_is_alone():
    m = on(SPACE, "custext", epsilon=3.0, k=8)
    g = m.guarantee(SPACE.words[0])
    assert g.notion == "group" and g.group.size == 8
    assert entries(g, "word-group") == [{"outputs": 8, "overlap": True}]
    assert entries(g, "alone-in-group")[0]["share"] == m.groups.alone
    conservative = on(SPACE, "custext", k=8, mapping="conservative").guarantee(SPACE.words[0])
    assert entries(conservative, "word-group") == [{"outputs": 8, "overlap": False}]
    aggressive = on(SPACE, "custext", k=8, mapping="aggressive").guarantee(SPACE.words[0])
    assert aggressive.group.parameters["mapping"] == "aggressive"


# --- strategies

A, B, C = SPACE.words[4], SPACE.words[9], SPACE.words[14]


def drawn(result) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for s in result.steps:
        out.setdefault(s.original.lower(), set()).add(s.replacement.lower())
    return out


def strategy(name: str, **options):
    return on(SPACE, "custext", **({"epsilon": 0.5, "k": 20, "strategy": name} | options))


def test_token_draws_every_occurrence():
    r = strategy("token").rewrite(" ".join([A] * 60), seed=1)
    assert len(drawn(r)[A]) > 10 and r.guarantee.draws == 60 and r.guarantee.total == 30.0
    assert all(s.epsilon == 0.5 for s in r.steps)
    assert "repetitions" not in kinds(r.guarantee) and not r.guarantee.unit.counts_distinct_words


def test_record_draws_a_word_once_in_a_text():
    text = f"{A} {B} {A.title()}, {A} {C} {B}"
    several = set()
    for seed in range(12):
        r = strategy("record").rewrite(text, seed=seed)
        assert all(len(v) == 1 for k, v in drawn(r).items() if k != ",")
        assert r.guarantee.draws == 3 and r.guarantee.total == 1.5 and r.guarantee.unit.counts_distinct_words
        assert [s.epsilon for s in r.steps] == [0.5, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0]
        assert entries(r.guarantee, "repetitions") == [{"where": "text"}]
        several |= drawn(r)[A]
    assert len(several) > 4
    many = strategy("record").rewrite([A] * 40, seed=3)
    assert len({r.text for r in many}) > 8, "other texts have draws of their own"


def test_the_promise_names_what_repeated_words_show():
    """A word that is drawn once for several places shows that these are equal: the promise compares texts of which that
    is true."""
    said = {name: strategy(name).guarantee(f"{A} {B} {A}") for name in ("token", "record", "dataset")}
    assert shared(said["token"])[-1] == "same-group"
    for name, where in (("record", "text"), ("dataset", "all-texts")):
        *_, group, last = said[name].adjacency.conditions
        assert (group.kind, last.kind, last.parameters["where"]) == ("same-group", "repetitions", where)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_tables_of_a_long_text_are_those_of_its_words(mapping, metric, monkeypatch):
    """Beyond 300 distinct words all tables of the space are worked out at once, here in several parts."""
    space = random_space(330, 4, seed=9)
    m = on(space, "custext", k=6, mapping=mapping, metric=metric)
    sizes = np.array([len(o) for o in m.groups.outputs])[m.groups.group]
    rows = np.flatnonzero(sizes == 6)[::-1]
    assert len(rows) > 300
    monkeypatch.setattr(word_groups, "_NUMBERS", 2 * 330 * 6)
    asked = []
    monkeypatch.setattr(
        word_groups, "_order_outputs", lambda *a, of=word_groups._order_outputs: asked.append(len(a[2])) or of(*a)
    )
    outputs, scores = m.tables(np.sort(rows))
    assert len(asked) > 1 and max(asked) < len(rows), "in parts"
    for k in (0, 1, 150, len(rows) - 1):
        table = m.channel(int(np.sort(rows)[k]))
        assert [space.words[i] for i in outputs[k]] == list(table.candidates)
        assert scores[k] == pytest.approx(table.scores)


def test_a_drawer_draws_what_draw_does():
    channel = strategy("token").channel(4)
    drawer = channel.drawer(2.0)
    streams = [NoiseStream(3).at(k) for k in range(200)]
    assert [drawer(s) for s in streams] == [channel.draw(2.0, s) for s in streams]
    d = channel.at(2.0)
    assert fit(np.bincount([drawer(NoiseStream(4).at(k)) for k in range(3000)], minlength=len(d)), d.probs) > 1e-5


def test_words_alike_are_whole_groups_and_as_many_as_asked_for():
    m = on(SPACE, "custext", k=8, mapping="conservative")
    found = m.words_alike(SPACE.words, 20)
    assert len(found) == len(set(found)) == 20
    groups = [int(m.groups.group[SPACE.index(w)]) for w in found]
    whole = [g for g in dict.fromkeys(groups) if groups.count(g) == m.groups.sizes[g]]
    assert len(whole) >= 2 and groups == sorted(groups, key=list(dict.fromkeys(groups)).index)
    alone = on(SPACE, "custext", k=1, mapping="conservative")
    assert alone.words_alike(SPACE.words, 5) == list(SPACE.words[:5]), "where every word is alone, those that are given"


def test_record_draws_with_the_probabilities_shown():
    m = strategy("record", epsilon=4.0)
    out = [r.steps[1].replacement for r in m.rewrites(f"{B} {A} {A}", 1000, seed=5)]
    d = m.channel(4).at(4.0)
    assert fit(counts_of(out, d.candidates), d.probs) > 1e-5
    assert fit(counts_of(out, d.candidates), m.channel(4).at(1.0).probs) < 1e-5


def test_dataset_draws_a_word_once_in_all_texts():
    texts = [f"{A} {B}", f"{C} {A} {A}", f"{B} Zebulon", "", f"{A.upper()}"]
    several = set()
    for seed in range(12):
        many = strategy("dataset").rewrite(texts, seed=seed)
        together: dict[str, set[str]] = {}
        for r in many:
            for k, v in drawn(r).items():
                together.setdefault(k, set()).update(v)
            assert r.guarantee.draws == 3 and r.guarantee.total == 1.5
            assert entries(r.guarantee, "repetitions") == [{"where": "all-texts"}]
        assert all(len(v) == 1 for v in together.values())
        several |= together[A]
        assert many[0].text == strategy("dataset").rewrite(texts[0], seed=seed).text
    assert len(several) > 4
    over_blocks = strategy("dataset").rewrite([A] * 600, seed=2)
    assert len({r.text for r in over_blocks}) == 1 and over_blocks[599].guarantee.draws == 1


def test_dataset_draws_unknown_words_on_their_own():
    """Unknown words are no words of the vocabulary: each is drawn anew, in every text."""
    many = strategy("dataset").rewrite(["Zebulon"] * 40, seed=2)
    assert len({r.text for r in many}) > 5


def test_the_spent_steps_add_up_over_one_text():
    for name in ("token", "record", "dataset"):
        r = strategy(name).rewrite(f"{A} {B} {A} {A} Zebulon {C}", seed=1)
        assert sum(s.epsilon for s in r.steps) == pytest.approx(r.guarantee.total)


def test_a_list_of_epsilons_under_record():
    """A word that is drawn once takes the ε of its first place."""
    m = strategy("record", epsilon=(1.0, 2.0, 7.0, 3.0))
    text = f"{A} {B} {A} {C}"
    r = m.rewrite(text, seed=1)
    assert [s.epsilon for s in r.steps] == [1.0, 2.0, 0.0, 3.0]
    assert (r.guarantee.draws, r.guarantee.total, r.guarantee.epsilon) == (3, 6.0, 3.0)
    assert r.steps[0].replacement == r.steps[2].replacement
    assert r.distribution(2).epsilon == 1.0 and m.distribution(text, 2).epsilon == 1.0
    channel, stream = r.locked(2)
    assert channel.candidates[channel.draw(1.0, stream)] == r.steps[2].replacement
    with pytest.raises(dpt.ConfigError, match="dataset"):
        strategy("dataset", epsilon=(1.0, 2.0))


def test_record_and_token_agree_on_words_that_come_once():
    d = strategy("token").channel(4)
    assert d.at(2.0).probs == pytest.approx(strategy("record").channel(4).at(2.0).probs)
    assert d.draw(2.0, NoiseStream(3)) == strategy("record").channel(4).draw(2.0, NoiseStream(3))


# --- the bundled space, and SST-2


@pytest.mark.slow
def test_the_share_of_words_alone_on_the_bundled_space():
    """theory.md's first count over the MiniLM vocabulary, balanced, K = 20: 3,608 groups, 3.3% of the words alone."""
    m = dpt.get_mechanism("custext")
    assert (m.config.k, m.config.mapping, m.config.metric) == (20, "balanced", "cosine")
    groups = m.groups
    print(
        f"\nMiniLM, balanced, K = 20: {len(groups.outputs)} groups, {groups.alone:.2%} of {len(groups.group)} words "
        "alone"
    )
    assert len(groups.outputs) == pytest.approx(3608, rel=0.03)
    assert groups.alone == pytest.approx(0.033, abs=0.005)
    assert entries(m.guarantee("doctor"), "alone-in-group")[0]["share"] == groups.alone


@pytest.mark.slow
def test_the_share_of_sst2s_words_that_share_their_set_with_no_other():
    """The paper's Table 4 beside ours: K = 20, aggressive 96.18%, balanced 0.12%.

    What is bundled is what the command measures again: of one mapping, since the sets of the others take long.
    """
    folder = Path(os.environ.get("DPTEXT_DATA") or Path(__file__).parents[3] / "shared" / "data") / "sst2"
    if not (folder / "train.tsv").is_file():
        pytest.skip("needs sst2/train.tsv in the folder that DPTEXT_DATA names")
    counts, k = mappings.word_counts(folder)[0], 20
    rows = {r.mapping: r for r in mappings_rows.bundled() if r.k == k}
    assert set(rows) == set(MAPPINGS)
    row = rows["balanced"]
    assert mappings.alone_shares(counts, "minilm", k, "balanced") == pytest.approx(
        (row.words, row.occurrences, row.n), abs=1e-6
    )
    assert rows["aggressive"].words > 0.96 and rows["aggressive"].occurrences > 0.96
    assert rows["balanced"].words < 0.04 and rows["balanced"].occurrences < 0.005
    assert rows["conservative"].words <= 1 / rows["conservative"].n, "the last group may be a single word"


def test_where_a_group_begins_is_said_once_for_each_and_for_the_end():
    groups = on(SPACE, "custext", k=8, mapping="conservative").groups
    inverse, starts, members = word_groups._inverse(groups)
    assert len(starts) == len(groups.outputs) + 1 and starts[-1] == len(members)
    for g in range(len(groups.outputs)):
        assert set(groups.group[members[starts[g] : starts[g + 1]]]) == {g}
    assert all(w in groups.outputs[g] for w, own in enumerate(inverse) for g in own)


def test_words_alike_are_at_most_twenty_of_a_group():
    m = on(random_space(60, 4), "custext", k=30, mapping="conservative")
    assert sorted(m.groups.sizes.tolist()) == [30, 30]
    found = m.words_alike(m.vocabulary.words, 60)
    assert len(found) == 40 and np.bincount([m.groups.group[m.vocabulary.index(w)] for w in found]).tolist() == [20, 20]


@pytest.mark.parametrize(("rows", "k"), [(2, 1), (2, 4), (7, 4), (7, 5), (3, 5)])
def test_the_highest_of_each_row_come_first_and_ties_by_column(rows, k):
    lines = np.random.default_rng(rows).integers(0, 4, (rows, 5)).astype(float)
    wanted = [sorted(range(5), key=lambda c: (-line[c], c))[:k] for line in lines]
    assert word_groups._top_columns(lines, k).tolist() == wanted


def test_words_alike_visit_groups_early_and_late():
    m = on(random_space(18, 4), "custext", k=2, mapping="conservative")
    assert m.groups.sizes.tolist() == [2] * 9
    found = [int(m.groups.group[m.vocabulary.index(w)]) for w in m.words_alike(m.vocabulary.words, 18)]
    golden = (5**0.5 - 1) / 2
    assert found[::2] == found[1::2] == sorted(range(9), key=lambda g: g * golden % 1)
    assert [len(m.words_alike(m.vocabulary.words, n)) for n in (1, 2, 3, 4, 5)] == [2, 2, 3, 4, 5]


@pytest.mark.parametrize(("name", "file"), [("custext", "custext"), ("diffractor", "list_draws")])
def test_a_uniform_whose_leading_bits_are_zero_is_read_on_where_its_word_stands(name, file, monkeypatch):
    """What a mechanism says of where each random word stands, and the words that stand there."""
    module = importlib.import_module(f"dptext_core.mechanisms.words.{file}")
    seen = []

    def noted(words, place):
        for j, word in enumerate(words.tolist()):
            stream, at = place(j)
            assert int(stream.words(at + 1)[at]) == word
            seen.append(at)
        return log_full_range(words, place)

    monkeypatch.setattr(module, "log_full_range", noted)
    m = strategy("token") if name == "custext" else diffractor(shuffled_lists(60, 2))
    m.rewrite([f"{A} Zebulon {B}, {C}", f"{C} {A} {A}"], seed=3)
    tokens = [0, 2, 4, 0, 1, 2]
    assert seen == [2 * t for t in tokens] if name == "custext" else set(seen) > {6 * t + 2 for t in tokens}
