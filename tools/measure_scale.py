"""What rewriting a data set costs on one processor: words a second of each mechanism, rows in and rows out, and what a
billion documents would take. It prints the table of docs/measurements/scale.md.

    OMP_NUM_THREADS=1 python tools/measure_scale.py [--seconds 20] [NAME …]

Each mechanism runs in a separate process, and CPU seconds are counted. A busy machine still slows them down, so run
this on an idle one. Loading is not counted. A document has 100 words of the bundled examples, stop words included. A
mechanism whose model is not on this machine has no figures.
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


def markdown_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


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
        f"A billion documents of {DOCUMENT} words; CPU seconds; OMP_NUM_THREADS="
        f"{os.environ.get('OMP_NUM_THREADS', 'all')}\n"
    )
    print(markdown_row("mechanism", "words a second and core", "core-hours", "days on one core"))
    print("|---|---:|---:|---:|")
    for name in args.names or [spec.name for spec in dpt.mechanisms()]:
        done = subprocess.run(
            [sys.executable, __file__, "--one", "--seconds", str(args.seconds), name], capture_output=True, text=True
        )
        if done.returncode:
            print(markdown_row(f"`{name}`", "not here", "", ""), flush=True)
            continue
        data = json.loads(done.stdout.splitlines()[-1])
        hours = 1e9 / data["documents"] / 3600
        print(markdown_row(f"`{name}`", f"{data['words']:,.0f}", f"{hours:,.0f}", f"{hours / 24:,.0f}"), flush=True)


if __name__ == "__main__":
    main()
