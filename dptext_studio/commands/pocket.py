"""``pocket``: write a static site that rewrites texts in the visitor's browser."""

from __future__ import annotations

import argparse
from contextlib import nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from dptext_core.cli.arguments import whole_number
from dptext_core.cli.console import emit, explain_resume, note
from dptext_core.errors import ConfigError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", help="output folder: a new one, or one from an earlier run")
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve it locally until Ctrl-C; without --out, from a temporary folder",
    )
    parser.add_argument(
        "--port", type=whole_number("the port"), default=8600, metavar="N", help="the port of --serve (default 8600)"
    )
    parser.add_argument(
        "--no-gallery",
        action="store_true",
        help="omit the example pages of all mechanisms, which take a minute or more",
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress messages")


def run(args: argparse.Namespace) -> None:
    from ..browser import serve, write_site

    if not (args.out or args.serve):
        raise ConfigError("No output folder was given. Name one with --out FOLDER, or view the site with --serve.")
    say = (lambda line: None) if args.quiet else note
    with TemporaryDirectory() as passing:
        out = Path(args.out or passing)
        with explain_resume(args.out) if args.out else nullcontext():
            made = write_site(out, say, shown=None if args.no_gallery else ())
        say(f"{len(made.files)} files, {made.total / 1e6:.1f} MB in total.")
        say(f"A first visit with DP-MLM fetches {made.first_visit / 1e6:.1f} MB.")
        if not args.serve:
            emit(str(out / "index.html"))
            return
        with serve(out, args.port) as server:
            emit(f"http://127.0.0.1:{server.server_address[1]}/")
            with suppress(KeyboardInterrupt):
                server.serve_forever()
