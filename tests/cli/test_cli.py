"""The command line, over a small mechanism of its own; the built-in ones only where no model is needed."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from splicing import splice
from tiny_generators import tiny_generator
from traces import Stated

import dptext_core as dpt
from dptext_core import auditing, cli
from dptext_core.attacks import two_texts
from dptext_core.cli import console
from dptext_core.mechanisms import codec
from dptext_core.mechanisms.config import epsilon_option, option
from dptext_core.text.skeleton import Edit
from dptext_lab.commands.bench import BENCHES

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Café au lait für Zoë 🙂\nin Łódź"


@dataclasses.dataclass(frozen=True)
class ShoutConfig:
    epsilon: float | tuple[float, ...] = epsilon_option(1.0, 0.1, 10.0)
    keep_last: bool = option(True, label="Keep the last word", kind="flag", help="100% of the time.")
    letters: int = option(3, label="Letters", kind="integer", min=1, max=9, help="How many to keep.")
    style: str = option("upper", label="Style", kind="choice", choices=("upper", "title"), help="How it looks.")
    lists: tuple[str, ...] = option(("a", "b"), label="Lists", kind="texts", help="Names of lists.")
    floor: float | None = option(None, label="Floor", help="A number or nothing.")


class Shout(dpt.Mechanism):
    """Upper-cases every token: no privacy, but all the parts that the command line touches."""

    name = "shout"
    title = "Shout"
    family = "test"
    notion = "pure"
    config_cls = ShoutConfig
    seen: ShoutConfig

    def __init__(self, config):
        super().__init__(config)
        type(self).seen = config

    def guarantee(self, text):
        return dpt.Guarantee("pure", 1.0, "word", "any two texts", 2, 2.0, exposed=("the spacing",))

    def distribution(self, text, index):
        tokens = self.prepared(text).document.tokens
        if not 0 <= index < len(tokens):
            raise dpt.InputError(f"There is no token {index}.")
        return dpt.TokenDistribution(("x", "yy", tokens[index].text), np.log([0.2, 0.5, 0.3]), tokens[index].text, 1.0)

    def rewrite_prepared(self, prepared, stream, task):
        tokens = prepared.document.tokens
        marks = [t.kind in ("punct", "symbol") for t in tokens]
        out = splice(
            prepared.document, [Edit(None if m else t.text.upper()) for m, t in zip(marks, tokens, strict=True)]
        )
        steps = [
            dpt.Step((t.start, t.end), t.text, t.text, "keep", "punctuation", 0.0, out.spans[i], i)
            if mark
            else dpt.Step((t.start, t.end), t.text, t.text.upper(), "replace", "", 1.0, out.spans[i], i)
            for i, (mark, t) in enumerate(zip(marks, tokens, strict=True))
        ]
        return dpt.RewriteResult(
            out.text,
            prepared.text,
            tuple(steps),
            self.guarantee(prepared),
            self.name,
            self.config,
            stream.seed,
            "f",
            Stated(lambda i: self.distribution(prepared, i)),
        )


@pytest.fixture(autouse=True)
def shout():
    dpt.register(Shout)
    yield Shout
    dpt.unregister("shout")


@pytest.fixture
def run(capsys, monkeypatch):
    """run(*arguments, stdin=bytes) → (status, standard output, standard error)"""

    def call(*argv: str, stdin: bytes = b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="latin-1"))
        try:
            status = cli.main(argv)
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_rewrite_prints_only_the_text(run):
    status, out, err = run("rewrite", "--mechanism", "shout", TEXT)
    assert (status, out) == (0, TEXT.upper() + "\n")
    assert "at most" in err and "Not covered: the spacing." in err


def test_rewrite_says_beside_the_text_how_much_of_it_nobody_sees(run):
    hidden = "My doctor\u200b left.\U000e0041 \ufe0f"
    argv = ("rewrite", "--mechanism", "custext", "--epsilon", "0.1", "--seed", "1")
    _, plain, said = run(*argv, "My doctor left.")
    status, out, err = run(*argv, hidden)
    assert (status, out) == (0, plain) and "invisible" not in said
    assert err == said + "note: 3 invisible characters removed.\n"
    _, released, _ = run(*argv, "--json", hidden)
    assert released == run(*argv, "--json", "My doctor left.")[1]


@pytest.mark.parametrize("argv", [(), ("-",)])
def test_rewrite_reads_utf8_from_standard_input(run, argv):
    status, out, err = run("rewrite", "--mechanism", "shout", "--quiet", *argv, stdin=(TEXT + "\r\n").encode())
    assert (status, out, err) == (0, TEXT.upper() + "\n", "")


def test_rewrite_from_file_to_file(run, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    status, out, _ = run("rewrite", "--mechanism", "shout", "--file", str(source), "--out", str(target))
    assert (status, out) == (0, "")
    assert target.read_bytes() == TEXT.upper().encode()


def test_json_leaves_the_original_out_and_trace_brings_it_in(run):
    _, out, err = run("rewrite", "--mechanism", "shout", "--json", "secret")
    plain = json.loads(out)
    assert plain["text"] == "SECRET" and plain["guarantee"]["total"] == 2 and "secret" not in out
    assert console.OWNER_ONLY not in err
    _, out, err = run("rewrite", "--mechanism", "shout", "--trace", "secret")
    assert json.loads(out)["original"] == "secret"
    assert console.OWNER_ONLY in err


def test_seed_is_never_silent(run):
    status, out, err = run("rewrite", "--mechanism", "shout", "--seed", "7", "--quiet", "--json", "word")
    assert status == 0
    assert "not private" in err
    assert json.loads(out)["seed"] == 7 and "not private" in out
    assert "not private" not in run("rewrite", "--mechanism", "shout", "word")[2]


def test_options_come_from_the_config(run, shout):
    given = ["--epsilon", "0.5,2", "--no-keep-last", "--letters", "5", "--style", "title", "--lists", "p,q"]
    assert run("rewrite", "--mechanism", "shout", *given, "--floor", "none", "two words")[0] == 0
    assert shout.seen == ShoutConfig((0.5, 2.0), False, 5, "title", ("p", "q"), None)
    assert run("rewrite", "--epsilon=3", "--floor=-1.5", "--mechanism=shout", "two words")[0] == 0
    assert shout.seen == ShoutConfig(epsilon=3.0, floor=-1.5)
    assert run("rewrite", "--mechanism", "shout", "two words")[0] == 0
    assert shout.seen == ShoutConfig()


def test_the_name_of_a_file_as_the_text_is_pointed_out(run, tmp_path):
    there = tmp_path / "note.txt"
    there.write_text("a secret")
    for text, flags, said in ((str(there), (), True), (str(there), ("--quiet",), False), (f"{there}.", (), False)):
        status, out, err = run("rewrite", "--mechanism", "shout", text, *flags)
        assert (status, out.strip()) == (0, text.upper()) and ("to read the file, use --file" in err) == said
    assert run("rewrite", "--mechanism", "shout", "é" * 6000)[0] == 0, "longer than a name can be"


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [((), False), (("--no-noise",), True), (("--no-no-noise",), False), (("--no-noise", "--no-no-noise"), False)],
)
def test_an_option_whose_name_begins_with_no_is_switched_on_by_its_flag(run, tiny_autoencoder, flags, wanted):
    argv = ("rewrite", "--mechanism", "adept", "--checkpoint", tiny_autoencoder, *flags, "--json", "play some jazz")
    status, out, _ = run(*argv)
    data = json.loads(out)
    assert (status, data["config"]["no_noise"]) == (0, wanted)
    assert data["guarantee"]["notion"] == ("none" if wanted else "pure")


def test_the_default_epsilon_is_one_number(run):
    """Help, the list of mechanisms, the axis of the page, and a mechanism without options."""
    listed = run("mechanisms")[1]
    for spec in dpt.mechanisms():
        low, high, default = dpt.mechanism_class(spec.name).epsilon_range()
        shown = " ".join(run("rewrite", "--mechanism", spec.name, "--help")[1].split())
        (found,) = re.findall(r"Privacy budget ε\. [^()]*\([^()]*default ([\d.]+)", shown)
        block = listed.partition(f"{spec.name}: {spec.title}")[2].partition("\n\n")[0]
        assert re.findall(r"Privacy budget ε\. [^()]*\([^()]*default ([\d.]+)", block) == [found]
        (most,) = re.findall(r"Privacy budget ε\. [^()]*\([^()]*?(?:to|at most) ([\d.]+)", block)
        assert float(most) == dpt.get_mechanism(spec.name).max_epsilon, "what is named is taken"
        assert float(found) == default == dpt.get_mechanism(spec.name).config.epsilon and low < default < high


def test_the_default_epsilon_follows_the_other_options():
    for name, options in (
        ("custext", {"space": "word2vec"}),
        ("diffractor", {"noise": "tem"}),
        ("mvc", {"space": "nowhere.txt"}),
        ("diffractor", {"noise": "tem", "gamma": 5}),
    ):
        expected = dpt.mechanism_class(name).epsilon_range(options)[2]
        assert dpt.get_mechanism(name, **options).config.epsilon == expected
        assert dpt.get_mechanism(name, **options, epsilon=3).config.epsilon == 3.0
        with pytest.raises(dpt.ConfigError, match="epsilon"):
            dpt.get_mechanism(name, **options, epsilon=None)


@pytest.mark.parametrize(
    "argv, part",
    [
        (["--letters", "10"], "letters must be at most 9"),
        (["--letters", "many"], "is not a whole number"),
        (["--epsilon", "0"], "epsilon must be above 0"),
        (["--epsilon", "1,x"], "is not a number"),
        (["--style", "loud"], "loud"),
        (["--order", "parallel"], "unrecognized arguments: --order"),
        (["--letter", "2"], "unrecognized arguments: --letter"),
        (["--mechanism", "whisper"], "whisper"),
        (["--mechanism"], "expected one argument"),
        (["--file", "no/such/file"], "Both a text and --file"),
        (["--out", "no/such/folder/f"], "Cannot write no/such/folder/f"),
        (["--seed", "x"], "--seed"),
        (["--seed", "1_0"], "'1_0' is not a whole number"),
        (["--letters", "1_0"], "'1_0' is not a whole number"),
        (["--floor", "1_0"], "'1_0' is not a number"),
        (["--epsilon", "1_0"], "'1_0' is not a number"),
        (["--epsilon", "1,1_0"], "'1_0' is not a number"),
        (["--epsilon", "1,,2"], "has an empty entry between commas"),
        (["--epsilon", "1,"], "has an empty entry between commas"),
        (["--lists", "a,,b"], "has an empty entry between commas"),
        (["--lists", "a,b, "], "has an empty entry between commas"),
        (["--lists", ""], "has an empty entry between commas"),
        (["--lists", 'a,"b'], "has an unclosed quote"),
        (["--out", "x" * 5000], "Cannot write xxx"),
        (["--out", "a\0b"], "Cannot write"),
        (["--out", "a\ud800b"], "Cannot write"),
    ],
)
def test_errors_are_one_line_and_status_2(run, argv, part):
    status, out, err = run("rewrite", "--mechanism", "shout", "--quiet", "a text", *argv)
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and part in err and err.count("\n") == 1


@pytest.mark.parametrize("flag", ["--style", "--letters", "--floor", "--epsilon", "--lists", "--seed", "--mechanism"])
def test_what_was_typed_is_not_said_again_at_length(run, flag):
    status, out, err = run("rewrite", "--mechanism", "shout", "a text", flag, '"' + "a secret, " * 500)
    assert (status, out) == (2, "")
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 500 and err.count("secret") < 15


def test_what_is_written_of_an_option_can_be_typed(run, shout):
    wanted = ShoutConfig((0.1,), True, 9, "title", ("a, b", ' "c"', "none"), -1 / 3)
    argv = [f"--{f.name}={codec.write(f, getattr(wanted, f.name))}" for f in dataclasses.fields(ShoutConfig)]
    argv[1] = "--keep-last"
    assert run("rewrite", "--mechanism", "shout", *argv, "word")[0] == 0
    assert shout.seen == wanted


def test_bad_input_is_an_error(run, tmp_path):
    for argv, stdin, part in [
        (["--file", "no/such/file"], b"", "Cannot read no/such/file"),
        (["--file", "x" * 5000], b"", "Cannot read xxx"),
        (["--file", "a\0b"], b"", "Cannot read"),
        (["--file", "a\ud800b"], b"", "Cannot read"),
        ([], b"caf\xe9", "standard input is not UTF-8"),
        (["caf\udce9"], b"", "not UTF-8"),
    ]:
        status, out, err = run("rewrite", "--mechanism", "shout", "--quiet", *argv, stdin=stdin)
        assert (status, out) == (2, "") and err.startswith("error: ") and part in err


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a device that never ends")
def test_an_input_that_never_ends_is_read_no_further(run, monkeypatch):
    monkeypatch.setattr(console, "MOST", 2_000_000)
    for argv, stdin in ((["--file", "/dev/zero"], b""), ([], b"word " * 400_001)):
        status, out, err = run("rewrite", "--mechanism", "shout", "--quiet", *argv, stdin=stdin)
        assert (status, out) == (2, "") and "more than 2 MB" in err


def test_distribution_by_index_and_by_word(run):
    status, out, err = run("distribution", "--mechanism", "shout", "--index", "1", "--top", "2", "one two one")
    assert status == 0
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["yy", "0.500000"],
        ["two", "0.300000"],
        ["1", "others", "0.200000"],
    ]
    assert out.splitlines()[3].split()[-1] == "0.300000" and "“two”" in out
    assert console.OWNER_ONLY in err
    status, out, err = run("distribution", "--mechanism", "shout", "--word", "ONE", "--json", "one two one")
    data = json.loads(out)
    assert (data["index"], data["source"], data["others"]["words"]) == (0, "one", 0)
    assert [t["word"] for t in data["top"]] == ["yy", "one", "x"]
    assert sum(t["probability"] for t in data["top"]) == pytest.approx(1)
    assert "at positions 0, 2" in err


@pytest.mark.parametrize(
    "argv, part",
    [
        (["--word", "three"], "no word 'three'"),
        (["--index", "9"], "no token 9"),
        (["--index", "1", "--word", "one"], "not allowed with"),
        ([], "required"),
        (["--index", "0", "--top", "0"], "whole number of at least 1"),
    ],
)
def test_distribution_errors(run, argv, part):
    status, out, err = run("distribution", "--mechanism", "shout", *argv, "one two")
    assert (status, out) == (2, "") and err.startswith("error: ") and part in err and err.count("\n") == 1


def test_mechanisms_lists_every_option(run):
    status, out, _ = run("mechanisms")
    assert status == 0
    for spec in dpt.mechanisms():
        assert f"{spec.name}: {spec.title}" in out
    for flag in (
        "--epsilon",
        "--keep-last | --no-keep-last",
        "--style upper|title",
        "100% of the time",
        "(1 to 9, default 3)",
    ):
        assert flag in out


@pytest.mark.parametrize("name", ["dp-mlm", "dp-mlm-plus", "shout"])
@pytest.mark.parametrize("command", ["rewrite", "distribution"])
def test_help_of_a_mechanism_has_its_flags(run, command, name):
    status, out, _ = run(command, "--mechanism", name, "--help")
    assert status == 0
    spec = next(s for s in dpt.mechanisms() if s.name == name)
    for field in dataclasses.fields(spec.config_cls):
        assert "--" + field.name.replace("_", "-") in out


def test_a_text_after_two_dashes_names_no_mechanism(run):
    status, out, _ = run("rewrite", "--mechanism", "shout", "--quiet", "--", "--mechanism=x")
    assert (status, out) == (0, "--MECHANISM=X\n")


def test_models_lists_what_is_here(run, monkeypatch):
    from dptext_core import models

    info = models.ModelInfo("my/model", "My model", "MIT", "hub cache", 12.5, None, None)
    bundled = models.ModelInfo(
        "bundled", "Small", "Apache-2.0", "bundled", 21.0, -2.0, 9.25, models.ClipRange(-2.0, 14.875)
    )
    monkeypatch.setattr(models, "list_models", lambda: [bundled, info])
    status, out, err = run("models")
    assert status == 0
    assert (
        "tuned -2.000 to 14.875, paper -2.000 to 9.250" in out
        and "my/model" in out
        and "--clip-min" in out
        and "12.5 MB" in out
    )
    assert "hf download" in err
    # The generators stand beside them, each with its own range.
    lines = [line for line in out.splitlines() if line.startswith("bundled")]
    assert len(lines) == 3 and all("tuned" in line and "paper" in line for line in lines)
    for name in ("dp-prompt", "dp-paraphrase"):
        tuned = dpt.mechanism_class(name).clipping.ranges({})["tuned"]
        assert f"tuned {tuned.low:.3f} to {tuned.high:.3f}" in out


def test_bench_speed_gets_the_rest_of_the_line(run, monkeypatch):
    from dptext_lab.speed import engine

    seen = []
    monkeypatch.setattr(engine, "main", lambda argv: seen.append(argv) or 0)
    assert run("bench", "speed", "--words", "50")[0] == 0
    assert seen == [["--words", "50"]]
    status, _, err = run("bench")
    assert status == 2 and err.startswith("error: ")


@pytest.mark.parametrize("name", BENCHES)
def test_every_measurement_is_found(run, name):
    status, out, _ = run("bench", name, "--help")
    assert status == 0 and out.startswith(f"usage: python -m dptext_core bench {name} ")


def test_version_and_no_command(run):
    assert run("--version")[:2] == (0, f"DP-Text Studio {dpt.__version__}\n")
    status, out, err = run()
    assert (status, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1


def test_only_the_command_that_is_called_is_imported(monkeypatch):
    imported = []
    load = importlib.import_module

    def record(name, package=None):
        imported.append(name)
        return load(name, package)

    names = list(cli.find_commands())
    monkeypatch.setattr(importlib, "import_module", record)
    for name in names:
        assert cli.build_parser([name]).prog
    found = [m.rpartition(".")[2] for m in imported if re.search(r"\.(commands|distributed)\.", m)]
    assert [m.replace("_", "-") for m in found] == names


def test_interrupt_is_130(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Shout, "rewrite_prepared", stop)
    assert run("rewrite", "--mechanism", "shout", "x")[0] == 130


def test_interrupt_while_the_commands_load_is_130_too():
    code = """
import runpy, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "dptext_core.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
runpy.run_module("dptext_core", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_other_errors_are_not_swallowed(run, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(Shout, "rewrite_prepared", fail)
    with pytest.raises(ZeroDivisionError):
        run("rewrite", "--mechanism", "shout", "x")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes of Windows end otherwise")
def test_a_reader_that_goes_away_leaves_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "dptext_core", "--version"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    with process.stderr as stream:
        err = stream.read()
    assert (process.wait(timeout=60), err) == (141, b"")


def test_neither_the_core_nor_help_loads_anything_heavy():
    code = """
import sys
import dptext_core.models, dptext_studio.figures
from dptext_core.cli import main
for argv in (["--help"], ["rewrite", "--help"], ["mechanisms"], ["--version"]):
    try: main(argv)
    except SystemExit: pass
heavy = {
    'torch', 'transformers', 'sentence_transformers', 'sacrebleu', 'streamlit', 'plotly', 'gensim', 'nltk', 'scipy',
}
heavy &= set(sys.modules)
sys.exit(f'loaded: {heavy}' if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# --- streams that are closed or full --------------------------------------------------------------------------------

#: Runs the commands between which a + stands, and ends with the highest status.
EACH = "max(main([*one]) for plus, one in itertools.groupby(sys.argv[1:], '+'.__eq__) if not plus)"
SHELL = [sys.executable, "-c", f"import itertools, sys\nfrom dptext_core.cli import main\nsys.exit({EACH})"]
REWRITE = ["rewrite", "--mechanism", "santext", "--space", "SPACE", "--epsilon", "150", "doctor"]
posix = pytest.mark.skipif(os.name == "nt", reason="streams are closed so on POSIX only")


@pytest.fixture
def shell(tmp_path):
    """shell(arguments, redirection, **environment): in a process of its own. ``SPACE`` stands for the file of a space
    of three words, which is read at once."""
    space = tmp_path / "few.txt"
    space.write_text("doctor 1 2\nnurse 3 5\nletter 8 0\n", encoding="utf-8")

    def call(argv: list[str], redirect: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["sh", "-c", f'"$@" {redirect}', "sh", *SHELL, *(str(space) if a == "SPACE" else a for a in argv)],
            cwd=ROOT,
            capture_output=True,
            timeout=120,
            env={**os.environ, **env},
        )

    return call


def test_nothing_is_written_over_what_is_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, table = Path("texts.txt"), Path("table.csv")
    texts.write_text("My doctor came.\n"), table.write_text("text,private\nMy doctor came.,My nurse came.\n")
    Path("link.csv").symlink_to(table)
    data = ["rewrite-data", "--data", "table.csv", "--mechanism", "custext", "--out", "run"]
    for argv in (
        ["rewrite", "--mechanism", "custext", "--file", "texts.txt", "--out", str(texts.resolve())],
        ["rewrite", "--mechanism", "custext", "texts.txt", "--out", "texts.txt"],  # the name of a file as the text
        ["score", "table.csv", "--original", "text", "--private", "private", "--out", "./table.csv"],
        ["tradeoff", "--setting", "custext", "--metric", "n_w", "--file", "texts.txt", "--out", "texts.txt"],
        ["report", "--mechanism", "custext", "--file", "texts.txt", "--out", "texts.txt"],
        [*data, "--release", "table.csv"],
        [*data, "--inspection", "link.csv"],
        [*data, "--release", "new.csv", "--inspection", "new.csv"],
        [*data, "--release", "run/rows.jsonl"],
    ):
        status, out, err = run(*argv)
        assert (status, out) == (2, "") and "Choose another file" in err and "doctor" not in err, argv
    assert not Path("run").exists() and not Path("new.csv").exists()
    assert texts.read_text() == "My doctor came.\n" and table.read_text().count("\n") == 2
    assert run("rewrite", "--mechanism", "custext", "--file", os.devnull, "--out", os.devnull)[0] == 0
    status, _, err = run(*data, "--release", "run/release.csv", "--inspection", "run/mine.csv")
    assert status == 0, err


def test_what_is_not_understood_quotes_no_text(run):
    for argv in (
        ["rewrite", "--mechanism", "mvc", "--lam", "0.3", "My secret text"],
        ["rewrite", "--mechanism", "mvc", "one", "My secret"],
        ["rewrite", "--mechanism", "mvc", "one", "-My secret"],
    ):
        status, out, err = run(*argv)
        assert (status, out) == (2, "") and err.startswith("error: ") and "secret" not in err, err
    assert "--lam" in run("rewrite", "--mechanism", "mvc", "--lam", "0.3", "My secret text")[2]


@posix
@pytest.mark.slow
@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
def test_without_standard_error_nothing_for_the_author_lands_in_the_output(redirect, shell, tmp_path):
    out = tmp_path / "out.txt"  # which must not take the place of a stream that is closed
    to_file = redirect == "2>&-"
    more = ["--out", str(out)] if to_file else ["+", "rewrite", "--nonsense"]  # whose error has no place either
    done = shell([*REWRITE, "--trace", *more], redirect)
    assert done.returncode == (0 if to_file else 2) and (done.stdout == b"") == to_file
    assert json.loads(out.read_bytes() if to_file else done.stdout)["text"] == "Doctor"


@pytest.mark.slow
@posix
@pytest.mark.parametrize(("argv", "redirect"), [(REWRITE, ">/dev/full"), (["--version"], ">&-")])
def test_an_output_that_takes_nothing_is_one_error(argv, redirect, shell):
    done = shell([*argv], redirect)
    err = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert err.startswith("error: Cannot write the output: ") and err.count("\n") == 1


@pytest.mark.slow
@posix
def test_all_streams_closed_is_an_error_too(shell):
    done = shell(["--version"], "<&- >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


@posix
def test_out_may_be_a_device_that_is_full(run):
    status, _, err = run("rewrite", "--mechanism", "shout", "--quiet", "doctor", "--out", "/dev/full")
    assert status == 2 and err.startswith("error: Cannot write /dev/full: ")


def test_a_file_stays_as_it_was_when_writing_fails(run, tmp_path, monkeypatch):
    target = tmp_path / "out.txt"
    target.write_text("old")
    command = ("rewrite", "--mechanism", "shout", "--quiet", "new", "--out", str(target))

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        status, out, err = run(*command)
    assert (status, out) == (2, "") and "No space left" in err
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out.txt"]
    assert run(*command)[0] == 0
    assert target.read_text() == "NEW" and os.listdir(tmp_path) == ["out.txt"]


@posix
def test_a_disk_that_fills_up_leaves_the_old_file(run, tmp_path):
    import resource

    target = tmp_path / "out.txt"
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Files of this process may hold 4 KiB at most; Python ignores the signal that goes with it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        status, out, err = run("rewrite", "--mechanism", "shout", "--quiet", "doctor " * 1000, "--out", str(target))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (status, out) == (2, "") and err.startswith("error: Cannot write ") and err.count("\n") == 1
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out.txt"]


@posix
def test_a_written_file_keeps_its_place_and_its_rights(run, tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    assert run("rewrite", "--mechanism", "shout", "new", "--out", str(link))[0] == 0
    assert link.is_symlink() and real.read_text() == "NEW" and real.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
@posix
def test_arguments_and_output_are_utf8_whatever_the_locale(shell, tmp_path):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    text, out = "doctor 🙂", tmp_path / "Łódź.txt"
    to_file, space = [*REWRITE[:-1], text, "--out", str(out)], ["--mechanism", "santext", "--space", "SPACE"]
    done = shell([*to_file, "+", "distribution", *space, "--word", "Zoë", "my Zoë"], "", **plain)
    assert done.returncode == 0, done.stderr
    assert out.read_text(encoding="utf-8") == "Doctor 🙂"
    assert "probability that “Zoë” is unchanged" in done.stdout.decode("utf-8")


def test_rewrite_prints_the_polished_text_and_keeps_the_draw_beside_it(run):
    given = ("rewrite", "--mechanism", "diffractor", "--epsilon", "1", "--seed", "2", "My doctor treated my sister.")
    plain = run(*given)[1].strip()
    status, out, err = run(*given, "--polish")
    polished = dpt.get_mechanism("diffractor", epsilon=1).rewrite(given[-1], seed=2).polished()
    assert status == 0 and out.strip() == polished.text != plain
    assert polished.sentence() in err and console.OWNER_ONLY in err
    data = json.loads(run(*given, "--polish", "--json", "--quiet")[1])
    assert (data["text"], data["polished"]) == (plain, polished.text)


def test_attack_says_what_an_attacker_finds_out(run):
    given = ("attack", "--mechanism", "custext", "--epsilon", "8", "--seed", "1", "My doctor treated my sister.")
    status, out, err = run(*given, "--attacker", "best-guess", "--word", "doctor")
    assert status == 0 and "knows the mechanism guesses “clinical”" in out and console.OWNER_ONLY in err
    status, out, _ = run(*given, "--attacker", "nearest-words")
    assert status == 0 and "nothing was changed" in out
    for more, says in (
        ((), "--attacker with one of: best-guess, "),
        (("--attacker", "nobody"), "There is no attacker"),
        (("--attacker", "static"), "Use 'dptext bench authors' or, in Python, dpt.attacks.attack_authors."),
        (("--attacker", "best-guess", "--index", "99"), "no step 99"),
        (("--attacker", "best-guess", "--index", "0"), "is unchanged"),
        (("--attacker", "best-guess", "--answers", "2"), "does not use --answers"),
        (("--attacker", "reader", "--word", "doctor"), "does not use --word"),
        (("--attacker", "best", "--index", "1"), "does not use --index"),
        (("--attacker", "which-text", "--answers", "99"), "at most 64 rewrites"),
        (("--attacker", "which-text", "--word", "nurse"), "has no word “nurse”"),
    ):
        status, _, err = run(*given, *more)
        assert status == 2 and says in err, err


@pytest.mark.slow
def test_attack_looks_at_a_corpus_a_text_in_each_line(run, tmp_path):
    corpus = tmp_path / "texts.txt"
    corpus.write_text("My doctor treated my sister.\n\nThe train was late.\nHe plays the violin.\n", encoding="utf-8")
    given = ("attack", "--mechanism", "custext", "--epsilon", "8", "--seed", "1", "--file", str(corpus))
    status, out, err = run(*given, "--attacker", "linking")
    assert status == 0 and "all 3 texts" in out and "one to one" in out and console.OWNER_ONLY not in err
    assert "doctor" not in out and "violin" not in out
    status, out, _ = run(*given, "--attacker", "best-of-texts")
    assert status == 0 and "recovers the most" in out
    for more, says in ((("--word", "train"), "does not use --word"), (("--answers", "2"), "does not use --answers")):
        status, _, err = run(*given, "--attacker", "linking", *more)
        assert status == 2 and says in err
    table = corpus.with_suffix(".csv")
    table.write_text("text\nOne.\nTwo.\n", encoding="utf-8")
    status, _, err = run(*given[:-1], str(table), "--attacker", "linking")
    assert status == 2 and "does not accept tables" in err
    status, _, err = run(*given[:-2], "--attacker", "linking", "One text alone.")
    assert status == 2 and "Give one per line" in err
    status, _, err = run("report", *given[1:], "--kind", "inspection", "--attack", "linking")
    assert status == 2 and "needs several texts" in err


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """The options of a mechanism that writes a new text, with a tiny model."""
    folder = str(tiny_generator(tmp_path_factory.mktemp("writer"), "gpt2"))
    return ("--mechanism", "dp-prompt", "--model", folder, "--epsilon", "40", "--max-tokens", "4", "--seed", "1")


def test_attack_asks_which_text_was_rewritten(run, writer, tmp_path):
    text = "The doctor told my friend."
    others = tmp_path / "others.txt"
    others.write_text("A lawyer went home.\n\nMy friend.\n", encoding="utf-8")
    given = ("attack", *writer, "--attacker", "which-text", "--candidates", str(others), "--answers", "2")
    status, out, err = run(*given, "--draws", "6", text)
    assert status == 0 and "95% interval" in out and "2 rewrites" in out and console.OWNER_ONLY in err
    assert "rewrites were made" not in err and "9 rewrites were made, not 7" in run(*given, "--draws", "7", text)[2]
    assert {line.rpartition("  ")[0].strip() for line in out.splitlines()[1:4]} == {
        text,
        "A lawyer went home.",
        "My friend.",
    }
    status, out, _ = run("attack", *writer, "--attacker", "which-text", "--draws", "0", "--word", "doctor", text)
    assert status == 0 and "every word except “doctor”" in out and "95% interval" not in out
    assert run(*given, "--word", "doctor", text)[0] == 2
    status, _, err = run("attack", *writer, "--attacker", "which-text", "--candidates", str(tmp_path / "no"), text)
    assert status == 2 and "Cannot read" in err


def test_where_no_word_was_drawn_the_whole_text_can_still_be_told_from_others(run, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("of the it and\n", encoding="utf-8")
    given = ("attack", "--mechanism", "santext", "--attacker")
    status, out, _ = run(*given, "which-text", "--candidates", str(other), "the of and it")
    assert status == 0 and "is right 100% of the time" in out
    status, out, _ = run(*given, "nearest-words", "the of and it")
    assert status == 0 and "nothing to guess" in out
    status, _, err = run(*given, "best-guess", "the of and it")
    assert status == 2 and "No word of this text was sampled" in err


@pytest.mark.parametrize(("order", "said"), [("sequential", True), ("parallel", False)])
def test_a_word_that_is_drawn_in_turn_says_what_its_law_is_given(run, tiny_model, order, said):
    given = ("--mechanism", "dp-mlm", "--model", tiny_model, "--order", order, "--word", "doctor")
    status, _, err = run("distribution", *given, "my doctor came")
    assert status == 0 and ("a word depends on earlier outputs" in err) == said


def test_an_epsilon_that_is_to_be_found_cannot_be_given(run):
    status, _, err = run("tradeoff", "--setting", "custext", "--epsilon", "3", "--points", "2", "my doctor")
    assert status == 2 and "Use only one of them" in err
    status, _, err = run("calibrate", "--mechanism", "custext", "--n-w", "0.5", "--epsilon", "3", "my doctor")
    assert status == 2 and "finds ε" in err


def of_one(measure):
    """Of the same inputs, or the same texts, what was found the first time."""

    def found(m, given, *arguments, **options):
        if str(given) not in found.found:
            found.found[str(given)] = measure(m, given, *arguments, **options)
        return found.found[str(given)]

    found.found = {}
    return found


@pytest.mark.slow
def test_attack_and_audit_tell_two_texts_apart(run, writer, tmp_path, light, quick_audits, monkeypatch):
    other = tmp_path / "other.txt"
    other.write_text("A lawyer went home.\n", encoding="utf-8")
    given = ("attack", *writer, "--attacker", "two-texts", "--candidates", str(other), "The doctor told my friend.")
    status, out, err = run(*given, "--draws", "20")
    assert status == 0 and "bag of words" in out and "not a guarantee" in out and console.OWNER_ONLY in err
    assert run(*given, "--draws", "3")[0] == 2 and run(*given, "--answers", "2")[0] == 2
    # Both ways to print it are of one audit, and its vectors of no encoder, which tests/attacks/test_two_texts.py has.
    monkeypatch.setattr(auditing, "audit", of_one(auditing.audit))
    monkeypatch.setattr(two_texts, "measure", of_one(two_texts.measure))
    audited = ("audit", "--mechanism", "custext", "--draws", "100", "--two-texts", "doctor", "nurse")
    status, out, _ = run(*audited)
    assert status == 0
    told = [line for line in out.splitlines() if line.startswith("Two texts, ")]
    assert [line.partition(":")[0] for line in told] == [
        "Two texts, one word",
        "Two texts, one sentence",
        "Two texts, another text",
    ]
    assert len(two_texts.measure.found) == 3
    rows = json.loads(run(*audited, "--json")[1])["two_texts"]
    assert all(r["promised"] is None and r["most"] >= r["epsilon_least"] > 0 for r in rows)


def test_distribution_of_a_piece_that_was_written(run, writer):
    text = "The doctor told my friend."
    _, made, _ = run("rewrite", *writer, "--trace", text)
    pieces = json.loads(made)["releases"]
    status, out, err = run("distribution", *writer, "--piece", "1", "--json", text)
    shown = json.loads(out)
    result = dpt.get_mechanism("dp-prompt", model=writer[3], epsilon=40.0, max_tokens=4).rewrite(text, seed=1)
    assert status == 0 and (shown["piece"], shown["released"]) == (1, pieces[1]["text"])
    assert shown["text"] == result.text and f"rewrite: {result.text}" in err
    assert [w["probability"] for w in shown["top"]] == [p for _, p in result.distribution(1).top(20)]
    assert shown["chance"] == float(result.distribution(1).probs[result.candidate(1)])
    word = next(p["text"] for p in pieces if p["text"])
    status, out, _ = run("distribution", *writer, "--word", word, "--top", "3", text)
    assert status == 0 and f"“{word}”" in out.splitlines()[-1] and len(out.splitlines()) == 5
    for more, says in (
        (("--piece", "99"), "There is no token 99"),
        (("--piece", "-1"), "There is no token -1"),
        (("--word", "zebra"), "No released token is 'zebra'"),
        (("--index", "1"), "or --piece on the command line"),
    ):
        status, _, err = run("distribution", *(writer[:-2] if "--index" in more else writer), *more, text)
        assert status == 2 and says in err, err
    status, _, err = run("distribution", "--mechanism", "shout", "--word", "my", "--seed", "1", "my word")
    assert status == 2 and "a seed has no effect" in err
    status, out, _ = run("distribution", "--mechanism", "shout", "--piece", "1", "my word")
    assert status == 0 and "probability of token 1" in out


def test_app_hands_its_flags_and_plugins_to_streamlit_in_its_own_place(monkeypatch):
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    from dptext_core.support import plugins
    from dptext_studio.commands import app

    asked = {}
    monkeypatch.setattr(app.os, "execve", lambda path, argv, env: asked.update(path=path, argv=argv, env=env))
    monkeypatch.setattr(plugins, "files", lambda: ("/one.py", "/two.py"))
    assert cli.main(["app", "--port", "8600", "--headless"]) == 0
    assert asked["path"] == asked["argv"][0] == sys.executable
    assert asked["argv"][1:] == [
        "-m",
        "streamlit",
        "run",
        str(ROOT / "app.py"),
        "--server.port=8600",
        "--server.headless=true",
    ]
    assert asked["env"][plugins.VARIABLE] == os.pathsep.join(["/one.py", "/two.py"])
    # The server's threads share a heap, unless the environment says otherwise.
    assert asked["env"]["MALLOC_ARENA_MAX"] == "1"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    assert cli.main(["app"]) == 0 and asked["env"]["MALLOC_ARENA_MAX"] == "7"
    # Where a process cannot be replaced, Streamlit runs within it.
    began = {}
    monkeypatch.setattr(app, "REPLACES", False)
    monkeypatch.setattr(app.runpy, "run_module", lambda name, **how: began.update(name=name, argv=[*sys.argv]))
    monkeypatch.setattr(sys, "argv", ["dptext"])
    assert cli.main(["app", "--headless"]) == 0
    assert began == {"name": "streamlit", "argv": ["streamlit", "run", str(ROOT / "app.py"), "--server.headless=true"]}
    monkeypatch.setattr(app, "SCRIPT", "none.py")
    assert cli.main(["app"]) == 2


@pytest.mark.parametrize(
    ("started", "name"), [("/usr/bin/dptext", "dptext"), ("/x/__main__.py", "python -m dptext_core")]
)
def test_help_names_the_command_that_was_typed(started, name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [started])
    for argv in (["--help"], ["audit", "--help"], ["bench", "speed", "--help"]):
        with pytest.raises(SystemExit):
            cli.main(argv)
        assert capsys.readouterr().out.startswith(f"usage: {' '.join([name, *argv[:-1]])} [-h]")


def test_cite_prints_the_entries_of_named_mechanisms_and_of_this_software(run):
    status, out, _ = run("cite", "custext", "santext")
    keys = re.findall(r"(?m)^@\w+\{(\w+),", out)
    assert status == 0 and keys == ["chen2023custext", "yue2021santext", "dptextstudio"]
    status, out, _ = run("cite")
    built_in = [spec.name for spec in dpt.mechanisms() if spec.name != "shout"]
    assert status == 0 and all(f"{{{dpt.mechanism_class(name).references[0]}," in out for name in built_in)
