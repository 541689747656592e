"""The tested part of an audit: what whole rewrites release, in every way, against what is stated of it."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest
from marks import slow_but
from small_spaces import diffractor, on, over, random_space, shuffled_lists, words

import dptext_core as dpt
from dptext_core import WordSpace
from dptext_core.auditing import audit, goodness_of_fit, verdict
from dptext_core.mechanisms.masked.dp_mlm import DPMLM, DPMLMPlus
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.privacy.distribution import ScoreTable
from dptext_core.privacy.terms import Metric
from dptext_lab.broken_mechanisms.stated import _leaking

SPACE = random_space(30, 4)
NAMES = list(words(30))

pytestmark = pytest.mark.usefixtures("few_looks", "few_releases")


@pytest.fixture(autouse=True)
def only_draws(monkeypatch):
    """Audits without the looks that come first, so that draws show what is found."""
    monkeypatch.setattr(verdict, "FIRST", ())


def of(cls, epsilon=2.0, space=SPACE, **options):
    return over(space, cls, **({"epsilon": epsilon, "keep_stopwords": False} | options))


def checked(m, inputs=NAMES, **options):
    return audit(m, inputs, **({"draws": 100, "seed": 1} | options))


@functools.cache
def santext():
    """What is said of SanText as it is."""
    return checked(of(SanText))


def unchanged(result):
    steps = tuple(dataclasses.replace(s, replacement=s.original, out=s.span) for s in result.steps)
    return dataclasses.replace(result, text=result.original, steps=steps)


# --- every way in which a rewrite can be had


class OfText(SanText):
    def rewrite(self, text, seed=None, **more):
        result = super().rewrite(text, seed, **more)
        return unchanged(result) if isinstance(text, str) else result


class OfPrepared(SanText):
    def rewrite(self, text, seed=None, **more):
        result = super().rewrite(text, seed, **more)
        return unchanged(result) if isinstance(text, dpt.Prepared) else result


class OfList(SanText):
    def rewrite_list(self, *arguments):
        return [unchanged(r) for r in super().rewrite_list(*arguments)]


class OfFresh(SanText):
    def rewrite_repeatedly(self, *arguments):
        return [unchanged(r) for r in super().rewrite_repeatedly(*arguments)]


@pytest.mark.parametrize(
    ("cls", "way"),
    [(OfText, "a text"), (OfPrepared, "a prepared text"), (OfList, "a list of texts"), (OfFresh, "fresh draws")],
)
def test_a_way_that_changes_nothing_is_found(cls, way):
    for recase in ("none", "sentence"):
        report = checked(of(cls, recase=recase))
        assert report.verdict == "refuted" and f" {way}" in report.details()


def test_a_text_that_is_not_what_its_steps_say_is_found():
    class Other(SanText):
        def _result(self, *arguments, **more):
            result = super()._result(*arguments, **more)
            return dataclasses.replace(result, text=result.original)

    report = checked(of(Other))
    assert report.verdict == "refuted" and report.witness.kind == "release"
    assert "releases something other" in report.reason


def test_a_word_that_is_stated_to_be_drawn_and_stays_is_found():
    class Keeps(SanText):
        def _result(self, *arguments, **more):
            result = unchanged(super()._result(*arguments, **more))
            steps = tuple(dataclasses.replace(s, action="keep", epsilon=0.0) for s in result.steps)
            return dataclasses.replace(result, steps=steps)

    assert checked(of(Keeps)).verdict == "refuted"


@pytest.mark.slow
def test_capitals_that_follow_the_original_are_found():
    class Copies(SanText):
        def _capital(self, word, begin):
            return word == word.lower() and word > "f"

    assert checked(of(Copies)).witness.kind == "release"
    assert checked(of(SanText, recase="original")).holds


# --- other words, places, repetitions


class Neighbours(SanText):
    """States, and draws from, a distribution that depends on how many words there are."""

    def _channel_at(self, prepared, i):
        channel = super()._channel_at(prepared, i)
        if len(prepared.rows) == 30 or not isinstance(channel, ScoreTable):
            return channel
        return ScoreTable(channel.candidates, channel.scores / 2, channel.source)


def test_a_distribution_that_depends_on_other_words_is_found():
    report = checked(of(Neighbours))
    assert report.verdict == "refuted" and "depends on the surrounding words" in report.reason


@pytest.mark.parametrize("strategy", slow_but(["record"], ["record", "dataset"]))
def test_repeated_words_are_drawn_as_the_unit_says(strategy):
    assert checked(of(CusText, k=10, strategy=strategy)).holds


def test_repeated_words_drawn_apart_where_they_count_once_are_found():
    class Apart(CusText):
        def _path(self, prepared, i):
            return f"word {int(prepared.rows[i])} {i}"

    report = checked(of(Apart, k=10, strategy="record"))
    assert report.verdict == "refuted" and "sampled separately" in report.reason


@pytest.mark.slow
def test_repeated_words_drawn_together_where_each_counts_are_found():
    class Together(CusText):
        def _draw(self, draws, task):
            drawn = super()._draw(draws, task)
            first = {}
            return [first.setdefault((o, r), w) for o, r, w in zip(draws.owners, draws.rows, drawn, strict=True)]

    report = checked(of(Together, k=10, mapping="conservative"), draws=150)
    assert report.verdict == "refuted" and "the same word twice" in report.witness.sentence()


class Shared(SanText):
    """Two different words share their noise."""

    def _path(self, prepared, i):
        return 1 if i in (1, 4) and len(prepared.rows) > 5 else i


@pytest.mark.slow
def test_noise_that_two_places_share_is_found(monkeypatch):
    monkeypatch.setattr(goodness_of_fit, "LOW", 10)  # 330 rewrites, of the 300 that are needed
    report = checked(of(Shared), NAMES[:8])
    assert report.verdict == "refuted" and "independently" in report.witness.sentence()


class Fixed(SanText):
    def rewrite_prepared(self, prepared, stream, task):
        return super().rewrite_prepared(prepared, dpt.NoiseStream(7), task)


class Named(SanText):
    def _result(self, prepared, *arguments, **more):
        result = super()._result(prepared, *arguments, **more)
        return dataclasses.replace(result, noise_id=result.noise_id + prepared.text[:4])


def test_noise_that_is_the_same_in_every_call_and_names_that_tell_the_text_are_found():
    for cls, told in ((Fixed, "the same noise ID"), (Named, "different noise IDs")):
        report = checked(of(cls))
        assert report.verdict == "refuted" and told in report.details(), report.details()


def swapped(result, change):
    """The result with another word for some of the drawn ones; its text follows its steps."""
    text, at, steps = "", 0, []
    for s in result.steps:
        word = change(s) if s.action in ("replace", "insert") else s.replacement
        text += result.text[at : s.out[0]]
        at = s.out[1]
        steps.append(dataclasses.replace(s, replacement=word, out=(len(text), len(text) + len(word))))
        text += word
    return dataclasses.replace(result, text=text + result.text[at:], steps=tuple(steps))


class KeepsUnknown(SanText):
    def _result(self, prepared, *arguments, **more):
        result = super()._result(prepared, *arguments, **more)
        return swapped(result, lambda s: s.original if s.reason else s.replacement)


class KeepsSome(SanText):
    """One word of the vocabulary stays whatever is drawn."""

    def _draw(self, draws, task):
        drawn = super()._draw(draws, task)
        return [self.vocabulary.words[r] if r == 17 else w for r, w in zip(draws.rows, drawn, strict=True)]


class KeepsFar(SanText):
    def _draw(self, draws, task):
        drawn = super()._draw(draws, task)
        return [
            self.vocabulary.words[r] if p >= 20 else w for r, p, w in zip(draws.rows, draws.paths, drawn, strict=True)
        ]


class Capitals(SanText):
    def _capital(self, word, begin):
        return begin or word[:1].isupper()


class Promises(SanText):
    def _result(self, *arguments, **more):
        result = super()._result(*arguments, **more)
        return dataclasses.replace(result, guarantee=dataclasses.replace(result.guarantee, epsilon=0.1, total=0.1))


class Total(SanText):
    def guarantee(self, text):
        return dataclasses.replace(super().guarantee(text), total=self.config.epsilon, draws=1, spent=())


class OneWay(SanText):
    """A fifth of the rewrites of a text return its words; fresh draws are honest."""

    def rewrite_prepared(self, *arguments):
        result = super().rewrite_prepared(*arguments)
        leaks = int(result.noise_id, 16) % 5 == 0
        return swapped(result, lambda s: s.original.lower() if leaks else s.replacement)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (KeepsUnknown, {}),
        (KeepsSome, {}),
        (KeepsFar, {}),
        (Capitals, {"recase": "sentence"}),
        (Promises, {}),
        (Total, {}),
        (OneWay, {"recase": "none"}),
    ],
)
def test_what_an_audit_of_single_words_would_not_see(cls, options):
    report = checked(of(cls, **options))
    assert report.verdict == "refuted", report.details()


@pytest.mark.slow
def test_every_text_of_the_callers_is_rewritten(tiny_model):
    class Second(DPMLM):
        def _result(self, prepared, *arguments, **more):
            result = super()._result(prepared, *arguments, **more)
            return swapped(result, lambda s: s.original.lower() if "?" in prepared.text else s.replacement)

    texts = ["my doctor in paris changed the medicine", "was my friend in london sick?"]
    options = {"model": tiny_model, "epsilon": 20.0, "recase": "none"}
    assert checked(Second.create(**options), texts).verdict == "refuted"


class Inserts(DPMLMPlus):
    """The inserted word is the one before it."""

    def _result(self, prepared, *arguments, **more):
        tokens = prepared.document.tokens
        result = super()._result(prepared, *arguments, **more)
        return swapped(result, lambda s: tokens[s.index].text.lower() if s.action == "insert" else s.replacement)


class Deletes(DPMLMPlus):
    """Short words are left out more often."""

    def _draw_parallel(self, prepared, *arguments):
        acts = super()._draw_parallel(prepared, *arguments)
        return {i: (None if len(prepared.document.tokens[i].text) < 5 else a[0], a[1]) for i, a in acts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Inserts, Deletes])
def test_what_is_inserted_and_left_out_is_looked_at(cls, tiny_model):
    texts = ["doctor changed medicine"]
    options = {"model": tiny_model, "epsilon": 20.0, "add_prob": 0.3, "del_prob": 0.2}
    assert checked(cls.create(**options), texts).verdict == "refuted"


# --- what was refuted wrongly


@pytest.mark.slow
def test_a_dotless_i_is_no_misfit():
    vectors = np.array(SPACE.vectors[:6])
    space = WordSpace("small", "small", ("ı", "i", "dağ", "baq", "ſ", "s"), vectors)
    for recase in ("sentence", "none"):
        assert checked(of(SanText, space=space, recase=recase), ["ı", "i", "dağ", "baq"]).holds


def test_vectors_of_a_large_norm_have_distances():
    vectors = SPACE.vectors.astype(np.float64) + 1e6
    space = WordSpace("small", "small", SPACE.words, vectors.astype(np.float32))
    m = of(SanText, space=space)
    apart = m.audit_support.distances(NAMES)
    assert np.nanmin(apart[~np.eye(30, dtype=bool)]) >= 0
    assert checked(m, NAMES).verdict in ("holds", "inconclusive")


# --- what is said of it


@pytest.mark.slow
def test_both_parts_are_said_and_the_draws_show_less_than_everything():
    m, report = of(SanText), santext()
    assert report.holds and report.proven and report.tested and report.sampler_p > 1e-6
    assert math.isfinite(report.detectable) and 0 < report.leak < 0.2 and report.leak_epsilon < m.config.epsilon
    more = checked(m, draws=416)
    assert more.detectable > report.detectable and more.leak_fresh < report.leak_fresh <= report.leak


@pytest.mark.slow
def test_the_leak_that_would_be_seen_is_seen():
    """Power, stated and measured: a leak of the size that the report names refutes; a tenth of it does not."""

    class Leaks(SanText):
        share = 0.0

        def _draw(self, draws, task):
            return _leaking(self, draws, super()._draw(draws, task), self.share)

    size = santext().leak_fresh
    m = of(Leaks)
    m.share = 1.5 * size
    assert checked(m).verdict == "refuted"
    m.share = size / 10
    assert checked(m).holds


def test_what_the_sampler_cannot_reach_is_found(monkeypatch):
    space = WordSpace("small", "small", SPACE.words, SPACE.vectors * 4)
    monkeypatch.setattr(SanText, "max_epsilon", property(lambda self: math.inf))
    m = of(SanText, epsilon=900.0, space=space)
    report = checked(m)
    assert (
        report.verdict == "refuted" and report.measured == math.inf and "never released" in report.witness.sentence()
    )


@pytest.mark.slow
def test_distances_are_those_that_the_promise_names():
    class Longer(SanText):
        def distances(self, words):
            return 3.0 * super().distances(words)

    # More distance than the named one would allow more than is promised: it is not taken at its word.
    sound, longer = santext(), checked(of(Longer))
    assert longer.measured == pytest.approx(sound.measured, rel=1e-5) and longer.holds

    class Unknown(SanText):
        def _metric(self):
            return Metric("custom", text="a distance of my own")

    assert "the audit does not know" in checked(of(Unknown)).proven


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "oov"), [("custext", "random"), ("custext", "keep"), ("mvc", "drop"), ("diffractor", "mask")]
)
def test_words_pass_whatever_becomes_of_unknown_ones(name, oov):
    """By lists, by a formula, and without one: how they are written is one piece of code for all."""
    options = {"oov": oov, "recase": "sentence"}
    m = diffractor(shuffled_lists(30, 2), **options) if name == "diffractor" else on(SPACE, name, **options)
    assert checked(m, NAMES[:4]).verdict != "refuted"


@pytest.mark.slow
def test_a_language_model_passes(tiny_model):
    """With words that are added, left out and marks; of draw after draw test_seeded has the figures, of all at once
    test_faults the twins."""
    options = {"add_prob": 0.3, "del_prob": 0.2, "keep_punctuation": False, "recase": "original"}
    m = dpt.get_mechanism("dp-mlm-plus", model=tiny_model, epsilon=20.0, **options)
    report = checked(m, ["My doctor changed!"])
    assert report.holds, report.details()
