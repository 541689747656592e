"""What of this environment some distributions bring, and what they do not."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def brought_by(names: Iterable[str]) -> set[str]:
    """Return these distributions and those that they need, as far as they are installed."""
    found: set[str] = set()
    wanted = [Requirement(r) for r in names]
    while wanted:
        name = canonicalize_name(wanted.pop().name)
        if name in found:
            continue
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
        wanted += [r for r in map(Requirement, needs) if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def beyond(names: Iterable[str]) -> tuple[str, ...]:
    """Return the modules of this environment that these distributions do not bring."""
    own = brought_by(names)
    modules = importlib.metadata.packages_distributions()
    return tuple(sorted(m for m, by in modules.items() if not own & {canonicalize_name(d) for d in by}))


def hiding(modules: Iterable[str]) -> str:
    """Return code after which none of these modules can be imported, nor found; it begins a script."""
    return f"""
import importlib.util, sys
HIDDEN = {set(modules)!r}
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide())
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in HIDDEN else find(name, package)
"""
