"""Start a worker on each side and send it requests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dptext_core.errors import DPTextError, InputError

#: Their Python does not have our packages, so it imports this one from its folder under another name.
THEIRS = (
    "import sys, types; package = sys.modules['peers'] = types.ModuleType('peers'); package.__path__ = [sys.argv[1]]; "
    "from peers.worker import worker; sys.exit(worker(*sys.argv[2:]))"
)
INSTALL = "In a clone, run: python3 -m venv peers && peers/bin/pip install -r requirements-peers.txt"


class PeerFailed(Exception):
    """A failure on their side, with its reason."""


class Process:
    """A worker of one side, as a context manager. It has one mechanism; a request may take `limit` seconds."""

    def __init__(self, side: str, folder: Path, threads: int, peers_python: str | None = None, limit: float = 300.0):
        self.side, self.limit = side, limit
        here = Path(__file__).resolve()
        env = dict(os.environ)
        for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM", "NUMEXPR"):
            env[f"{name}_NUM_THREADS"] = str(threads)
        if peers_python is None:
            env["PYTHONPATH"] = os.pathsep.join([str(here.parents[2]), *filter(None, [env.get("PYTHONPATH")])])
            code = "import sys; from dptext_lab.peers.worker import worker; sys.exit(worker(*sys.argv[1:]))"
            command = [sys.executable, "-c", code, side, str(folder)]
        else:
            # They read caches and word lists from the home folder, so they get an empty one.
            env |= {"HOME": str(folder), "USERPROFILE": str(folder), "NLTK_DATA": str(folder / "nltk")}
            command = [peers_python, "-I", "-c", THEIRS, str(here.parent), side, str(folder)]
        # Their output matters only if they fail.
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                text=True,
                encoding="utf-8",
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise InputError(f"{command[0]} cannot be started ({error}). Give a Python program. {INSTALL}") from error

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
        """End the worker and its helper processes."""
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def ask(self, do: str, **more: Any) -> Any:
        """Return the answer to one request. Raises PeerFailed if their side fails, and DPTextError if ours fails."""
        assert self.process.stdin and self.process.stdout
        # One package can wait for helper processes that never start.
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
        raise DPTextError(f"Our side of the comparison failed: {reply['error']}. Run it with the default --space.")


@contextlib.contextmanager
def pair(folder: Path, threads: int, peers_python: str) -> Iterator[tuple[Process, Process]]:
    """Yield a worker of our side and one of theirs."""
    with Process("ours", folder, threads) as ours, Process("theirs", folder, threads, peers_python) as theirs:
        yield ours, theirs
