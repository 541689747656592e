"""Explore, Compare, Batch and a score of any system's rewrites count the identifying words of one release alike."""

from __future__ import annotations

import json

import pytest
from token_engine import call

import dptext_core as dpt
from dptext_core.data import tables
from dptext_core.data.rewriting import OWN
from dptext_core.measure import pii_survival
from dptext_core.measure.scored import _pii_share as share_left
from dptext_studio.figures.token_view import payload
from dptext_studio.server.batch import Batch, BatchRequest

TEXTS = [
    "I was admitted on 5 May 2023 with a fever.",
    "We came back on 12 May 2024 and left again.",
    "Call me at five five five one two nine nine.",
    "Bill phoned. Will came later, and Don met Will. Call five five five one two nine nine.",
    "Mrs Nora Halvorsen, 67, of 14 Mill Lane, wrote to a.b@example.org on 3/12/24 (Lisbon).",
    "it may rain on 5 may in the US; anna can't say",
    "The doctor is not here.",
    "dear will, i'm may: at half past one, in room six, on the first of may",
    "tHe Dr came on May third at ten past two",
]


@pytest.mark.parametrize("epsilon", [0.1, 40.0])
def test_one_release_has_one_count_everywhere(tmp_path, epsilon):
    m = dpt.get_mechanism("santext", epsilon=epsilon)
    results = m.rewrite(TEXTS, seed=3)
    compare = [pii_survival.count_survivors(r) for r in results]
    explore = []
    for r in results:
        shown = payload(r, run=1, low=0.1, high=40.0, default=epsilon)
        (told,) = call("standing", shown, [epsilon])
        explore.append((len(told["texts"]), len(shown["telling"])))
    assert explore == compare
    assert [found for _, found in compare] == [1, 1, 4, 7, 6, 2, 0, 6, 5]

    batch = Batch(tmp_path, BatchRequest("a.jsonl", "text", False, (), m.setting))
    rows = [{"text": t} for t in TEXTS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    batch.run.mkdir()
    lines = [{"text": r.text, OWN: {"row": i}} for i, r in enumerate(results)]
    (batch.run / tables.ROWS).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    left = {row: len(found) for row, found in batch.remaining_identifiers().first}
    assert [left.get(row, 0) for row in range(1, len(TEXTS) + 1)] == [stand for stand, _ in compare]

    # What the command "score" has the mean of: nothing but the two texts is known.
    shares = [share_left(r.original, r.text) for r in results]
    assert shares == [stand / found if found else None for stand, found in compare]
    assert [stand for stand, _ in compare] == ([1, 1, 4, 7, 3, 2, 0, 6, 5] if epsilon > 1 else [0] * len(TEXTS))


def test_in_its_own_place_or_anywhere():
    text = "Anna met Don on 5 May."

    def left(released: str, aligned: bool | None) -> list[str]:
        return [t.text for t in pii_survival.find_survivors(text, released, aligned=aligned)]

    assert left("Don met Anna on 6 June.", True) == []
    assert left("Don met Anna on 6 May.", True) == ["5 May"]
    assert left("Don met Anna on 6 May.", False) == ["Anna", "Don"]
    assert left("Don met Anna on 6 May.", None) == ["Anna", "Don", "5 May"]
    assert left("Then Don met him on 6 May.", True) == ["Don", "5 May"], "words were added: anywhere"
    assert left("", True) == left("", None) == []
