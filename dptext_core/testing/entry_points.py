"""The property that all ways to a rewrite share: with the same noise, the same release."""

from __future__ import annotations

from collections.abc import Iterator

from ..auditing.entry_points import Difference, differences
from ..auditing.release_statistics import is_cheap
from ..data.records import rewrite_records, seeded_stream
from ..mechanisms.base import Mechanism

#: A block of rows, and two of them.
ROWS = 5


def entry_point_differences(m: Mechanism, text: str, seed: int) -> Iterator[Difference]:
    """Return how entry points differ from ``m.rewrite(text)`` with the same noise, including rows of a data set."""
    yield from differences(m, text, seed, seeded=is_cheap(m))
    if m.shares_draws:
        return
    rows, stream = [text] * ROWS, seeded_stream(seed)
    for start, batch in ((0, 32), (0, 2), (3, 2)) if is_cheap(m) else ((3, 1),):
        for record in rewrite_records(rows, m, seed=seed, start=start, batch=batch):
            wanted = m.rewrite(text, stream=stream.numbered([record.index]))
            if (record.text, record.guarantee) != (wanted.text, wanted.guarantee):
                yield Difference("a row of a data set", f"row {record.index} of blocks of {batch}", text)
                return
