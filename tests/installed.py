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
