"""Results as plotly figures. Colours are set explicitly, for light and for dark pages."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError
from .views import CloudView, DiffractionView, GroupView, ListNeighbourhood, View, moved, percent, same_word

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import ArrayLike, NDArray

    from .evaluation.clipping import Cost

#: Blue (original), vermillion (released), grey: distinguishable with any colour vision.
LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "soft": "#5f6670",
    "line": "#d9dce1",
    "bar": "#9aa3ad",
    "keep": "#0b62ad",
    "new": "#a64700",
}
DARK = {
    "page": "#171614",
    "ink": "#e8eaed",
    "soft": "#a4abb3",
    "line": "#3b4047",
    "bar": "#767e88",
    "keep": "#8fc3f3",
    "new": "#ffb072",
}
#: Of curves, with a dash and a marker each: no two are told apart by colour alone.
LINES_LIGHT = ("#0b62ad", "#b34700", "#00735a", "#86308c", "#7a5f00", "#1f2328", "#c0306a", "#2b7f9e", "#6a6f76")
LINES_DARK = ("#8fc3f3", "#ffb072", "#5fd3ae", "#dba6ea", "#e5cf62", "#e8eaed", "#ff9dbf", "#7fd6ea", "#a4abb3")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "x",
    "star",
    "triangle-down",
    "cross",
    "hexagon",
    "bowtie",
    "pentagon",
)

N_W = "N_w: chance that a word stays itself"
S_W = "S_w: different words in 100 draws"

FONT = '"Source Sans", "Source Sans Pro", sans-serif'
PAD = 8  # pixels around every figure


def _layout(figure: go.Figure, colours: dict[str, str], height: int) -> go.Figure:
    figure.update_layout(
        height=height, margin={"l": PAD, "r": PAD, "t": PAD, "b": PAD}, showlegend=False, bargap=0.04,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        font={"color": colours["ink"], "size": 13, "family": FONT},
    )  # fmt: skip
    figure.update_xaxes(automargin=True)
    figure.update_yaxes(automargin=True)
    figure.update_xaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    figure.update_yaxes(linecolor=colours["line"], gridcolor=colours["line"], zeroline=False, tickcolor=colours["line"])
    return figure


def logit_histogram(
    logits: np.ndarray,
    clip_min: float,
    clip_max: float,
    *,
    marks: dict[str, float] | None = None,
    others: Mapping[str, tuple[float, float]] | None = None,
    dark: bool = False,
    height: int = 260,
) -> go.Figure:
    """The model's scores of all candidates at one mask, with the clipping range in use shaded.

    logits: raw, (V,). marks: word → its raw score, drawn as labelled lines (original in blue, released in vermillion).
    others: name → other ranges, whose ends are drawn as grey lines with the name at the upper one.
    """
    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    others = dict(others or {})
    low = min(float(logits.min()), clip_min, *(a for a, _ in others.values()))
    high = max(float(logits.max()), clip_max, *(b for _, b in others.values()))
    counts, edges = np.histogram(logits, bins=60, range=(low, high))
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": colours["bar"], "line": {"width": 0}},
            hovertemplate="score %{x:.1f}: %{y:,} words<extra></extra>",
        )
    )
    figure.add_vrect(x0=clip_min, x1=clip_max, fillcolor=colours["keep"], opacity=0.10, line_width=0, layer="below")
    for x in (clip_min, clip_max):
        figure.add_vline(x=x, line={"color": colours["keep"], "width": 1.5, "dash": "dot"})
    top = np.log10(counts.max() + 1)
    for j, (name, ends) in enumerate(others.items()):
        for x in ends:
            if x not in (clip_min, clip_max):
                figure.add_vline(x=x, line={"color": colours["soft"], "width": 1.5, "dash": "dash"})
        figure.add_annotation(
            x=ends[1], y=top * (0.62 - 0.12 * j), yref="y", text=_plain(name), showarrow=False, xanchor="right",
            xshift=-4, font={"color": colours["soft"]},
        )  # fmt: skip
    for j, (word, x) in enumerate((marks or {}).items()):
        colour = colours["keep"] if j == 0 else colours["new"]
        figure.add_vline(x=x, line={"color": colour, "width": 2})
        figure.add_annotation(
            x=x, y=top * (0.98 - 0.14 * j), yref="y", text=_plain(word), showarrow=False, xanchor="left", xshift=4,
            font={"color": colour},
        )  # fmt: skip
    figure.update_yaxes(type="log", title="words", title_font={"color": colours["soft"]}, dtick=1)
    figure.update_xaxes(title="model score (logit) before clipping", title_font={"color": colours["soft"]})
    return _layout(figure, colours, height)


def clipping(rows: Sequence[Cost], *, dark: bool = False, height: int = 480) -> go.Figure:
    """Cosine above and N_w below over the width of the clipping range, one line an ε (``evaluation.clipping``)."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    colours, lines = (DARK, LINES_DARK) if dark else (LIGHT, LINES_LIGHT)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for i, epsilon in enumerate(dict.fromkeys(r.epsilon for r in rows)):
        mine = sorted((r for r in rows if r.epsilon == epsilon), key=lambda r: r.width)
        for row, (name, half) in enumerate((("cosine", "cosine_half"), ("n_w", "n_w_half")), 1):
            figure.add_trace(
                go.Scatter(
                    x=[r.width for r in mine],
                    y=[getattr(r, name) for r in mine],
                    error_y={"array": [getattr(r, half) for r in mine], "thickness": 1, "width": 2},
                    name=f"ε {epsilon:g}",
                    legendgroup=str(epsilon),
                    showlegend=row == 1,
                    mode="lines+markers",
                    line={"color": lines[i % len(lines)], "dash": DASHES[i % len(DASHES)], "width": 2},
                    marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 7},
                    hovertemplate=f"ε {epsilon:g}, %{{x:g}}σ: %{{y:.3f}}<extra></extra>",
                ),
                row=row,
                col=1,
            )
    _layout(figure, colours, height)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    soft = {"color": colours["soft"]}
    figure.update_yaxes(title="cosine", title_font=soft, row=1, col=1)
    figure.update_yaxes(title="N_w", title_font=soft, rangemode="tozero", row=2, col=1)
    figure.update_xaxes(
        title="upper end, in σ above the mean", title_font=soft, tickvals=sorted({r.width for r in rows}), row=2, col=1
    )
    return figure


def _plain(text: str) -> str:
    """Plotly reads a little HTML in its labels: what a user typed is shown literally."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@functools.singledispatch
def draw_view(view: View, dark: bool = False, height: int = 300, width: int = 450) -> go.Figure:
    """A view of one drawn word (``dptext_core.views``) as a figure for a light or a dark page.

    height: pixels; a figure grows where its rows need more. width: pixels of the narrowest column it will stand in:
    labels are placed so that they do not overlap from this width on. The figure takes the width of its column.
    """
    raise InputError(f"There is no figure of {type(view).__name__}: use a view of dptext_core.views.")


@draw_view.register(DiffractionView)
def _diffraction(view: DiffractionView, dark: bool = False, height: int = 300, width: int = 450) -> go.Figure:
    """One lane a list. Coordinates are pixels at the narrowest width, upwards."""
    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    n = len(view.lists)
    row, gap, low_bars, high_bars = 16, 11, 18, 130
    # Words stand below their bars and, where the lanes are few, above them too.
    levels = 2 if n <= 6 else 1
    fixed = (1 + levels) * row + gap
    height = max(height, 2 * PAD + n * (fixed + low_bars))
    lane = (height - 2 * PAD) / n
    bars = min(lane - fixed, high_bars)

    right = width - 2 * PAD
    ends = [_short(w, 13) for w in (view.source, view.released)]
    chip = [_width_of(w, 15) + 14 for w in ends]
    fan = 20 if n == 1 else 34
    x0, x1 = chip[0] + fan, right - chip[1] - fan
    centre = (x0 + x1) / 2
    inset = 18  # the place of candidates outside of the picture, on both sides
    radius = _radius(view.lists, levels * (x1 - x0 - 2 * inset))
    step = (x1 - x0 - 2 * inset) / (2 * radius + 1)
    peak = max(float(h.probs[np.abs(h.offsets) <= radius].max()) for h in view.lists) or 1.0

    figure = go.Figure()
    middle = (height - 2 * PAD) / 2 if n > 1 else (height - 2 * PAD - fixed - bars) / 2 + row + gap
    labels: list[tuple[float, float, str, str, int, str]] = []  # x, y, text, colour, size, position
    shapes: list[dict[str, Any]] = []
    marks: list[tuple[float, float, str, str, str, list[str]]] = []  # x, y, symbol, fill, line, hover
    for j, hood in enumerate(view.lists):
        chosen = j == view.chosen
        top = height - 2 * PAD - j * lane - (lane - fixed - bars) / 2
        base = top - levels * row - bars
        name = _plain(_short(hood.name, int((x1 - x0 + fan) / 6)))
        labels.append((x0, top - row / 2, name, colours["soft"], 11, "middle right"))
        shown = [i for i, k in enumerate(hood.offsets) if abs(k) <= radius]
        x = [centre + int(hood.offsets[i]) * step for i in shown]
        hover = [[_plain(hood.words[i]), _distance(int(hood.offsets[i])), percent(hood.probs[i])] for i in shown]
        paint = [
            colours["keep"] if hood.offsets[i] == 0
            else colours["new"] if chosen and hood.offsets[i] == hood.candidate_offset
            else colours["bar"]
            for i in shown
        ]  # fmt: skip
        # An empty bar takes the pointer where the real one is too low to hit.
        figure.add_bar(
            x=x, y=[bars] * len(x), base=base, width=step, customdata=hover, marker={"color": "rgba(0,0,0,0)"},
            hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<br>chance %{customdata[2]}<extra></extra>",
            name=_plain(hood.name),
        )  # fmt: skip
        figure.add_bar(
            x=x, y=[bars * hood.probs[i] / peak for i in shown], base=base, width=min(0.62 * step, 16),
            customdata=[[_plain(hood.words[i]), float(hood.probs[i])] for i in shown], hoverinfo="skip",
            marker={"color": paint, "line": {"width": 0}}, name=_plain(hood.name),
        )  # fmt: skip

        k = hood.candidate_offset
        inside = abs(k) <= radius and not hood.outside
        at = centre + k * step if inside else x1 - 8 if k > 0 else x0 + 8
        ring = colours["new"] if chosen else colours["ink"]
        if inside:
            where = hood.at(k)
            assert where is not None
            said = [_plain(hood.candidate), _distance(k), "chance " + percent(hood.probs[where])]
        else:
            said = [_plain(hood.candidate), _distance(k), "outside of this picture"]
        symbol = "circle" if inside else "triangle-right" if k > 0 else "triangle-left"
        marks.append((at, base, symbol, ring if chosen else "rgba(0,0,0,0)", ring, said))

        # The candidate first, then the nearest words that there is room for. Of two rows each has every second word.
        rows: tuple[list[tuple[float, float]], ...] = ([], [])
        places = [int(hood.offsets[i]) for i in shown if hood.offsets[i] != k]
        for offset in [k, *sorted(places, key=abs)]:
            candidate, free = offset == k, inside or offset != k
            word = hood.candidate if candidate else hood.words[int(np.searchsorted(hood.offsets, offset))]
            text, size = _short(word, 14), 13 if candidate else 12
            away = "" if free else f"  {k:+,}".replace("-", "−")
            wide = _width_of(text + away, size)
            middle_x = centre + offset * step
            if candidate:
                middle_x = min(max(middle_x, x0 + wide / 2), max(x0, x1 - wide / 2))
            span = (middle_x - wide / 2, middle_x + wide / 2)
            level = offset % 2 if levels == 2 and free else 0
            clear = all(span[1] + 6 <= a or b + 6 <= span[0] for a, b in rows[level])
            if not candidate and not (clear and x0 - 14 <= span[0] and span[1] <= x1 + 14):
                continue
            rows[level].append(span)
            kind = "new" if candidate and chosen else "keep" if offset == 0 else "ink" if candidate else "soft"
            text = f"<b>{_plain(text)}</b>" if candidate else _plain(text)
            if away:
                text += f"<span style='color:{colours['soft']}'>{away}</span>"
            end = "middle center" if free else "middle left" if k > 0 else "middle right"
            tip = middle_x if free else x1 if k > 0 else x0
            y = base + bars + row / 2 if level else base - row / 2 - 5
            labels.append((tip, y, text, colours[kind], size, end))

        pull = 0.6 * fan
        into, out = (chip[0] / 2, chip[0]), (right - chip[1], right - chip[1] / 2)
        shapes.append(_curve(into, middle, x0, base, pull, colours["keep"], 1.5 if n > 1 else 2, 0.55))
        shapes.append(_line(x0, x1, base, colours["line"], 1.5))
        if chosen:
            shapes.append(_line(at, x1, base, colours["new"], 2.5))
            shapes.append(_curve(out[::-1], middle, x1, base, -pull, colours["new"], 2.5, 1))
        else:
            shapes.append(_curve(out[::-1], middle, x1, base, -pull, colours["bar"], 1, 0.55))

    figure.add_scatter(
        x=[m[0] for m in marks], y=[m[1] for m in marks], mode="markers", customdata=[m[5] for m in marks],
        marker={"symbol": [m[2] for m in marks], "size": 10, "color": [m[3] for m in marks],
                "line": {"width": 2, "color": [m[4] for m in marks]}},
        hovertemplate="<b>%{customdata[0]}</b><br>drawn on this list<br>%{customdata[1]}<br>%{customdata[2]}"
                      "<extra></extra>",
        name="candidates",
    )  # fmt: skip
    _add_labels(figure, labels)
    # The boxes hide the ends of the lines, so that both meet at every width.
    for text, edge, anchor, colour in ((ends[0], 2, "left", "keep"), (ends[1], right - 2, "right", "new")):
        figure.add_annotation(
            x=edge, y=middle, text=f"<b>{_plain(text)}</b>", showarrow=False, xanchor=anchor, yanchor="middle",
            font={"size": 15, "color": colours[colour]}, bordercolor=colours[colour], borderwidth=1.5, borderpad=4,
            bgcolor=colours["page"],
        )  # fmt: skip
    figure.update_layout(shapes=shapes, barmode="overlay", hovermode="closest")
    figure.update_xaxes(range=[0, right], visible=False, fixedrange=True)
    figure.update_yaxes(range=[0, height - 2 * PAD], visible=False, fixedrange=True)
    return _hover(_layout(figure, colours, height), colours)


def _radius(lists: Sequence[ListNeighbourhood], room: float) -> int:
    """How many places on either side of the original there is room for, by the words' usual width; 10 at most."""
    near = [w for h in lists for w, k in zip(h.words, h.offsets, strict=True) if abs(k) <= 4]
    usual = float(np.median([_width_of(_short(w, 14), 12) for w in near])) + 8
    widest = max(int(np.abs(h.offsets).max()) for h in lists)
    # A few bars more than there are labels for: their words are in the hover.
    return max(1, min(widest, int(np.clip((room / usual - 1) // 2, 3, 10))))


def _distance(offset: int) -> str:
    return moved(offset) if offset else "the original"


@draw_view.register(GroupView)
def _group(view: GroupView, dark: bool = False, height: int = 300, width: int = 450) -> go.Figure:
    """Two columns of bars, the most similar word on top; what is too much for 24 rows is one hatched bar."""
    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    order = np.argsort(-view.similarities, kind="stable")
    marked = [i for i in order if same_word(view.words[i], view.source) or same_word(view.words[i], view.released)]
    most = 24
    shown = [int(i) for i in order]
    rest: list[int] = []
    if len(shown) > most:
        kept = set(marked) | set([i for i in shown if i not in marked][: most - 1 - len(marked)])
        rest = [i for i in shown if i not in kept]
        shown = [i for i in shown if i in kept]
    crowd = {w.lower() for w in view.crowd}
    paint, labels, hover = [], [], []
    for i in shown:
        word = view.words[i]
        source, released = same_word(word, view.source), same_word(word, view.released)
        colour = colours["keep"] if source else colours["new"] if released else colours["bar"]
        paint.append(colour)
        text = _plain(_short(word, 16))
        if source or released:
            text = f"<b><span style='color:{colour}'>{text}</span></b>"
        dot = f" <span style='color:{colours['soft']}'>●</span>"
        labels.append(text + (dot if word.lower() in crowd else " <span style='color:rgba(0,0,0,0)'>●</span>"))
        hover.append(_plain(word))
    rows = len(shown) + bool(rest)
    head, foot, least = 22, 22, 17
    height = max(height, 2 * PAD + head + foot + rows * least)
    y = list(range(len(shown)))
    similar, chance = view.similarities[shown], view.probs[shown]
    figure = go.Figure()
    common = {"orientation": "h", "y": y, "textposition": "outside", "cliponaxis": False, "width": 0.62,
              "marker": {"color": paint, "line": {"width": 0}}, "customdata": hover,
              "constraintext": "none"}  # fmt: skip
    figure.add_bar(
        x=similar, text=[f"{v:.2f}".replace("-", "−") for v in similar], name="similarity", xaxis="x", **common,
        hovertemplate="<b>%{customdata}</b><br>similarity %{x:.3f}<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        x=chance, text=[percent(p) for p in chance], name="probability", xaxis="x2", **common,
        hovertemplate="<b>%{customdata}</b><br>chance %{text}<extra></extra>",
    )  # fmt: skip
    if rest:
        total = float(view.probs[rest].sum())
        labels.append(f"<span style='color:{colours['soft']}'>{len(rest):,} others</span> "
                      "<span style='color:rgba(0,0,0,0)'>●</span>")  # fmt: skip
        figure.add_bar(
            x=[total], y=[len(shown)], orientation="h", text=[percent(total)], textposition="outside", xaxis="x2",
            constraintext="none", width=0.62, cliponaxis=False, name="others",
            hovertemplate="all others: %{text}<extra></extra>",
            marker={"color": "rgba(0,0,0,0)", "line": {"width": 1, "color": colours["bar"]},
                    "pattern": {"shape": "/", "fgcolor": colours["bar"], "size": 5}},
        )  # fmt: skip
    room = max(_width_of(_short(view.words[i], 16), 13) for i in shown) + 22
    low = min(0.0, float(similar.min()))
    high = max(float(similar.max()), low + 1e-9)
    top = max(float(chance.max()), float(view.probs[rest].sum()) if rest else 0.0) or 1.0
    figure.update_layout(
        xaxis={"domain": [0, 0.47], "range": [low, low + (high - low) * 1.32]},
        xaxis2={"domain": [0.53, 1], "range": [0, top * 1.4], "anchor": "y"},
        barmode="overlay", hovermode="closest",
    )  # fmt: skip
    for text, axis, x in (("similarity", "x", min(low, 0.0)), ("chance at this ε", "x2", 0.0)):
        figure.add_annotation(
            x=x, xref=axis, y=1, yref="paper", text=text, showarrow=False, xanchor="left", yanchor="bottom",
            font={"size": 12, "color": colours["soft"]},
        )  # fmt: skip
    key = (
        "● alone: no other word has this output set"
        if view.alone
        else (f"● in the crowd: the {len(view.crowd):,} words that share this output set")
    )
    figure.add_annotation(
        x=1, xref="paper", y=0, yref="paper", yshift=-4, text=key, showarrow=False, xanchor="right", yanchor="top",
        font={"size": 12, "color": colours["new"] if view.alone else colours["soft"]},
    )  # fmt: skip
    _layout(figure, colours, height)
    figure.update_layout(margin={"l": room, "r": PAD, "t": PAD + head, "b": PAD + foot})
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(
        automargin=False, range=[rows - 0.5, -0.5], tickvals=list(range(rows)), ticktext=labels, showgrid=False,
        showline=False, ticks="", fixedrange=True,
    )  # fmt: skip
    figure.update_traces(textfont={"size": 12, "color": colours["soft"]})
    return _hover(figure, colours)


@draw_view.register(CloudView)
def _cloud(view: CloudView, dark: bool = False, height: int = 300, width: int = 450) -> go.Figure:
    """One scale on both axes. The most distant 2% of the noise may lie outside the frame."""
    import plotly.graph_objects as go

    colours = DARK if dark else LIGHT
    legend = 24
    inner = np.array([width - 2 * PAD, height - 2 * PAD - legend], dtype=float)
    points = np.vstack([view.xy, view.landed[None], _most(view.noise, view.xy[0])])
    low, high = points.min(0), points.max(0)
    pad = np.array([34.0, 16.0])
    span = np.maximum(high - low, 1e-12)
    scale = float(np.min((inner - 2 * pad) / span))
    middle = (low + high) / 2
    corner = middle - inner / scale / 2

    def pixels(xy: NDArray[np.float64]) -> NDArray[np.float64]:
        return (xy - corner) * scale

    released = next(i for i, w in enumerate(view.words) if same_word(w, view.released))
    figure = go.Figure()
    if len(view.noise):
        shown = f"{len(view.noise):,}" + (f" of {view.draws:,}" if view.draws > len(view.noise) else "")
        figure.add_scatter(
            x=view.noise[:, 0], y=view.noise[:, 1], mode="markers", hoverinfo="skip",
            name=f"{shown} noisy points",
            marker={"size": 4, "color": colours["new"], "opacity": 0.25},
        )  # fmt: skip
    others = [i for i in range(len(view.words)) if i not in (0, released)]
    figure.add_scatter(
        x=view.xy[others, 0], y=view.xy[others, 1], mode="markers", marker={"size": 6, "color": colours["bar"]},
        customdata=[_plain(view.words[i]) for i in others], hovertemplate="%{customdata}<extra></extra>",
        name="words", showlegend=False,
    )  # fmt: skip
    line = np.vstack([view.landed, view.xy[released]])
    figure.add_scatter(
        x=line[:, 0], y=line[:, 1], mode="lines", hoverinfo="skip", showlegend=False, name="released",
        line={"color": colours["new"], "width": 2, "dash": "dot"},
    )  # fmt: skip
    stays = released == 0
    ends = [(0, "source", "original, released" if stays else "original", colours["keep"])]
    if not stays:
        ends.append((released, "released word", "released", colours["new"]))
    for i, name, said, colour in ends:
        figure.add_scatter(
            x=[view.xy[i, 0]], y=[view.xy[i, 1]], mode="markers", showlegend=False, name=name,
            customdata=[_plain(view.words[i])], hovertemplate=f"<b>%{{customdata}}</b><br>{said}<extra></extra>",
            marker={"size": 11, "color": colour, "line": {"width": 2 if stays else 0, "color": colours["new"]}},
        )  # fmt: skip
    figure.add_scatter(
        x=[view.landed[0]], y=[view.landed[1]], mode="markers", name="where this draw landed",
        marker={"symbol": "x-thin", "size": 11, "line": {"width": 3, "color": colours["new"]}},
        hovertemplate="where this draw landed<extra></extra>",
    )  # fmt: skip

    at = pixels(view.xy)
    end, start = pixels(line)[1], pixels(line)[0]
    steps = max(2, int(np.hypot(*(end - start)) / 5))
    along = start + (end - start) * np.linspace(0, 1, steps)[:, None]
    marks = [*((p, 6 if i in (0, released) else 4) for i, p in enumerate(at)), *((p, 2) for p in along), (start, 7)]
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in marks]
    labels = []
    for i in dict.fromkeys([0, released, *others]):
        special = i in (0, released)
        text, size = _short(view.words[i], 18), 14 if special else 12
        place = _place(at[i], _width_of(text, size), size + 3, 8 if special else 5, taken, inner, skip=i)
        if place is None and special:  # these two are named whatever they cover
            place = _place(at[i], _width_of(text, size), size + 3, 8, [], inner, skip=-1)
        if place is None:
            continue
        name, box = place
        taken.append(box)
        middle_y = (box[1] + box[3]) / 2
        edge = box[0] if "right" in name else box[2] if "left" in name else (box[0] + box[2]) / 2
        x, y = np.array([edge, middle_y]) / scale + corner
        position = f"middle {name.split()[1]}"
        colour = colours["keep"] if i == 0 else colours["new"] if special else colours["soft"]
        shown = f"<b>{_plain(text)}</b>" if special else _plain(text)
        labels.append((x, y, shown, colour, size, position))
    _add_labels(figure, labels)
    _layout(figure, colours, height)
    figure.update_layout(
        showlegend=True, hovermode="closest", margin={"b": PAD + legend},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top",
                "font": {"size": 12, "color": colours["soft"]}, "itemsizing": "constant"},
    )  # fmt: skip
    span = inner / scale / 2
    figure.update_xaxes(visible=False, fixedrange=True, range=[middle[0] - span[0], middle[0] + span[0]])
    figure.update_yaxes(
        visible=False, fixedrange=True, range=[middle[1] - span[1], middle[1] + span[1]], scaleanchor="x"
    )
    return _hover(figure, colours)


def _most(noise: NDArray[np.float64], source: NDArray[np.float64]) -> NDArray[np.float64]:
    """The noise without the most distant 2%: a few far points must not push the words together."""
    if len(noise) < 50:
        return noise
    away = np.hypot(*(noise - source).T)
    return noise[away <= np.quantile(away, 0.98)]


def _place(
    at: NDArray[np.float64],
    width: float,
    height: float,
    away: float,
    taken: Sequence[tuple[float, float, float, float]],
    frame: NDArray[np.float64],
    skip: int,
) -> tuple[str, tuple[float, float, float, float]] | None:
    """The first position of a label around its point that is inside the frame and touches nothing; pixels, upwards."""
    x, y = float(at[0]), float(at[1])
    for name, dx, dy in (
        ("middle right", 1, 0), ("middle left", -1, 0), ("top center", 0, 1), ("bottom center", 0, -1),
        ("top right", 1, 1), ("bottom right", 1, -1), ("top left", -1, 1), ("bottom left", -1, -1),
    ):  # fmt: skip
        cx = x + dx * (away + width / 2) * (1 if dy == 0 else 0.9)
        cy = y + dy * (away + height / 2)
        box = (cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)
        if box[0] < 0 or box[1] < 0 or box[2] > frame[0] or box[3] > frame[1]:
            continue
        if all(
            j == skip or box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1]
            for j, b in enumerate(taken)
        ):
            return name, box
    return None


#: Of one curve: ε (m,), its values (m,), and the ends of its interval (m,) or None for both.
Curve = tuple["ArrayLike", "ArrayLike", "ArrayLike | None", "ArrayLike | None"]


def curves(
    lines: Mapping[str, Curve],
    y_title: str = N_W,
    *,
    top: float | None = None,
    dark: bool = False,
    height: int = 340,
    width: int = 450,
) -> go.Figure:
    """Values over ε, one curve a label, with a shaded interval where its ends are given; ε on a logarithmic axis.

    lines: label → (epsilons, mean, low, high), low and high both None or both given. y_title: ``N_W`` or ``S_W``. top:
    the upper end of the vertical axis; 1 for ``N_W``, else that of the data. The legend comes below these ``height``
    pixels, in as many columns as ``width`` pixels have room for. Raises InputError where lengths differ or an ε is not
    positive.
    """
    import plotly.graph_objects as go

    colours, paint = (DARK, LINES_DARK) if dark else (LIGHT, LINES_LIGHT)
    figure = go.Figure()
    highest, ends = 0.0, []
    for j, (label, (epsilons, mean, low, high)) in enumerate(lines.items()):
        x, y = np.asarray(epsilons, dtype=np.float64), np.asarray(mean, dtype=np.float64)
        band = None if low is None or high is None else np.array([low, high], dtype=np.float64)
        if x.ndim != 1 or x.shape != y.shape or not len(x) or (band is not None and band.shape != (2, len(x))):
            raise InputError(f"The curve “{label}” needs as many values as ε, and at least one.")
        if (low is None) != (high is None) or not (np.all(x > 0) and np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
            raise InputError(
                f"The curve “{label}” needs positive ε, finite values, and both ends of an interval or none."
            )
        colour, name = paint[j % len(paint)], _plain(label)
        highest = max(highest, float(y.max()), 0.0 if band is None else float(band[1].max()))
        ends += [float(x.min()), float(x.max())]
        if band is not None:
            figure.add_scatter(
                x=np.concatenate([x, x[::-1]]), y=np.concatenate([band[1], band[0][::-1]]), fill="toself",
                mode="lines", line={"width": 0}, fillcolor=_faint(colour, 0.18), hoverinfo="skip", showlegend=False,
                legendgroup=name, name=name,
            )  # fmt: skip
        said = [f"{v:.3g}" for v in y]
        if band is not None:
            said = [f"{v} ({a:.3g} to {b:.3g})" for v, a, b in zip(said, *band, strict=True)]
        figure.add_scatter(
            x=x, y=y, mode="lines+markers" if len(x) <= 40 else "lines", name=name, legendgroup=name,
            line={"color": colour, "width": 2, "dash": DASHES[j % len(DASHES)]},
            marker={"color": colour, "symbol": SYMBOLS[j % len(SYMBOLS)], "size": 6, "maxdisplayed": 9},
            customdata=said, hovertemplate=f"<b>{name}</b><br>ε = %{{x:.3g}}<br>%{{customdata}}<extra></extra>",
        )  # fmt: skip
    if not lines:
        raise InputError("There is no curve to draw.")
    if top is None:
        top = 1.0 if y_title == N_W else highest or 1.0
    _layout(figure, colours, height)
    entry = max(_width_of(label, 12) for label in lines) + 52
    columns = max(1, min(len(lines), int((width - 64) // entry)))
    legend = 20 * -(-len(lines) // columns)
    low_end, high_end = min(ends), max(ends)
    pad = max(0.02 * np.log10(high_end / low_end), 0.02)
    figure.update_layout(
        height=height + legend, hovermode="closest", showlegend=True,
        margin={"l": 52, "r": PAD + 4, "t": PAD + 4, "b": PAD + 42 + legend},
        legend={"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom", "entrywidth": entry - 40,
                "tracegroupgap": 0,
                "font": {"size": 12, "color": colours["ink"]}},
    )  # fmt: skip
    ticks = _ticks(low_end, high_end)
    figure.update_xaxes(
        type="log", title={"text": "ε per word", "standoff": 6}, title_font={"color": colours["soft"], "size": 13},
        automargin=False,
        tickvals=ticks, ticktext=[f"{v:g}" for v in ticks], ticks="outside", showgrid=False, showline=True,
        range=[np.log10(low_end) - pad, np.log10(high_end) + pad],
    )  # fmt: skip
    figure.update_yaxes(
        title={"text": y_title, "standoff": 8}, title_font={"color": colours["soft"], "size": 13},
        automargin=False,
        range=[-0.02 * top, 1.04 * top],
    )  # fmt: skip
    return _hover(figure, colours)


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten between two ε; over more than three powers the powers alone."""
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 2)
    steps = (1, 2, 5) if high / low <= 1000 else (1,)
    found = [s * 10.0**p for p in powers for s in steps]
    return [v for v in found if low / 1.001 <= v <= high * 1.001] or [low]


def _add_labels(figure: go.Figure, labels: Sequence[tuple[float, float, str, str, int, str]]) -> None:
    """Words as one trace: x, y, text (escaped), colour, size, position."""
    if not labels:
        return
    x, y, text, colour, size, position = (list(column) for column in zip(*labels, strict=True))
    figure.add_scatter(
        x=x, y=y, text=text, textposition=position, mode="text", textfont={"color": colour, "size": size},
        hoverinfo="skip", cliponaxis=False, showlegend=False, name="labels",
    )  # fmt: skip


def _hover(figure: go.Figure, colours: dict[str, str]) -> go.Figure:
    paper = "#24262b" if colours is DARK else "#ffffff"
    figure.update_layout(
        hoverlabel={"bgcolor": paper, "bordercolor": colours["line"],
                    "font": {"color": colours["ink"], "size": 13, "family": FONT}, "align": "left"},
    )  # fmt: skip
    return figure


def _line(x0: float, x1: float, y: float, colour: str, width: float) -> dict[str, Any]:
    return {"type": "line", "x0": x0, "x1": x1, "y0": y, "y1": y, "layer": "below",
            "line": {"color": colour, "width": width}}  # fmt: skip


def _curve(
    start: tuple[float, float], y0: float, x1: float, y1: float, pull: float, colour: str, width: float, opacity: float
) -> dict[str, Any]:
    """From under a word's box (``start``: within it, and its edge) to the end of a lane."""
    path = (
        f"M {start[0]:.2f},{y0:.2f} L {start[1]:.2f},{y0:.2f} "
        f"C {start[1] + pull:.2f},{y0:.2f} {x1 - pull:.2f},{y1:.2f} {x1:.2f},{y1:.2f}"
    )
    return {"type": "path", "path": path, "layer": "below", "opacity": opacity,
            "line": {"color": colour, "width": width}}  # fmt: skip


def _faint(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _width_of(text: str, size: float) -> float:
    """Pixels that a text takes at most, nearly: plotly measures only in the browser, and labels are placed before."""
    narrow, wide = set(" .,:;'’|!iljtfrI()[]-"), set("mwMW@%&—…")
    em = 0.0
    for c in text:
        if unicodedata.combining(c):
            continue
        if unicodedata.east_asian_width(c) in "WF":
            em += 1.05
        else:
            em += 0.36 if c in narrow else 0.86 if c in wide else 0.66 if c.isupper() else 0.53
    return em * size


def _short(text: str, most: int) -> str:
    """At most that many characters; the hover has the whole word."""
    return text if len(text) <= most else text[: most - 1] + "…"
