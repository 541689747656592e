"""The case study below its lesson and its figure, by Streamlit's AppTest (which runs no JavaScript)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from foreign import Latent
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.models import sentence_encoder
from dptext_lab.measurements import case_study_demo
from dptext_lab.results import case_study as case_study_rows
from dptext_studio.figures import case_study as draw

TOP = Path(__file__).resolve().parents[2]
SENTENCES = ("play some jazz", "add this song to my list")


class Parrot(Latent):
    """Says a sentence of what it was pre-trained on."""

    def __init__(self, config, said: str = "", notion: str = "pure"):
        super().__init__(config)
        self.said, self.kind = said, notion

    def guarantee(self, text):
        reason = "no noise is added." if self.kind == "none" else ""
        return dpt.Guarantee(self.kind, 1.0, "released text", "any two texts", 1, 1.0, reason=reason)

    def rewrite_prepared(self, prepared, stream, task):
        piece = dpt.Release((0, len(self.said)), self.said, 1.0, "drawn")
        return dpt.RewriteResult.of(self, prepared, stream, self.said, pieces=(piece,))


def score(mean: float) -> dict:
    return {"mean": mean, "deviation": 0.01}


def made_up() -> dict:
    rows = [
        {
            "pretrained": pre,
            "data": name,
            "epsilon": e,
            "rows": 9,
            "macro_f1": score(0.9 if pre == name else 0.2),
            "accuracy": score(0.95),
            "seeds": 2,
            **({"verbatim": 0.5, "nearest": 0.9, "own": 0.1} if pre else {}),
        }
        for name in case_study_rows.SETS
        for pre in ("", *case_study_rows.SETS)
        for e in (case_study_rows.EPSILONS if pre else (None,))
    ]
    none = {name: {"macro_f1": 0.04, "accuracy": 0.2} for name in case_study_rows.SETS}
    return {
        "about": {"command": "python -m dptext_core case-study", "n": 9, "seeds": 2},
        "no_information": none,
        "rows": rows,
    }


@pytest.fixture
def asked(monkeypatch):
    """What the page rewrites with; a model that repeats, no data, and a made-up table."""
    seen: list[tuple[str, float | None]] = []

    def rewriter(checkpoint, epsilon):
        seen.append((checkpoint, epsilon))
        options = Latent.create(epsilon=1.0).config
        return Parrot(options, SENTENCES[checkpoint == "atis"], "none" if epsilon is None else "pure")

    monkeypatch.setattr(case_study_demo, "rewriter", rewriter)
    monkeypatch.setattr(case_study_rows, "bundled", made_up)
    monkeypatch.delenv(case_study_demo.DATA_VARIABLE, raising=False)
    return seen


def settle(at: AppTest) -> AppTest:
    while jobs := [j for place in ("case", "case_nearest") if (j := at.session_state["session"].at(place).job)]:
        assert all(job.wait(100) for job in jobs), "the work did not end"
        at.run()
    assert not at.exception
    return at


def page(pretrained: str = "snips", **session) -> AppTest:
    """What stands below the lesson, with both parts open."""

    def below() -> None:
        import streamlit as st

        from dptext_studio.views.learn import case_study

        case_study.panel(st.session_state.pretrained)

    at = AppTest.from_function(below, default_timeout=60)
    for name, value in {"pretrained": pretrained, "case_live": True, "case_measured": True, **session}.items():
        at.session_state[name] = value
    return settle(at.run())


def said(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.info, at.warning, at.error)
    return " ".join(x.value for kind in kinds for x in kind).replace("\\", "")


def test_a_sentence_is_rewritten_at_once_and_says_what_is_promised(asked):
    at = page()
    assert asked == [("snips", 1000.0)] and SENTENCES[0] in said(at)
    assert at.text_area(key="case_text").value == case_study_demo.EXAMPLE
    assert "at most e^ε" in said(at) and case_study_demo.DATA_VARIABLE not in said(at), (
        "how a server is started is no visitor's matter"
    )
    at.run()
    assert len(asked) == 1, "nothing is drawn again by itself"
    settle(at.button(key="case_again").click().run())
    assert asked == [("snips", 1000.0)] * 2


def test_no_noise_is_a_choice_of_its_own_and_promises_nothing(asked):
    at = page()
    settle(at.select_slider(key="case_epsilon").set_value("∞: no noise").run())
    at.session_state["pretrained"] = "atis"
    settle(at.run())
    assert asked[-1] == ("atis", None) and SENTENCES[1] in said(at)
    again = page("atis", session=at.session_state["session"])  # as after another page, where Streamlit forgets controls
    assert again.select_slider(key="case_epsilon").value == "∞: no noise" and len(asked) == 3
    assert "There is no privacy guarantee" in at.warning[0].value
    assert "∞: no noise" in at.select_slider(key="case_epsilon").options


@pytest.mark.slow
def test_the_nearest_sentence_stands_beside_it_where_the_data_is_named(asked, monkeypatch, tmp_path):
    for name in case_study_rows.SETS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.csv").write_text("".join(f"x,{s}\n" for s in SENTENCES), encoding="utf-8")
    monkeypatch.setenv(case_study_demo.DATA_VARIABLE, str(tmp_path))
    monkeypatch.setattr(
        sentence_encoder, "embed", lambda texts, **_: np.array([[float(t == SENTENCES[0]), 0.1] for t in texts])
    )
    at = page()
    assert (
        said(at).count(SENTENCES[0]) == 2
        and "word for word" in said(at)
        and case_study_demo.DATA_VARIABLE not in said(at)
    )
    # The rewrite does not wait for it.
    found, go_on = case_study_demo.nearest_sentence, threading.Event()
    monkeypatch.setattr(case_study_demo, "nearest_sentence", lambda *given: go_on.wait(60) and found(*given))
    at.session_state["pretrained"] = "atis"
    at.run()
    while at.session_state["session"].at("case").job is not None:
        at.run()
    assert said(at).count(SENTENCES[1]) == 1 and "at most e^ε" in said(at) and case_study_demo.NEAREST not in said(at)
    assert at.button(key="case_nearest_stop") and not at.exception
    go_on.set()
    assert said(settle(at)).count(SENTENCES[1]) == 2 and case_study_demo.NEAREST in said(at)


def test_an_empty_sentence_and_a_model_that_is_missing_say_what_to_do(asked, monkeypatch):
    at = page()
    at.text_area(key="case_text").set_value("  ").run()
    assert not at.exception and "Type a sentence" in at.info[0].value and len(asked) == 1

    def missing(*_):
        raise dpt.ModelUnavailable("The checkpoint *snips* is missing. Restore it from the repository.")

    monkeypatch.setattr(case_study_demo, "rewriter", missing)
    settle(at.text_area(key="case_text").set_value("a flight").run())
    assert "Restore it from the repository" in at.error[0].value and "\\*snips" in at.error[0].value


def test_what_is_typed_is_shown_as_it_is(asked, monkeypatch):
    monkeypatch.setattr(case_study_demo, "rewriter", lambda *_: Parrot(Latent.create().config, "**bold** <b>$x$</b>"))
    at = page()
    assert any("\\*\\*bold" in m.value and "\\<b" in m.value for m in at.markdown)


def test_the_measured_table_stands_below_beside_the_paper(asked, monkeypatch):
    at = page()
    (chart,) = [json.loads(c.proto.spec) for c in at.get("plotly_chart")]
    assert {"pre-trained on Snips", "pre-trained on ATIS", "hollow: the paper"} <= {t["name"] for t in chart["data"]}
    (table,) = [d.value for d in at.dataframe]
    assert len(table) == 22 and list(table.columns) == list(case_study_rows.HEADING)
    crossed = table[(table["pre-trained on"] == "ATIS") & (table["rewritten"] == "Snips") & (table["ε"] == "1,000")]
    assert list(crossed["paper, macro F1"]) == ["0.20 (0.02)"] and list(crossed["macro F1"]) == ["0.200 (0.010)"]
    assert (
        "0.90 there" in said(at)
        and "in opposite order" in said(at)
        and "still 0.50" in said(at)
        and at.code[0].value.endswith("case-study")
    )
    monkeypatch.setattr(case_study_rows, "bundled", lambda: None)
    assert "case-study --data" in page().info[-1].value

    def broken():
        raise dpt.InputError("case_study.json cannot be read.")

    monkeypatch.setattr(case_study_rows, "bundled", broken)
    assert "cannot be read" in page().error[0].value.replace("\\", "")


@pytest.mark.parametrize("dark", [False, True])
def test_the_figure_has_ours_the_papers_and_both_levels(dark):
    found = made_up()
    figure = draw(found, dark=dark)
    ours = [t for t in figure.data if t.name == "pre-trained on Snips"]
    assert [list(t.x) for t in ours] == [["1", "10", "100", "1,000", "∞"]] * 2
    assert [t.y[0] for t in ours] == [0.9, 0.2]
    assert (figure.layout.xaxis.type, figure.layout.xaxis2.type) == ("category", "category")
    printed = [t for t in figure.data if t.name == "pre-trained on ATIS, the paper"]
    assert [t.y[3] for t in printed] == [0.20, 0.68]
    assert [a.text for a in figure.layout.annotations].count("no information") == 2
    found["rows"] = [r for r in found["rows"] if r["epsilon"] != 10.0 and r["pretrained"]]
    assert list(draw(found).data[1].x) == ["1", "100", "1,000", "∞"]
