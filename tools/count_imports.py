"""Count the imports between the files of each package, and the import cycles.

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

PACKAGES = ("dptext_core", "dptext_lab", "dptext_studio")
ROOT = Path(__file__).resolve().parent.parent


def cycles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the groups of files that import each other, directly or through others, the largest first."""
    names = sorted(graph.modules)
    place = {name: i for i, name in enumerate(names)}
    pairs = [(place[a], place[b]) for a in names for b in graph.find_modules_directly_imported_by(a)]
    start, end = np.array(pairs).T
    edges = coo_array((np.ones(len(pairs)), (start, end)), shape=(len(names), len(names)))
    _, labels = connected_components(edges, connection="strong")
    found = [[names[i] for i in np.flatnonzero(labels == k)] for k in range(labels.max() + 1)]
    return sorted((group for group in found if len(group) > 1), key=len, reverse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=str(ROOT), help="holds the packages (default: this clone)")
    sys.path.insert(0, parser.parse_args().folder)
    for package in PACKAGES:
        graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
        sizes = [str(len(group)) for group in cycles(graph)]
        print(f"{package}: {len(graph.modules):,} files, {graph.count_imports():,} imports, ", end="")
        print(f"{len(sizes)} cycles of {', '.join(sizes)} files" if sizes else "no cycles")


if __name__ == "__main__":
    main()
