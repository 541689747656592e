"""Threads that the end of the process waits for."""

from __future__ import annotations

import subprocess
import sys

ENDS = """
import atexit, threading, time
atexit.register(lambda: print("alive" if thread.is_alive() else "ended"))  # after what the module registers
from dptext_core.support.exit_threads import join_at_exit
thread = threading.Thread(target=time.sleep, args=(0.2,), daemon=True)
thread.start()
join_at_exit(thread)
"""


def test_the_end_of_the_process_waits_for_a_thread():
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
