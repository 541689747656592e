"""The memory of a server that one browser has opened, with the heaps of the C library set in turns.

    python tests/load/measure_memory.py [--rounds 3] [--seconds 20] ["MALLOC_ARENA_MAX=1 OTHER=2" …]

Each argument is a list of variables of the server's environment; without one, the server has those of this process.
Prints the resident memory and the part of it that no file backs, in MiB, and the CPU seconds that the server took.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys

import psutil
from browsers import chromium
from drive import HERE, answers


async def measure(variables: dict[str, str], seconds: float) -> tuple[float, float, float]:
    """Resident and anonymous MiB of a server so many seconds after its first picture, and its CPU seconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(port)],
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await answers(f"http://127.0.0.1:{port}/_stcore/health", server)
        async with chromium() as browser:
            page = await browser.new_page()
            await page.goto(f"http://127.0.0.1:{port}", wait_until="commit")
            await page.locator(".strip .text button").first.wait_for(timeout=120_000)
            await asyncio.sleep(seconds)
            process = psutil.Process(server.pid)
            held, spent = process.memory_info(), process.cpu_times()
            return held.rss / 2**20, (held.rss - held.shared) / 2**20, spent.user + spent.system
    finally:
        server.terminate()
        server.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variables", nargs="*", default=[""])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    args = parser.parse_args()
    for _ in range(args.rounds):
        for given in args.variables:
            variables = dict(pair.split("=", 1) for pair in given.split())
            resident, own, spent = asyncio.run(measure(variables, args.seconds))
            print(f"{given or 'as it is':60s} {resident:6.0f} MiB, {own:.0f} of no file, {spent:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
