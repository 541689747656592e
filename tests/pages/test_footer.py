"""The line under every page, by AppTest (which runs no JavaScript), and what forgetting leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dptext_studio import references
from dptext_studio.components import download, footer
from dptext_studio.server.session import Session

TOP = Path(__file__).resolve().parents[2]


def opened(part: str = "") -> AppTest:
    """The line with this part open."""

    def page() -> None:
        from dptext_studio.components import footer

        footer.footer()

    at = AppTest.from_function(page, default_timeout=60)
    if part:
        at.session_state["footer_about"], at.session_state["footer_part"] = True, part
    at.run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    return " ".join(m.value for m in at.markdown).replace("\\", "")


def test_nothing_is_worked_out_for_what_is_shut():
    at = opened()
    assert len(at.caption) == 1 and not at.markdown and not at.button and not at.dataframe


@pytest.mark.parametrize(
    ("named", "leads"),
    [
        ("", []),
        ("javascript:alert(1)", []),
        ("https://x.example/site/", ["https://x.example/site/"]),
        ("/in/", ["/in/"]),
    ],
)
def test_the_site_in_the_browser_is_led_to_where_it_is_named(monkeypatch, named, leads):
    monkeypatch.setenv("DPTEXT_POCKET", named)
    found = opened().get("link_button")
    assert [link.proto.url for link in found] == leads
    assert [link.proto.label for link in found] == ["Open browser edition"] * len(leads)


def test_the_limits_are_told():
    assert "English" in said(opened("Limits")) and len(opened("Limits").markdown) == len(footer.LIMITS)


def test_papers_are_named_and_taken_away_as_bibtex(monkeypatch):
    files, real = {}, download.st.download_button

    def spy(label, make, name, kind, **given):
        files[name] = make
        return real(label, make, name, kind, **given)

    monkeypatch.setattr(download.st, "download_button", spy)
    at = opened("How to cite")
    text = said(at)
    assert "Mechanism Design via Differential Privacy" in text and "has no paper yet" in text
    assert not [k for k in references.references() if k != references.OWN and k in text], "papers have names"
    for key in ("meisenbacher2024dpmlm", "chen2023custext", "yue2021santext"):
        assert references.reference(key).field("title") in text
    assert any("@software{dptextstudio" in c.value for c in at.code)
    assert "meisenbacher2024dpmlm" in files["dp-text-studio.bib"]()
    (taken,) = at.session_state["session"].ledger.exports
    assert (taken.file, taken.holds) == ("dp-text-studio.bib", "nothing")


def test_licences_are_those_of_all_that_is_bundled():
    found = opened("Licences").dataframe[0].value
    manifest = json.loads((TOP / "assets" / "MANIFEST.json").read_text(encoding="utf-8"))
    assert set(found["licence"]) == {e["licence"] for e in manifest}
    assert found["MB"].sum() == pytest.approx(sum(e["bytes"] for e in manifest) / 1e6)


def wait_for_work(at: AppTest) -> None:
    assert all(w.job is None or w.job.wait(60) for w in at.session_state["session"].work.values())


def test_forgetting_leaves_nothing():
    at = AppTest.from_file(TOP / "app.py", default_timeout=60)
    at.session_state["session"] = Session(text="my secret")
    at.session_state["play_text"] = "my secret"
    at.session_state["footer_about"], at.session_state["footer_part"] = True, "Your data"
    at.run()
    assert not at.exception
    wait_for_work(at)
    at.button(key="footer_forget").click()
    at.run()
    assert not at.exception and "Everything in this session was deleted" in at.info[0].value and not at.button
    assert "play_text" not in at.session_state and "session" not in at.session_state


@pytest.mark.slow
def test_what_changed_along_with_forgetting_still_finds_its_values():
    at = AppTest.from_file(TOP / "app.py", default_timeout=60)
    at.session_state["footer_about"], at.session_state["footer_part"] = True, "Your data"
    at.run()
    wait_for_work(at)
    mechanism = at.selectbox(key="play_mechanism")
    at.button(key="footer_forget").click()
    mechanism.set_value("custext")
    at.run()
    assert not at.exception and "Everything in this session was deleted" in at.info[0].value
    assert "play_mechanism" not in at.session_state
