"""``app``: serve the pages on this machine and open them in a browser."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from pathlib import Path

from dptext_core.cli.arguments import positive
from dptext_core.errors import ModelUnavailable
from dptext_core.support import plugins
from dptext_core.support.extras import install

#: The script that Streamlit runs, and the files next to it, including its settings.
SCRIPT = "app.py"
BESIDE = ("pages", ".streamlit")
#: The number of heaps that the server's threads share, which glibc reads when a process starts.
HEAPS = {"MALLOC_ARENA_MAX": "1"}
#: Whether a process can replace itself: on Windows it starts a second one, and ends.
REPLACES = os.name == "posix"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=positive, metavar="N", help="port to listen on (default: the first free port from 8501)"
    )
    parser.add_argument("--headless", action="store_true", help="do not open a browser")


def script() -> Path:
    """Return the app's script: inside an installed package, or next to it in a checkout. Raise ModelUnavailable if it
    is missing.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "app", package.parent):
        if (folder / SCRIPT).is_file() and all((folder / name).is_dir() for name in BESIDE):
            return folder / SCRIPT
    raise ModelUnavailable("The app's pages are missing. Install dptext-studio again, or start the app in a checkout.")


def run(args: argparse.Namespace) -> None:
    if importlib.util.find_spec("streamlit") is None:
        raise ModelUnavailable(f"The app needs Streamlit, which is not installed. Install it with: {install('app')}")
    flags = [f"--server.port={args.port}"] * bool(args.port) + ["--server.headless=true"] * args.headless
    command = ["streamlit", "run", str(script()), *flags]
    # Only this process loads the modules of --plugin.
    settings = {plugins.VARIABLE: os.pathsep.join(plugins.files())} if plugins.files() else {}
    # A server has many threads, and glibc keeps a heap for each.
    settings |= {name: value for name, value in HEAPS.items() if name not in os.environ}
    # Replace this process, because a child process could outlive it.
    if REPLACES:
        os.execve(sys.executable, [sys.executable, "-m", *command], os.environ | settings)
    else:
        sys.argv = command
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
