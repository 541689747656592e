"""Lessons by AppTest (which runs no JavaScript), and what links hide."""

from __future__ import annotations

import ast
import json
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from dptext_studio import lessons
from dptext_studio.components import hidden_controls
from dptext_studio.components.address import only_here
from dptext_studio.figures.theme import DARK, LIGHT
from dptext_studio.views.learn import classroom, teacher
from dptext_studio.views.learn.learning import Learning

TOP = Path(__file__).resolve().parents[2]


def page(name: str, **query: str) -> AppTest:
    at = AppTest.from_file(TOP / "pages" / f"{name}.py", default_timeout=120)
    at.session_state["app"] = True
    if host := query.pop("host", ""):  # the browser remembers it, and tells it to the page
        at.session_state["learning"] = Learning(room=query["room"], host=host)
    for key, value in query.items():
        at.query_params[key] = value
    return settle(at)


def settle(at: AppTest) -> AppTest:
    """Run until nothing is worked out any more."""
    at.run()
    while "session" in at.session_state and any(w.job for w in at.session_state["session"].work.values()):
        for work in at.session_state["session"].work.values():
            assert work.job is None or work.job.wait(100)
        at.run()
    assert not at.exception
    return at


def query(at: AppTest) -> dict[str, str]:
    """The parameters of the address, each once."""
    return {k: v if isinstance(v, str) else v[0] for k, v in dict(at.query_params).items()}


def shown(at: AppTest) -> str:
    """The HTML of all drawings, without escapes."""
    data = [json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.json]
    return unescape(" ".join(d["html"] for d in data if "html" in d))


@pytest.fixture(scope="module")
def learn() -> AppTest:
    return page("learn", lesson="1")


def number(name: str) -> int:
    """The place of a lesson in the course, from 1."""
    return [one.name for one in lessons.LESSONS].index(name) + 1


def test_drawings_follow_the_theme_without_a_run_of_the_page(learn):
    data = [json.loads(c.proto.json) for c in learn.get("bidi_component") if c.proto.json]
    colours = [d["colours"] for d in data if "html" in d]
    assert colours and all(c["--ink"] == f"light-dark({LIGHT['ink']}, {DARK['ink']})" for c in colours)


def test_a_lesson_goes_from_its_question_to_its_answer(learn):
    at, lesson = learn, lessons.lesson("one-word")
    first = number(lesson.name)
    at.pills(key="learn_lesson").set_value(first - 1)
    settle(at)
    assert f"{first}. {lesson.title}" in at.markdown[0].value.replace("\\", "")
    assert "What replaces" in shown(at)
    assert at.button(key="learn_reveal_one-word").disabled and not at.success and not at.warning
    start = lesson.control.start
    reveal, question = lesson.reveal(start), lesson.ask(start)
    wrong = (reveal.right + 1) % len(question.answers)
    at.radio(key="learn_answer_one-word").set_value(wrong)
    settle(at)
    at.button(key="learn_reveal_one-word").click()
    settle(at)
    assert question.answers[reveal.right] in at.warning[0].value.replace("\\", "")
    assert reveal.replies[wrong] in at.warning[0].value.replace("\\", "")
    assert "share unchanged" in shown(at)
    assert any(lesson.take_home in m.value.replace("\\", "") for m in at.markdown)
    at.radio(key="learn_answer_one-word").set_value(reveal.right)
    settle(at)
    assert question.answers[reveal.right] in at.success[0].value.replace("\\", "")
    assert any(reveal.measurements[0] in m.value.replace("\\", "") for m in at.markdown)
    at.button(key="learn_next").click()
    settle(at)
    assert lessons.LESSONS[first].title in at.markdown[0].value and query(at) == {"lesson": str(first + 1)}
    at.button(key="learn_back").click()
    settle(at)
    assert at.radio(key="learn_answer_one-word").value == reveal.right, "what was answered is kept"


def test_a_word_that_is_typed_is_literal_and_stays_in_the_session(learn):
    at = learn
    at.pills(key="learn_lesson").set_value(number("vectors") - 1)
    settle(at)
    for typed in ("<img src=x onerror=alert(1)>", "**bold** $x$", ""):
        at.text_input(key="learn_value_vectors").set_value(typed)
        settle(at)
        assert at.info and not at.radio and query(at) == {"lesson": str(number("vectors"))}
    at.text_input(key="learn_value_vectors").set_value(" River ")
    settle(at)
    assert "Distance from “river”" in shown(at) and not at.info
    assert "river" not in str(query(at))


def test_a_link_opens_a_lesson_and_the_view_for_a_wall():
    at = page("learn", lesson="2", present="1")
    assert lessons.LESSONS[1].title in at.markdown[0].value and not at.radio and not at.pills
    assert at.button(key="wall_back").disabled is False
    headings = []
    for _ in range(3):
        at.button(key="wall_next").click()
        settle(at)
        headings.append(at.markdown[0].value if at.markdown else "")
    assert "?" in headings[1] and at.info, "the element, the question, the answer without a choice"
    at.button(key="wall_back").click()
    settle(at)
    assert at.markdown[0].value == headings[1]
    at.button(key="wall_end").click()
    settle(at)
    assert at.pills(key="learn_lesson").value == 1 and query(at) == {"lesson": "2"}


def test_the_case_study_stands_below_its_lesson(learn):
    at = page("learn", lesson=str(number("memory")))
    assert not at.text_area and not at.get("plotly_chart")
    assert [e.label for e in at.expander][:2] == [
        "Try your own sentence",
        "Case study: results on both data sets",
    ]
    at.session_state["case_measured"] = True
    settle(at)
    assert at.get("plotly_chart")
    learn.pills(key="learn_lesson").set_value(0)
    assert not any("case study" in e.label for e in settle(learn).expander)


@pytest.mark.parametrize("number", ["0", "99", "-1", "²", "x", ""])
def test_a_link_to_no_lesson_opens_the_list(number):
    at = page("learn", lesson=number)
    assert not at.pills and at.button(key="learn_open_one-word")
    assert at.session_state["learning"].address == {}


def test_the_list_has_every_lesson_with_its_goal_and_leads_there_and_back():
    at = page("learn")
    captions = [c.value.replace("\\", "") for c in at.caption]
    for one in lessons.LESSONS:
        assert one.title in at.button(key=f"learn_open_{one.name}").label.replace("\\", "")
        assert f"{one.minutes} min · {one.goal}" in captions
    at.button(key="learn_open_group").click()
    settle(at)
    assert query(at) == {"lesson": str(number("group"))} and at.pills(key="learn_lesson").value == number("group") - 1
    at.button(key="learn_list").click()
    settle(at)
    assert not at.pills and query(at) == {}


def test_what_a_teacher_needs_comes_before_the_lessons_and_the_plan_takes_90_minutes():
    at = page("learn")
    every = [(node.type, getattr(node, "label", "")) for node in at.main]
    (panel,) = [i for i, (kind, label) in enumerate(every) if kind == "expander" and "teachers" in label]
    assert panel < min(i for i, (_, label) in enumerate(every) if label.startswith("**1. ")), "on the first screen"
    at.session_state["learn_for_class"] = True
    assert len(settle(at).tabs) == 4
    assert "Half of the groups rewrite a note" in shown(at)
    ends = [int(minutes.split("–")[1]) for minutes, _ in teacher.plan().rows]
    assert ends[-1] == 90 and ends == sorted(ends)


def test_an_address_for_a_class_carries_settings_and_no_text(learn, monkeypatch):
    at = learn
    at.pills(key="learn_lesson").set_value(number("vectors") - 1)
    settle(at)
    at.session_state["learn_for_class"] = True
    at.text_input(key="learn_value_vectors").set_value("garden")
    settle(at)
    at.multiselect(key="learn_hide_True").set_value(
        [hidden_controls.KNOWN["door"][1], hidden_controls.KNOWN["answer"][1]]
    )
    settle(at)
    assert at.code[0].value.endswith(f"/learn?lesson={number('vectors')}&hide=door%2Canswer")
    assert at.radio(key="learn_target").options[0] == f"lesson {number('vectors')}"
    at.radio(key="learn_target").set_value(False)
    settle(at)
    assert "/explore?mechanism=mvc&epsilon=" in at.code[0].value and "garden" not in at.code[0].value
    assert classroom.ONLY_HERE in [w.value for w in at.warning] and not svgs(at), "no code that leads nowhere"


def svgs(at: AppTest) -> list[str]:
    """The QR codes of the page."""
    data = [json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.json]
    return [d["svg"] for d in data if "svg" in d]


#: An address of a network without the internet.
HERE = "192.168.0.12"


@pytest.mark.parametrize(
    ("url", "name", "listens", "there"),
    [
        ("http://localhost:8501/learn", "localhost", None, "http://localhost:8501"),
        ("http://localhost:8501/learn", "localhost", "0.0.0.0", "http://localhost:8501"),
        ("http://localhost:8501/learn", "localhost", "127.0.0.1", "http://localhost:8501"),
        ("http://localhost:8501/learn", "localhost", HERE, f"http://{HERE}:8501"),
        ("http://localhost:8501/learn", "room-12.local", HERE, "http://room-12.local:8501"),
        ("https://class.example.org/studio/learn", "room-12.local", None, "https://class.example.org/studio"),
    ],
)
def test_the_address_for_others_is_one_that_they_can_reach(monkeypatch, url, name, listens, there):
    monkeypatch.setattr(classroom.st, "context", SimpleNamespace(url=url))
    options = {"browser.serverAddress": name, "server.address": listens, "server.port": 8501}
    monkeypatch.setattr(classroom.st, "get_option", options.get)
    assert classroom.base().rstrip("/") == there
    assert classroom.address("learn", {"lesson": "2"}) == f"{there}/learn?lesson=2"


@pytest.mark.parametrize("base", ["http://localhost:8501/", "http://room-12.local:8501/"])
def test_a_hand_out_names_no_address_of_this_machine_alone(learn, monkeypatch, base):
    given = []
    monkeypatch.setattr(classroom, "base", lambda: base)
    monkeypatch.setattr(classroom, "handout", lambda which, *, address, code: given.append((address, code)))
    monkeypatch.setattr(classroom.download, "button", lambda label, make, *_, **__: make())
    learn.session_state["learn_for_class"] = True
    settle(learn)
    ((address, code),) = set(given)
    assert (address, bool(code)) == (("", False) if "localhost" in base else (f"{base}learn", True))


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8501/learn", True),
        ("http://127.0.0.1/", True),
        ("http://[::1]:8501/", True),
        ("", True),
        ("https://class.example.org/studio/learn", False),
        ("http://room-12.local:8501", False),
    ],
)
def test_which_addresses_are_for_others(url, here):
    assert only_here(url) is here


def test_a_code_is_a_drawing_without_an_address():
    svg = classroom.code("http://host.test/learn?lesson=3")
    assert svg.startswith("<svg") and "host.test" not in svg and "href" not in svg and "<script" not in svg


def test_only_known_names_are_hidden():
    assert hidden_controls.known_names("mechanism, seed,k") == ("mechanism", "seed", "k")
    assert hidden_controls.known_names("}body{display:none,[x],..,") == ()


@pytest.mark.slow
def test_a_link_hides_controls_and_keeps_their_values():
    at = AppTest.from_file(TOP / "app.py", default_timeout=120)
    at.query_params["mechanism"], at.query_params["noise"] = "diffractor", "tem"
    at.query_params["hide"] = "mechanism,noise,options,evil}"
    at.session_state["play_text"] = "My doctor paid."
    settle(at)
    styles = " ".join(h.value for h in at.get("html") if hasattr(h, "value")) or str([h.proto for h in at.get("html")])
    assert ".st-key-play_mechanism" in styles and "evil" not in styles and "-noise" in styles
    assert '[data-testid=stExpander]:has([class*="st-key-play-"])' in styles, "nor the fold that holds the others"
    assert at.selectbox(key="play_mechanism").value == "diffractor"
    assert at.selectbox(key="play-diffractor-noise").value == "tem"
    assert at.session_state["session"].hidden_controls == ("mechanism", "noise", "options")
    assert not any("not followed" in w.value for w in at.warning)


def test_every_page_is_in_the_navigation_and_every_other_file_is_an_earlier_address():
    tree = ast.parse((TOP / "app.py").read_text(encoding="utf-8"))
    said = {
        ast.unparse(t): n.value
        for n in tree.body
        if isinstance(n, ast.Assign | ast.AnnAssign)
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
    }
    first, sections = (ast.literal_eval(said[name]) for name in ("FIRST", "SECTIONS"))
    named = {name for pages in sections.values() for name in pages}
    files = {p.stem: p.read_text(encoding="utf-8") for p in (TOP / "pages").glob("*.py")}
    assert first in named and set(files) == named
    assert all(len(text.splitlines()) <= 100 for text in files.values())
