"""Rewrite a file on a cluster of two nodes beside its head, and kill one of them in the middle. Prints what was found.

python tests/distributed/two_nodes.py DATA OUT SEED
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile

PLACE = tempfile.mkdtemp(prefix="dptext-")
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_TMPDIR": PLACE,
}

from ray.cluster_utils import Cluster  # noqa: E402 (it reads these when it is imported)

import dptext_core as dpt  # noqa: E402
from dptext_core.data import tables  # noqa: E402
from dptext_core.data.workers import blocks  # noqa: E402
from dptext_core.distributed import actors  # noqa: E402

STORE = 100 << 20


def main(path: str, out: str, seed: str) -> None:
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE})
    try:
        first, _ = (nodes.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2))
        os.environ["RAY_ADDRESS"] = nodes.address
        killed = []

        def progress(done: int, of: int) -> None:
            if done > of // 3 and not killed:
                killed.append(done)
                nodes.remove_node(first, allow_graceful=False)

        outcome = blocks.rewrite_data(
            tables.source(path, ("text",)),
            dpt.get_mechanism("custext", epsilon=2.0),
            out,
            actors.ray_workers(),
            seed=int(seed),
            block=20,
            task=dpt.Task(progress),
        )
        print(json.dumps({"rows": outcome["rows"], "killed": killed}))
    finally:
        nodes.shutdown()
        shutil.rmtree(PLACE, ignore_errors=True)


main(*sys.argv[1:])
