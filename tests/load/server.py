"""Runs the app as ``streamlit run`` does.

python tests/load/server.py PORT [--option value ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def main(port: str, *options: str) -> None:
    sys.path.insert(0, str(TOP))

    from streamlit.web import cli

    address = ["--server.port", port, "--server.address", "127.0.0.1", "--server.headless", "true"]
    cli.main(["run", str(TOP / "app.py"), *address, *options], prog_name="streamlit")


if __name__ == "__main__":
    main(*sys.argv[1:])
