"""The guarantee panel of Explore, run by Streamlit's AppTest: each total with its optimal composition."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.privacy.numbers import bound


def script() -> None:
    import dataclasses
    from types import SimpleNamespace

    import streamlit as st

    import dptext_core as dpt
    from dptext_studio.views.explore import guarantee
    from dptext_studio.views.explore.rewriting import current_ledger

    m, text = dpt.get_mechanism("custext"), "My doctor treated my sister."
    results = [dataclasses.replace(m.rewrite(text), guarantee=st.session_state["g"]) for _ in range(3)]
    for r in results:
        current_ledger().record(r)
    run = SimpleNamespace(inputs=SimpleNamespace(text=text), mechanism=m, spread=False)
    guarantee.guarantee_panel(run, results[0], False)


def said(g: dpt.Guarantee) -> str:
    at = AppTest.from_function(script, default_timeout=60)
    at.session_state["g"] = g
    at.run()
    assert not at.exception, at.exception
    return " ".join(m.value for m in [*at.markdown, *at.caption]).replace("\\", "")


def test_a_total_and_that_of_all_draws_stand_with_their_optimal_composition():
    g = dpt.Guarantee("pure", 0.5, "released word", "any two texts", 200, 100.0)
    three = dpt.Guarantee("pure", 0.5, "released word", "any two texts", 600, 300.0)
    shown = said(g)
    assert g.extra() in shown
    assert f"for one and 300 (by optimal composition ε = {bound(three.optimal())} " in shown


@pytest.mark.parametrize("notion", ["pure", "group"])
def test_nothing_is_said_where_it_is_not_smaller(notion):
    shown = said(dpt.Guarantee(notion, 50.0, "word", "any two texts", 4, 200.0, group="a set" * (notion == "group")))
    assert "for one and 600 for all." in shown and "optimal composition" not in shown


def test_the_table_of_compare_has_the_optimal_total_in_brackets():
    from dptext_studio.views.compare import measures

    g = dpt.Guarantee("pure", 0.5, "released word", "any two texts", 200, 100.0)
    result = dataclasses.replace(dpt.get_mechanism("custext").rewrite("My doctor."), guarantee=g)
    figures = SimpleNamespace(total=100.0, n_w=None, s_w=None, draws=None, remaining_identifiers=(0, 0))
    outcome = SimpleNamespace(viewed_rewrite=SimpleNamespace(result=result), figures=figures, epsilon=0.5)
    column = SimpleNamespace(title="one", mechanism="custext")
    table = measures.measures_table(SimpleNamespace(text="My doctor."), [(column, outcome)], {})
    assert table["total ε"] == [f"100 ({bound(g.optimal())})"]
