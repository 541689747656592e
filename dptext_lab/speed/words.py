"""How fast the word-level mechanisms are, as ratios to a plain loop over words timed in the same run.

The plain loop is what one writes first, and what released code does: one word at a time, its distance to all words by
``np.linalg.norm(V - x, axis=1)``, NumPy's own random generator. It is timed on fewer words and scaled; both figures are
words a second of processor time. Ratios are comparable between machines, speeds are not.

    python -m dptext_core bench words
    python -m dptext_core bench words --shares      where the time goes, text in and text out
    python -m dptext_core bench words --out FILE    tokens a second of every mechanism, text in and text out, as rows
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.measure.metrics.registry import measure
from dptext_core.mechanisms.registry import fields_of, get_mechanism, mechanism_class
from dptext_core.mechanisms.setting import Setting
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.diffractor import Diffractor
from dptext_core.mechanisms.words.list_draws import draw_outputs
from dptext_core.mechanisms.words.word_groups import build_groups
from dptext_core.mechanisms.words.word_trace import Draws
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.assets import assets_folder
from dptext_core.text.document import Document
from dptext_core.words import WordSpace, stop_words, word_space

from ..results.rows import Row
from ..results.speeds import MEASUREMENT
from ..runner.options import OutFile, parser
from .lists import line as list_line
from .lists import measure as measure_list


def plain_mvc(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return spherical noise of a random length, then the nearest word."""
    x = space.vectors[row]
    direction = rng.normal(size=len(x))
    noise = rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction)
    return space.words[np.argmin(np.linalg.norm(space.vectors - (x + noise), axis=1))]


def plain_mahalanobis(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """As released: the root of the covariance is computed for every word."""
    from scipy.linalg import sqrtm

    x, covariance = space.vectors[row], _covariance(space)
    direction = rng.normal(size=len(x))
    root = sqrtm(0.2 * covariance + 0.8 * np.eye(len(x))).real
    noise = root @ (rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction))
    return space.words[np.argmin(np.linalg.norm(space.vectors - (x + noise), axis=1))]


def plain_vickrey(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return spherical noise, then the nearest or the second nearest word by a coin."""
    x = space.vectors[row]
    direction = rng.normal(size=len(x))
    noise = rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction)
    distances = np.linalg.norm(space.vectors - (x + noise), axis=1)
    first, second = np.argsort(distances)[:2]
    chance = 0.25 * distances[second] / (0.75 * distances[first] + 0.25 * distances[second])
    return space.words[first if rng.random() < chance else second]


def plain_santext(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return the exponential mechanism over all words, from a table of probabilities."""
    weights = np.exp(-epsilon / 2 * np.linalg.norm(space.vectors - space.vectors[row], axis=1))
    return rng.choice(space.words, p=weights / weights.sum())


def plain_tem(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Near words and one outcome for all others, each with Gumbel noise; the others are then drawn evenly."""
    distances = np.linalg.norm(space.vectors - space.vectors[row], axis=1)
    gamma = 2 / epsilon * np.log(0.999 * (len(space) - 1) / 0.001)
    near = np.flatnonzero(distances <= gamma)
    scores = -distances[near] + rng.gumbel(scale=2 / epsilon, size=len(near))
    if len(near) < len(space):
        others = -gamma + 2 * np.log(len(space) - len(near)) / epsilon + rng.gumbel(scale=2 / epsilon)
        if others > scores.max():
            return space.words[rng.choice(np.setdiff1d(np.arange(len(space)), near))]
    return space.words[near[np.argmax(scores)]]


def plain_diffractor(words: Sequence[str], place: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return the chance of every place on the list, then one draw from the table."""
    weights = np.exp(-epsilon * np.abs(np.arange(len(words)) - place))
    return words[rng.choice(len(words), p=weights / weights.sum())]


def plain_texts(texts: Sequence[str], words: Sequence[str], epsilon: float, rng: np.random.Generator) -> list[str]:
    """Cut each text with NLTK, replace word by word, join with spaces."""
    from nltk.tokenize import NLTKWordTokenizer

    cut, stop, place = NLTKWordTokenizer(), stop_words(), {w: i for i, w in enumerate(words)}
    out = []
    for text in texts:
        tokens = []
        for token in cut.tokenize(text):
            key = token.lower()
            known = key in place and key not in stop
            tokens.append(plain_diffractor(words, place[key], epsilon, rng) if known else token)
        out.append(" ".join(tokens))
    return out


def plain_custext_table(space: WordSpace, rows: np.ndarray, k: int) -> dict[int, list[int]]:
    """Algorithm 1, balanced, one word at a time."""
    vectors = space.vectors[rows]
    table: dict[int, list[int]] = {}
    for i in range(len(rows)):
        if i in table:
            continue
        near = np.argsort(np.linalg.norm(vectors - vectors[i], axis=1))[:k]
        for j in near:
            table.setdefault(int(j), [int(x) for x in near])
    return table


#: The plain loop of a mechanism, and how many words of it are timed.
_PLAIN: dict[str, tuple[Callable[[WordSpace, int, float, np.random.Generator], str], int]] = {
    "mvc": (plain_mvc, 40),
    "mahalanobis": (plain_mahalanobis, 6),
    "vickrey": (plain_vickrey, 40),
    "santext": (plain_santext, 40),
    "tem": (plain_tem, 40),
}


def _covariance(space: WordSpace) -> np.ndarray:
    key = id(space)
    if key not in _covariances:
        _covariances[key] = np.cov(space.vectors, rowvar=False) / np.var(space.vectors)
    return _covariances[key]


_covariances: dict[int, np.ndarray] = {}


def _rate(work: Callable[[], int], repeats: int = 3) -> float:
    """Return words a second of processor time, of all threads: the best of some repeats, as everything else that runs
    can only make it slower."""
    best = 0.0
    for _ in range(repeats):
        began = time.process_time()
        n = work()
        best = max(best, n / (time.process_time() - began))
    return best


def _texts() -> list[str]:
    """Paragraphs of the bundled examples that are plain English, many times over."""
    found = [
        line.strip()
        for file in sorted((assets_folder() / "examples").glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip() and line.isascii()
    ]
    return (found * 400)[:1600]


#: What is timed of a rewrite: the method of a word mechanism, and what it does.
STAGES = {
    "document": "cut into tokens",
    "prepare_document": "look words up",
    "_draw_texts": "draw",
    "guarantee": "promise",
    "_result": "write",
}
COLLECTOR, REST = "collector", "rest"


def shares(name: str, texts: Sequence[str], **options: Any) -> tuple[float, dict[str, float], float]:
    """Processor seconds of rewriting texts in one call; the share of each stage, of Python's garbage collector, and of
    the rest; and how many times as long it takes where all steps are looked at too."""
    spent = dict.fromkeys([*STAGES.values(), COLLECTOR, REST], 0.0)
    began = 0.0

    def collector(phase: str, _info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.process_time()
        else:
            spent[COLLECTOR] += time.process_time() - began

    def timed(method: str, stage: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **more: Any) -> Any:
            start, before = time.process_time(), spent[COLLECTOR]
            try:
                return getattr(super(Timed, self), method)(*args, **more)
            finally:
                spent[stage] += time.process_time() - start - (spent[COLLECTOR] - before)

        return call

    Timed: Any = type("Timed", (mechanism_class(name),), {m: timed(m, stage) for m, stage in STAGES.items()})
    mechanism = Timed.create(**options)
    mechanism.rewrite(texts)  # what is computed once
    spent.update(dict.fromkeys(spent, 0.0))
    gc.callbacks.append(collector)
    try:
        start = time.process_time()
        results = mechanism.rewrite(texts)
        seconds = time.process_time() - start
        spent[REST] = seconds - sum(spent.values())
        found = {stage: each / seconds for stage, each in spent.items()}
        for result in results:
            list(result.steps)
        looked = time.process_time() - start
    finally:
        gc.callbacks.remove(collector)
    return seconds, found, looked / seconds


def print_shares() -> None:
    """Where the time of some mechanisms goes: the least of five runs, and medians of their shares."""
    texts = _texts()
    print("text in, text out, in one call: processor time of a text of 44 words and marks, and its shares in percent")
    stages = (*STAGES.values(), COLLECTOR, REST)
    print(f"{'':12s} {'texts':>6s} {'µs':>7s}  {'  '.join(stages)}  with all steps")
    for name, n in (("diffractor", 1600), ("custext", 1600), ("santext", 32), ("tem", 32), ("mvc", 32)):
        runs = [shares(name, texts[:n], oov="keep") for _ in range(5)]
        title = mechanism_class(name).title
        each = [np.median([found[stage] for _, found, _ in runs]) for stage in stages]
        print(
            f"{title:12s} {n:6,} {min(r[0] for r in runs) / n * 1e6:7,.0f}  "
            + "  ".join(f"{100 * x:{len(s)}.0f}" for s, x in zip(stages, each, strict=True))
            + f"  {np.median([r[2] for r in runs]):13.2f}x",
            flush=True,
        )


#: What is timed for the rows: mechanisms with options, and how many texts in one call.
RATED: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("diffractor", {"noise": "geometric", "lists": ("L2",)}, 1600),
    ("diffractor", {"noise": "tem", "lists": ("L2",)}, 1600),
    ("custext", {}, 1600),
    *((name, {}, 400) for name in ("redact", "surrogates")),
    *((name, {}, 32) for name in ("santext", "santext-plus", "tem", "mvc", "mahalanobis", "vickrey", "gumbel")),
    *((name, {}, 32) for name in ("dp-mlm", "dp-mlm-plus", "dp-mlm-prior", "dp-sentence", "adept", "adept-original")),
    *((name, {}, 4) for name in ("dp-bart", "dp-prompt", "dp-paraphrase")),
)
ROUNDS = 5


def rates(rated: Sequence[tuple[str, dict[str, Any], int]] = RATED, rounds: int = ROUNDS) -> list[Row]:
    """Return tokens that each mechanism reads in a processor second at its default ε, text in and text out in one call,
    warm.

    Medians of rounds that take turns, with the least and the most of them. Words that are not known stay as they are.
    """
    texts, rows = _texts(), []
    settings = [Setting(name, {**_keep(name), **options}) for name, options, _ in rated]
    made = [(s.make(), texts[:n]) for s, (_, _, n) in zip(settings, rated, strict=True)]
    tokens = [sum(len(Document.parse(t).tokens) for t in some) for _, some in made]
    for mechanism, some in made:
        mechanism.rewrite(some)
    found: list[list[float]] = [[] for _ in made]
    for _ in range(rounds):
        for (mechanism, some), n, speeds in zip(made, tokens, found, strict=True):
            start = time.process_time()
            mechanism.rewrite(some)
            speeds.append(n / (time.process_time() - start))
    metric = measure("tokens_per_second")
    for setting, (mechanism, _), n, speeds in zip(settings, made, tokens, found, strict=True):
        value, low, high = (float(f"{x:.4g}") for x in (np.median(speeds), min(speeds), max(speeds)))
        at = setting.at(float(mechanism.config.epsilon))  # type: ignore[arg-type]
        rows.append(Row(at, "builtin", metric.task, metric.name, value, low, high, n, rounds, ""))
    return rows


def _keep(name: str) -> dict[str, str]:
    """Return the option by which words that are not known stay as they are, of those that have it."""
    return {"oov": "keep"} if "oov" in fields_of(name) else {}


def _write_rates(out: Path) -> None:
    from ..runner.machine import describe_machine

    rows = rates()
    for row in rows:
        options = ", ".join("+".join(v) if isinstance(v, tuple) else str(v) for v in row.options.values())
        print(f"{row.mechanism:13s} {options:20s} ε {row.epsilon:<6g} {row.value:10,.0f} tokens a processor second")
    MEASUREMENT.write(out, rows, MEASUREMENT.about(machine=describe_machine()))


def _sst2_rows(space: WordSpace, folder: Path | None) -> tuple[np.ndarray, str]:
    """Return rows of the words of SST-2 in the order of the space, else of the 10,000 most frequent words."""
    if folder is not None and (file := folder / "sst2" / "train.tsv").is_file():
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        words = {w for line in lines for w in line.rpartition("\t")[0].lower().split()}
        return np.array([i for i, w in enumerate(space.words) if w.lower() in words]), "SST-2's vocabulary"
    return np.arange(min(10_000, len(space))), "the 10,000 most frequent words (SST-2 was not given)"


def _print_line(label: str, plain: float, ours: float) -> None:
    print(f"{label:42s} plain {plain:10,.0f}   ours {ours:12,.0f}   {ours / plain:8,.0f}x", flush=True)


def _time_diffractor(rng: np.random.Generator) -> None:
    m = Diffractor.create(epsilon=1.0, oov="keep")
    words, texts = list(m.config.lists and m.vocabulary.lists[0]), _texts()

    def ours_texts() -> int:
        results = m.rewrite(texts)
        return sum(r.guarantee.draws for r in results) if [r.text for r in results] else 0

    first = texts[:12]
    replaced = sum(r.guarantee.draws for r in m.rewrite(first))
    plain = _rate(lambda: len(plain_texts(first, words, 1.0, rng)) and replaced)
    _print_line("1-Diffractor, text in, text out", plain, _rate(ours_texts))
    rows = rng.integers(0, len(words), 200_000)
    plain = _rate(lambda: len([plain_diffractor(words, int(r), 1.0, rng) for r in rows[:300]]))

    def ready() -> int:
        outputs = draw_outputs(m.vocabulary, rows, np.ones(len(rows)), "geometric", 5, NoiseStream(), len(rows))[0]
        return len(outputs)

    _print_line("1-Diffractor, ready tokens", plain, _rate(ready))


def _time_noise(space: WordSpace, words: int, rng: np.random.Generator) -> None:
    """Time the mechanisms that draw in the space."""
    rows = rng.permutation(len(space))[:words]
    for name, (loop, few) in _PLAIN.items():
        mechanism: Any = get_mechanism(name)
        epsilon = float(mechanism.config.epsilon)
        draws = Draws(
            rows, np.full(len(rows), epsilon), np.zeros(len(rows), int), range(len(rows)), [(NoiseStream(), len(rows))]
        )
        mechanism._draw(draws)  # what is computed once for a space
        some = rows[:few].tolist()
        plain = _rate(lambda loop=loop, some=some, e=epsilon: len([loop(space, r, e, rng) for r in some]), 2)  # type: ignore[misc]
        _print_line(mechanism.title, plain, _rate(lambda d=draws, m=mechanism: len(m._draw(d)), 2))  # type: ignore[misc]


def _time_custext(space: WordSpace, data: Path | None, rng: np.random.Generator) -> None:
    rows, what = _sst2_rows(space, data)
    part = rows[:2000]
    plain = _rate(lambda: len(plain_custext_table(space, part, 20)), 1) * len(part) / len(rows)
    _print_line(
        f"CusText, table over {what}",
        plain,
        _rate(lambda: len(build_groups(space, 20, "balanced", rows=rows).group), 2),
    )
    custext = CusText.create()
    rows = rng.zipf(1.3, 100_000) % len(space)
    tables = {int(r): custext.channel(int(r)) for r in np.unique(rows[:5000])}
    chances = {r: (t.candidates, t.at(3.0).probs) for r, t in tables.items()}
    plain = _rate(lambda: len([rng.choice(chances[int(r)][0], p=chances[int(r)][1]) for r in rows[:5000]]), 2)
    draws = Draws(
        rows, np.full(len(rows), 3.0), np.zeros(len(rows), int), range(len(rows)), [(NoiseStream(), len(rows))]
    )
    custext._draw(draws)  # the tables of a space are kept
    _print_line("CusText, draws", plain, _rate(lambda: len(custext._draw(draws)), 2))
    print(
        "CusText's plain table is timed on its 2,000 most frequent words; its cost a word grows with the number of "
        "words and is scaled so. The plain draws read ready probabilities."
    )


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench words``."""
    takes = parser("words", __doc__)
    takes.add_argument("--data", type=Path, help="folder of public data sets; sst2/train.tsv in it is used")
    takes.add_argument("--words", type=int, default=2000, help="words for our side (default 2000)")
    takes.add_argument("--lists", action="store_true", help="also build a 1-D list, against the plain loop (a minute)")
    takes.add_argument("--shares", action="store_true", help="only where the time goes, text in and text out")
    takes.add_argument(
        "--out", action=OutFile, metavar="FILE", help="only tokens a second of each, as rows in this file"
    )
    args = takes.parse_args(argv)
    if args.shares or args.out:
        if args.shares:
            print_shares()
        if args.out:
            _write_rates(args.out)
        return 0
    rng = np.random.default_rng(0)  # which words are timed; the mechanisms draw from the operating system
    space = word_space("minilm")
    threads = os.environ.get("OMP_NUM_THREADS", f"all {os.cpu_count()}")
    print(f"{len(space):,} words × {space.vectors.shape[1]}; threads for products: {threads}; words a processor second")
    _time_diffractor(rng)
    _time_noise(space, args.words, rng)
    _time_custext(space, args.data, rng)
    if args.lists:
        print(list_line(measure_list()))
    return 0
