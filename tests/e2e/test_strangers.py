"""Somebody without a session asks everything that the server answers, while a visitor's session holds a text.

The stranger knows that text, and every file that is made of it, to the last byte, and wants to know whether somebody
else has them.
"""

from __future__ import annotations

import asyncio
import http.client
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import SOON, TOP, harness
from memory_scan import Marker
from streamlit.runtime.memory_media_file_storage import _calculate_file_id, get_extension_for_mimetype

sys.path.append(str(TOP / "tests" / "load"))

pytestmark = pytest.mark.browser

#: What Streamlit answers, by the server's own list. One that is not here has to be looked at first.
ROUTES = {
    "/_stcore/health",
    "/_stcore/metrics",
    "/_stcore/host-config",
    "/media/{file_id:path}",
    "/_stcore/upload_file/{session_id}/{file_id}",
    "/component/{path:path}",
    "/_stcore/bidi-components/{path:path}",
    "/_stcore/stream",
    "/auth/login",
    "/auth/logout",
    "/oauth2callback",
    "/_stcore/agent/interact",
    "/_stcore/agent/openapi.json",
    "/_stcore/agent/mcp",
    "",
}
#: Of what says that it is one of these, a stranger learns nothing by it.
KINDS = ("text/plain", "text/html", "application/json", "text/csv", "application/octet-stream", "")
DOWNLOADS = ("play_download", "share_release_rewrite_json", "share_inspection_rewrite_json", "share_session")

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Hosted for the public."""
    options = "--server.allowedHosts", "127.0.0.1"
    with harness(tmp_path_factory.mktemp("strangers"), *SOON, *options, DPTEXT_PUBLIC="1") as found:
        yield found


def ask(url: str, path: str, method: str = "GET", **headers: str) -> Answer:
    """Of a server, without a cookie and without a session."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def everything(url: str, routes: Sequence[tuple[str, Sequence[str]]], guess: str) -> dict[tuple[str, str], Answer]:
    """What every route says to a stranger who fills its blanks with a guess."""
    said = {}
    for path, methods in routes:
        path = re.sub(r"\{\w+(:path)?\}", guess, path) or "/"
        for method in {*methods, "GET", "HEAD", "OPTIONS"}:
            said[method, path] = ask(url, path, method)
    said["METRICS", "as data"] = ask(url, "/_stcore/metrics", Accept="application/x-protobuf")
    for _, headers, _ in said.values():
        for changing in ("date", "set-cookie"):
            headers.pop(changing, None)
    return said


def addresses(content: bytes, names: Sequence[str]) -> list[str]:
    """Where Streamlit would put a file that is known in full."""
    found = []
    for kind in (*KINDS, *(f"{k}; charset=utf-8" for k in KINDS)):
        for name in (*names, None):
            number = _calculate_file_id(content, kind, name)
            found += [f"/media/{number}", f"/media/{number}{get_extension_for_mimetype(kind)}"]
    return found


@pytest.mark.slow
def test_a_stranger_who_knows_a_text_and_its_files_cannot_tell_whether_somebody_has_them(server):
    from visitor import Visitor

    url, asked = server
    routes = asked("routes")
    assert {path for path, _ in routes} == ROUTES
    with_blanks = [(path, methods) for path, methods in routes if "{" in path]
    word = Marker().word(1)

    async def visit() -> dict[str, tuple[str, Answer]]:
        visitor = Visitor(url.replace("http", "ws") + "/_stcore/stream")
        await visitor.open()
        assert await visitor.until(lambda: bool(visitor.strip) and visitor.finished > 0, 60)
        before = everything(url, routes, "x")
        run = visitor.strip["run"]
        await visitor.rewrite(f"My doctor {word} treated my sister for {word}.")
        assert await visitor.until(lambda: visitor.strip["run"] != run, 60)
        # A page that still runs gives its buttons other files; it may have ended by now.
        done = visitor.finished
        await visitor.until(lambda: visitor.finished > done, 3)
        done = visitor.finished
        await visitor.unfold("share")
        await visitor.unfold("play_others")
        assert await visitor.until(lambda: visitor.finished > done and set(DOWNLOADS) <= set(visitor.files), 60)
        held = {}
        for key in DOWNLOADS:
            address = await visitor.download(key)
            held[address] = key, ask(url, address)
        after = everything(url, routes, "x")
        # Nor would it say more to who asks later: what it counts it keeps for some seconds.
        assert after["GET", "/_stcore/metrics"][2] == b"# EOF\n" and after["METRICS", "as data"][2] == b""
        for asking, answer in after.items():
            assert answer == before[asking], asking
            assert word.encode() not in b" ".join([repr(answer[1]).encode(), answer[2]]).lower(), asking
        tried = 0
        for address, (key, (status, headers, content)) in held.items():
            assert status == 200 and content, "while the visitor is there, the address is good"
            kind = headers["content-type"].removesuffix("; charset=utf-8")
            (name,) = re.findall('filename="(.+)"', headers["content-disposition"])
            # How an address comes about is known, but for what is random in it.
            assert address.rpartition("/")[2].partition(".")[0] == _calculate_file_id(content, kind, name), key
            for guess in addresses(content, [name]):
                tried += 1
                assert ask(url, guess)[0] == 404, (key, guess)
            assert re.fullmatch(r"[\w/]+; id=[\w-]{22}", kind), "128 bits"
            for guess in addresses(content, [name])[:2]:
                for asking, answer in everything(url, with_blanks, guess.rpartition("/")[2]).items():
                    assert word.encode() not in answer[2].lower(), asking
        assert tried > 100 and len({headers["content-type"] for _, (_, headers, _) in held.values()}) == len(held)
        await visitor.close()
        return held

    with ThreadPoolExecutor(1) as own:  # the browser's loop runs in this thread
        held = own.submit(lambda: asyncio.run(visit())).result()
    deadline = time.monotonic() + 30
    while any(ask(url, address)[0] == 200 for address in held):
        assert time.monotonic() < deadline, "with its session a file goes"
        time.sleep(0.2)
    assert any(word.encode() in content.lower() for _, (_, _, content) in held.values()), "what was asked is private"
