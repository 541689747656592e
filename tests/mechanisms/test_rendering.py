"""The channel of the released text: for any two texts that a promise makes alike, the same words give the same bytes.

Every registered mechanism, with the same released words forced on both texts of a pair. The number of pairs a mechanism
is DPTEXT_PAIRS; without it 60, of which a rule that one pair in 20 breaks is found with a chance of 95%, and 10 of
those that write as one with 60 does. ``pytest -s`` prints how many were tried:

    DPTEXT_PAIRS=100000 python -m pytest -s tests/mechanisms/test_rendering.py
"""

from __future__ import annotations

import dataclasses
import os
import random
from functools import lru_cache

import numpy as np
import pytest
from guarantee_terms import shared
from small_spaces import LIST_NAMES, on, random_space, shuffled_lists, small_bundle, words

import dptext_core as dpt
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.distribution import ScoreTable

PAIRS = int(os.environ.get("DPTEXT_PAIRS") or 60)
KNOWN = words(30)
#: What is released: words as vocabularies of users have them, some of which begin or end with no letter, and words of
#: the texts themselves, which may stay what they were.
RELEASED = ("i", "don't", "é", "c++", "10th", "中文", "word\u200d", "x\u0301", "'tis", "ǆ", *KNOWN[:3])
UNKNOWN_WORDS = (
    "Halvorsen",
    "xqzzy",
    "3.5",
    "10,000",
    "a@b.org",
    "U.S.",
    "mr.",
    "日本",
    "שלום",
    "can't",
    "x_y",
    "e-mail",
)
KEPT = ("the", "of", "and", "she", "I", "Not", "'s", "n't")
MARKS = (".", "!", "?", ",", "…", '"', "'", "(", ")", "“", "”", "—", "-", "。", "``", ":", "/", "...")
SYMBOLS = ("❤️", "👩‍👩‍👧", "😀", "🇩🇪", "\u200d", "\ufe0f", "€", "™", "¨")
GAPS = (" ", " ", " ", " ", " ", "", "", "  ", "\t", "\n", "\r\n", "\u2028", "\u00a0")
OPTIONS = {
    "recase": ("sentence", "public", "none", "original"),
    "oov": ("random", "keep", "drop", "mask"),
    "keep_stopwords": (True, False),
    "keep_punctuation": (True, False),
    "strategy": ("token", "record", "dataset"),
    "order": ("parallel", "sequential"),
    "contextualize": (True, False),
    "noise": None,
    "add_prob": (0.0, 0.3),
    "del_prob": (0.0, 0.4),
}


def options_of(name: str, rng: random.Random) -> dict:
    """Any values of the options that decide what is drawn and how it is written."""
    chosen = {}
    for field in dataclasses.fields(dpt.mechanism_class(name).config_cls):
        values = OPTIONS.get(field.name, ())
        values = option_meta(field).choices or () if values is None else values
        if values:
            chosen[field.name] = rng.choice(values)
    return chosen


def forced(name: str, options: dict, tiny_model: str) -> dpt.Mechanism:
    """The mechanism with words of RELEASED in the place of its draws, chosen by the noise and the place alone."""
    fields = {f.name for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}
    if "model" in fields:
        m = dpt.get_mechanism(name, model=tiny_model, **options)
        table = ScoreTable(RELEASED, np.zeros(len(RELEASED)))
        m.__dict__["tables"] = lambda prepared, keys, task=None: [table] * len(keys)
        m.__dict__["tables_given"] = lambda draws, task=None: [table] * len(draws)
        m.__dict__["table"] = lambda logits, source: table
        return m
    lists = {"lists": LIST_NAMES[:2]} if "lists" in fields else {}
    m = dpt.get_mechanism(name, epsilon=5.0, **options, **lists)
    orders = shuffled_lists(30, 2)
    m.__dict__["vocabulary"] = small_bundle(orders) if lists else random_space(30)

    def draw(draws, task=None):
        first: dict[tuple, int] = {}
        places = [first.setdefault((draws.owners[j], draws.paths[j]), j) for j in range(len(draws.rows))]
        return [
            RELEASED[int(draws.texts[draws.owners[j]][0].at("forced", k).uniform() * len(RELEASED))]
            for j, k in enumerate(places)
        ]

    m.__dict__["_draw"] = draw
    return m


def pair(rng: random.Random) -> tuple[str, str]:
    """Two texts that differ in their words."""
    one, two = [], []
    for _ in range(rng.randint(1, 9)):
        kind = rng.random()
        gap = rng.choice(GAPS)
        if kind < 0.45:
            pool = KNOWN if rng.random() < 0.7 else UNKNOWN_WORDS
            pool = pool[: rng.choice((3, len(pool)))]  # few words repeat
            a, b = (rng.choice((str, str.capitalize, str.upper))(rng.choice(pool)) for _ in range(2))
        else:
            a = b = rng.choice(KEPT if kind < 0.6 else MARKS if kind < 0.85 else SYMBOLS)
            if kind > 0.75 and a in MARKS and rng.random() < 0.5:
                b = rng.choice(MARKS)  # alike where marks are drawn
        one += [a, gap]
        two += [b, gap]
    return "".join(one), "".join(two)


def alike(m: dpt.Mechanism, a: dpt.RewriteResult, b: dpt.RewriteResult) -> bool:
    """Whether the adjacency that the guarantee states holds between two texts; from their tokens, nothing else."""
    documents = [dpt.Document.parse(r.original) for r in (a, b)]
    if len(documents[0].tokens) != len(documents[1].tokens):
        return False
    n = len(documents[0].tokens)
    if any(documents[0].gap(i) != documents[1].gap(i) for i in range(n + 1)):
        return False
    config = m.config
    seen: dict[str, list[str]] = {"a": [], "b": []}
    by_token = [{s.index: s for s in r.steps if s.action != "insert"} for r in (a, b)]
    for i in range(n):
        x, y = (t[i] for t in by_token)
        if (x.action == "keep") != (y.action == "keep") or (x.action == "keep" and x.original != y.original):
            return False
        if x.action == "keep":
            continue
        unknown = [s.reason == "not in the vocabulary" for s in (x, y)]
        if unknown[0] != unknown[1]:
            return False
        if config.recase == "original" and x.original[:1].isupper() != y.original[:1].isupper():
            return False
        if not unknown[0]:
            seen["a"].append(x.original.lower())
            seen["b"].append(y.original.lower())
    if getattr(config, "strategy", "token") != "token":
        return [seen["a"].index(w) for w in seen["a"]] == [seen["b"].index(w) for w in seen["b"]]
    return True


@pytest.fixture(scope="module")
def parsed_once():
    """All mechanisms are given the same texts: cutting them into words is most of the work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpt.Document, "parse", lru_cache(maxsize=max(20_000, 4 * PAIRS))(dpt.Document.parse))
        yield


#: Those that sample words in the place of words. The others write a new text, of which nothing is copied, or
#: replace what a detector flags.
WRITE = ("autoencoder", "detection", "language models", "latent", "sentences")
ALIGNED = [s.name for s in dpt.mechanisms() if s.family not in WRITE]


#: One of each way to write; what never adds or deletes a word is among those of the last.
WAYS = ("santext", "custext", "diffractor", "dp-mlm-plus")


@pytest.mark.slow
@pytest.mark.parametrize("name", ALIGNED)
def test_the_same_words_give_the_same_bytes(name, tiny_model, parsed_once):
    rng, texts = random.Random(f"options of {name}"), random.Random("pairs")
    tried, wanted = 0, PAIRS if name in WAYS or PAIRS > 60 else PAIRS // 6
    while tried < wanted:
        options = options_of(name, rng)
        m = forced(name, options, tiny_model)
        for _ in range(min(40, 2 * wanted)):
            a, b = pair(texts)
            seed = rng.randrange(1 << 30)
            one, two = m.rewrite(a, seed), m.rewrite(b, seed)
            if a == b or not alike(m, one, two):
                continue
            tried += 1
            assert one.text == two.text, (options, a, b)
            assert [s.out for s in one.steps] == [s.out for s in two.steps]
            if tried % 10 == 0:
                assert m.rewrite([a], seed)[0].text == one.text
    print(f"{name}: {tried:,} pairs of texts")


def test_the_forced_words_are_the_ones_released(tiny_model):
    """The test above would not see anything if its words never came out, or if its pairs were never alike."""
    for name in ALIGNED:
        m = forced(name, {}, tiny_model)
        drawn = [s for s in m.rewrite(" ".join(KNOWN[:4]), seed=3).steps if s.action in ("replace", "insert")]
        assert drawn and all(s.replacement.lower() in RELEASED for s in drawn)


@pytest.mark.parametrize("strategy", ["record", "dataset"])
def test_a_repeated_word_shows_and_its_promise_says_so(strategy):
    """ "a a" gives two equal words and "a b" need not: the two are not alike, and the adjacency says it."""
    text = f"{KNOWN[0]} {KNOWN[0]}"
    stated = {s: shared(on(random_space(30), "custext", strategy=s).guarantee(text)) for s in (strategy, "token")}
    assert {s: "repetitions" in said for s, said in stated.items()} == {strategy: True, "token": False}


@pytest.mark.parametrize("name", ALIGNED)
def test_all_that_the_text_is_computed_from_stands_in_the_adjacency(name, tiny_model):
    m = forced(name, {"recase": "original"}, tiny_model)
    stated = shared(m.guarantee(f"{KNOWN[0]} the {KNOWN[1]}"))
    assert {"token-count", "kept-tokens", "spacing", "capitals"} <= set(stated)
    assert "capitals" not in shared(forced(name, {}, tiny_model).guarantee(KNOWN[0]))
    if "oov" in {f.name for f in dataclasses.fields(m.config)}:
        assert "unknown-words" in stated
        assert "unknown-words" not in shared(forced(name, {"oov": "keep"}, tiny_model).guarantee(KNOWN[0]))
