"""A few real browsers in a room of visitors: what people there see, drawing included."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Page, async_playwright


@dataclass
class InBrowsers:
    """Seconds until text and slider can be read, and until each rewrite is seen."""

    first: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    async with async_playwright() as p:
        browser = await p.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        try:
            yield browser
        finally:
            await browser.close()


async def browse(
    browser: Browser,
    url: str,
    seen: InBrowsers,
    seconds: float,
    every: float,
    dice: random.Random,
    text: Callable[[random.Random], str],
    started: Callable[[], Awaitable[Any]],
) -> None:
    """One of them, from the first picture to the end: a text of its own every so many seconds."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    page: Page = await context.new_page()
    page.set_default_timeout(120_000)
    begun = time.monotonic()
    await page.goto(url, wait_until="commit")
    await page.locator(".strip .text button").first.wait_for()
    seen.first.append(time.monotonic() - begun)
    await started()
    end, given = time.monotonic() + seconds, text(dice)
    await asyncio.sleep(dice.uniform(0, every))
    while time.monotonic() < end:
        begun, before = time.monotonic(), given
        # The texts' third word tells them apart: what a word was is shown with what it became.
        while (given := text(dice)).split()[2] == before.split()[2]:
            pass
        box = page.get_by_role("textbox", name="Text", exact=True)
        if not await box.is_visible():
            await page.get_by_role("button", name="Your text").click()
        await box.fill(given)
        await page.keyboard.press("Control+Enter")
        await page.locator(".strip .text .was", has_text=given.split()[2]).first.wait_for(state="attached")
        seen.waits.append(time.monotonic() - begun)
        await asyncio.sleep(max(0.0, every - (time.monotonic() - begun)))
    await context.close()
