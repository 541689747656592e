"""Data sets of the benchmarks: small files written here, the invented set, and the public files where they are."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path

import pytest

from dptext_core.errors import ConfigError, InputError
from dptext_lab.runner.data_sets import NAMES, load

PUBLIC = Path(os.environ.get("DPTEXT_DATA") or Path(__file__).parents[4] / "shared" / "data")
# Labels and test texts of each set, as its authors give them.
SIZES = {
    "sst2": (2, 872),
    "cola": (2, 1043),
    "mrpc": (2, 408),
    "rte": (2, 277),
    "wnli": (2, 71),
    "atis": (25, 893),
    "snips": (7, 700),
    "reviews": (3, 501),
    "authors": (11, 274),
}


def write(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """SST-2 and MRPC in their formats: 40 texts to train (30 of label 1), 8 to test; a BOM, quotes that are text."""
    sentences = [f'a "{word} film number {i}\t{int(i % 4 > 0)}' for i, word in enumerate(["good", "bad"] * 20)]
    tests = [f"unseen number {i}\t{i % 2}" for i in range(8)]
    pairs = [f"{i % 2}\t{i}\t{i}\tleft {i} a b c\tright {i} d e f" for i in range(6)]
    head = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    return write(
        tmp_path,
        sst2__train_DOT_tsv="\n".join(["sentence\tlabel", *sentences]) + "\n",
        sst2__test_DOT_tsv="\r\n".join(["sentence\tlabel", *tests]) + "\r\n",
        mrpc__train_DOT_tsv="\n".join([head, *pairs]),
        mrpc__dev_DOT_tsv="\n".join([head, "1\t9\t9\tother left\tother right"]),
        reviews__train_DOT_csv='author,rating3,rating,text\na,0,0.1,"it said ""no"", twice\nover"\nb,2,0.9,fine\n',
        reviews__test_DOT_csv="author,rating3,rating,text\nb,1,0.5,so so\n",
    )


def test_all_texts_in_their_order(folder):
    data = load("sst2", folder)
    assert (len(data.train), len(data.test)) == (40, 8)
    assert data.texts[0] == ('a "good film number 0',)
    assert data.texts[data.test[3]] == ("unseen number 3",)
    assert [data.targets["label"][i] for i in data.test] == list("01010101")
    read = [(folder / "sst2" / name).read_bytes() for name in ("train.tsv", "test.tsv")]
    assert data.sha256 == hashlib.sha256(b"".join(read)).hexdigest()
    assert data.file == "sst2/train.tsv + sst2/test.tsv"


def test_pairs_and_two_targets(folder):
    data = load("mrpc", folder, max_words=3)
    assert data.texts[0] == ("left 0 a", "right 0 d")
    assert data.targets == {"label": ("0", "1", "0", "1", "0", "1", "1")}
    data = load("reviews", folder)
    assert data.texts == (('it said "no", twice\nover',), ("fine",), ("so so",))
    assert data.targets == {"rating": ("0", "2", "1"), "author": ("a", "b", "b")}
    assert next(iter(data.targets)) == "rating"


def test_samples_keep_the_shares_and_are_fixed(folder):
    data = load("sst2", folder, n_train=20, n_test=4)
    labels = data.targets["label"]
    assert Counter(labels[i] for i in data.train) == {"1": 15, "0": 5}
    assert Counter(labels[i] for i in data.test) == {"1": 2, "0": 2}
    assert data == load("sst2", folder, n_train=20, n_test=4)
    other = load("sst2", folder, n_train=20, n_test=4, sample=2)
    assert data.texts[:20] != other.texts[:20] and data.texts[20:] == other.texts[20:], "all are tested on the same"
    # The test does not depend on how many are trained, nor the other way round.
    other = load("sst2", folder, n_train=7, n_test=4)
    assert [other.texts[i] for i in other.test] == [data.texts[i] for i in data.test]
    assert set(other.texts) <= set(data.texts)
    # Written down, so that a change of the sample is seen: stored results are of these texts.
    assert sorted(int(text.split()[-1]) for (text,) in (data.texts[i] for i in data.test)) == [1, 3, 4, 6]


def test_a_text_of_the_test_is_not_trained_on(folder):
    write(folder, sst2__test_DOT_tsv='sentence\tlabel\na "bad film number 1\t1\nnew\t0\n')
    data = load("sst2", folder)
    assert (len(data.train), len(data.test)) == (39, 2)
    # Cut to three words all of them are among the first, or not.
    write(folder, sst2__test_DOT_tsv="sentence\tlabel\nnew\t1\nnew two\t0\n")
    assert load("sst2", folder, max_words=3).texts[0] == ('a "good film',)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sentence\tmark\nfine\t1\n", "must have the columns sentence, label: its first row has sentence, mark"),
        ("sentence\tlabel\nfine\t1\nno label\n", "row 3 has 1"),
        ("sentence\tlabel\nfine\t \n", "row 2 has an empty text or label"),
        ("sentence\tlabel\n", "contains no text"),
        ("", "contains no text"),
    ],
)
def test_broken_files_say_where(folder, content, message):
    write(folder, sst2__train_DOT_tsv=content)
    with pytest.raises(InputError, match=message) as error:
        load("sst2", folder)
    assert str(folder / "sst2" / "train.tsv") in str(error.value)


def test_files_that_cannot_be_read(folder):
    (folder / "sst2" / "train.tsv").write_bytes(b"sentence\tlabel\n\xff\xfe\t1\n")
    with pytest.raises(InputError, match="in UTF-8"):
        load("sst2", folder)
    (folder / "reviews" / "train.csv").write_bytes(b'author,rating3,rating,text\na,0,0.1,"never closed\n')
    with pytest.raises(InputError, match="reviews"):
        load("reviews", folder)
    with pytest.raises(InputError, match=r"atis.train\.csv"):
        load("atis", folder)
    with pytest.raises(InputError, match="--data"):
        load("sst2", None)


def test_options_are_checked(folder):
    with pytest.raises(ConfigError, match="sst2, cola"):
        load("imdb", folder)
    for option in ("n_train", "n_test", "max_words"):
        with pytest.raises(ConfigError, match=option):
            load("sst2", folder, **{option: 0})


def test_the_invented_set_needs_no_files():
    data = load("builtin", None)
    assert len(data.texts) >= 120 and len(set(data.texts)) == len(data.texts)
    assert set(data.targets) == {"label", "author"}
    for part in (data.train, data.test):
        counts = Counter((data.targets["label"][i], data.targets["author"][i]) for i in part)
        assert len(counts) == 6 and max(counts.values()) - min(counts.values()) <= 2
    assert set(data.train) | set(data.test) == set(range(len(data.texts)))
    assert data == load("builtin", None)
    assert data.sha256.startswith("68cc2c08b7c65d33")
    small = load("builtin", None, n_train=30, n_test=12)
    assert (len(small.train), len(small.test)) == (30, 12)


@pytest.mark.parametrize("name", SIZES)
def test_public_files(name):
    if not (PUBLIC / name).is_dir():
        pytest.skip(f"needs {name} in the folder that DPTEXT_DATA names")
    labels, n_test = SIZES[name]
    data = load(name, PUBLIC)
    first = next(iter(data.targets.values()))
    assert len(data.test) == n_test
    assert len(set(first)) == labels
    tests = {data.texts[i] for i in data.test}
    assert not any(data.texts[i] in tests for i in data.train)
    assert {len(parts) for parts in data.texts} == {2 if name in ("mrpc", "rte", "wnli") else 1}


def test_every_name_is_tried_here():
    assert {*SIZES, "builtin"} == set(NAMES)
