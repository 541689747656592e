"""Uploaded data of a visitor: a folder that is deleted with the session, and jobs that outlive it on request."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dptext_core import DPTextError, InputError, Task
from dptext_core.data import tables

from . import job_folders, sessions, streamlit_patches
from .batch import Batch, BatchRequest, FilePreview, file_name
from .jobs import Job, Work
from .public_hosting import limits

NONE_KEPT = (
    "This server does not keep jobs. Stay on the page until the job ends, or run the program on your own "
    "machine."
)
#: Seconds between two checks for expired jobs.
CHECK_SECONDS = 60.0

_running: dict[Path, Job] = {}
_guard = threading.Lock()
_watching = False


class Upload:
    """A file in a separate folder.

    code, expires: of a kept job. look: the content of the file. batch: set once all rows were requested. took: the
    seconds of the last preview, by mechanism.
    """

    def __init__(self, folder: Path, file: str, code: str = "", expires: float = 0.0):
        self.folder, self.file, self.code, self.expires = folder, file, code, expires
        self.look: FilePreview | None = None
        self.batch: Batch | None = None
        self.count = 0
        self.took: dict[str, float] = {}
        # At the latest at the end of the server.
        self._end = weakref.finalize(self, job_folders.delete, folder)
        if code:
            self._end.detach()
        sessions.watch(self)

    @property
    def path(self) -> Path:
        return self.folder / self.file

    def leave(self) -> None:
        """Record that the visitor has left and may return."""

    def forget(self) -> None:
        """Delete it, unless it outlives the session."""
        if not self.code:
            self._end()

    def keep(self, asked: BatchRequest) -> None:
        """Make it outlive the session. Raises InputError."""
        if not limits().keeps:
            raise InputError(NONE_KEPT)
        about = {"asked": asked.to_dict(), "count": self.count}
        self.code, self.folder = job_folders.keep(self.folder, about)
        self.expires = job_folders.find(self.code)[1]["expires"]
        self._end.detach()

    def delete(self) -> None:
        """Delete it now, kept or not."""
        with _guard:
            job = _running.get(self.folder)
        if job is not None:
            job.task.cancel()
        job_folders.delete(self.folder)
        self._end()

    def rewrite(self, work: Work, label: str) -> None:
        """Start or resume the rewrite of all rows."""
        batch = self.batch
        assert batch is not None
        if not self.code:
            work.start(batch, batch.rewrite, label)
            return
        folder = self.folder

        def rewrite(task: Task):
            try:
                return batch.rewrite(task)
            finally:
                with _guard:
                    _running.pop(folder, None)

        with _guard:
            if folder not in _running:
                _running[folder] = Job(rewrite, label, stays=True)
            job = _running[folder]
        work.attach(batch, job)


def store_upload(name: str, data: bytes) -> Upload:
    """Return a new upload for the data from a browser. Raise InputError."""
    file = file_name(name)
    if (kind := Path(file).suffix.lower()) in tables.KINDS and kind not in limits().kinds:
        raise InputError(f"This server does not accept {kind} files. Upload the table as CSV, or use your own machine.")
    most = limits().upload
    if len(data) > most << 20:
        raise InputError(f"{file} is larger than {most} MB. Split it, or use the command line.")
    upload = Upload(job_folders.session_folder(), file)
    upload.path.write_bytes(data)
    return upload


def open_upload(code: str, work: Work, label: str) -> Upload:
    """Return a kept job, with its progress or its results in ``work``. Raise InputError."""
    if not limits().keeps:
        raise InputError(NONE_KEPT)
    folder, about = job_folders.find(code)
    asked = BatchRequest.from_dict(about.get("asked", {}))
    upload = Upload(folder, asked.file, code.strip(), about["expires"])
    upload.count, upload.batch = int(about.get("count", 0)), Batch(folder, asked)
    with _guard:
        job = _running.get(folder)
    if job is not None:
        work.attach(upload.batch, job)
    else:
        work.start(upload.batch, results_reader(upload.batch), label)
    return upload


def results_reader(batch: Batch) -> Callable[[Task], Any]:
    """Return a task that reads the results so far."""
    return batch.summarise


def watch() -> None:
    """Delete expired data, from the first visit on. Outside a server, do nothing."""
    global _watching
    with _guard:
        if _watching or not streamlit_patches.is_serving():
            return
        _watching = True
    threading.Thread(target=_watch, name="uploads", daemon=True).start()


def _watch() -> None:
    while True:
        with contextlib.suppress(DPTextError, OSError):
            sweep()
        time.sleep(CHECK_SECONDS)


def sweep(now: float | None = None) -> None:
    """Delete expired data, and stop tasks that use them."""
    for path in job_folders.sweep(now):
        with _guard:
            job = _running.get(path)
        if job is not None:
            job.task.cancel()
