"""``serve-model``: serve a masked language model on a Ray cluster, for all front ends with DPTEXT_ENGINE."""

from __future__ import annotations

import argparse
import os

from ..cli.arguments import gpus, positive
from ..cli.console import note
from ..errors import ConfigError
from ..models import masked_lm_spec
from ..models.engines import VARIABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--model", default="bundled", help="bundled (default), a folder, or an id in the local cache")
    parser.add_argument("--replicas", type=positive, default=1, metavar="N", help="minimum number of replicas "
                                                                                  "(default 1)")
    parser.add_argument(
        "--most", type=positive, metavar="N", help="maximum number of replicas, used when calls wait (default: the "
                                                   "minimum)"
    )
    parser.add_argument(
        "--gpus",
        type=gpus,
        default=0.0,
        metavar="X",
        help="GPUs per replica, such as 1 or 0.5 (default 0)",
    )
    parser.add_argument("--stop", action="store_true", help="stop serving it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Serve a model, or stop serving it."""
    from . import connection, replicas

    connection.check_installed()
    masked_lm_spec(args.model)
    address = os.environ.get("RAY_ADDRESS", "").strip() or "auto"
    if args.stop:
        replicas.withdraw(address, args.model)
        note(f"{args.model} is no longer served.")
        return
    most = args.most or args.replicas
    if most < args.replicas:
        raise ConfigError("--most must not be below --replicas. Increase --most.")
    replicas.serve(address, args.model, args.replicas, most, args.gpus)
    note(f"{args.model} is served. Start each front end with {VARIABLE}=ray:{address}")
