"""The ε of other mechanisms at the same measured privacy, because equal ε is not equal privacy."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.attacks.best import title
from dptext_core.measure.calibration import Calibration, equal_privacy
from dptext_core.measure.target_figures import TARGETS, refusals
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.privacy.numbers import bound, number

from ...components.text import literal
from ...server import runs
from ...server.session import COLUMNS, session

_KINDS = {"Strongest attacker": "best", "N_w": "n_w", "Bayes success": "bayes", "Total ε": "total"}
_HELP = (
    "What is equal for all mechanisms: how often attackers guess your words, the probability that a word is unchanged "
    "(N_w), or the total ε. A total ε is the whole budget, which does not measure privacy."
)


def panel(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Show the choice of a measure and mechanisms, and the ε at which each reaches this rewrite's value, or another
    value.
    """
    st.markdown(
        "The ε of two mechanisms are not comparable because they have different units. Compare measured privacy on "
        "the words of your text instead."
    )
    specs = {s.name: s for s in dpt.mechanisms()}
    others = [n for n in specs if n != run.inputs.mechanism]
    left, right = st.columns([1, 1])
    why = refusals(run.mechanism)
    offered = [label for label, kind in _KINDS.items() if not why[kind]]
    # A key for each set of options, so that its choice returns with it.
    key = f"equal_kind_{'_'.join(_KINDS[o] for o in offered)}"
    label = left.segmented_control("What is equal", offered, default=offered[0], required=True, key=key, help=_HELP)
    kind = _KINDS[label]
    for missing in (o for o in _KINDS if o not in offered):
        st.caption(literal(f"{missing} is not available: {why[_KINDS[missing]]}"))
    own = right.toggle(
        "Set the value",
        key="equal_own",
        help="When this is off, the value is that of this rewrite at the slider's ε.",
    )
    value = _value(kind, result) if own else None
    chosen = st.multiselect(
        "Mechanisms",
        others,
        default=[n for n in recommended.ORDER if n in others][:3],
        format_func=lambda n: specs[n].title,
        key=f"equal_with_{run.inputs.mechanism}",
    )
    work = session().at("equal privacy")
    asked = EqualPrivacyRequest(
        run.inputs.text, result.config if value is None else run.inputs.setting, kind, value, tuple(chosen)
    )
    if st.button("Find their ε", key="equal_start", disabled=work.is_running(0)):
        start(asked, run, result, chosen, kind, value)
    if work.is_running():
        work.show_progress("equal_stop")
    if said := work.failure_text("Stopped. Press “Find their ε” to start again."):
        st.error(literal(said))
    if work.result is not None:
        if work.request != asked:
            then = work.request.setting
            at = f" at ε = {then.epsilon:g}" if isinstance(getattr(then, "epsilon", None), float) else ""
            st.warning(
                f"This table is for the previous settings{at}. Press “Find their ε” to update it."
            )
        show(work.result, work.request.text == run.inputs.text)
        to_compare(work.result)


@dataclasses.dataclass(frozen=True)
class EqualPrivacyRequest:
    """The request of a table. setting: the configuration of the run, with its ε if that determines the value."""

    text: str
    setting: Any
    kind: str
    value: float | None
    others: tuple[str, ...]


def _value(kind: str, result: dpt.RewriteResult) -> float:
    if kind == "total":
        spent = result.guarantee.total
        return float(st.number_input("Total ε", min_value=0.1, value=max(0.1, round(spent, 1)), key="equal_total"))
    return st.slider("Percent", 1, 99, 50, key=f"equal_{kind}") / 100


def start(
    asked: EqualPrivacyRequest,
    run: runs.Run,
    result: dpt.RewriteResult,
    others: list[str],
    kind: str,
    value: float | None,
) -> None:
    """Start calibrating the mechanism of the run and the others in a thread."""
    epsilon = result.config.epsilon
    first = run.mechanism.replace(epsilon=epsilon)
    text = run.inputs.text

    def work(task: dpt.Task) -> list[Calibration]:
        mechanisms = [first, *(like(run, n) for n in others)]
        target = kind if value is None else {kind: value}
        return equal_privacy(mechanisms, target, text=text, task=task)

    session().at("equal privacy").start(asked, work, "Measuring")


def like(run: runs.Run, name: str) -> dpt.Mechanism:
    """Return another mechanism with the options that it shares with that of the run."""
    other = dpt.mechanism_class(name)
    alike = ("all", "kind") if other.needs == run.mechanism.needs else ("all",)
    fields = {f.name for f in dataclasses.fields(other.config_cls) if option_meta(f).shared_with in alike}
    options = {k: v for k, v in run.inputs.options.items() if k in fields}
    return recommended.recommended(name, epsilon=1.0, **options)


def table(found: list[Calibration]) -> dict[str, list[str]]:
    """Return columns of the results, as text."""

    def reached(c: Calibration) -> str:
        if math.isnan(c.reached):
            return ""
        if c.kind == "total":
            return bound(c.reached)
        low, high = c.interval
        by = f", {title(c.by)}" if c.by else ""
        return f"{c.reached:.1%}" + (f" ({low:.0%} to {high:.0%})" if c.draws is not None else "") + by

    return {
        "mechanism": [c.mechanism.title for c in found],
        "ε": ["not reached" if c.epsilon is None else number(c.epsilon) for c in found],
        "counted": [_unit(c.mechanism) for c in found],
        "measured": [reached(c) for c in found],
    }


def to_compare(found: list[Calibration]) -> None:
    """Show buttons that put each row's setting next to the rewrite's, with the same words."""
    first, *others = [c for c in found if c.epsilon is not None]
    if not others or found[0].epsilon is None:
        return
    st.caption("Read them side by side:")
    with st.container(horizontal=True):
        for c in others:
            if st.button(
                f"{first.mechanism.title} and {c.mechanism.title}",
                icon=":material/compare_arrows:",
                key=f"equal_compare_{c.mechanism.name}",
            ):
                compare([first, c])
        if len(others) > 1 and st.button("All of them", icon=":material/compare_arrows:", key="equal_compare"):
            compare([first, *others])


def compare(found: list[Calibration]) -> None:
    session().compare([c.mechanism.setting.at(c.epsilon) for c in found[:COLUMNS]])
    st.switch_page("pages/compare.py")


def _unit(mechanism: dpt.Mechanism) -> str:
    field = next(f for f in dataclasses.fields(mechanism.config) if f.name == "epsilon")
    return option_meta(field).unit or "per word"


def show(found: list[Calibration], current: bool) -> None:
    """Show the table, the words that it covers, and why some mechanisms have no ε."""
    first = found[0]
    wanted = bound(first.target) if first.kind == "total" else f"{first.target:.1%}"
    words = f"{first.words:,} {'word' if first.words == 1 else 'words'}"
    st.dataframe(table(found), hide_index=True)
    of = "" if current else " of the previous text"
    if first.kind == "total":
        st.caption(f"Target: a total of ε = {wanted}. A total counts the budget spent, not the privacy gained.")
    else:
        st.caption(
            f"Target for the {TARGETS[first.kind]}: {wanted}, over the {words}{of} that all mechanisms replace. In "
            "brackets: the 95% interval, if a value is estimated from draws."
        )
        if guesses := max((c.guesses or 0 for c in found), default=0):
            st.caption(
                f"Each value is based on {guesses:,} guesses, so it changes in large steps and may miss the target. "
                "Mechanisms with overlapping intervals may not differ significantly."
            )
    for c in found:
        if c.reason:
            st.caption(literal(c.reason))
