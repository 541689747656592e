"""The proposal from public information, and its shift by the private text, as a figure."""

from __future__ import annotations

from dptext_core.explain import ProposalView, same_word
from dptext_core.privacy.numbers import odds_text, percent

from .labelled_rows import add_heading, labelled_rows, row_bars
from .theme import DARK, LIGHT, PAD, Plot, escape, shorten, width_of


def proposal_figure(view: ProposalView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Draw the proposal and its shift by the private text, with the most likely word on top."""
    colours = DARK if dark else LIGHT
    labels, paint, hover = [], [], []
    for word, p in zip(view.words, view.probs, strict=True):
        source, released = bool(view.source) and same_word(word, view.source), same_word(word, view.released_word)
        colour = colours["keep"] if source else colours["new"] if released else colours["bar"]
        text = escape(shorten(word, 16))
        # A narrow space separates the words from the bars.
        labels.append((f"<b><span style='color:{colour}'>{text}</span></b>" if source or released else text) + "\u2009")
        paint.append(colour)
        hover.append(f"<b>{escape(word)}</b><br>probability {percent(p)}")
    rows, head, least = len(view.words), 22, 17
    height = max(height, 2 * PAD + head + rows * least)
    common = row_bars(rows, paint, hover)
    figure = Plot()
    figure.add_bar(
        x=view.proposed,
        text=[percent(p) for p in view.proposed],
        name="proposed",
        xaxis="x",
        **common,
        hovertemplate="%{customdata}<br>proposed %{text}<extra></extra>",
    )
    figure.add_bar(
        x=view.shift,
        text=[f"× {odds_text(s).removesuffix(' times')}" if s > 0 else "" for s in view.shift],
        name="shift",
        xaxis="x2",
        **common,
        hovertemplate="%{customdata}<br>%{x:.2f} nats<extra></extra>",
    )
    room = max(width_of(shorten(w, 16), 13) for w in view.words) + 8
    figure.update_layout(
        xaxis={"domain": [0, 0.45], "range": [0, (float(view.proposed.max()) or 1.0) * 1.45]},
        xaxis2={"domain": [0.53, 1], "range": [0, (float(view.shift.max()) or 1.0) * 1.6], "anchor": "y"},
        barmode="overlay",
        hovermode="closest",
    )
    for text, axis in (("proposed from public context", "x"), ("factor of the private text", "x2")):
        add_heading(figure, text, axis, 0, colours)
    return labelled_rows(figure, colours, labels, height, {"l": room, "r": PAD, "t": PAD + head, "b": PAD})
