"""Checks of the distances and groups that a guarantee states, and of their sizes."""

from __future__ import annotations

import numpy as np

from ..mechanisms.capabilities import public_context
from ..privacy.numbers import number
from .distance import TOLERANCE, named_distances
from .rules import Breach
from .statement import Statement, name

#: The factor by which a typical distance may differ from those of the middle two thirds of the words.
SLACK = 1.25


def _field_breach(field: str, details: str, text: str, other: str | None = None) -> Breach:
    return Breach(text, details, f"the field {field} of the guarantee does not match the mechanism.", other=other)


def check_metric(st: Statement) -> str:
    """Check that the distance is a metric, and that it does not depend on the other words in a call."""
    if st.guarantee.notion != "metric" or not st.words:
        return ""
    d, words, metric = st.apart, st.words, st.guarantee.metric
    slack = TOLERANCE * max(1.0, float(np.nanmax(np.where(np.isfinite(d), d, 0.0))))
    at = np.argwhere((np.abs(d - d.T) > slack) | (np.isnan(d) != np.isnan(d.T)) | (d < -slack))
    if len(at):
        a, b = at[0]
        message = f"From {name(words[a])} to {name(words[b])} the distance is {d[a, b]:.6g}, and back {d[b, a]:.6g}."
        raise _field_breach("metric", message, words[a], words[b])
    if (nonzero := np.flatnonzero(np.abs(np.diag(d)) > slack)).size:
        message = f"The distance of {name(words[nonzero[0]])} from itself is {d[nonzero[0], nonzero[0]]:.6g}."
        raise _field_breach("metric", message, words[nonzero[0]])
    finite = np.where(np.isfinite(d), d, np.inf)
    for b in range(len(words)):
        detour = finite[:, [b]] + finite[[b]]
        at = np.argwhere(np.isfinite(d) & (d > detour + slack))
        if len(at):
            a, c = at[0]
            message = (
                f"From {name(words[a])} to {name(words[c])} the distance is {d[a, c]:.6g}, but through "
                f"{name(words[b])} it is {detour[a, c]:.6g}."
            )
            raise _field_breach("metric", message, words[a], words[c])
    pair = np.asarray(st.m.audit_support.distances([words[0], words[-1]]), np.float64)[0, 1]
    if np.isfinite(pair) and abs(pair - d[0, -1]) > slack:
        message = (
            f"The distance between {name(words[0])} and {name(words[-1])} is {pair:.6g} for this pair alone, but "
            f"{d[0, -1]:.6g} in a list."
        )
        raise _field_breach("metric", message, words[0], words[-1])
    if named_distances(st.m, st.guarantee, list(words)) is not None:
        return ""
    if st.guarantee.near is None or st.guarantee.largest is None:
        return f"the audit does not know the distance “{metric}”, and the guarantee lacks a nearest or largest one."
    if not st.columns:
        return f"the audit does not know the distance “{metric}”, and no distribution has a formula to check it."
    return ""


def check_distance(st: Statement) -> str:
    """Check that the distance of totals is never less than that of one draw."""
    g = st.guarantee
    if g.notion != "metric" or not g.distance or g.distance == g.metric or not st.words:
        return ""
    from dataclasses import replace

    total_distances = named_distances(st.m, replace(g, metric=g.distance), list(st.words))
    if total_distances is None:
        return f"totals are counted in “{g.distance}”, a distance that the audit does not know."
    at = np.argwhere(st.apart > total_distances * (1 + TOLERANCE) + TOLERANCE)
    if len(at):
        a, b = (st.words[i] for i in at[0])
        message = f"The totals are counted in “{g.distance}”, in which {name(a)} and {name(b)} are too close."
        raise _field_breach("distance", message, a, b)
    return ""


def check_near(st: Statement) -> str:
    """Check that the typical distance is close to the nearest distances of the middle two thirds of the words."""
    near = st.guarantee.near
    if near is None or st.guarantee.notion != "metric":
        return ""
    if len(st.nearby) and _typical(st.nearby, near) is None:
        return ""
    # Neighbours in a word space need not be the nearest words by this distance, so all words are compared.
    rows = np.where(np.isfinite(st.scan), st.scan, np.inf)
    nearest = rows.min(axis=1) if rows.size else np.empty(0)
    nearest = nearest[np.isfinite(nearest)]
    if not len(nearest):
        return "no two words are compared, so the typical distance could not be checked."
    # Among a few words, the nearest one is farther away than in a whole vocabulary, so there is no lower bound.
    few = st.m.by_word is None and near <= float(nearest.max())
    if not few and (found := _typical(nearest, near)) is not None:
        message = (
            f"For the middle two thirds of {len(nearest)} words, the nearest word is {found[0]:.3g} to {found[1]:.3g} "
            f"away, but {near:.3g} is stated."
        )
        raise _field_breach("near", message, st.words[0] if st.words else "")
    return ""


def _typical(nearest: np.ndarray, near: float) -> tuple[float, float] | None:
    """Return the middle two thirds of these distances if ``near`` is outside; else None."""
    nearest = np.sort(nearest)
    low, high = float(nearest[len(nearest) // 6]), float(nearest[-1 - len(nearest) // 6])
    return None if low / SLACK - TOLERANCE <= near <= high * SLACK + TOLERANCE else (low, high)


def check_largest(st: Statement) -> str:
    """Check that no two words are farther apart, and that the stated distance is not much too large."""
    largest = st.guarantee.largest
    if largest is None or st.guarantee.notion != "metric":
        return ""
    some = np.concatenate([x[np.isfinite(x)] for x in (st.wide, st.apart)])
    if not len(some):
        return "no two words are compared, so the largest distance could not be checked."
    most, text = float(some.max()), st.words[0] if st.words else ""
    if most > largest * (1 + TOLERANCE) + TOLERANCE:
        message = f"Two words are {most:.6g} apart, but the stated largest distance is {largest:.6g}."
        raise _field_breach("largest", message, text)
    # For a large vocabulary, a bound of at most twice the distance may be stated.
    if st.m.by_word is not None and len(st.wide) == len(st.every) and largest > 2 * most * (1 + TOLERANCE) + TOLERANCE:
        message = f"No two words are more than {most:.6g} apart, but {largest:.6g} is stated."
        raise _field_breach("largest", message, text)
    return ""


def check_group(st: Statement) -> str:
    """Check that groups are symmetric and transitive, and as large as a number in their name."""
    if st.guarantee.notion != "group" or not st.words:
        return ""
    alike = np.isfinite(st.apart) | np.eye(len(st.words), dtype=bool)
    for a, b in np.argwhere(alike):
        if not np.array_equal(alike[a], alike[b]):
            c = int(np.flatnonzero(alike[a] != alike[b])[0])
            message = (
                f"{name(st.words[a])} and {name(st.words[b])} are in one group, but only one of them is "
                f"in the group of {name(st.words[c])}."
            )
            raise _field_breach("group", message, st.words[a], st.words[b])
    if st.m.by_word is None:
        return ""
    stated = st.guarantee.group.size
    sizes = 1 + np.isfinite(st.scan).sum(axis=1)
    outputs = {int(np.isfinite(p.d.log_probs).sum()) for c in st.columns for p in c.probes}
    possible = {int(sizes.max()), int(np.median(sizes)), int(sizes.min()), round(float(sizes.mean()))} | outputs
    if stated and stated not in possible:
        least, most = int(sizes.min()), int(sizes.max())
        return (
            f"“{st.guarantee.group}” states {number(stated)} words, but {len(sizes)} tested words are in "
            f"groups of {least if least == most else f'{least} to {most}'}."
        )
    return ""


def check_among(st: Statement) -> str:
    """Check that the guarantee names a condition if a draw depends on the public part of its text."""
    m = st.m
    if st.guarantee.among or m.public_prior is None:
        return ""
    probes = [p for c in st.columns for p in c.probes]
    contexts = [public_context(m, p.prepared, p.index) for p in probes]
    if any(c is not None for c in contexts):
        message = "A draw depends on the public part of its text, but the guarantee compares any two texts."
        raise _field_breach("among", message, probes[0].text)
    return ""
