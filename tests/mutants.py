"""How many small faults in what decides a promise the tests find: a sample of mutants, by Cosmic Ray.

    python tests/mutants.py cover runs/mutants                            which tests run which lines: once, minutes
    python tests/mutants.py run runs/mutants --seed 1 --size 200          a sample, about 10 s for each of its mutants
    python tests/mutants.py report runs/mutants --seed 1                  score and survivors

Needs requirements-mutants.txt beside requirements-dev.txt. All runs take place in a copy of the repository in that
folder, which the first command makes anew. A mutant is one change of one operator, number, comparison, truth value,
loop, decorator or exception in one of the MODULES; annotations are left out, which are never evaluated. The sample is
drawn from all of them, from each file in proportion to how many it has. A mutant meets only tests that run its line
(those of its module when no test does, as where a class is made), the quick ones before the slow ones: 10 s of its own
file's, and if none fails 60 s of all of them. Tests that take far longer than they should have failed.

The score is the share of valid mutants that a test kills. Not valid are survivors that a rule of
tests/equivalent_mutants.toml names, with the reason why nothing that the program says or draws can be told from them.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import difflib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ALIKE = TOP / "tests" / "equivalent_mutants.toml"
#: What decides a promise.
MODULES = (
    "dptext_core/privacy/*.py",
    *(f"dptext_core/measure/{name}.py" for name in ("ledger", "ledger_entries", "budget")),
    "dptext_core/text/skeleton.py",
    "dptext_core/mechanisms/*.py",
    "dptext_core/mechanisms/*/*.py",
    "dptext_core/auditing/*.py",
)
#: Tests of what decides a promise: those of pages, documents, models and word lists alone would kill nothing more.
TESTS = (
    *(f"{room}/test_*.py" for room in ("privacy", "mechanisms", "attacks", "auditing")),
    *("support/test_*.py", "text/test_cells.py", "text/test_skeleton.py"),
    *("models/test_queries.py", "lab/runner/test_word_attacks.py", "lab/results/test_measurement.py"),
    *(f"measure/test_{name}.py" for name in ("budget", "calibrate", "coverage", "ledger")),
    *(f"data/test_{name}.py" for name in ("records", "scale", "no_paths")),
    *(f"project/test_{name}.py" for name in ("architecture", "foreign", "golden")),
)
#: Those that only the whole check runs, too.
ALL = ("-m", "slow or not slow")
#: Minutes of pages that meet no line alone.
LEFT_OUT = {"mechanisms/test_rendering.py"}
FIRST, THEN = 10.0, 60.0  # seconds of tests for one mutant


def modules(tree: Path) -> list[Path]:
    found = [path.relative_to(tree) for pattern in MODULES for path in sorted(tree.glob(pattern))]
    return [path for path in found if path.name != "__init__.py"]


def tests(tree: Path) -> list[str]:
    files = {path for pattern in TESTS for path in (tree / "tests").glob(pattern)}
    return [path.relative_to(tree).as_posix() for path in sorted(files - {tree / "tests" / name for name in LEFT_OUT})]


# --- which tests run which lines ------------------------------------------------------------------------------------


class Watch:
    """A pytest plugin: the lines that each test runs, and its seconds."""

    def __init__(self, file: Path) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=str(file), source=["dptext_core"])
        self.seconds: Counter[str] = Counter()
        self.failed: set[str] = set()
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()


def watch(folder: Path) -> int:
    """The tests once, in this process; in the copy of the repository."""
    import pytest

    sys.path.insert(0, os.getcwd())
    seen = Watch(folder / "lines.coverage")
    status = pytest.main(["-q", "-p", "no:cacheprovider", *ALL, *tests(Path.cwd())], plugins=[seen])
    passed = {name: seconds for name, seconds in seen.seconds.items() if name not in seen.failed}
    (folder / "tests.json").write_text(json.dumps(passed, indent=0), encoding="utf-8")
    print(f"{len(passed)} tests, {sum(passed.values()):.0f} s; left out, as they do not pass here: {len(seen.failed)}")
    return int(status not in (0, 1))


def cover(folder: Path) -> int:
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, tree / name)
    compileall.compile_dir(tree / "dptext_core", quiet=1)  # else every run would compile all of it anew
    command = [sys.executable, str(Path(__file__).resolve()), "watch", str(folder)]
    return subprocess.run(command, cwd=tree, env=surroundings()).returncode


def surroundings() -> dict[str, str]:
    """Every run looks at the same examples, on one core."""
    return {**os.environ, "HYPOTHESIS_PROFILE": "ci", "OMP_NUM_THREADS": "1"}


class Lines:
    """The tests of a line, from what :func:`cover` has seen."""

    def __init__(self, folder: Path) -> None:
        import coverage

        self.tree = folder / "tree"
        self.seconds: dict[str, float] = json.loads((folder / "tests.json").read_text(encoding="utf-8"))
        self.data = coverage.CoverageData(str(folder / "lines.coverage"))
        self.data.read()

    def chosen(self, module: Path, line: int, most: float) -> tuple[list[str], float]:
        """Tests for a fault in this line, in order, of ``most`` seconds together, and how many seconds those are."""
        contexts = self.data.contexts_by_lineno(str((self.tree / module).resolve()))
        names = {name for row in self.statement(module, line) for name in contexts.get(row, ())} & set(self.seconds)
        if not names:
            names = {name for row in contexts.values() for name in row} & set(self.seconds)
        own = f"/test_{module.stem}.py::"
        order = sorted(names, key=lambda name: (self.seconds[name], name))
        if most == FIRST and any(own in name for name in order):
            order = [name for name in order if own in name]
        taken: list[str] = []
        total = 0.0
        for name in order:
            if taken and total + self.seconds[name] > most:
                continue
            taken.append(name)
            total += self.seconds[name]
        return taken, total

    def statement(self, module: Path, line: int) -> range:
        """The lines of the innermost statement around this one; of one with a body, those before it."""
        found = range(line, line + 1)
        for node in ast.walk(ast.parse((self.tree / module).read_text(encoding="utf-8"))):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
                body = getattr(node, "body", None)
                end = body[0].lineno if body else (node.end_lineno or line) + 1
                if line < end:
                    found = range(node.lineno, max(end, node.lineno + 1))
        return found


# --- the sample -----------------------------------------------------------------------------------------------------


def annotations(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations stand, from and to (line, column): strings, under ``from __future__ import annotations``."""
    places: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            places.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            places.append(node.returns)
    return [
        ((p.lineno, p.col_offset), (p.end_lineno or p.lineno, p.end_col_offset or p.col_offset))
        for p in places
        if p is not None
    ]


def all_mutants(tree: Path) -> dict[Path, list]:
    """Module → its mutants, as Cosmic Ray names them."""
    from cosmic_ray.commands.init import _all_work_items

    found = {}
    for module in modules(tree):
        source = (tree / module).read_text(encoding="utf-8")
        rows = [line.encode() for line in source.splitlines()]
        left_out = annotations(ast.parse(source))
        mutants = []
        for item in _all_work_items([tree / module], {}):
            spec = item.mutations[0]
            row, column = spec.start_pos
            at = (row, len(rows[row - 1].decode()[:column].encode()))
            if not any(start <= at < end for start, end in left_out):
                mutants.append(spec)
        found[module] = mutants
    return found


def sample(mutants: dict[Path, list], size: int, seed: int) -> list[tuple[Path, object]]:
    """``size`` of them, from each file its share, rounded by the largest remainders."""
    total = sum(map(len, mutants.values()))
    share = {module: len(of) * size / total for module, of in mutants.items()}
    number = {module: int(part) for module, part in share.items()}
    for module in sorted(share, key=lambda m: number[m] - share[m])[: size - sum(number.values())]:
        number[module] += 1
    source = random.Random(seed)
    chosen = [(module, spec) for module in mutants for spec in source.sample(mutants[module], number[module])]
    source.shuffle(chosen)  # so that a run that is stopped is a sample as well
    return chosen


def run(folder: Path, size: int, seed: int, only: str = "") -> int:
    import cosmic_ray.plugins
    from cosmic_ray.mutating import use_mutation

    tree, file = folder / "tree", folder / f"sample-{seed}.jsonl"
    lines = Lines(folder)
    mutants = {module: found for module, found in all_mutants(tree).items() if re.search(only, module.as_posix())}
    chosen = sample(mutants, size, seed)
    done = file.read_text(encoding="utf-8").count("\n") if file.is_file() else 0
    total = sum(map(len, mutants.values()))
    print(f"{total} mutants in {len(mutants)} files, a sample of {len(chosen)}, {done} of them done", flush=True)
    preload(tree)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which puts the file back that is changed
    for module, spec in chosen[done:]:
        began = time.perf_counter()
        operator = cosmic_ray.plugins.get_operator(spec.operator_name)()
        with use_mutation(spec.module_path, operator, spec.occurrence) as (original, mutated):
            before, after = changed(original, mutated)
            outcome, by, tried = "survived", "", 0
            for most in (FIRST, THEN) if parses(mutated) else ():
                names, seconds = lines.chosen(module, spec.start_pos[0], most)
                tried = len(names)
                if names and outcome == "survived":
                    outcome, by = tested(names, 10 + 2 * seconds, folder / "output.txt")
        entry = {
            "file": module.as_posix(),
            "line": spec.start_pos[0],
            "function": spec.definition_name,
            "operator": spec.operator_name.removeprefix("core/"),
            "before": before,
            "after": after,
            "outcome": outcome if parses(mutated) else "no program",
            "by": by,
            "tests": tried,
            "seconds": round(time.perf_counter() - began, 1),
        }
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return 0


def parses(source: str) -> bool:
    """Whether this is Python: the star before arguments by name is no operator, and is taken for one."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def changed(original: str, mutated: str) -> tuple[str, str]:
    """The lines that a mutant takes away and puts there."""
    rows = list(difflib.unified_diff(original.splitlines(), mutated.splitlines(), n=0, lineterm=""))[2:]
    gone, there = ("\n".join(row[1:].strip() for row in rows if row.startswith(sign)) for sign in "-+")
    return gone, there


def preload(tree: Path) -> None:
    """What every run of tests would import anew, and nothing of ours: each is a fork of this process."""
    os.environ.update(surroundings())
    sys.dont_write_bytecode = True
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    for name in ("pytest", "hypothesis", "numpy", "scipy.stats", "sklearn", "torch", "transformers", "mpmath"):
        importlib.import_module(name)


class First:
    """A pytest plugin: writes down the first test that fails."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and not self.file.read_text(encoding="utf-8"):
            self.file.write_text(report.nodeid, encoding="utf-8")


def tested(names: list[str], limit: float, output: Path) -> tuple[str, str]:
    """What becomes of the mutant that is there, and by which test. limit: seconds of a processor, or ten times as many
    by the clock."""
    import pytest

    who = output.with_name("killer.txt")
    who.write_text("", encoding="utf-8")
    child = os.fork()
    if not child:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit)))
        with output.open("wb") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        status = 3
        try:
            flags = ["-q", "-x", "-p", "no:cacheprovider", "--tb=line", *ALL]
            status = int(pytest.main([*flags, *names], plugins=[First(who)]))
        finally:
            sys.stdout.flush()
            os._exit(status)
    end = time.monotonic() + 10 * limit
    while not (found := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "killed", "time"
        time.sleep(0.05)
    if found[1] == 0:
        return "survived", ""
    if os.WIFSIGNALED(found[1]) and os.WTERMSIG(found[1]) in (signal.SIGKILL, signal.SIGXCPU):
        return "killed", "time"
    return "killed", who.read_text(encoding="utf-8") or "import"


# --- the report -----------------------------------------------------------------------------------------------------


def alike(row: dict, rules: list[dict[str, str]]) -> str:
    """Why a mutant that survived is not valid; empty where it is. A rule holds where all that it names is found."""
    for rule in rules:
        if all(re.search(rule[name], row[name]) for name in ("file", "operator", "before", "after") if name in rule):
            return rule["why"]
    return ""


def known_rules() -> list[dict[str, str]]:
    return tomllib.loads(ALIKE.read_text(encoding="utf-8"))["alike"]


def interval(k: int, n: int) -> tuple[float, float]:
    """95%, Clopper and Pearson."""
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(0.95, method="exact")
    return float(found.low), float(found.high)


def report(folder: Path, seed: int) -> int:
    rows = [json.loads(row) for row in (folder / f"sample-{seed}.jsonl").read_text(encoding="utf-8").splitlines()]
    rules = known_rules()
    rows = [row for row in rows if row["outcome"] != "no program"]
    left_out = Counter(why for row in rows if row["outcome"] == "survived" and (why := alike(row, rules)))
    valid = [row for row in rows if row["outcome"] == "killed" or not alike(row, rules)]
    killed = [row for row in valid if row["outcome"] == "killed"]
    by: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in valid:
        by[row["file"]][0] += row["outcome"] == "killed"
        by[row["file"]][1] += 1
    for file, (some, of) in sorted(by.items()):
        print(f"{some:4d} of {of:4d}  {file}")
    for row in valid:
        if row["outcome"] != "killed":
            print(f"\n{row['file']}:{row['line']} {row['operator']}\n- {row['before']}\n+ {row['after']}")
    print()
    for why, times in left_out.most_common():
        print(f"{times:4d} not valid: {why}")
    late = sum(row["by"] == "time" for row in killed)
    low, high = interval(len(killed), len(valid))
    print(f"{len(rows)} mutants, {len(valid)} of them valid, {len(killed)} killed ({late} by their time):")
    print(f"{len(killed) / len(valid):.1%}, 95% interval {low:.1%} to {high:.1%} (Clopper-Pearson)")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cover", "run", "report", "watch"))
    parser.add_argument("folder", type=Path, help="where the copy and the results go")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--size", type=int, default=200, help="mutants in it")
    parser.add_argument(
        "--only", default="", help="a regular expression: of these files alone, which is no whole sample"
    )
    flags = parser.parse_args()
    folder = flags.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if flags.what == "run":
        return run(folder, flags.size, flags.seed, flags.only)
    if flags.what == "report":
        return report(folder, flags.seed)
    return cover(folder) if flags.what == "cover" else watch(folder)


if __name__ == "__main__":
    sys.exit(main())
