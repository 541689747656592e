"""Our word-level mechanisms beside the field's released packages: same words, same vectors, same ε, same run.

The packages are mldp-text, pypantera and dp-diffractor (``requirements-peers.txt``). They need older libraries than
ours, so they live in an environment of their own, made with Python 3.11 or 3.12::

    python3 -m venv peers && peers/bin/pip install -r requirements-peers.txt
    python -m dptext_core bench peers --peers-python peers/bin/python

Each side runs in a process of its own, ours in this environment, theirs in the other one, with the same number of
threads; timings take turns, so that other load on the machine meets both alike. Nothing is downloaded: dp-diffractor
finds the vectors under the name of a file that it would else fetch, and NLTK finds an empty stop word list.

What is compared for each mechanism:

- words per second over texts of twenty words, each side as its interface offers it, on the vocabulary asked for;
- the peak memory of the process once it has rewritten those texts (without the helper processes it starts);
- the output distributions of a few test words, by their total variation: ours in closed form where there is one, else
  by draws; theirs by draws. Beside it stands the total variation that two equal distributions show by chance with as
  many draws, and the verdict is "same" unless this or N_w differs more than in one of a thousand equal pairs. This is
  done on the 2,000 most frequent words and the first 64 numbers of their vectors, where theirs are fast enough for
  draws that tell; no formula depends on either;
- where their formula is another one (``Peer.reason``), their draws against a reference of that formula as we read it,
  which shows whether this explains the difference.

Both sides get the same ε; how large it is follows from the vectors (`Peer.scale`), so that words both stay and change.

This file is also the worker of both sides; theirs runs it by path, so that its head needs nothing but NumPy.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("mldp-text", "pypantera", "dp-diffractor")
INSTALL = "python3 -m venv peers && peers/bin/pip install -r requirements-peers.txt"
#: Below this chance, two equal distributions are not taken for the cause.
RARE = 1e-3
RESAMPLES = 3999
TEXT_WORDS = 20
#: Texts that one call of ours gets; theirs take one at a time.
TEXTS_AT_ONCE = 20
#: The name under which dp-diffractor looks for its vectors.
DIFFRACTOR_FILE = "glove-wiki-gigaword-300"
#: Options of both sides. λ is far above the usual 0.2, where noise is so round that deviations hardly show.
VICKREY_T, LAM, K = 0.75, 0.9, 20
#: TEM's chance of a far word at most: fixed in mldp-text; where it can be chosen, so large that far words are seen.
FIXED_BETA, BETA = 0.001, 0.3
#: The part of the vocabulary on which distributions are compared: words, numbers of a vector.
PART = (2000, 64)


@dataclass(frozen=True)
class Peer:
    """One released mechanism beside ours.

    ours: name and options of our mechanism. theirs: name of the adapter. scale: what ``epsilon`` is multiplied by:
    "gap", 1 over the usual distance to the nearest word; "noise", √dimension over that distance; "gumbel", the ε from
    which on the Gumbel scale is positive; empty, nothing. by_place: words are compared by their place on each side's
    own list. reason: how their formula differs. reference: the name of that formula in `REFERENCES`.
    """

    package: str
    title: str
    theirs: str
    ours: str
    epsilon: float
    options: dict[str, Any] = field(default_factory=dict)
    scale: str = ""
    by_place: bool = False
    reason: str = ""
    reference: str = ""

    def epsilon_on(self, space: Vectors) -> float:
        """ε on these vectors, to two digits."""
        gap = space.gap
        scale = {
            "": 1.0,
            "gap": 1 / gap,
            "noise": space.vectors.shape[1] ** 0.5 / gap,
            "gumbel": (5 + 2 * float(np.log(len(space.words)))) / space.extremes[0],
        }[self.scale]
        return float(f"{self.epsilon * scale:.2g}")


PEERS = (
    Peer("mldp-text", "MVC, exact search", "mldp-mvc", "mvc", 3, scale="noise"),
    Peer(
        "mldp-text", "MVC, as by default", "mldp-mvc-faiss", "mvc", 3, scale="noise",
        reason="searches 50 of 100 cells only, so the word found need not be the nearest one",
        reference="cells",
    ),
    Peer(
        "mldp-text", "Mahalanobis, λ 0.9", "mldp-mahalanobis", "mahalanobis", 3, {"lam": LAM}, scale="noise",
        reason="divides the covariance by the variance of all numbers of all vectors together, which counts the spread "
        "of the columns' means as well: Σ, and with it the noise, is smaller",
        reference="mahalanobis-pooled",
    ),
    Peer(
        "mldp-text", "Vickrey", "mldp-vickrey", "vickrey", 3, {"t": VICKREY_T, "noise": "mvc"}, scale="noise",
        reason="never offers the word itself where it is the nearest, and of the two next takes the first with "
        "probability 1/(1+exp(d₁)), less than one half",
        reference="vickrey-others",
    ),
    Peer("mldp-text", "truncated Gumbel, b > 0", "mldp-gumbel", "gumbel", 2.5, scale="gumbel"),
    Peer("mldp-text", "truncated Gumbel, real part", "mldp-gumbel", "gumbel", 0.4, scale="gumbel"),
    Peer(
        "mldp-text", "TEM", "mldp-tem", "tem", 15, {"beta": FIXED_BETA}, scale="gap",
        reason="γ is rounded to one decimal and made with |V| for |V|−1; the outcome that stands for far words is "
        "weighted by |V|/|L| instead of the number of far words",
        reference="tem-ratio",
    ),
    Peer("pypantera", "CMP (MVC)", "pypantera-cmp", "mvc", 3, scale="noise"),
    Peer(
        "pypantera", "Mahalanobis, λ 0.9", "pypantera-mahalanobis", "mahalanobis", 3, {"lam": LAM}, scale="noise",
        reason="brings the direction back to length 1 after the root, so the noise has the same length in every "
        "direction",
        reference="mahalanobis-unit",
    ),
    Peer("pypantera", "Vickrey, MVC noise", "pypantera-vickrey-cmp", "vickrey", 3,
         {"t": VICKREY_T, "noise": "mvc"}, scale="noise"),
    Peer(
        "pypantera", "Vickrey, Mahalanobis noise", "pypantera-vickrey-mhl", "vickrey", 3,
        {"t": VICKREY_T, "noise": "mahalanobis", "lam": LAM}, scale="noise",
        reason="its noise is that of its Mahalanobis, with directions of length 1", reference="vickrey-unit",
    ),
    Peer(
        "pypantera", "CusText, Euclidean", "pypantera-custext-euclidean", "custext", 8,
        {"k": K, "mapping": "aggressive", "metric": "euclidean"},
    ),
    Peer(
        "pypantera", "CusText, cosine", "pypantera-custext-cosine", "custext", 8,
        {"k": K, "mapping": "aggressive", "metric": "cosine"},
        reason="sorts similarities upwards, so a word's output set holds the K words least like it",
        reference="custext-far",
    ),
    Peer("pypantera", "SanText", "pypantera-santext", "santext", 11, scale="gap"),
    Peer(
        "pypantera", "TEM, β 0.3", "pypantera-tem", "tem", 10.5, {"beta": BETA}, scale="gap",
        reason="where a far word is due, its draw fails and the original word is released",
        reference="tem-original",
    ),
    Peer("dp-diffractor", "1-Diffractor, geometric", "diffractor-geometric", "diffractor", 1,
         {"noise": "geometric"}, by_place=True),
    Peer("dp-diffractor", "1-Diffractor, TEM", "diffractor-tem", "diffractor", 4,
         {"noise": "tem", "gamma": 5}, by_place=True),
)  # fmt: skip


# --- what their formulas are ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Vectors:
    """The words and vectors of one comparison, float32 (n, d)."""

    words: tuple[str, ...]
    vectors: np.ndarray

    @classmethod
    def load(cls, path: Path) -> Vectors:
        with np.load(path) as data:
            return cls(tuple(str(w) for w in data["words"]), data["vectors"])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest distance between two different words."""
        low, high = np.inf, 0.0
        for start in range(0, len(self.words), 500):
            d = self.distances(self.vectors[start : start + 500].astype(np.float64))
            high = max(high, float(d.max()))
            d[np.arange(len(d)), start + np.arange(len(d))] = np.inf
            low = min(low, float(d.min()))
        return low, high

    @cached_property
    def gap(self) -> float:
        """Median distance to the nearest other word, over at most 500 words spread over the vocabulary."""
        rows = np.unique(np.linspace(0, len(self.words) - 1, 500).astype(int))
        d = self.distances(self.vectors[rows].astype(np.float64))
        d[np.arange(len(rows)), rows] = np.inf
        return float(np.median(d.min(1)))

    @property
    def part(self) -> Vectors:
        """The first words and the first numbers of their vectors: `PART`."""
        n, d = PART
        return Vectors(self.words[:n], np.ascontiguousarray(self.vectors[:n, :d]))

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Euclidean distances of points (m, d) to every word, float64 (m, n)."""
        v = self.vectors.astype(np.float64)
        square = (points**2).sum(1)[:, None] + (v**2).sum(1) - 2 * points @ v.T
        return np.sqrt(np.maximum(square, 0.0))


def sphere(n: int, dim: int, epsilon: float, dice: np.random.Generator, root: np.ndarray | None = None,
           unit: bool = False) -> np.ndarray:  # fmt: skip
    """n noise vectors, float64 (n, dim): a direction, times `root` where given (and to length 1 again), times Gamma."""
    z = dice.standard_normal((n, dim))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    if root is not None:
        z = z @ root
        if unit:
            z /= np.linalg.norm(z, axis=1, keepdims=True)
    return z * dice.gamma(dim, 1 / epsilon, (n, 1))


def root_of(vectors: np.ndarray, pooled: bool) -> np.ndarray:
    """(λΣ + (1−λ)I)^½, Σ the covariance over the mean variance of a column, or over the pooled variance of all."""
    v = vectors.astype(np.float64)
    scale = v.var() if pooled else v.var(axis=0).mean()
    values, basis = np.linalg.eigh(LAM * np.cov(v, rowvar=False, ddof=0) / scale + (1 - LAM) * np.eye(v.shape[1]))
    return (basis * np.sqrt(values)) @ basis.T


def softmax(x: np.ndarray) -> np.ndarray:
    p = np.exp(x - x.max())
    return p / p.sum()


def tem_ratio(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    d = space.distances(space.vectors[row : row + 1].astype(np.float64))[0]
    n = len(d)
    gamma = round(2 / epsilon * float(np.log((1 - FIXED_BETA) * n / FIXED_BETA)), 1)
    near = d <= gamma
    p = softmax(epsilon / 2 * np.append(-d[near], -gamma + 2 * np.log(n / near.sum()) / epsilon))
    law = np.full(n, p[-1] / max(1, n - near.sum()))
    law[near] = p[:-1]
    return law


def tem_original(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    d = space.distances(space.vectors[row : row + 1].astype(np.float64))[0]
    n = len(d)
    gamma = 2 / epsilon * np.log((1 - BETA) * (n - 1) / BETA)
    law = softmax(-epsilon / 2 * np.minimum(d, gamma))
    far = d > gamma
    law[row] += law[far].sum()
    law[far] = 0
    return law


def custext_far(space: Vectors, row: int, epsilon: float) -> np.ndarray:
    v = space.vectors.astype(np.float64)
    cosine = v @ v[row] / np.linalg.norm(v, axis=1) / np.linalg.norm(v[row])
    far = np.argsort(cosine)[:K]
    u = (cosine[far] - cosine[far].min()) / np.ptp(cosine[far])
    law = np.zeros(len(v))
    law[far] = softmax(epsilon * u / 2)
    return law


def nearest(space: Vectors, row: int, noise: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    return space.distances(space.vectors[row] + noise).argmin(1)


def vickrey_others(space: Vectors, row: int, noise: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    d = space.distances(space.vectors[row] + noise)
    order = np.argsort(d, axis=1)[:, :3]
    start = (order[:, 0] == row).astype(int)
    at = np.arange(len(d))
    first, second = order[at, start], order[at, start + 1]
    return np.where(dice.random(len(d)) < 1 / (1 + np.exp(d[at, first])), first, second)


def vickrey(space: Vectors, row: int, noise: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    d = space.distances(space.vectors[row] + noise)
    a, b = np.argsort(d, axis=1)[:, :2].T
    at = np.arange(len(d))
    p = (1 - VICKREY_T) * d[at, b] / (VICKREY_T * d[at, a] + (1 - VICKREY_T) * d[at, b])
    return np.where(dice.random(len(d)) < p, a, b)


def cells(space: Vectors, row: int, noise: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    """The word found by a search of the 50 cells (of 100) whose centres are nearest."""
    faiss = importlib.import_module("faiss")
    dim = space.vectors.shape[1]
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dim), dim, 100)
    index.train(space.vectors)
    index.add(space.vectors)
    index.nprobe = 50
    return index.search((space.vectors[row] + noise).astype(np.float32), 1)[1][:, 0]


#: Closed forms: space, row, ε → float64 (n,).
LAWS: dict[str, Callable[[Vectors, int, float], np.ndarray]] = {
    "tem-ratio": tem_ratio, "tem-original": tem_original, "custext-far": custext_far,
}  # fmt: skip
#: By draws: how the noise is shaped (covariance scaled by the pooled variance or not, to length 1 or not), what is
#: done with the noisy point.
DRAWS: dict[str, tuple[tuple[bool, bool] | None, Callable[..., np.ndarray]]] = {
    "cells": (None, cells),
    "mahalanobis-pooled": ((True, False), nearest),
    "mahalanobis-unit": ((False, True), nearest),
    "vickrey-others": (None, vickrey_others),
    "vickrey-unit": ((False, True), vickrey),
}
REFERENCES = (*LAWS, *DRAWS)


def reference_draws(name: str, space: Vectors, row: int, epsilon: float, n: int, dice: np.random.Generator,
                    root: np.ndarray | None = None) -> np.ndarray:  # fmt: skip
    """n draws of the reference `name` for the word at `row`: rows, int64 (n,)."""
    shape, choose = DRAWS[name]
    if shape is not None and root is None:
        root = root_of(space.vectors, shape[0])
    out = []
    for start in range(0, n, 500):
        m = min(500, n - start)
        noise = sphere(m, space.vectors.shape[1], epsilon, dice, root, shape is not None and shape[1])
        out.append(choose(space, row, noise, dice))
    return np.concatenate(out)


# --- are two distributions the same? ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Mean total variation over the test words, its mean for equal distributions, and how rare the found one is.

    p: the share of equal pairs that differ as much, in total variation or in N_w (twice the smaller share: two looks).
    """

    tv: float
    chance: float
    p: float

    @property
    def same(self) -> bool:
        return self.p >= RARE


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(p - q).sum() / 2)


def against_law(
    laws: np.ndarray,
    counts: np.ndarray,
    at: Sequence[int] | np.ndarray,
    dice: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Difference:
    """Counts of draws, int64 (words, n), against the laws, float64 (words, n), they should come from.

    at: which of the n outputs is the word itself.
    """
    found, null = np.zeros(2), np.zeros((2, resamples))
    for law, seen, own in zip(laws, counts, at, strict=True):
        total = int(seen.sum())
        law = law / law.sum()
        found += total_variation(law, seen / total), seen[own] / total - law[own]
        # Words with hardly any probability are one cell of the resampling: what each adds is its own share of it.
        order = np.argsort(-law)
        likely = order[: int(np.searchsorted(np.cumsum(law[order]), 1 - 1e-6)) + 1]
        likely = np.append(likely[likely != own], own)
        rest = max(0.0, 1 - law[likely].sum())
        again = dice.multinomial(total, np.append(law[likely], rest), size=resamples) / total
        null[0] += np.abs(again[:, :-1] - law[likely]).sum(1) / 2 + (again[:, -1] + rest) / 2
        null[1] += again[:, -2] - law[own]
    return _judged(found / len(laws), null / len(laws))


def against_draws(
    first: np.ndarray,
    second: np.ndarray,
    at: Sequence[int] | np.ndarray,
    dice: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Difference:
    """Two sets of draws, counts int64 (words, n) each: an exact permutation test. at: as in `against_law`."""
    found, null = np.zeros(2), np.zeros((2, resamples))
    for a, b, own in zip(first, second, at, strict=True):
        cells = np.flatnonzero(a + b)
        cells = np.append(cells[cells != own], own)
        pooled, n, m = (a + b)[cells], int(a.sum()), int(b.sum())
        found += total_variation(a / n, b / m), a[own] / n - b[own] / m
        again = dice.multivariate_hypergeometric(pooled, n, size=resamples, method="marginals")
        apart = again / n - (pooled - again) / m
        null[0] += np.abs(apart).sum(1) / 2
        null[1] += apart[:, -1]
    return _judged(found / len(first), null / len(first))


def _judged(found: np.ndarray, null: np.ndarray) -> Difference:
    shares = (1 + (np.abs(null) >= np.abs(found)[:, None] - 1e-12).sum(1)) / (1 + null.shape[1])
    return Difference(float(found[0]), float(null[0].mean()), min(1.0, 2 * float(shares.min())))


# --- the worker: one process a side and mechanism ---------------------------------------------------------------------


def peak_bytes() -> int | None:
    """The most memory this process has held; None where the system does not tell."""
    try:
        # Unlike getrusage, this does not count what the process that started us held.
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
    """What a worker can do. texts: the words of some texts."""

    texts_at_once = 1

    def rewrite(self, texts: Sequence[Sequence[str]]) -> None:
        raise NotImplementedError

    def draw(self, word: str, n: int) -> list[str]:
        """n draws for one word."""
        raise NotImplementedError

    def law(self, word: str) -> tuple[Sequence[str], np.ndarray] | None:
        """Candidates and probabilities where there is a closed form."""
        return None

    def order(self) -> list[str] | None:
        """The words of the 1-D list in use."""
        return None

    def close(self) -> None:
        """End what was started."""


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

    def law(self, word: str) -> tuple[Sequence[str], np.ndarray] | None:
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
        # Its tokenizer needs data that NLTK downloads; the texts here are words with blanks between them.
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
    """The vectors as text, a word a line, every float32 exactly."""
    with path.open("w", encoding="utf-8") as file:
        if header:
            file.write(f"{len(space.words)} {space.vectors.shape[1]}\n")
        for word, vector in zip(space.words, space.vectors, strict=True):
            file.write(f"{word} {' '.join(f'{x:.9g}' for x in vector)}\n")


SIDES: dict[str, Callable[[dict[str, Any], Path], Side]] = {
    "mldp": Mldp, "pypantera": Pypantera, "diffractor": Diffractor,
}  # fmt: skip


def timed(side: Side, texts: Sequence[Sequence[str]], limit: float) -> tuple[int, float]:
    """Words rewritten and the seconds it took: texts in turn, until they are done or `limit` seconds are over."""
    done, start = 0, time.perf_counter()
    for i in range(0, len(texts), side.texts_at_once):
        some = texts[i : i + side.texts_at_once]
        side.rewrite(some)
        done += sum(map(len, some))
        if time.perf_counter() - start > limit:
            break
    return done, time.perf_counter() - start


def drawn(draw: Callable[[int], Sequence[Any]], n: int, limit: float) -> list[Any]:
    """At most n draws, fewer where `limit` seconds are over."""
    out: list[Any] = []
    start = time.perf_counter()
    step = 20
    while len(out) < n and (time.perf_counter() - start < limit or not out):
        out += draw(min(step, n - len(out)))
        step *= 2 if time.perf_counter() - start < limit / 8 else 1
    return out


def answer(side: Side, space: Vectors, job: dict[str, Any], ask: dict[str, Any]) -> Any:
    """What a worker answers to one request."""
    if ask["do"] == "time":
        return timed(side, ask["texts"], ask["limit"])
    if ask["do"] == "peak":
        return peak_bytes()
    if ask["do"] == "order":
        return side.order()
    rows = {w: i for i, w in enumerate(space.words)}
    if ask["do"] == "law":
        laws = []
        for word in ask["words"]:
            law = side.law(word)
            if law is None:
                return None
            p = np.zeros(len(rows))
            np.add.at(p, [rows[c] for c in law[0]], law[1])
            laws.append(p.tolist())
        return laws
    if ask["do"] == "reference-law":
        return [LAWS[job["reference"]](space, rows[w], job["epsilon"]).tolist() for w in ask["words"]]
    share = ask["limit"] / len(ask["words"])
    out = []
    if ask["do"] == "reference":
        dice = np.random.default_rng()
        shape = DRAWS[job["reference"]][0]
        root = None if shape is None else root_of(space.vectors, shape[0])
        for word, n in zip(ask["words"], ask["n"], strict=True):
            out.append(reference_draws(job["reference"], space, rows[word], job["epsilon"], n, dice, root).tolist())
    else:
        for word in ask["words"]:
            found = drawn(lambda n, word=word: side.draw(word, n), ask["n"], share)  # type: ignore[misc]
            # A released word that is not in the vocabulary would be an error of the comparison: row −1 fails loudly.
            out.append([rows[w] for w in found])
    return out


def worker(side: str, folder: str) -> int:
    """Answer requests on standard input, a line of JSON each, until it closes."""
    # Packages print while they load: what they print goes to standard error, answers keep the pipe for themselves.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    job: dict[str, Any] = {}
    made: Side | None = None
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["do"] == "versions":
                result: Any = _versions(ask["packages"])
            elif ask["do"] == "make":
                job, path = ask["job"], Path(folder) / ask["space"]
                space = Vectors.load(path)
                kind = Ours if side == "ours" else SIDES[job["theirs"].partition("-")[0]]
                made = kind(job, path)
                result = None
            else:
                assert made is not None
                result = answer(made, space, job, ask)
            reply = {"result": result}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        pipe.write(json.dumps(reply) + "\n")
        pipe.flush()
    if made is not None:
        made.close()
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


# --- running both -----------------------------------------------------------------------------------------------------


class PeerFailed(Exception):
    """Their side could not do what was asked; the text says why."""


class Process:
    """A worker of one side, as a context. It makes one mechanism; one request may take `limit` seconds."""

    def __init__(self, side: str, folder: Path, threads: int, peers_python: str | None = None, limit: float = 300.0):
        self.side, self.limit = side, limit
        here = Path(__file__).resolve()
        env = dict(os.environ)
        for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR"):
            env[f"{name}_NUM_THREADS"] = str(threads)
        if peers_python is None:
            env["PYTHONPATH"] = os.pathsep.join([str(here.parents[2]), *filter(None, [env.get("PYTHONPATH")])])
            code = "import sys; from dptext_core.bench.peers import worker; sys.exit(worker(*sys.argv[1:]))"
            command = [sys.executable, "-c", code, side, str(folder)]
        else:
            # Their caches and word lists are looked for under the home folder: they get an empty one.
            env |= {"HOME": str(folder), "USERPROFILE": str(folder), "NLTK_DATA": str(folder / "nltk")}
            command = [peers_python, "-I", str(here), "--worker", side, str(folder)]
        # What they print matters only if they fail.
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                encoding="utf-8", start_new_session=os.name == "posix",
            )  # fmt: skip
        except OSError as error:
            from ..errors import InputError

            raise InputError(f"{command[0]} cannot be started ({error}). Give a Python program: {INSTALL}") from error

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.close()
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        self.process.stdout.close()
        self.log.close()

    def kill(self) -> None:
        """End it and the helper processes it started."""
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def ask(self, do: str, **more: Any) -> Any:
        """The answer to one request. Raises PeerFailed where theirs fails, DPTextError where ours does."""
        assert self.process.stdin and self.process.stdout
        # One of the packages can wait for helper processes that never start.
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self.kill()

        watch = threading.Timer(self.limit, give_up)
        watch.daemon = True
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if late.is_set():
            reply: dict[str, Any] = {"error": f"no answer in {self.limit:g} seconds"}
        elif not line:
            self.log.seek(0)
            reply = {"error": "the process ended: " + " / ".join(self.log.read().splitlines()[-3:])}
        else:
            reply = json.loads(line)
        if "error" not in reply:
            return reply["result"]
        if self.side == "theirs":
            raise PeerFailed(reply["error"])
        from ..errors import DPTextError

        raise DPTextError(f"Our side of the comparison failed: {reply['error']}. Run it with the default --space.")


@contextlib.contextmanager
def pair(folder: Path, threads: int, peers_python: str) -> Iterator[tuple[Process, Process]]:
    """A worker of ours and one of theirs."""
    with Process("ours", folder, threads) as ours, Process("theirs", folder, threads, peers_python) as theirs:
        yield ours, theirs


@dataclass(frozen=True)
class Speed:
    """Words a second and peak bytes, ours and theirs, at this ε. lists: how both 1-D lists compare, in words."""

    epsilon: float
    ours: float
    theirs: float
    peak: tuple[int | None, int | None]
    lists: str = ""


@dataclass(frozen=True)
class Match:
    """How both distributions compare at this ε. keep: mean N_w of both; draws: of a test word, 0 for a closed form.

    explained: their draws against the reference of their formula. apart: total variation between our closed form and
    theirs.
    """

    epsilon: float
    keep: tuple[float, float]
    draws: tuple[int, int]
    difference: Difference
    explained: Difference | None = None
    apart: float | None = None

    @property
    def verdict(self) -> str:
        if not self.difference.same:
            return "differs" if self.explained is None or self.explained.same else "differs, not only as said below"
        return "same" if self.explained is None else "same with so many draws; see below"


@dataclass(frozen=True)
class Comparison:
    """One mechanism: speed and match, or why their side stopped before it gave them."""

    peer: Peer
    speed: Speed | str
    match: Match | str


def counts(draws: Sequence[Sequence[int]], n: int) -> np.ndarray:
    """How often each of n words was drawn: int64 (words, n)."""
    return np.stack([np.bincount(np.asarray(d, dtype=np.int64), minlength=n) for d in draws])


def _make(peer: Peer, name: str, space: Vectors, ours: Process, theirs: Process) -> float:
    """Both sides with this peer's mechanism on the space in file `name`: its ε. Raises PeerFailed."""
    epsilon = peer.epsilon_on(space)
    job = {
        "theirs": peer.theirs, "ours": peer.ours, "epsilon": epsilon, "options": peer.options,
        "by_place": peer.by_place, "reference": peer.reference, "delta": space.extremes,
    }  # fmt: skip
    ours.ask("make", job=job, space=name)
    theirs.ask("make", job=job, space=name)
    return epsilon


def compare_speed(peer: Peer, space: Vectors, ours: Process, theirs: Process, seconds: float, rounds: int = 3) -> Speed:
    """Both timed in turns on texts of their own in every round, after one text to warm up. Raises PeerFailed."""
    epsilon = _make(peer, "space.npz", space, ours, theirs)
    texts = made_texts(space, 400 * rounds)
    for side in (ours, theirs):
        side.ask("time", texts=texts[-1:], limit=0)
    speeds: list[list[float]] = [[], []]
    for r in range(rounds):
        for side, found in zip((ours, theirs), speeds, strict=True):
            words, took = side.ask("time", texts=texts[400 * r : 400 * (r + 1)], limit=seconds)
            found.append(words / took)
    peak = (ours.ask("peak"), theirs.ask("peak"))
    return Speed(epsilon, statistics.median(speeds[0]), statistics.median(speeds[1]), peak,
                 _lists(space, *_orders(space, ours, theirs)) if peer.by_place else "")  # fmt: skip


def _orders(space: Vectors, ours: Process, theirs: Process) -> list[np.ndarray]:
    """Rows of the words in the order of our list and of theirs."""
    row = {w: i for i, w in enumerate(space.words)}
    return [np.array([row[w] for w in side.ask("order")]) for side in (ours, theirs)]


def _lists(space: Vectors, mine: np.ndarray, other: np.ndarray) -> str:
    return (
        f"its list of {len(other):,} words is {length(space, other):,.0f} long, ours {length(space, mine):,.0f} (sum "
        f"of distances from word to word); {jumps(space, other)} steps on it do not go to the nearest word left, on "
        f"ours {jumps(space, mine)}"
    )


def compare_draws(
    peer: Peer, space: Vectors, ours: Process, theirs: Process, words: int, n: int, limit: float
) -> Match:
    """The distributions of `words` test words, by at most n draws each of theirs. Raises PeerFailed."""
    dice = np.random.default_rng()
    epsilon = _make(peer, "part.npz", space, ours, theirs)
    size = len(space.words)
    at = np.array([(2 * i + 1) * size // (2 * words) for i in range(words)])
    asked = [[space.words[i] for i in at]] * 2
    place = [np.arange(size)] * 2
    if peer.by_place:
        # Words at the same places of both lists: the ends, where noise is cut off, and places inside, where it is not.
        at = np.round(np.linspace(0, size - 1, words)).astype(int)
        orders = _orders(space, ours, theirs)
        asked = [[space.words[i] for i in order[at]] for order in orders]
        place = [np.argsort(order) for order in orders]
    found = theirs.ask("draw", words=asked[1], n=n, limit=limit)
    seen = counts([place[1][d] for d in found], size)
    laws = ours.ask("law", words=asked[0])
    if laws is not None:
        mine = np.array(laws)[:, np.argsort(place[0])]
        difference = against_law(mine, seen, at, dice)
    else:
        mine = counts(ours.ask("draw", words=asked[0], n=n, limit=1e9), size)
        difference = against_draws(mine, seen, at, dice)
    keep = [float((m[np.arange(words), at] / m.sum(1)).mean()) for m in (mine, seen)]
    explained, apart = None, None
    if peer.reference in LAWS:
        formula = np.array(theirs.ask("reference-law", words=asked[1]))
        explained = against_law(formula, seen, at, dice)
        if laws is not None:
            apart = float(np.mean([total_variation(a, b) for a, b in zip(mine, formula, strict=True)]))
    elif peer.reference:
        again = theirs.ask("reference", words=asked[1], n=[n] * words, limit=limit)
        explained = against_draws(counts(again, size), seen, at, dice)
    drawn_ours = 0 if laws is not None else n
    return Match(epsilon, (keep[0], keep[1]), (drawn_ours, min(map(len, found))), difference, explained, apart)


def length(space: Vectors, order: np.ndarray) -> float:
    """Sum of the distances from each word of a list to the next."""
    v = space.vectors[order].astype(np.float64)
    return float(np.linalg.norm(np.diff(v, axis=0), axis=1).sum())


def jumps(space: Vectors, order: np.ndarray) -> int:
    """Steps of a list that do not go to the nearest word not yet on it (by more than rounding)."""
    v = space.vectors[order].astype(np.float64)
    norms = (v**2).sum(1)
    out = 0
    for start in range(0, len(v) - 1, 500):
        at = np.arange(start, min(start + 500, len(v) - 1))
        square = norms[at][:, None] + norms - 2 * v[at] @ v.T
        step = square[np.arange(len(at)), at + 1]
        square[np.arange(len(v)) <= at[:, None]] = np.inf
        out += int((step > square.min(1) + 1e-5 * norms.mean()).sum())
    return out


def made_texts(space: Vectors, n: int) -> list[list[str]]:
    """n texts of twenty words each, the same in every run."""
    dice = np.random.default_rng(20)
    return [[space.words[i] for i in dice.integers(len(space.words), size=TEXT_WORDS)] for _ in range(n)]


# --- the report -------------------------------------------------------------------------------------------------------


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def report(rows: Sequence[Comparison]) -> Iterator[str]:
    """Lines of Markdown: the table of speed and memory, the table of distributions, what the differences are."""
    yield _line(("package", "mechanism", "ε", "words/s ours", "theirs", "ratio", "MB ours", "theirs"))
    yield _line(["---"] * 8)
    for c in rows:
        cells = [c.peer.package, c.peer.title]
        if isinstance(c.speed, str):
            yield _line([*cells, "", "", f"stops: {c.speed}", "", "", ""])
            continue
        s = c.speed
        peaks = ["–" if b is None else f"{b / 1e6:.0f}" for b in s.peak]
        yield _line(
            [*cells, f"{s.epsilon:g}", _number(s.ours), _number(s.theirs), f"{_number(s.ours / s.theirs)}×", *peaks]
        )
    yield ""
    yield _line(
        ("package", "mechanism", "ε", "draws ours", "theirs", "N_w ours", "theirs", "TV", "by chance", "verdict")
    )
    yield _line(["---"] * 10)
    for c in rows:
        cells = [c.peer.package, c.peer.title]
        if isinstance(c.match, str):
            yield _line([*cells, "", "", "", "", "", "", "", f"theirs stops: {c.match}"])
            continue
        m = c.match
        draws = [f"{n:,}" if n else "closed form" for n in m.draws]
        figures = [f"{x:.3f}" for x in (*m.keep, m.difference.tv, m.difference.chance)]
        yield _line([*cells, f"{m.epsilon:g}", *draws, *figures, m.verdict])
    yield ""
    told = list(_differences(rows))
    if told:
        yield from ("Where theirs differs:", "", *told)


def _differences(rows: Sequence[Comparison]) -> Iterator[str]:
    for lists in dict.fromkeys(c.speed.lists for c in rows if isinstance(c.speed, Speed) and c.speed.lists):
        yield f"- dp-diffractor: {lists}."
    for c in rows:
        name = f"- {c.peer.package}, {c.peer.title}"
        if isinstance(c.match, str):
            continue
        m = c.match
        if c.peer.reason:
            line = f"{name}: {c.peer.reason}."
            if m.apart is not None:
                line += f" The two formulas are {m.apart:.2g} apart (TV)."
            if m.explained is not None:
                fit = "fit" if m.explained.same else "do not fit"
                line += (
                    f" Their draws {fit} this formula (TV {m.explained.tv:.3f}, by chance {m.explained.chance:.3f})."
                )
            yield line
        elif not m.difference.same:
            yield f"{name}: for a reason that is not known (so large in {m.difference.p:.2g} of equal pairs)."


def comparison_space(name: str, limit: int) -> Vectors:
    """The most frequent words of a space that every tokenizer takes for one word, with their vectors."""
    from ..errors import InputError
    from ..words import word_space

    space = word_space(name)
    rows = [i for i, w in enumerate(space.words) if w.isascii() and w.isalpha() and w.islower()][:limit]
    if len(rows) < PART[0]:
        raise InputError(f"The comparison needs {PART[0]:,} plain words; {name} gives {len(rows):,}. Choose more.")
    return Vectors(tuple(space.words[i] for i in rows), np.ascontiguousarray(space.vectors[rows], dtype=np.float32))


def prepare_folder(folder: Path, space: Vectors) -> None:
    """What both sides read, in an empty folder."""
    for name, some in (("space.npz", space), ("part.npz", space.part)):
        np.savez(folder / name, words=np.array(some.words), vectors=some.vectors)
    stop_words = folder / "nltk" / "corpora" / "stopwords"
    stop_words.mkdir(parents=True)
    (stop_words / "english").write_text("", encoding="utf-8")
    # mldp-text would else start a download when it is imported.
    (folder / "nltk" / "corpora" / "wordnet").mkdir()


def installed(folder: Path, peers_python: str) -> dict[str, str]:
    """The versions of the packages. Raises ModelUnavailable where one is missing."""
    from ..errors import ModelUnavailable

    with Process("theirs", folder, 1, peers_python) as theirs:
        try:
            versions = theirs.ask("versions", packages=PACKAGES)
        except PeerFailed as error:
            raise ModelUnavailable(
                f"{peers_python} cannot run the comparison ({error}). Make its environment: {INSTALL}"
            ) from None
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        raise ModelUnavailable(f"{peers_python} has no {', '.join(missing)}. Make its environment: {INSTALL}")
    return versions


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print the table and the deviations; 0 when done. Raises DPTextError."""
    from ..errors import InputError

    parser = argparse.ArgumentParser(
        prog="python -m dptext_core bench peers", description=(__doc__ or "").split("\n")[0], allow_abbrev=False
    )
    parser.add_argument("--peers-python", required=True, metavar="PATH", help=f"Python with the packages: {INSTALL}")
    parser.add_argument("--space", default="minilm", help="a word space: a bundled one, glove-840b, or a path")
    parser.add_argument(
        "--vocabulary", type=int, default=5000, help="how many of its most frequent words (default 5000)"
    )
    parser.add_argument("--words", type=int, default=5, help="test words for the distributions (default 5)")
    parser.add_argument("--draws", type=int, default=1000, help="most draws a test word (default 1000)")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="most seconds of their draws a mechanism (default 4)"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of both sides (default 1)")
    parser.add_argument("--only", default="", help="only rows whose package or mechanism has this in its name")
    args = parser.parse_args(argv)
    if min(args.words, args.draws, args.threads) < 1 or args.seconds <= 0:
        parser.error("numbers must be at least 1")
    peers = [p for p in PEERS if args.only.lower() in f"{p.package} {p.title}".lower()]
    if not peers:
        raise InputError(f"No row has {args.only!r} in its name. Rows: {', '.join(p.title for p in PEERS)}.")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        space = comparison_space(args.space, args.vocabulary)
        prepare_folder(folder, space)
        versions = installed(folder, args.peers_python)
        print("; ".join(f"{name} {version}" for name, version in versions.items()), end="; ")
        print(f"{args.threads} thread(s) a side")
        for what, some in (("Speed and memory", space), ("Distributions", space.part)):
            print(
                f"{what}: {args.space}, {len(some.words):,} words of {some.vectors.shape[1]} numbers, distances from "
                f"{some.extremes[0]:.3g} to {some.extremes[1]:.3g}, to the nearest word {some.gap:.3g}"
            )
        rows = []
        for peer in peers:
            speed: Speed | str
            match: Match | str
            try:
                # A fresh process each: a second mechanism in one process of theirs can wait forever.
                with pair(folder, args.threads, args.peers_python) as (ours, theirs):
                    speed = compare_speed(peer, space, ours, theirs, args.seconds / 8)
            except PeerFailed as error:
                speed = str(error)
            try:
                with pair(folder, args.threads, args.peers_python) as (ours, theirs):
                    match = compare_draws(peer, space.part, ours, theirs, args.words, args.draws, args.seconds)
            except PeerFailed as error:
                match = str(error)
            rows.append(Comparison(peer, speed, match))
            print(
                f"{peer.package}, {peer.title}: {match if isinstance(match, str) else match.verdict}", file=sys.stderr
            )
        print("\n" + "\n".join(report(rows)))
    return 0


if __name__ == "__main__":
    # Their side: peers.py --worker SIDE FOLDER.
    raise SystemExit(worker(*sys.argv[2:]) if sys.argv[1:2] == ["--worker"] else main())
