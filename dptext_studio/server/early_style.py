"""The app's style in the first response to a browser, so that nothing moves once Streamlit has loaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.middleware import Middleware

from . import streamlit_patches

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
#: Request headers of a page that would make the answer compressed or empty.
_LEFT_OUT = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}
_PAGE = b"text/html"


class EarlyStyle:
    """Insert a style sheet into each HTML page that the server sends.

    Streamlit sends styles with a page's elements, and applies them when its code for HTML has loaded, which moves
    existing elements. The sheet is in the body before the elements, so it overrides Streamlit's own styles in the head,
    and styles of pages override it.
    """

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]], css: str):
        self.app = app
        self.head = "".join(f'<link rel="modulepreload" crossorigin href="{c}">' for c in streamlit_patches.html_code())
        self.body = f"<style>\n{css}</style>"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        wants_page = scope["type"] == "http" and any(k == b"accept" and _PAGE in v for k, v in scope["headers"])
        if not wants_page:
            await self.app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()

        async def hold(message: Message) -> None:
            """Hold back a page until it is complete, and pass on everything else."""
            if message["type"] == "http.response.start":
                start.update(message)
            if not any(k.lower() == b"content-type" and v.startswith(_PAGE) for k, v in start.get("headers", ())):
                await send(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    page = self.styled(bytes(body))
                    size = (b"content-length", str(len(page)).encode())
                    start["headers"] = [h for h in start["headers"] if h[0].lower() != size[0]] + [size]
                    await send(start)
                    await send({"type": "http.response.body", "body": page})

        headers = [(k, v) for k, v in scope["headers"] if k not in _LEFT_OUT]
        await self.app({**scope, "headers": headers}, receive, hold)

    def styled(self, page: bytes) -> bytes:
        """Return a page with the style inserted."""
        page = page.replace(b"</head>", self.head.encode() + b"</head>", 1)
        return page.replace(b"<body>", b"<body>" + self.body.encode(), 1)


def middleware(css: str) -> list[Middleware]:
    """Return the middleware that the app's server applies to each request."""
    return [Middleware(EarlyStyle, css)]
