"""What rewriting a data set costs on one processor: words a second of each mechanism, rows in and rows out, and what a
billion documents would take. For docs/scale.md.

    OMP_NUM_THREADS=1 python tools/measure_scale.py [--seconds 20] [NAME …]

Each mechanism has a process of its own, and processor seconds are counted, so that others on the machine disturb
little. What is loaded once is left out. A document is 100 words of the bundled examples. A mechanism whose model is not
on this machine is named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

DOCUMENT = 100


def documents() -> list[str]:
    """Different texts of so many words, from the sentences of the examples."""
    from dptext_core.support.assets import examples
    from dptext_core.text.document import Document

    words = [w for one in examples() for w in one.text.split()]
    found = []
    for start in range(0, len(words), 17):
        turned = [words[(start + i) % len(words)] for i in range(2 * DOCUMENT)]
        n = next(n for n in range(1, len(turned)) if count(Document.parse(" ".join(turned[:n]))) >= DOCUMENT)
        found.append(" ".join(turned[:n]))
    return found


def count(document) -> int:
    return sum(t.kind == "word" for t in document.tokens)


def measure(name: str, seconds: float) -> dict[str, float]:
    import itertools

    import dptext_core as dpt
    from dptext_core.data.records import rewrite_records
    from dptext_core.data.rewriting import line_of
    from dptext_core.mechanisms.base import BATCH

    begun = time.process_time()
    m = dpt.get_mechanism(name)
    texts = documents()
    rows = ({"text": text} for text in itertools.cycle(texts))
    lines = (json.dumps(line_of(r, "text", ())) for r in rewrite_records(rows, m))
    for _ in range(2 * BATCH if m.slow_to_prepare else 20 * BATCH):
        next(lines)
    loaded = time.process_time() - begun
    at, done, drawn = (
        time.process_time(),
        0,
        len(m.alignment.sampled_tokens(texts[0])) if m.alignment is not None else 0,
    )
    while time.process_time() - at < seconds:
        for _ in range(BATCH):
            next(lines)
        done += BATCH
    spent = time.process_time() - at
    return {"documents": done / spent, "words": done * DOCUMENT / spent, "drawn": drawn, "loaded": loaded}


def main() -> None:
    import dptext_core as dpt

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.names[0], args.seconds)))
        return
    print(
        f"documents of {DOCUMENT} words; processor seconds; OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'all')}"
    )
    print(f"{'mechanism':<16}{'words a second':>16}{'core-hours for 10^9 documents':>32}")
    for name in args.names or [spec.name for spec in dpt.mechanisms()]:
        done = subprocess.run(
            [sys.executable, __file__, "--one", "--seconds", str(args.seconds), name], capture_output=True, text=True
        )
        if done.returncode:
            print(f"{name:<16}{'not here':>16}", flush=True)
            continue
        data = json.loads(done.stdout.splitlines()[-1])
        print(f"{name:<16}{data['words']:>16,.0f}{1e9 / data['documents'] / 3600:>32,.0f}", flush=True)


if __name__ == "__main__":
    main()
