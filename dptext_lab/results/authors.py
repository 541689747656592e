"""Rows of `bench authors`: the author attack on several releases of one user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dptext_core.attacks.authors import AuthorAttack

from .measurement import Measurement


@dataclass(frozen=True, kw_only=True)
class AuthorsRow(AuthorAttack):
    """The attack on one system by one attacker, for a number of texts that are read together.

    system: its name in tables. stop_words: whether they are kept, None if the mechanism has no such option. releases:
    of each text. attacker: "static" (trained on original texts) or "adaptive" (on rewrites by the system). trained:
    number of training texts of the attacker.
    """

    system: str
    mechanism: str
    epsilon: float
    stop_words: bool | None
    releases: int
    attacker: str
    trained: int
    seconds: float


MEASUREMENT = Measurement("authors --data DIR", AuthorsRow, "authors.json", digits=4)
bundled = MEASUREMENT.bundled


def strongest(rows: Iterable[AuthorsRow]) -> list[AuthorsRow]:
    """Return the row of the strongest attacker for each system and number of texts."""
    best: dict[tuple[str, int, int], AuthorsRow] = {}
    for row in rows:
        key = row.system, row.releases, row.texts
        if key not in best or row.success > best[key].success:
            best[key] = row
    return list(best.values())


def numbers_of_texts(rows: Sequence[AuthorsRow]) -> list[int]:
    """Return the numbers of texts that were read together, ascending."""
    return sorted({row.texts for row in rows})
