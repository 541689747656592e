"""Two texts of the visitor's choice: how well an optimal reader of one release distinguishes them, as a curve."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import streamlit as st

import dptext_core as dpt
from dptext_core.attacks.two_texts import PAIRS
from dptext_core.privacy.draw_counts import optimal_note
from dptext_core.privacy.kinds import Notion
from dptext_core.privacy.numbers import bound, number, percent
from dptext_core.support.private import Private

from ...components import download, methods_panel
from ...components.charts import dark
from ...components.sticky_widgets import stay
from ...components.text import literal, too_long
from ...exports.two_texts import curve_command, curve_python
from ...figures import detection_curve, to_html
from ...figures.detection_curve import RATES, detected_at
from ...server.session import session
from ..compare.distinguishability import Subject

PLACE = "trade-off curve"
CONFIG = {
    "displaylogo": False,
    "toImageButtonOptions": {"format": "png", "filename": "detections", "scale": 2},
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "zoom2d", "pan2d"],
}


@dataclass(frozen=True)
class CurveRequest(Private):
    """The texts to compare, and the key of the subject that rewrites them."""

    first: str
    second: str
    key: Any

    _shown: ClassVar[tuple[str, ...]] = ()


def panel(subject: Subject, setting: dpt.Setting | None) -> None:
    """Show two boxes and the curve of their texts.

    Parameters
    ----------
    subject
        The mechanism that releases one of the texts.
    setting
        What repeats it in code; None where nothing does.
    """
    st.caption(
        "An attacker knows both texts and the mechanism, sees one release, and decides which text produced it. A "
        "false alarm mistakes the second text for the first. The curve shows the best rule at each false-alarm rate."
    )
    places = st.columns(2)
    texts = [
        place.text_area(title, key=stay(f"audit_curve_{name}", default), height=90)
        for place, title, name, default in zip(
            places, ("First text", "Second text"), ("one", "other"), (PAIRS[0].first, PAIRS[0].second), strict=True
        )
    ]
    pressed = st.button("Compare the texts", icon=":material/show_chart:", key="audit_curve_start")
    if said := next(filter(None, map(too_long, texts)), ""):
        st.error(said)
        return
    work, asked = session().at(PLACE), CurveRequest(texts[0].strip(), texts[1].strip(), subject.key)
    if pressed:
        work.start((asked, subject, setting), lambda task: _compared(asked, subject, task), "Comparing the texts")
    if work.is_running():
        work.show_progress("audit_curve_stop")
    elif isinstance(work.error, dpt.NoDistribution):
        st.info(literal(f"{work.error} The classifiers below need no formula."))
    elif said := work.failure_text("Stopped. Press “Compare the texts” to start again."):
        st.error(literal(said))
    elif work.result is not None:
        if vars(work.request[0]) != vars(asked):
            st.warning("This curve is for the previous settings. Press “Compare the texts” to update it.")
        show(*work.result, *work.request[1:])


def _compared(asked: CurveRequest, subject: Subject, task: dpt.Task) -> tuple[dpt.TradeOffCurve, dpt.Guarantee]:
    """Return the curve, and the guarantee of the text with the larger total."""
    m = subject.make()
    curve = dpt.trade_off_curve(m, asked.first, asked.second, false_alarms=RATES, task=task)
    return curve, max(map(m.guarantee, (asked.first, asked.second)), key=lambda g: g.total)


def show(curve: dpt.TradeOffCurve, guarantee: dpt.Guarantee, subject: Subject, setting: dpt.Setting | None) -> None:
    """Show a curve with its measures, its downloads and the code that repeats it."""
    least, best = (percent(float(x)) for x in curve.success)
    rate, ceiling = detected_at(curve)
    values = {
        "Reader’s success": (
            best if least == best else f"{least} to {best}",
            "How often the optimal reader names the right text when both are equally likely. Guessing: 50%.",
        ),
        "Limit of the guarantee": (
            _ceiling_text(float(curve.success_ceiling)) if math.isfinite(curve.loss) else "no limit",
            "The highest success that the guarantee allows any reader for these two texts.",
        ),
        "Detection rate": (rate, "Share of releases of the first text that are detected, at 5% false alarms."),
        "Limit of the rate": (ceiling, "The highest rate that the guarantee alone allows at 5% false alarms."),
    }
    with st.container(horizontal=True, gap="large"):
        for label, (value, help_text) in values.items():
            st.metric(label, value, help=help_text, width="content")
    alt = f"{curve.sentence()} “Data (CSV)” has the numbers."
    st.plotly_chart(detection_curve(curve, dark=dark()), theme=None, config=CONFIG, key="audit_curve_figure", alt=alt)
    st.markdown(literal(curve.sentence()))
    unit = " for each unit of distance" if guarantee.notion is Notion.METRIC else ""
    total = f"{bound(guarantee.total)}{unit}{optimal_note(guarantee.optimal())}"
    if guarantee.notion is not Notion.NONE:
        st.caption(literal(f"Total ε of such a release: {total}."))
    _downloads(curve, subject, setting)


def _ceiling_text(ceiling: float) -> str:
    """Round a ceiling up, and write 100% only if no possible value is lower."""
    return f"{min(100.0, math.ceil(1000 * ceiling) / 10):g}%"


def _downloads(curve: dpt.TradeOffCurve, subject: Subject, setting: dpt.Setting | None) -> None:
    def page() -> str:
        return to_html(detection_curve(curve, dark=False), "Trade-off curve of two texts")

    def data() -> str:
        named = {"setting": None if setting is None else setting.to_dict(), "title": subject.title}
        return json.dumps(named | curve.to_dict(), ensure_ascii=False, indent=1)

    files = (
        ("Data (CSV)", curve.to_csv, "detections.csv", "text/csv", "It contains numbers but no text."),
        ("Data (JSON)", data, "detections.json", "application/json", "It contains numbers and settings but no text."),
        (
            "Figure (HTML)",
            page,
            "detections.html",
            "text/html",
            "It works offline and contains no text. The camera icon above the chart saves a PNG.",
        ),
    )
    with st.container(horizontal=True):
        for label, make, name, kind, help_text in files:
            download.button(
                label,
                make,
                name,
                kind,
                icon=":material/download:",
                key=f"audit_curve_{name}",
                on_click="ignore",
                holds="private",
                help=help_text,
            )
        if setting is not None:
            with st.popover("Code", icon=":material/code:"):
                st.caption(f"The same curve for {literal(subject.title)} at ε = {number(setting.given()['epsilon'])}.")
                st.code(curve_python(setting, len(RATES) - 1), language="python")
                st.code(curve_command(setting), language="sh", wrap_lines=True)
    methods_panel.expander(lambda: [(subject.make(), ())], "audit_curve_methods")
