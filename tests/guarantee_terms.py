"""What a guarantee states, as kinds and parameters."""

from __future__ import annotations

from typing import Any

import dptext_core as dpt


def kinds(g: dpt.Guarantee) -> list[str]:
    """Return the kinds of what is not protected, in order."""
    return [str(entry.kind) for entry in g.exposed]


def entries(g: dpt.Guarantee, kind: str) -> list[dict[str, Any]]:
    """Return the parameters of the entries of one kind."""
    return [dict(entry.parameters) for entry in g.exposed if entry.kind == kind]


def shared(g: dpt.Guarantee) -> list[str]:
    """Return the kinds of what two texts share that the guarantee compares."""
    return [str(condition.kind) for condition in g.adjacency.conditions]
