"""Files to give away or keep: what they hold and what they must not, and that nothing in them is run or asked for."""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import foreign
import pytest
from foreign import ALL, Generator, Latent, Swap
from hypothesis import example, given, settings
from hypothesis import strategies as st
from token_engine import texts

import dptext_core as dpt
from dptext_core import cli
from dptext_core.cli import arguments
from dptext_studio import exports, lessons
from dptext_studio.exports import chances_csv, html, parts
from dptext_studio.exports import lesson as lesson_pages
from dptext_studio.exports import session as session_file
from dptext_studio.exports.gallery import gallery
from dptext_studio.figures import browser

TEXT = "My doctor sent a letter.\u2028</script><img src=x onerror=alert(1)> My sister's <b>water</b> & “nurse”."
#: Elements that our own files have beside those of the token view; a text brings in none.
OWN = {
    "html",
    "head",
    "meta",
    "title",
    "link",
    "style",
    "body",
    "main",
    "h1",
    "h2",
    "h3",
    "p",
    "div",
    "dl",
    "dt",
    "dd",
    "ul",
    "li",
    "strong",
    "pre",
    "code",
    "footer",
    "noscript",
    "script",
    "section",
    "svg",
    "path",
    "figure",
    "figcaption",
    "rect",
    "text",
    "line",
    "nav",
    "a",
    "details",
    "summary",
    "ol",
    "i",
    "small",
    "span",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "polyline",
} | set(re.findall(r"<([a-z]\w*)", browser.markup()))


registered = pytest.fixture(autouse=True, scope="module")(foreign.registered)


class Read(HTMLParser):
    """What a browser would find in a file: elements, what they load, scripts, styles, and text."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags, self.loads, self.inside, self.said = [], [], {"script": [], "style": []}, ""
        self.policy, self.data, self.open = "", None, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), "an event handler"
        self.tags.append(tag)
        self.loads += [given[name] for name in ("src", "href", "action", "poster") if given.get(name)]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self.open = "json" if given.get("type") == "application/json" else tag

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, text):
        if self.open == "json":
            self.data = json.loads(text)
        elif self.open in self.inside:
            self.inside[self.open].append(text)
        else:
            self.said += text


def check(text: str, shared: bool = False) -> Read:
    """Nothing in a file is run, loaded or asked for that is not its own."""
    read = Read(text)
    assert set(read.tags) <= OWN
    assert "default-src 'none'" in read.policy and "unsafe" not in read.policy
    for tag in ("script", "style"):
        for content in read.inside[tag]:
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in read.policy
            assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|WebSocket|sendBeacon", content)
    files = {html.STYLE, html.SCRIPT, lesson_pages.STYLE, "index.html"} if shared else set()
    assert not [a for a in read.loads if a not in files and a != "data:," and not re.fullmatch(r"[\w-]+\.html", a)]
    return read


def test_the_style_of_a_page_names_nothing_that_the_token_view_has():
    selectors = re.sub(r"/\*.*?\*/|\{[^{}]*\}", "\n", html.style(live=False), flags=re.DOTALL)
    own = re.findall(r"\.([a-z][\w-]*)", re.sub(r"(?m)^\s*\.strip\b.*", "", selectors))
    assert len(own) > 20 and all(name.startswith(("p-", "v-")) for name in own), own


@settings(max_examples=40)
@given(st.text())
@example("</script><!--\u2028\u2029&\ud800")
def test_data_in_a_page_are_what_they_were_and_end_nothing(text):
    block = html.data("payload", {"text": text})
    inner = block.partition(">")[2].removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inner) and block.encode()
    assert json.loads(inner) == {"text": text}


def test_a_page_in_which_epsilon_is_dragged_holds_the_words_of_a_sweep():
    m = Swap.create(epsilon=1.0)
    stream, prepared = dpt.NoiseStream(4), m.prepare(TEXT)
    read = check(exports.inspection(m.rewrite(prepared, stream=stream)))
    assert read.data["live"] and "spread" not in read.data and exports.PRIVATE in read.said
    assert read.said.index(exports.PRIVATE) < read.said.index("Drag ε")
    swept = m.sweep(prepared, [0.2, 1.0, 5.0, 20.0], stream=stream).results
    assert texts(read.data, [0.2, 1.0, 5.0, 20.0]) == [r.text for r in swept] and len({r.text for r in swept}) > 1
    assert "at ε = 1" in read.said and "any two texts" in read.said


@pytest.mark.parametrize("cls", [Generator, Latent])
def test_what_takes_a_new_pass_at_another_epsilon_stands_still(cls):
    result = cls.create().rewrite(TEXT)
    read = check(exports.inspection(result, note="Made up."))
    assert "ε = 1 " in read.data["spread"] and exports.PRIVATE not in read.said and "Made up." in read.said
    assert texts(read.data, [1.0]) == [result.text]


@pytest.mark.parametrize("cls", ALL)
def test_a_release_has_no_word_that_the_rewrite_does_not_show_and_an_inspection_says_that_it_has(cls):
    result = cls.create(epsilon=0.1).rewrite("The doctor sent a letter to my sister, the nurse.", seed=5)
    gone = {"doctor", "letter", "sister", "nurse"} - set(re.findall(r"\w+", result.text))
    assert len(gone) > 1
    release = check(exports.report(result))
    assert result.text in release.said and "demonstration, not private" in release.said
    bare = check(exports.report(result, text=False))
    for said in (release.said, bare.said, exports.record(result)):
        assert not gone & set(re.findall(r"\w+", said))
    assert result.text not in bare.said
    private = check(exports.report(result, "inspection"))
    assert private.said.index(exports.PRIVATE) < private.said.index(result.original)
    stored = json.loads(exports.record(result, "inspection"))
    assert stored["original"] == result.original and stored["private"] == exports.PRIVATE
    assert exports.file_name("inspection", "report", "html").startswith("PRIVATE")


def test_hostile_words_are_text_in_every_file_and_findings_stay_private():
    class Guess:
        success, chance = 0.5, 0.01

        def sentence(self):
            return "<b>doctor</b>"

    result = Swap.create().rewrite(TEXT)
    read = check(exports.report(result, "inspection", findings=[("Guess <i>", Guess())], warning="Void <b>."))
    assert "Guess <i> (right 50% of the time, 1% without the rewrite). <b>doctor</b>" in read.said
    assert "Void <b>." in read.said
    assert "<img src=x onerror=alert(1)>" in read.said and "img" not in read.tags
    with pytest.raises(dpt.InputError, match="inspection"):
        exports.report(result, findings=[("Guess", Guess())])
    with pytest.raises(dpt.InputError, match="release or an inspection"):
        exports.report(result, "public")


# --- code and commands


def settings_of_all():
    for spec in dpt.mechanisms():
        yield spec.name, dpt.mechanism_class(spec.name).variants()[-1]
    yield "dp-mlm", {"epsilon": (0.5, 2.0), "clip_min": -3.0, "clip_max": 4.5, "keep_stopwords": False}
    yield "diffractor", {"epsilon": 1 / 3, "lists": ("L0",), "noise": "tem"}
    yield "foreign-generator", {"epsilon": 2.0, "length": 3}


def test_the_chances_of_all_words_are_one_file_that_adds_up():
    made = Swap.create(epsilon=1.0).rewrite("=2+3 doctor sent water", seed=1)
    one = json.loads(exports.chances_json(made))
    assert one["kind"] == "inspection" and "Do not publish" in one["private"]
    drawn = [k for k, u in enumerate(made.units) if u.is_sampled]
    assert [w["index"] for w in one["words"]] == drawn and drawn
    for word in one["words"]:
        d = made.distribution(word["index"])
        assert word["token"] == made.units[word["index"]].original and word["epsilon"] == 1.0
        assert word["candidates"] == [[w, p] for w, p in d.top(exports.LIKELIEST)]
        assert sum(p for _, p in word["candidates"]) + word["others"][1] == pytest.approx(1.0)
    rows = list(csv.DictReader(io.StringIO(chances_csv(made, most=1))))
    assert {r["token"] for r in rows} == {made.units[k].original for k in drawn}
    for k in drawn:
        mine = [r for r in rows if r["index"] == str(k)]
        assert [r["candidate"] for r in mine][1:] == ["(all others)"]
        assert sum(float(r["probability"]) for r in mine) == pytest.approx(1.0)
        assert float(mine[0]["epsilon"]) == 1.0


def test_a_command_and_python_make_the_same_mechanism():
    seen = 0
    for name, options in settings_of_all():
        m = dpt.get_mechanism(name, **options)
        words = shlex.split(parts.as_command(m, seed=-3))
        assert words[:6] == ["python", "-m", "dptext_core", "rewrite", "--mechanism", name]
        assert ("--epsilon" in words) == m.uses_epsilon
        assert ("--loaded-words" in words or "--no-loaded-words" in words) == hasattr(m.config, "loaded_words")
        args = cli.build_parser(words[3:]).parse_args(words[3:])
        assert arguments.mechanism_of(args).config == m.config and (args.seed, args.file) == (-3, parts.FILE)
        code = ast.parse(parts.as_python(m, 1))
        call = next(n for n in ast.walk(code) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("mechanism"))
        given = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        assert dpt.get_mechanism(ast.literal_eval(call.args[0]), **given).config == m.config
        assert given.get("epsilon") == (m.config.epsilon if m.uses_epsilon else None)
        assert given.get("loaded_words") == getattr(m.config, "loaded_words", None)
        seen += 1
    assert seen > 15
    options = "--mechanism dp-mlm --epsilon 50 --recase sentence --loaded-words"
    assert parts.as_command(dpt.get_mechanism("dp-mlm")) == f"python -m dptext_core rewrite {options} --file text.txt"


@pytest.mark.parametrize(
    ("name", "options"),
    [("diffractor", {"noise": "tem"}), ("dp-sentence", {}), ("adept", {"checkpoint": "snips"})],
)
def test_a_notebook_of_the_setting_runs_beside_a_text(name, options, tmp_path, monkeypatch, capsys):
    m = dpt.get_mechanism(name, **options)
    notebook = json.loads(exports.as_notebook(m, 3))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    (tmp_path / parts.FILE).write_text("My doctor sent a letter.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    said = capsys.readouterr().out
    assert said.startswith(m.rewrite("My doctor sent a letter.", seed=3).text)
    assert bool(re.search("(?m)^ε = ", said)) == ("sweep" in m.can)
    assert ("recovers the most" in said) == ({"alignment", "distribution"} <= m.can)


# --- session files

plain = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=60)
names, options = plain.filter(bool), st.dictionaries(plain, plain, max_size=5)
queries = st.builds(lambda name, options: {**options, "mechanism": name}, names, options)
sessions = st.builds(
    exports.SavedSession,
    queries,
    st.none() | st.integers(-session_file.MAX_SEED, session_file.MAX_SEED),
    st.none() | plain,
)


@settings(max_examples=30)
@given(sessions)
def test_a_session_is_read_as_it_was_saved(saved):
    assert exports.read_session(saved.to_json().encode()) == saved


GOOD = exports.SavedSession({"mechanism": "custext", "epsilon": "3", "k": "5"}, 7, "My doctor.").to_json()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | plain, lambda v: st.lists(v) | st.dictionaries(plain, v)
)


@st.composite
def damaged(draw):
    """A session file with one value exchanged, a name added, a part cut out, or bytes exchanged."""
    kind = draw(st.integers(0, 3))
    if kind < 2:
        found = json.loads(GOOD)
        name = draw(st.sampled_from(sorted(found))) if kind else draw(plain)
        return json.dumps(found | {name: draw(values)}).encode()
    data = GOOD.encode()
    a = draw(st.integers(0, len(data)))
    return data[:a] + (draw(st.binary(max_size=8)) if kind == 3 else b"") + data[a + draw(st.integers(0, 40)) :]


@settings(max_examples=50)
@given(damaged() | st.binary(max_size=60))
@example(b"[" * 100_000)
@example(GOOD.replace("7", "1" * 5000).encode())
@example(GOOD.replace('"seed": 7', '"seed": NaN').encode())
@example(GOOD.replace("doctor", "\\ud800").encode())
@example(GOOD.replace('"k": "5"', '"k": "5", "k": "6"').encode())
@example(GOOD.replace('"version": 1', '"version": true').encode())
@example(GOOD.replace('"version": 1', '"version": 2').encode())
@example(b" " * (session_file.MAX_BYTES + 1))
def test_a_hostile_or_cut_file_is_a_session_or_one_sentence_that_quotes_no_text(data):
    try:
        found = exports.read_session(data, "a.json")
    except dpt.InputError as error:
        assert str(error).startswith("a.json ") and len(str(error)) < 300 and "doctor" not in str(error)
    else:
        assert exports.read_session(found.to_json().encode()) == found


def test_a_session_without_its_text_has_none_and_one_with_it_says_so():
    bare = exports.SavedSession({"mechanism": "custext", "epsilon": "3"}).to_json()
    assert set(json.loads(bare)) == {"kind", "version", "mechanism", "options"}
    assert "private" in json.loads(GOOD) and "My doctor" not in repr(exports.read_session(GOOD.encode()))


# --- the gallery and the command line


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("gallery")
    gallery(out, ["foreign-swap", "foreign-latent"], ["review", "chat-message"], seed=9)
    return out


def test_a_gallery_is_plain_files_that_lead_to_each_other(made):
    pages = {p.name: check(p.read_text(encoding="utf-8"), shared=True) for p in made.glob("*.html")}
    assert len(pages) == 5
    for name, read in pages.items():
        assert all((made / link).is_file() for link in read.loads if link != "data:,"), name
        assert not read.inside["style"] and not "".join(read.inside["script"]).strip()
        assert "seed 9" in read.said and "demonstration, not private" in read.said
        assert exports.PRIVATE not in read.said
    index = pages.pop("index.html")
    assert {link for link in index.loads if link.endswith(".html")} == set(pages)
    assert all("index.html" in read.loads and read.data["seeded"] for read in pages.values())
    assert "spread" in pages["foreign-latent-review.html"].data
    assert "spread" not in pages["foreign-swap-review.html"].data


def test_a_gallery_goes_on_and_keeps_what_would_come_out_the_same(made, tmp_path):
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in made.glob("foreign-*")}
    (made / "foreign-latent-review.html").unlink()
    said = []
    again = gallery(made, ["foreign-latent"], seed=9, say=said.append)
    assert (
        again.num_existing == 1
        and len(again.pages) == 6
        and [s.partition(".html")[0] for s in said]
        == [
            "foreign-latent-clinic-note",
            "foreign-latent-support-mail",
            "foreign-latent-review",
        ]
    )
    for name, (changed, content) in before.items():
        assert (made / name).read_bytes() == content
        assert (made / name).stat().st_mtime_ns == changed or name == "foreign-latent-review.html"
    assert gallery(made, ["foreign-swap"], ["review"], seed=10).num_existing == 0, "another seed"
    for names, chosen, told, what in (
        (["nobody"], [], [], "mechanism"),
        ([], ["letter"], [], "example"),
        ([], [], ["sums"], "lesson"),
    ):
        with pytest.raises(dpt.InputError, match=f"There is no {what}"):
            gallery(made, names, chosen, told)
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(dpt.InputError, match="something other than a gallery"):
        gallery(tmp_path, ["foreign-swap"])
    for wrong in ("[]", "{", '{"pages": [{"file": "../x.html"}]}'):
        (tmp_path / "gallery.json").write_text(wrong)
        with pytest.raises(dpt.InputError, match="damaged"):
            gallery(tmp_path, ["foreign-swap"])


def test_lessons_are_pages_of_the_gallery_with_their_figures_and_their_answer(tmp_path, monkeypatch):
    told = [lessons.lesson(name) for name in ("temperature", "leaks")]
    made = gallery(tmp_path, lessons=[one.name for one in told])
    assert [p.file for p in made.pages] == ["lesson-temperature.html", "lesson-leaks.html"] and not made.num_existing
    index = check((tmp_path / "index.html").read_text(encoding="utf-8"), shared=True)
    assert {link for link in index.loads if link.endswith(".html")} == {p.file for p in made.pages}
    style = (tmp_path / "lesson.css").read_text(encoding="utf-8")
    for lesson, page in zip(told, made.pages, strict=True):
        text = (tmp_path / page.file).read_text(encoding="utf-8")
        read, at = check(text, shared=True), lesson.control.start
        assert set(read.loads) == {"lesson.css", "index.html", "data:,"} and not "".join(read.inside["script"])
        question, answer = lesson.ask(at), lesson.reveal(at)
        shown = (*lesson.sentences, question.text, *question.answers, *answer.measurements, *answer.explanation)
        for line in (*shown, lesson.goal):
            assert line in (index.said if line == lesson.goal else read.said)
        assert f"{'ABCD'[answer.right]}. {question.answers[answer.right]}" in read.said
        assert lesson.task not in read.said, "nothing moves on this page"
        assert lesson.take_home in read.said
        assert text.count("<details>") == len(lesson.control.values), "the other settings, and the answer"
        assert f"{lesson.control.label}: {lesson.control.format_value(lesson.control.values[-1])}" in read.said
        assert all(f".{name.split()[-1]} " in style for name in set(re.findall(r'class="(part \w+)', text)))
    again = gallery(tmp_path, lessons=["leaks"])
    assert again.num_existing == 1 and len(again.pages) == 2
    monkeypatch.setattr(type(told[0]), "reveal", lambda self, value: (_ for _ in ()).throw(dpt.InputError("gone")))
    (tmp_path / "lesson-temperature.html").unlink()
    assert gallery(tmp_path, lessons=["temperature"]).omissions == {"temperature": "gone"}


def run(capsys, *argv: str) -> tuple[int, str, str]:
    status = cli.main([*argv])
    return status, *capsys.readouterr()


def test_the_commands_write_their_pages_and_refuse_what_would_give_originals_away(capsys, tmp_path):
    swap = ("report", "--mechanism", "foreign-swap", "--epsilon", "0.1", "--seed", "1")
    text = "The doctor sent a letter."
    status, out, err = run(capsys, *swap, text)
    assert status == 0 and "sent a" in check(out).said and "any two texts" in out and "original words" not in err
    status, out, err = run(
        capsys, *swap, "--kind", "inspection", "--attack", "repeated-answers", "--out", str(tmp_path), text
    )
    assert (status, out) == (0, "") and "original words" in err
    assert "Repeated answers" in check((tmp_path / "PRIVATE-report.html").read_text(encoding="utf-8")).said
    status, out, _ = run(capsys, *swap, "--kind", "draggable", text)
    assert status == 0 and check(out).data["live"]
    assert run(capsys, *swap, "--no-text", text)[1].count("sent a letter") == 0
    for wrong, why in (
        (("--attack", "repeated-answers"), "--kind inspection"),
        (("--kind", "inspection", "--no-text"), "Only a release"),
        (("--kind", "inspection", "--attack", "nobody"), "no attacker"),
    ):
        status, out, err = run(capsys, *swap, *wrong, text)
        assert (status, out) == (2, "") and why in err
    status, out, err = run(
        capsys, "gallery", "--out", str(tmp_path / "g"), "--mechanism", "foreign-swap", "--example", "review"
    )
    assert status == 0 and Path(out.strip()).is_file() and "1 page," in err


def test_a_report_for_others_holds_no_word_of_the_blocklist():
    result = dpt.get_mechanism("custext", never=("bergen", "heart")).rewrite("She left for Bergen with a weak heart.")
    shown = exports.report(result, text=False).lower()
    assert "2 words" in shown and not {"bergen", "heart"} & set(re.findall(r"\w+", shown))
