"""After every public operation, no object in memory holds its text.

``pytest -s tests/project/test_memory.py`` prints a table. Pages are looked at in a real server:
tests/e2e/test_leaving.py.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import io
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from memory_scan import Marker, run_each, table
from sacrebleu import sentence_bleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from small_spaces import random_space
from tiny_causal import write_model
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core import attacks, cli
from dptext_core.attacks import bayes, likely_text, mask_inference, nearest, query
from dptext_core.auditing import metadata_leakage
from dptext_core.measure import budget, metrics, pii_survival
from dptext_core.measure.metrics.bleu import corpus_bleu
from dptext_core.models import causal
from dptext_core.models.sentence_encoder import embed
from dptext_core.support.private import Private
from dptext_studio.figures import token_view

QUICK = ("dp-mlm", "diffractor", "santext", "tem")
OTHERS = [s.name for s in dpt.mechanisms() if s.name not in QUICK]


def text(word: str) -> str:
    """A text with the word in it: plain, as an unknown name, in an address, and in a sentence that NLTK has to cut."""
    return f"My doctor {word} treated my sister. {word.capitalize()}’s diabetes @ {word}@example.org!\nA cat, {word}."


def make(name: str, model: str, **options) -> dpt.Mechanism:
    """model: the folder of a tiny model, for the mechanisms that have one; what is bundled goes the same way."""
    fields = {f.name for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}
    return dpt.get_mechanism(
        name, **({"model": model} if name.startswith("dp-") and "model" in fields else {}), **options
    )


def all_of(name: str, model: str, in_each_way: bool = True) -> Callable[[str], None]:
    """What a mechanism can be asked for. in_each_way: of a text as well as of a prepared one, and with each policy for
    unknown words, all of which is code that mechanisms share."""

    def run(word: str) -> None:
        m, t = make(name, model), text(word)
        low, high, default = m.epsilon_range({})
        prepared = m.prepare(t)
        result = m.rewrite(prepared)
        for given in (t, prepared) if in_each_way else (prepared,):
            m.rewrite(given, seed=3), m.guarantee(given), m.rewrites(given, 2), m.sweep(given, [low, high])
        m.rewrite([t, f"{word} again"]), list(m.prepare_many([t]))
        drawn = [i for i, s in enumerate(result.steps) if s.action == "replace"]
        for i in drawn[:3]:
            (
                result.distribution(i).top(3),
                result.views(i),
                result.similarities(i),
                m.distribution(t, result.steps[i].index),
            )
        result.to_dict(trace=True), repr(result), result.guarantee.sentence()
        if "sweep" in result.can:
            token_view.payload(result, run=1, low=low, high=high, default=default)
        if hasattr(m.config, "oov"):
            for policy in ("keep", "drop", "mask") if in_each_way else ("keep",):
                m.replace(oov=policy).rewrite(t).to_dict(trace=True)

    return run


def fails(call: Callable[[], object]) -> None:
    with pytest.raises(dpt.DPTextError):
        call()


def errors(word: str) -> None:
    m, t = dpt.get_mechanism("santext", stopwords=None, keep_stopwords=True), text(word)
    fails(lambda: m.distribution(t, 0))
    fails(lambda: m.distribution(t, 999))
    fails(lambda: m.replace(oov="drop").distribution(t, 2))
    fails(lambda: m.replace(epsilon=(1.0,)).rewrite(t))
    fails(lambda: m.rewrite(t + "\ud800"))
    fails(lambda: dpt.calibrate(m, {"n_w": 0.5}, words=[word]))
    fails(lambda: bayes.posterior(m, word))
    fails(lambda: metrics.score(word, [t], [t]))
    fails(lambda: dpt.get_mechanism(word))
    fails(lambda: dpt.get_mechanism("santext", space=f"/no/{word}").rewrite("a"))
    fails(lambda: m.replace(**{word: 1}))
    fails(lambda: m.replace(stopwords=f"/no/{word}").rewrite(t))


def cancelled(word: str) -> None:
    def stop(done: int, of: int) -> None:
        raise dpt.Cancelled(word)

    fails(lambda: dpt.get_mechanism("santext").rewrite([text(word)] * 3, task=dpt.Task(stop)))


def from_attacks(word: str) -> None:
    m = dpt.get_mechanism("santext", epsilon=8.0)
    result = m.rewrite(text(word))
    i = next(i for i, s in enumerate(result.steps) if s.original == "sister")
    bayes.attack(m, result, i).sentence(), nearest.attack(m, result).sentence()
    query.query_curve(result.locked(i)[0], [9.0, 12.0])
    few = dpt.get_mechanism("custext", epsilon=3.0)  # whose chances are of few words
    query.query_number(few.rewrite(text(word)).distribution(i)).sentence()
    attacks.expected_success(few, ["doctor", "sister"])


def from_privacy(word: str) -> None:
    m = dpt.get_mechanism("custext", epsilon=3.0)
    dpt.calibrate(m, {"n_w": 0.5}, text=text(word)).calibrated.rewrite(text(word))
    dpt.equal_privacy([m, dpt.get_mechanism("santext")], "n_w", text=text(word))
    budget.distribute(m, text(word), 20.0, "frequency").sentence(), budget.distribute(m, text(word), 20.0)


def from_ledger(word: str) -> None:
    ledger = dpt.Ledger()
    result = dpt.get_mechanism("santext", oov="keep").rewrite(text(word))
    ledger.record(result, released=True), ledger.what_if([result]), ledger.to_json(), ledger.accounts()


def from_audit(folder: Path) -> Callable[[str], None]:
    """In a space of twenty words, since it looks at all of them."""
    space = random_space(20, 4)
    np.savez(folder / "small.npz", words=np.array(space.words), vectors=space.vectors)
    m, (a, b) = dpt.get_mechanism("santext", space=str(folder / "small.npz"), oov="keep"), space.words[:2]
    return lambda word: dpt.audit(m, [f"{a} {word}", f"{b} {word}"], draws=100) and None


def measure(name: str) -> Callable[[str], object]:
    return lambda word: metrics.score(name, [text(word), f"{word} a"], [f"No {word} here.", f"b {word}"])


def command(*arguments: str) -> Callable[[str], None]:
    def run(word: str) -> None:
        out, err, given = sys.stdout, sys.stderr, sys.stdin
        sys.stdout, sys.stderr, sys.stdin = io.StringIO(), io.StringIO(), io.StringIO(text(word))
        try:
            assert cli.main([*arguments, text(word)]) == 0
        finally:
            sys.stdout, sys.stderr, sys.stdin = out, err, given

    return run


@pytest.fixture
def space(tmp_path, monkeypatch, tiny_autoencoder, small_bank) -> str:
    """The file of a few hundred words, which every mechanism has in the place of 21,719, as it has a small checkpoint
    and bank, and writes a few words: the code is the same."""
    whole, path = dpt.word_space(), str(tmp_path / "few.npz")
    rows = sorted({*range(200, 500), *(whole.index(w) for w in re.findall(r"[a-z]+", text("x").lower()) if w in whole)})
    np.savez(path, words=np.array(whole.words)[rows], vectors=whole.vectors[rows])
    real = dpt.get_mechanism

    def made(name: str, **options) -> dpt.Mechanism:
        fields = {f.name for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}
        few = {"space": path, "lists": (f"{path}@1", f"{path}@2")}
        few |= {"checkpoint": tiny_autoencoder, "bank": small_bank, "max_tokens": 6}
        return real(name, **{k: v for k, v in few.items() if k in fields} | options)

    monkeypatch.setattr(dpt, "get_mechanism", made)
    return path


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The causal language model that reads texts, in the place of one that was added."""
    with pytest.MonkeyPatch.context() as patch:
        made = causal.Judge(write_model(tmp_path_factory.mktemp("judge"), "gpt2"), device="cpu")
        patch.setattr(causal, "judge", lambda: made)
        yield


def operations(model: str, folder: Path, space: str) -> dict[str, Callable[[str], object]]:
    word_level = ["--mechanism", "santext", "--oov", "keep", "--space", space]
    return {
        **{name: all_of(name, model) for name in QUICK},
        "errors": errors,
        "cancelled": cancelled,
        "language model attack": lambda w: mask_inference.attack(
            m := dpt.get_mechanism("santext"), m.rewrite(text(w)), model=model
        ).sentence(),
        "likely text attack": lambda w: likely_text.attack(
            m := dpt.get_mechanism("santext"), m.rewrite(text(w)), model=model
        ).sentence(),
        "calibrate, equal privacy, budget": from_privacy,
        "ledger, dropped": from_ledger,
        "audit": from_audit(folder),
        **{f"metric {name}": measure(name) for name in metrics.METRICS},
        "what still stands": lambda w: pii_survival.find_survivors(text(w), f"My sister {w}."),
        "corpus BLEU": lambda w: corpus_bleu([text(w)] * 3, [f"No {w} here."] * 3),
        "sentence embeddings": lambda w: embed([text(w)]),
        "command rewrite": command("rewrite", *word_level, "--json", "--trace"),
        "command distribution": command("distribution", *word_level, "--index", "1"),
        "command calibrate": command("calibrate", *word_level, "--n-w", "0.5"),
    }


@functools.lru_cache(maxsize=4)
def planted(given: str) -> int:
    return len(given)


@functools.cache
def endless(given: str) -> int:
    return len(given)


def private_objects() -> Counter[str]:
    """Those that were made in this test: ``new_objects`` hides all others from the collector."""
    gc.collect()
    return Counter(type(o).__name__ for o in gc.get_objects() if issubclass(type(o), Private))


@pytest.mark.slow
def test_nothing_is_left_of_a_text_and_what_is_kept_is_found(
    tiny_model, space, judge, few_draws, tmp_path, new_objects, monkeypatch
):
    """Each operation gets a made-up word of its own; afterwards nothing holds one of them, nor any text or channel.

    The positive control, in the same scan: a cache, a container in an object, a closure, bytes, an array, an error with
    its frames.
    """
    monkeypatch.setattr(metadata_leakage, "LONG", 20)
    gpt2, bart = (str(tiny_generator(tmp_path / kind, kind)) for kind in ("gpt2", "bart"))
    models = {"dp-prompt": gpt2, "dp-paraphrase": gpt2, "dp-bart": bart}
    others = {name: all_of(name, models.get(name, tiny_model), in_each_way=False) for name in OTHERS}
    done = {**operations(tiny_model, tmp_path, space), **others, "attacks": from_attacks}

    class Holder:
        pass

    holder, arrays = Holder(), []

    def closure(word: str) -> Callable[[], str]:
        return lambda: word

    def error(word: str) -> None:
        try:
            raise ValueError(text(word))
        except ValueError as e:
            holder.error = e

    keeping = {
        "a cache": lambda w: planted(text(w)),
        "an endless cache": lambda w: endless(text(w)),
        "a key": lambda w: setattr(holder, "keys", {text(w): 1}),
        "an attribute": lambda w: setattr(holder, "words", {1: [(text(w),)]}),
        "a closure": lambda w: setattr(holder, "call", closure(w)),
        "bytes": lambda w: setattr(holder, "data", bytearray(w.upper().encode())),
        "an array": lambda w: arrays.append(np.array([w, "b"])),
        "an array of objects": lambda w: arrays.append(np.array([w, None], dtype=object)),
        "an error": error,
        "sacrebleu by itself": lambda w: sentence_bleu(text(w), [text(w)]),
        "a prepared text": lambda w: setattr(holder, "prepared", dpt.get_mechanism("santext").prepare(text(w))),
    }
    marker, names = Marker(), [*done, "nothing", *keeping]
    try:
        run_each(done | {"nothing": len}, marker)
        assert private_objects() == Counter()
        run_each(keeping, marker, len(done) + 1)
        assert private_objects()
        found = marker.find()
        print("\n" + table(names, found))
        assert [names[n] for n in sorted(found)] == list(keeping)
    finally:
        for cached in (Tokenizer13a.__call__, TokenizerRegexp.__call__, planted):
            cached.cache_clear()
        endless.cache_clear()
