"""The command of measurements of mechanisms at some ε each, over the test texts of a data set."""

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
    """A row of such a measurement. data: the data set, by its name."""

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
    """Measure, and print and write each row when it is there. With ``--add`` the rows of the file stay that are not
    measured anew.

    epsilons: of each mechanism that is measured by default; otherwise: those of another one. texts: how many by
    default; fewer: of mechanisms that take long. options: of mechanisms that are measured with other ones than the
    defaults. measure: a row of a data set (by its name) and a mechanism over texts, each rewritten by its number as the
    seed; takes_judge: and with ``judge``, a causal language model that the command names. row_text: a row in words.
    about: what the file says besides.
    """
    takes = parser(name, doc, "data", "set", "stopwords", "out")
    takes.add_argument("--mechanism", action="append", metavar="NAME", help=f"default: {', '.join(epsilons)}")
    takes.add_argument("--epsilon", action="append", type=float, metavar="E", help="default: some for each mechanism")
    takes.add_argument(
        "--texts", type=int, metavar="N", help=f"test texts (default {texts}, fewer where it takes long)"
    )
    takes.add_argument("--add", action="store_true", help="keep what the file has, and measure more")
    if takes_judge:
        takes.add_argument("--judge", metavar="NAME", help=f"for perplexity: a folder, or {causal.JUDGE}")
    args = takes.parse_args(argv)
    if takes_judge and args.judge:
        judge = causal.judge(args.judge)
        measure = partial(measure, judge=judge)
        about["judge"] = judge.title
    data = data_sets.load(args.set, args.data, n_test=args.texts or texts)
    given = [" ".join(data.texts[i]) for i in data.test]
    whole = measurement.about(**about, stopwords=which_stop_words(args), seeds="the number of each text")
    kept = measurement.read(args.out) if args.add and args.out is not None and args.out.exists() else ()
    found = {_key(row): row for row in kept}
    for mechanism in args.mechanism or epsilons:
        some = given[: args.texts or (fewer or {}).get(mechanism, texts)]
        setting = Setting(mechanism, {**(options or {}).get(mechanism, {}), **options_in(args, mechanism)})
        for epsilon in args.epsilon or epsilons.get(mechanism) or otherwise(mechanism):
            row = measure(args.set, setting.at(epsilon).make(), some)
            print(f"{row.mechanism:12s} ε {row.epsilon:<6g} {row_text(row)}", flush=True)
            found[_key(row)] = row
            measurement.write(args.out, found.values(), whole)
    return 0


def _key(row: AtEpsilon) -> tuple[str, str, str, float]:
    return row.data, row.mechanism, json.dumps(getattr(row, "options", {}), sort_keys=True), row.epsilon
