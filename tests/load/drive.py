"""A room of visitors on one server, over websockets: how long each answer takes and what it costs.

    python tests/load/drive.py --sessions 1 10 30 60 --seconds 120 [--only rewrite] [--memory MIB] [--json FILE]

Each visitor does something every ten seconds: a text of its own, another ε, another draw, another mechanism, a panel,
another page. For each number of visitors a server is started on this machine's loopback address, and stopped after
it; all visitors open the app at once. CPU seconds are those of the server's processes, and apart from them the
driver's own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from browsers import InBrowsers, browse, chromium
from limited import Limited
from visitor import Failed, Visitor

HERE = Path(__file__).resolve().parent
#: Seconds from one action of a visitor to its next, if that is answered by then.
EVERY = 10.0
#: Seconds after which nobody waits any more.
PATIENCE = 120.0
#: Who types: so many letters a second, so many of a text, and sends them after a pause of so many seconds.
LETTERS, LAST, PAUSE = 5.0, 30, 0.25
#: What visitors do, and how often of a hundred.
MIX = {"rewrite": 40, "drag": 20, "again": 10, "mechanism": 10, "panel": 10, "page": 10}
MECHANISMS = ("DP-MLM", "CusText", "SanText", "1-Diffractor")
#: What has to be on the page for it.
NEEDS = {"rewrite": "play_text", "type": "play_text", "again": "play_again", "mechanism": "play_mechanism"}
NEEDS |= {"panel": "play_further"}
PANELS = ("Ledger", "Equal privacy")
WHO = ("doctor", "lawyer", "teacher", "nurse", "judge", "banker", "farmer", "waiter", "painter", "driver")
WHERE = ("Lisbon", "Oslo", "Leeds", "Madrid", "Vienna", "Dublin", "Prague", "Athens", "Warsaw", "Rome")
WHAT = ("money", "tablets", "a house", "the trial", "a debt", "her child", "the school", "a farm", "his wife", "work")


@dataclass
class Seen:
    """What one number of visitors saw.

    waits: when something was asked and the seconds to its answer, by action. first: seconds to the first picture. lost:
    what was never answered, or went wrong. opening_cpu: CPU seconds of the server until all had their first picture,
    cpu: from then on, driver_cpu: of the visitors meanwhile. memory: of the server in MiB, before anyone came, with all
    of them, a while after they left. slowest: the longest mean wait of one visitor by the median of all.
    """

    sessions: int
    seconds: float
    waits: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    first: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    polls: int = 0
    megabytes: float = 0.0
    cpu: float = 0.0
    opening_cpu: float = 0.0
    driver_cpu: float = 0.0
    memory: list[float] = field(default_factory=list)
    slowest: float = 0.0
    browsers: InBrowsers = field(default_factory=InBrowsers)

    @property
    def answers(self) -> list[float]:
        return sorted(wait for all_of in self.waits.values() for _, wait in all_of)


def text(dice: random.Random) -> str:
    """Twenty words that nobody asked for before."""
    who, other = dice.sample(WHO, 2)
    where, what, year = dice.choice(WHERE), dice.choice(WHAT), dice.randint(3, 99)
    return (
        f"My old {who} in {where} told the {other} of my sister last winter that {what} mattered most to her for "
        f"{year} long years."
    )


async def act(visitor: Visitor, action: str, dice: random.Random) -> float:
    """Seconds until it was answered. Raises Failed."""
    if action in NEEDS and not await visitor.until(lambda: NEEDS[action] in visitor.ids, PATIENCE):
        raise Failed(f"there is no {NEEDS[action]}")
    run, before = visitor.strip.get("run"), visitor.finished

    def rewritten() -> bool:
        return visitor.strip.get("run") not in (None, run) and visitor.finished > before

    def done() -> bool:
        return visitor.finished > before

    if action == "type":
        return await type_on(visitor, text(dice))
    do: Callable[[], Awaitable[Any]]
    met = rewritten
    if action == "rewrite":
        given = text(dice)
        do = lambda: visitor.rewrite(given)  # noqa: E731
    elif action == "drag":
        low, high = visitor.strip["lo"], visitor.strip["hi"]
        do, met = lambda: visitor.let_go(round(dice.uniform(low, high), 1)), done
    elif action == "again":
        do = lambda: visitor.press("play_again")  # noqa: E731
    elif action == "mechanism":
        visitor.mechanism = dice.choice([m for m in MECHANISMS if m != visitor.mechanism])
        do = lambda: visitor.choose("play_mechanism", visitor.mechanism)  # noqa: E731
    elif action == "panel":
        do, met = lambda: visitor.pick("play_further", dice.choice(PANELS)), done
    else:
        do, met = lambda: visitor.go_to("benchmarks"), done
    start = time.monotonic()
    await do()
    answered = await visitor.until(met, PATIENCE)
    if action == "page" and answered:
        await visitor.go_to("")
        answered = await visitor.until(lambda: bool(visitor.strip) and visitor.finished > before + 1, PATIENCE)
    if not answered:
        raise Failed("never answered")
    return time.monotonic() - start


async def type_on(visitor: Visitor, given: str) -> float:
    """Type the last letters of a text as a browser sends them (``components/live.js``).

    Return the seconds from the last key until the rewrite is that of the whole text."""
    begun, sent = time.monotonic(), ""
    while True:
        typed = int(LETTERS * (time.monotonic() - begun))
        now = given[: max(1, len(given) - LAST) + typed]
        if len(now) >= len(given):
            break
        if now != sent:
            asked = time.monotonic()
            await visitor.rewrite(sent := now)
            await visitor.until(lambda: shows(visitor, sent), min(PAUSE + LAST / LETTERS, PATIENCE))
            await asyncio.sleep(max(PAUSE, (time.monotonic() - asked) / 2))
        else:
            await asyncio.sleep(1 / LETTERS)
    last = begun + LAST / LETTERS
    await asyncio.sleep(max(0.0, last + PAUSE - time.monotonic()))
    await visitor.rewrite(given)
    if not await visitor.until(lambda: shows(visitor, given), PATIENCE):
        raise Failed("never answered")
    return time.monotonic() - last


def shows(visitor: Visitor, given: str) -> bool:
    """Whether the strip is that of this text."""
    tokens = visitor.strip.get("tokens", ())
    return "".join(t["pre"] + t["o"] for t in tokens) + visitor.strip.get("tail", "") == given


async def stay(visitor: Visitor, number: int, seen: Seen, actions: Sequence[str], started: asyncio.Barrier) -> float:
    """One visitor, from the first picture to the end. The mean of its waits."""
    dice, mine = random.Random(number), []
    begun = time.monotonic()
    try:
        await visitor.open()
        if not await visitor.until(lambda: bool(visitor.strip) and visitor.finished > 0, PATIENCE):
            raise Failed("no first picture")
        seen.first.append(time.monotonic() - begun)
    except (Failed, OSError) as error:
        seen.lost.append(f"open: {error}")
    await started.wait()
    since = time.monotonic()
    end = since + seen.seconds
    await asyncio.sleep(dice.uniform(0, EVERY))
    while time.monotonic() < end and not seen.lost:
        begun, action = time.monotonic(), dice.choice(actions)
        try:
            wait = await act(visitor, action, dice)
        except (Failed, KeyError) as error:
            seen.lost.append(f"{action}: {error!r}")
            break
        mine.append(wait)
        seen.waits.setdefault(action, []).append((begun - since, wait))
        await asyncio.sleep(max(0.0, EVERY - (time.monotonic() - begun)))
    return statistics.fmean(mine) if mine else 0.0


def cpu(process: psutil.Process) -> float:
    """CPU seconds of a process and of all below it."""
    spent = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            spent += one.cpu_times().user + one.cpu_times().system
    return spent


def memory(process: psutil.Process) -> float:
    """MiB of a process and of all below it: their own, and a share of what they share."""
    return sum(p.memory_full_info().pss for p in (process, *process.children(recursive=True))) / 2**20


async def room(
    sessions: int,
    seconds: float,
    options: Sequence[str],
    actions: Sequence[str],
    after: float,
    browsers: int = 0,
    limited: Limited | None = None,
) -> Seen:
    """A server with so many visitors, and so many real browsers beside them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, str(HERE / "server.py"), str(port), *options]
    enter = limited.enter() if limited else None
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=enter)
    stack = AsyncExitStack()
    try:
        await answers(f"http://127.0.0.1:{port}/_stcore/health", server)
        url = f"ws://127.0.0.1:{port}/_stcore/stream"
        await warm(url)
        process, seen = psutil.Process(server.pid), Seen(sessions, seconds)
        seen.memory.append(memory(process))
        visitors = [Visitor(url) for _ in range(sessions)]
        started = asyncio.Barrier(sessions + browsers + 1)
        browser = await stack.enter_async_context(chromium()) if browsers else None
        tasks = [asyncio.create_task(stay(v, n, seen, actions, started)) for n, v in enumerate(visitors)]
        others = []
        for n in range(browsers if browser else 0):
            dice = random.Random(-1 - n)
            seeing = browse(
                browser, f"http://127.0.0.1:{port}", seen.browsers, seconds, EVERY, dice, text, started.wait
            )
            others.append(asyncio.create_task(seeing))
        opening = cpu(process)
        await started.wait()
        seen.opening_cpu = cpu(process) - opening
        before, own = cpu(process), time.process_time()
        means = [m for m in await asyncio.gather(*tasks) if m]
        await asyncio.gather(*others)
        seen.cpu, seen.driver_cpu = cpu(process) - before, time.process_time() - own
        seen.memory.append(memory(process))
        seen.slowest = max(means) / statistics.median(means) if means else 0.0
        seen.polls = sum(v.polls for v in visitors)
        seen.megabytes = sum(v.received_bytes for v in visitors) / 1e6
        for visitor in visitors:
            with suppress(Exception):
                await visitor.close()
        if after:
            await asyncio.sleep(after)
            seen.memory.append(memory(process))
        return seen
    finally:
        await stack.aclose()
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


async def answers(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=2).close())
            return
        except OSError:
            if server.poll() is not None:
                raise SystemExit("The server did not start.") from None
            await asyncio.sleep(0.1)


async def warm(url: str) -> None:
    """The server's first visitor, who waits until the models and the vocabularies are there."""
    first = Visitor(url)
    await first.open()
    assert await first.until(lambda: bool(first.strip), PATIENCE)
    dice = random.Random(0)
    for mechanism in (None, *MECHANISMS[1:]):
        if mechanism is not None:
            run = first.strip["run"]
            await first.choose("play_mechanism", mechanism)
            assert await first.until(lambda run=run: first.strip["run"] != run, PATIENCE), mechanism
        run = first.strip["run"]
        await first.rewrite(text(dice))
        assert await first.until(lambda run=run: first.strip["run"] != run, PATIENCE), mechanism
    assert await first.until(lambda: bool(first.told.get("meaning")), PATIENCE), "the gauge of meaning"
    await first.close()
    await asyncio.sleep(3)


def table(found: Sequence[Seen]) -> str:
    """A line a number of visitors."""
    lines = [
        "| sessions | answers | median, s | 95%, s | worst, s | lost | CPU s an answer | polls | MB an answer | "
        "first picture, median and worst, s; CPU s each | slowest visitor, × median | MiB before, during (after) | "
        "driver's CPU |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for s in found:
        if not (waits := s.answers):
            lines.append(f"| {s.sessions} | 0 | | | | {len(s.lost)} | | {s.polls} | | | | | |")
            continue
        p95 = waits[min(len(waits) - 1, int(0.95 * len(waits)))]
        first = (
            f"{statistics.median(s.first):.1f}, {max(s.first):.1f}; {s.opening_cpu / s.sessions:.2f}"
            if s.first
            else "none"
        )
        lines.append(
            f"| {s.sessions} | {len(waits)} | {statistics.median(waits):.2f} | {p95:.2f} | {waits[-1]:.1f} | "
            f"{len(s.lost)} | {s.cpu / len(waits):.2f} | {s.polls} | {s.megabytes / len(waits):.2f} | {first} | "
            f"{s.slowest:.1f} | {', '.join(f'{m:.0f}' for m in s.memory[:2])}"
            f"{f' ({s.memory[2]:.0f})' if len(s.memory) > 2 else ''} | {100 * s.driver_cpu / s.cpu:.0f}% |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 10, 30, 60])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--only", choices=[*MIX, "type"], help="one kind of action alone")
    parser.add_argument("--browsers", type=int, default=0, metavar="N", help="so many real browsers beside them")
    parser.add_argument("--after", type=float, default=0.0, help="seconds to look at the memory after they left")
    parser.add_argument("--memory", type=int, metavar="MIB", help="the most that the server may use; needs root")
    parser.add_argument("--json", type=Path, help="write every wait there")
    arguments, options = parser.parse_known_args()
    actions = [arguments.only] if arguments.only else [a for a, n in MIX.items() for _ in range(n)]
    found = []
    for sessions in arguments.sessions:
        limited = Limited(arguments.memory) if arguments.memory else None
        given = (sessions, arguments.seconds, options, actions, arguments.after, arguments.browsers, limited)
        seen = asyncio.run(room(*given))
        found.append(seen)
        print(f"{sessions} sessions, {seen.seconds:g} s:", file=sys.stderr)
        if limited:
            print(f"  {limited.report()}", file=sys.stderr)
        for action, waits in sorted(seen.waits.items()):
            print(
                f"  {action:10} {len(waits):4}  median {statistics.median(w for _, w in waits):6.2f} s", file=sys.stderr
            )
        if real := seen.browsers.waits:
            print(
                f"  {len(seen.browsers.first)} browsers: first picture {max(seen.browsers.first):.1f} s at most; "
                f"{len(real)} rewrites seen after {statistics.median(real):.2f} s (median), {max(real):.2f} s at most",
                file=sys.stderr,
            )
        for problem, n in Counter(seen.lost).items():
            print(f"  lost: {n} × {problem}", file=sys.stderr)
    print(f"{os.cpu_count()} cores")
    print(table(found))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(s) for s in found]), encoding="utf-8")


if __name__ == "__main__":
    main()
