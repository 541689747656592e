"""Sentence bank: the law against an independent computation, the promise, slots, lists, the same noise."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from guarantee_terms import entries, kinds, shared
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_banks import SENTENCES, meaningless, write

import dptext_core as dpt
from dptext_core.mechanisms.sentence.sentence_trace import CosineTable, sentence_range
from dptext_core.models import sentence_encoder
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.words.bank import text_codes
from dptext_core.words.vocabulary import trunk_folder

TEXT = "The pain was bad. She went home in 3 days, and wrote a letter!"
FIRST, SECOND = "The pain was bad.", "She went home in 3 days, and wrote a letter!"


@pytest.fixture(scope="module")
def near(tmp_path_factory) -> str:
    """A bank whose sentences are at known distances from the two of TEXT."""
    own, away = meaningless([FIRST, SECOND]), meaningless(SENTENCES)
    share = np.linspace(0.0, 0.9, len(SENTENCES))[:, None]
    mixed = share * own[np.arange(len(SENTENCES)) % 2] + np.sqrt(1 - share**2) * away
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    return str(write(tmp_path_factory.mktemp("near") / "bank", SENTENCES, mixed))


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr(sentence_encoder, "embed", meaningless)


def make(bank: str, **options) -> dpt.Mechanism:
    return dpt.get_mechanism("dp-sentence", bank=bank, **options)


def brute(m, sentence: str, epsilon: float, low: float, high: float) -> list[float]:
    """P(s | x) of every sentence of the bank, by the formula, one number at a time."""
    x = text_codes(meaningless([sentence]))[0].astype(float)
    weights = []
    for s in m.bank.codes.astype(float):
        cosine = sum(a * b for a, b in zip(x, s, strict=True))
        cosine /= math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in s))
        u = (min(max(cosine, low), high) - low) / (high - low)
        weights.append(math.exp(epsilon * u / 2))
    return [w / sum(weights) for w in weights]


# --- the law


@pytest.mark.parametrize("epsilon", [5.0, 20.0, 50.0, 300.0])
@pytest.mark.parametrize("ends", [None, (0.2, 0.6), (-0.5, 0.9)])
def test_the_law_is_the_formula(near, epsilon, ends):
    m = make(near, epsilon=epsilon, **({} if ends is None else {"low": ends[0], "high": ends[1]}))
    r = m.rewrite(TEXT, seed=1)
    for i, sentence in enumerate((FIRST, SECOND)):
        d = r.distribution(i)
        assert tuple(d.candidates) == SENTENCES and d.probs.dtype == np.float64
        assert d.probs == pytest.approx(brute(m, sentence, epsilon, *(ends or sentence_range(epsilon))), rel=1e-9)


def test_sentences_come_out_as_often_as_the_law_says(near):
    m = make(near, epsilon=12.0)
    p = m.prepare(FIRST)
    d = m.rewrite(p, seed=1).distribution(0)
    drawn = [r.candidate(0) for r in m.rewrites(p, 2000, seed=2)]
    counts = np.bincount(drawn, minlength=len(SENTENCES))
    likely = d.probs > 0.005
    chi = ((counts - 2000 * d.probs)[likely] ** 2 / (2000 * d.probs[likely])).sum()
    assert likely.sum() > 5 and chi < 3 * likely.sum()


@pytest.mark.parametrize("before", [0, 1, 2, 4])
def test_the_range_is_a_range_at_every_epsilon(before):
    for epsilon in (1e-9, 0.1, 1.0, 10.0, 40.0, 50.0, 200.0, 1400.0):
        low, high = sentence_range(epsilon, before)
        assert 0 <= low < high <= 1
    ends = [sentence_range(e, before) for e in np.geomspace(0.1, 1400, 200)]
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(ends)), "it never falls"


def test_ends_are_given_together_and_in_order(near):
    for wrong, why in (({"low": 0.1}, "or neither"), ({"high": 0.5}, "both"), ({"low": 0.5, "high": 0.5}, "below")):
        with pytest.raises(dpt.ConfigError, match=why):
            make(near, **wrong)
    for wrong in ({"low": -1.5, "high": 0.5}, {"slots": 0}, {"slots": 2.5}, {"bank": "no-such-bank"}):
        with pytest.raises(dpt.ConfigError):
            make(**{"bank": near} | wrong)


# --- the promise


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    epsilon=st.floats(0.01, 1400),
    low=st.floats(-1, 0.98),
    width=st.floats(0.001, 1),
    data=st.lists(st.lists(st.floats(-1, 1), min_size=12, max_size=12), min_size=2, max_size=2),
    law=st.booleans(),
)
def test_no_two_sentences_are_told_apart_by_more_than_epsilon(epsilon, low, width, data, law):
    """Whatever the cosines are: also those that no encoder would give."""
    ends = None if law else (low, min(1.0, low + width))
    one, other = (CosineTable(SENTENCES[:12], np.array(row), ends).at(epsilon).log_probs for row in data)
    assert np.abs(one - other).max() <= epsilon * (1 + 1e-12) + 1e-9


def test_the_bound_is_reached(near):
    """One sentence at one end of the range for one text and at the other for another: the loss comes near ε."""
    n = 4000
    a, b = np.full(n, 0.9), np.full(n, 0.0)
    a[0], b[0] = 0.0, 0.9
    names = tuple(map(str, range(n)))
    one, other = (CosineTable(names, x, (0.2, 0.6)).at(10.0).log_probs for x in (a, b))
    assert 9.9 < np.abs(one - other).max() <= 10.0


def test_everything_possible_is_drawn_at_the_largest_epsilon(near):
    m = make(near, epsilon=1400.0)
    d = m.rewrite(FIRST, seed=1).distribution(0)
    assert np.isfinite(d.log_probs).all() and d.log_probs.min() >= -d.depth


def test_what_is_promised_and_exposed(near):
    g = make(near, epsilon=30.0).guarantee(TEXT)
    assert (g.notion, g.epsilon, g.draws, g.total, g.delta) == ("pure", 30.0, 2, 60.0, 0.0)
    assert kinds(g) == [c.kind for c in g.among.conditions] == shared(g) == ["sentence-count"]
    assert "ε = 60" in g.sentence()
    g = make(near, epsilon=30.0, slots=3).guarantee(TEXT)
    assert (g.draws, g.total) == (3, 90.0) and not g.among and g.adjacency.is_any_texts
    assert kinds(g) == ["sentence-slots"] and entries(g, "sentence-slots") == [{"count": 3}]
    assert make(near).guarantee("").draws == 1 and make(near, slots=4).guarantee("").draws == 4


def test_which_texts_are_alike(near):
    m = make(near)
    adjacent = m.audit_support.adjacent
    assert adjacent(TEXT, "One. Two.") and not adjacent(TEXT, FIRST) and adjacent("", FIRST)
    assert make(near, slots=2).audit_support.adjacent(TEXT, "")


def test_an_audit_of_one_text_takes_another_one_beside_it(near, few_rewrites):
    report = dpt.audit(make(near, epsilon=2.0), ["The film was short."], draws=100)
    assert report.pairs == 1 and report.verdict == "holds"
    alone = dpt.audit(make(near, epsilon=2.0), ["One. " * 40], draws=100)
    assert not alone.pairs and alone.verdict == "inconclusive"


def test_an_audit_holds_exactly(near, few_rewrites):
    report = dpt.audit(make(near, epsilon=20.0), inputs=[FIRST, SECOND, "Nobody came."], draws=100)
    assert report.holds and report.exact and report.claimed == 20.0 and 1 < report.measured <= 20.0


# --- more sentences for one


def after(m, sentence: str, drawn: list[int], epsilon: float, low: float, high: float) -> list[float]:
    """P(s | x) of every sentence once some were drawn, by the formula, one number at a time."""
    x = text_codes(meaningless([sentence]))[0].astype(float)
    codes, weights = m.bank.codes.astype(float), []
    for s in codes:
        sum_ = [a + sum(codes[i][k] for i in drawn) for k, a in enumerate(s)]
        cosine = sum(a * b for a, b in zip(x, sum_, strict=True))
        cosine /= math.sqrt(sum(a * a for a in x)) * math.sqrt(sum(b * b for b in sum_))
        weights.append(math.exp(epsilon * (min(max(cosine, low), high) - low) / (high - low) / 2))
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize("ends", [None, (-0.5, 0.9)])
def test_a_further_sentence_is_drawn_by_what_those_before_lack(near, ends):
    m = make(near, each=3, epsilon=25.0, **({} if ends is None else {"low": ends[0], "high": ends[1]}))
    r = m.rewrite(TEXT, seed=3)
    drawn = [r.candidate(i) for i in range(6)]
    assert [p.text for p in r.releases] == [SENTENCES[i] for i in drawn]
    for i, sentence in enumerate((FIRST, FIRST, FIRST, SECOND, SECOND, SECOND)):
        before = drawn[i - i % 3 : i]
        want = after(m, sentence, before, 25.0, *(ends or sentence_range(25.0, len(before))))
        assert r.distribution(i).probs == pytest.approx(want, rel=1e-6)


def test_further_sentences_come_out_as_often_as_they_should(near):
    m = make(near, each=2, epsilon=12.0)
    drawn = [(r.candidate(0), r.candidate(1)) for r in m.rewrites(m.prepare(FIRST), 2000, seed=2)]
    first = Counter(a for a, _ in drawn).most_common(1)[0][0]
    own = [b for a, b in drawn if a == first]
    want = np.array(after(m, FIRST, [first], 12.0, *sentence_range(12.0, 1)))
    counts, likely = np.bincount(own, minlength=len(SENTENCES)), want > 0.01
    chi = ((counts - len(own) * want)[likely] ** 2 / (len(own) * want[likely])).sum()
    assert len(own) > 200 and likely.sum() > 5 and chi < 3 * likely.sum()


def test_draws_of_one_sentence_add_up_and_keep_the_promise(near, few_rewrites):
    m = make(near, each=2, epsilon=10.0)
    g = m.guarantee(TEXT)
    assert (g.epsilon, g.draws, g.total, g.notion) == (10.0, 4, 40.0, "pure")
    assert kinds(g) == ["sentence-count"]
    assert entries(make(near, each=2, slots=3).guarantee(TEXT), "sentence-slots") == [{"count": 6}]
    report = dpt.audit(m, inputs=[FIRST, SECOND, "Nobody came."], draws=100)
    assert report.holds and report.exact and 1 < report.measured <= report.claimed


def test_chances_with_further_sentences_are_the_products_of_each_draw(near):
    m = make(near, each=2, epsilon=15.0)
    texts = [m.prepare(t) for t in (TEXT, f"{SECOND} {FIRST}", FIRST)]
    results = m.rewrites(texts[0], 3, seed=5)
    log = m.likelihood.log(texts, results)
    for b, r in enumerate(results):
        stated = [m.likelihood.given(t, r) for t in texts]
        assert stated[2] is None and log[2, b] == -np.inf
        for a in (0, 1):
            want = sum(d.log_probs[r.candidate(i)] for i, d in enumerate(stated[a]))
            assert log[a, b] == pytest.approx(want, abs=1e-9)
    assert log[0] == pytest.approx(
        [sum(r.distribution(i).log_probs[r.candidate(i)] for i in range(4)) for r in results]
    )


@pytest.mark.parametrize("each", [1, 2])
def test_sentences_that_every_text_has_are_not_scored_to_compare_the_texts(near, each, monkeypatch):
    m, seen = make(near, each=each, epsilon=15.0), []
    texts = [m.prepare(t) for t in (f"{FIRST} {SECOND}", f"{FIRST} Nobody came.", f"{FIRST} One.")]
    results = m.rewrites(texts[0], 3, seed=5)
    log = m.likelihood.log(texts, results)
    cosines = type(m).cosines
    monkeypatch.setattr(type(m), "cosines", lambda m, codes, *a: (seen.append(len(codes)), cosines(m, codes, *a))[1])
    found = m.likelihood.relative(texts, results)
    assert found - found[0] == pytest.approx(log - log[0], abs=1e-9) and seen == [1, 1, 1]
    other = [*texts, m.prepare(FIRST)]  # of another length: nothing cancels
    assert m.likelihood.relative(other, results) == pytest.approx(m.likelihood.log(other, results))


def test_one_for_each_draws_what_it_always_drew_and_more_begin_with_it(near):
    one, two = make(near, epsilon=20.0), make(near, epsilon=20.0, each=2)
    a, b = (m.rewrite(TEXT, seed=9) for m in (one, two))
    assert [a.candidate(0), a.candidate(1)] == [b.candidate(0), b.candidate(2)]
    listed = two.rewrite([TEXT, FIRST], seed=4)
    assert [len(r.releases) for r in listed] == [4, 2]
    assert "sweep" in a.can and "sweep" not in b.can and "sweep" not in two.can
    with pytest.raises(dpt.NoDistribution):
        b.trace.locked(0, b.units[0])


def test_an_empty_slot_stays_empty_however_many_are_drawn_for_it(near):
    m = make(near, slots=2, each=2, epsilon=1400.0)
    r = m.rewrite(FIRST, seed=1)
    assert [p.text for p in r.releases][2:] == ["", ""] and all(p.text for p in r.releases[:2])
    for i in (2, 3):
        d = r.distribution(i)
        assert d.probs[-1] > 0.99


def test_words_that_are_never_released_stay_out_of_further_sentences_too(near):
    m = make(near, each=2, epsilon=40.0, never=("doctor",))
    r = m.rewrite(FIRST, seed=1)
    places = [i for i, s in enumerate(SENTENCES) if "doctor" not in s]
    assert len(r.distribution(1).probs) == len(places)
    first = places[r.candidate(0)]
    want = np.array(after(m, FIRST, [first], 40.0, *sentence_range(40.0, 1)))[places]
    assert r.distribution(1).probs == pytest.approx(want / want.sum(), rel=1e-6)


# --- texts, slots, lists


def test_a_text_is_drawn_sentence_by_sentence_and_nothing_of_it_is_kept(near):
    m = make(near, epsilon=5.0)
    for r in m.rewrite([TEXT] * 20, seed=1):
        assert [p.text for p in r.releases] == [r.text[slice(*p.span)] for p in r.releases]
        assert all(p.text in SENTENCES and p.origin == "drawn" and p.epsilon == 5.0 for p in r.releases)
        assert r.text == " ".join(p.text for p in r.releases) and len(r.releases) == 2 and not len(r.steps)


def test_a_list_is_what_its_texts_are_and_sentences_go_together_in_small_blocks(near, monkeypatch):
    """A text of very many sentences holds few of them against the bank at a time."""
    from dptext_core.mechanisms.sentence import dp_sentence

    monkeypatch.setattr(dp_sentence, "_TOGETHER", 3)
    m = make(near, epsilon=20.0)
    sizes: list[int] = []
    cosines = type(m).cosines
    monkeypatch.setattr(
        type(m), "cosines", lambda self, codes, *more: sizes.append(len(codes)) or cosines(self, codes, *more)
    )
    texts = [TEXT, "", " ".join(f"Sentence {i} came." for i in range(8)), TEXT]
    together = m.rewrite(texts, seed=4)
    stream = NoiseStream(4)
    assert [r.original for r in together] == texts and [len(r.releases) for r in together] == [2, 1, 8, 2]
    again = [m.rewrite_prepared(m.prepare(t), stream.at(i), dpt.Task()) for i, t in enumerate(texts)]
    assert [r.text for r in together] == [r.text for r in again]
    many = m.rewrites(texts[2], 3, seed=5)
    assert len({r.text for r in many}) == 3 and max(sizes) == 3
    p = m.prepare(texts[2])
    stated = [sum(np.log(r.distribution(i).p(u.text)) for i, u in enumerate(r.units)) for r in many]
    assert m.likelihood.log([p], many)[0] == pytest.approx(stated)


def test_blanks_and_line_ends_of_the_text_do_not_show(near):
    m = make(near, epsilon=400.0)
    assert m.rewrite(TEXT, seed=1).text == m.rewrite(f"\n\n  {FIRST}\n\t\n{SECOND}  ", seed=1).text


def test_slots_are_filled_and_cut(near):
    m = make(near, epsilon=400.0, slots=3)
    r = m.rewrite(TEXT, seed=1)
    assert len(r.releases) == 3 and r.releases[2].text == "" and r.releases[2].epsilon == 400.0
    assert r.text == make(near, epsilon=400.0).rewrite(TEXT, seed=1).text
    assert r.distribution(2).top(1) == [("", pytest.approx(1.0))]
    assert r.distribution(0).p("") < 1e-40
    assert not m.reading.note(TEXT)
    one = make(near, epsilon=400.0, slots=1)
    assert len(one.rewrite(TEXT, seed=1).releases) == 1
    assert "only 1 of this text's 2 sentences" in one.reading.note(TEXT)
    assert one.rewrite(TEXT, seed=1).text == one.rewrite(FIRST, seed=1).text, "what follows is never looked at"


def test_the_author_is_told_where_a_sentence_is_longer_than_what_is_read(near):
    m = make(near, epsilon=5.0)
    word = "the "
    whole, longer = word * sentence_encoder.PIECES, word * (sentence_encoder.PIECES + 1)
    assert "word pieces" not in m.reading.note(whole)
    assert "A sentence has more than 254 word pieces." in m.reading.note(longer)
    assert "2 sentences" in m.reading.note(f"{longer}. Short. {longer}.")
    assert "A sentence has more than" in make(near, epsilon=5.0, slots=1).reading.note(f"{longer}. {longer}.")


@pytest.mark.slow
def test_the_encoder_reads_as_many_pieces_as_is_said():
    limits = json.loads((trunk_folder() / "sentence_bert_config.json").read_text(encoding="utf-8"))
    assert limits["max_seq_length"] == sentence_encoder.PIECES + 2


def test_the_author_is_told_where_the_bank_has_nothing_near(near):
    m = make(near)
    assert m.nearest(m.prepare(FIRST)) == pytest.approx(m.cosines(m.prepare(FIRST).codes).max())
    assert not m.reading.note(m.prepare(TEXT)), "a sentence of the bank is near each of the two"
    far = m.prepare("Nobody has written this.")
    assert f"has a cosine of {m.nearest(far):.2f}" in m.reading.note(far)
    assert not m.reading.note("Nobody has written this."), "it takes the encoder, and a note runs none"
    assert not m.reading.note(m.prepare(" ")) and not m.replace(slots=2).reading.note(m.replace(slots=2).prepare(""))


def test_an_empty_slot_keeps_the_promise(near):
    m = make(near, epsilon=9.0, slots=2)
    filled, empty = (m.rewrite(t, seed=1).distribution(1).log_probs for t in (TEXT, ""))
    assert len(filled) == len(SENTENCES) + 1
    assert 1 < np.abs(filled - empty).max() <= 9.0


def test_without_slots_a_text_of_blanks_says_nothing(near):
    d = make(near, epsilon=300.0).rewrite("  \n ", seed=1).distribution(0)
    assert d.probs == pytest.approx(1 / len(SENTENCES)) and "" not in d.candidates


def test_sentences_with_a_listed_word_are_out_before_anything_is_drawn(near):
    m = make(near, epsilon=5.0, never=["LETTER", "garden"])
    d = m.rewrite(FIRST, seed=1).distribution(0)
    left = [s for s in SENTENCES if "letter" not in s and "garden" not in s]
    assert list(d.candidates) == left
    whole = make(near, epsilon=5.0).rewrite(FIRST, seed=1).distribution(0)
    share = sum(whole.p(s) for s in left)
    assert d.probs == pytest.approx([whole.p(s) / share for s in left])
    with pytest.raises(dpt.ConfigError, match="Every sentence of the bank"):
        make(near, never=["the", "my", "a", "her"]).rewrite(FIRST)
    assert len(make(near, never=["zebra"]).candidates) == len(SENTENCES)


# --- the same noise


def test_where_the_released_sentence_changes_is_where_a_rewrite_does(near):
    for ends in ({}, {"low": 0.1, "high": 0.8}):
        m = make(near, **ends)
        p = m.prepare(TEXT)
        for seed in range(4):
            channel, stream = m.rewrite(p, seed=seed).locked(1)
            flips = channel.epsilon_breakpoints(stream, 1.0, 300.0)
            assert flips[0][0] == 1.0 and len({i for _, i in flips}) > 1
            for epsilon in np.geomspace(1.0, 300.0, 25):
                where = max(k for k, (e, _) in enumerate(flips) if e <= epsilon)
                nearby = [abs(e / epsilon - 1) < 1e-3 for e, _ in flips]
                drawn = m.replace(epsilon=float(epsilon)).rewrite(p, seed=seed).candidate(1)
                assert drawn == flips[where][1] or any(nearby)


def test_a_sweep_asks_the_encoder_once(near, monkeypatch):
    asked = []
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts: asked.append(texts) or meaningless(texts))
    m = make(near)
    s = m.sweep(TEXT, [5.0, 50.0, 200.0], seed=3)
    assert asked == [[FIRST], [SECOND]] and len({r.noise_id for r in s.results}) == 1
    assert m.guarantee(TEXT).total and m.plan(TEXT).text == TEXT and len(asked) == 2


# --- chances of whole rewrites


def test_chances_of_whole_rewrites_are_those_of_their_sentences(near):
    m = make(near, epsilon=10.0)
    texts = [m.prepare(t) for t in (TEXT, "One. Two.", FIRST)]
    results = m.rewrites(texts[0], 3, seed=5)
    found = m.likelihood.log(texts, results)
    for b, r in enumerate(results):
        for a, p in enumerate(texts[:2]):
            stated = m.likelihood.given(p, r)
            each = [math.log(d.p(u.text)) for d, u in zip(stated, r.units, strict=True)]
            assert found[a, b] == pytest.approx(sum(each))
        assert m.audit_support.spelled([r.candidate(0), r.candidate(1)]) == r.text
    assert np.isneginf(found[2]).all() and m.likelihood.given(texts[2], results[0]) is None
    assert np.abs(found[0] - found[1]).max() <= 20.0


def test_a_broken_vector_is_drawn_for_as_any_other(near, monkeypatch):
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts: np.full((len(texts), 384), np.nan, np.float32))
    d = make(near, epsilon=100.0).rewrite(FIRST, seed=1).distribution(0)
    assert np.isfinite(d.log_probs).all() and d.probs.sum() == pytest.approx(1.0)


def test_its_setting_makes_it_again(near):
    m = make(near, slots=2, low=0.1, high=0.7, epsilon=60.0)
    again = m.setting.make()
    assert again.config == m.config and again.loads() == m.loads() == {"bank": m.bank.about.sha256}
