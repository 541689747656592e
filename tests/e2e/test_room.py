"""Several visitors at once, over websockets (see tests/load): everyone is answered, and nobody has to ask."""

from __future__ import annotations

import asyncio
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import TOP

sys.path.append(str(TOP / "tests" / "load"))

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VISITORS = 4
ACTIONS = ("rewrite", "drag", "mechanism", "again", "panel", "page")


def test_a_small_room(app_url):
    from drive import act
    from visitor import Visitor

    url = app_url(TOP / "app.py").replace("http", "ws") + "/_stcore/stream"
    waits: list[float] = []

    async def stay(number: int) -> Visitor:
        visitor, dice = Visitor(url), random.Random(number)
        await visitor.open()
        assert await visitor.until(lambda: bool(visitor.strip) and visitor.finished > 0, 60)
        mine = list(ACTIONS)
        dice.shuffle(mine)
        for action in mine:
            waits.append(await act(visitor, action, dice))
        await visitor.close()
        return visitor

    async def room() -> list[Visitor]:
        return await asyncio.gather(*map(stay, range(VISITORS)))

    with ThreadPoolExecutor(1) as own:  # the browser's loop runs in this thread
        visitors = own.submit(lambda: asyncio.run(room())).result()
    assert len(waits) == VISITORS * len(ACTIONS), "everyone is answered"
    # A waiting page is told of the end of its work: it asks how far the work is now and then, and never faster.
    assert sum(v.polls for v in visitors) <= sum(waits) + VISITORS
