"""Figures on a page: plotly's own checks are made here, and not at every answer."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from streamlit.testing.v1 import AppTest

from dptext_studio import figures
from dptext_studio.figures.theme import Plot


def page():
    import numpy as np

    from dptext_studio import figures
    from dptext_studio.components.charts import chart

    x = np.geomspace(1, 50, 9)
    chart(figures.curves({"<b>a</b>": (x, x / 50, x / 60, x / 40)}), key="a", alt="A line")


def test_a_figure_arrives_as_it_was_made_and_is_not_built_again(monkeypatch):
    def built(*args, **options):
        raise AssertionError("plotly checks the figure again")

    x = np.geomspace(1, 50, 9)
    made = figures.curves({"<b>a</b>": (x, x / 50, x / 60, x / 40)})
    monkeypatch.setattr(go.Figure, "__init__", built)
    at = AppTest.from_function(page).run()
    assert not at.exception
    (shown,) = at.get("plotly_chart")
    assert json.loads(shown.proto.spec) == json.loads(json.dumps(made)) and shown.proto.alt == "A line"


def test_every_figure_says_what_it_shows_for_who_cannot_see_it():
    calls = [
        node
        for path in sorted((Path(__file__).resolve().parents[2] / "dptext_studio").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "plotly_chart"
    ]
    assert len(calls) > 2 and all("alt" in {k.arg for k in call.keywords} for call in calls)


def test_a_plot_is_built_as_a_graph_object_is():
    """What our own figures ask of it, put together with the same calls."""

    def build(figure):
        figure.add_bar(x=[1.0, 2.0], y=[3, 4], xaxis="x2", marker={"color": "#123456"}, name="n")
        figure.add_scatter(x=[1], y=[2], mode="text", textfont={"size": 12})
        figure.update_layout(margin={"l": 1, "r": 2}, paper_bgcolor="#ffffff", xaxis2={"domain": [0.5, 1]})
        figure.update_layout(margin={"l": 5}, legend_x=0.5, xaxis={"anchor": "y"}, yaxis={"anchor": "x"})
        figure.update_xaxes(title="x", title_font={"color": "#000000"}, type="log")
        figure.update_yaxes(title={"text": "y", "standoff": 3}, showgrid=False)
        figure.update_traces(hoverinfo="skip")
        figure.add_annotation(text="a", x=1, showarrow=False)
        figure.add_vline(x=2, line={"width": 1})
        return figure

    assert Plot().add_bar(x=np.array([1.0, 2.0]))["data"] == [{"type": "bar", "x": [1.0, 2.0]}]
    ours, theirs = build(Plot()), build(go.Figure())
    theirs.update_layout(template=None)
    said, meant = go.Figure(ours).to_dict(), theirs.to_dict()
    assert said["data"] == meant["data"]
    for layout in (said["layout"], meant["layout"]):
        layout.pop("template", None)
        layout["shapes"] = [s for s in layout["shapes"] if s["xref"] == "x"]
    assert said["layout"] == meant["layout"]
