"""How a drawn word came about (``dptext_core.explain``) as figures, each with its title and its caption."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dptext_core.errors import InputError
from dptext_core.explain import CloudView, DiffractionView, GroupView, ListNeighbourhood, ProposalView, View, same_word
from dptext_core.privacy.guarantee import odds_text, percent
from dptext_core.support.checks import many

from .theme import DARK, LIGHT, PAD, Plot, add_labels, escaped, layout, short, width_of, with_hover

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMED = 5  # words a caption names before it says "…"


TITLES: dict[type, str] = {
    DiffractionView: "Lists",
    GroupView: "Group",
    CloudView: "Noise cloud",
    ProposalView: "Proposal and shift",
}


def title(view: View) -> str:
    """What a view is called: the name of its tab."""
    if type(view) not in TITLES:
        raise _unknown(view)
    return TITLES[type(view)]


@functools.singledispatch
def caption(view: View) -> str:
    """What a view says of its word, in whole sentences and plain text: whoever prints it escapes it."""
    raise _unknown(view)


@caption.register(DiffractionView)
def _lists_caption(view: DiffractionView) -> str:
    drawn = view.lists[view.chosen]
    where = moved(drawn.candidate_offset)
    if len(view.lists) == 1:
        at = drawn.at(drawn.candidate_offset)
        chance = "" if at is None else f", which had a chance of {percent(drawn.probs[at])}"
        if drawn.candidate_offset == 0:
            return f"The noise left “{view.source}” in its place on the list {drawn.name}{chance}."
        return f"The noise moved “{view.source}” {where} on the list {drawn.name}, to “{view.released}”{chance}."
    return (
        f"Each of the {len(view.lists)} lists moved “{view.source}” by noise of its own and drew a candidate; the "
        f"one of {drawn.name} ({where}) was picked at random and released."
    )


@caption.register(GroupView)
def _group_caption(view: GroupView) -> str:
    all_of_them = (
        f"In this mapping of {many(view.groups, 'group')}, {percent(view.alone_share)} of all words stand alone."
    )
    if view.alone:
        return f"Warning: “{view.source}” stands alone in its group: no protection at any ε. {all_of_them}"
    others = [w for w in view.crowd if not same_word(w, view.source)]
    names = ", ".join(others[:NAMED]) + (", …" if len(others) > NAMED else "")
    return (
        f"“{view.source}” is one of {len(view.crowd):,} words that share this output set, with {names}: only among "
        f"them does the promise hold. {all_of_them}"
    )


@caption.register(CloudView)
def _cloud_caption(view: CloudView) -> str:
    many = "many" if view.dims is None else f"{view.dims:,}"
    kept = "" if view.share is None else f" (it keeps {percent(view.share)} of the squared ones)"
    return (
        f"A projection of {many} dimensions to 2, so distances are only roughly right{kept}: the noise moved "
        f"“{view.source}” to the ×, and in all dimensions this draw released “{view.released}”."
    )


@caption.register(ProposalView)
def _proposal_caption(view: ProposalView) -> str:
    at = next(i for i, w in enumerate(view.words) if same_word(w, view.released))
    moved_by = "did not make it likelier"
    if view.shift[at] > 0:
        moved_by = f"made it {_times(view.shift[at])} as likely as the words that it made least likely"
    limit = "" if view.most is None else f"; at this ε it cannot make a word more than {_times(view.most)} as likely"
    return (
        f"What is public proposes “{view.released}” with a chance of {percent(view.proposed[at])}. The private text "
        f"{moved_by}{limit}. Together that gives {percent(view.probs[at])}."
    )


def _times(nats: float) -> str:
    """e^nats for reading."""
    return odds_text(nats).replace(" times", "") + " times"


@functools.singledispatch
def draw_view(view: View, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """A view of one drawn word (``dptext_core.explain``) as a figure for a light or a dark page.

    height: pixels; a figure grows where its rows need more. width: pixels of the narrowest column it will stand in:
    labels are placed so that they do not overlap from this width on. The figure takes the width of its column.
    """
    raise _unknown(view)


@draw_view.register(DiffractionView)
def _diffraction(view: DiffractionView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """One lane a list. Coordinates are pixels at the narrowest width, upwards."""
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
    ends = [short(w, 13) for w in (view.source, view.released)]
    chip = [width_of(w, 15) + 14 for w in ends]
    fan = 20 if n == 1 else 34
    x0, x1 = chip[0] + fan, right - chip[1] - fan
    centre = (x0 + x1) / 2
    inset = 18  # the place of candidates outside of the picture, on both sides
    radius = _radius(view.lists, levels * (x1 - x0 - 2 * inset))
    step = (x1 - x0 - 2 * inset) / (2 * radius + 1)
    peak = max(float(h.probs[np.abs(h.offsets) <= radius].max()) for h in view.lists) or 1.0

    figure = Plot()
    middle = (height - 2 * PAD) / 2 if n > 1 else (height - 2 * PAD - fixed - bars) / 2 + row + gap
    labels: list[tuple[float, float, str, str, int, str]] = []  # x, y, text, colour, size, position
    shapes: list[dict[str, Any]] = []
    marks: list[tuple[float, float, str, str, str, list[str]]] = []  # x, y, symbol, fill, line, hover
    for j, hood in enumerate(view.lists):
        chosen = j == view.chosen
        top = height - 2 * PAD - j * lane - (lane - fixed - bars) / 2
        base = top - levels * row - bars
        name = escaped(short(hood.name, int((x1 - x0 + fan) / 6)))
        labels.append((x0, top - row / 2, name, colours["soft"], 11, "middle right"))
        shown = [i for i, k in enumerate(hood.offsets) if abs(k) <= radius]
        x = [centre + int(hood.offsets[i]) * step for i in shown]
        hover = [[escaped(hood.words[i]), _distance(int(hood.offsets[i])), percent(hood.probs[i])] for i in shown]
        paint = [
            colours["keep"]
            if hood.offsets[i] == 0
            else colours["new"]
            if chosen and hood.offsets[i] == hood.candidate_offset
            else colours["bar"]
            for i in shown
        ]
        # An empty bar takes the pointer where the real one is too low to hit.
        figure.add_bar(
            x=x,
            y=[bars] * len(x),
            base=base,
            width=step,
            customdata=hover,
            marker={"color": "rgba(0,0,0,0)"},
            hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<br>chance %{customdata[2]}<extra></extra>",
            name=escaped(hood.name),
        )
        figure.add_bar(
            x=x,
            y=[bars * hood.probs[i] / peak for i in shown],
            base=base,
            width=min(0.62 * step, 16),
            customdata=[[escaped(hood.words[i]), float(hood.probs[i])] for i in shown],
            hoverinfo="skip",
            marker={"color": paint, "line": {"width": 0}},
            name=escaped(hood.name),
        )

        k = hood.candidate_offset
        inside = abs(k) <= radius and not hood.outside
        at = centre + k * step if inside else x1 - 8 if k > 0 else x0 + 8
        ring = colours["new"] if chosen else colours["ink"]
        if inside:
            where = hood.at(k)
            assert where is not None
            said = [escaped(hood.candidate), _distance(k), "chance " + percent(hood.probs[where])]
        else:
            said = [escaped(hood.candidate), _distance(k), "outside of this picture"]
        symbol = "circle" if inside else "triangle-right" if k > 0 else "triangle-left"
        marks.append((at, base, symbol, ring if chosen else "rgba(0,0,0,0)", ring, said))

        # The candidate first, then the nearest words that there is room for. Of two rows each has every second word.
        rows: tuple[list[tuple[float, float]], ...] = ([], [])
        places = [int(hood.offsets[i]) for i in shown if hood.offsets[i] != k]
        for offset in [k, *sorted(places, key=abs)]:
            candidate, free = offset == k, inside or offset != k
            word = hood.candidate if candidate else hood.words[int(np.searchsorted(hood.offsets, offset))]
            text, size = short(word, 14), 13 if candidate else 12
            away = "" if free else f"  {k:+,}".replace("-", "−")
            wide = width_of(text + away, size)
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
            text = f"<b>{escaped(text)}</b>" if candidate else escaped(text)
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
        x=[m[0] for m in marks],
        y=[m[1] for m in marks],
        mode="markers",
        customdata=[m[5] for m in marks],
        marker={
            "symbol": [m[2] for m in marks],
            "size": 10,
            "color": [m[3] for m in marks],
            "line": {"width": 2, "color": [m[4] for m in marks]},
        },
        hovertemplate="<b>%{customdata[0]}</b><br>drawn on this list<br>%{customdata[1]}<br>%{customdata[2]}"
        "<extra></extra>",
        name="candidates",
    )
    add_labels(figure, labels)
    # The boxes hide the ends of the lines, so that both meet at every width.
    for text, edge, anchor, colour in ((ends[0], 2, "left", "keep"), (ends[1], right - 2, "right", "new")):
        figure.add_annotation(
            x=edge,
            y=middle,
            text=f"<b>{escaped(text)}</b>",
            showarrow=False,
            xanchor=anchor,
            yanchor="middle",
            font={"size": 15, "color": colours[colour]},
            bordercolor=colours[colour],
            borderwidth=1.5,
            borderpad=4,
            bgcolor=colours["page"],
        )
    figure.update_layout(shapes=shapes, barmode="overlay", hovermode="closest")
    figure.update_xaxes(range=[0, right], visible=False, fixedrange=True)
    figure.update_yaxes(range=[0, height - 2 * PAD], visible=False, fixedrange=True)
    return with_hover(layout(figure, colours, height), colours)


def _radius(lists: Sequence[ListNeighbourhood], room: float) -> int:
    """How many places on either side of the original there is room for, by the words' usual width; 10 at most."""
    near = [w for h in lists for w, k in zip(h.words, h.offsets, strict=True) if abs(k) <= 4]
    usual = float(np.median([width_of(short(w, 14), 12) for w in near])) + 8
    widest = max(int(np.abs(h.offsets).max()) for h in lists)
    # A few bars more than there are labels for: their words are in the hover.
    return max(1, min(widest, int(np.clip((room / usual - 1) // 2, 3, 10))))


def _distance(offset: int) -> str:
    return moved(offset) if offset else "the original"


@draw_view.register(GroupView)
def _group(view: GroupView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Two columns of bars, the most similar word on top; what is too much for 24 rows is one hatched bar."""
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
        text = escaped(short(word, 16))
        if source or released:
            text = f"<b><span style='color:{colour}'>{text}</span></b>"
        dot = f" <span style='color:{colours['soft']}'>●</span>"
        labels.append(text + (dot if word.lower() in crowd else " <span style='color:rgba(0,0,0,0)'>●</span>"))
        hover.append(escaped(word))
    rows = len(shown) + bool(rest)
    head, foot, least = 22, 22, 17
    height = max(height, 2 * PAD + head + foot + rows * least)
    y = list(range(len(shown)))
    similar, chance = view.similarities[shown], view.probs[shown]
    figure = Plot()
    common = {
        "orientation": "h",
        "y": y,
        "textposition": "outside",
        "cliponaxis": False,
        "width": 0.62,
        "marker": {"color": paint, "line": {"width": 0}},
        "customdata": hover,
        "constraintext": "none",
    }
    figure.add_bar(
        x=similar,
        text=[f"{v:.2f}".replace("-", "−") for v in similar],
        name="similarity",
        xaxis="x",
        **common,
        hovertemplate="<b>%{customdata}</b><br>similarity %{x:.3f}<extra></extra>",
    )
    figure.add_bar(
        x=chance,
        text=[percent(p) for p in chance],
        name="probability",
        xaxis="x2",
        **common,
        hovertemplate="<b>%{customdata}</b><br>chance %{text}<extra></extra>",
    )
    if rest:
        total = float(view.probs[rest].sum())
        labels.append(
            f"<span style='color:{colours['soft']}'>{len(rest):,} others</span> "
            "<span style='color:rgba(0,0,0,0)'>●</span>"
        )
        figure.add_bar(
            x=[total],
            y=[len(shown)],
            orientation="h",
            text=[percent(total)],
            textposition="outside",
            xaxis="x2",
            constraintext="none",
            width=0.62,
            cliponaxis=False,
            name="others",
            hovertemplate="all others: %{text}<extra></extra>",
            marker={
                "color": "rgba(0,0,0,0)",
                "line": {"width": 1, "color": colours["bar"]},
                "pattern": {"shape": "/", "fgcolor": colours["bar"], "size": 5},
            },
        )
    room = max(width_of(short(view.words[i], 16), 13) for i in shown) + 22
    low = min(0.0, float(similar.min()))
    high = max(float(similar.max()), low + 1e-9)
    top = max(float(chance.max()), float(view.probs[rest].sum()) if rest else 0.0) or 1.0
    figure.update_layout(
        xaxis={"domain": [0, 0.47], "range": [low, low + (high - low) * 1.32]},
        xaxis2={"domain": [0.53, 1], "range": [0, top * 1.4], "anchor": "y"},
        barmode="overlay",
        hovermode="closest",
    )
    for text, axis, x in (("similarity", "x", min(low, 0.0)), ("chance at this ε", "x2", 0.0)):
        figure.add_annotation(
            x=x,
            xref=axis,
            y=1,
            yref="paper",
            text=text,
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": 12, "color": colours["soft"]},
        )
    key = (
        "● alone: no other word has this output set"
        if view.alone
        else (f"● in the crowd: the {len(view.crowd):,} words that share this output set")
    )
    figure.add_annotation(
        x=1,
        xref="paper",
        y=0,
        yref="paper",
        yshift=-4,
        text=key,
        showarrow=False,
        xanchor="right",
        yanchor="top",
        font={"size": 12, "color": colours["new"] if view.alone else colours["soft"]},
    )
    return _labelled_rows(figure, colours, labels, height, {"l": room, "r": PAD, "t": PAD + head, "b": PAD + foot})


def _labelled_rows(
    figure: Plot, colours: dict[str, str], labels: list[str], height: int, margin: dict[str, float]
) -> Plot:
    """Horizontal bars, a row for each label from the top down, without axes."""
    layout(figure, colours, height)
    figure.update_layout(margin=margin)
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(
        automargin=False,
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
        ticktext=labels,
        showgrid=False,
        showline=False,
        ticks="",
        fixedrange=True,
    )
    figure.update_traces(textfont={"size": 12, "color": colours["soft"]})
    return with_hover(figure, colours)


@draw_view.register(ProposalView)
def _proposal(view: ProposalView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """Two columns of bars, the likeliest word on top: what is proposed, and how far the private text moves it."""
    colours = DARK if dark else LIGHT
    labels, paint, hover = [], [], []
    for word, p in zip(view.words, view.probs, strict=True):
        source, released = bool(view.source) and same_word(word, view.source), same_word(word, view.released)
        colour = colours["keep"] if source else colours["new"] if released else colours["bar"]
        text = escaped(short(word, 16))
        # A narrow blank keeps the words off the bars.
        labels.append((f"<b><span style='color:{colour}'>{text}</span></b>" if source or released else text) + "\u2009")
        paint.append(colour)
        hover.append(f"<b>{escaped(word)}</b><br>chance {percent(p)}")
    rows, head, least = len(view.words), 22, 17
    height = max(height, 2 * PAD + head + rows * least)
    common = {
        "orientation": "h",
        "y": list(range(rows)),
        "textposition": "outside",
        "cliponaxis": False,
        "width": 0.62,
        "marker": {"color": paint, "line": {"width": 0}},
        "customdata": hover,
        "constraintext": "none",
    }
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
    room = max(width_of(short(w, 16), 13) for w in view.words) + 8
    figure.update_layout(
        xaxis={"domain": [0, 0.45], "range": [0, (float(view.proposed.max()) or 1.0) * 1.45]},
        xaxis2={"domain": [0.53, 1], "range": [0, (float(view.shift.max()) or 1.0) * 1.6], "anchor": "y"},
        barmode="overlay",
        hovermode="closest",
    )
    for text, axis in (("proposed from what is public", "x"), ("private text: times", "x2")):
        figure.add_annotation(
            x=0,
            xref=axis,
            y=1,
            yref="paper",
            text=text,
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": 12, "color": colours["soft"]},
        )
    return _labelled_rows(figure, colours, labels, height, {"l": room, "r": PAD, "t": PAD + head, "b": PAD})


@draw_view.register(CloudView)
def _cloud(view: CloudView, dark: bool = False, height: int = 300, width: int = 450) -> Plot:
    """One scale on both axes. The most distant 2% of the noise may lie outside the frame."""
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
    figure = Plot()
    if len(view.noise):
        shown = f"{len(view.noise):,}" + (f" of {view.draws:,}" if view.draws > len(view.noise) else "")
        figure.add_scatter(
            x=view.noise[:, 0],
            y=view.noise[:, 1],
            mode="markers",
            hoverinfo="skip",
            name=f"{shown} noisy points",
            marker={"size": 4, "color": colours["new"], "opacity": 0.25},
        )
    others = [i for i in range(len(view.words)) if i not in (0, released)]
    figure.add_scatter(
        x=view.xy[others, 0],
        y=view.xy[others, 1],
        mode="markers",
        marker={"size": 6, "color": colours["bar"]},
        customdata=[escaped(view.words[i]) for i in others],
        hovertemplate="%{customdata}<extra></extra>",
        name="words",
        showlegend=False,
    )
    line = np.vstack([view.landed, view.xy[released]])
    figure.add_scatter(
        x=line[:, 0],
        y=line[:, 1],
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name="released",
        line={"color": colours["new"], "width": 2, "dash": "dot"},
    )
    stays = released == 0
    ends = [(0, "source", "original, released" if stays else "original", colours["keep"])]
    if not stays:
        ends.append((released, "released word", "released", colours["new"]))
    for i, name, said, colour in ends:
        figure.add_scatter(
            x=[view.xy[i, 0]],
            y=[view.xy[i, 1]],
            mode="markers",
            showlegend=False,
            name=name,
            customdata=[escaped(view.words[i])],
            hovertemplate=f"<b>%{{customdata}}</b><br>{said}<extra></extra>",
            marker={"size": 11, "color": colour, "line": {"width": 2 if stays else 0, "color": colours["new"]}},
        )
    figure.add_scatter(
        x=[view.landed[0]],
        y=[view.landed[1]],
        mode="markers",
        name="where this draw landed",
        marker={"symbol": "x-thin", "size": 11, "line": {"width": 3, "color": colours["new"]}},
        hovertemplate="where this draw landed<extra></extra>",
    )

    at = pixels(view.xy)
    end, start = pixels(line)[1], pixels(line)[0]
    steps = max(2, int(np.hypot(*(end - start)) / 5))
    along = start + (end - start) * np.linspace(0, 1, steps)[:, None]
    marks = [*((p, 6 if i in (0, released) else 4) for i, p in enumerate(at)), *((p, 2) for p in along), (start, 7)]
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in marks]
    labels = []
    for i in dict.fromkeys([0, released, *others]):
        special = i in (0, released)
        text, size = short(view.words[i], 18), 14 if special else 12
        place = _place(at[i], width_of(text, size), size + 3, 8 if special else 5, taken, inner, skip=i)
        if place is None and special:  # these two are named whatever they cover
            place = _place(at[i], width_of(text, size), size + 3, 8, [], inner, skip=-1)
        if place is None:
            continue
        name, box = place
        taken.append(box)
        middle_y = (box[1] + box[3]) / 2
        edge = box[0] if "right" in name else box[2] if "left" in name else (box[0] + box[2]) / 2
        x, y = np.array([edge, middle_y]) / scale + corner
        position = f"middle {name.split()[1]}"
        colour = colours["keep"] if i == 0 else colours["new"] if special else colours["soft"]
        shown = f"<b>{escaped(text)}</b>" if special else escaped(text)
        labels.append((x, y, shown, colour, size, position))
    add_labels(figure, labels)
    layout(figure, colours, height)
    figure.update_layout(
        showlegend=True,
        hovermode="closest",
        margin={"b": PAD + legend},
        legend={
            "orientation": "h",
            "x": 0.5,
            "xanchor": "center",
            "y": 0,
            "yanchor": "top",
            "font": {"size": 12, "color": colours["soft"]},
            "itemsizing": "constant",
        },
    )
    span = inner / scale / 2
    figure.update_xaxes(visible=False, fixedrange=True, range=[middle[0] - span[0], middle[0] + span[0]])
    figure.update_yaxes(
        visible=False, fixedrange=True, range=[middle[1] - span[1], middle[1] + span[1]], scaleanchor="x"
    )
    return with_hover(figure, colours)


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
        ("middle right", 1, 0),
        ("middle left", -1, 0),
        ("top center", 0, 1),
        ("bottom center", 0, -1),
        ("top right", 1, 1),
        ("bottom right", 1, -1),
        ("top left", -1, 1),
        ("bottom left", -1, -1),
    ):
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


def _line(x0: float, x1: float, y: float, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x0,
        "x1": x1,
        "y0": y,
        "y1": y,
        "layer": "below",
        "line": {"color": colour, "width": width},
    }


def _curve(
    start: tuple[float, float], y0: float, x1: float, y1: float, pull: float, colour: str, width: float, opacity: float
) -> dict[str, Any]:
    """From under a word's box (``start``: within it, and its edge) to the end of a lane."""
    path = (
        f"M {start[0]:.2f},{y0:.2f} L {start[1]:.2f},{y0:.2f} "
        f"C {start[1] + pull:.2f},{y0:.2f} {x1 - pull:.2f},{y1:.2f} {x1:.2f},{y1:.2f}"
    )
    return {
        "type": "path",
        "path": path,
        "layer": "below",
        "opacity": opacity,
        "line": {"color": colour, "width": width},
    }


def moved(offset: int) -> str:
    """How far along a list: ``3 places forward``."""
    if offset == 0:
        return "in its place"
    return f"{many(abs(offset), 'place')} {'forward' if offset > 0 else 'back'}"


def _unknown(view: object) -> InputError:
    return InputError(f"There is no figure of {type(view).__name__}: use a view of dptext_core.explain.")
