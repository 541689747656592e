"""1-D word lists: Algorithm 1 against a plain loop, the bundled lists, lists of other spaces."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dptext_core import Task
from dptext_core.errors import Cancelled, ConfigError, InputError, ModelUnavailable
from dptext_core.words import lists
from dptext_core.words.lists import (
    CONFIGURATIONS,
    LIST_SPACES,
    WordList,
    build_list,
    list_space,
    user_list,
    word_list,
    word_lists,
)
from dptext_core.words.space import WordSpace
from dptext_core.words.space_loading import common_vocabulary, word_space, words_sha256
from dptext_lab.speed.lists import line, main, measure, plain_step

# Algorithm 1


def plain_list(vectors: np.ndarray, start: int) -> np.ndarray:
    """Algorithm 1 by the plain loop; int64 (n,)."""
    order = [start]
    taken = np.zeros(len(vectors), dtype=bool)
    while len(order) < len(vectors):
        taken[order[-1]] = True
        order.append(plain_step(vectors, taken, order[-1]))
    return np.array(order)


@pytest.fixture
def few_neighbours(monkeypatch):
    """Small matrices then take every branch: lists of neighbours, several blocks, searches, lists found again."""
    monkeypatch.setattr(lists, "_NEIGHBOURS", 2)
    monkeypatch.setattr(lists, "_BLOCK", 5000)


def agrees(vectors: np.ndarray, start: int) -> bool:
    return np.array_equal(build_list(vectors, start), plain_list(vectors.astype(np.float64), start))


sizes = st.tuples(st.integers(1, 60), st.integers(1, 5))


@given(st.data())
def test_ties_and_duplicates_as_the_plain_loop(data):
    """Points of a small grid: most distances come more than once, and many points too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_NEIGHBOURS", data.draw(st.integers(1, 4)))
        patch.setattr(lists, "_BLOCK", data.draw(st.integers(1, 4000)))
        vectors = data.draw(arrays.arrays(np.int8, sizes, elements=st.integers(-2, 2)))
        assert agrees(vectors, data.draw(st.integers(0, len(vectors) - 1)))


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_any_numbers_as_the_plain_loop(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_NEIGHBOURS", data.draw(st.integers(1, 4)))
        dtype, width = data.draw(st.sampled_from([(np.float32, 32), (np.float64, 64)]))
        numbers = st.floats(-(2.0**100), 2.0**100, width=32) if width == 32 else st.floats(-1e90, 1e90)
        vectors = data.draw(arrays.arrays(dtype, st.tuples(st.integers(1, 25), st.integers(1, 4)), elements=numbers))
        assert agrees(vectors, data.draw(st.integers(0, len(vectors) - 1)))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("scale", [1e-161, 1e-150, 1e-20, 1.0, 1e20])
def test_any_scale_and_any_place_as_the_plain_loop(few_neighbours, offset, scale):
    stream = np.random.default_rng(3)
    vectors = (stream.standard_normal((200, 8)) + offset) * scale
    vectors[50:80] = vectors[20:50]
    vectors[80] = vectors[20] * (1 + 1e-15)
    assert agrees(vectors, 199)


def test_close_calls_are_decided_in_float64(few_neighbours):
    """Distances that differ by less than float32 can tell."""
    stream = np.random.default_rng(5)
    rays = stream.standard_normal((300, 40))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    vectors = np.concatenate([np.zeros((1, 40)), rays * (1 + 1e-12 * stream.permutation(300)[:, None])])
    assert agrees(vectors, 0)
    assert agrees(np.round(vectors, 3).astype(np.float32), 0)


def test_as_the_plain_loop_with_the_default_sizes(monkeypatch):
    """Clusters around few points: words outlive their neighbours, so these are found again on the way."""
    sizes, find = [], lists._RemainingRows.find_neighbours

    def counted(left, report):
        find(left, report)
        sizes.append(len(left.rows))

    monkeypatch.setattr(lists._RemainingRows, "find_neighbours", counted)
    stream = np.random.default_rng(7)
    centres = stream.standard_normal((30, 16))[stream.integers(30, size=2000)]
    vectors = (centres * 2 + stream.standard_normal((2000, 16))).astype(np.float32)
    vectors[1000:1100] = vectors[:100]
    order, searches = lists.build(vectors, 17)
    assert np.array_equal(order, plain_list(vectors.astype(np.float64), 17))
    assert 0 < searches < 500
    assert sizes[0] == 2000 and len(sizes) > 1


def test_the_smallest_spaces():
    assert build_list(np.ones((1, 3), dtype=np.float32), 0).tolist() == [0]
    assert build_list([[1.0, 0.0], [5.0, 5.0]], 1).tolist() == [1, 0]
    assert build_list(np.ones((5, 0)), 3).tolist() == [3, 0, 1, 2, 4]
    line_of_four = build_list([[0.0], [1.0], [2.5], [-1.5]], 1)
    assert line_of_four.dtype == np.int64
    assert line_of_four.tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize(
    "vectors", [np.ones(3), np.ones((0, 3)), [[1.0], [np.nan]], [[1.0], [np.inf]], [[1.0], [1e101]]]
)
def test_vectors_that_cannot_be_used(vectors):
    with pytest.raises(InputError, match="one vector per word"):
        build_list(vectors, 0)


@pytest.mark.parametrize("start", [-1, 3])
def test_a_start_that_is_not_there(start):
    with pytest.raises(InputError, match="0 to 2"):
        build_list(np.eye(3), start)


def test_progress_rises_to_the_end():
    calls: list[tuple[int, int]] = []
    vectors = np.random.default_rng(1).standard_normal((1500, 4))
    build_list(vectors, 0, Task(lambda done, of: calls.append((done, of))))
    done = [d for d, _ in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 3000)
    assert len(done) > 6
    assert {of for _, of in calls} == {3000}


@pytest.mark.parametrize("at", [0, 1024, 2000, 3000])
def test_cancel_stops_wherever_it_is(monkeypatch, at):
    monkeypatch.setattr(lists, "_BLOCK", 1_000_000)
    seen: list[int] = []

    def listen(done: int, of: int) -> None:
        seen.append(done)
        if done >= at:
            task.cancel()

    task = Task(listen)
    with pytest.raises(Cancelled):
        build_list(np.random.default_rng(1).standard_normal((2000, 4)), 0, task)
    assert at <= seen[-1] < at + 600


# A list of words


def test_a_word_list_is_used_like_a_tuple():
    three = WordList("x", "s", ("Beta", "alpha", "gamma"))
    assert list(three) == ["Beta", "alpha", "gamma"]
    assert (len(three), three[1], three[-1], three[:2]) == (3, "alpha", "gamma", ("Beta", "alpha"))
    assert (three.index("BETA"), three.index("Gamma"), three.index("delta")) == (0, 2, None)
    assert "beta" in three and "delta" not in three and 3 not in three
    with pytest.raises(IndexError):
        three[3]
    with pytest.raises(AttributeError):
        three.name = "y"


# Bundled lists


def test_names_of_the_bundled_lists():
    assert word_lists()[0] == "minilm-full"
    assert len(set(word_lists())) == len(word_lists()) == 11
    assert CONFIGURATIONS["L2"] == ("minilm-full",)
    assert CONFIGURATIONS["L0"] == tuple(f"{space}-1" for space in LIST_SPACES)
    assert sorted(CONFIGURATIONS["L1"]) == sorted(f"{space}-{i}" for space in LIST_SPACES for i in (1, 2))
    assert set(word_lists()) == {name for names in CONFIGURATIONS.values() for name in names}
    assert list_space("minilm-input-2") == "minilm-input"
    assert list_space("minilm-full") == "minilm"
    assert list_space("/some/where@home/vectors.txt@7") == "/some/where@home/vectors.txt"


def chain(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The vectors in the order that ties go by, and the list as their rows."""
    found = word_list(name)
    space = word_space(found.space)
    words = space.words if name == "minilm-full" else common_vocabulary()
    rows = {word: i for i, word in enumerate(words)}
    return space.vectors[space.rows(words)], np.array([rows[word] for word in found])


def faults(vectors: np.ndarray, order: np.ndarray, places: np.ndarray) -> list[int]:
    """Those of ``places`` whose next row is not the nearest of all later ones, in float64, or loses a tie.

    float32 says which rows may be the nearest: its error is below the margin.
    """
    ordered = vectors[order]
    rough = ordered.astype(np.float32, copy=False)
    squares = np.einsum("ij,ij->i", rough, rough)
    margin = 1e-4 * squares.max()
    wrong = []
    places = np.sort(places)
    for begin in range(0, len(places), 256):
        some = places[begin : begin + 256]
        first = some[0]
        near = squares[first:] - 2 * rough[some] @ rough[first:].T  # but for the square of the place itself
        for place, distances in zip(some, near, strict=True):
            later = distances[place + 1 - first :]
            rivals = place + 1 + np.flatnonzero(later <= later.min() + margin)
            apart = np.linalg.norm(ordered[rivals].astype(np.float64) - ordered[place].astype(np.float64), axis=1)
            # Of equals, the one whose row comes first.
            if min(rivals[apart == apart.min()], key=order.__getitem__) != place + 1:
                wrong.append(int(place))
    return wrong


def test_faults_are_found():
    vectors = np.random.default_rng(2).standard_normal((50, 3))
    order = plain_list(vectors, 4)
    assert faults(vectors, order, np.arange(49)) == []
    order[[20, 30]] = order[[30, 20]]
    assert {19, 29} <= set(faults(vectors, order, np.arange(49)))


@pytest.mark.slow
@pytest.mark.parametrize("name", word_lists())
def test_bundled_lists_are_greedy_chains(name):
    """At a hundredth of the steps: of 300 wrong ones one is found with a chance of 95%."""
    vectors, order = chain(name)
    assert np.array_equal(np.sort(order), np.arange(len(vectors)))
    assert len(order) == (21_719 if name == "minilm-full" else len(common_vocabulary()))
    places = np.random.default_rng(11).choice(len(order) - 1, len(order) // 100, replace=False)
    assert faults(vectors, order, places) == []


def test_bundled_lists_of_one_space_start_apart():
    for space in LIST_SPACES:
        assert word_list(f"{space}-1")[0] != word_list(f"{space}-2")[0]


def test_lists_on_the_common_vocabulary_hold_the_same_words():
    for name in CONFIGURATIONS["L1"]:
        assert set(word_list(name)) == set(common_vocabulary())


def test_a_bundled_list():
    words = word_list()
    assert words is word_list("minilm-full")
    assert (words.name, words.space) == ("minilm-full", "minilm")
    place = words.index("Doctor")
    assert place is not None and words[place] == "doctor"
    assert words.index("zzzzz") is None


def test_the_file_is_small():
    assert (lists.assets_folder() / "words" / "lists.npz").stat().st_size <= 500_000


@pytest.mark.parametrize(
    "name", ["minilm", "minilm-3", "L0", "", "@1", "minilm@", "minilm@-1", "minilm@one", "minilm@١"]
)
def test_unknown_lists(name):
    with pytest.raises(ConfigError, match=r"minilm-full, minilm-1, .*cooccurrence-2.*SPACE@SEED"):
        word_list(name)
    with pytest.raises(ConfigError):
        list_space(name)


def test_a_damaged_or_foreign_file_is_refused(tmp_path, monkeypatch):
    words = word_space("minilm").words
    monkeypatch.setattr(lists, "assets_folder", lambda: tmp_path)
    (tmp_path / "words").mkdir()
    path = tmp_path / "words" / "lists.npz"
    load = lists._load.__wrapped__
    with pytest.raises(ModelUnavailable, match="missing"):
        load("minilm-full")
    path.write_bytes(b"no zip")
    with pytest.raises(ModelUnavailable, match="damaged"):
        load("minilm-full")
    right = {"minilm-full": np.arange(len(words), dtype=np.uint16), "full_sha256": np.array(words_sha256(words))}
    np.savez(path, **right)
    assert load("minilm-full").words == words
    with pytest.raises(ModelUnavailable, match="damaged"):
        load("minilm-1")
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelUnavailable, match="damaged"):
        load("minilm-full")
    np.savez(path, **{**right, "minilm-full": np.r_[right["minilm-full"][:-1], np.uint16(0)]})
    with pytest.raises(ModelUnavailable, match="damaged"):
        load("minilm-full")
    np.savez(path, **{**right, "full_sha256": np.array("other")})
    with pytest.raises(ModelUnavailable, match="other words"):
        load("minilm-full")


# Lists of other spaces


@pytest.fixture
def own_space(monkeypatch):
    """A space of the user's, with raw vectors, in place of every space by name."""
    vectors = np.random.default_rng(4).standard_normal((300, 6)).astype(np.float32) * 3
    found = WordSpace("mine", "Mine", tuple(f"Word{i}" for i in range(300)), vectors)
    monkeypatch.setattr(lists, "word_space", lambda name, **given: found)
    monkeypatch.setattr(lists, "space_file", lambda name: os.path.isfile(name) and os.stat(name).st_mtime_ns)
    monkeypatch.setattr(lists, "_built", {})
    return found


def test_a_list_of_another_space(own_space):
    words = word_list("/path/vectors.txt@7")
    order = [own_space.words.index(word) for word in words]
    assert np.array_equal(order, plain_list(own_space.vectors.astype(np.float64), order[0]))
    assert (words.name, words.space) == ("/path/vectors.txt@7", "/path/vectors.txt")
    assert words.index("word0") == words.index("WORD0") == order.index(0)
    assert word_list("/path/vectors.txt@7") is user_list("/path/vectors.txt", 7) is words


def test_the_seed_picks_the_start(own_space):
    starts = [user_list("mine", seed)[0] for seed in range(8)]
    assert len(set(starts)) > 5
    lists._built.clear()
    assert [user_list("mine", seed)[0] for seed in range(8)] == starts
    with pytest.raises(ConfigError, match="negative"):
        user_list("mine", -1)


def test_a_changed_file_is_threaded_again(own_space, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("first")
    first = user_list(str(path), 1)
    assert user_list(str(path), 1) is first
    os.utime(path, ns=(1, 1))
    assert user_list(str(path), 1) is not first


def test_a_list_of_a_changed_file_is_another_for_whoever_uses_it(tmp_path):
    import dptext_core as dpt

    path = tmp_path / "vectors.txt"

    def write(words, seed):
        vectors = np.random.default_rng(seed).standard_normal((len(words), 4))
        path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in zip(words, vectors, strict=True)))

    def released():
        m = dpt.get_mechanism("diffractor", lists=(f"{path}@1",), epsilon=1400.0, oov="keep", recase="none")
        return m.rewrite("alpha gamma").steps, m

    write(["alpha", "beta", "delta"], 1)
    steps, first = released()
    assert [s.action for s in steps] == ["replace", "keep"]
    write(["gamma", "beta", "delta", "epsilon"], 2)
    steps, second = released()
    assert [s.action for s in steps] == ["keep", "replace"]
    assert second.vocabulary is not first.vocabulary and released()[1].vocabulary is second.vocabulary
    assert len([key for key in lists._built if key[0] == str(path)]) == 1, "what belongs to the old file is let go"


@pytest.mark.parametrize("name", ["no-such-list", "minilm-3", "no-such-space@1", "minilm@", "minilm@-1", "L9"])
def test_unknown_lists_are_refused_when_options_are_checked(name, monkeypatch):
    import dptext_core as dpt

    monkeypatch.setattr(lists, "word_space", None)  # nothing is read
    with pytest.raises(ConfigError, match=r"minilm-full|one of minilm"):
        dpt.get_mechanism("diffractor", lists=("minilm-1", name))
    for good in ("L0", "L1", "L2", "minilm-2", "word2vec@7"):
        assert dpt.get_mechanism("diffractor", lists=(good,)).config.lists


def test_a_stopped_list_can_be_built_again(own_space):
    task = Task(lambda done, of: task.cancel())
    with pytest.raises(Cancelled):
        word_list("mine@1", task)
    calls = []
    assert len(word_list("mine@1", Task(lambda done, of: calls.append(done)))) == 300
    assert calls[-1] == 600


def test_waiting_for_another_list_can_be_stopped(own_space):
    stop = Task()
    stop.cancel()
    with lists._building, pytest.raises(Cancelled):
        user_list("mine", 1, task=stop)


def test_an_unknown_space_is_refused():
    with pytest.raises((ConfigError, InputError, ModelUnavailable)):
        word_list("no-such-space@1")


# The benchmark, and memory


def test_the_benchmark_compares_like_with_like(capsys):
    found = measure(500, steps=20)
    assert (found["words"], found["steps"], found["same"]) == (500, 20, 20)
    assert found["ratio"] == pytest.approx(found["plain_seconds"] / found["seconds"])
    assert 0 < found["peak_mib"] < 500
    assert "scaled from 20 of its 499 steps" in line(found)
    assert main(["--words", "300", "--steps", "3"]) == 0
    assert "300 words" in capsys.readouterr().out


@pytest.mark.slow
def test_distances_are_not_all_held_at_once(monkeypatch):
    """2,000 words, of which 25 are worked on at once: their distances to each other alone are 15 MiB in float32."""
    monkeypatch.setattr(lists, "_BLOCK", 50_000)
    vectors = np.random.default_rng(0).standard_normal((2000, 32)).astype(np.float32)
    tracemalloc.start()
    try:
        build_list(vectors, 3)
        assert tracemalloc.get_traced_memory()[1] < 5 * 2**20
    finally:
        tracemalloc.stop()
