"""The style that the server writes into the first page."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from dptext_studio.server.early_style import EarlyStyle

PAGE = b"<html><head></head><body><div id=root></div></body></html>"


def answer(kind: bytes, accept: bytes, body: bytes = PAGE) -> tuple[list[dict], list[tuple[bytes, bytes]]]:
    """Return what is sent for a request, in two parts of a body, and the headers that the app got."""
    sent: list[dict] = []
    got: list[tuple[bytes, bytes]] = []

    async def app(scope, receive, send):
        got.extend(scope["headers"])
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"x-own", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:9], "more_body": True})
        await send({"type": "http.response.body", "body": body[9:]})

    async def send(message):
        sent.append(message)

    async def receive():
        return {}

    scope = {"type": "http", "headers": [(b"accept", accept), (b"accept-encoding", b"gzip")]}
    page = EarlyStyle(app, ".a { color: red; }")
    with ThreadPoolExecutor(1) as apart:  # this thread may have a loop that runs: a browser's
        apart.submit(lambda: asyncio.run(page(scope, receive, send))).result()
    return sent, got


def test_a_page_gets_the_style_before_its_elements():
    (start, body), got = answer(b"text/html; charset=utf-8", b"text/html,*/*")
    page = body["body"]
    assert page.index(b"<body>") < page.index(b".a { color: red; }") < page.index(b"<div id=root>")
    assert page.index(b"modulepreload") < page.index(b"</head>")
    assert dict(start["headers"])[b"content-length"] == str(len(page)).encode()
    assert dict(start["headers"])[b"x-own"] == b"1" and b"accept-encoding" not in dict(got)


@pytest.mark.parametrize(("kind", "accept"), [(b"text/css", b"text/html"), (b"text/html", b"application/json")])
def test_everything_else_is_sent_as_it_is(kind, accept):
    sent, _ = answer(kind, accept)
    assert b"".join(m["body"] for m in sent[1:]) == PAGE and len(sent) == 3
