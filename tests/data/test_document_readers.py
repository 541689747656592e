"""DOCX and PDF files as rows: what is read, what is left out and said, and what is refused within limits."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from data.made_files import NAMES, paragraph, portable, run, word
from hypothesis import given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core.data import documents, docx_worker, tables
from dptext_core.data.reading_notes import NoteKind, ReadingNote

SECRET = "qzkvoltar"
LIMITS = {"rows": 1000, "characters": 100_000, "unpacked": 1 << 20}


def read(path: Path) -> tuple[list[str], dict[str, int]]:
    """Texts and notes of a DOCX file, read in this process."""
    lines = list(docx_worker.read(str(path), LIMITS))
    return [v for what, _, v in lines if what == "row"], {what: n for what, n, _ in lines if what != "row"}


def texts(tmp_path: Path, body: str, **parts: str) -> list[str]:
    return read(word(tmp_path / "a.docx", body, **parts))[0]


# --- DOCX -----------------------------------------------------------------------------------------------------------


def test_paragraphs_of_text_and_tables_are_rows_and_nothing_comes_twice(tmp_path):
    box = f"<w:txbxContent>{paragraph('box')}</w:txbxContent>"
    twice = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    runs = f"{run('My doc')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    runs += "<w:r><w:t>tor</w:t><w:tab/><w:t>&amp; I</w:t><w:br/></w:r>"
    cell = f"<w:tbl><w:tr><w:tc>{paragraph('nested')}</w:tc></w:tr></w:tbl>{paragraph('cell')}"
    body = f"<w:p>{runs}</w:p>{paragraph(' ')}<w:tbl><w:tr><w:tc>{cell}</w:tc></w:tr></w:tbl>"
    body += f"<w:p><w:r>{twice}</w:r>{run('after')}</w:p>"
    data = tables.source(word(tmp_path / "a.docx", body), ("text", "paragraph"))
    found = ["My doctor\t& I", "nested", "cell", "box", "after"]
    assert list(data.rows()) == [{"text": t, "paragraph": i} for i, t in enumerate(found, 1)] and data.count == 5
    assert data.notes == (ReadingNote(NoteKind.DELETIONS, 1),)


@pytest.mark.parametrize("main", ["word/document2.xml", "Word/Document.xml", "a/b/main.xml"])
def test_the_main_part_is_the_one_that_the_package_names(tmp_path, main):
    assert texts(tmp_path, paragraph("The nurse rang."), main=main) == ["The nurse rang."]


def test_the_names_of_the_strict_format_are_known(tmp_path):
    path = word(tmp_path / "a.docx", paragraph("The nurse rang."))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    transitional = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(transitional, b"http://purl.oclc.org/ooxml/wordprocessingml/main"))
    assert read(path)[0] == ["The nurse rang."]


SYMBOL = '<w:r><w:sym w:font="{}" w:char="{}"/></w:r>'
CHARACTERS = {
    f"{run('10')}<w:r><w:noBreakHyphen/></w:r>{run('15 mg')}": "10\u201115 mg",
    "<w:r><w:t>full</w:t><w:cr/><w:t>Nobody</w:t><w:br/><w:t>came</w:t></w:r>": "full\nNobody\ncame",
    "<w:r><w:t>re</w:t><w:softHyphen/><w:t>admitted</w:t></w:r>": "readmitted",
    f"{run('right')}<w:r><w:ptab/></w:r>{run('page')}": "right\tpage",
    f"{SYMBOL.format('Symbol', 'F0B3')}{run('5')}{SYMBOL.format('Symbol', 'F03E')}": "≥5>",
    f"{SYMBOL.format('Symbol', 'F061')}{SYMBOL.format('Wingdings', 'F0FE')}{SYMBOL.format('Arial', '2265')}": "α☑≥",
    '<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf0b3</w:t></w:r>': "≥",
    f"{run('x')}<w:hyperlink>{run('link')}</w:hyperlink><w:smartTag>{run('tag')}</w:smartTag>": "xlinktag",
    f"<w:sdt><w:sdtPr/><w:sdtContent>{run('chosen')}</w:sdtContent></w:sdt>": "chosen",
    "<w:r><w:fldChar/><w:instrText> DATE </w:instrText></w:r><w:r><w:t>5 May</w:t></w:r>": "5 May",
    f"<w:ruby><w:rt>{run('han')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby>": "(han)漢",
    f"<w:fldSimple>{run('7')}</w:fldSimple><w:ins>{run('8')}</w:ins><w:moveTo>{run('9')}</w:moveTo>": "789",
}


@pytest.mark.parametrize("runs", CHARACTERS)
def test_what_a_reader_sees_in_a_paragraph_is_its_text(tmp_path, runs):
    assert texts(tmp_path, f"<w:p>{runs}</w:p>") == [CHARACTERS[runs]]


def of(name: str, **parts: str) -> str:
    inner = "".join(f"<m:{k}><m:r><m:t>{v}</m:t></m:r></m:{k}>" for k, v in parts.items())
    return f"<m:oMath><m:{name}>{inner}</m:{name}></m:oMath>"


EQUATIONS = {
    "<m:oMath><m:r><m:t>HbA1c=9.2</m:t></m:r></m:oMath>": "HbA1c=9.2",
    of("f", num="a+b", den="2"): "(a+b)/2",
    of("sSup", e="x", sup="2"): "x^2",
    of("sSub", e="x", sub="i+1"): "x_(i+1)",
    of("rad", e="x"): "√(x)",
    of("nary", sub="i=1", sup="n", e="x"): "∫_(i=1)^n x",
    of("d", e="a"): "(a)",
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_are_a_line_of_text(tmp_path, equation):
    assert texts(tmp_path, f"<w:p>{run('m ')}{equation}{run(' was')}</w:p>") == [f"m {EQUATIONS[equation]} was"]


def test_tracked_changes_are_read_as_accepted(tmp_path):
    ended = "<w:pPr><w:rPr><w:{}/></w:rPr></w:pPr>"
    deleted_row = f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph('row')}</w:tc></w:tr>"
    body = (
        f"<w:p>{ended.format('moveFrom')}<w:moveFrom>{run('I moved.')}</w:moveFrom></w:p>{paragraph('I stay.')}"
        f"<w:p><w:moveTo>{run('I moved.')}</w:moveTo></w:p>"
        f"<w:p>{ended.format('del')}{run('One ')}</w:p>{paragraph('line.')}"
        f"<w:tbl>{deleted_row}<w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
        f"<w:p>{run('He is ')}<w:del><w:r><w:delText>not </w:delText></w:r></w:del>{run('well.')}</w:p>"
    )
    found, left = read(word(tmp_path / "a.docx", body))
    assert found == ["I stay.", "I moved.", "One line.", "cell", "He is well."] and left == {"deletions": 2}


def test_what_is_left_out_is_counted(tmp_path):
    path = word(
        tmp_path / "a.docx",
        paragraph("Main.") + f"<w:p>{SYMBOL.format('Odd', 'F041')}</w:p>",
        header=paragraph("Top"),
        footer=paragraph(" "),
        footnotes=f"<w:footnote>{paragraph('Note')}</w:footnote><w:footnote>{paragraph('Other')}</w:footnote>",
        comments=f"<w:comment>{paragraph('Why?')}</w:comment>",
        image="",
        chart="",
    )
    data = tables.source(path, ("text",))
    assert {n.kind.value: n.count for n in data.notes} == {
        "symbols": 1,
        "headers": 1,
        "footnotes": 2,
        "comments": 1,
        "pictures": 1,
        "objects": 1,
    }
    assert [row["text"] for row in data.rows()] == ["Main.", "□"]


def test_a_broken_part_that_is_left_out_costs_no_row(tmp_path):
    broken = word(tmp_path / "a.docx", paragraph("Main."), header=f"{paragraph('Top')}<w:p>", footnotes="&none;")
    assert read(broken) == (["Main."], {"headers": 1, "footnotes": 1})
    longer = paragraph("note") * 2000
    assert read(word(tmp_path / "b.docx", paragraph("Main."), footnotes=longer)) == (["Main."], {"footnotes": 999})


def test_no_paragraph_is_cut_where_the_file_is_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(docx_worker, "_CHUNK", 7)
    cell = f"<w:tbl><w:tr><w:tc>{paragraph('in')}{paragraph('side')}</w:tc></w:tr></w:tbl>"
    found = [f"Paragraph {i}." for i in range(30)]
    assert texts(tmp_path, "".join(map(paragraph, found)) + cell) == [*found, "in", "side"]


ROW = "<w:tr><w:trPr>{}</w:trPr><w:tc><w:tcPr>{}</w:tcPr>{}</w:tc></w:tr>"
CHOICE = "<mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"


@pytest.mark.parametrize("chunk", [1, 3, 7, 64, 1 << 16])
@pytest.mark.parametrize(
    "inside",
    [
        ROW.format("<w:del/><w:tblHeader/>", "", paragraph(SECRET)),
        ROW.format("<w:tblHeader/><w:del/><w:cantSplit/>", "", paragraph(SECRET)),
        ROW.format("", "<w:cellDel/><w:tcW/>", paragraph(SECRET)),
        f"<w:tr><w:tc>{CHOICE.format(paragraph('kept'), paragraph(SECRET))}</w:tc></w:tr>",
        f"<w:tr><w:tc>{CHOICE.format(paragraph('kept') * 2, paragraph(SECRET) * 2)}</w:tc></w:tr>",
    ],
)
def test_what_is_left_out_is_so_wherever_the_file_is_divided(tmp_path, monkeypatch, inside, chunk):
    monkeypatch.setattr(docx_worker, "_CHUNK", chunk)
    body = f"<w:tbl>{inside}{ROW.format('<w:ins/><w:tblHeader/>', '<w:tcW/>', paragraph('last'))}</w:tbl>"
    found = texts(tmp_path, body)
    assert SECRET not in found and found == ["kept"] * inside.count("kept") + ["last"]


# No line separators: python-docx writes "\n" as <w:br/> and "\t" as <w:tab/>, and reads them as such.
WRITTEN = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")) | st.sampled_from("\t\n"))


@settings(max_examples=40, deadline=None)
@given(st.lists(WRITTEN, min_size=1, max_size=5))
def test_what_another_library_writes_is_read_as_it_reads_it(tmp_path_factory, given_texts):
    docx = pytest.importorskip("docx")
    path = tmp_path_factory.getbasetemp() / "written.docx"
    made = docx.Document()
    for text in given_texts:
        made.add_paragraph(text)
    made.add_table(1, 1).cell(0, 0).text = "cell"
    made.save(str(path))
    expected = [p.text.strip() for p in docx.Document(str(path)).paragraphs]
    assert read(path)[0] == [*filter(None, expected), "cell"]


def bomb(path: Path) -> Path:
    """Entities of entities."""
    lines = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))
    return word(path, paragraph("&a8;"), f'<!DOCTYPE x [<!ENTITY a0 "{SECRET}">{lines}]>')


def outside(path: Path) -> Path:
    """An entity that is a file of this machine."""
    return word(path, paragraph("&a;"), '<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>')


def cut(path: Path) -> Path:
    whole = word(path, paragraph(SECRET) * 500).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def half(path: Path) -> Path:
    """Whole as an archive, and cut off as XML."""
    return word(path, f"{paragraph(SECRET)}<w:p><!--")


def other(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", SECRET)
    return path


def shifted(path: Path) -> Path:
    """Cut off at its beginning: its list says that a part begins before the file."""
    path.write_bytes(word(path, paragraph(SECRET)).read_bytes()[1:])
    return path


def packed(path: Path) -> Path:
    """Eight hundred bytes or so, of which a few unpack to all of it at once."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("word/document.xml", f"<w:document {NAMES}><w:body>{paragraph(SECRET)}</w:body></w:document>")
    return path


def nested(path: Path) -> Path:
    return word(path, "<w:p>" + "<w:r>" * 5000 + "</w:r>" * 5000 + "</w:p>")


@pytest.mark.parametrize("made", [bomb, outside, cut, half, other, shifted, packed, nested])
def test_what_no_word_processor_wrote_is_refused_and_not_quoted(tmp_path, made):
    with pytest.raises(dpt.InputError, match="not a complete DOCX file") as stop:
        tables.source(made(tmp_path / "a.docx"), ("text",))
    assert SECRET not in str(stop.value)


def test_a_file_with_a_password_says_so(tmp_path):
    (tmp_path / "a.docx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 504)
    with pytest.raises(dpt.InputError, match="protected by a password"):
        tables.source(tmp_path / "a.docx", ("text",))


#: Small files that unpack to 20 MB or more: each kind of XML, repeated.
UNPACKS = {
    "rows": ("", paragraph("a"), "more than 1,000 rows"),
    "blank": ("", "<w:p/>", "200,000 paragraphs"),
    "marks": ("", "<w:sectPr/>", "far more than its size"),
    "blanks": ("", " ", "not a complete DOCX|far more than its size"),
    "properties": ("<w:tbl><w:tr><w:trPr>", "<w:del/>", "far more than its size"),
    "joined": ("", f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('a' * 100)}</w:p>", "too much memory"),
}


@pytest.mark.parametrize("kind", UNPACKS)
def test_a_small_file_that_unpacks_to_a_huge_one_costs_little_time_and_memory(tmp_path, monkeypatch, kind):
    pytest.importorskip("resource")
    begin, part, message = UNPACKS[kind]
    # A tree of all of it would take 400 MB.
    monkeypatch.setitem(documents.LIMITS, ".docx", replace(documents.LIMITS[".docx"], memory=120 << 20, seconds=20))
    path = word(tmp_path / "a.docx", begin + part * (24_000_000 // len(part)))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(dpt.InputError, match=message):
            tables.source(path, ("text",), most=1000)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("inner", ["<w:r/>", "<w:r><w:t>a</w:t></w:r>"])
def test_one_paragraph_may_not_hold_a_whole_tree(tmp_path, inner):
    path = word(tmp_path / "a.docx", f"<w:p>{inner * (6_000_000 // len(inner))}</w:p>")
    with pytest.raises(dpt.InputError, match="too much memory"):
        tables.source(path, ("text",))


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"characters": 10}, "more than 10 characters"),
        ({"unpacked": 100}, "unpacks to more than 0 MB"),
        ({"rows": 2}, "more than 2 paragraphs"),
        ({"memory": 20 << 20}, "too much memory|not a complete DOCX"),
        ({"seconds": 0.001}, "takes too long"),
    ],
)
def test_each_limit_of_a_docx_file_is_said(tmp_path, monkeypatch, limit, message):
    pytest.importorskip("resource")
    monkeypatch.setitem(documents.LIMITS, ".docx", replace(documents.LIMITS[".docx"], **limit))
    with pytest.raises(dpt.InputError, match=message):
        tables.source(word(tmp_path / "a.docx", paragraph("A long text.") * 3), ("text",))


# --- PDF ------------------------------------------------------------------------------------------------------------


def test_pages_of_a_pdf_are_rows_and_blank_ones_are_counted(tmp_path):
    data = tables.source(portable(tmp_path / "a.pdf", "My doctor is ill.", "", "The nurse.", ""), ("text", "page"))
    assert list(data.rows()) == [{"text": "My doctor is ill.", "page": 1}, {"text": "The nurse.", "page": 3}]
    assert data.notes == (ReadingNote(NoteKind.PAGES, 2, 4),)
    assert data.notes[0].sentence().startswith("2 of 4 pages have no text.")


def test_a_filled_form_is_read(tmp_path):
    fields = {"name": "Ingrid Halvorsen", "complaint": "Knee\rpain", "empty": "", "smoker": True, "driver": False}
    data = tables.source(portable(tmp_path / "a.pdf", "Name:", fields=fields), ("text",))
    assert [row["text"] for row in data.rows()] == ["Name:\nIngrid Halvorsen\nKnee\npain\nsmoker: Yes"]
    assert data.notes == (ReadingNote(NoteKind.FORM_FIELDS, 3),)


def test_a_form_without_any_other_text_is_no_scan(tmp_path):
    data = tables.source(portable(tmp_path / "a.pdf", "", fields={"name": "Ingrid"}), ("text",))
    assert [row["text"] for row in data.rows()] == ["Ingrid"]


def test_a_pdf_whose_printing_is_restricted_opens(tmp_path):
    data = tables.source(portable(tmp_path / "a.pdf", "The nurse.", owner="secret"), ("text",))
    assert [row["text"] for row in data.rows()] == ["The nurse."]


@pytest.mark.parametrize(
    ("pages", "password", "limit", "message"),
    [
        pytest.param(["", ""], "", None, "Run text recognition", marks=pytest.mark.slow),
        (["a"], "secret", None, "protected by a password"),
        pytest.param(["a"] * 3, "", {"rows": 2}, "more than 2 pages", marks=pytest.mark.slow),
        pytest.param(["abcdef"], "", {"characters": 5}, "more than 5 characters", marks=pytest.mark.slow),
        pytest.param(["a"], "", {"seconds": 0.001}, "takes too long", marks=pytest.mark.slow),
        pytest.param(["a" * 90_000_000], "", None, "too much memory|more text", marks=pytest.mark.slow),
    ],
)
def test_a_pdf_that_is_not_taken_says_what_to_do(tmp_path, monkeypatch, pages, password, limit, message):
    if limit:
        monkeypatch.setitem(documents.LIMITS, ".pdf", replace(documents.LIMITS[".pdf"], **limit))
    with pytest.raises(dpt.InputError, match=f"(?i){message}"):
        tables.source(portable(tmp_path / "a.pdf", *pages, password=password), ("text",))


def test_a_pdf_stops_at_the_first_row_that_is_too_many(tmp_path):
    with pytest.raises(dpt.InputError, match="more than 1 rows"):
        tables.source(portable(tmp_path / "a.pdf", "a", "b", "c"), ("text",), most=1)


def test_without_its_library_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    monkeypatch.setattr(documents, "pdf_ready", lambda: False)
    with pytest.raises(dpt.InputError, match=r"pip install -r requirements-office\.txt"):
        tables.source(tmp_path / "a.pdf", ("text",))


# --- the process that reads -----------------------------------------------------------------------------------------


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Takes the place of what reads PDF files: says which process it is, writes so many rows, and waits."""
    path = tmp_path / "worker.py"
    monkeypatch.setitem(documents._WORKERS, ".pdf", path)
    monkeypatch.setattr(documents, "pdf_ready", lambda: True)
    (tmp_path / "a.pdf").write_bytes(b"")

    def write(rows: int) -> Path:
        tell = f"pathlib.Path({str(tmp_path / 'told')!r}).write_text(str(os.getpid()))"
        say = f"[print(json.dumps(['row', i, 'text'])) for i in range({rows})]"
        path.write_text(f"import json, os, pathlib, sys, time\n{tell}\n{say}\nsys.stdout.flush()\ntime.sleep(60)\n")
        return tmp_path / "a.pdf"

    return write


def is_over(told: Path) -> bool:
    try:
        os.kill(int(told.read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.slow
def test_a_document_whose_reader_left_is_read_no_more(tmp_path, monkeypatch, worker):
    path, task = worker(0), dpt.Task()
    begun = time.monotonic()
    threading.Timer(1, task.cancel).start()
    with pytest.raises(dpt.Cancelled):
        documents.read_document(path, task=task)
    assert time.monotonic() - begun < 10 and is_over(tmp_path / "told")
    monkeypatch.setitem(documents.LIMITS, ".pdf", replace(documents.LIMITS[".pdf"], seconds=0.5))
    with pytest.raises(dpt.InputError, match="takes too long"):
        documents.read_document(path)


def test_rows_are_taken_while_they_come_and_no_more_than_asked_for(tmp_path, worker):
    begun = time.monotonic()
    with pytest.raises(dpt.InputError, match="more than 50 rows"):
        documents.read_document(worker(100_000), most=50)
    assert time.monotonic() - begun < 30 and is_over(tmp_path / "told")


@pytest.mark.slow
def test_a_third_document_waits_and_can_be_stopped(worker):
    path, first = worker(0), [dpt.Task(), dpt.Task()]

    def reading(task: dpt.Task) -> None:
        with pytest.raises(dpt.Cancelled):
            documents.read_document(path, task=task)

    threads = [threading.Thread(target=reading, args=(task,)) for task in first]
    for thread in threads:
        thread.start()
    time.sleep(1)
    third = dpt.Task()
    threading.Timer(0.5, third.cancel).start()
    with pytest.raises(dpt.Cancelled):
        documents.read_document(path, task=third)
    for task in first:
        task.cancel()
    for thread in threads:
        thread.join(10)
    assert not any(t.is_alive() for t in threads) and documents._at_once._value == 2
