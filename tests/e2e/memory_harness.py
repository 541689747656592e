"""Runs the app as ``streamlit run`` does, in a process that tells of itself on another port.

    python tests/e2e/memory_harness.py PORT ASK_PORT STOP_SECONDS CLOSE_SECONDS [--option value ...]

``/jobs``: how many jobs run, how many were stopped because their visitor had gone, and how many sessions there are.
``/cpu``: the seconds of the processor that it and its finished children took.
``/routes``: the addresses that the server answers, each with its methods.
``/scan/KEY``: how many objects hold a word with this key (see memory_scan),
and where. ``/plant/KEY``: keep such a word, as a control. The key comes reversed, so that asking plants nothing.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import weakref
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP), str(TOP / "tests")]
#: A table of this name is read again and again, until somebody stops it.
ENDLESS = "endless.csv"
planted: dict[str, int] = {}
left = 0
#: Every job that was made, for as long as somebody holds it: to look for them among all objects takes a tenth of a
#: second, in which the server does nothing else, and it is asked for five times a second.
jobs_made: list[weakref.ref[Any]] = []


def running() -> int:
    """How many jobs run."""
    held = [job for made in jobs_made if (job := made()) is not None]
    return sum(job._thread.is_alive() for job in held)


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        from memory_scan import Marker
        from starlette.applications import Starlette

        from dptext_studio.server import sessions

        _, what, key = (self.path + "/").split("/")[:3]
        answer: Any = None
        if what == "jobs":
            answer = {"running": running(), "left": left, "sessions": len(sessions._visits)}
        elif what == "cpu":
            answer = sum(os.times()[:4])
        elif what == "routes":
            apps = [a for a in gc.get_objects() if type(a) is Starlette]
            answer = [[r.path, sorted(getattr(r, "methods", None) or [])] for app in apps for r in app.routes]
        elif what == "plant":
            planted[f"A text with {Marker(key[::-1]).word(1)} in it."] = 1
        elif what == "scan":
            answer = {n: dict(kinds) for n, kinds in Marker(key[::-1]).find().items()}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main(port: str, ask: str, stop: str, close: str, *further: str) -> None:
    from streamlit.web import cli

    from dptext_studio.server import batch, jobs, sessions, streamlit_patches
    from dptext_studio.views.explore import meaning

    sessions.STOP, sessions.CLOSE = float(stop), float(close)
    streamlit_patches.FETCH = min(streamlit_patches.FETCH, 2 * float(close))
    meaning.MOST = meaning.LEAST  # texts of a gauge: each takes the server as long as a rewrite
    leave, begin = jobs.Job.leave, jobs.Job.__init__

    def noted(job: jobs.Job, *given: Any, **options: Any) -> None:
        begin(job, *given, **options)
        jobs_made.append(weakref.ref(job))

    def counted(job: jobs.Job) -> None:
        global left
        before = job._is_abandoned
        leave(job)
        left += job._is_abandoned and not before

    def read(path: Path, *given: Any, **options: Any) -> Any:
        while path.name == ENDLESS:
            look(path, *given, **options)
        return look(path, *given, **options)

    batch.look, look = read, batch.look
    jobs.Job.leave, jobs.Job.__init__ = counted, noted
    Thread(target=HTTPServer(("127.0.0.1", int(ask)), Answers).serve_forever, daemon=True).start()
    options = {"port": port, "address": "127.0.0.1", "headless": "true", "fileWatcherType": "none"}
    arguments = [x for name, value in options.items() for x in (f"--server.{name}", value)]
    sys.argv = ["streamlit", "run", str(TOP / "app.py"), *arguments, *further]
    cli.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
