"""Which tests are unit tests, which need a language model, and which cases only CI runs."""

from __future__ import annotations

import importlib.abc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
#: What ``-m unit`` runs: folders and files below tests/ that take a few seconds at most.
UNIT = (
    "auditing/test_report.py",
    "data/test_labels.py",
    "data/test_release_files.py",
    "lab/results/test_curves.py",
    "lab/results/test_leaderboard.py",
    "lab/results/test_paired_comparison.py",
    "lab/results/test_papers.py",
    "measure/test_same_counts.py",
    "measure/test_survivors.py",
    "measure/test_trade_off.py",
    "mechanisms/test_chances.py",
    "mechanisms/test_codec.py",
    "mechanisms/test_groups.py",
    "mechanisms/test_gumbel.py",
    "mechanisms/test_golden_words.py",
    "mechanisms/test_mahalanobis.py",
    "mechanisms/test_mvc.py",
    "mechanisms/test_setting.py",
    "mechanisms/test_small_parts.py",
    "mechanisms/test_tem.py",
    "mechanisms/test_vickrey.py",
    "privacy/",
    "project/test_count_lines.py",
    "studio/test_figures.py",
    "studio/test_job_folders.py",
    "studio/test_meaning_curve.py",
    "studio/test_references.py",
    "studio/test_side_by_side.py",
    "support/test_imports.py",
    "support/test_statistics.py",
    "support/test_task.py",
    "support/test_whole_files.py",
    "testing/",
    "text/test_cells.py",
    "text/test_document.py",
    "text/test_skeleton.py",
    "text/test_visible.py",
    "words/test_bank.py",
    "words/test_word_files.py",
)
#: What the marker ``model`` has: these, and tests with a fixture that makes a tiny model.
MODEL = (
    "extras/",
    "mechanisms/test_adept.py",
    "mechanisms/test_dp_bart.py",
    "mechanisms/test_dp_mlm.py",
    "mechanisms/test_dp_sentence.py",
    "mechanisms/test_generators.py",
    "mechanisms/test_public_prior.py",
    "models/",
)
TINY = {"tiny_autoencoder", "tiny_model"}
#: What a unit test may not import: an attempt fails.
FORBIDDEN = ("playwright", "streamlit", "torch")


class Forbidden(importlib.abc.MetaPathFinder):
    """Refuse to import what a unit test may not use."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"A unit test may not import {name}: see UNIT in tests/marks.py", name=name)


def slow_but(quick: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """The values as parameters, those slow that are not among the quick ones."""
    quick = list(quick)
    assert quick
    found = [pytest.param(v, marks=() if v in quick else pytest.mark.slow) for v in values]
    assert sum(not p.marks for p in found) == len(quick), "each of the quick ones is among the values"
    return found
