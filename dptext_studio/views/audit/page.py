"""Audit: compare the guarantee of a mechanism with measurements, or find the fault of a deliberately broken one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core import auditing as core
from dptext_core.mechanisms.registry import title as mechanism_title
from dptext_core.privacy.numbers import at_least, bound, number
from dptext_core.support.private import Private
from dptext_lab.broken_mechanisms import FAULTS, broken, sound
from dptext_lab.results import audit as bench

from ...components import controls, download, methods_panel
from ...components.charts import chart, dark
from ...components.shell import enter_app
from ...components.sticky_widgets import stay, stay_all
from ...components.tables import table
from ...components.text import literal, too_long
from ...figures import audit_figure
from ...figures.glossary import definition
from ...server.session import session
from ..compare import distinguishability
from . import two_texts

MAX_LINES = 500
#: The result of a check, by its status.
RESULTS = {"proven": "proven", "tested": "no violation found", "refuted": "violated", "not tested": "not tested"}


@dataclass(frozen=True)
class Request(Private):
    """The request of an audit. setting: of a mechanism, or of a deliberately broken one by its name. twin: whether its
    fault is removed.
    """

    title: str
    setting: dpt.Setting
    is_broken: bool
    twin: bool
    lines: tuple[str, ...]
    claim: float | None
    draws: int

    def make(self) -> dpt.Mechanism:
        if self.is_broken:
            return (sound if self.twin else broken)(self.setting.mechanism, **self.setting.given())
        return self.setting.make()


def chosen_mechanism(choice: Any, below: Any) -> tuple[str, dpt.Setting, bool, bool]:
    """Return title, setting, whether the mechanism is broken, and whether its fault is removed, from the controls."""
    kind = choice.radio(
        "Audit",
        ["A mechanism", "A deliberately broken mechanism"],
        horizontal=True,
        key=stay("audit_kind"),
        label_visibility="collapsed",
    )
    if kind == "A deliberately broken mechanism":
        name = choice.selectbox("Fault", list(FAULTS), format_func=lambda n: FAULTS[n].title, key=stay("audit_fault"))
        fault = FAULTS[name]
        choice.caption(literal(fault.explanation))
        twin = below.toggle(
            "Remove the fault",
            key=stay("audit_twin"),
            help="The audit then tests the same mechanism without the fault.",
        )
        epsilon = fault.options.get("epsilon", fault.sound.epsilon_range({})[2])
        setting = dpt.Setting(name, {}, epsilon_input(choice, epsilon, f"fault-{name}"))
        return (fault.sound if twin else fault.broken).title, setting, True, twin
    specs = {s.name: s for s in dpt.mechanisms()}
    titles = {name: s.title for name, s in specs.items()}
    spec = specs[
        choice.selectbox("Mechanism", list(specs), format_func=titles.__getitem__, key=stay("audit_mechanism"))
    ]
    choice.caption(spec.summary)
    stay_all("audit-")
    with below:
        chosen = controls.options(spec, "audit")
    default = dpt.mechanism_class(spec.name).epsilon_range(chosen)[2]
    epsilon = epsilon_input(choice, default, f"{spec.name}-{default:g}")
    return spec.title, dpt.Setting(spec.name, chosen, epsilon), False, False


def epsilon_input(place: Any, default: float, key: str) -> float:
    return place.number_input(
        "Privacy budget ε of one draw",
        min_value=0.001,
        max_value=dpt.MAX_EPSILON,
        value=float(default),
        format="%g",
        key=stay(f"audit-epsilon-{key}"),
        help=definition("ε"),
    )


def request(choice: Any, below: Any) -> tuple[Request | None, bool]:
    """Return the request from the controls, and whether the button was pressed."""
    title, setting, is_broken, twin = chosen_mechanism(choice, below)
    pressed = choice.button("Run the audit", type="primary", width="stretch", key="audit_run")
    typed = below.text_area(
        "Words or texts, one per line",
        key=stay("audit_lines"),
        height=120,
        placeholder="If empty: words of the public vocabulary, or short texts for language models.",
        help="The audit compares each replaced word with every word that the guarantee treats as its neighbour.",
    )
    claim = None
    with below.expander("More"):
        draws = st.select_slider(
            "Rewrites of each text",
            [200, 500, 1000, 2000, 5000, 20000],
            value=500,
            key=stay("audit_draws"),
            help="More rewrites take longer and detect smaller leaks, especially for mechanisms without a formula.",
        )
        if st.toggle(
            "Test against another ε", key=stay("audit_own"), help="With this on, any two inputs count as neighbours."
        ):
            claim = float(
                st.number_input(
                    "Claimed ε", min_value=0.0, value=setting.given()["epsilon"], format="%g", key=stay("audit_claim")
                )
            )
    lines = tuple(line.strip() for line in typed.splitlines() if line.strip())
    if len(lines) > MAX_LINES:
        choice.error(f"This page accepts up to {MAX_LINES} lines, but there are {len(lines):,}. Shorten the list.")
        return None, False
    if said := too_long(typed):
        choice.error(said)
        return None, False
    return Request(title, setting, is_broken, twin, lines, claim, draws), pressed


def start(wanted: Request) -> None:
    def work(task: dpt.Task):
        m = wanted.make()
        inputs = list(wanted.lines) or None
        if inputs and m.by_word is not None:
            # A list of words is often typed on one line.
            inputs = [w for line in inputs for w in line.replace(",", " ").split()]
        return core.audit(m, inputs, wanted.claim, draws=wanted.draws, task=task)

    session().at("audit").start(wanted, work, "Auditing")


def report_view(asked: Request, report: core.AuditReport) -> None:
    """Show the verdict with its numbers."""
    st.subheader(literal(f"{asked.title}, ε = {number(report.epsilon)}"))
    banner = {"holds": st.success, "refuted": st.error, "inconclusive": st.warning}[report.verdict]
    headline, why, *scope = report.lines()
    # The violation, or the lack of a verdict, is explained here. The limits are in a closed expander.
    banner(f"**{literal(report.line)}**" + ("" if report.holds else f"  \n{literal(why)}"))
    released = report.verdict == "refuted" and report.witness is not None and report.witness.kind != "loss"
    released = released and report.measured <= report.claimed
    claimed, measured, shown_by, leak = st.columns(4)
    claimed.metric("Claimed", report.limit)
    measured.metric("Stated loss" if released else "Measured" if report.exact else "Measured, at least", report.loss)
    shown_by.metric(
        "Detectable from draws",
        at_least(report.detectable),
        help="The largest loss that this audit could have detected from draws alone, without a formula.",
    )
    if report.leak is not None:
        leak.metric(
            "Smallest detectable leak",
            core.format_share(report.leak_fresh or report.leak),
            help="The smallest share of wrongly unchanged words that this audit detects with probability 95%. This "
                 f"value is for fresh draws; for all other ways to rewrite, it is {core.format_share(report.leak)}.",
        )
    if released:
        st.caption(
            "The stated loss is within the guarantee, but the releases do not follow the stated distributions."
        )
    else:
        chart(audit_figure(report, dark()), key="audit_figure", alt=report.sentence())
    limits(report, [headline, why, *scope] if report.holds else scope)
    checks(report)
    if report.skipped:
        with st.expander(f"Skipped inputs: {len(report.skipped):,}"):
            table({"input": [w for w, _ in report.skipped], "why": [why for _, why in report.skipped]})
    download.button(
        "Download the report",
        json.dumps(report.to_dict(), ensure_ascii=False, indent=1),
        "audit.json",
        "application/json",
        icon=":material/download:",
        key="audit_download",
        on_click="ignore",
        holds="private",
        help="The report contains the inputs. Do not publish it if they are private.",
    )
    methods_panel.expander(lambda: [(asked.make(), ())], "audit_methods")


def limits(report: core.AuditReport, lines: list[str]) -> None:
    """Show what was proven and tested, and what the audit cannot see, in a closed expander."""
    if report.verdict == "refuted" and not report.unit:
        return
    with st.expander("What was tested, and what this audit cannot see"):
        for line in lines:
            st.markdown(literal(line))
        if report.witness is not None and report.verdict != "refuted":
            st.markdown("**The output that best distinguishes two inputs:** " + literal(report.witness.sentence()))
        if report.unit:
            st.markdown(literal(f"Losses are per unit of distance: {report.unit}."))


def checks(report: core.AuditReport) -> None:
    """Show the result of each check."""
    with st.expander(f"{len(report.checks)} checks"):
        table(
            {
                "check": [c.name for c in report.checks],
                "result": [RESULTS[c.status] for c in report.checks],
                "tested": [f"{c.draws:,}" for c in report.checks],
                "detectable from draws": [
                    "" if c.detectable is None else at_least(c.detectable) for c in report.checks
                ],
                "smallest detectable leak": [
                    "" if c.leak is None else core.format_share(c.leak) for c in report.checks
                ],
                "seconds": [f"{c.seconds:.1f}" for c in report.checks],
                "inspected": [c.description or c.reason for c in report.checks],
            },
        )


def bundled_table() -> None:
    """Show the bundled audit of all built-in mechanisms."""
    st.subheader("All built-in mechanisms")
    rows = bench.bundled_rows()
    if not rows:
        st.caption("The table is missing. Measure it with `python -m dptext_core bench audit`.")
        return
    table(
        {
            "mechanism": [mechanism_title(r["mechanism"]) for r in rows],
            "options": [bench.setting_of(r).described() for r in rows],
            "ε": [number(float(r["epsilon"])) for r in rows],
            "verdict": [core.LINES[r["verdict"]] for r in rows],
            "claimed": [bound(float(r["claimed"])) for r in rows],
            "measured": [("" if r["exact"] else "≥ ") + at_least(float(r["measured"])) for r in rows],
            "proven": [f"{r['pairs']:,} pairs" if r["proven"] else "" for r in rows],
            "tested": [f"{r['draws']:,} words" for r in rows],
            "detectable from draws": [at_least(float(r["detectable"])) for r in rows],
            "smallest detectable leak": ["" if r["leak"] is None else core.format_share(r["leak_fresh"]) for r in rows],
        },
    )
    st.caption(
        "Bundled results; `python -m dptext_core bench audit` repeats the measurement. ε and losses use the unit of "
        "each guarantee."
    )


def main() -> None:
    st.markdown("## Audit")
    st.caption("Compare what a mechanism guarantees with the largest privacy loss measured.")
    with st.container(key="audit_page"):
        choice, result, below = (st.container(key=f"audit_{name}") for name in ("choice", "result", "options"))
    result.empty()  # a container with nothing in it would have no height
    wanted, pressed = request(choice, below)
    with result:
        if wanted is not None and pressed:
            start(wanted)
        work = session().at("audit")
        if work.is_running():
            work.show_progress("audit_stop")
        elif said := work.failure_text("Stopped. Press “Run the audit” to start again."):
            st.error(literal(said))
        elif work.result is not None:
            # Each run of the page defines its classes again.
            if wanted is not None and vars(wanted) != vars(work.request):
                st.caption("These are the results of the previous settings. Press “Run the audit” to update them.")
            report_view(work.request, work.result)
        else:
            st.info("Choose a mechanism and press “Run the audit”. The verdict appears here.")
        if wanted is not None:
            st.subheader("Two texts")
            key = wanted.setting, wanted.is_broken, wanted.twin
            subject = distinguishability.Subject(wanted.title, key, wanted.make)
            two_texts.panel(subject, None if wanted.is_broken else wanted.setting)
            st.markdown("**Measured from rewrites**")
            distinguishability.panel([subject], "audit_two")
        bundled_table()


def render() -> None:
    """Draw the page."""
    enter_app("audit")
    main()
