"""The command of measurements that run each mechanism at several ε on the test texts of a data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from dptext_core.mechanisms.setting import Setting
from dptext_core.models import causal

from ..results.measurement import Measurement
from . import data_sets
from .options import options_in, parser, which_stop_words


class AtEpsilon(Protocol):
    """A row of such a measurement. data: name of the data set."""

    @property
    def data(self) -> str: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def epsilon(self) -> float: ...


R = TypeVar("R", bound=AtEpsilon)


def command(
    argv: Sequence[str],
    name: str,
    doc: str | None,
    measurement: Measurement[R],
    *,
    epsilons: Mapping[str, Sequence[float]],
    otherwise: Callable[[str], Sequence[float]],
    texts: int,
    measure: Callable[..., R],
    row_text: Callable[[R], str],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    fewer: Mapping[str, int] | None = None,
    takes_judge: bool = False,
    **about: Any,
) -> int:
    """Measure, and print and write each row as soon as it is finished. ``--add`` keeps the other rows of the file.

    epsilons: of each default mechanism. otherwise: for any other mechanism. texts: default number. fewer: number for
    slow mechanisms. options: of mechanisms that do not use their defaults. measure: returns the row of a data set (by
    name) and a mechanism over texts, with each text's number as its seed. takes_judge: whether it also takes ``judge``,
    a causal language model. row_text: formats a row. about: additional description in the file.
    """
    takes = parser(name, doc, "data", "set", "stopwords", "out")
    takes.add_argument("--mechanism", action="append", metavar="NAME", help=f"default: {', '.join(epsilons)}")
    takes.add_argument(
        "--epsilon", action="append", type=float, metavar="E", help="default: several for each mechanism"
    )
    takes.add_argument(
        "--texts", type=int, metavar="N", help=f"number of test texts (default {texts}, fewer for slow mechanisms)"
    )
    takes.add_argument("--add", action="store_true", help="keep the rows of the file, and measure the missing ones")
    if takes_judge:
        takes.add_argument(
            "--judge", metavar="NAME", help=f"causal language model for perplexity: a folder, or {causal.JUDGE}"
        )
    args = takes.parse_args(argv)
    if takes_judge and args.judge:
        judge = causal.judge(args.judge)
        measure = partial(measure, judge=judge)
        about["judge"] = judge.title
    data = data_sets.load(args.set, args.data, n_test=args.texts or texts)
    given = [" ".join(data.texts[i]) for i in data.test]
    about_file = measurement.about(**about, stopwords=which_stop_words(args), seeds="the number of the text")
    old_rows = measurement.read(args.out) if args.add and args.out is not None and args.out.exists() else ()
    by_key = {_key(row): row for row in old_rows}
    for mechanism in args.mechanism or epsilons:
        some = given[: args.texts or (fewer or {}).get(mechanism, texts)]
        setting = Setting(mechanism, {**(options or {}).get(mechanism, {}), **options_in(args, mechanism)})
        for epsilon in args.epsilon or epsilons.get(mechanism) or otherwise(mechanism):
            row = measure(args.set, setting.at(epsilon).make(), some)
            print(f"{row.mechanism:12s} ε {row.epsilon:<6g} {row_text(row)}", flush=True)
            by_key[_key(row)] = row
            measurement.write(args.out, by_key.values(), about_file)
    return 0


def _key(row: AtEpsilon) -> tuple[str, str, str, float]:
    return row.data, row.mechanism, json.dumps(getattr(row, "options", {}), sort_keys=True), row.epsilon
