"""One visitor over a websocket: what a browser would send and receive, without drawing anything."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState


class Failed(Exception):
    """The app showed an error, or the connection was lost."""


@dataclass
class Visitor:
    """A session of the app. url: of the websocket.

    ids: of the controls, by their keys. strip, told: what the token strip was last given, and what was told beside it.
    finished: how many runs of the page have come to their end. files: what the browser asks for where a button
    downloads, by keys. sent, received: messages and bytes; polls: those that a page sends by itself.
    """

    url: str
    ids: dict[str, str] = field(default_factory=dict)
    strip: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    finished: int = 0
    sent: int = 0
    received: int = 0
    received_bytes: int = 0
    pages: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    polls: int = 0
    mechanism: str = "DP-MLM"
    problem: str = ""
    _page: str = ""
    _session: str = ""
    _fragments: dict[str, str] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _polls: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _made: dict[str, str] = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self) -> None:
        """Connect, and ask for the first page."""
        self._socket = await websockets.connect(
            self.url, subprotocols=["streamlit"], max_size=None, open_timeout=60, ping_interval=None
        )
        self._reader = asyncio.create_task(self._read())
        await self._send(BackMsg())

    async def close(self) -> None:
        self._stop_polls(list(self._polls))
        self._reader.cancel()
        await self._socket.close()

    async def until(self, met: Callable[[], bool], seconds: float) -> bool:
        """Whether it was met in time."""
        deadline = time.monotonic() + seconds
        while not met():
            if self.problem:
                raise Failed(self.problem)
            self._news.clear()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                return met()
        return True

    # What a visitor does. Each returns at once; what comes of it is seen by ``until``.

    async def rewrite(self, text: str) -> None:
        await self._changed("play_text", "string_value", text)

    async def press(self, key: str) -> None:
        await self._changed(key, "trigger_value", True)
        del self._states[self.ids[key]]

    async def unfold(self, key: str) -> None:
        """What is drawn when it is opened."""
        await self._changed(key, "bool_value", True)

    async def choose(self, key: str, value: str) -> None:
        """In a list."""
        await self._changed(key, "string_value", value)

    async def pick(self, key: str, *values: str) -> None:
        """In a row of buttons; nothing: none is chosen any more."""
        state = self._state(key)
        state.string_array_value.SetInParent()
        state.string_array_value.data[:] = values
        await self._rerun(self._fragments.get(key, ""))

    async def let_go(self, epsilon: float) -> None:
        """The slider, at the end of a drag: the browser has worked out everything that was seen during it."""
        view = {"run": self.strip["run"], "eps": epsilon, "token": None, "copies": []}
        await self._changed("play_strip", "json_value", json.dumps({"view": view}))

    async def go_to(self, page: str) -> None:
        """Another page of the app, by the last part of its address."""
        self._page = self.pages[page]
        self._states.clear()
        self.ids.clear()
        self.strip.clear()
        await self._rerun()

    async def download(self, key: str) -> str:
        """The address that a button's file is given once it is asked for, from the server's root."""
        message = BackMsg()
        asked = message.backend_operation_request
        asked.request_id, asked.session_id = f"{key} {self.sent}", self._session
        asked.deferred_file.file_id = self.files[key]
        await self._send(message)
        if not await self.until(lambda: asked.request_id in self._made, 60):
            raise Failed(f"no file came for {key}")
        return self._made.pop(asked.request_id)

    # The protocol.

    def _state(self, key: str) -> WidgetState:
        name = self.ids[key]
        return self._states.setdefault(name, WidgetState(id=name))

    async def _changed(self, key: str, kind: str, value: Any) -> None:
        setattr(self._state(key), kind, value)
        await self._rerun(self._fragments.get(key, ""))

    async def _rerun(self, fragment: str = "", poll: bool = False) -> None:
        message = BackMsg()
        message.rerun_script.widget_states.widgets.extend(self._states.values())
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = poll
        await self._send(message)

    async def _send(self, message: BackMsg) -> None:
        if message.WhichOneof("type") is None:
            message.rerun_script.query_string = ""
        self.sent += 1
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for data in self._socket:
                self.received += 1
                self.received_bytes += len(data)
                message = ForwardMsg()
                message.ParseFromString(data)
                self._take(message)
                self._news.set()
        except websockets.ConnectionClosed as error:
            self.problem = self.problem or f"the connection was lost: {error}"
            self._news.set()

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session":
                new = message.new_session
                self._page = new.page_script_hash
                self._session = new.initialize.session_id or self._session
                self.pages |= {p.url_pathname: p.page_script_hash for p in new.app_pages}
                if not message.metadata.run.fragment_ids:
                    self._stop_polls(list(self._polls))
            case "navigation":
                self.pages |= {p.url_pathname: p.page_script_hash for p in message.navigation.app_pages}
                self._page = message.navigation.page_script_hash
            case "delta":
                if message.delta.WhichOneof("type") == "new_element":
                    self._element(message.delta.new_element, message.delta.fragment_id)
                elif name := message.delta.add_block.popover.id:
                    self._named(name, message.delta.fragment_id)
            case "auto_rerun":
                poll = self._poll(message.auto_rerun.interval, message.auto_rerun.fragment_id)
                self._stop_polls([message.auto_rerun.fragment_id])
                self._polls[message.auto_rerun.fragment_id] = asyncio.create_task(poll)
            case "stop_auto_rerun":
                self._stop_polls(list(message.stop_auto_rerun.fragment_ids))
            case "backend_operation_response":
                answer = message.backend_operation_response
                self.problem = self.problem or answer.error_msg
                self._made[answer.request_id] = answer.deferred_file.url
            case "script_finished":
                # A run that makes way for another one has not come to its end.
                self.finished += message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def _named(self, name: str, fragment: str) -> str:
        """The key of a control."""
        key = name.split("-", 2)[-1]
        self.ids[key], self._fragments[key] = name, fragment
        return key

    def _element(self, element: Any, fragment: str) -> None:
        kind = element.WhichOneof("type")
        one = getattr(element, kind)
        if kind == "exception":
            self.problem = f"{one.type}: {one.message}"
        if name := getattr(one, "id", ""):
            key = self._named(name, fragment)
        if kind == "download_button":
            self.files[key] = one.deferred_file_id
        if kind == "bidi_component" and name.endswith("-play_strip"):
            self.strip = json.loads(one.json)
        if kind == "bidi_component" and name.endswith("-play_strip_here"):
            self.told = json.loads(one.json)

    def _stop_polls(self, fragments: list[str]) -> None:
        for fragment in fragments:
            if (task := self._polls.pop(fragment, None)) is not None:
                task.cancel()

    async def _poll(self, seconds: float, fragment: str) -> None:
        while True:
            await asyncio.sleep(seconds)
            self.polls += 1
            await self._rerun(fragment, poll=True)
