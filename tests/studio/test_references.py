"""Every mechanism names its papers, and they are whole BibTeX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_studio import references

ROOT = Path(__file__).resolve().parents[2]
BUILT_IN = [s.name for s in dpt.mechanisms() if dpt.mechanism_class(s.name).__module__.startswith("dptext_core.")]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_mechanism_names_papers_that_are_known(name):
    keys = dpt.mechanism_class(name).references
    assert keys and len(set(keys)) == len(keys)
    for key in keys:
        assert references.reference(key).key == key


def test_no_paper_is_listed_that_nothing_is_from():
    used = {key for name in BUILT_IN for key in dpt.mechanism_class(name).references} | {references.OWN}
    assert set(references.references()) == used and len(BUILT_IN) > 10


@pytest.mark.parametrize("key", list(references.references()))
def test_an_entry_is_whole(key):
    one = references.reference(key)
    assert re.match(rf"@\w+\{{{key},\n", one.bibtex) and one.bibtex.endswith("\n}")
    depth = 0
    for c in one.bibtex:
        depth += (c == "{") - (c == "}")
        assert depth >= 0
    assert depth == 0
    assert one.field("title") and one.field("author") and one.field("nothing") == ""
    assert one.field("title") in one.line() and "{" not in one.line()
    if key != references.OWN:
        assert re.fullmatch(r"(19|20)\d\d", one.field("year")) and (one.field("booktitle") or one.field("journal"))


def test_the_program_is_cited_as_its_citation_file_says():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    own = references.reference(references.OWN)
    assert f"title: {own.field('title')}\n" in cited and f"version: {own.field('version')}\n" in cited
    assert own.field("author") in cited
    # A release fills these (docs/development/maintaining.md). Until then, neither file has them.
    released = dict(re.findall(r"(?m)^(date-released|repository-code): \"?([^\"\n]+)\"?$", cited))
    assert own.field("year") == released.get("date-released", "")[:4]
    assert own.field("url") == released.get("repository-code", "")


def test_each_entry_stands_once_in_a_file():
    text = references.bibtex(("yue2021santext", "chen2023custext", "yue2021santext"))
    assert text.count("@inproceedings") == 2 and text.endswith("}\n")
    with pytest.raises(dpt.InputError, match="yue2021santext"):
        references.reference("nobody")
