"""The speed of word-level mechanisms, as ratios to a plain loop over words in the same run.

The plain loop is a naive implementation, similar to released code: one word at a time, its distance to all words by
``np.linalg.norm(V - x, axis=1)``, and NumPy's random generator. It is timed on fewer words and scaled. Both figures are
words per CPU second. Ratios are comparable between machines, but speeds are not.

    python -m dptext_core bench words
    python -m dptext_core bench words --shares      time of each stage, end to end
    python -m dptext_core bench words --out FILE    tokens per second of every mechanism, end to end, as rows
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
    """Return the nearest word after spherical noise of random length."""
    x = space.vectors[row]
    direction = rng.normal(size=len(x))
    noise = rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction)
    return space.words[np.argmin(np.linalg.norm(space.vectors - (x + noise), axis=1))]


def plain_mahalanobis(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return Mahalanobis noise and the nearest word; as in released code, every word recomputes the root."""
    from scipy.linalg import sqrtm

    x, covariance = space.vectors[row], _covariance(space)
    direction = rng.normal(size=len(x))
    root = sqrtm(0.2 * covariance + 0.8 * np.eye(len(x))).real
    noise = root @ (rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction))
    return space.words[np.argmin(np.linalg.norm(space.vectors - (x + noise), axis=1))]


def plain_vickrey(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return the nearest or second nearest word after spherical noise, at random."""
    x = space.vectors[row]
    direction = rng.normal(size=len(x))
    noise = rng.gamma(len(x), 1 / epsilon) * direction / np.linalg.norm(direction)
    distances = np.linalg.norm(space.vectors - (x + noise), axis=1)
    first, second = np.argsort(distances)[:2]
    chance = 0.25 * distances[second] / (0.75 * distances[first] + 0.25 * distances[second])
    return space.words[first if rng.random() < chance else second]


def plain_santext(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return a draw of the exponential mechanism over all words, from a table of probabilities."""
    weights = np.exp(-epsilon / 2 * np.linalg.norm(space.vectors - space.vectors[row], axis=1))
    return rng.choice(space.words, p=weights / weights.sum())


def plain_tem(space: WordSpace, row: int, epsilon: float, rng: np.random.Generator) -> str:
    """Return the best of the near words and one outcome for all others, by Gumbel noise; others are sampled
    uniformly."""
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
    """Return one draw from the table of probabilities of all list positions."""
    weights = np.exp(-epsilon * np.abs(np.arange(len(words)) - place))
    return words[rng.choice(len(words), p=weights / weights.sum())]


def plain_texts(texts: Sequence[str], words: Sequence[str], epsilon: float, rng: np.random.Generator) -> list[str]:
    """Split each text with NLTK, replace it word by word, and join it with spaces."""
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
    """Return the balanced table of Algorithm 1, one word at a time."""
    vectors = space.vectors[rows]
    table: dict[int, list[int]] = {}
    for i in range(len(rows)):
        if i in table:
            continue
        near = np.argsort(np.linalg.norm(vectors - vectors[i], axis=1))[:k]
        for j in near:
            table.setdefault(int(j), [int(x) for x in near])
    return table


#: The plain loop of each mechanism, and the number of timed words.
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
    """Return words per CPU second of all threads: the best of several repeats, because other load only slows it
    down."""
    best = 0.0
    for _ in range(repeats):
        began = time.process_time()
        n = work()
        best = max(best, n / (time.process_time() - began))
    return best


def _texts() -> list[str]:
    """Return the plain English paragraphs of the bundled examples, repeated many times."""
    paragraphs = [
        line.strip()
        for file in sorted((assets_folder() / "examples").glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip() and line.isascii()
    ]
    return (paragraphs * 400)[:1600]


#: The timed stages of a rewrite: the method of a word-level mechanism, and a description.
STAGES = {
    "document": "cut into tokens",
    "prepare_document": "look words up",
    "_draw_texts": "draw",
    "guarantee": "guarantee",
    "_result": "write",
}
COLLECTOR, REST = "collector", "rest"


def shares(name: str, texts: Sequence[str], **options: Any) -> tuple[float, dict[str, float], float]:
    """Return CPU seconds of rewriting texts in one call, the share of each stage, and the factor for reading all steps.

    The shares include Python's garbage collector and the rest."""
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
    mechanism.rewrite(texts)  # computed once
    spent.update(dict.fromkeys(spent, 0.0))
    gc.callbacks.append(collector)
    try:
        start = time.process_time()
        results = mechanism.rewrite(texts)
        seconds = time.process_time() - start
        spent[REST] = seconds - sum(spent.values())
        by_stage = {stage: each / seconds for stage, each in spent.items()}
        for result in results:
            list(result.steps)
        looked = time.process_time() - start
    finally:
        gc.callbacks.remove(collector)
    return seconds, by_stage, looked / seconds


def print_shares() -> None:
    """Print the time of some mechanisms by stage: the smallest of five runs, and the median shares."""
    texts = _texts()
    print("end to end in one call: CPU time of a text of 44 tokens, and the shares of stages in percent")
    stages = (*STAGES.values(), COLLECTOR, REST)
    print(f"{'':12s} {'texts':>6s} {'µs':>7s}  {'  '.join(stages)}  with all steps")
    for name, n in (("diffractor", 1600), ("custext", 1600), ("santext", 32), ("tem", 32), ("mvc", 32)):
        runs = [shares(name, texts[:n], oov="keep") for _ in range(5)]
        title = mechanism_class(name).title
        each = [np.median([by_stage[stage] for _, by_stage, _ in runs]) for stage in stages]
        print(
            f"{title:12s} {n:6,} {min(r[0] for r in runs) / n * 1e6:7,.0f}  "
            + "  ".join(f"{100 * x:{len(s)}.0f}" for s, x in zip(stages, each, strict=True))
            + f"  {np.median([r[2] for r in runs]):13.2f}x",
            flush=True,
        )


#: The timed mechanisms with options, and their numbers of texts in one call.
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
    """Return the tokens per CPU second of each mechanism at its default ε, end to end in one call, after
    warm-up.

    The values are medians of alternating rounds, with the smallest and largest. Unknown words are kept.
    """
    texts, rows = _texts(), []
    settings = [Setting(name, {**_keep(name), **options}) for name, options, _ in rated]
    runs = [(s.make(), texts[:n]) for s, (_, _, n) in zip(settings, rated, strict=True)]
    tokens = [sum(len(Document.parse(t).tokens) for t in some) for _, some in runs]
    for mechanism, some in runs:
        mechanism.rewrite(some)
    rates_of: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for (mechanism, some), n, speeds in zip(runs, tokens, rates_of, strict=True):
            start = time.process_time()
            mechanism.rewrite(some)
            speeds.append(n / (time.process_time() - start))
    metric = measure("tokens_per_second")
    for setting, (mechanism, _), n, speeds in zip(settings, runs, tokens, rates_of, strict=True):
        value, low, high = (float(f"{x:.4g}") for x in (np.median(speeds), min(speeds), max(speeds)))
        at = setting.at(float(mechanism.config.epsilon))  # type: ignore[arg-type]
        rows.append(Row(at, "builtin", metric.task, metric.name, value, low, high, n, rounds, ""))
    return rows


def _keep(name: str) -> dict[str, str]:
    """Return the option that keeps unknown words, if the mechanism has it."""
    return {"oov": "keep"} if "oov" in fields_of(name) else {}


def _write_rates(out: Path) -> None:
    from ..runner.machine import describe_machine

    rows = rates()
    for row in rows:
        options = ", ".join("+".join(v) if isinstance(v, tuple) else str(v) for v in row.options.values())
        print(f"{row.mechanism:13s} {options:20s} ε {row.epsilon:<6g} {row.value:10,.0f} tokens per CPU second")
    MEASUREMENT.write(out, rows, MEASUREMENT.about(machine=describe_machine()))


def _sst2_rows(space: WordSpace, folder: Path | None) -> tuple[np.ndarray, str]:
    """Return rows of SST-2's words in the order of the space, or of the 10,000 most frequent words."""
    if folder is not None and (file := folder / "sst2" / "train.tsv").is_file():
        lines = file.read_text(encoding="utf-8").splitlines()[1:]
        words = {w for line in lines for w in line.rpartition("\t")[0].lower().split()}
        return np.array([i for i, w in enumerate(space.words) if w.lower() in words]), "SST-2's vocabulary"
    return np.arange(min(10_000, len(space))), "the 10,000 most frequent words (without SST-2)"


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
    _print_line("1-Diffractor, end to end", plain, _rate(ours_texts))
    rows = rng.integers(0, len(words), 200_000)
    plain = _rate(lambda: len([plain_diffractor(words, int(r), 1.0, rng) for r in rows[:300]]))

    def ready() -> int:
        outputs = draw_outputs(m.vocabulary, rows, np.ones(len(rows)), "geometric", 5, NoiseStream(), len(rows))[0]
        return len(outputs)

    _print_line("1-Diffractor, prepared tokens", plain, _rate(ready))


def _time_noise(space: WordSpace, words: int, rng: np.random.Generator) -> None:
    """Time the mechanisms that add noise in the space."""
    rows = rng.permutation(len(space))[:words]
    for name, (loop, few) in _PLAIN.items():
        mechanism: Any = get_mechanism(name)
        epsilon = float(mechanism.config.epsilon)
        draws = Draws(
            rows, np.full(len(rows), epsilon), np.zeros(len(rows), int), range(len(rows)), [(NoiseStream(), len(rows))]
        )
        mechanism._draw(draws)  # computed once for a space
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
    custext._draw(draws)  # the tables of a space are cached
    _print_line("CusText, draws", plain, _rate(lambda: len(custext._draw(draws)), 2))
    print(
        "CusText's plain table is timed on its 2,000 most frequent words. Its cost per word grows with the number of "
        "words, so it is scaled to all words. The plain draws read precomputed probabilities."
    )


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench words``."""
    takes = parser("words", __doc__)
    takes.add_argument("--data", type=Path, help="folder of public data sets with sst2/train.tsv")
    takes.add_argument("--words", type=int, default=2000, help="number of words for our implementation (default 2000)")
    takes.add_argument(
        "--lists", action="store_true", help="also build a 1-D list and compare it with the plain loop (a minute)"
    )
    takes.add_argument("--shares", action="store_true", help="print only the time of each stage, end to end")
    takes.add_argument(
        "--out", action=OutFile, metavar="FILE", help="write only the tokens per second of each mechanism to this file"
    )
    args = takes.parse_args(argv)
    if args.shares or args.out:
        if args.shares:
            print_shares()
        if args.out:
            _write_rates(args.out)
        return 0
    rng = np.random.default_rng(0)  # selects the timed words; the mechanisms take noise from the operating system
    space = word_space("minilm")
    threads = os.environ.get("OMP_NUM_THREADS", f"all {os.cpu_count()}")
    print(f"{len(space):,} words × {space.vectors.shape[1]}; threads for products: {threads}; words per CPU second")
    _time_diffractor(rng)
    _time_noise(space, args.words, rng)
    _time_custext(space, args.data, rng)
    if args.lists:
        print(list_line(measure_list()))
    return 0
