"""What leaves each page: every download is made once, every copy told once, and the ledger is looked at."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from foreign import Swap
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.measure.ledger import Ledger
from dptext_core.measure.ledger_entries import HOLDS
from dptext_studio.components import download
from dptext_studio.server import job_folders, uploads
from dptext_studio.server.session import Session
from dptext_studio.views.learn import classroom

TOP = Path(__file__).resolve().parents[2]
TEXT = "My doctor sent a letter to my sister."
pytestmark = pytest.mark.usefixtures("letters")
CSV = "id,text\n" + "".join(f'{i},"Row {i}: my doctor sent a letter."\n' for i in range(18)) + "18,\n"
#: Page → key of each of its downloads → the file and what it holds, as the ledger has them. A page that is not here has
#: no download.
LEAVES = {
    "explore": {
        "play_download": ("rewrite.txt", "rewrite"),
        "share_release_report_html": ("release-report.html", "rewrite"),
        "share_release_rewrite_json": ("release-rewrite.json", "rewrite"),
        "share_inspection_slider_html": ("PRIVATE-slider.html", "private"),
        "share_inspection_report_html": ("PRIVATE-report.html", "private"),
        "share_inspection_rewrite_json": ("PRIVATE-rewrite.json", "private"),
        "share_inspection_chances_csv": ("PRIVATE-chances.csv", "private"),
        "share_inspection_chances_json": ("PRIVATE-chances.json", "private"),
        "share_notebook": ("setting.ipynb", "nothing"),
        "share_session": ("PRIVATE-session.json", "private"),
        "ledger_download": ("ledger.json", "promise"),
    },
    "compare": {
        "compare1_download": ("rewrite.txt", "rewrite"),
        "compare2_download": ("rewrite.txt", "rewrite"),
        "compare_csv": ("comparison.csv", "private"),
        "ledger_download": ("ledger.json", "promise"),
    },
    "map": {"trade_html": ("trade-off.html", "private"), "trade_csv": ("trade-off.csv", "private")},
    "batch": {
        "batch_download": ("release, CSV", "rewrite"),
        "batch_private": ("with originals, CSV", "private"),
        "batch_promise": ("promise", "promise"),
        "ledger_download": ("ledger.json", "promise"),
    },
    "learn": {"learn_handout": ("lessons.html", "nothing"), "learn_solutions": ("solutions.html", "nothing")},
    "benchmarks": {
        "bench_shown.csv": ("shown.csv", "nothing"),
        "bench_benchmarks.csv": ("benchmarks.csv", "nothing"),
        "bench_benchmarks.json": ("benchmarks.json", "nothing"),
    },
    "findings": {
        f"found_{name}_{ending}": (f"{name}.{ending}", "nothing")
        for name in ("board", "claims")
        for ending in ("csv", "tex")
    }
    | {"certainty_csv": ("certainty.csv", "nothing")},
    "audit": {"audit_download": ("audit.json", "private")},
}
STATE = {
    "findings": {"found_rows": True, "certainty_rows": True},
    "explore": {
        "play_text": TEXT,
        "play_mechanism": "diffractor",
        "play_further": "Ledger",
        "share": True,
        "play_others": True,
        "share_with_text": True,
    },
    "compare": {"compare_text": TEXT},
    "map": {
        "compare_view": "map",
        "compare_text": TEXT,
        "trade_mechanisms": ["diffractor", "custext"],
        "trade_points": 3,
        "trade_draws": 3,
        "trade_kept": "bleu",
        "trade_hidden": "n_w",
    },
    "learn": {"learn_for_class": True},
    "audit": {"audit_mechanism": "diffractor", "audit_lines": "doctor, nurse", "audit_draws": 200},
}
SETTINGS = [
    dpt.Setting("diffractor", {}, 1.1),
    dpt.Setting("diffractor", {"noise": "tem"}, 0.7),
]


@pytest.fixture
def asked(monkeypatch):
    """What each button that stands on the page would send, by its key."""
    found, real = {}, download.st.download_button

    def spy(label, make, name, kind, **given):
        found[given["key"]] = make
        return real(label, make, name, kind, **given)

    monkeypatch.setattr(download.st, "download_button", spy)
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    monkeypatch.setattr(classroom, "handout", lambda *_, **__: "lessons")  # which takes its time
    dpt.register(Swap)
    yield
    dpt.unregister(Swap.name)


def settle(at: AppTest) -> AppTest:
    at.run()
    end = time.monotonic() + 100
    while "session" in at.session_state and (
        jobs := [w.job for w in at.session_state["session"].work.values() if w.job is not None]
    ):
        assert all(job.wait(end - time.monotonic()) for job in jobs)
        at.run()
    assert not at.exception
    return at


def opened(page: str, mine: Session | None = None) -> AppTest:
    # Explore links to other pages, which only the app knows.
    script = "app.py" if page == "explore" else f"pages/{'compare' if page == 'map' else page}.py"
    at = AppTest.from_file(TOP / script, default_timeout=120)
    at.session_state["app"] = page
    at.session_state["session"] = mine = mine or Session()
    if page == "batch":
        at.session_state["batch_mechanism"] = mine.controls["batch_mechanism"] = Swap.name
        mine.upload = uploads.store_upload("secret-name.csv", CSV.encode())
    for key, value in STATE.get(page, {}).items():
        at.session_state[key] = value
    if page == "compare":
        mine.compare(SETTINGS)
    settle(at)
    for key in {"batch": ("batch_ten", "batch_start"), "audit": ("audit_run",)}.get(page, ()):
        at.button(key=key).click()
        settle(at)
    if page == "batch":
        at.session_state["batch_ledger"] = True
        settle(at)
    return at


def said(at: AppTest) -> str:
    return " ".join(i.value for i in at.info).replace("\\", "")


def book(at: AppTest) -> Ledger:
    return at.session_state["session"].ledger


PAGES = sorted(p.stem for p in (TOP / "pages").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("quick_audits")
def test_each_download_of_each_page_is_an_entry_and_the_second_of_the_same_is_none(page, asked):
    at = opened(page)
    expected = LEAVES.get(page, {})
    assert not book(at).exports and not any(e.released for e in book(at).entries), "looking is free"
    made: set[str] = set()
    while todo := sorted(set(asked) - made):
        for key in todo:
            assert key in expected, "each download of a page stands in the table above"
            assert asked[key](), key
            assert (page, *expected[key]) in [(t.page, t.file, t.holds) for t in book(at).exports]
        made |= set(todo)
        settle(at)  # what leaves may bring another button
    assert made == set(expected)
    before = book(at).exports, [e for e in book(at).entries if e.released]
    assert len(before[0]) == len(set(expected.values())) and bool(before[1]) == any(
        holds == "rewrite" for _, holds in expected.values()
    )
    for make in asked.values():
        make()
    assert (book(at).exports, [e for e in book(at).entries if e.released]) == before
    assert "secret-name" not in book(at).to_json() and "doctor" not in book(at).to_json()
    for taken in before[0]:
        spent = [a.sentence() for a in book(at).accounts()] if taken.holds == "rewrite" else [HOLDS[taken.holds]]
        print(f"| {taken.page} | {taken.file} | {' '.join(spent)} |")


@pytest.mark.slow
def test_a_press_is_an_entry_before_the_page_runs_again(asked):
    at = opened("explore")
    at.download_button(key="play_download").click()
    settle(at)
    (entry,) = [e for e in book(at).entries if e.released]
    assert [t.file for t in book(at).exports] == ["rewrite.txt"] and entry.mechanism == "diffractor"
    assert "Text 1: ε = " in said(at), "the ledger on the page has it"
    assert any("rewrite.txt" in frame.value.to_string() for frame in at.dataframe)
    asked["share_release_report_html"]()
    assert len([e for e in book(at).entries if e.released]) == 1, "no second release, in another file"


def test_a_released_table_is_one_entry_with_its_rows(asked):
    at = opened("batch")
    asked["batch_download"]()
    (entry,) = book(at).entries
    m = Swap.create(epsilon=entry.config.epsilon)
    one = m.guarantee("Row 1: my doctor sent a letter.").total
    assert (entry.rows, entry.total) == (19, pytest.approx(18 * one)) and entry.released
    assert entry.one == entry.total, "the same words are drawn in each row"
    settle(at)
    assert "Data set 1 (19 rows): ε = " in said(at)
    # Another format of the same run, and the same run after the page was left, are the same release.
    at.selectbox(key="batch_release").set_value(".jsonl").run()
    asked["batch_download"]()
    assert len(book(at).entries) == 1 and len(book(at).exports) == 2
    # Another run draws anew.
    at.session_state["session"].upload.batch.forget_run()
    at.session_state["session"].upload.batch.rewrite()
    asked["batch_download"]()
    assert len(book(at).entries) == 2 and book(at).account(1).totals[0].epsilon == pytest.approx(2 * 18 * one)


@pytest.mark.slow
def test_copies_are_entries_on_the_pages_that_show_a_rewrite_and_code_to_copy_holds_no_text(asked):
    """Code is copied by the browser without telling anybody."""

    def without_text(at: AppTest) -> AppTest:
        assert not any("doctor" in c.value or "sister" in c.value for c in at.code)
        return at

    mine = Session()
    at = without_text(opened("explore", mine))
    assert at.code
    run = mine.run
    told = [[run.result.noise_id, run.number, run.payload["eps"]]]
    at.session_state["play_strip"] = {"view": {"run": run.number, "eps": told[0][2], "token": None, "copies": told}}
    settle(at)
    at = without_text(opened("compare", mine))
    looked = mine.at("compare").result[1].viewed_rewrite  # the first is Explore's draw
    at.session_state[f"compare{mine.columns[1][0]}_view"] = {"copies": [looked.number]}
    settle(at)
    at = without_text(opened("map", mine))
    assert at.code
    point = next(p for p in mine.points if len(p.texts) == 3)
    at.session_state["trade_point"] = (point.setting, point.epsilon)
    settle(at)
    views = [d for e in at.get("bidi_component") if "copies" in (d := json.loads(e.proto.json))]
    assert len(views) == 3 and not any(v["button"] for v in views), "these are to read"
    for _ in range(2):
        at.session_state["trade_view_1"] = {"copies": [views[1]["copies"], views[0]["copies"], 12345]}
        settle(at)
    assert [(t.page, t.file, t.holds) for t in mine.ledger.exports] == [
        (page, "copied text", "rewrite")
        for page in ("explore", "compare")  # of a page, each kind once
    ]
    entries = [e for e in mine.ledger.entries if e.released]
    assert [e.mechanism for e in entries] == ["diffractor", "diffractor", point.mechanism.name]
    assert entries[2].total == point.total and {e.text for e in entries} == {1}
