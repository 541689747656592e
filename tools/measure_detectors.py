"""Print how well each detector flags identifying spans: recall of whole spans, false flags, and time.

The column "flags changed" is the share of changes of one unflagged word that change the flag of another.

python tools/measure_detectors.py tests/detectors/notes.txt [--biographies FILE] [--detectors rules rampart]
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.detectors import DETECTORS, KINDS, detector
from dptext_core.measure.detection import (
    DetectionCounts,
    MarkedText,
    count_detections,
    count_flag_changes,
    mark_biography,
    read_marked,
)
from dptext_core.text.languages import ENGLISH

DEFAULT = ("rules", "words", "rampart", "rules+rampart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", type=Path, help="texts in which spans are marked, one a line")
    parser.add_argument("--biographies", type=Path, help="a CSV file with a column named biography")
    parser.add_argument("--detectors", nargs="+", choices=list(DETECTORS), default=list(DEFAULT))
    args = parser.parse_args()
    texts = {args.notes.name: read_marked(args.notes.read_text(encoding="utf-8").splitlines())}
    if args.biographies:
        with args.biographies.open(encoding="utf-8", newline="") as file:
            texts[args.biographies.name] = [mark_biography(row["biography"]) for row in csv.DictReader(file)]
    for name, marked in texts.items():
        print(f"\n{name}: {len(marked)} texts\n")
        for line in table(args.detectors, marked):
            print(line)


def table(names: Iterable[str], marked: list[MarkedText]) -> Iterable[str]:
    """Yield the lines of a Markdown table."""
    kinds = [k for k in KINDS if any(k == kind for text in marked for kind, *_ in text.spans)]
    found = " | ".join(KINDS[k] for k in kinds)
    yield f"| detector | found whole | {found} | false flags | by kind | flags changed | ms a text |"
    yield "|---" * (len(kinds) + 6) + "|"
    for name in names:
        find = detector(name)
        find(marked[0].text, ENGLISH)  # loads what it needs
        start = time.process_time()
        counts = count_detections(find, marked)
        spent = (time.process_time() - start) * 1000 / len(marked)
        changed, made = count_flag_changes(find, marked[:60]) if marked[0].complete else (0, 0)
        moved = f"{changed / made:.1%} of {made}" if made else "not measured"
        parts = [f"{counts.whole[k]} of {counts.units[k]}" for k in kinds]
        yield f"| {find.title} | {counts.recall:.0%} | {' | '.join(parts)} | {_false(counts)} | {moved} | {spent:.1f} |"


def _false(counts: DetectionCounts) -> str:
    if not counts.words:
        return "not measured |"
    by_kind = ", ".join(f"{KINDS[k]} {n}" for k, n in counts.false_flags.most_common())
    return f"{counts.false_share:.1%} of {counts.words} words | {by_kind or 'none'}"


if __name__ == "__main__":
    main()
