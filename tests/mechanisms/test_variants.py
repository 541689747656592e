"""What is measured of a mechanism is what it says itself: nothing that evaluates asks which mechanism it looks at."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.mechanisms import registry
from dptext_core.mechanisms.capabilities import by_word
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.mechanisms.words.word_options import SpaceConfig
from dptext_core.models import sentence_encoder
from dptext_core.privacy.distribution import ScoreTable
from dptext_core.words.space_loading import SPACES
from dptext_lab.measurements import audit, deniability
from dptext_lab.results import rows
from dptext_lab.runner import grid, group_run, original_texts

ROOT = Path(__file__).resolve().parents[2]
NAMES = {s.name for s in dpt.mechanisms()}
#: The base class apart: whether something is a mechanism at all may be asked.
CLASSES = {
    c.__name__ for name in NAMES for c in inspect.getmro(registry.mechanism_class(name)) if issubclass(c, dpt.Mechanism)
} - {"Mechanism"}
#: What a file has somewhere that asks: the others need not be read as code.
NAMED = re.compile(rf"\b(?:{'|'.join(CLASSES)})\b|[\"'](?:{'|'.join(NAMES)})[\"']")


@dataclasses.dataclass(frozen=True)
class TwoConfig(SpaceConfig):
    far: bool = dpt.option(False, label="Far", kind="flag", help="Whether the last word is drawn as likely.")


class Two(WordMechanism):
    """Keeps a word, or releases the first or the last of the vocabulary."""

    name, title, notion, config_cls = "two", "Two", "pure", TwoConfig

    def channel(self, row):
        words = self.vocabulary.words
        chosen = (words[row], words[0], words[-1])
        return ScoreTable(chosen, np.array([1.0, 0.0, float(self.config.far)]) / 2, words[row])

    @classmethod
    def variants(cls):
        return ({"far": False}, {"far": True})


@pytest.fixture
def two():
    dpt.register(Two)
    yield Two
    dpt.unregister("two")


def test_a_foreign_mechanism_is_audited_and_measured_as_it_says(two):
    assert [s.options for s in audit.configurations() if s.mechanism == "two"] == [{"far": False}, {"far": True}]
    assert [s.options for s in deniability.configurations(["minilm", "glove"]) if s.mechanism == "two"] == [
        {"space": "minilm"},
        {"space": "glove"},
    ]
    _, high, default = two.epsilon_range()
    assert audit.epsilons(dpt.Setting("two")) == (default, high)
    two.closed_form = False
    try:
        assert audit.epsilons(dpt.Setting("two")) == (audit.LOW, high)
    finally:
        del two.closed_form


@pytest.fixture
def embeddings(monkeypatch):
    """Bags of letters in place of the sentence encoder, which is slow to load; nothing of them is kept."""
    monkeypatch.setattr(sentence_encoder, "embed", lambda texts, **_: np.stack([letters(text) for text in texts]))
    for kept in (original_texts.load_originals.cache_clear, original_texts._embeddings.clear):
        kept()
    yield
    for kept in (original_texts.load_originals.cache_clear, original_texts._embeddings.clear):
        kept()


def letters(text: str) -> np.ndarray:
    counts = np.bincount([ord(c) % 64 for c in text] or [0], minlength=64).astype(np.float32)
    return counts / np.linalg.norm(counts)


def test_a_foreign_mechanism_makes_a_point_with_all_scores(two, embeddings):
    size = grid.Size(12, 6, 10, 8.0)
    point = grid.GridPoint(dpt.Setting("two", {"far": True, "oov": "keep"}, 2.0), "builtin", 1, size)
    (line,) = group_run.run_group([point], group_run.RunConfig(command="c"))
    assert line.id == point.id and rows.RunLine.read(line.to_dict()) == line
    wanted = {"accuracy", "accuracy_bag", "f1_adaptive", "f1_adaptive_bag", "cosine", "bleu", "chrf", "n_w", "s_w"}
    assert wanted <= set(line.scores)
    assert line.scores["n_w"] < 1 and line.scores["s_w"] <= 3


def test_every_built_in_mechanism_is_audited_in_all_its_ways():
    found = {name: [s.options for s in audit.configurations() if s.mechanism == name] for name in NAMES}
    priors = [{"prior": "frequency"}, {"prior": "skeleton"}]
    spaces = [{"space": s} for s in SPACES]
    assert found["tem"] == spaces and found["santext"] == found["santext-plus"] == [*spaces, *priors]
    assert found["custext"][-3:] == [*priors, {"surrogates": True}] and {"prior": "frequency"} in found["dp-mlm-prior"]
    assert {o.get("order") for o in found["dp-mlm-prior"]} == {None, "sequential", "certain"}
    assert found["mvc"] == found["mahalanobis"] == found["gumbel"] == found["dp-mlm-plus"] == [{}]
    assert found["vickrey"] == [{"noise": "mvc"}, {"noise": "mahalanobis"}]
    assert len(found["diffractor"]) == 9 and len(found["custext"]) == 2 * len(SPACES) + 6 and len(found["dp-mlm"]) == 6
    for setting in itertools.chain(audit.configurations(), deniability.configurations(["minilm"])):
        config = setting.at(1.0).make().config
        assert all(getattr(config, k) == v for k, v in setting.options.items() if k != "lists")
    assert found["adept"] == found["adept-original"] == [{"checkpoint": "snips"}, {"checkpoint": "atis"}]
    assert found["dp-prompt"] == [{}, {"prior": "released"}, {"length": "input"}]
    assert found["dp-paraphrase"] == [{}, {"prior": "released"}]
    assert found["dp-sentence"] == [{}, {"slots": 3}, {"each": 2}]
    without = {
        "dp-mlm",
        "dp-mlm-plus",
        "dp-mlm-prior",
        "adept",
        "adept-original",
        "dp-sentence",
        "dp-prompt",
        "dp-paraphrase",
        "dp-bart",
        "redact",
        "surrogates",
    }
    assert {s.mechanism for s in deniability.configurations(["minilm"])} == NAMES - without


def test_a_mechanism_without_a_vocabulary_is_refused_by_what_measures_words():
    with pytest.raises(dpt.ConfigError, match="'dp-mlm' has no vocabulary"):
        by_word(dpt.get_mechanism("dp-mlm"))


def asked(path: Path) -> list[str]:
    """Where a file asks which mechanism it has: isinstance of a class of ours, or a comparison of its name."""
    found, source = [], path.read_text(encoding="utf-8")
    if not NAMED.search(source):
        return []
    for node in ast.walk(ast.parse(source)):
        names: set = set()
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            names = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)} & CLASSES
        elif isinstance(node, ast.Compare):
            names = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)} & NAMES
        if names:
            found.append(f"{path.name}:{node.lineno}")
    return found


@pytest.mark.slow
def test_nothing_outside_the_mechanisms_asks_which_one_it_has(tmp_path):
    """The papers' claims, the grid and the table of others' packages are about mechanisms by name; all else takes what
    a mechanism says of itself. The workers' names are those of the packages."""
    lab = ROOT / "dptext_lab"
    folders = ("dptext_core", "dptext_lab", "dptext_studio", "pages", "tools")
    files = [f for name in folders for f in (ROOT / name).rglob("*.py") if "mechanisms" not in f.parts]
    files.append(ROOT / "app.py")
    assert len(files) > 100
    by_name = {lab / "runner" / "grid.py", lab / "results" / "papers.py"}
    by_name |= set((lab / "findings").glob("*.py"))
    by_name |= {lab / "peers" / f"{n}.py" for n in ("table", "worker")}
    assert [line for f in files if f not in by_name for line in asked(f)] == []
    planted = tmp_path / "planted.py"
    planted.write_text("if isinstance(m, WordMechanism) or name == 'custext':\n    pass\n")
    assert asked(planted) == ["planted.py:1"] * 2
