"""Time and memory of one draw from banks of several sizes, whose vectors are random: what they mean costs nothing.

Run:  python tools/measure_bank.py [--sizes 10000 100000]

Each size is measured in a process of its own. Printed are the bytes of the files, the memory that the process takes
more once the bank is read, and milliseconds: to read it, to work out a distribution from a vector, and to draw from it.
The encoder, which is the same whatever the bank, is timed by itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core.mechanisms.sentence.sentence_trace import CosineTable
from dptext_core.models.sentence_encoder import embed
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.words.bank import BANK_STEPS, DIMENSIONS, bank_codes, sentence_bank, text_codes, write_bank
from dptext_lab.results.measurement import markdown

SIZES = (10_000, 100_000)
TIMES = 20


def random_vectors(n: int) -> np.ndarray:
    """float32 (n, 384), of length 1."""
    found = np.random.default_rng(n).standard_normal((n, DIMENSIONS), np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def milliseconds(what, times: int = TIMES) -> float:
    """The median time of a call."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        what()
        taken.append(time.perf_counter() - start)
    return 1000 * float(np.median(taken))


def resident() -> int:
    """Bytes of memory that this process holds (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measure(folder: Path) -> dict[str, float]:
    """One bank, in this process."""
    before, start = resident(), time.perf_counter()
    bank = sentence_bank(str(folder))
    read = 1000 * (time.perf_counter() - start)
    codes = text_codes(random_vectors(1))
    table = CosineTable(bank.sentences, bank.cosines(codes)[0])
    stream = NoiseStream()
    return {
        "files": sum(f.stat().st_size for f in folder.iterdir()) / 1e6,
        "memory": (resident() - before) / 1e6,
        "read": read,
        "distribution": milliseconds(lambda: CosineTable(bank.sentences, bank.cosines(codes)[0]).at(50.0)),
        "draw": milliseconds(lambda: table.draw(50.0, stream)),
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.folder is not None:
        print(json.dumps(measure(args.folder)))
        return 0
    rows = []
    for n in args.sizes:
        with tempfile.TemporaryDirectory() as made:
            codes, largest, usual = bank_codes(random_vectors(n))
            said = {"title": "Random", "origin": "", "licence": "", "steps": BANK_STEPS, "left_out": {}}
            sentences = tuple(f"This is sentence number {i} of a bank." for i in range(n))
            write_bank(Path(made), sentences, codes, said | {"largest_error": largest, "usual_error": usual})
            done = subprocess.run(
                [sys.executable, __file__, "--folder", made], capture_output=True, text=True, check=True
            )
            data = json.loads(done.stdout)
        rows.append(
            [
                f"{n:,}",
                *(f"{data[k]:,.0f}" for k in ("files", "memory", "read", "distribution")),
                f"{data['draw']:.1f}",
            ]
        )
    heading = ["sentences", "files, MB", "memory, MB", "reading, ms", "a distribution, ms", "a draw, ms"]
    print(markdown(heading, rows))
    embed(["The film was short, but I liked the old actor."])
    print(
        f"The encoder takes {milliseconds(lambda: embed(['The film was short, but I liked it.'])):.0f} ms a sentence."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
