"""How often an author is recognised, over the number of texts that are read together."""

from __future__ import annotations

from collections.abc import Sequence

from dptext_lab.results.authors import AuthorsRow, strongest

from .epsilon_curves import Curve, curves
from .mechanism_style import system_styles
from .theme import Plot


def authors(rows: Sequence[AuthorsRow], *, dark: bool = False, height: int = 340, width: int = 450) -> Plot:
    """Draw the success of the strongest attacker: a curve for each system, with intervals that do not overlap.

    Raises InputError if there are no rows.
    """
    top = sorted(strongest(rows), key=lambda r: r.texts)
    lines: dict[str, Curve] = {}
    for system in dict.fromkeys(r.system for r in rows):
        rows_of_system = [r for r in top if r.system == system]
        lines[system] = ([float(r.texts) for r in rows_of_system], [r.success for r in rows_of_system], None, None)
    return curves(
        lines,
        "Authors recognised (share)",
        x_title="Texts of one author that the attacker reads",
        top=1.0,
        dark=dark,
        height=height,
        width=width,
        styles=system_styles({r.system: r.mechanism for r in rows}, dark),
    )
