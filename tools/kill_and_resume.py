"""Kill a command with SIGKILL at a random moment, give it again, and compare with what it gives undisturbed.

    python tools/kill_and_resume.py                             ten times each
    python tools/kill_and_resume.py --what batch --times 100
    python tools/kill_and_resume.py --spawn                     each command in an interpreter of its own

batch: rewrite-data over a table. bench: rows of bench audit, written one by one. file: a rewrite into a file that is
there. model: a language model that is added to the cache (the conversion itself stands in by a file that grows).
A command runs in a fork of this process, so that the moments fall into its work and not into the start of Python;
with --spawn it is started as a user would. The moments are drawn from the time that it takes undisturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))

ROWS = 240


@dataclass(frozen=True)
class Case:
    """A command on a folder. prepare: what is there before. argv: the command; or work: a function in its place.
    found: what it came to, by name. whole: of a killed one, what must hold before it is given again."""

    prepare: Callable[[Path], None]
    found: Callable[[Path], dict[str, str]]
    argv: Callable[[Path], list[str]] | None = None
    work: Callable[[Path], None] | None = None
    whole: Callable[[Path, dict[str, str]], None] = field(default=lambda folder, wanted: None)

    def run(self, folder: Path) -> int:
        if self.work is not None:
            self.work(folder)
            return 0
        from dptext_core.cli import main

        assert self.argv is not None
        return int(main(self.argv(folder)) or 0)


def digests(folder: Path, *names: str) -> dict[str, str]:
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names if (folder / n).is_file()}


# --- batch


def table(folder: Path) -> None:
    lines = [f"Row {i}: my doctor called my sister about a letter of {i} pages.\n" for i in range(ROWS)]
    (folder / "data.txt").write_text("".join(lines), encoding="utf-8")


def batch(folder: Path) -> list[str]:
    return [
        "rewrite-data",
        "--data",
        str(folder / "data.txt"),
        "--mechanism",
        "diffractor",
        "--epsilon",
        "2",
        "--seed",
        "7",
        "--out",
        str(folder / "out"),
        "--batch",
        "4",
    ]


def some_rows(folder: Path, wanted: dict[str, str]) -> None:
    """Whole lines in order, each once; a last one that is cut off does not count."""
    path = folder / "out" / "rows.jsonl"
    whole = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
    assert [json.loads(line)["dp"]["row"] for line in whole] == list(range(len(whole)))
    assert not (folder / "out" / "result.json").is_file() or len(whole) == ROWS


# --- bench


def bench(folder: Path) -> None:
    """Four rows of the table, of which the whole takes an hour."""
    from dptext_core.mechanisms.setting import Setting
    from dptext_lab.measurements import audit

    before = audit.configurations, audit.epsilons
    audit.configurations = lambda: [Setting("custext"), Setting("custext", {"k": 5})]
    audit.epsilons = lambda setting: (1.0, 2.0)
    try:
        audit.main(["--out", str(folder / "audit.json")])
    finally:
        audit.configurations, audit.epsilons = before


def some_table(folder: Path, wanted: dict[str, str]) -> None:
    if (folder / "audit.json").is_file():
        assert isinstance(json.loads((folder / "audit.json").read_text(encoding="utf-8"))["rows"], list)


# --- file

OLD = "what stood there before\n"


def old_file(folder: Path) -> None:
    table(folder)
    (folder / "out.txt").write_text(OLD, encoding="utf-8")


def rewrite(folder: Path) -> list[str]:
    return [
        "rewrite",
        "--quiet",
        "--mechanism",
        "diffractor",
        "--epsilon",
        "2",
        "--seed",
        "7",
        "--file",
        str(folder / "data.txt"),
        "--out",
        str(folder / "out.txt"),
    ]


def old_or_new(folder: Path, wanted: dict[str, str]) -> None:
    old = hashlib.sha256(OLD.encode()).hexdigest()
    assert digests(folder, "out.txt")["out.txt"] in (old, wanted["out.txt"])


# --- model

PART = 1 << 20


def packages(folder: Path) -> None:
    for k in range(2):
        (folder / f"part{k}").write_bytes(bytes([k]) * PART)


@contextlib.contextmanager
def stand_in(folder: Path):
    """A small model in the place of the known one, from two files, and a conversion that takes a while."""
    from dataclasses import replace

    from dptext_core.models import added

    packed = [folder / f"part{k}" for k in range(2)]
    before = added.SOURCES, added.parts, added.convert
    name, known = next(iter(added.SOURCES.items()))
    whole = hashlib.sha256(b"".join(f.read_bytes() for f in packed)).hexdigest()

    def convert(file: Path, folder: Path, step: Callable[[int], None] = lambda done: None) -> None:
        folder.mkdir()
        data = file.read_bytes()
        for n, part in enumerate(added.FILES[:-1]):
            with (folder / part).open("wb") as out:
                for k in range(20):
                    out.write(data[k * 1000 : (k + 5) * 1000])
                    out.flush()
                    time.sleep(0.0005)
            step(5 + 20 * n)

    added.SOURCES = {name: replace(known, sha256=whole)}
    added.parts = lambda _: packed  # type: ignore[assignment]
    added.convert = convert
    os.environ["DPTEXT_MODELS"] = str(folder / "models")
    try:
        yield added, name
    finally:
        added.SOURCES, added.parts, added.convert = before  # type: ignore[assignment]


def add(folder: Path) -> None:
    with stand_in(folder) as (added, name):
        added.add(name)


def model(folder: Path) -> dict[str, str]:
    (place,) = [p for p in (folder / "models").iterdir() if not p.name.startswith(".")]
    return digests(place, *(p.name for p in place.iterdir()))


def listed_is_whole(folder: Path, wanted: dict[str, str]) -> None:
    with stand_in(folder) as (added, _):
        for found in added.added():
            assert digests(found.folder, *(p.name for p in found.folder.iterdir())) == wanted


CASES = {
    "batch": Case(
        table, lambda f: digests(f / "out", "rows.jsonl", "result.json", "config.json"), batch, whole=some_rows
    ),
    "bench": Case(lambda f: None, lambda f: digests(f, "audit.json"), work=bench, whole=some_table),
    "file": Case(old_file, lambda f: digests(f, "out.txt"), rewrite, whole=old_or_new),
    "model": Case(packages, model, work=add, whole=listed_is_whole),
}


def start(case: Case, folder: Path, spawn: bool) -> int:
    """Begin the command in a process of its own; its number."""
    sys.stdout.flush()
    if spawn and case.argv is not None:
        command = [sys.executable, "-m", "dptext_core", *case.argv(folder)]
        return subprocess.Popen(command, cwd=TOP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            status = case.run(folder)
        os._exit(status)
    return child


def ended(child: int) -> int:
    return os.waitpid(child, 0)[1]


def trial(case: Case, wanted: dict[str, str], moment: float, spawn: bool) -> bool:
    """Kill after so many seconds, look, give it again, compare. Whether it was killed before it had ended."""
    folder = Path(tempfile.mkdtemp(prefix="dptext-kill-"))
    try:
        case.prepare(folder)
        child = start(case, folder, spawn)
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        killed = os.WIFSIGNALED(ended(child))
        case.whole(folder, wanted)
        status = ended(start(case, folder, spawn))
        assert status == 0, f"given again, it ended with {status}"
        assert case.found(folder) == wanted, "given again, it came to something else than undisturbed"
        return killed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kill(what: str, times: int, seed: int = 0, spawn: bool = False) -> tuple[int, float]:
    """How many of so many trials were killed before their end, and how long one takes undisturbed. Raises
    AssertionError where something was lost, doubled, or trusted half-written."""
    case, random_ = CASES[what], random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="dptext-kill-"))
    try:
        case.prepare(folder)
        if not spawn:  # what is loaded once is there in each fork
            with contextlib.redirect_stdout(open(os.devnull, "w")), contextlib.redirect_stderr(open(os.devnull, "w")):
                assert case.run(folder) == 0
            shutil.rmtree(folder)
            folder.mkdir()
            case.prepare(folder)
        begun = time.monotonic()
        assert ended(start(case, folder, spawn)) == 0
        took, wanted = time.monotonic() - begun, case.found(folder)
        assert wanted
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return sum(trial(case, wanted, random_.uniform(0.0, took), spawn) for _ in range(times)), took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--what", choices=list(CASES), action="append", help="this one alone; may be repeated")
    parser.add_argument("--times", type=int, default=10, help="trials of each")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--spawn", action="store_true", help="an interpreter of its own for each command")
    args = parser.parse_args()
    print("| what | trials | killed before its end | seconds undisturbed | lost, doubled or half-written |")
    print("|---|---:|---:|---:|---|")
    for what in args.what or CASES:
        killed, took = kill(what, args.times, args.seed, args.spawn)
        print(f"| {what} | {args.times} | {killed} | {took:.2f} | nothing |", flush=True)


if __name__ == "__main__":
    main()
