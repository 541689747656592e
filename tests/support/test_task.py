"""A task: what long work tells, and how it is stopped."""

from __future__ import annotations

import inspect
import io
import sys

import pytest
from tqdm import tqdm

import dptext_core as dpt
from dptext_core.support.task import UNWATCHED, on_terminal


def test_it_tells_its_listener_and_stops_where_it_is_asked_to():
    told: list[tuple[int, int]] = []
    task = dpt.Task(lambda done, of: told.append((done, of)))
    task.report(1, 2)
    task.check()
    assert told == [(1, 2)] and not task.cancelled
    task.cancel()
    assert task.cancelled
    with pytest.raises(dpt.Cancelled, match=r"^Stopped as asked\.$"):
        task.check()
    with pytest.raises(dpt.Cancelled, match="What was learned is kept"):
        task.check("What was learned is kept.")


def test_parts_tell_their_share_in_order_and_stop_with_the_whole():
    shares: list[float] = []
    task = dpt.Task(lambda done, of: shares.append(done / of))
    first, second = task.child(0, 1, 4), task.child(1, 4, 4)
    first.report(1, 2)
    second.child(0, 0.5).report(3, 3)
    second.report(0, 0)
    second.report(7, 7)
    assert shares == [0.125, 0.625, 0.25, 1.0]
    quiet = task.quiet
    quiet.report(1, 1)
    quiet.child(0, 1).report(1, 1)
    assert len(shares) == 4 and quiet.quiet is quiet
    quiet.cancel()
    assert task.cancelled and first.cancelled and second.child(0, 1).cancelled


def test_what_a_listener_raises_ends_the_work():
    def gone(done: int, of: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        dpt.Task(gone).child(0, 1).report(1, 2)


def test_one_that_nobody_watches_does_nothing_and_nobody_can_stop_it_for_all():
    UNWATCHED.report(1, 2)
    UNWATCHED.check()
    assert UNWATCHED.quiet is UNWATCHED and UNWATCHED.child(0, 1) is UNWATCHED and not UNWATCHED.cancelled
    with pytest.raises(TypeError):
        UNWATCHED.cancel()


def test_who_calls_the_core_may_give_none():
    members = [getattr(dpt, name) for name in dpt.__all__]
    called = [f for f in members if inspect.isfunction(f)] + [f for _, f in inspect.getmembers(dpt.Mechanism)]
    public = [f for f in called if inspect.isfunction(f) and not f.__name__.startswith("_")]
    given = {
        f.__name__: inspect.signature(f).parameters["task"] for f in public if "task" in inspect.signature(f).parameters
    }
    # What an author of a mechanism writes or calls there always has a task.
    written = {"prepare_document", "rewrite_prepared", "rewrite_list", "rewrite_repeatedly", "rewrite_one_by_one"}
    assert all(given.pop(name).annotation == "Task" for name in (*written, "prepared"))
    assert len(given) > 10 and all(p.default is None for p in given.values()), given
    m = dpt.get_mechanism("santext", epsilon=8.0)
    text = m.prepare("a doctor", task=None)
    assert m.rewrite(text, task=None).text and len(m.rewrites(text, 2, task=None)) == 2
    assert len(m.sweep(text, epsilons=[1.0, 2.0], task=None).results) == 2


def test_a_bar_of_tqdm_listens():
    out = io.StringIO()
    bar = tqdm(total=1, file=out, mininterval=0)
    task = dpt.Task(lambda done, of: bar.update(done / of - bar.n))
    for done in (3, 7, 10):
        task.child(0, 1).report(done, 10)
    assert bar.n == 1 and " 70%" in out.getvalue()


@pytest.mark.parametrize("watched", [True, False])
def test_there_is_a_line_only_where_somebody_watches(monkeypatch, watched):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return watched

    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    task = on_terminal("auditing")
    task.report(2, 5)
    task.report(5, 5)
    assert out.getvalue() == ("auditing … 40%\rauditing … 100%\n" if watched else "")
    monkeypatch.setattr(sys, "stderr", None)
    on_terminal("auditing").report(5, 5)
