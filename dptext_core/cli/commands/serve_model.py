"""``serve-model``: a masked language model on a Ray cluster, for all front ends that DPTEXT_ENGINE leads to it."""

from __future__ import annotations

import argparse
import os

from ...errors import ConfigError
from ...models import masked_lm_spec
from ..arguments import gpus, positive
from ..console import note


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="bundled", help="bundled (default), a folder, or an id in the local cache")
    parser.add_argument("--replicas", type=positive, default=1, metavar="N", help="how many at least (default 1)")
    parser.add_argument(
        "--most", type=positive, metavar="N", help="how many at most, where calls wait (default: as many)"
    )
    parser.add_argument(
        "--gpus",
        type=gpus,
        default=0.0,
        metavar="X",
        help="how much of a GPU each replica takes, such as 1 or 0.5 (default 0)",
    )
    parser.add_argument("--stop", action="store_true", help="serve it no longer")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from ...models import remote
    from ...support import ray

    ray.check_installed()
    masked_lm_spec(args.model)
    address = os.environ.get("RAY_ADDRESS", "").strip() or "auto"
    if args.stop:
        remote.withdraw(address, args.model)
        note(f"{args.model} is served no longer.")
        return
    most = args.most or args.replicas
    if most < args.replicas:
        raise ConfigError("--most is less than --replicas. Give as many or more.")
    remote.serve(address, args.model, args.replicas, most, args.gpus)
    note(f"{args.model} is served. Start each front end with {remote.VARIABLE}=ray:{address}")
