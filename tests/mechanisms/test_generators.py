"""Generators: scores with and without caching, batching and padding; draws; promises; what is written."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import os
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from guarantee_terms import entries, kinds, shared
from tiny_generators import KINDS, plain_scores, tiny_generator

import dptext_core as dpt
from dptext_core.measure.coverage import coverage_note
from dptext_core.mechanisms.writing import generation
from dptext_core.mechanisms.writing.dp_prompt import AFTER, BEFORE
from dptext_core.models.generator import Generator
from dptext_core.models.generator_parts import END, _past_key_name, _word_pieces
from dptext_core.models.generators import PARAPHRASER, PROMPTED, generator_spec, list_generators
from dptext_core.models.loaded_generators import load_generator
from dptext_core.privacy.distribution import ScoreTable

TEXT = "The doctor told my friend that the pain was bad."
OTHER = "A lawyer went home."


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return {kind: str(tiny_generator(tmp_path_factory.mktemp(kind), kind)) for kind in KINDS}


@pytest.fixture(params=KINDS)
def folder(request, folders):
    return folders[request.param]


def make(folder, **options):
    return dpt.get_mechanism("dp-prompt", **({"model": folder, "epsilon": 60.0, "max_tokens": 8} | options))


def test_probabilities_are_those_of_the_plain_model(folder):
    probabilities_are_those_of_the_plain_model(folder)


def test_bart_begins_as_its_own_generate_makes_it_begin(tmp_path):
    folder = str(tiny_generator(tmp_path / "bart", "bart"))
    assert len(load_generator(folder)._opening) == 2
    probabilities_are_those_of_the_plain_model(folder)


def test_what_was_read_has_the_name_that_transformers_gives_it(folder):
    """5.24 calls it cache, and warns of the earlier name at every text; 5.23 knows only that one."""

    usual = load_generator(folder)
    earlier = usual._past
    assert earlier in inspect.signature(usual._model.forward).parameters

    class Newer:
        def __getattr__(self, name):
            return getattr(usual._model, name)

        def forward(self, cache=None):
            """Its arguments are looked at, and it is never called."""

        def __call__(self, *, cache=None, **given):
            assert "past_key_values" not in given
            out = usual._model(**given, **({} if cache is None else {earlier: cache}))
            return SimpleNamespace(logits=out.logits, cache=getattr(out, earlier))

    newer = copy.copy(usual)
    newer._model = Newer()
    newer._past = _past_key_name(newer._model)
    prompt, rows = usual.prompt(BEFORE, TEXT, AFTER, 100)[0], []
    for g in (usual, newer):
        state = g.begin([prompt])
        g.step(state, [40])
        rows.append(state.logits)
    assert newer._past == "cache" and np.array_equal(*rows)


def probabilities_are_those_of_the_plain_model(folder):
    m = make(folder, stop="end")
    prepared = m.prepare(TEXT)
    r = m.rewrite(prepared, seed=3)
    tokens = r.trace.written.tokens
    assert len(tokens) == len(r.releases) >= 2
    raw = plain_scores(folder, prepared.ids, tokens)
    low, high, epsilon = m.config.clip_min, m.config.clip_max, 60.0
    for k, row in enumerate(raw.astype(np.float64)):
        assert np.abs(r.logits(k) - row).max() < 1e-4
        x = np.clip(r.logits(k).astype(np.float64), low, high) * epsilon / (2 * (high - low))
        p = np.exp(x - x.max())
        assert np.allclose(r.distribution(k).probs, p / p.sum(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("draws", [1, 3])
def test_batching_and_padding_change_scores_by_rounding_only_and_repeat_to_the_bit(folder, draws):
    g = load_generator(folder)
    prompts = [g.prompt(BEFORE, t, AFTER, 100)[0] for t in (TEXT, OTHER, "day")]
    tokens = [40, 41, 42]
    together = g.begin(prompts, draws)
    seen = [together.logits.copy()]
    for t in tokens[:-1]:
        g.step(together, [t] * 3 * draws)
        seen.append(together.logits.copy())
    for k, prompt in enumerate(prompts):
        alone = g.replay(prompt, g.begin([prompt]).shape, tokens)
        for j in range(draws):
            place = k * draws + j
            again = g.replay(prompt, dataclasses.replace(together.shape, row=place), tokens)
            for step, row in enumerate(seen):
                assert np.abs(row[place] - alone[step]).max() < 1e-4
                assert np.array_equal(row[place], again[step])


@pytest.mark.parametrize("kind", ["gpt2", "gemma3"])
def test_what_is_public_before_a_text_is_read_once_and_changes_scores_by_rounding_only(folders, monkeypatch, kind):
    module = importlib.import_module("dptext_core.models.generator")
    monkeypatch.setattr(module, "LEAST_PREFIX", 4)
    m = make(folders[kind])
    g, tokens = m.generator(), [40, 41, 42]
    if kind == "gemma3":
        assert not m.prepare(TEXT).prefix, "a window that slides would not reach over what is filled up"
        monkeypatch.setattr(g, "_window", 200)
    one, other = m.prepare(TEXT), m.prepare(OTHER)
    assert one.prefix == other.prefix >= 4 and one.ids[: one.prefix] == other.ids[: one.prefix]
    monkeypatch.setattr(g, "_public", {})
    passes, run = [], g._run
    monkeypatch.setattr(
        g, "_run", lambda *past, **given: passes.append(given["input_ids"].shape) or run(*past, **given)
    )
    state = g.begin([one.ids, other.ids], 2, prefix=one.prefix)
    seen = [state.logits.copy()]
    for t in tokens[:-1]:
        g.step(state, [t] * 4)
        seen.append(state.logits.copy())
    for k, p in enumerate((one, other)):
        plain = plain_scores(folders[kind], p.ids, tokens)
        for place in (2 * k, 2 * k + 1):
            again = g.replay(p.ids, dataclasses.replace(state.shape, row=place), tokens)
            for step, rows in enumerate(seen):
                assert np.abs(rows[place] - plain[step]).max() < 1e-4
                assert np.array_equal(rows[place], again[step])
    assert passes.count((1, one.prefix)) == 1, "read once"
    # A list and the same list after others, and alone: the rewrite has the same bits, and says what it was drawn from.
    texts = [TEXT, OTHER, "day"]
    first, r = m.rewrite(texts, seed=3)[0], m.rewrite(TEXT, seed=4)
    g._public.clear()
    assert m.rewrite([TEXT, "day", "a " * 30], seed=3)[0].distribution(1).log_probs.tolist() == (
        first.distribution(1).log_probs.tolist()
    )
    for d, own in zip(m.likelihood.given(m.prepare(TEXT), r), r.releases, strict=True):
        assert own.is_sampled and np.array_equal(d.log_probs, r.distribution(r.releases.index(own)).log_probs)


def test_a_prompt_without_a_text_is_read_once_for_all_texts(folders, monkeypatch):
    m = make(folders["gpt2"], prior="released")
    g = m.generator()
    first = m.rewrite(TEXT, seed=3)
    begun, begin = [], g.begin
    monkeypatch.setattr(
        g, "begin", lambda prompts, *more, **named: begun.append(prompts) or begin(prompts, *more, **named)
    )
    again = m.rewrite(TEXT, seed=3)
    assert [list(p) for (p,) in begun] == [list(m.prepare(TEXT).ids)]
    assert np.array_equal(again.distribution(2).log_probs, first.distribution(2).log_probs)
    monkeypatch.setattr(g, "_public", {})
    for k in range(6):
        g.public([40 + k])
    assert list(g._public) == [(42,), (43,), (44,), (45,)], "the last few are kept"


def test_scores_that_are_not_kept_come_back_to_the_last_bit(folder, monkeypatch):
    for prior in ("none", "released"):
        m = make(folder, prior=prior)
        kept = m.rewrite(TEXT, seed=4)
        monkeypatch.setattr(generation, "KEPT", 0)
        again = m.rewrite(TEXT, seed=4)
        monkeypatch.undo()
        assert again.text == kept.text and not again.trace.written.rows
        for k in range(len(kept.releases)):
            assert np.array_equal(again.distribution(k).log_probs, kept.distribution(k).log_probs)
        with patch.object(m.generator(), "replay", wraps=m.generator().replay) as replay:
            for k, d in again.distributions():
                assert np.array_equal(d.log_probs, kept.distribution(k).log_probs)
        assert replay.call_count == 1 + (prior == "released"), "each text is read again once for all of its pieces"
    several = m.rewrites(TEXT, 3, seed=5)
    d = several[2].distribution(0)
    assert abs(d.probs.sum() - 1) < 1e-9 and several[2].trace.written.shape.draws == 3


def test_at_large_epsilon_it_is_greedy(folder):
    """Where a gap of the clipped scores is a factor of e^8 or more at ε = 1000, the best token is written."""
    m = make(folder, epsilon=1000.0, clip_min=-6.0, clip_max=6.0, stop="end")
    apart = 0
    for text in (TEXT, OTHER, "day after day", "a red car", "music"):
        r = m.rewrite(text, seed=1)
        for k, token in enumerate(r.trace.written.tokens):
            clipped = np.clip(r.logits(k), -6, 6)
            gap = float(np.diff(np.sort(clipped)[-2:])[0])
            if gap * 1000 / (2 * 12) > 8:
                apart += 1
                assert token == int(np.argmax(clipped))
    assert apart >= 3
    assert m.greedy(TEXT) == m.greedy(TEXT)


def test_draws_follow_the_distribution(folders):
    """Frequencies of the first token in 3,000 draws: a true share off by 0.05 would be 5 deviations away."""
    m = make(folders["gpt2"], max_tokens=1, epsilon=40.0)
    prepared = m.prepare(TEXT)
    d = m.rewrite(prepared, seed=0).distribution(0)
    n = 3000
    counts = np.zeros(len(d))
    for i in d.sample_indices(n, dpt.NoiseStream(7)):
        counts[i] += 1
    top = np.argsort(-d.probs)[:5]
    assert np.all(np.abs(counts[top] / n - d.probs[top]) < 4.5 * np.sqrt(d.probs[top] / n))
    first = [r.trace.written.tokens[0] for r in m.rewrites(prepared, 400, seed=2)]
    share = np.mean([t == top[0] for t in first])
    assert abs(share - d.probs[top[0]]) < 4.5 * np.sqrt(d.probs[top[0]] / 400)


def test_the_loss_between_two_texts_stays_within_epsilon(folder):
    """For each step, given the same tokens before: max ln p/p′ ≤ ε, with and without a public prior."""
    g = load_generator(folder)
    for prior in ("none", "released"):
        m = make(folder, prior=prior, epsilon=20.0, clip_min=-2.0, clip_max=2.0)
        a, b = m.prepare(TEXT), m.prepare(OTHER)
        tokens, shape = [40, 41, 42], g.begin([a.ids]).shape
        one = g.replay(a.ids, shape, tokens)
        other = g.replay(b.ids, g.begin([b.ids]).shape, tokens)
        public = m.public_ids()
        base = g.replay(public, g.begin([public]).shape, tokens)
        losses = []
        for x, y, z in zip(one, other, base, strict=True):
            z = None if prior == "none" else z
            p, q = m.table(x, z).at(20.0).log_probs, m.table(y, z).at(20.0).log_probs
            losses.append(np.abs(p - q).max())
        assert 0.5 < max(losses) <= 20.0 + 1e-9


def test_with_a_public_prior_the_formula_is_the_one_that_is_stated(folders):
    m = make(folders["gemma3"], prior="released", shift_min=0.0, shift_max=2.0)
    r = m.rewrite(TEXT, seed=6)
    w = r.trace.written
    assert len(w.public_rows) == len(w.rows)
    a, b = (x.astype(np.float64) for x in (w.rows[1], w.public_rows[1]))
    a, b = a - np.log(np.exp(a).sum()), b - np.log(np.exp(b).sum())
    x = b + 60.0 * np.clip(a - b, 0.0, 2.0) / (2 * 2.0)
    p = np.exp(x - x.max())
    assert np.allclose(r.distribution(1).probs, p / p.sum(), rtol=1e-9)
    # The proposal knows the prompt's words and what was written, and nothing of the text.
    other = m.rewrite(OTHER, seed=6).trace.written
    assert np.array_equal(other.public_rows[0], w.public_rows[0])


def test_the_promise_counts_the_limit_and_not_what_was_written(folder):
    m = make(folder, max_tokens=12)
    g = m.guarantee(TEXT)
    assert (g.notion, g.epsilon, g.draws, g.total) == ("pure", 60.0, 12, 720.0) and g.bounded_range
    assert g.adjacency.is_any_texts and m.audit_support.adjacent(TEXT, OTHER)
    limited = make(folder, max_tokens=12, length="input")
    assert limited.guarantee(OTHER).draws == 5 and limited.guarantee(TEXT).draws == 11
    assert not limited.audit_support.adjacent(TEXT, OTHER) and shared(limited.guarantee(TEXT)) == [
        "word-and-mark-count"
    ]
    assert [c.kind for c in limited.guarantee(TEXT).among.conditions] == ["word-and-mark-count"]
    assert len(limited.rewrite(OTHER, seed=1).releases) <= 5


def test_a_promise_says_what_is_seen_of_the_length(folder):
    fixed, by_input = (make(folder, max_tokens=12, length=length).guarantee(OTHER) for length in ("fixed", "input"))
    assert kinds(fixed) == ["token-limit"] and entries(fixed, "token-limit") == [{"count": 12}]
    assert kinds(by_input) == ["word-and-mark-count"]
    listed = make(folder, max_tokens=12, never=["pain"]).guarantee(OTHER)
    assert kinds(listed) == ["token-limit", "blocklist"]


def test_writing_stops_at_the_end_token_at_a_line_break_and_at_the_limit(folder, monkeypatch):
    m = make(folder, max_tokens=5)
    g = m.generator()
    line = min(g.breaks)
    for config, token, n in ((m, g.end, 3), (m, line, 3), (m.replace(stop="end"), line, 5)):
        draws = iter([40, 41, token, 42, 43])
        monkeypatch.setattr(ScoreTable, "draw", lambda self, e, s, draws=draws: next(draws))
        r = config.rewrite(TEXT, seed=1)
        assert len(r.releases) == n, (config.config.stop, token)
        if n == 3:
            assert r.releases[-1].text == "" and r.releases[-1].epsilon == 60.0
            assert r.releases[-1].is_sampled and len(r.distribution(2)) == len(g.candidates)
    assert g.candidates[g.end] == END


@pytest.mark.parametrize(
    ("last", "shown"), [(".\n", "day."), (" \n\n", "day"), ("!\r\nDocument", "day!"), ("\n", "day")]
)
def test_of_a_token_with_a_line_break_what_stands_before_it_is_kept(folders, monkeypatch, last, shown):
    m = make(folders["gpt2"], recase="none")
    g = m.generator()
    draws = iter([40, min(g.breaks)])
    monkeypatch.setattr(ScoreTable, "draw", lambda self, e, s: next(draws))
    monkeypatch.setattr(g, "pieces", lambda tokens: [" day", last])
    r = m.rewrite(TEXT, seed=1)
    assert r.text == shown and "".join(p.text for p in r.releases) == shown
    assert [p.epsilon for p in r.releases] == [60.0, 60.0]


def test_nothing_but_the_end_is_written_of_special_tokens(folder):
    g = load_generator(folder)
    assert not {"<pad>", "<s>", "<unused0>"} & set(g.candidates)
    assert len(g.candidates) == len(set(g.candidates)) == len(g.candidate_ids)
    ids = g.ids_of("the <s> </s> day")
    assert 1 not in ids and 2 not in ids


def test_lists_and_single_texts_have_streams_of_their_own(folder):
    m = make(folder)
    texts = [TEXT, OTHER, ""]
    several = m.rewrite(texts, seed=8)
    again = m.rewrite(texts, seed=8)
    assert [r.text for r in several] == [r.text for r in again]
    assert len({r.noise_id for r in several}) == 3
    for r in several:
        assert "".join(p.text for p in r.releases).replace(" ", "") == r.text.replace(" ", "")
        for k in (0, len(r.releases) - 1):
            assert abs(r.distribution(k).probs.sum() - 1) < 1e-9


def test_a_rewrite_in_a_list_has_no_bit_of_the_others(folder):
    """Neither their number (of two or more) nor their lengths change a bit of what a text is drawn from."""
    m = make(folder)
    beside = [["a"], ["doctor " * 60], ["A lawyer went home."] * 5]
    found = [m.rewrite([TEXT, *others], seed=8)[0] for others in beside]
    for r in found[1:]:
        assert r.text == found[0].text
        for k in (0, len(r.releases) - 1):
            assert np.array_equal(r.distribution(k).log_probs, found[0].distribution(k).log_probs)


@pytest.mark.parametrize("text", ["", TEXT])
def test_more_tokens_than_there_is_room_for_are_refused_by_name(folders, text):
    for name, options in (("dp-prompt", {"model": folders["gpt2"]}), ("dp-paraphrase", {})):
        with pytest.raises(dpt.ConfigError, match=r"max_tokens is 118.*Choose at most"):
            dpt.get_mechanism(name, max_tokens=118, **options)
        fits = dpt.get_mechanism(name, max_tokens=40, **options)
        assert fits.guarantee(text).draws == 40
        if options:
            assert len(fits.rewrite(text, seed=1).releases) <= 40
    with pytest.raises(dpt.ConfigError, match="smaller max_tokens"):
        make(folders["gpt2"], prompt="examples").rewrite(text)


def test_cancel_and_progress_go_by_token(folder):

    m, seen = make(folder, stop="end"), []

    def listen(done, of):
        seen.append((done, of))
        if done == 2:
            task.cancel()

    task = dpt.Task(listen)
    with pytest.raises(dpt.Cancelled):
        m.rewrite(TEXT, seed=3, task=task)
    assert seen == [(1, 8), (2, 8)]


def test_a_text_that_is_too_long_is_cut_at_a_public_length(folder):
    m = make(folder)
    long = m.prepare("doctor " * 400)
    spec = m.generator().spec
    room = spec.max_length - (0 if spec.kind == "encoder-decoder" else m.config.max_tokens)
    assert long.cut and room - 3 <= len(long.ids) <= room
    assert not m.prepare(TEXT).cut
    assert "only the beginning" in coverage_note(m, long) and not coverage_note(m, m.prepare(TEXT))
    bundled = dpt.get_mechanism("dp-prompt")
    assert "single sentences" in coverage_note(bundled, f"{TEXT} " * 8)
    # The bundled model has learnt one prompt: with examples it repeats them.
    assert "follow examples" in coverage_note(bundled.replace(prompt="examples"), TEXT)
    assert "follow examples" not in coverage_note(bundled, TEXT)
    text = m.generator()._tokenizer.decode(long.ids)
    assert text.startswith("Document :") and text.endswith("Paraphrase of the document :")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"clip_min": 3.0, "clip_max": 1.0}, "clip_min must be below"),
        ({"shift_min": 3.0, "shift_max": 1.0}, "shift_min must be below"),
        ({"shift_min": 3.0}, "Only one of shift_min and shift_max"),
        ({"shift_min": 1.0, "shift_max": 3.0}, "need a public prior"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"epsilon": float("nan")}, "epsilon must be a"),
        ({"epsilon": [1.0, 2.0]}, "takes one"),
        ({"model": "/no/such/folder"}, "There is no model"),
        ({"model": "google/flan-t5-base"}, "hf download"),
    ],
)
def test_bad_options_are_refused_before_a_model_is_loaded(folders, options, message):
    with pytest.raises(dpt.DPTextError, match=message):
        make(folders["gpt2"], **options).guarantee(TEXT)


def test_a_large_epsilon_with_a_prior_is_refused_with_the_reason(folders):
    m = make(folders["gpt2"], prior="released", epsilon=1390.0)
    with pytest.raises(dpt.ConfigError, match="at most"):
        m.guarantee(TEXT)


def test_a_folder_without_weights_or_with_broken_ones_says_so(folders, tmp_path):
    import shutil

    with pytest.raises(dpt.ConfigError, match="contains no model"):
        generator_spec(str(tmp_path))
    broken = tmp_path / "broken"
    shutil.copytree(folders["gpt2"], broken)
    with pytest.raises(dpt.ConfigError, match="No clipping range"):
        (broken / "dptext.json").write_text("{}")
        make(str(broken))
    (broken / "dptext.json").write_text(json.dumps({"clip_min": -1, "clip_max": 2}))
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:2000])
    with pytest.raises(dpt.ModelUnavailable, match="damaged"):
        make(str(broken)).rewrite(TEXT)


def test_word_pieces_become_text_by_a_public_rule():
    words = [
        "don",
        "'",
        "t",
        "sit",
        ",",
        "ana",
        "'",
        "s",
        "(",
        "old",
        ")",
        "cat",
        "##s",
        ":",
        "5",
        "-",
        "6",
        '"',
        "a",
        '"',
        ".",
        END,
    ]
    assert "".join(_word_pieces(words)).strip() == "don't sit, ana's (old) cats: 5-6 \"a\"."


def test_the_list_of_models_names_what_is_there():
    found = {m.id: m for m in list_generators()}
    assert found["bundled"].where == "bundled" and found["bundled"].megabytes < 15


# --- the audit


def audited(m, **options):
    return dpt.audit(m, ["The doctor went home.", "music"], seed=3, **{"draws": 100} | options)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_proves_every_piece(folders):
    m = make(folders["gpt2"], epsilon=20.0, max_tokens=2)
    report = audited(m)
    assert report.verdict == "holds" and report.exact and report.claimed == 20.0
    assert report.of == "each span, given those before it" and 0.5 < report.measured <= 20.0
    assert "every span" in report.proven and "follow their stated distributions" in report.tested


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_refutes_a_generator_that_draws_otherwise_than_it_states(folders, monkeypatch):
    m = make(folders["gpt2"], epsilon=20.0, max_tokens=2)
    true = ScoreTable.draw
    monkeypatch.setattr(ScoreTable, "draw", lambda self, e, s: true(self, 6 * e, s))
    assert audited(m).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.usefixtures("few_rewrites")
def test_the_audit_refutes_a_prior_that_reads_the_text(folders, monkeypatch):
    """The proposal of the text itself is no proposal that two texts share."""
    m = make(folders["gpt2"], epsilon=0.5, max_tokens=2, prior="released")
    assert audited(m).verdict == "holds"
    kind = type(m)
    table = kind.table
    # With the private scores as proposal nothing is left to clip, and what is drawn is the model's own text.
    monkeypatch.setattr(
        kind, "table", lambda self, a, b=None, *more, **named: table(self, a, None if b is None else a, *more, **named)
    )
    assert audited(m).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-prompt", "dp-paraphrase"])
def test_the_bundled_models_score_as_a_plain_pass_does(name):
    """No cache, no batch, no padding: the whole sequence at once through the model as transformers has it."""
    import torch

    m = dpt.get_mechanism(name, epsilon=50.0, max_tokens=3)
    g, prepared = m.generator(), m.prepare("A man in a red shirt rides his bike down the street.")
    r = m.rewrites(prepared, 3, seed=2)[1]
    tokens = r.trace.written.tokens
    for k, d in r.distributions():
        found = r.logits(k)
        written = g.candidate_ids[list(tokens[:k])].tolist()
        given = {"input_ids": torch.tensor([list(prepared.ids)])}
        if g.spec.kind == "encoder-decoder":
            given["decoder_input_ids"] = torch.tensor([[*g._opening, *written]])
        else:
            given["input_ids"] = torch.tensor([[*prepared.ids, *written]])
        with torch.no_grad():
            raw = g._model(**given).logits[0, -1].numpy()[g.candidate_ids].astype(np.float64)
        assert np.abs(found - raw).max() < 1e-4
        low, high = m.config.clip_min, m.config.clip_max
        x = 50.0 * np.clip(found.astype(np.float64), low, high) / (2 * (high - low))
        p = np.exp(x - x.max())
        assert np.allclose(d.probs, p / p.sum(), rtol=1e-9) and p[tokens[k]] > 0
    assert k == len(tokens) - 1


@pytest.mark.parametrize("name", [PROMPTED, PARAPHRASER])
def test_no_random_weights_are_drawn_for_a_bundled_model(name):
    import torch

    before = torch.get_rng_state()
    model = Generator(generator_spec(bundled=name), "cpu")._model
    assert torch.equal(torch.get_rng_state(), before)
    assert not any(t.is_meta for t in [*model.parameters(), *model.buffers()])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_waits_for_no_lock_of_its_parent(folders):
    g = load_generator(folders["gpt2"])
    with g._lock:
        if (child := os.fork()) == 0:
            os._exit(0 if g._lock.acquire(timeout=2) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_token_that_nothing_public_proposes_is_still_possible_to_a_floor(folders):
    m = make(folders["gpt2"], prior="released")
    n = len(m.generator().candidates)
    table = m.table(np.zeros(n, np.float32), np.linspace(0.0, 5000.0, n, dtype=np.float32))
    base = np.asarray(table.log_base)
    assert base.max() == base[-1] and base.min() == base.max() - generation.SPREAD and np.isfinite(base).all()


def test_no_token_is_scored_behind_the_last_one(folder):
    m = make(folder, max_tokens=3, length="fixed")
    with (
        patch.object(m.generator(), "step", wraps=m.generator().step) as step,
        patch.object(ScoreTable, "draw", lambda self, e, s: 40),
    ):
        assert len(m.rewrite(TEXT, seed=1).trace.written.tokens) == 3
    assert step.call_count == 2, "the first is scored with the text, and nothing after the last"


def test_texts_in_a_list_are_filled_up_to_whole_steps_and_no_further(folders):
    m = make(folders["gpt2"])
    texts = [" ".join(["door"] * k) for k in range(1, 2 * generation.STEP)]
    own = {t: len(p.ids) - p.prefix for t in texts for p in [m.prepare(t)]}
    whole = [t for t in texts if own[t] % generation.STEP == 0]
    for text in (whole[0], texts[texts.index(whole[0]) + 1]):
        width = m.rewrite([text, text], seed=1)[0].trace.written.shape.width
        assert 0 <= width - own[text] < generation.STEP and width % generation.STEP == 0
    for n in (1, 3):
        with patch.object(m.generator(), "begin", wraps=m.generator().begin) as begin:
            m.rewrite([whole[0], whole[0] + " ", whole[0] + "  "][:n] + [whole[0]] * (n == 1), seed=1)
        assert [len(call.args[0]) for call in begin.call_args_list] == [generation.TOGETHER], "as many, however few ask"


def test_texts_of_one_list_end_at_their_own_limits(folders, monkeypatch):
    """Which are of one length for the model, and of several for the promise."""
    m = make(folders["gpt2"], length="input", max_tokens=6)
    texts = ["day", "a a a", "a " * 4, "a day", "a " * 5 + "day"]
    monkeypatch.setattr(ScoreTable, "draw", lambda self, e, s: 40)
    together = m.rewrite(texts, seed=1)
    assert len({r.trace.written.shape.width for r in together}) == 1
    for r, n in zip(together, (1, 3, 4, 2, 6), strict=True):
        assert r.trace.written.tokens == (40,) * n and len(r.releases) == n == r.guarantee.draws
        assert r.guarantee.total == 60.0 * n and len(r.distribution(n - 1)) == len(m.generator().candidates)


@pytest.mark.parametrize(
    ("pieces", "text", "capitals"),
    [
        ([" the", " day", "."], "The day.", [True, False, False]),
        ([" the", "re", " day"], "There day", [True, False, False]),
        ([" i", " am", " i", "n"], "I am in", [True, False, False, False]),
        ([" day", ".", " the", "re", " i"], "Day. There I", [True, False, True, False, False]),
        ([" day", "?\n", "go", "ing", "'", "s"], "Day?\nGoing's", [True, False, True, False, False, False]),
        (["", " day", "!", ""], "Day!", [False, True, False, False]),
        (["  day", "  i", "-", "i"], "Day  I-I", [True, False, False, False]),
        (["i"], "I", [True]),
        ([" Mc", "Day", " sang"], "McDay sang", [True, False, False]),
    ],
)
def test_capitals_follow_what_was_written_before(folders, monkeypatch, pieces, text, capitals):
    m = make(folders["gpt2"], stop="end", epsilon=9.0)
    monkeypatch.setattr(m.generator(), "pieces", lambda tokens: list(pieces))
    found, parts = m._spelled([40] * len(pieces))
    assert found == text and [p.capital for p in parts] == capitals, [p.capital for p in parts]
    ends = 0
    for p in parts:
        assert p.span[0] >= ends and found[slice(*p.span)] == p.text and p.epsilon == 9.0 and p.is_sampled
        ends = p.span[1]
    plain = m.replace(recase="none")._spelled([40] * len(pieces))
    assert plain[0] == "".join(pieces).lstrip() and not any(p.capital for p in plain[1])


@pytest.mark.parametrize("prior", ["none", "released"])
def test_the_chance_of_a_rewrite_is_the_product_of_those_of_its_tokens(folders, prior, monkeypatch):
    """Of texts that end at limits of their own: where a rewrite ends otherwise than a text can, it has none."""
    monkeypatch.setattr(generation, "TOGETHER", 2)
    m = make(folders["gpt2"], max_tokens=4, length="input", prior=prior, epsilon=20.0)
    texts = [m.prepare(t) for t in ("day day", "A lawyer went", "a b c d e")]
    results = [r for t in texts for r in m.rewrites(t, 1, seed=6)]
    found = m.likelihood.log(texts, results)
    ends = m._ends()
    assert found.shape == (3, 3) and np.isneginf(found).any()
    for a, (t, limit) in enumerate(zip(texts, (2, 3, 4), strict=True)):
        for b, r in enumerate(results):
            tokens = r.trace.written.tokens
            possible = len(tokens) <= limit and (tokens[-1] in ends or len(tokens) == limit)
            assert possible == np.isfinite(found[a, b])
            if possible:
                given = m.likelihood.given(t, r)
                own = sum(d.log_probs[c] for d, c in zip(given, tokens, strict=True))
                assert found[a, b] == pytest.approx(own, abs=1e-3)
    assert m.max_epsilon == (1400.0 if prior == "none" else 2 * (720 - 25 - np.log(1e6)))


def test_the_best_tokens_have_scores_of_their_own_and_a_single_text_is_the_first_of_a_list(folders):
    m = make(folders["gpt2"], stop="end", max_tokens=3, recase="none")
    rows = m.greedy_scores(TEXT)
    g = m.generator()
    tokens = [int(np.argmax(np.clip(row, m.config.clip_min, m.config.clip_max))) for row in rows]
    assert 1 <= len(rows) <= 3 and m.greedy(TEXT) == "".join(g.pieces(tokens)).strip() == m._spelled(tokens)[0]
    (alone,) = m.rewrite([TEXT], seed=3)
    assert alone.noise_id == dpt.NoiseStream(3).at(0).noise_id
    scores = rows[0]
    own = m.table(scores).at(7.0).probs
    assert (
        m.keep_probability(scores, None, 7.0) == pytest.approx(own[scores.argmax()])
        and own[scores.argmax()] == own.max()
    )
