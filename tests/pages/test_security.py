"""Each line of the threat model in docs/development/security.md has a test; here are those of public hosting."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit
from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.runtime import backend_operation_handler
from streamlit.testing.v1 import AppTest
from streamlit.web import skills

import dptext_core as dpt
from dptext_core.mechanisms.config import option
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.support import hosting, plugins
from dptext_core.text import document
from dptext_core.words import smaller_spaces, space_loading
from dptext_studio.components import download, links, text
from dptext_studio.server import batch, job_folders, jobs, public_hosting, sessions, streamlit_patches, uploads
from dptext_studio.server.jobs import Work
from dptext_studio.server.public_hosting import OWN, PUBLIC

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "development" / "security.md").read_text(encoding="utf-8")


@pytest.fixture
def strangers(monkeypatch):
    """Public hosting, and nothing of it afterwards."""
    monkeypatch.setenv(hosting.VARIABLE, "1")
    monkeypatch.setattr(smaller_spaces, "most_smaller", None)
    before = config.get_option("server.maxUploadSize")
    yield
    config.set_option("server.maxUploadSize", before)


def lines(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    part = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = part[part.index("|") :].split("\n\n", 1)[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    return rows[2:]


@pytest.mark.parametrize("heading", ["The threat model", "Public hosting", "Faults"])
def test_every_line_names_a_test_that_is_there(heading):
    rows = lines(heading)
    assert len(rows) >= 8
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[-1])
        assert named, row[0]
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {f.name for f in tree.body if isinstance(f, ast.FunctionDef)}, f"{file}::{name}"


def test_the_limits_are_those_of_the_document(monkeypatch):
    told = {row[0]: row[1:3] for row in lines("Limits")}
    for name, of in (("DPTEXT_PUBLIC", PUBLIC), ("", OWN)):
        column = 1 if name else 0
        numbers = {n: told[n][column].replace(",", "") for n in told}
        wanted = {
            "words and marks of a text": of.words,
            "MB of an upload": of.upload,
            "rows of a table": of.rows,
            "columns of a table": of.columns,
            "words and marks of a row": of.row,
            "pieces of work of one session": of.pieces,
            "minutes of a piece of work": of.minutes,
            "sessions": of.sessions,
            "lists of never-released words": of.lists,
        }
        for key, value in wanted.items():
            assert numbers[key] == ("none" if value is None else f"{value:g}"), key
    for value, on in {"": False, "0": False, "no": False, "OFF": False, "1": True, "yes": True, "2": True}.items():
        monkeypatch.setenv(hosting.VARIABLE, value)
        assert hosting.is_public_host() is on and public_hosting.limits() is (PUBLIC if on else OWN)


def test_the_settings_of_the_server_keep_others_out():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    server = settings["server"]
    assert server["enableXsrfProtection"] is True and server["enableCORS"] is True
    assert server["address"] == "localhost" and server["maxUploadSize"] == OWN.upload
    assert server["maxWidgetStateSize"] <= 10 and settings["client"]["allowedOrigins"] == []
    # What is off unless it is asked for stays so: files of a folder, a way in for programs, names from headers.
    assert config.get_option("server.enableStaticServing") is False
    assert config.get_option("server.enableAgentApi") is False and config.get_option("server.trustedUserHeaders") == {}


def test_headless_streamlit_installs_nothing_for_a_visitor(monkeypatch, tmp_path):
    """A visitor behind a proxy comes from the loopback device, where Streamlit awaits its developer."""
    installed = []
    monkeypatch.setattr(skills, "agent_harness_present", lambda: True)
    monkeypatch.setattr(backend_operation_handler, "connection_locality", lambda session: "loopback")

    def install(**given):
        installed.append(given)
        raise OSError("nothing is written by a test")

    monkeypatch.setattr(skills, "install_skills", install)
    handler = backend_operation_handler.InstallSkillsHandler(lambda: str(tmp_path))
    before = config.get_option("server.headless")
    try:
        for headless in (False, True):
            config.set_option("server.headless", headless)
            with ThreadPoolExecutor(1) as aside:  # a browser's test leaves a loop running in this thread
                asked = handler.handle(BackendOperationRequest(request_id="a"), "session")
                answer = aside.submit(asyncio.run, asked).result()
            assert (answer.error_reason == "refused:headless") is headless
            assert len(installed) == 1, "only where it is not headless"
    finally:
        config.set_option("server.headless", before)
    # Where strangers are served, it is headless; and whoever puts a proxy before it is told so.
    assert "--server.headless true" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "`--server.headless true`" in DOCUMENT.split("A reverse proxy in front", 1)[1].split("\n## ", 1)[0]


#: What hands out addresses in the pinned Streamlit: these modules of it, and what pages call of them. The icon of the
#: browser's tab is a file of ours; answers by agents are off; texts of the cache are not used.
HANDS_OUT = {
    "commands/logo.py",
    "commands/page_config.py",
    "elements/iframe.py",
    "elements/image.py",
    "elements/lib/agent_data.py",
    "elements/lib/image_utils.py",
    "elements/lib/subtitle_utils.py",
    "elements/media.py",
    "elements/pyplot.py",
    "elements/widgets/button.py",
    "elements/widgets/chat.py",
    "runtime/caching/cached_message_replay.py",
}
CALLED = {"audio", "chat_message", "download_button", "iframe", "image", "logo", "pdf", "pyplot", "video"}


def test_no_page_hands_out_a_file_but_by_the_one_helper():
    """Streamlit makes a file's address from what is in it, and gives the file to everyone who has the address."""
    top = Path(streamlit.__file__).parent
    calls = re.compile(r"media_file_mgr\.add|image_to_url\(|marshall_images\(")
    found = {p.relative_to(top).as_posix() for p in top.rglob("*.py") if calls.search(p.read_text(encoding="utf-8"))}
    assert found == HANDS_OUT, "look at what is new, and add what pages call of it"
    used = set()
    for path in (ROOT / "app.py", *(ROOT / "dptext_studio").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in CALLED:
                used.add((path.relative_to(ROOT).as_posix(), node.attr))
            if isinstance(node, ast.keyword) and node.arg == "page_icon":
                assert path.name == "app.py" and ast.unparse(node.value) == "ICON"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.logo":
                assert path.name == "app.py" and ast.unparse(node.args[0]) == "ICON"
    assert used == {("dptext_studio/components/download.py", "download_button"), ("app.py", "logo")}
    assert "ICON = str(assets_folder() / 'pictures' / 'icon.svg')" in ast.unparse(
        ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    )


def test_no_two_downloads_have_one_address(monkeypatch):
    asked = []
    monkeypatch.setattr(download.st, "download_button", lambda *given, **named: asked.append((*given, named)))
    for data in ("a text", b"bytes", lambda: "made when it is asked for"):
        for _ in range(2):
            download.button("Download", data, "a.txt", "text/plain", key="a", holds="nothing")
    made = [make() for _, make, _, _, _ in asked]
    assert made == ["a text"] * 2 + [b"bytes"] * 2 + ["made when it is asked for"] * 2
    kinds = {kind for _, _, _, kind, _ in asked}
    assert len(kinds) == 6 and all(re.fullmatch(r"text/plain; id=[\w-]{22}", kind) for kind in kinds)
    assert all((name, named["key"]) == ("a.txt", "a") for _, _, name, _, named in asked)


@pytest.mark.parametrize(
    "option_named", [{"stopwords": "README.md"}, {"model": "README.md"}, {"space": "README.md"}, {"space": "glove"}]
)
def test_no_link_and_no_file_names_a_path(option_named):
    """Also without public hosting: what a page offers is what there is."""
    for mechanism in ("dp-mlm", "santext"):
        query = {"mechanism": mechanism, **option_named}
        setting, problem = links.from_query(query)
        assert setting is None and problem


def test_strangers_choose_no_model_and_type_no_name(strangers, monkeypatch):
    for kind in ("text", "texts"):
        typed = option_meta(option(None, label="Path", kind=kind, help="A file."))
        assert not public_hosting.is_offered(typed)
        assert public_hosting.is_offered(replace(typed, word_lists=True))
    monkeypatch.setattr(public_hosting.models, "list_models", lambda: pytest.fail("what is installed is of no use"))
    for spec in dpt.mechanisms():
        for name, field in links._fields(spec.name).items():
            meta = option_meta(field)
            if (offered := public_hosting.offered_values(meta, field.default)) is None:
                assert meta.kind not in ("text", "texts") or meta.word_lists, (spec.name, name)
            elif meta.word_spaces:
                assert set(offered) <= set(space_loading.SPACES)
            elif not meta.offered_names:
                assert offered == [str(field.default)]


def test_strangers_get_no_plugin(strangers, monkeypatch, tmp_path):
    before = plugins.registered_names()
    monkeypatch.setattr(plugins, "_state", plugins._State())
    path = tmp_path / "mine.py"
    path.write_text((ROOT / "docs/examples/randomised_response.py").read_text())
    monkeypatch.setenv(plugins.VARIABLE, str(path))
    monkeypatch.setattr(plugins.importlib.metadata, "entry_points", lambda **_: pytest.fail("looked for packages"))
    try:
        assert plugins.problems() == () and plugins.registered_names() == before
        monkeypatch.setattr(plugins.importlib.metadata, "entry_points", lambda **_: ())
        monkeypatch.setattr(plugins, "_state", plugins._State())
        monkeypatch.delenv(hosting.VARIABLE)
        plugins.load()
        assert plugins.registered_names() != before, "without public hosting the same file is loaded"
    finally:
        plugins.restore(before)


def test_strangers_upload_little_and_keep_no_job(strangers, monkeypatch, tmp_path):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    with pytest.raises(dpt.InputError, match="larger than 2 MB"):
        uploads.store_upload("a.csv", b"x" * ((2 << 20) + 1))
    with pytest.raises(dpt.InputError, match=r"does not accept \.parquet files"):
        uploads.store_upload("a.parquet", b"PAR1")
    upload = uploads.store_upload("a.txt", b"one\n" * 1001)
    with pytest.raises(dpt.InputError, match="more than 1,000 rows, the limit here"):
        batch.look(upload.path, most=public_hosting.limits().rows)
    with pytest.raises(dpt.InputError, match="does not keep jobs"):
        upload.keep(batch.BatchRequest("a.txt", "text", False, (), dpt.Setting("santext")))
    with pytest.raises(dpt.InputError, match="does not keep jobs"):
        uploads.open_upload("code", Work(), "")
    upload.forget()
    assert not any((tmp_path / "jobs").iterdir())


def test_strangers_see_a_page_without_what_they_may_not(strangers, monkeypatch, tmp_path):
    monkeypatch.setenv(job_folders.VARIABLE, str(tmp_path / "jobs"))
    at = AppTest.from_file(ROOT / "pages" / "batch.py", default_timeout=60)
    at.session_state["app"] = True
    at.run()
    message = " ".join(c.value for c in (*at.caption, *at.markdown))
    assert (
        not at.exception
        and "2 MB and 1,000 rows" in message
        and "keep" not in message.lower()
        and "Parquet" not in message
    )
    assert not at.text_input, "no code to type"


def test_a_text_of_a_stranger_has_few_words(strangers):
    assert text.too_long("word " * 500) == ""
    assert "up to 500 words and punctuation marks. This text has 501." in text.too_long("word " * 501)
    assert text.too_long("word " * 501, ", or use another machine").endswith("Shorten it.")
    assert text.too_long("a" * 50_001) == "", "however long a word is"
    assert "This text has many more." in text.too_long("word " * 50_001)
    with pytest.raises(dpt.InputError, match=r"a shorter text\.$"):
        text.decode(b"word " * 300_000)


MARKS = {
    "full stops": ". ",
    "clitics": "'s ",
    "quotes": "\"'",
    "pictures": "\U0001f642 ",
    "possessives": "it's ",
}


@pytest.mark.slow
@pytest.mark.parametrize("of", MARKS)
def test_marks_and_clitics_count_like_words_in_every_limit(monkeypatch, tmp_path, of):
    """With punctuation replaced, each full stop costs what a word costs."""
    mark = MARKS[of]
    for module in (text, document):
        monkeypatch.setattr(module, "LETTERS", 1 << 20)
    most, long = PUBLIC.words, mark * 700
    monkeypatch.setattr(text, "limits", lambda: replace(OWN, words=most))
    drawn = len(dpt.Document.parse(long).words)
    assert drawn >= 700 and text.too_long(long).startswith(
        f"This page accepts up to {most:,} words and punctuation marks. This text has {drawn:,}."
    )
    kept = text.shorten(long)
    assert long.startswith(kept) and not text.too_long(kept) and text.too_long(kept + mark * 2)
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": long}) + '\n{"text": "My doctor."}\n')
    asked = batch.BatchRequest("a.jsonl", "text", False, (), dpt.Setting("santext"))
    long_row, short_row = batch.Batch(tmp_path, asked, PUBLIC.row).first()
    assert "more than 500 words and punctuation marks" in long_row.error and short_row.text
    assert not batch.Batch(tmp_path, asked).first()[0].error, "on one's own machine it is rewritten"


def test_a_full_house_says_so_and_runs_no_page(strangers, monkeypatch):
    stopped: list[str] = []
    options = {"server.allowedHosts": ["host"], "server.maxUploadSize": 50}
    monkeypatch.setattr(streamlit_patches.config, "get_option", options.__getitem__)
    monkeypatch.setattr(streamlit_patches.config, "set_option", lambda name, value: stopped.append(f"{name}={value}"))
    monkeypatch.setattr(public_hosting.st, "error", stopped.append)
    monkeypatch.setattr(public_hosting.st, "stop", lambda: stopped.append("stop"))
    visits = {str(k): sessions._Visit(has_place=k < 200) for k in range(205)}
    monkeypatch.setattr(sessions, "_visits", visits)
    monkeypatch.setattr(sessions, "visitor", lambda: "199")
    public_hosting.enter()
    assert stopped == ["server.maxUploadSize=2"], "who is in stays in"
    assert smaller_spaces.most_smaller == PUBLIC.lists
    monkeypatch.setattr(sessions, "visitor", lambda: "202")
    public_hosting.enter()
    assert stopped[-2:] == [public_hosting.FULL, "stop"]
    stopped.clear()
    del visits["7"]
    public_hosting.enter()
    assert stopped == ["server.maxUploadSize=2"], "a place is free, and who was turned away before takes none"
    public_hosting.enter()
    assert "stop" not in stopped, "it keeps its place"
    monkeypatch.setattr(sessions, "visitor", lambda: "200")
    stopped.clear()
    monkeypatch.setenv("DPTEXT_SESSIONS", "100")
    public_hosting.enter()
    assert stopped[-2:] == [public_hosting.FULL, "stop"], "a smaller server has fewer places"
    monkeypatch.setenv("DPTEXT_SESSIONS", "0")
    with pytest.raises(dpt.ConfigError, match="DPTEXT_SESSIONS"):
        public_hosting.enter()


def test_a_public_server_says_under_which_names_it_is_reached(strangers, monkeypatch):
    """Else another site could lead its own name here, and a browser would take both for one."""
    stopped: list[str] = []
    monkeypatch.setattr(streamlit_patches.config, "set_option", lambda name, value: None)
    monkeypatch.setattr(public_hosting.st, "error", stopped.append)
    monkeypatch.setattr(public_hosting.st, "stop", lambda: stopped.append("stop"))
    monkeypatch.setattr(streamlit_patches.runtime, "exists", lambda: True)
    for hosts, named in (([], False), (["*"], False), (["demo.example.org"], True)):
        stopped.clear()
        options = {"server.allowedHosts": hosts, "server.maxUploadSize": 2}
        monkeypatch.setattr(streamlit_patches.config, "get_option", options.__getitem__)
        public_hosting.enter()
        assert stopped == ([] if named else [public_hosting.NO_HOST, "stop"])


def test_one_visitor_has_few_pieces_of_work_under_way(monkeypatch):
    gate = threading.Event()
    mine: list[jobs.Job] = []
    monkeypatch.setattr(jobs, "limits", lambda: replace(PUBLIC, pieces=2))
    monkeypatch.setattr(jobs.sessions, "own_work", lambda: mine)
    works = [Work() for _ in range(3)]
    for work in works:
        work.start("x", lambda task: gate.wait(5), "x")
        mine += [work.job] if work.job else []
    assert len(mine) == 2 and not works[2].is_running() and "2 tasks running" in works[2].failure_text("")
    gate.set()
    assert all(job.wait(5) for job in mine)
    works[2].start("x", lambda task: 1, "x")
    assert not works[2].is_running(5) and works[2].take_result() == 1


#: Lessons are about a word of at most 40 letters, and these are the words of a text that is short enough for a page.
BRIEF = {
    ("dptext_studio/views/learn/learning.py", "work()"),
    ("dptext_studio/views/explore/attack_work.py", "which_text.content_words(mechanism, result.original)"),
}


def test_every_piece_of_work_can_be_stopped():
    """What runs in a thread takes ``task``, and hands it on or looks at it."""
    seen = 0
    for path in (ROOT / "dptext_studio").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Lambda | ast.FunctionDef) or "task" not in [a.arg for a in node.args.args]:
                continue
            body = node.body if isinstance(node.body, list) else [node.body]
            used = any(isinstance(n, ast.Name) and n.id == "task" for part in body for n in ast.walk(part))
            seen += used
            assert used or (path.relative_to(ROOT).as_posix(), ast.unparse(body[0])) in BRIEF, ast.unparse(node)
    assert seen > 25


def test_a_piece_of_work_ends_when_its_time_is_over(monkeypatch):
    monkeypatch.setattr(jobs, "limits", lambda: replace(PUBLIC, minutes=0.001))
    work = Work()

    def endless(task):
        while not task.cancelled:
            time.sleep(0.01)
        raise dpt.Cancelled("x")

    work.start("x", endless, "x")
    assert not work.is_running(5) and "longer than the server's limit of 0.001 minutes" in work.failure_text("Stopped.")
