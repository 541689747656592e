"""The ε of other mechanisms at the same measured privacy: equal ε is not equal privacy."""

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

_KINDS = {"Best attacker": "best", "N_w": "n_w", "Bayes success": "bayes", "Total ε": "total"}
_HELP = (
    "Best attacker: how often the one who finds most of all attackers names a word of yours; reading takes some "
    "seconds for each ε that is tried. N_w: the chance that a word is unchanged. Bayes success: how often the best "
    "attacker guesses a word of yours from its replacement. Total ε: the whole budget, which does not measure privacy."
)


def panel(run: runs.Run, result: dpt.RewriteResult) -> None:
    """Choose a figure and mechanisms; see at which ε each reaches what this rewrite reaches, or another value."""
    st.markdown(
        "The ε of two mechanisms cannot be compared: they count different things. What can be compared is what is "
        "measured, on the words of your text."
    )
    specs = {s.name: s for s in dpt.mechanisms()}
    others = [n for n in specs if n != run.inputs.mechanism]
    left, right = st.columns([1, 1])
    why = refusals(run.mechanism)
    offered = [label for label, kind in _KINDS.items() if not why[kind]]
    # A key for each offer: what was chosen of a longer one comes back with it.
    key = f"equal_kind_{'_'.join(_KINDS[o] for o in offered)}"
    label = left.segmented_control("Same", offered, default=offered[0], required=True, key=key, help=_HELP)
    kind = _KINDS[label]
    for missing in (o for o in _KINDS if o not in offered):
        st.caption(literal(f"Not {missing}: {why[_KINDS[missing]]}"))
    own = right.toggle(
        "A value of my own",
        key="equal_own",
        help="When this is off, the value is what this rewrite reaches at the ε of the slider.",
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
        if work.asked != asked:
            then = work.asked.setting
            at = f" at ε = {then.epsilon:g}" if isinstance(getattr(then, "epsilon", None), float) else ""
            st.warning(
                f"This table answers what you asked before{at}. Press “Find their ε” to ask again for what stands "
                "here now."
            )
        show(work.result, work.asked.text == run.inputs.text)
        to_compare(work.result)


@dataclasses.dataclass(frozen=True)
class EqualPrivacyRequest:
    """What a table answers. setting: the configuration of the run, with its ε where that sets the value."""

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
    """Calibrate the mechanism of the run and the others in a thread."""
    epsilon = result.config.epsilon
    first = run.mechanism.replace(epsilon=epsilon)
    text = run.inputs.text

    def work(task: dpt.Task) -> list[Calibration]:
        mechanisms = [first, *(like(run, n) for n in others)]
        target = kind if value is None else {kind: value}
        return equal_privacy(mechanisms, target, text=text, task=task)

    session().at("equal privacy").start(asked, work, "Measuring")


def like(run: runs.Run, name: str) -> dpt.Mechanism:
    """Return another mechanism with the options it shares with that of the run."""
    other = dpt.mechanism_class(name)
    alike = ("all", "kind") if other.needs == run.mechanism.needs else ("all",)
    fields = {f.name for f in dataclasses.fields(other.config_cls) if option_meta(f).shared_with in alike}
    options = {k: v for k, v in run.inputs.options.items() if k in fields}
    return recommended.recommended(name, epsilon=1.0, **options)


def table(found: list[Calibration]) -> dict[str, list[str]]:
    """Return columns of what was found, as text."""

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
    """Show a way to see each row's setting beside that of the rewrite, with its words."""
    first, *others = [c for c in found if c.epsilon is not None]
    if not others or found[0].epsilon is None:
        return
    st.caption("Read them beside each other:")
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
    """Show the table, what it is over, and why some have no ε."""
    first = found[0]
    wanted = bound(first.target) if first.kind == "total" else f"{first.target:.1%}"
    words = f"{first.words:,} {'word' if first.words == 1 else 'words'}"
    st.dataframe(table(found), hide_index=True)
    of = "" if current else " of the text you had then"
    if first.kind == "total":
        st.caption(f"Wanted: a total of ε = {wanted}. A total counts what was spent, not what is hidden.")
    else:
        st.caption(
            f"Wanted: a {TARGETS[first.kind]} of {wanted}, over the {words}{of} that all of them draw. "
            "In brackets: the 95% interval, where a figure comes from draws."
        )
        if guesses := max((c.guesses or 0 for c in found), default=0):
            st.caption(
                f"Each figure stands on {guesses:,} guesses, so that it moves in large steps, and so does what is "
                "nearest to the wanted one. Two mechanisms whose intervals overlap are not significantly different."
            )
    for c in found:
        if c.reason:
            st.caption(literal(c.reason))
