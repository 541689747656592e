"""Runs the app as ``streamlit run`` does; with ``--float32`` as on a processor with AVX2 only.

python tests/load/server.py PORT [--float32] [--option value ...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
#: Read by PyTorch and oneDNN when they are loaded.
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def main(port: str, *options: str) -> None:
    sys.path.insert(0, str(TOP))
    if "--float32" in options:
        os.environ.update(AVX2)
        options = tuple(o for o in options if o != "--float32")

    from streamlit.web import cli

    address = ["--server.port", port, "--server.address", "127.0.0.1", "--server.headless", "true"]
    cli.main(["run", str(TOP / "app.py"), *address, *options], prog_name="streamlit")


if __name__ == "__main__":
    main(*sys.argv[1:])
