"""Long work beside the page."""

from __future__ import annotations

import time

from dptext_core import Cancelled
from dptext_core.support import exit_threads
from dptext_studio.server import jobs


def test_the_end_of_the_process_stops_work_and_waits_for_it():
    def work(task):
        while True:
            task.check()
            time.sleep(0.01)

    job = jobs.Job(work, "Working")
    assert not job.wait(0.05) and job._thread in exit_threads._threads
    jobs._cancel_all()
    assert job.wait(10) and isinstance(job.error, Cancelled)
