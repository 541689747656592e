"""The Compare page, run by Streamlit's AppTest: settings beside each other, kept, released through the ledger."""

from __future__ import annotations

import csv
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import dptext_core as dpt
from dptext_core.attacks import best, two_texts
from dptext_core.measure import metrics, pii_survival, target_figures
from dptext_core.measure.ledger import Ledger
from dptext_core.mechanisms.recommended import ORDER
from dptext_core.privacy.numbers import percent
from dptext_core.support.assets import examples
from dptext_studio.components import download
from dptext_studio.components.rewrite_view import copies_of, word_of
from dptext_studio.figures import side_by_side
from dptext_studio.figures.glossary import definition
from dptext_studio.server import comparison
from dptext_studio.server.rewrite_cache import RewriteCache
from dptext_studio.server.session import Session
from dptext_studio.views.compare import card_settings, cards, certainty, equal_privacy
from dptext_studio.views.compare import page as compare_page
from dptext_studio.views.explore import belief

PAGE = Path(__file__).resolve().parents[2] / "pages" / "compare.py"
TEXT = "My doctor sent a letter to my sister Halvorsen."
pytestmark = pytest.mark.usefixtures("letters")
TWO = [
    dpt.Setting("diffractor", {}, 1.1),
    dpt.Setting("diffractor", {"noise": "tem"}, 0.7),
]


def opened(settings=TWO, text=TEXT, mine=None, **state) -> AppTest:
    at = AppTest.from_file(PAGE, default_timeout=120)
    at.session_state["app"] = True
    for key, value in state.items():
        at.session_state[key] = value
    at.session_state["compare_text"] = text
    mine = at.session_state["session"] = mine or Session()
    if settings:
        mine.compare(settings)
    return settle(at)


def settle(at: AppTest) -> AppTest:
    at.run()
    end = time.monotonic() + 300
    while (job := mine(at).at("compare").job) is not None:
        assert job.wait(end - time.monotonic())
        at.run()
    assert not at.exception
    return at


def mine(at: AppTest):
    return at.session_state["session"]


def views(at: AppTest, what: str = "pieces") -> list[dict]:
    return [data for e in at.get("bidi_component") if what in (data := json.loads(e.proto.json))]


def texts(at: AppTest) -> list[str]:
    return ["".join(p[0] for p in v["pieces"]) for v in views(at)]


def slider(at: AppTest, k: int):
    return at.select_slider[k]


def released(at: AppTest) -> list:
    return [e for e in mine(at).ledger.entries if e.released]


@pytest.fixture(scope="module")
def page() -> AppTest:
    """Shared by tests that leave it as it was, or do not mind what the ones before did."""
    return opened()


def test_two_settings_stand_beside_each_other_with_what_changed(page):
    results = [o.viewed_rewrite.result for o in mine(page).at("compare").result]
    assert [r.config.epsilon for r in results] == [1.1, 0.7] and [r.config.noise for r in results] == [
        "geometric",
        "tem",
    ]
    assert texts(page) == [r.text for r in results]
    assert [[p[1] for p in v["pieces"]] for v in views(page)] == [
        [int(p.is_changed) for p in side_by_side.pieces(r)] for r in results
    ]
    table = next(d.value for d in page.dataframe if "counts" in d.value.columns)
    assert list(table["ε"]) == ["1.1", "0.7"] and list(table["setting"]) == [
        "1-Diffractor (offensive words allowed)",
        "1-Diffractor (tem, offensive words allowed)",
    ]
    left = [pii_survival.count_survivors(r) for r in results]
    assert [n for _, n in left] == [1, 1]
    assert list(table["identifying words still visible"]) == [f"{k} of 1" for k, _ in left]
    for (k, _), said in zip(left, [v["count"] for v in views(page, "count")], strict=True):
        assert said.startswith(f"{k} of 1 identifying words still visible, ") and " change" in said
    assert page.select_slider[0].help == definition("ε")
    assert len({r.noise_id for r in results}) == 2 and len(mine(page).ledger.entries) == 2 and not released(page)


def test_the_table_is_downloaded_with_the_methods_of_its_settings(monkeypatch):
    made = {}
    real = download.st.download_button

    def spy(label, make, name, kind, **given):
        made[given["key"]] = make
        return real(label, make, name, kind, **given)

    monkeypatch.setattr(download.st, "download_button", spy)
    at = opened(compare_methods=True)
    shown = next(d.value for d in at.dataframe if "counts" in d.value.columns)
    rows = list(csv.DictReader(made["compare_csv"]().splitlines()))
    assert list(rows[0]) == list(shown.columns) and [r["setting"] for r in rows] == list(shown["setting"])
    for name in ("ε", "total ε", "identifying words still visible"):
        assert [r[name] for r in rows] == list(shown[name])
    assert "…" not in str(rows), "what is not measured yet is empty"
    paragraph = next(c.value for c in at.code if "We rewrote texts" in c.value)
    assert "ε = 1.1" in paragraph and "ε = 0.7" in paragraph
    assert not released(at) and [t.file for t in mine(at).ledger.exports] == ["comparison.csv"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", 0), ("One.", 0), ("One.\n", 0), ("One.\nTwo.", 2), ("One.\r\n \n\nTwo.\nThree.\n", 3), ("a\u2028b", 0)],
)
def test_several_lines_are_counted_and_called_one_text(text, lines):
    said = compare_page.lines_note(text)
    assert [int(n) for n in re.findall(r"\d+", said)] == ([1, lines] if lines else [])


def test_what_is_typed_on_several_lines_is_rewritten_as_the_one_text_that_the_page_says():
    at = opened(text="My doctor paid.\nMy sister paid.")
    assert any("1 text with 2 lines" in c.value for c in at.caption)
    assert [o.viewed_rewrite.result.text.count("\n") for o in mine(at).at("compare").result] == [1, 1]


def test_what_is_kept_of_the_meaning_is_measured_beside_the_rewrites_and_draws_nothing_again(page):
    before = texts(page)
    work = mine(page).at("compare likeness")
    assert work.job is None or work.job.wait(120)
    page.run()
    table = next(d.value for d in page.dataframe if "meaning preserved (cosine)" in d.value.columns)
    wanted = metrics.score("cosine", [TEXT] * 2, before)
    assert list(table["meaning preserved (cosine)"]) == [f"{c:.2f}" for c in wanted] and texts(page) == before


def test_the_belief_about_one_fact_stands_under_each_setting():
    example = next(iter(examples()))
    settings = [dpt.Setting("santext", {}, 15.0), dpt.Setting("custext", {}, 4.0), dpt.Setting("mahalanobis", {}, 10.0)]
    at = opened(settings, example.text)
    work = mine(at).at(certainty.PLACE)
    assert work.job is None or work.job.wait(120)
    at.run()
    results = [o.viewed_rewrite.result for o in mine(at).at("compare").result]
    words = ("heart", "lung", "kidney", "liver")
    lines = [m.value for m in at.markdown if m.value.startswith("Reader’s certainty")]
    for setting, result, line in zip(settings, results[:2], lines, strict=False):
        found = dpt.belief(setting.make(), example.text, "heart", words[1:], result, draws=0)
        guess = words[int(found.guess)]
        sure = float(found.certainty)
        said = ">99%" if 0.99 < sure < 1 else percent(sure)
        wrong = "" if guess == "heart" else f", wrong guess “{guess}”"
        outside = [f"“{w}”" for w, covered in zip(words, found.is_covered, strict=True) if not covered]
        bare = f"  \n{', '.join(outside)}: not covered by the guarantee" if outside else ""
        assert line == f"Reader’s certainty: **{said}** (25% before){wrong}{bare}"
    assert "“kidney”, “liver”: not covered by the guarantee" in lines[1] and "not covered" not in lines[0]
    assert len(lines) == 3 and "unknown" in lines[2]
    notes = [c.value for c in at.caption]
    assert any(all(f"“{w}”" in n for w in words) for n in notes), "the same fact for all"
    assert any("Mahalanobis has no formula" in n for n in notes)
    # Another ε asks no model again.
    held = dict(mine(at).rewrite_cache.questions)
    assert len(held) == 2
    slider(at, 0).set_value(next(float(o) for o in slider(at, 0).options if float(o) > 16)).run()
    settle(at)
    assert work.job is None or work.job.wait(120)
    at.run()
    assert all(mine(at).rewrite_cache.questions[k] is q for k, q in held.items())
    (line, *_) = [m.value for m in at.markdown if m.value.startswith("Reader’s certainty")]
    assert "25% before" in line


def test_the_fact_of_the_belief_is_edited_here():
    example = next(iter(examples()))
    at = opened([dpt.Setting("santext", {}, 15.0), dpt.Setting("custext", {}, 4.0)], example.text)

    def believed() -> list:
        work = mine(at).at(certainty.PLACE)
        assert work.job is None or work.job.wait(120)
        at.run()
        assert not at.exception
        return work.result

    assert [b.alternatives for b in believed()] == [("heart", "lung", "kidney", "liver")] * 2
    at.text_input(key=certainty.ALTERNATIVES).set_value("brain, Heart, skin").run()
    assert [b.alternatives for b in believed()] == [("heart", "brain", "skin")] * 2
    cut = f"The first {certainty.MOST} alternatives are used."
    assert cut not in [c.value for c in at.caption]
    many = [f"organ{k}" for k in range(60)]
    at.text_input(key=certainty.ALTERNATIVES).set_value(", ".join(many)).run()
    assert [b.alternatives for b in believed()] == [("heart", *many[: certainty.MOST])] * 2
    assert cut in [c.value for c in at.caption]
    at.text_input(key=certainty.ALTERNATIVES).set_value("brain, Heart, skin").run()
    word = "brother"
    at.text_input(key=certainty.FACT).set_value(word).run()
    assert [b.alternatives[0] for b in believed()] == [word] * 2
    assert any(f"“{word}”" in c.value and "“skin”" in c.value for c in at.caption)
    at.text_input(key=certainty.FACT).set_value("zeppelin").run()
    believed()
    assert any("does not contain this fact" in c.value for c in at.caption)
    at.text_input(key=certainty.FACT).set_value("").run()
    at.text_input(key=certainty.ALTERNATIVES).set_value("").run()
    assert [b.alternatives for b in believed()] == [("heart", "lung", "kidney", "liver")] * 2


def test_the_belief_is_about_the_fact_that_was_chosen_on_explore(monkeypatch):
    monkeypatch.setattr(belief, "start", lambda *_: None)  # Explore itself computes nothing here
    text, shared = "My doctor paid my sister for water.", Session()

    def chosen_there(token: int | None, **view) -> None:
        at = AppTest.from_file(PAGE.parents[1] / "app.py", default_timeout=120)
        at.session_state["session"] = shared
        at.session_state["play_text"], at.session_state["play_mechanism"] = text, "santext"
        at.run()
        work = shared.at("rewrite")
        assert work.job is None or work.job.wait(120)
        at.run()
        assert shared.run.inputs.text == text
        if token is not None:
            view = {"run": shared.run.number, "eps": shared.run.payload["eps"], "token": token, **view}
            at.session_state["play_strip"] = {"view": view}
            at.run()
        assert not at.exception

    settings = [dpt.Setting("santext", {}, 15.0), dpt.Setting("custext", {}, 4.0)]
    chosen_there(4, others=[["sister", "brother, mother"]])
    at = opened(settings, text, shared)
    work = shared.at(certainty.PLACE)
    assert work.job is None or work.job.wait(120)
    at.run()
    assert [b.alternatives for b in work.result] == [("sister", "brother", "mother")] * 2
    assert at.text_input(key=certainty.FACT).placeholder == "sister"
    assert at.text_input(key=certainty.ALTERNATIVES).placeholder == "brother, mother"

    def asked() -> tuple:
        fact = shared.at(certainty.PLACE).request[1]
        return fact.word, fact.alternatives

    monkeypatch.setattr(certainty, "start", lambda wanted, *_: setattr(shared.at(certainty.PLACE), "request", wanted))
    at.text_input(key=certainty.FACT).set_value("doctor").run()
    assert asked() == ("doctor", None), "alternatives of another fact are not taken"
    chosen_there(None)
    opened(None, text, shared)
    assert asked() == ("doctor", None), "nothing was chosen there since"
    chosen_there(6)
    opened(None, text, shared)
    assert asked() == ("water", None), "the newest choice counts"
    opened(None, "My doctor paid.", shared)
    assert asked() == ("", None)


def test_a_slider_reaches_to_what_was_calibrated():
    at = opened([dpt.Setting("santext", {}, 0.0123456), dpt.Setting("custext", {}, 1200.0)])
    assert [s.value for s in at.select_slider][:2] == [0.0123456, 1200.0]
    assert [o.epsilon for o in mine(at).at("compare").result] == [0.0123456, 1200.0]


def test_it_begins_and_goes_on_with_where_the_slider_of_explore_stands(monkeypatch):
    run = SimpleNamespace(payload={"eps": 1.1}, spread=False, inputs=SimpleNamespace(setting=dpt.Setting("diffractor")))
    mine = Session(run=run, epsilon=0.7)
    monkeypatch.setattr(card_settings, "session", lambda: mine)
    monkeypatch.setattr(card_settings, "state", {})
    card_settings.sync_settings()
    (_, first), (_, other) = mine.columns
    assert first == dpt.Setting("diffractor", {}, 0.7)
    mine.epsilon = 0.9
    card_settings.sync_settings()
    assert [s for _, s in mine.columns] == [dpt.Setting("diffractor", {}, 0.9), other]
    mine.columns[0] = (mine.columns[0][0], dpt.Setting("diffractor", {}, 2.0))
    mine.epsilon = 0.5
    card_settings.sync_settings()
    assert mine.columns[0][1].epsilon == 2.0, "what was set here stays"


def test_going_back_to_a_setting_draws_nothing_new(page, monkeypatch):
    before = texts(page)
    low = slider(page, 0).options[0]
    slider(page, 0).set_value(float(low))
    settle(page)
    assert mine(page).at("compare").result[0].epsilon == float(low)
    drawn = []
    monkeypatch.setattr(dpt.NoiseStream, "__init__", lambda self, *a: drawn.append(a))
    cls = dpt.mechanism_class("diffractor")
    monkeypatch.setattr(cls, "prepare_document", lambda *a: pytest.fail("the scores are kept"))
    slider(page, 0).set_value(1.1)
    settle(page)
    assert texts(page) == before and not drawn
    assert len(mine(page).ledger.entries) == 2, "settings of one draw are looked at together"


def test_a_chosen_word_is_chosen_everywhere(page):
    at = TEXT.index("letter")
    assert views(page)[0]["chosen"] == TEXT.index("doctor")
    mine(page).word = at
    settle(page)
    assert [v["chosen"] for v in views(page)] == [at, at]
    assert sum("“letter” →" in m.value.replace("\\", "") for m in page.markdown) == 2
    mine(page).word = TEXT.index("Halvorsen")
    settle(page)
    said = [c.value.replace("\\", "") for c in page.caption]
    absent = "“Halvorsen” is not in the mechanism's vocabulary"
    assert sum(absent in c and "becomes a random word" in c for c in said) == 2
    assert word_of({"word": 4.0}) == 4 and word_of(None) is None and word_of({"word": True}) is None


@pytest.mark.slow
def test_equal_n_w_is_equal_and_comes_back_by_the_address_and_equal_epsilon_is_warned_of(page):
    page.segmented_control(key="compare_mode").set_value("n_w")
    settle(page)
    page.slider(key="compare_n_w").set_value(30)
    settle(page)
    result = mine(page).at("compare").result
    assert [o.figures.n_w for o in result] == pytest.approx([0.3, 0.3], abs=0.003)
    query = next(q for v in views(page, "query") if (q := dict(parse_qsl(v["query"]))))
    assert query == {
        "1.mechanism": "diffractor",
        "2.mechanism": "diffractor",
        "2.noise": "tem",
        "equal": "n_w",
        "at": "0.3",
        "1.loaded_words": "yes",
        "2.loaded_words": "yes",
        "1.recase": "sentence",
        "2.recase": "sentence",
    }
    # Another page was shown: Streamlit has forgotten the controls, and the session has not.
    again = opened((), mine=mine(page))
    assert again.segmented_control(key="compare_mode").value == "n_w" and again.slider(key="compare_n_w").value == 30
    assert [s.options for _, s in mine(again).columns] == [{}, {"noise": "tem"}]
    # A link, in a session of its own.
    other = opened((), mine=Session(query=query | {"at": "0.7"}))
    assert other.slider(key="compare_n_w").value == 70 and not other.warning
    assert [s.options for _, s in mine(other).columns] == [{}, {"noise": "tem"}]
    for wrong, said in (
        ({"at": "much"}, "at "),
        ({"equal": "x"}, "“equal” must be one of"),
        ({"2.mechanism": "x"}, "Unknown mechanism"),
        ({"3.mechanism": "tem", "4.mechanism": "tem", "5.mechanism": "tem"}, "2 to 4"),
    ):
        mine(other).query = query | wrong
        settle(other)
        assert "not followed" in other.warning[0].value and said in other.warning[0].value.replace("\\", "")
    page.segmented_control(key="compare_mode").set_value("total")
    settle(page)
    totals = [o.figures.total for o in mine(page).at("compare").result]
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)
    page.segmented_control(key="compare_mode").set_value("epsilon")
    settle(page)
    first, second = mine(page).at("compare").result
    assert first.epsilon == second.epsilon == page.select_slider(key="compare_epsilon").value
    assert not page.warning, "these two count alike"
    page.segmented_control(key="compare_mode").set_value("own")
    settle(page)


def test_what_is_copied_or_downloaded_is_released_and_two_of_one_draw_void_it(page):
    first = mine(page).at("compare").result[0].viewed_rewrite
    view = f"compare{mine(page).columns[0][0]}_view"
    assert not released(page)
    page.session_state[view] = {"copies": [first.number, 10_000]}
    settle(page)
    (entry,) = released(page)
    assert entry._output == mine(page).ledger._hash(first.result.text) and not page.error
    slider(page, 0).set_value(float(slider(page, 0).options[3]))
    settle(page)
    looked = mine(page).at("compare").result[0].viewed_rewrite
    second = looked.result
    page.session_state[view] = {"copies": [first.number, looked.number]}
    settle(page)
    assert second.noise_id == first.result.noise_id and "share their noise" in page.error[0].value
    assert copies_of({"copies": [1, 2.0, True, "x"]}) == [1, 2] and copies_of({"copies": "12"}) == []


def typed(at: AppTest, text: str) -> list[str]:
    at.text_area(key="compare_text").set_value(text)
    return texts(settle(at))


def test_the_noise_of_a_place_stays_while_the_text_is_typed_until_something_of_it_is_released():
    at = opened(text=TEXT[:-1])
    before, released = texts(at), views(at)[0]["copies"]
    first = mine(at).rewrite_cache.shown[released].noise_id
    longer = f"{TEXT[:-1]} and her nurse"
    after = typed(at, longer)
    assert [a.startswith(b) for a, b in zip(after, before, strict=True)] == [True, True]
    book = mine(at).ledger
    assert len(book.entries) == 2 and len(book.accounts()) == 1 and not any(e.released for e in book.entries)
    number = views(at)[0]["copies"]
    assert mine(at).rewrite_cache.shown[number].noise_id == first, "until something is released"
    key = next(k for k in (f"compare{id_}_view" for id_, _ in mine(at).columns))
    at.session_state[key] = {"copies": [released]}  # told of when the text has gone on
    settle(at)
    second = mine(at).rewrite_cache.shown[views(at)[0]["copies"]]
    assert second.original == longer and second.noise_id != first
    at.session_state[key] = {"copies": [released, views(at)[0]["copies"]]}
    settle(at)
    (account,) = mine(at).ledger.accounts()
    assert account.releases == 2 and not account.void


@pytest.fixture
def held(monkeypatch) -> Iterator[threading.Event]:
    """Rewrites are not ready before this is set."""
    ready, made = threading.Event(), cards.rewrites

    def slow(*args):
        assert ready.wait(100)
        return made(*args)

    ready.set()
    monkeypatch.setattr(cards, "rewrites", slow)
    yield ready
    ready.set()


def dims(at: AppTest) -> str:
    """What is done to the rewrites of before."""
    return " ".join(e.proto.body for e in at.get("html") if "opacity" in e.proto.body)


@pytest.mark.slow
def test_rewrites_of_before_stay_dimmed_until_the_new_ones_are_there(held):
    at = opened(text=f"{TEXT} {'My nurse wrote a letter. ' * 12}")
    before, book = texts(at), len(mine(at).ledger.entries)
    assert not dims(at)
    held.clear()
    at.text_area(key="compare_text").set_value(TEXT)  # 60 words are deleted at once
    at.run()
    assert mine(at).at("compare").job is not None and texts(at) == before
    assert "st-key-compare_before" in dims(at) and "pointer-events: none" in dims(at)
    assert any("of the previous text" in c.value for c in at.caption)
    assert len(mine(at).ledger.entries) == book, "nothing new was looked at"
    held.set()
    settle(at)
    after = texts(at)
    assert not dims(at) and all(len(a) < len(b) for a, b in zip(after, before, strict=True))
    held.clear()
    slider(at, 0).set_value(float(slider(at, 0).options[0]))
    at.run()
    assert texts(at) == after and "opacity" in dims(at) and "pointer-events" not in dims(at)
    gone = mine(at).columns[1][0]
    mine(at).columns[1] = (mine(at).next_number(), TWO[1])
    at.run()
    assert texts(at) == after[:1] and gone not in [id_ for id_, _ in mine(at).columns], "of columns that still stand"


@pytest.mark.slow
def test_a_text_that_was_emptied_while_it_was_worked_on_is_rewritten_when_it_is_back(held):
    at = opened()
    held.clear()
    for text in (f"{TEXT} Again.", "", f"{TEXT} Again."):
        at.text_area(key="compare_text").set_value(text)
        at.run()
    held.set()
    settle(at)
    assert [o.viewed_rewrite.result.original for o in mine(at).at("compare").result] == [f"{TEXT} Again."] * 2


def test_a_comparison_for_which_a_model_was_loaded_says_nothing_of_the_next(monkeypatch):
    kept, one = RewriteCache(), dpt.Setting("custext", {}, 5.0)

    def compared_of(text: str, ready: bool) -> float | None:
        monkeypatch.setattr(dpt.mechanism_class("custext"), "model_ready", ready)
        asked = comparison.ComparisonRequest(text, (comparison.Column(1, one),), None, 0)
        (found,) = comparison.rewrites(asked, kept, None, Ledger(), None, dpt.Task())
        assert found.viewed_rewrite is not None
        return kept.seconds

    assert compared_of("My doctor paid.", False) is None
    assert compared_of("My doctor paid twice.", True) is not None


def test_draw_again_is_fresh_noise_for_all(page):
    before = {o.viewed_rewrite.result.noise_id for o in mine(page).at("compare").result}
    page.button(key="compare_again").click()
    settle(page)
    after = {o.viewed_rewrite.result.noise_id for o in mine(page).at("compare").result}
    assert not before & after


def test_a_third_is_added_and_taken_away(page):
    page.button(key="compare_add").click()
    settle(page)
    assert len(views(page)) == 3 and mine(page).columns[2][1].mechanism == ORDER[0]
    third = mine(page).columns[2][0]
    page.button(key=f"compare{third}_close").click()
    settle(page)
    assert len(views(page)) == 2


def test_a_row_of_equal_privacy_opens_here_with_its_options_and_epsilon(monkeypatch):
    here, went = Session(), []
    monkeypatch.setattr(equal_privacy, "session", lambda: here)
    monkeypatch.setattr(equal_privacy.st, "switch_page", went.append)
    mechanisms = [dpt.get_mechanism("diffractor"), dpt.get_mechanism("diffractor", noise="tem")]
    found = dpt.equal_privacy(mechanisms, {"n_w": 0.4}, text=[m.prepare(TEXT) for m in mechanisms], tolerance=0.01)
    equal_privacy.compare(found * 3)
    assert went == ["pages/compare.py"] and here.columns_new and len(here.columns) == 4
    settings = [s for _, s in here.columns[:2]]
    assert [s.options for s in settings] == [{}, {"noise": "tem"}]
    assert [s.epsilon for s in settings] == [c.epsilon for c in found]
    assert all(abs(c.reached - 0.4) <= 0.01 for c in found)
    options = {"lists": ("L2",), "never": ("heck",)}
    run = SimpleNamespace(mechanism=mechanisms[0], inputs=SimpleNamespace(options=options))
    assert equal_privacy.like(run, "tem").config.never == ("heck",) and equal_privacy.like(run, "adept")


def test_a_text_is_prepared_by_each_of_the_mechanisms_that_are_compared():
    one, other = dpt.get_mechanism("diffractor"), dpt.get_mechanism("diffractor", noise="tem")
    with pytest.raises(dpt.ConfigError, match="one text"):
        dpt.equal_privacy([one, other], {"n_w": 0.4}, text=[one.prepare(TEXT)])
    with pytest.raises(dpt.ConfigError, match="one text"):
        dpt.equal_privacy([one, other], {"n_w": 0.4}, text=[one.prepare(TEXT), other.prepare("Another one.")])


@pytest.mark.slow
def test_the_best_of_all_attackers_is_asked_on_demand_over_the_words_that_all_draw(small_bank, plain_attackers):
    at = opened([dpt.Setting("diffractor", {}, 0.5), dpt.Setting("dp-sentence", {"bank": small_bank}, 20.0)])
    at.button(key="compare_attack").click().run()
    while (job := mine(at).at("compare best").job) is not None:
        assert job.wait(100)
        at.run()
    assert not at.exception
    (table,) = [d.value for d in at.dataframe if "strongest attacker" in d.value.columns]
    (found,) = mine(at).at("compare best").result
    assert list(table["strongest attacker"]) == [best.title(found.by)] and found.by in best.ASKED
    assert list(table["right"]) == [percent(found.value)]


@pytest.mark.slow
def test_the_share_that_the_best_of_all_attackers_finds_can_be_equal(monkeypatch, plain_attackers):
    monkeypatch.setattr(target_figures, "READ", 4)  # one rewrite at each ε
    state = {"compare_mode": "best", "compare_best": 75}
    at = opened([dpt.Setting("diffractor", {}, 0.5), dpt.Setting("diffractor", {"noise": "tem"}, 0.5)], **state)
    while (job := mine(at).at("compare").job) is not None:
        assert job.wait(200)
        at.run()
    assert not at.exception and at.slider(key="compare_best").value == 75
    outcomes = mine(at).at("compare").result
    assert all(o.epsilon and o.viewed_rewrite is not None for o in outcomes)
    assert any("equal success of the strongest attacker" in c.value for c in at.caption)


@pytest.mark.slow
def test_settings_without_words_are_measured_by_two_texts(small_bank, monkeypatch):
    monkeypatch.setattr(two_texts, "DRAWS", 40)
    at = opened([dpt.Setting("dp-sentence", {"bank": small_bank}, 20.0), dpt.Setting("custext", {}, 8.0)])
    (measured,) = [d.value for d in at.dataframe if "unchanged words (N_w)" in d.value.columns]
    assert next(iter(measured["unchanged words (N_w)"])) == "none"
    at.button(key="compare_two_start").click().run()
    while (job := mine(at).at("two texts: compare_two").job) is not None:
        assert job.wait(100)
        at.run()
    assert not at.exception
    (table,) = [d.value for d in at.dataframe if "ε at least" in d.value.columns]
    promised = list(table["guaranteed ε"])
    assert promised == ["20", "nothing"] and set(table["rewrites of each"]) == {"40"}
    assert float(table["ε at least"][1]) > 0 and all(float(x) >= 0 for x in table["ε at least"])
