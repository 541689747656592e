"""A session whose visitor left: its work stops after some seconds, and later it is closed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

import dptext_core as dpt
from dptext_studio.server import sessions, streamlit_patches
from dptext_studio.server.jobs import GONE, Job, Work

ROOT = Path(__file__).resolve().parents[2]


def said(job: Job, stopped: str = "") -> str:
    """What a page says of a finished job."""
    work = Work(job=job)
    assert not work.is_running(0)
    return work.failure_text(stopped)


class Server:
    """As much of Streamlit's runtime as is asked. Calls into its loop are made at once."""

    def __init__(self) -> None:
        self.active: set[str] = set()
        self.closed: list[str] = []
        self.stopped = self
        self.running: set[str] = set()

    def is_active_session(self, session: str) -> bool:
        return session in self.active

    def get_app_session(self, session: str) -> SimpleNamespace:
        return SimpleNamespace(_scriptrunner=session if session in self.running else None)

    def close_session(self, session: str) -> None:
        self.closed.append(session)

    def get_loop(self) -> Server:
        return self

    def call_soon_threadsafe(self, call, *given) -> None:
        call(*given)


class Session:
    """As much of Streamlit's session as is asked: its runner has stopped, and nothing of what it said is sent yet."""

    def __init__(self) -> None:
        self._state, self._scriptrunner = AppSessionState.APP_IS_RUNNING, self
        self._event_loop = self
        self.later: list = []
        self.fragments = {"a"}
        self.accepts = False
        self.accepted: list = []

    def call_later(self, _seconds, call, *given) -> None:
        self.later.append((call, given))

    def tick(self) -> None:
        due, self.later = self.later, []
        for call, given in due:
            call(*given)

    def has_fragment(self, name: str) -> bool:
        return name in self.fragments

    def request_rerun(self, asked) -> bool:
        if self.accepts:
            self.accepted.append(asked)
        return self.accepts


def test_a_part_of_a_page_waits_until_all_of_the_run_before_it_is_sent():
    begun: list = []
    begin = streamlit_patches._once_ended(lambda session, asked: begun.append(asked))
    part, page = RerunData(fragment_id="a"), RerunData()
    session = Session()
    begin(session, part)
    session.tick()
    assert begun == [] and len(session.later) == 1, "it looks again"
    session._scriptrunner = None  # all that the run said has gone through the loop
    session.tick()
    assert begun == [part] and session.later == []
    begin(session, page)
    busy = Session()
    begin(busy, page)
    assert begun == [part, page, page], "a run of the whole page draws all anew and waits for nothing"
    begin(busy, part)
    busy.accepts = True  # another one began meanwhile
    busy.tick()
    assert busy.accepted == [part] and busy.later == [] and len(begun) == 3
    for gone in ("fragment", "session"):
        left = Session()
        begin(left, part)
        left.fragments -= {"a"} if gone == "fragment" else set()
        left._state = AppSessionState.SHUTDOWN_REQUESTED if gone == "session" else left._state
        left._scriptrunner = None
        left.tick()
        assert left.later == [] and len(begun) == 3, gone


def test_it_is_put_in_once(monkeypatch):
    for name, of in (("_create_scriptrunner", "begins"), ("_clear_queue", "clears")):
        now = getattr(AppSession, name)  # where a page ran in this process, it is in already
        monkeypatch.setattr(AppSession, name, before := getattr(now, of, now))
        for _ in range(2):
            streamlit_patches.let_runs_end()
        assert getattr(AppSession, name) is not before and getattr(getattr(AppSession, name), of) is before


def message(part: str, path: list[int], text: str | None = None) -> ForwardMsg:
    """A part of a page draws a text, or room for more, at a place."""
    drawn = ForwardMsg()
    drawn.metadata.delta_path.extend(path)
    drawn.delta.fragment_id = part
    if text is None:
        drawn.delta.add_block.SetInParent()
    else:
        drawn.delta.new_element.markdown.body = text
    return drawn


def seen(messages: list[ForwardMsg]) -> dict[tuple[int, ...], str]:
    """What stands where in a browser that, as Streamlit's, takes a message only where all places before it are."""
    places: dict[tuple[int, ...], str] = {}
    for drawn in messages:
        if path := tuple(drawn.metadata.delta_path):
            room = sum(place[:-1] == path[:-1] for place in places)
            assert path[-1] <= room and (len(path) == 1 or path[:-1] in places), f"Bad delta path {path}: {places}"
            places[path] = drawn.delta.new_element.markdown.body
    return places


@pytest.mark.parametrize("again", ["a", "b"])
def test_a_part_that_runs_again_leaves_what_was_not_sent_yet(again):
    session = Session()
    session._browser_queue = queue = ForwardMsgQueue()
    clear = streamlit_patches._of_pages(getattr(AppSession._clear_queue, "clears", AppSession._clear_queue))

    def draw(text: str) -> list[ForwardMsg]:  # part a, and in it b
        a = [message("a", [0]), message("a", [0, 0], text)], [message("a", [0, 2], text)]
        b = [message("b", [0, 1]), message("b", [0, 1, 0], text)]
        return [*a[0], *b, *a[1]]

    page = draw("first")
    sent, waiting = page[:1], page[1:]
    for drawn in waiting:
        queue.enqueue(drawn)
    clear(session, [again])
    for drawn in draw("second"):
        if again == "a" or drawn.delta.fragment_id == again:
            queue.enqueue(drawn)
    rest = queue.flush()
    outside = "second" if again == "a" else "first"
    assert seen(sent + rest) == {(0,): "", (0, 0): outside, (0, 1): "", (0, 1, 0): "second", (0, 2): outside}
    assert rest[: len(waiting)] == waiting, "what the part draws now takes no place before that"
    queue.enqueue(message("a", [0, 0], "third"))
    clear(session, None)
    assert queue.is_empty(), "a run of the whole page draws all anew"


class Clock(Server):
    """A server whose clock is turned by hand, and which does then what it was to do later."""

    def __init__(self, monkeypatch) -> None:
        super().__init__()
        self.now, self.later = 1000.0, []
        monkeypatch.setattr(sessions.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(streamlit_patches.runtime, "get_instance", lambda: self)

    def call_later(self, seconds, call, *given) -> None:
        self.later.append((self.now + seconds, call, given))

    def turn(self, seconds: float) -> None:
        self.now += seconds
        due = [x for x in self.later if x[0] <= self.now]
        self.later = [x for x in self.later if x[0] > self.now]
        for _, call, given in due:
            call(*given)


def test_a_file_stays_until_a_browser_has_come_for_it_and_then_goes(monkeypatch):
    """However many pages run meanwhile, and though none runs afterwards."""
    now = MediaFileManager.remove_orphaned_files
    monkeypatch.setattr(MediaFileManager, "remove_orphaned_files", frees := getattr(now, "frees", now))
    for _ in range(2):
        streamlit_patches.let_files_arrive()
    assert MediaFileManager.remove_orphaned_files.frees is frees, "put in once"
    clock, storage = Clock(monkeypatch), MemoryMediaFileStorage("/media")
    clock.active.add("dontcare")  # as Streamlit calls a session outside of its pages
    manager = MediaFileManager(storage)
    button = manager.add_deferred(lambda: "a text", "text/plain", "here", "a.txt")
    manager.add(b"a picture", "image/png", "there")
    manager.remove_orphaned_files()
    assert clock.later == [] and len(storage._files_by_id) == 1, "all of it is on a page"
    made = manager.execute_deferred(button).rpartition("/")[2]
    for _ in range(5):  # pages run, the button's own among them
        manager.clear_session_refs()
        manager.remove_orphaned_files()
    clock.turn(streamlit_patches.FETCH - 1)
    assert storage.get_file(made).content == b"a text" and len(storage._files_by_id) == 2
    again = manager.execute_deferred(button).rpartition("/")[2]
    assert again == made, "and a click that was under way gets its file, too"
    clock.turn(1)
    assert [*storage._files_by_id] == [made.partition(".")[0]] and not manager._deferred_callables
    clock.turn(streamlit_patches.FETCH - 1)
    assert storage.get_file(made), "it counts from when it was made last"
    clock.turn(1)
    assert storage._files_by_id == manager._file_metadata == {}
    manager.remove_orphaned_files()
    assert clock.later == [] and manager.loose == {}
    monkeypatch.setattr(streamlit_patches.runtime, "exists", lambda: True)
    monkeypatch.setattr(clock, "media_file_mgr", manager, raising=False)
    button = manager.add_deferred(lambda: (streamlit_patches.file_made(), "another")[1], "text/plain", "here", "a.txt")
    manager.execute_deferred(button)
    clock.turn(streamlit_patches.CHECK_SECONDS)
    clock.turn(streamlit_patches.FETCH - 1)
    assert len(storage._files_by_id) == 1
    clock.turn(1)
    assert storage._files_by_id == {} and [*manager._deferred_callables] == [button], (
        "no page runs, and its button stays"
    )
    first = manager.execute_deferred(button)
    clock.turn(streamlit_patches.CHECK_SECONDS)
    later = manager.add_deferred(lambda: "a third", "text/plain", "there", "b.txt")
    clock.turn(streamlit_patches.FETCH / 2)
    manager.execute_deferred(later)
    manager.remove_orphaned_files()
    clock.turn(streamlit_patches.FETCH / 2)
    assert len(storage._files_by_id) == 1 and first.rpartition("/")[2].partition(".")[0] not in storage._files_by_id
    clock.turn(streamlit_patches.FETCH / 2)
    assert storage._files_by_id == {}, "each goes in its own time, not with the one before it"
    manager.clear_session_refs()
    manager.remove_orphaned_files()
    assert {*manager._deferred_callables} == {button, later}
    clock.active.clear()
    manager.remove_orphaned_files()
    assert not manager._deferred_callables, "nobody is there to click"


def test_a_button_works_while_its_page_takes_long_to_run(monkeypatch):
    """The run gave up the button's id when it began, other visitors' pages end meanwhile, and the browser shows it."""
    now = MediaFileManager.remove_orphaned_files
    monkeypatch.setattr(MediaFileManager, "remove_orphaned_files", getattr(now, "frees", now))
    streamlit_patches.let_files_arrive()
    clock, manager = Clock(monkeypatch), MediaFileManager(MemoryMediaFileStorage("/media"))
    clock.active.add("dontcare")
    former, button = (manager.add_deferred(lambda: "a text", "text/plain", "here", "a.txt") for _ in range(2))
    clock.running.add("dontcare")
    manager.clear_session_refs()
    for _ in range(5):
        manager.remove_orphaned_files()
        clock.turn(streamlit_patches.FETCH / 2)
    assert manager.execute_deferred(button) and former not in manager._deferred_callables
    again = manager.add_deferred(lambda: "a text", "text/plain", "here", "a.txt")
    clock.running.clear()
    manager.remove_orphaned_files()
    clock.turn(streamlit_patches.FETCH)
    assert [*manager._deferred_callables] == [again], "once the page has another id, the former one goes"


def endless(task):
    for i in range(100_000):
        task.report(i, 100_000)
        time.sleep(0.005)


@pytest.fixture
def visit(monkeypatch):
    """A server, a job of session "a" on it, and a look at it at a second of its clock."""
    server, job = Server(), Job(endless, "x")
    monkeypatch.setattr(streamlit_patches.runtime, "get_instance", lambda: server)
    server.active.add("a")
    found = sessions._Visit()
    found.work.add(job)
    yield server, job, lambda now: sessions._look({"a": found}, now)
    job.task.cancel()


def test_work_stops_some_seconds_after_its_visitor_left_and_says_so(visit):
    server, job, look = visit
    assert not look(0.0)
    server.active.clear()
    look(10.0)
    assert not look(10.0 + sessions.STOP - 0.1) and not job.wait(0.1) and not job.task.cancelled
    assert not look(10.0 + sessions.STOP) and job.wait(5) and server.closed == []
    assert said(job, "Stopped.") == str(job.error) == GONE


def test_a_short_loss_of_the_connection_changes_nothing(visit):
    server, job, look = visit
    for second in range(40):
        server.active = set() if second % 5 else {"a"}
        look(float(second))
    assert not job.wait(0.1) and not job.task.cancelled and server.closed == []


def test_a_session_is_closed_before_nobody_can_come_back_to_it(visit):
    server, job, look = visit
    server.active.clear()
    look(0.0)
    assert not look(sessions.CLOSE - 0.1) and server.closed == []
    assert look(sessions.CLOSE) and server.closed == ["a"] and job.wait(5)
    assert job.result is None and sessions.CLOSE < 120


def test_a_result_that_comes_after_the_session_was_closed_is_not_kept():
    go = threading.Event()

    def deaf(task):
        go.wait(5)
        return "a text"

    job = Job(deaf, "x")
    job.forget()
    go.set()
    assert job.wait(5) and job.result is None


def test_a_finished_job_keeps_its_result_while_its_visitor_may_come_back():
    job = Job(lambda task: 5, "x")
    assert job.wait(5)
    job.leave()
    assert job.result == 5 and said(job) == ""


def test_a_stop_by_hand_is_told_as_one():
    job = Job(endless, "x")
    job.task.cancel()
    assert job.wait(5) and said(job, "Stopped.") == "Stopped." and isinstance(job.error, dpt.Cancelled)


class Page:
    """A session as Streamlit has it. busy: looks at it until its page has run. waits: its fragments. other: of its runs
    after the browser was told, so many are of something else."""

    def __init__(self, busy: int, waits: tuple[str, ...] = ("f",), other: int = 0) -> None:
        self.busy, self.waits, self.other = busy, waits, other
        self.told: list[str] = []
        self.job: Job | None = None

    @property
    def _scriptrunner(self) -> object | None:
        self.busy -= 1
        return object() if self.busy >= 0 else None

    def has_fragment(self, name: str) -> bool:
        return name in self.waits

    def _enqueue_forward_msg(self, message: ForwardMsg) -> None:
        if message.stop_auto_rerun.fragment_ids:
            self.told.append("stop")
            if self.other:
                self.other -= 1
            else:
                self.job.waiting_fragment = None  # the fragment sees that the work has ended
        else:
            self.told.append(message.auto_rerun.fragment_id)
            self.busy = 1  # the browser asks, and the page runs


def ended(monkeypatch, page: Page | None, awaited: str | None) -> list[float]:
    """The looks at the page of session "a" once a job that it awaits had ended."""
    looks: list[float] = []
    server = Server()
    server.active.update({"a"} if page else ())
    monkeypatch.setattr(server, "get_app_session", lambda name: page, raising=False)
    monkeypatch.setattr(server, "call_later", lambda s, call, *g: (looks.append(s), call(*g)), raising=False)
    monkeypatch.setattr(streamlit_patches.runtime, "exists", lambda: True)
    monkeypatch.setattr(streamlit_patches.runtime, "get_instance", lambda: server)
    go = threading.Event()
    job = Job(lambda task: go.wait(5), "x")
    job._visitor, job.waiting_fragment = "a", awaited
    if page is not None:
        page.job = job
    go.set()
    job._thread.join(5)
    return looks


@pytest.mark.parametrize("busy", [0, 2])
def test_a_page_that_waits_is_told_once_and_not_while_it_runs(monkeypatch, busy):
    """Its browser asks until it is told to stop, which it is with the first run that follows."""
    page = Page(busy)
    assert ended(monkeypatch, page, "f") == [streamlit_patches.SETTLE] * (busy + 2) and page.told == ["f", "stop"]


def test_a_page_that_ran_for_something_else_is_told_again(monkeypatch):
    page = Page(0, other=1)
    ended(monkeypatch, page, "f")
    assert page.told == ["f", "stop"] * 2


def test_nobody_is_told_who_does_not_wait_or_is_gone(monkeypatch):
    for page, awaited in ((Page(0), None), (Page(0, ()), "f"), (None, "f")):
        ended(monkeypatch, page, awaited)
        assert page is None or page.told == []


def test_the_first_page_imports_no_library_of_tables():
    """pandas and PyArrow take 70 MB, which a small server does not have for each of its processes."""
    code = (
        "import os, sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "from dptext_studio.server import streamlit_patches\n"
        "streamlit_patches.apply()\n"
        "at = AppTest.from_file('app.py', default_timeout=120).run()\n"
        "assert not at.exception and at.get('bidi_component')\n"
        "print(sorted({'pandas', 'pyarrow', 'scipy', 'torch'} & set(sys.modules)), flush=True)\n"
        "os._exit(0)\n"  # a model is being loaded meanwhile
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr[-2000:]
