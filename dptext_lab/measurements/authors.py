"""The author attack on several releases of one user, with stop words kept and replaced.

The attacker has original speeches of 11 authors, or rewrites of them by the same system, and reads 1, 5 or 20 releases
of one author together. The test uses all test speeches, each cut to its first 40 words. The sentence bank is tested
with one and with three releases of each text.

    python -m dptext_core bench authors --data DIR --stopwords FILE --out assets/benchmarks/authors.json
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dptext_core.attacks.authors import attack_groups, letter_classifier, log_probabilities
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.setting import Setting
from dptext_core.privacy.sampling import NoiseStream

from ..results.authors import MEASUREMENT, AuthorsRow, numbers_of_texts, strongest
from ..results.measurement import markdown
from ..runner import data_sets
from ..runner.options import options_in, parser, which_stop_words

DATA, WORDS = "authors", 40
#: Numbers of an author's texts that the attacker reads together.
TEXTS = (1, 5, 20)
#: Known texts of the static attacker, and how many of them the adaptive one has rewrites of.
KNOWN, REWRITTEN = 2000, 2000
#: Systems: mechanism with options and ε, and how many releases of each text are read.
SYSTEMS: Mapping[str, tuple[Setting, int]] = {
    "Redaction": (Setting("redact", {}), 1),
    "Surrogates": (Setting("surrogates", {}), 1),
    "CusText, stop words kept": (Setting("custext", {"keep_stopwords": True}, 2.0), 1),
    "CusText, stop words replaced": (Setting("custext", {"keep_stopwords": False}, 2.0), 1),
    "Sentence bank": (Setting("dp-sentence", {}, 50.0), 1),
    "Sentence bank, three releases": (Setting("dp-sentence", {}, 50.0), 3),
    "DP-MLM, stop words kept": (Setting("dp-mlm", {"keep_stopwords": True}, 10.0), 1),
    "DP-MLM at ε 0.01, stop words kept": (Setting("dp-mlm", {"keep_stopwords": True}, 0.01), 1),
    "DP-MLM, stop words replaced": (Setting("dp-mlm", {"keep_stopwords": False}, 10.0), 1),
    "DP-MLM at ε 0.01, stop words replaced": (Setting("dp-mlm", {"keep_stopwords": False}, 0.01), 1),
    "DP-Paraphrase": (Setting("dp-paraphrase", {}, 100.0), 1),
    "DP-Prompt": (Setting("dp-prompt", {}, 100.0), 1),
}
UNPROTECTED = "Unprotected"
SEED = 1


def rewrites(m: Mechanism, texts: Sequence[str], releases: int = 1, first: int = 0) -> list[list[str]]:
    """Return several releases of each text. first: the number of the first text, which selects the noise."""
    stream = NoiseStream(SEED)
    return [
        [m.rewrite(prepared, stream=stream.at(first + i, k)).text for k in range(releases)]
        for i, prepared in enumerate(m.prepare_many(list(texts)))
    ]


def measure(
    system: str, setting: Setting | None, releases: int, data: data_sets.Data, static: Any, rewritten: int = REWRITTEN
) -> Iterator[AuthorsRow]:
    """Yield the rows of one system (None: unprotected texts). static: the classifier trained on original texts."""
    began = time.process_time()
    texts, labels = [parts[0] for parts in data.texts], data.targets["author"]
    truth, known = [labels[i] for i in data.test], data.train[:rewritten]
    m = None if setting is None else setting.make()
    released = [[texts[i]] for i in data.test] if m is None else rewrites(m, [texts[i] for i in data.test], releases)
    attackers = {"static": (static, len(data.train))}
    if m is not None:
        first_releases = [some[0] for some in rewrites(m, [texts[i] for i in known], first=len(data.test))]
        attackers["adaptive"] = (letter_classifier().fit(first_releases, [labels[i] for i in known]), len(known))
    seconds = time.process_time() - began
    for name, (classifier, trained) in attackers.items():
        read = log_probabilities(classifier, [labels[i] for i in data.train[:trained]], released)
        most = max(Counter(truth).values())
        for n in (n for n in TEXTS if n <= most):
            yield AuthorsRow(
                system=system,
                mechanism="" if setting is None else setting.mechanism,
                epsilon=setting.epsilon if setting is not None and isinstance(setting.epsilon, float) else 0.0,
                stop_words=None if setting is None else setting.options.get("keep_stopwords"),
                releases=releases,
                attacker=name,
                **vars(attack_groups(*read, truth, n)),
                trained=trained,
                seconds=round(seconds, 1),
            )


def table(rows: Sequence[AuthorsRow]) -> str:
    """Return a Markdown table with the strongest attacker of each system at each number of texts."""
    top = {(r.system, r.texts): r for r in strongest(rows)}
    numbers = numbers_of_texts(rows)

    def cell(r: AuthorsRow) -> str:
        return f"{r.success:.2f} ({r.low:.2f} to {r.high:.2f}; {r.attacker})"

    lines = [
        [name, *(cell(top[name, n]) if (name, n) in top else "" for n in numbers)]
        for name in dict.fromkeys(r.system for r in rows)
    ]
    return markdown(["system", *("1 text" if n == 1 else f"{n} texts" for n in numbers)], lines)


def main(argv: Sequence[str] = ()) -> int:
    """Run the command ``bench authors``."""
    takes = parser("authors", __doc__, "data", "stopwords", "out", required=["data"])
    takes.add_argument("--system", action="append", metavar="NAME", help=f"default: {'; '.join(SYSTEMS)}")
    takes.add_argument(
        "--known", type=int, default=KNOWN, metavar="N", help=f"number of training texts (default {KNOWN})"
    )
    takes.add_argument(
        "--rewritten",
        type=int,
        default=REWRITTEN,
        metavar="N",
        help=f"number of training rewrites of the adaptive attacker (default {REWRITTEN})",
    )
    takes.add_argument("--max-texts", type=int, metavar="N", help="at most N test texts")
    takes.add_argument("--add", action="store_true", help="keep the rows of the file, and measure the missing ones")
    args = takes.parse_args(argv)
    data = data_sets.load(DATA, args.data, n_train=args.known, n_test=args.max_texts, max_words=WORDS)
    texts, labels = [parts[0] for parts in data.texts], data.targets["author"]
    static = letter_classifier().fit([texts[i] for i in data.train], [labels[i] for i in data.train])
    old_rows = MEASUREMENT.read(args.out) if args.add and args.out is not None and args.out.exists() else ()
    rows = {(r.system, r.attacker, r.texts): r for r in old_rows}
    about = MEASUREMENT.about(
        data=data.title,
        sha256=data.sha256,
        words=WORDS,
        tested=len(data.test),
        seed=SEED,
        stopwords=which_stop_words(args),
    )
    wanted: dict[str, tuple[Setting | None, int]] = {UNPROTECTED: (None, 1), **SYSTEMS}
    for system in args.system or wanted:
        setting, releases = wanted[system]
        if setting is not None:
            options = {**setting.options, **options_in(args, setting.mechanism)}
            setting = Setting(setting.mechanism, options, setting.epsilon)
        for row in measure(system, setting, releases, data, static, args.rewritten):
            rows[row.system, row.attacker, row.texts] = row
        places = list(wanted)
        rows = dict(sorted(rows.items(), key=lambda item: places.index(item[0][0])))
        MEASUREMENT.write(args.out, rows.values(), about)
        print(f"{system}: {rows[system, 'static', 1].seconds:.0f} s", flush=True)
    print(f"\n{table(list(rows.values()))}")
    return 0
