"""A server with a limit on its memory: a group of the kernel of its own (cgroups, both versions; root can make one)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
#: By version: where groups lie, the file with the limit, the file with the most that was used.
VERSIONS = (
    (GROUPS / "memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    (GROUPS, "memory.max", "memory.peak"),
)


class Limited:
    """Processes that may use so many MiB together, the files that they read included."""

    def __init__(self, megabytes: int) -> None:
        top, limit, most = next(v for v in VERSIONS if (v[0] / "cgroup.procs").is_file())
        self.folder, self._most = top / f"dptext-{os.getpid()}", most
        self.folder.mkdir()
        (self.folder / limit).write_text(str(megabytes << 20))

    def enter(self) -> Callable[[], None]:
        """Return what a new process calls to be in the group."""

        def join() -> None:
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

        return join

    def report(self) -> str:
        """Say what was used at most, and how often the kernel killed a process; remove the empty group."""
        counts = next(f for f in ("memory.oom_control", "memory.events") if (self.folder / f).is_file())
        lines = (self.folder / counts).read_text().splitlines()
        kills = next((line.split()[1] for line in lines if line.startswith("oom_kill ")), "?")
        most = int((self.folder / self._most).read_text()) >> 20
        self.folder.rmdir()
        return f"at most {most} MiB were used; {kills} processes were killed"
