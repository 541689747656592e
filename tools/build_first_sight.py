"""Compute the scores of the first example, which the Playground shows before any model is loaded.

Run:  python tools/build_first_sight.py
"""

from __future__ import annotations

import json

import dptext_core as dpt
from dptext_core import first_sight
from dptext_core._assets import assets_folder


def main() -> None:
    folder = assets_folder() / "examples"
    first = json.loads((folder / "index.json").read_text(encoding="utf-8"))[0]
    text = (folder / first["file"]).read_text(encoding="utf-8").strip()
    path = first_sight.save(dpt.get_mechanism("dp-mlm").prepare(text))
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
