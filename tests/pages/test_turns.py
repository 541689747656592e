"""Whose turn it is: so much at once, who has the fewest turns first, and long work gives way."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import dptext_core as dpt
from dptext_studio.server import scheduler
from dptext_studio.server.scheduler import Scheduler, Turn


def turn(whose: str = "a", last: bool = False) -> Turn:
    return Turn(whose, dpt.Task(), last=last)


def until(met) -> bool:
    end = time.monotonic() + 5
    while not met():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Begun(threading.Thread):
    """Takes a turn and keeps it until ``go`` is set; ``order`` tells who had one."""

    def __init__(self, queue: Scheduler, mine: Turn, order: list[str], go: threading.Event):
        super().__init__(daemon=True)
        self.queue, self.mine, self.order, self.go = queue, mine, order, go
        self.start()

    def run(self) -> None:
        with self.queue.take(self.mine):
            self.order.append(str(self.mine.whose))
            self.go.wait(5)


def test_no_more_run_than_there_are_places():
    queue, most, now, guard = Scheduler(3), [0], [0], threading.Lock()

    def work(i: int) -> None:
        with queue.take(turn(str(i))):
            with guard:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.002)
            with guard:
                now[0] -= 1

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(work, range(60)))
    assert most == [3] and now == [0] and queue.waiting == 0


def test_who_has_the_fewest_turns_goes_first_then_who_came_first():
    queue, order, hold = Scheduler(2), [], threading.Event()
    first, second = (Begun(queue, turn(w), order, hold if w == "a" else threading.Event()) for w in ("a", "b"))
    assert until(lambda: len(order) == 2)
    waiting = []
    for whose in ("a", "c", "d"):
        waiting.append(Begun(queue, turn(whose), order, hold))
        assert until(lambda: queue.waiting == len(waiting))
    assert [queue.before(w.mine) for w in waiting] == [0, 1, 2] and queue.before(first.mine) == 0
    second.go.set()
    assert until(lambda: len(order) == 3)
    assert order[2] == "c", "a has a turn already"
    hold.set()
    assert until(lambda: len(order) == 5) and sorted(order[3:]) == ["a", "d"]


def test_what_was_given_up_leaves_the_queue_at_once():
    queue, order, hold = Scheduler(1), [], threading.Event()
    first = Begun(queue, turn("a"), order, hold)
    assert until(lambda: order == ["a"])
    stale, other = turn("b"), turn("c")

    def wait_for_it() -> None:
        with pytest.raises(dpt.Cancelled), queue.take(stale):
            order.append("b")

    waits = threading.Thread(target=wait_for_it, daemon=True)
    waits.start()
    assert until(lambda: queue.waiting == 1)
    last = Begun(queue, other, order, hold)
    assert until(lambda: queue.waiting == 2) and queue.before(other) == 1
    queue.give_up(stale)
    assert queue.before(other) == 0, "nobody counts it any more, whether its thread has noticed or not"
    waits.join(5)
    assert queue.waiting == 1
    hold.set()
    assert until(lambda: order == ["a", "c"])
    for thread in (first, last):
        thread.join(5)


def test_long_work_gives_way_and_comes_again(monkeypatch):
    monkeypatch.setattr(scheduler, "SLICE", 0.0)
    queue, order = Scheduler(1), []
    mine, go = turn("long"), threading.Event()
    with queue.take(mine):
        queue.give_way(mine)  # nobody waits
        other = Begun(queue, turn("short"), order, go)
        assert until(lambda: queue.waiting == 1) and order == []
        go.set()
        queue.give_way(mine)
        assert order == ["short"] and other.mine.since == 0.0, "the other one had its turn before this one came again"


def test_who_waits_can_be_stopped():
    queue, order, go = Scheduler(1), [], threading.Event()
    Begun(queue, turn("a"), order, go)
    assert until(lambda: order == ["a"])
    mine = turn("b")
    threading.Timer(0.05, mine.task.cancel).start()
    with pytest.raises(dpt.Cancelled), queue.take(mine):
        pytest.fail("it had no place")
    assert queue.waiting == 0
    go.set()
    assert until(lambda: not queue._running)


def test_an_error_in_a_turn_frees_its_place():
    queue = Scheduler(1)
    with pytest.raises(ValueError), queue.take(turn()):
        raise ValueError
    with queue.take(turn()):
        pass


def test_what_can_wait_goes_after_all_else_and_one_at_a_time():
    queue, order, first, go = Scheduler(2), [], threading.Event(), threading.Event()
    running = [Begun(queue, turn("a"), order, first), Begun(queue, turn("b"), order, first)]
    assert until(lambda: len(order) == 2)
    for whose, last in (("gauge 1", True), ("gauge 2", True), ("rewrite", False)):
        running.append(Begun(queue, turn(whose, last), order, go))
        assert until(lambda: queue.waiting == len(running) - 2)
    first.set()
    assert until(lambda: len(order) == 4) and order[2:] == ["rewrite", "gauge 1"]
    time.sleep(0.05)
    assert queue.waiting == 1, "a place is free, and kept for what cannot wait"
    go.set()
    assert until(lambda: len(order) == 5)
    for each in running:
        each.join(5)
