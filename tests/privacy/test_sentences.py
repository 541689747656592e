"""The wording of guarantees: all of it is in ``tests/golden/guarantee_sentences.md``, to be read top to bottom.

``GOLDEN=write pytest tests/privacy/test_sentences.py`` writes the file; review its difference like prose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from golden_files import FOLDER

import dptext_core as dpt
from dptext_core.privacy import kinds, sentences
from dptext_core.privacy.terms import (
    Adjacency,
    ComparisonScope,
    Condition,
    Group,
    Metric,
    NotProtected,
    ProtectedUnit,
    Reason,
)
from dptext_core.text import lexicon, lexicons

FILE = FOLDER / "guarantee_sentences.md"
TEXT = "Dr. Amari paid the doctor; she can't come 🙂."
#: Parameters of each kind that has some. A kind with a count is worded for one and for several.
COUNTS = ({"count": 1}, {"count": 1234})
TERMS: dict[type, dict[str, tuple[dict[str, Any], ...]]] = {
    ProtectedUnit: {"custom": ({"text": "answer"},)},
    Condition: {
        "sensitive-words": ({"share": 0.4},),
        "repetitions": ({"where": "text"}, {"where": "all-texts"}),
        "custom": ({"text": "what a plugin states"},),
    },
    NotProtected: {
        "kept-tokens": tuple(
            {"reason": reason, "source": source, **n}
            for reason, source in (
                ("stop word", "stop.txt"),
                ("punctuation", None),
                ("symbol", None),
                ("not in the vocabulary", None),
            )
            for n in COUNTS
        ),
        "unknown-masked": tuple({"mask": "[MASK]", **n} for n in COUNTS),
        "unknown-dropped": COUNTS,
        "word-group": ({"outputs": 20, "overlap": False}, {"outputs": 20, "overlap": True}),
        "alone-in-group": ({"share": 0.03, "digits": 1},),
        "repetitions": ({"where": "text"}, {"where": "all-texts"}),
        "common-words": ({"share": 0.4, "p": 0.25},),
        "word-piece-limits": ({"read": 40, "written": 60},),
        "token-limits": ({"read": 40, "written": 60},),
        "sentence-slots": COUNTS,
        "flagged-places": COUNTS,
        "allowlist": COUNTS,
        "token-limit": ({"count": 60},),
        "custom": ({"text": "what a plugin states"},),
    },
    Reason: {
        "mismatched-norms": ({"dimensions": 16, "epsilon": 10.0},),
        "few-outputs": ({"scale_undefined": False}, {"scale_undefined": True}),
        "custom": ({"text": "of a plugin's own words."},),
    },
    Metric: {
        "euclidean": ({"space": "minilm"}, {"space": "minilm", "limit": 1.234}),
        "mahalanobis": ({"space": "minilm", "lam": 0.2},),
        "list-places": (
            {"lists": 1},
            {"lists": 3, "names": ("a", "b", "c")},
            {"lists": 2, "limit": 5.0},
            {"lists": 2, "limit": 5.0, "shortest": 2.5},
        ),
        "custom": ({"text": "Manhattan distance of four numbers"},),
    },
    Group: {
        "shared-set": tuple(
            {"mapping": mapping, "size": 20, "distance": "cosine", "space": "minilm"}
            for mapping in ("balanced", "conservative", "aggressive")
        ),
        "custom": ({"text": "the 20 words that are about as frequent", "size": 20},),
    },
}
WORDS = ("released word", "any two texts", 3, 6.0)
TOKENS = ("released token", "any two texts", 3, 6.0)
LENGTH = Condition("token-count")
#: Statements that the mechanisms above do not make.
STATEMENTS = {
    "Nothing sampled": dpt.Guarantee("pure", 2.0, "released word", "any two texts", 0, 0.0),
    "One word": dpt.Guarantee("pure", 2.0, "released word", "any two texts", 1, 2.0),
    "One token": dpt.Guarantee("pure", 2.0, "released token", "any two texts", 1, 2.0),
    "A plugin's unit, one draw": dpt.Guarantee("pure", 2.0, "answer", "any two texts", 1, 2.0),
    "A plugin's unit, several draws": dpt.Guarantee("pure", 2.0, "answer", "any two texts", 5, 10.0),
    "A large ε": dpt.Guarantee("pure", 20.0, *WORDS[:3], 60.0),
    "Different ε": dpt.Guarantee("pure", 2.0, *WORDS[:3], 4.5, spent=(0.5, 2.0, 2.0)),
    "A random number of draws": dpt.Guarantee("pure", 2.0, *WORDS, expected=3.25),
    "Smaller by zCDP": dpt.Guarantee("pure", 0.5, *WORDS[:2], 200, 100.0),
    "A seed": dpt.Guarantee("pure", 2.0, *WORDS, seeded=True),
    "A blocklist": dpt.Guarantee("pure", 2.0, *WORDS, never=2),
    "Both blocklists": dpt.Guarantee("pure", 2.0, *WORDS, never=1, loaded=1372),
    "A condition for a draw": dpt.Guarantee(
        "pure", 2.0, TOKENS[0], Adjacency(LENGTH), 3, 6.0, among=ComparisonScope(LENGTH)
    ),
    "Approximate": dpt.Guarantee("approx", 2.0, *WORDS, delta=1e-5),
    "A δ that adds up to 1": dpt.Guarantee("approx", 2.0, *TOKENS, delta=0.4),
    "Metric without examples": dpt.Guarantee("metric", 2.0, *WORDS, metric="steps"),
    "Metric within a condition": dpt.Guarantee(
        "metric", 40.0, *WORDS, metric="steps", near=1.0, among=ComparisonScope(LENGTH)
    ),
    "Group within a condition": dpt.Guarantee("group", 2.0, *WORDS, group="its class", among=ComparisonScope(LENGTH)),
    "None": dpt.Guarantee("none", 2.0, *WORDS, reason="no noise is added."),
}


def statement(title: str, g: dpt.Guarantee) -> Iterator[str]:
    """Render a guarantee as a section of the file."""
    yield f"## {title}\n"
    yield f"{g.sentence()}\n"
    yield "".join(f"- {line}\n" for line in g.lines())
    if g.exposed:
        yield "Not protected:\n"
        yield "".join(f"- {entry}\n" for entry in g.exposed)


def sections() -> Iterator[str]:
    """Render the whole file."""
    yield "# Guarantees of the mechanisms\n"
    yield f"Of the text “{TEXT}”, with each mechanism's default options.\n"
    for spec in dpt.mechanisms():
        yield from statement(spec.title, dpt.get_mechanism(spec.name).guarantee(TEXT))
    yield "# The same at the smallest and the largest ε that Explore offers\n"
    for spec in dpt.mechanisms():
        m = dpt.get_mechanism(spec.name)
        if m.uses_epsilon:
            yield f"## {spec.title}\n"
            yield "".join(f"- {m.replace(epsilon=e).guarantee(TEXT).sentence()}\n" for e in m.epsilon_range()[:2])
    yield "# Other statements\n"
    for title, g in STATEMENTS.items():
        yield from statement(title, g)
    yield "# Terms\n"
    for cls, given in TERMS.items():
        yield f"## {cls.__name__}\n"
        yield "".join(f"- {kind}: {cls(kind, **p)}\n" for kind in cls.kinds for p in given.get(kind, ({},)))
    yield "## Adjacency\n"
    every = [Condition(kind, **p) for kind in kinds.ConditionKind for p in TERMS[Condition].get(kind, ({},))[:1]]
    yield "".join(f"- {Adjacency(*every[:n])}\n" for n in (0, 1, 2, 3, len(every)))


def test_the_wording_is_the_reviewed_one(monkeypatch):
    monkeypatch.setattr(lexicon, "nltk_stop_words", lambda name: None)  # the list that comes with a package
    lexicons._default_stop_words.cache_clear()
    found = "\n".join(sections())
    lexicons._default_stop_words.cache_clear()
    if os.environ.get("GOLDEN") == "write":
        FILE.write_text(found, encoding="utf-8")
    assert found == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("title", STATEMENTS)
def test_the_headline_begins_the_sentence(title):
    g = STATEMENTS[title]
    assert g.sentence().startswith(g.headline()) and g.headline().endswith(".")


def test_no_place_is_left_open():
    assert not re.search(r"\{\w+\}", FILE.read_text(encoding="utf-8"))


def test_what_a_user_names_is_not_taken_for_a_place():
    g = dpt.Guarantee("metric", 2.0, *WORDS, metric="the distance {total}")
    assert "(the distance {total})" in g.sentence()
    assert NotProtected.of("{count} words") == "{count} words"


@pytest.mark.parametrize("epsilon", [2.0, 20.0])
@pytest.mark.parametrize("draws", [0, 1, 3])
@pytest.mark.parametrize("name", ["custext", "diffractor", "dp-mlm", "dp-sentence", "dp-mlm-prior"])
def test_templates_with_their_numbers_are_the_sentence(name, draws, epsilon):
    m = dpt.get_mechanism(name, epsilon=epsilon)
    g = dpt.Guarantee(**(vars(m.guarantee("doctor")) | {"draws": draws, "total": draws * epsilon, "spent": ()}))
    size = "large" if epsilon > 9.3 else "plain"
    template = sentences.templates(g)[("none", "one", "many")[min(draws, 2)]][size]
    assert sentences.fill(template, sentences.numbers(g)) == g.sentence()
    places = {"near", "largest", "odds", "each", "draws", "total"}
    assert set(re.findall(r"\{(\w+)\}", template)) <= places


@pytest.mark.parametrize("kind", ["kept-tokens", "unknown-masked", "unknown-dropped"])
def test_counted_templates_are_those_of_the_entries(kind):
    for p in TERMS[NotProtected][kind]:
        entry = NotProtected(kind, **p)
        one, several = sentences.count_templates(entry.kind, entry.parameters)
        assert entry == (one if p["count"] == 1 else several.replace("{count}", f"{p['count']:,}"))
