"""The imports between the files of the core: how many, in how many circles, and what lies loose at its top.

Imports inside functions count too, those for types alone do not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

PACKAGE = "dptext_core"
ROOT = Path(__file__).resolve().parent.parent


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Files that import each other, directly or through others, the largest circle first."""
    names = sorted(graph.modules)
    place = {name: i for i, name in enumerate(names)}
    pairs = [(place[a], place[b]) for a in names for b in graph.find_modules_directly_imported_by(a)]
    start, end = np.array(pairs).T
    edges = coo_array((np.ones(len(pairs)), (start, end)), shape=(len(names), len(names)))
    _, labels = connected_components(edges, connection="strong")
    found = [[names[i] for i in np.flatnonzero(labels == k)] for k in range(labels.max() + 1)]
    return sorted((circle for circle in found if len(circle) > 1), key=len, reverse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(ROOT), help="holds dptext_core (default: this clone)")
    sys.path.insert(0, parser.parse_args().folder)
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    top = graph.find_children(PACKAGE)
    loose = sorted(name for name in top if not graph.find_children(name))
    several = circles(graph)
    print(f"{len(graph.modules):,} files, {graph.count_imports():,} imports")
    print(f"{len(several)} circles, of {', '.join(str(len(c)) for c in several) or 'no'} files")
    print(f"{len(top) - len(loose)} rooms and {len(loose)} loose files at the top")


if __name__ == "__main__":
    main()
