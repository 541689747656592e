"""Memory over the number of rewritten words: Figure 7 of the 1-Diffractor paper, measured instead of extrapolated."""

from __future__ import annotations

from collections.abc import Sequence

from dptext_core.errors import InputError
from dptext_lab.results.memory import labels, num_words
from dptext_lab.results.rows import Row

from .epsilon_curves import add_frame
from .mechanism_style import system_styles
from .theme import DARK, LIGHT, Plot, escape, with_hover


def memory_over_words(rows: Sequence[Row], *, dark: bool = False, height: int = 340, width: int = 450) -> Plot:
    """Draw peak memory with tables over the number of words, a line for each setting, on logarithmic axes.

    Raises InputError if there are no rows.
    """
    if not rows:
        raise InputError("There are no rows. Pass at least one.")
    colours = DARK if dark else LIGHT
    names = labels(rows)
    styles = system_styles({label: setting.mechanism for setting, label in names.items()}, dark)
    figure = Plot()
    for setting, label in names.items():
        points = sorted((r for r in rows if r.setting == setting), key=num_words)
        colour, dash, symbol = styles[label]
        name = escape(label)
        figure.add_scatter(
            x=[num_words(r) for r in points],
            y=[r.value for r in points],
            mode="lines+markers",
            name=name,
            line={"color": colour, "width": 2, "dash": dash},
            marker={"color": colour, "symbol": symbol, "size": 6},
            hovertemplate=f"<b>{name}</b><br>%{{x:,}} words: %{{y:.3g}} MiB<extra></extra>",
        )
    add_frame(figure, list(names.values()), colours, height, width)
    style = {"type": "log", "title_font": {"color": colours["soft"], "size": 13}}
    for update, title, ticks in (
        (figure.update_xaxes, "Rewritten words", (10, 100, 1_000, 10_000)),
        (figure.update_yaxes, "Peak memory (MiB)", (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)),
    ):
        text = {"text": title, "standoff": 6}
        update(title=text, tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks], **style)
    return with_hover(figure, colours)
