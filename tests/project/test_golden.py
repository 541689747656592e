"""What must stay byte for byte the same while the code around it moves: seeded rewrites with their promises, stated
distributions, links, commands, ids of stored points, and files of older sessions.

What is expected lies in ``tests/golden``. ``GOLDEN=write pytest tests/project/test_golden.py`` writes it anew; a commit
that does so says which of it changed, and why. Scores are computed in float32 everywhere, and log-probabilities are
compared to 1e-4, since processors differ in the last bits.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from typing import Any

import pyarrow.parquet
import pytest
from golden_files import FOLDER, compare_case, compare_file, plain
from tiny import tiny_masked_lm
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core.data import folder, release_files, rewriting, tables
from dptext_core.mechanisms import codec
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.models import engines, generator, masked_lm
from dptext_core.text import lexicon, lexicons
from dptext_lab.results import summary as results
from dptext_lab.runner import grid
from dptext_studio.components import links
from dptext_studio.exports import parts, read_session

TEXTS = (
    "Dr. Amari's sister was treated for diabetes in Lisbon on 3 May; she paid $40 and can't come back.",
    "The film was short, but I liked the old actor.",
)
#: Of what a mechanism writes with a model: long enough for a few windows of the tiny ones, and quick.
SHORT = (TEXTS[1],)
SEED = 20
NAMES = [spec.name for spec in dpt.mechanisms()]
#: Its sets of words take seconds to make.
SLOW = {"custext"}
#: Its sets of all 21,719 words take most of them; tests/mechanisms works them out by plain loops on small spaces.
LEFT_OUT = {"mapping": "aggressive"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Tiny models in the place of large ones, in float32, and the stop words that come with a package."""
    made = tmp_path_factory.mktemp("golden")
    with pytest.MonkeyPatch.context() as patched:
        for module in (masked_lm, generator):
            patched.setattr(module, "best_dtype", lambda device: "float32")
            patched.setattr(module, "_loaded", {}, raising=False)
        patched.setattr(engines, "_engines", {})
        patched.setattr(lexicon, "nltk_stop_words", lambda name: None)
        lexicons._default_stop_words.cache_clear()
        yield {
            "masked": str(tiny_masked_lm(made / "masked")),
            "decoder": str(tiny_generator(made / "gpt2", "gpt2")),
            "encoder-decoder": str(tiny_generator(made / "bart", "bart")),
        }
    lexicons._default_stop_words.cache_clear()


def given(name: str, small: dict[str, str]) -> dict[str, str]:
    """The model that a mechanism computes with here; none where it needs none, or what is bundled is small."""
    fields = {f.name: option_meta(f) for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}
    if "model" not in fields:
        return {}
    writes = fields["model"].generators
    return {"model": small[(writes[0] or "decoder") if writes else "masked"]}


def told(r: dpt.RewriteResult, small: dict[str, str]) -> dict[str, Any]:
    """A result in plain values: all that others read of it."""
    distributions: list[Any] = []
    if "distribution" in r.can:
        for i in [i for i, unit in enumerate(r.units) if unit.is_sampled and unit.epsilon > 0][:3]:
            d = r.distribution(i)
            # What is estimated from draws of its own differs from call to call.
            top = [[word, math.log(p)] for word, p in d.top(3)] if d.draws is None else []
            distributions.append([i, d.source, d.draws, len(d.candidates), top])
    out = {
        "text": r.text,
        "releases": [[p.text, p.span, p.source, p.origin, p.epsilon] for p in r.releases],
        "steps": [[s.replacement, s.action, s.reason, s.epsilon] for s in r.steps],
        "guarantee": plain(r.guarantee),
        "distributions": distributions,
    }
    text = json.dumps(out)
    for kind, path in small.items():
        text = text.replace(json.dumps(path)[1:-1], f"<{kind}>")
    return json.loads(text)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in NAMES])
def test_rewrites(name, small):
    cls = dpt.mechanism_class(name)
    model = given(name, small)
    texts = SHORT if model or "autoencoder" in cls.needs else TEXTS
    made = []
    for n, options in enumerate(one_space(cls)):
        low, high, default = cls.epsilon_range({**options, **model})
        for epsilon in (low, default, high) if n == 0 else (default,):
            m = cls.create(epsilon=epsilon, **options, **model)
            key = f"{json.dumps(options)} at {epsilon:.6g}"
            made.append(key)
            compare_case(
                f"rewrites/{name}", key, [told(m.rewrite(text, seed=SEED), small) for text in texts], 1e-4, 1e-4
            )
    kept = json.loads((FOLDER / f"rewrites/{name}.json").read_text(encoding="utf-8"))
    assert sorted(made) == sorted(key for key in kept if not key.startswith(json.dumps(LEFT_OUT)))


def one_space(cls: type[dpt.Mechanism]) -> list[dict[str, Any]]:
    """The variants but one, and those that differ in their word space alone, which is data."""
    variants = [dict(options) for options in cls.variants()]
    first = variants[0].get("space")
    return [options for options in variants if options.get("space", first) == first and options != LEFT_OUT]


def settings() -> list[tuple[str, dict[str, Any]]]:
    return [(name, dict(options)) for name in NAMES for options in dpt.mechanism_class(name).variants()]


def test_links_and_commands():
    out = {}
    for name, options in settings():
        m = dpt.get_mechanism(name, **options)
        query = links.to_query(dpt.Setting(name, options, 12.5))
        read, problem = links.from_query(query)
        wanted = m.replace(epsilon=12.5) if m.uses_epsilon else m
        assert problem is None and read is not None and read.make().config == wanted.config
        out[f"{name} {json.dumps(options)}"] = {
            "query": query,
            "file": links.to_file(dpt.Setting(name, options)),
            "arguments": m.setting.flags(),
            "described": codec.describe(options, name),
            "command": parts.as_command(m, 3),
            "python": parts.as_python(m, 3),
            "asked": rewriting.run_options(m),
        }
    compare_file("links", out)


def test_ids_of_points():
    """Those of every grid; the stored ones are among them or were measured apart."""
    out: dict[str, Any] = {}
    for name in sorted(grid.GRIDS):
        ids = list(grid.grid_by_name(name, data=True).by_id)
        out[name] = [len(ids), ids[:3], hashlib.sha256("".join(ids).encode()).hexdigest()]
    known = grid.grid_by_name("full+tuned", data=True).by_id
    bundled = results.bundled()
    assert bundled is not None
    stored = sorted({row.point for row in bundled.rows if row.point})
    assert len(stored) > 100
    digest = hashlib.sha256("".join(stored).encode()).hexdigest()
    out["stored"] = [len(stored), sum(point in known for point in stored), digest]
    compare_file("points", out)


def test_a_session_file_of_version_1():
    data = (FOLDER / "session.dptext").read_bytes()
    saved = read_session(data)
    setting, problem = links.from_query(links.from_file(saved.query))
    assert setting is not None
    compare_file("session", {"read": setting.to_dict(), "problem": problem, "seed": saved.seed, "text": saved.text})
    assert saved.to_json().encode() == data


def test_rewritten_data(tmp_path):
    """A seeded run over a table: its folder, and what leaves of it in every format."""
    given = tmp_path / "notes.jsonl"
    given.write_text("".join(json.dumps({"number": n, "text": t}) + "\n" for n, t in enumerate(TEXTS * 2)), "utf-8")
    m = dpt.get_mechanism("custext", epsilon=6.0)
    run, out = tmp_path / "run", {}
    out["result"] = rewriting.rewrite_data(
        tables.source(given, ("text", "number")), m, run, column="text", keep=("number",), seed=SEED
    )
    for words in ("exposed", "counted", "sentence"):
        del out["result"][words]
    out["columns"] = list(folder.some_lines(run, 0, 1)[0])
    for suffix in release_files.RELEASE:
        release_files.release(run, "text", ("number",), made := tmp_path / f"release{suffix}")
        rows = pyarrow.parquet.read_table(made).to_pylist() if suffix == ".parquet" else made.read_bytes().decode()
        out[suffix] = rows
    compare_file("data", out)
