"""Controls made from options, for the kinds of options that only a mechanism of somebody's own has."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.mechanisms import recommended
from dptext_core.mechanisms.config import epsilon_option, option
from dptext_studio.components import controls, links
from dptext_studio.server.session import Session


@dataclasses.dataclass(frozen=True)
class OddConfig:
    epsilon: float | tuple[float, ...] = epsilon_option(1.0, 0.1, 10.0)
    whole: int = option(3, label="Whole", kind="integer", min=1.0, max=9.5, help="Ends that are no integers.")
    real: float = option(2, label="Real", min=0.5, max=9, help="A default that is an integer.")
    names: tuple[str, ...] = option(("a", "b"), label="Names", kind="texts", help="A list of any names.")
    none: tuple[str, ...] = option((), label="No names", kind="texts", help="An empty list.")
    path: str | None = option(None, label="Path", kind="text", help="Any name or nothing.")
    either: bool | None = option(None, label="Either", kind="flag", help="Yes, no, or nothing.")
    maybe: str | None = option(None, label="Maybe", kind="choice", choices=("red", "none"), help="Or nothing.")


class Odd(dpt.Mechanism):
    name, title, family, notion = "odd", "Odd", "test", "pure"
    config_cls = OddConfig

    def guarantee(self, text):
        return dpt.Guarantee("pure", 1.0, "word", "any two texts", 1, 1.0)

    def rewrite_prepared(self, prepared, stream, task):
        raise NotImplementedError


@pytest.fixture(autouse=True)
def odd():
    dpt.register(Odd)
    yield
    dpt.unregister("odd")


def form(**held: Any) -> AppTest:
    def script():
        import streamlit as st

        import dptext_core as dpt
        from dptext_studio.components import controls

        st.session_state["chosen"] = controls.options(dpt.mechanism_class("odd").spec(), "k")

    at = AppTest.from_function(script)
    for key, value in held.items():
        at.session_state[key] = value
    return at.run()


def test_each_kind_has_a_control_at_its_default():
    at = form()
    assert not at.exception and not at.error and at.session_state["chosen"] == {}
    assert at.text_input(key="k-odd-names").value == "a,b" and at.text_input(key="k-odd-path").value == ""


def test_what_is_set_is_the_options_value():
    at = form()
    at.number_input(key="k-odd-whole").set_value(9)
    at.number_input(key="k-odd-real").set_value(2.5)
    at.text_input(key="k-odd-names").set_value(' c , "d, e"')
    at.text_input(key="k-odd-path").set_value(" Wörter.txt ")
    at.selectbox(key="k-odd-either").set_value("no")
    at.selectbox(key="k-odd-maybe").set_value("none").run()
    assert not at.exception
    wanted = {"whole": 9, "real": 2.5, "names": ("c", "d, e"), "path": "Wörter.txt", "either": False, "maybe": "none"}
    assert at.session_state["chosen"] == wanted


@pytest.mark.parametrize("typed", ["a,,b", "", '"a', "a\0"])
def test_a_text_that_is_no_value_is_said_and_not_used(typed):
    at = form()
    at.text_input(key="k-odd-names").set_value(typed)
    at.number_input(key="k-odd-whole").set_value(4).run()
    assert not at.exception and at.session_state["chosen"] == {"whole": 4}
    assert len(at.error) == 1 and "The default is used instead" in at.error[0].value.replace("\\", "")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"whole": 9, "real": 0.5, "names": ("c", "d, e"), "path": "none", "either": False, "maybe": "none"},
        {"real": 1 / 3 + 1, "names": ('"', "[]"), "none": ("[]",), "path": ' "é" ', "either": True, "maybe": "red"},
    ],
)
def test_a_link_sets_the_controls(options):
    back, problem = links.from_query(links.to_query(dpt.Setting("odd", options, 1 / 3)))
    assert problem is None and back == dpt.Setting("odd", options, 1 / 3)
    at = form(**links.widget_state(back, "k"))
    assert not at.exception and not at.error and at.session_state["chosen"] == options


def test_what_is_typed_goes_with_the_session_and_in_no_address(monkeypatch):
    mine, went = Session(), []
    monkeypatch.setattr(links, "session", lambda: mine)
    monkeypatch.setattr(links.st, "switch_page", lambda page, query_params: went.append(query_params))
    setting = dpt.Setting("santext", {"never": ("darn", "heck")}, 16.0)
    links.open_explore(setting)
    assert went == [{"mechanism": "santext", "epsilon": "16", "loaded_words": "yes", "recase": "sentence"}]
    assert links.from_query(mine.query) == (setting, None)


def test_pages_begin_without_loaded_words_and_a_link_tells_only_what_they_do_not_begin_with():
    def chosen():
        import streamlit as st

        import dptext_core as dpt
        from dptext_studio.components import controls

        st.session_state["chosen"] = controls.options(dpt.mechanism_class("dp-mlm").spec(), "k")

    at = AppTest.from_function(chosen, default_timeout=60).run()
    assert at.session_state["chosen"] == {"loaded_words": False, "recase": "public"}
    at.toggle(key="k-dp-mlm-loaded_words").set_value(True).run()
    at.selectbox(key="k-dp-mlm-recase").set_value("sentence").run()
    assert at.session_state["chosen"] == {}
    begun = {"loaded_words": False, "recase": "public"}
    without, with_ = (dpt.Setting("dp-mlm", o, 9.0) for o in (begun, {}))
    assert recommended.with_recommended(with_) == without == recommended.with_recommended(without)
    assert links.to_query(without) == {"mechanism": "dp-mlm", "epsilon": "9"}
    assert links.to_query(with_) == {"mechanism": "dp-mlm", "epsilon": "9", "loaded_words": "yes", "recase": "sentence"}
    for setting in (without, with_):
        assert links.from_query(links.to_query(setting)) == (setting, None)
        assert links.from_query(links.to_file(setting)) == (setting, None)
    older = {"mechanism": "dp-mlm", "epsilon": "9"}
    assert links.from_query(links.from_file(older)) == (with_, None), "a file of before is what it was"
    assert links.from_file({"mechanism": "none"}) == {"mechanism": "none"} and links.from_file({}) == {}
    key = "k-dp-mlm-loaded_words"
    assert [links.widget_state(s, "k")[key] for s in (without, with_)] == [False, True]


def test_a_link_of_a_mechanism_without_epsilon_carries_none():
    for name in ("redact", "surrogates"):
        without, given = ({"mechanism": name, **more} for more in ({}, {"epsilon": "3"}))
        found = links.from_query(given)
        assert found == links.from_query(without) and found[1] is None
        assert found[0] is not None and "epsilon" not in links.to_query(found[0].at(3.0))
    assert links.from_query({"mechanism": "custext", "epsilon": "3"})[0].epsilon == 3.0


def test_every_option_of_every_mechanism_is_held_as_its_control_has_it():
    """The default through ``held`` is what the control shows by itself: nothing is chosen."""
    for spec in dpt.mechanisms():
        state = links.widget_state(dpt.Setting(spec.name, {}, 1.0), "k")
        names = {f"k-{spec.name}-{f.name}" for f in dataclasses.fields(spec.config_cls)}
        assert set(state) <= names and f"k-{spec.name}-epsilon" not in state
    field = next(f for f in dataclasses.fields(dpt.mechanism_class("diffractor").config_cls) if f.name == "lists")
    assert controls.widget_values(field, ("L0",), "k") == {"k": "L0"}
    assert controls.widget_values(field, ("minilm-1",), "k") == {"k": "", "k-names": ["minilm-1"]}


def test_rewriting_a_data_set_begins_with_stand_ins_and_what_a_user_chose_stays():
    def chosen():
        import streamlit as st

        import dptext_core as dpt
        from dptext_studio.components import controls

        spec = dpt.mechanism_class("custext").spec()
        controls.begin_batch(spec, "k")
        st.session_state["chosen"] = controls.options(spec, "k")

    at = AppTest.from_function(chosen, default_timeout=60).run()
    assert at.session_state["chosen"]["surrogates"] is True
    at.toggle(key="k-custext-surrogates").set_value(False).run()
    assert "surrogates" not in at.session_state["chosen"]
