"""The tool that lets a model write sentences for a bank: what it draws, and what it leaves out."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from scripts import script
from small_banks import meaningless
from tiny_generators import tiny_generator

from dptext_core.models import causal, sentence_encoder

write_bank = script("tools/write_bank.py")


def test_tokens_are_drawn_from_the_softmax_of_those_that_are_likely_enough():
    p = np.array([0.6, 0.3, 0.08, 0.015, 0.005])
    rng = np.random.default_rng(1)
    counts = Counter(write_bank.drawn(np.log(p).astype(np.float32), rng) for _ in range(4000))
    assert set(counts) == {0, 1, 2}, "a twentieth of the likeliest is the least"
    assert [counts[i] / 4000 for i in range(3)] == pytest.approx(p[:3] / p[:3].sum(), abs=0.03)


def test_prompts_end_where_the_model_goes_on_and_take_the_kinds_in_turn():
    asking = write_bank.prompts(3)
    found = [next(asking) for _ in range(2 * len(write_bank.KINDS))]
    assert [a.kind for a in found] == 2 * list(range(len(write_bank.KINDS)))
    for asked in found:
        kind = write_bank.KINDS[asked.kind]
        lines = asked.text.splitlines()
        assert lines[0] == f"{kind.called}." and lines[-1] == f"About {asked.subject}:"
        shown = [tuple(line.removeprefix("About ").split(": ", 1)) for line in lines[2:-1]]
        assert len(set(shown)) == write_bank.EXAMPLES and set(shown) <= set(kind.examples)
        assert asked.subject in kind.subjects


def test_writing_goes_on_where_a_file_was_begun(tmp_path):
    out, model = tmp_path / "written.jsonl", str(tiny_generator(tmp_path / "gpt2", "gpt2"))
    many = write_bank.PROMPTS * write_bank.DRAWS
    write_bank.write(out, 1, 1, model)
    first = out.read_text(encoding="utf-8")
    assert first.count("\n") == many
    write_bank.write(out, many + 1, 1, model)
    both = out.read_text(encoding="utf-8")
    assert both.startswith(first) and both.count("\n") == 2 * many
    assert both[len(first) :] != first, "other prompts and other draws"
    for line in map(json.loads, both.splitlines()):
        assert set(line) == {"kind", "subject", "sentence"} and "\n" not in line["sentence"]


def test_a_chosen_sentence_is_whole_is_nobody_elses_reads_well_and_says_something_else(tmp_path, monkeypatch, capsys):
    kept = ["The soup was cold and the waiter knew it.", "We never found the way back to the inn."]
    like = "The soup was cold, and the waiter knew it too."
    written = [
        *kept,
        kept[0],
        "",
        "it has no capital and no stop",
        "One is here. Two are here.",
        like,
        "She sat by the river until the lamps were lit.",
        "Nobody had told us about any of the rain in spring.",
        write_bank.KINDS[0].examples[0][1],
        "Reads the so of badly it what.",
        "Call me on 555 123 4567 tonight.",
    ]
    lines = [json.dumps({"kind": "A", "subject": "b", "sentence": s}) for s in written]
    (tmp_path / "w.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.tsv").write_text(
        "text\tlabel\nShe SAT by the river, until the lamps were lit\t1\n"
        "since nobody had told us about any of the snow\t0\n"
    )
    vectors = {like: meaningless([kept[0]])[0]}
    monkeypatch.setattr(
        sentence_encoder, "embed", lambda texts: np.array([vectors.get(t, meaningless([t])[0]) for t in texts])
    )
    monkeypatch.setattr(causal, "judge", lambda name: lambda texts: [9.0 if "badly" in t else 3.0 for t in texts])
    write_bank.choose([tmp_path / "w.jsonl"], None, tmp_path / "texts", tmp_path / "out.txt", "some model")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines() == kept
    said = capsys.readouterr().out
    for why, n in {
        "alike": 1,
        "in a file elsewhere": 2,
        "reads badly": 1,
        "no end of a line": 1,
        "no whole sentence of its own": 3,
        "a long number": 1,
    }.items():
        assert f"left out, {why}: {n}\n" in said, said
    assert "12 written, 2 taken" in said


def test_what_a_bank_says_already_is_not_taken():
    x = meaningless(["a", "b"])
    near = 0.9 * x[0] + np.sqrt(1 - 0.81) * x[1]
    vectors = np.array([x[0], near / np.linalg.norm(near), x[1]])
    none = np.zeros((0, vectors.shape[1]))
    assert write_bank.far_enough(vectors, none, [0, 1, 2]) == [0, 2]
    assert write_bank.far_enough(vectors, none, [2, 1, 0]) == [2, 1]
    assert write_bank.far_enough(vectors, x[:1], [0, 1, 2]) == [2]
