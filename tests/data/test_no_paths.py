"""No file that leaves the program tells where on the owner's machine anything lies."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_autoencoder, tiny_masked_lm

import dptext_core as dpt
from dptext_core.data import release_files, tables
from dptext_core.data.rewriting import rewrite_data
from dptext_core.measure import trade_off
from dptext_core.measure.ledger import Ledger
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.support.checks import without_path
from dptext_studio import exports
from dptext_studio.components import links
from dptext_studio.server.runs import Inputs

OWNER = "qzkowner"
TEXT = "my doctor told the nurse in the house that it works"


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder of somebody whose name stands in the path of each file."""
    folder = tmp_path_factory.mktemp("home") / OWNER
    folder.mkdir()
    words = sorted({*TEXT.split(), "lawyer", "friend", "garden", "school", "teacher", "letter"})
    vectors = np.random.default_rng(0).normal(size=(len(words), 5)).round(3)
    lines = [f"{w} {' '.join(map(str, v))}" for w, v in zip(words, vectors, strict=True)]
    (folder / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "stop.txt").write_text("the\nin\n", encoding="utf-8")
    (folder / "a table.csv").write_text(f'label,text\n1,"{TEXT}"\n2,{OWNER[:1]}\n3,\n', encoding="utf-8")
    tiny_masked_lm(folder / "model")
    tiny_autoencoder(folder / "checkpoint")
    return folder


HOST = socket.gethostname().lower()

#: A mechanism for each kind of option that names a file.
MADE = [
    ("custext", {"space": "vectors.txt", "stopwords": "stop.txt"}),
    ("diffractor", {"stopwords": "stop.txt", "lists": ("vectors.txt@1", "vectors.txt@2")}),
    ("dp-mlm", {"model": "model", "stopwords": "stop.txt", "clip_min": -3.0, "clip_max": 3.0}),
    ("adept", {"checkpoint": "checkpoint"}),
]


def given(home: Path, options: dict) -> dict:
    def placed(value):
        return tuple(map(placed, value)) if isinstance(value, tuple) else str(home / value)

    return {k: placed(v) if isinstance(v, str | tuple) else v for k, v in options.items()}


def names_no_place(what: str, said: str | bytes) -> None:
    said = (said if isinstance(said, str) else said.decode("utf-8", "replace")).lower()
    # A host may be called like an ordinary word; two letters stand anywhere.
    for place in (OWNER, f"{Path.home()}{os.sep}".lower(), str(Path.cwd()).lower(), *([HOST] if len(HOST) > 5 else [])):
        at = said.find(place)
        assert at < 0, (what, place, said[max(0, at - 80) : at + 60])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), MADE, ids=[name for name, _ in MADE])
def test_no_file_that_leaves_names_a_place_of_the_owners_machine(home, tmp_path, name, options, quick_audits):
    epsilon = 20.0
    fields = {f.name: f for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)}
    m = dpt.get_mechanism(name, epsilon=epsilon, **given(home, options))
    result = m.rewrite(TEXT)
    found: dict[str, str | bytes] = {}
    for kind in exports.KINDS:
        found[f"record, {kind}"] = exports.record(result, kind)
        found[f"report, {kind}"] = exports.report(result, kind)
    found["inspection"] = exports.inspection(result)
    found["promise"] = json.dumps(result.guarantee.to_dict(), default=str) + result.guarantee.sentence()
    found["exposed"] = "".join(result.guarantee.lines())
    ledger = Ledger()
    ledger.record(result, released=True)
    found["ledger"] = ledger.to_json()
    found["command"] = exports.as_command(m, places=False)
    found["in words"] = m.setting.described()
    if m.by_word is not None:
        found["audit"] = json.dumps(dpt.audit(m, ["doctor", "nurse"], draws=100).to_dict())
    if "alignment" in m.can:
        points = list(trade_off.tradeoff(TEXT, [m], [epsilon], 2, ("unchanged",)))
        found["trade-off"] = trade_off.to_csv(points)
    found["repr"] = repr(result)
    query, left_out = links.link_of_run(Inputs(TEXT, dpt.Setting(name, given(home, options)), None), epsilon, file=True)
    found["session"] = exports.SavedSession(query, None, TEXT).to_json()
    files = {option_meta(fields[o]).label for o in options if option_meta(fields[o]).kind.startswith("text")}
    assert files and files <= set(left_out), "whoever opens it is told what it lacks"
    for what, said in found.items():
        names_no_place(what, said)

    data = tables.source(home / "a table.csv", ("text", "label"))
    rewrite_data(data, m, tmp_path / "run", keep=("label",))
    for suffix in release_files.RELEASE:
        release_files.release(tmp_path / "run", "text", ("label",), tmp_path / f"release{suffix}")
    for suffix in release_files.INSPECTION:
        release_files.inspection(data, tmp_path / "run", "text", ("label",), tmp_path / f"PRIVATE{suffix}")
    written = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(written) >= 11
    for path in written:
        names_no_place(path.name, path.read_bytes())


def test_of_a_place_its_last_part_is_told_and_names_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "mine.txt").write_text("")
    for name in ("bundled", "facebook/bart-base", "minilm-1", "L0", "a b", "é", "", "minilm@3", "lists/other.txt"):
        assert without_path(name) == name
    for name, left in {
        "/srv/a/b.txt": "b.txt",
        "~/b.txt": "b.txt",
        "~ada/b.txt@7": "b.txt@7",
        "C:\\ada\\b.txt": "b.txt",
        "\\\\host\\share\\b": "b",
        "/srv/model/": "model",
        "./b.txt": "b.txt",
        "../ada/b": "b",
        "/": ".",
        "lists/mine.txt": "mine.txt",
        "lists/mine.txt@2": "mine.txt@2",
    }.items():
        assert without_path(name) == left, name
