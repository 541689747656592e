"""The released mechanisms and our counterparts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .formulas import BETA, FIXED_BETA, LAM, VICKREY_T, K, Vectors

PACKAGES = ("mldp-text", "pypantera", "dp-diffractor")


@dataclass(frozen=True)
class Peer:
    """One released mechanism and its counterpart.

    ours: name and options of our mechanism. theirs: name of the adapter. scale: factor on ``epsilon``: "gap", 1 over
    the median distance to the nearest word; "noise", √dimension over that distance; "gumbel", the smallest ε with a
    positive Gumbel scale; empty, 1. by_place: whether words are compared by position on each side's list. reason: how
    their formula differs. reference: the name of that formula in `CHANNELS` or `DRAWS`.
    """

    package: str
    title: str
    theirs: str
    ours: str
    epsilon: float
    options: dict[str, Any] = field(default_factory=dict)
    scale: str = ""
    by_place: bool = False
    reason: str = ""
    reference: str = ""

    def epsilon_on(self, space: Vectors) -> float:
        """Return ε on these vectors, to two digits."""
        gap = space.gap
        scale = {
            "": 1.0,
            "gap": 1 / gap,
            "noise": space.vectors.shape[1] ** 0.5 / gap,
            "gumbel": (5 + 2 * float(np.log(len(space.words)))) / space.extremes[0],
        }[self.scale]
        return float(f"{self.epsilon * scale:.2g}")


PEERS = (
    Peer("mldp-text", "MVC, exact search", "mldp-mvc", "mvc", 3, scale="noise"),
    Peer(
        "mldp-text",
        "MVC, default",
        "mldp-mvc-faiss",
        "mvc",
        3,
        scale="noise",
        reason="searches only 50 of 100 cells, so its result may not be the nearest word",
        reference="cells",
    ),
    Peer(
        package="mldp-text",
        title="Mahalanobis, λ 0.9",
        theirs="mldp-mahalanobis",
        ours="mahalanobis",
        epsilon=3,
        options={"lam": LAM},
        scale="noise",
        reason="divides the covariance by one variance of all numbers, which includes the spread of the columns' "
        "means. This makes Σ and the noise smaller",
        reference="mahalanobis-pooled",
    ),
    Peer(
        package="mldp-text",
        title="Vickrey",
        theirs="mldp-vickrey",
        ours="vickrey",
        epsilon=3,
        options={"t": VICKREY_T, "noise": "mvc"},
        scale="noise",
        reason="excludes the word itself if it is the nearest. It selects the first of the next two with "
        "probability 1/(1+exp(d₁)), less than 0.5",
        reference="vickrey-others",
    ),
    Peer("mldp-text", "truncated Gumbel, b > 0", "mldp-gumbel", "gumbel", 2.5, scale="gumbel"),
    Peer("mldp-text", "truncated Gumbel, real part", "mldp-gumbel", "gumbel", 0.4, scale="gumbel"),
    Peer(
        package="mldp-text",
        title="TEM",
        theirs="mldp-tem",
        ours="tem",
        epsilon=15,
        options={"beta": FIXED_BETA},
        scale="gap",
        reason="rounds γ to one decimal and uses |V| instead of |V|−1. It weights the outcome for all far words "
        "by |V|/|L| instead of by their number",
        reference="tem-ratio",
    ),
    Peer("pypantera", "CMP (MVC)", "pypantera-cmp", "mvc", 3, scale="noise"),
    Peer(
        package="pypantera",
        title="Mahalanobis, λ 0.9",
        theirs="pypantera-mahalanobis",
        ours="mahalanobis",
        epsilon=3,
        options={"lam": LAM},
        scale="noise",
        reason="normalises the direction after scaling it by Σ^½, so the noise has the same length in every direction",
        reference="mahalanobis-unit",
    ),
    Peer(
        package="pypantera",
        title="Vickrey, MVC noise",
        theirs="pypantera-vickrey-cmp",
        ours="vickrey",
        epsilon=3,
        options={"t": VICKREY_T, "noise": "mvc"},
        scale="noise",
    ),
    Peer(
        package="pypantera",
        title="Vickrey, Mahalanobis noise",
        theirs="pypantera-vickrey-mhl",
        ours="vickrey",
        epsilon=3,
        options={"t": VICKREY_T, "noise": "mahalanobis", "lam": LAM},
        scale="noise",
        reason="uses the noise of pypantera's Mahalanobis, with directions of length 1",
        reference="vickrey-unit",
    ),
    Peer(
        package="pypantera",
        title="CusText, Euclidean",
        theirs="pypantera-custext-euclidean",
        ours="custext",
        epsilon=8,
        options={"k": K, "mapping": "aggressive", "metric": "euclidean"},
    ),
    Peer(
        package="pypantera",
        title="CusText, cosine",
        theirs="pypantera-custext-cosine",
        ours="custext",
        epsilon=8,
        options={"k": K, "mapping": "aggressive", "metric": "cosine"},
        reason="sorts similarities in ascending order, so a word's output set has the K least similar words",
        reference="custext-far",
    ),
    Peer("pypantera", "SanText", "pypantera-santext", "santext", 11, scale="gap"),
    Peer(
        package="pypantera",
        title="TEM, β 0.3",
        theirs="pypantera-tem",
        ours="tem",
        epsilon=10.5,
        options={"beta": BETA},
        scale="gap",
        reason="if it selects a far word, its draw fails and it releases the original word",
        reference="tem-original",
    ),
    Peer(
        package="dp-diffractor",
        title="1-Diffractor, geometric",
        theirs="diffractor-geometric",
        ours="diffractor",
        epsilon=1,
        options={"noise": "geometric"},
        by_place=True,
    ),
    Peer(
        package="dp-diffractor",
        title="1-Diffractor, TEM",
        theirs="diffractor-tem",
        ours="diffractor",
        epsilon=4,
        options={"noise": "tem", "gamma": 5},
        by_place=True,
    ),
)
