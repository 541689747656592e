"""Refuse what a process asks of other machines, and write it to the file that OUTSIDE names: a blocked network."""

from __future__ import annotations

import os
import sys
import time

_HERE = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", ""}


def _refuse(event: str, given: tuple) -> None:
    if event == "socket.connect":
        target = given[1]
        host = target[0] if isinstance(target, tuple) else ""  # the address of a Unix socket is a string
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = given[0]
    else:
        return
    host = (host.decode() if isinstance(host, bytes) else str(host or "")).lower()
    if host in _HERE or host.startswith("127."):
        return
    with open(os.environ["OUTSIDE"], "a", encoding="utf-8") as file:
        file.write(f"{event} {host}\n")
    time.sleep(0.5)  # as long as a blocked network lets one wait, or nearly
    raise OSError(f"This process may not reach {host}.")


if os.environ.get("OUTSIDE"):
    sys.addaudithook(_refuse)
