"""Models that score every word of a text in one pass, each asked for by a query (``dptext_core/models/windows.py``)."""

from __future__ import annotations

import json
import threading
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_masked_lm, tiny_roberta, vocabulary

import dptext_core as dpt
from dptext_core import models
from dptext_core.models import MaskRequest
from dptext_core.models.masked_lm import MaskedLM
from dptext_core.models.windows import Queries, Template, overlapping
from dptext_core.models.worker import Engine
from dptext_core.text.document import Document

TEXT = "The doctor told my sister that the pain was bad, and she went home after two days."
LONG = " ".join(vocabulary() * 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tiny_masked_lm(tmp_path_factory.mktemp("queries"))
    card = json.loads((path / "dptext.json").read_text())
    (path / "dptext.json").write_text(json.dumps({**card, "queries": True}))
    return str(path)


@pytest.fixture(scope="module")
def lm(folder):
    return MaskedLM(models.masked_lm_spec(folder), "cpu", "float32")


def asked(lm, text):
    pieces = lm.encode(Document.parse(text))
    return [MaskRequest(pieces, pieces, i) for i in range(len(pieces))]


def scores(lm, requests):
    """By an engine of its own, which makes passes of them."""
    engine = Engine(str(lm.spec.folder))
    engine._lm = lm
    try:
        return engine.score(requests)
    finally:
        engine.stop()


@cache
def plain(spec):
    from dptext_core.models.torch_masked import plain_model

    return plain_model(spec)[0]


def plainly(lm, request):
    """By transformers' own model, the query alone after its text."""
    import torch

    from dptext_core.models.torch_masked import query_inputs

    x = lm.model_input(request)
    model = plain(lm.spec)
    with torch.inference_mode():
        given = query_inputs(torch.tensor([x.ids]), torch.tensor([x.position]), lm.mask_id)
        return model(**given).logits[0, len(x.ids)].numpy()[lm.candidate_ids]


@pytest.mark.parametrize("text", [TEXT, LONG])
def test_scores_are_those_of_the_plain_model(lm, text):
    requests = asked(lm, text)
    assert lm._logits.cuts
    found = scores(lm, requests)
    for i in range(0, len(requests), len(requests) // 7):
        np.testing.assert_allclose(found[i], plainly(lm, requests[i]), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def whole(lm):
    """The same model without a shortcut."""
    other = MaskedLM(lm.spec, "cpu", "float32")
    other._logits.run_whole()
    return other


def test_without_the_shortcut_they_are_the_same(lm, whole):
    requests = asked(lm, TEXT)
    assert not whole._logits.cuts
    np.testing.assert_allclose(scores(whole, requests), scores(lm, requests), rtol=1e-4, atol=1e-5)


def test_without_the_shortcut_a_query_has_the_bits_that_it_has_alone(whole):
    requests = asked(whole, LONG)[:70]
    together = scores(whole, requests)
    np.testing.assert_array_equal(scores(whole, requests[3:20]), together[3:20])
    for i in (0, 17, 69):
        np.testing.assert_array_equal(scores(whole, [requests[i]])[0], together[i])


def test_a_pass_computes_a_text_once(lm, monkeypatch):
    passes = []
    inner = lm.forward_all
    monkeypatch.setattr(lm, "forward_all", lambda some: passes.extend(some) or inner(some))
    scores(lm, asked(lm, TEXT))
    assert [len(inputs) for inputs, _ in passes] == [len(asked(lm, TEXT))]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_same_bits_whatever_is_asked_beside_it(folder, dtype):
    lm = MaskedLM(models.masked_lm_spec(folder), "cpu", dtype)
    requests = asked(lm, TEXT) + asked(lm, LONG)
    together = scores(lm, requests)
    some = np.random.default_rng(3).permutation(len(requests))[:40].tolist()
    np.testing.assert_array_equal(scores(lm, [requests[i] for i in some]), together[some])
    for i in some[:8]:
        np.testing.assert_array_equal(scores(lm, [requests[i]])[0], together[i])


def test_texts_of_a_list_are_scored_together_and_rewritten_as_alone(folder, monkeypatch):
    m = dpt.get_mechanism("dp-mlm", epsilon=20, model=folder)
    texts = ["The doctor was here.", "", "My sister went home after two days.", "The doctor was here."]
    calls, inner = [], Engine.score
    monkeypatch.setattr(Engine, "score", lambda self, x, **more: calls.append(len(x)) or inner(self, x, **more))
    prepared = list(m.prepare_many(texts))
    assert calls == [sum(len(p.targets) for p in prepared)]
    for one, text in zip(prepared, texts, strict=True):
        assert m.rewrite(one, seed=3).text == m.rewrite(text, seed=3).text
    assert len(list(m.prepare_many([""]))) == 1 and list(m.prepare_many([])) == []


def test_the_same_bits_beside_other_callers(lm):
    requests, out = [asked(lm, TEXT), asked(lm, LONG), asked(lm, TEXT[:30])], {}
    engine = Engine(str(lm.spec.folder))
    engine._lm = lm
    threads = [threading.Thread(target=lambda k=k: out.__setitem__(k, engine.score(requests[k]))) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    engine.stop()
    for k, some in enumerate(requests):
        np.testing.assert_array_equal(out[k], scores(lm, some))


def test_a_query_reads_the_word_that_stands_there_and_no_other_query(lm):
    """The word at its own place changes its scores; what else is asked does not (above), nor does its masked form."""
    pieces = lm.encode(Document.parse(TEXT))
    other = [*pieces[:1], lm.word_pieces("nurse"), *pieces[2:]]
    a, b = scores(lm, [MaskRequest(p, p, 1) for p in (pieces, other)])
    assert np.abs(a - b).max() > 1e-3
    hidden = [*pieces[:1], [], *pieces[2:]]
    c, d = scores(lm, [MaskRequest(p, hidden, 1) for p in (pieces, other)])
    np.testing.assert_array_equal(c, d)


def test_without_context_the_word_itself_is_not_read(lm):
    pieces = lm.encode(Document.parse(TEXT))
    other = [*pieces[:1], lm.word_pieces("nurse"), *pieces[2:]]
    a, b = scores(lm, [MaskRequest(None, p, 1) for p in (pieces, other)])
    np.testing.assert_array_equal(a, b)
    assert not lm.model_input(MaskRequest(None, pieces, 1)).query


LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=60)


@given(LENGTHS, st.integers(8, 60))
def test_windows_cover_every_token(lengths, room):
    windows = overlapping(lengths, room)
    ends = [0, *accumulate(lengths)]
    assert {i for a, b in windows for i in range(a, b)} == set(range(len(lengths)))
    assert all(ends[b] - ends[a] <= room or b == a + 1 for a, b in windows)
    if ends[-1] <= room:
        assert windows == [(0, len(lengths))]


@given(st.lists(st.integers(1, 3), min_size=100, max_size=200), st.integers(30, 60))
def test_of_long_texts_each_token_has_context_on_both_sides(lengths, room):
    """Within a long text at least a quarter of a window, less two tokens, stands on either side of some window's."""
    windows, ends = overlapping(lengths, room), [0, *accumulate(lengths)]
    for i in range(len(lengths)):
        sides = [(ends[i] - ends[a], ends[b] - ends[i + 1]) for a, b in windows if a <= i < b]
        enough = min(room // 4 - 6, ends[i], ends[-1] - ends[i + 1])
        assert max(min(left, right) for left, right in sides) >= min(enough, room // 4 - 6)


def test_what_is_read_depends_on_numbers_of_pieces_only(lm):
    pieces = lm.encode(Document.parse(LONG))
    swapped = [p if len(p) > 1 else lm.word_pieces("dog") for p in pieces]
    for i in range(0, len(pieces), 17):
        a, b = (lm.model_input(MaskRequest(p, p, i)) for p in (pieces, swapped))
        assert (len(a.ids), a.position) == (len(b.ids), b.position) and len(a.ids) <= lm.spec.max_length


@pytest.mark.parametrize("options", [{}, {"order": "sequential"}, {"contextualize": False}])
def test_dp_mlm_on_such_a_model(folder, options):
    m = dpt.get_mechanism("dp-mlm", model=folder, epsilon=50.0, **options)
    r = m.rewrite(TEXT, seed=4)
    drawn = [i for i, s in enumerate(r.steps) if s.action == "replace"]
    assert len(drawn) > 5
    found = r.distribution(drawn[-1])
    assert found.probs.sum() == pytest.approx(1.0)
    if m.config.order == "parallel":
        np.testing.assert_array_equal(found.probs, m.distribution(TEXT, r.steps[drawn[-1]].index).probs)


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-plus"])
def test_in_sequential_order_the_model_is_asked_once_for_each_draw(folder, name, monkeypatch):
    """Whoever looks at what was drawn asks for no more."""
    calls, inner = [], Engine.score
    monkeypatch.setattr(Engine, "score", lambda self, x, **more: calls.append(len(x)) or inner(self, x, **more))
    m = dpt.get_mechanism(name, model=folder, epsilon=50.0, order="sequential")
    r = m.rewrite(TEXT, seed=4)
    drawn = [i for i, s in enumerate(r.steps) if s.action in ("replace", "insert")]
    assert sum(calls) == len(drawn) > 5
    found = [(r.distribution(i).probs, r.logits(i)) for i in drawn]
    assert sum(calls) == len(drawn)
    r.trace.prepared._score_cache.clear()
    for i, (probs, logits) in zip(drawn, found, strict=True):
        np.testing.assert_array_equal(r.distribution(i).probs, probs)
        np.testing.assert_array_equal(r.logits(i), logits)
    other = m.replace(epsilon=10.0)
    assert other.rewrite(m.prepare(TEXT), seed=4).text == other.rewrite(r.trace.prepared, seed=4).text


def test_words_are_added_at_masks_of_their_own(folder):
    r = dpt.get_mechanism("dp-mlm-plus", model=folder, epsilon=50.0, add_prob=0.9).rewrite(TEXT, seed=4)
    assert sum(s.action == "insert" for s in r.steps) > 3


def test_cards_that_cannot_be(tmp_path):
    roberta = tiny_roberta(tmp_path / "roberta")
    card = json.loads((roberta / "dptext.json").read_text())
    (roberta / "dptext.json").write_text(json.dumps({**card, "queries": True}))
    with pytest.raises(dpt.ConfigError, match="not a BERT model"):
        models.load_masked_lm(str(roberta))
    (roberta / "dptext.json").write_text(json.dumps({**card, "queries": "yes"}))
    with pytest.raises(dpt.ConfigError, match="true or false"):
        models.masked_lm_spec(str(roberta))


@pytest.mark.parametrize(
    ("pieces", "signs", "asked"),
    [([5], (), 0), ([5, 6, 7], (), 2), ([5, 6, 9], (9,), 1), ([9, 9], (9,), 0), ([], (), 0)],
)
def test_a_word_of_several_pieces_is_asked_for_at_its_last_one_that_is_no_sign(pieces, signs, asked):
    frame = Template(((1,), (2,)), ((1,), (2,), (2,)), None, None)
    text = [[3], pieces, [4, 4]]
    x = Queries(frame, 8, 40, frozenset(signs))(MaskRequest(text, text, 1))
    assert (x.ids[x.position], x.position) == ((pieces or [8])[asked], 2 + asked)


def test_a_word_that_the_bundled_model_lacks_does_not_become_its_first_piece():
    m = dpt.get_mechanism("dp-mlm", epsilon=50)
    text = "I asked the plumber for a refund, and she said that the toaster was forgettable."
    first = {"plumber": "plum", "refund": "ref", "toaster": "toast", "forgettable": "forget"}
    prepared = m.prepare(text)
    for i, token in enumerate(prepared.document.tokens):
        if token.text in first:
            d = m.distribution(prepared, i)
            assert d.probs[d.candidates.index(first[token.text])] < 0.05
