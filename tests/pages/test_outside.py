"""The app asks nothing of any other machine, whatever a stranger sends; what a browser would ask for is not used."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from dptext_studio.server import streamlit_patches

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "load"))

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOST = "demo.example.org"
FOREIGN = "https://elsewhere.example"
BROKEN = ("http://[::1", "http://[elsewhere]", "//", "http://a]")
STREAMLIT = [sys.executable, "-m", "streamlit"]


def image_command() -> list[str]:
    """What the image runs, as this machine can."""
    line = re.search(r"^CMD \[.*exec python -m streamlit (.*)\"\]$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert line is not None
    options = re.sub(r"\$\{DPTEXT_HOST:\?[^}]*\}", HOST, line[1].replace('\\"', '"'))
    return [*STREAMLIT, *shlex.split(options)]


#: How the app is started → the command, and the name under which it is asked.
STARTS = {
    "README": ([*STREAMLIT, "run", "app.py", "--server.headless=true"], ""),
    "dptext app": ([sys.executable, "-m", "dptext_core", "app", "--headless"], ""),
    "Dockerfile": (image_command(), HOST),
    "a free tier": ([*STREAMLIT, "run", "hosting/streamlit_app.py", "--server.headless=true"], ""),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def health(port: int, origin: str = "") -> float:
    """Seconds until the server says that it is well."""
    begin = time.monotonic()
    headers = {"Origin": origin} if origin else {}
    question = urllib.request.Request(f"http://127.0.0.1:{port}/_stcore/health", headers=headers)
    with urllib.request.urlopen(question, timeout=30) as answer:
        assert answer.read() == b"ok"
        assert answer.headers["Access-Control-Allow-Origin"] is None
    return time.monotonic() - begin


def handshake(port: int, host: str, origin: str) -> int:
    """The status of the answer to a request for the app's websocket."""
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: c3RyZWFtbGl0IHN0cmVhbQ==",
        f"Origin: {origin}",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(link.recv(4096).split()[1])


@contextmanager
def served(command: list[str], tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """The app on a machine without a network: its port, and the file of what it asked of others."""
    port, asked, log = free_port(), tmp_path / "asked", tmp_path / "log"
    asked.touch()
    path = os.pathsep.join([str(ROOT / "tests" / "outside"), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": path, "OUTSIDE": str(asked), "DPTEXT_JOBS": str(tmp_path / "jobs")}
    flag = ["--port", str(port)] if "dptext_core" in command else [f"--server.port={port}"]
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [*command, *flag], cwd=ROOT, env=env, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                health(port)
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
                time.sleep(0.1)
        yield port, asked
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@pytest.mark.parametrize("start", STARTS)
def test_a_stranger_makes_the_server_ask_nobody_and_holds_up_nobody(start, tmp_path):
    command, name = STARTS[start]
    with served(command, tmp_path) as (port, asked):
        host = name or f"localhost:{port}"
        with ThreadPoolExecutor(20) as strangers:
            answers = [strangers.submit(handshake, port, host, FOREIGN) for _ in range(20)]
            waits = [health(port, origin) for origin in (FOREIGN, "null", "") * 3]
        assert {answer.result() for answer in answers} == {403}
        assert max(waits) < 2, "a second or more of each stranger's would add up to far more"
        assert handshake(port, host, f"http://{host}") == 101, "who has the page's own origin comes in"
        assert handshake(port, host, FOREIGN) == 403, "also once there was a session"
        assert {handshake(port, host, broken) for broken in BROKEN} == {403}
        assert asked.read_text() == ""


@pytest.mark.slow
def test_a_visit_with_a_rewrite_asks_nobody(tmp_path):
    from visitor import Visitor

    async def stay(url: str) -> bool:
        visitor = Visitor(url)
        await visitor.open()
        came = await visitor.until(lambda: bool(visitor.strip) and visitor.finished > 0, 60)
        await visitor.close()
        return came

    with served(STARTS["README"][0], tmp_path) as (port, asked), ThreadPoolExecutor(1) as own:
        assert own.submit(lambda: asyncio.run(stay(f"ws://localhost:{port}/_stcore/stream"))).result()
        assert asked.read_text() == ""


def test_a_blocked_process_is_seen_to_ask(tmp_path):
    """The tests above can fail: what refuses a process's questions writes them down."""
    code = (
        "import contextlib, socket, urllib.request\n"
        "for ask in (lambda: urllib.request.urlopen('http://elsewhere.example'), lambda: socket.create_connection(\n"
        "    ('192.0.2.1', 80)), lambda: socket.create_connection(('127.0.0.1', 1))):\n"
        "    with contextlib.suppress(OSError): ask()\n"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "outside"), "OUTSIDE": str(tmp_path / "asked")}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)
    asked = {line.split()[1] for line in (tmp_path / "asked").read_text().splitlines()}
    assert asked == {"elsewhere.example", "192.0.2.1"}


#: Elements for which a browser asks other sites: tiles of maps, and whatever an address names.
FETCHING = {"map", "pydeck_chart", "mapbox", "login", "iframe", "video", "audio"}
#: Kinds of Plotly's traces whose maps come from other sites.
MAPS = re.compile(r"scattergeo|choropleth|scattermap|densitymap|mapbox|topojson", re.IGNORECASE)


def test_pages_and_settings_name_nothing_that_a_browser_fetches_elsewhere():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["browser"]["gatherUsageStats"] is False
    theme = str(settings["theme"])
    assert not re.findall(r"'\w*[fF]ont'", theme) and "://" not in theme
    looked_at = 0
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "dptext_studio").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert not MAPS.search(source), path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "st":
                assert node.attr not in FETCHING, f"{path}: st.{node.attr}"
                looked_at += 1
    assert looked_at > 500


def test_one_module_alone_replaces_parts_of_streamlit():
    """Nothing else assigns to what it imported of Streamlit, its public name ``st`` included."""
    replaced = set()
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "dptext_studio").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            (alias.asname or alias.name).split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            if (getattr(node, "module", None) or alias.name).split(".")[0] == "streamlit"
        }
        assigned = (t for node in ast.walk(tree) if isinstance(node, ast.Assign) for t in node.targets)
        if any(isinstance(t, ast.Attribute) and getattr(t.value, "id", None) in imported for t in assigned):
            replaced.add(path.relative_to(ROOT).as_posix())
    assert replaced == {"dptext_studio/server/streamlit_patches.py"}


def test_one_module_alone_imports_what_is_not_public_in_streamlit():
    """Else a new version would have to be tried everywhere."""
    inner = {}
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "dptext_studio").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "streamlit" and not node.level:
                inner.setdefault(path.relative_to(ROOT).as_posix(), set()).add(node.module)
            if isinstance(node, ast.Import):
                names = {a.name for a in node.names if a.name.startswith("streamlit.")}
                inner.setdefault(path.relative_to(ROOT).as_posix(), set()).update(names)
    assert {path for path, names in inner.items() if names} == {"dptext_studio/server/streamlit_patches.py"}


def test_an_untested_version_of_streamlit_is_refused():
    (needed,) = (r for r in PROJECT["optional-dependencies"]["app"] if r.startswith("streamlit"))
    low, high = (".".join(map(str, v)) for v in streamlit_patches.TESTED)
    assert needed == f"streamlit>={low},<{high}"
    streamlit_patches.check_version()
    streamlit_patches.check_version(f"{low}.3")
    for other in ("1.66.9", f"{high}.0", "2.67.0", "unknown"):
        with pytest.raises(RuntimeError, match="tested"):
            streamlit_patches.check_version(other)
