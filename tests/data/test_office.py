"""Paragraphs of DOCX files and pages of PDF files, and what is refused of both."""

from __future__ import annotations

import io
import os
import threading
import time
import zipfile
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.data import office, tables

SECRET = "qzkvoltar"
NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)


def word(path: Path, body: str, head: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f"{head}<w:document {NAMES}><w:body>{body}</w:body></w:document>")
    return path


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def portable(path: Path, *texts: str, password: str = "") -> Path:
    """A PDF file with a page for each text."""
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    generic = pypdf.generic
    for text in texts:
        page = writer.add_blank_page(300, 300)
        font = generic.DictionaryObject()
        for key, value in (("Type", "Font"), ("Subtype", "Type1"), ("BaseFont", "Helvetica")):
            font[generic.NameObject(f"/{key}")] = generic.NameObject(f"/{value}")
        fonts = generic.DictionaryObject({generic.NameObject("/F1"): font})
        page[generic.NameObject("/Resources")] = generic.DictionaryObject({generic.NameObject("/Font"): fonts})
        stream = generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[generic.NameObject("/Contents")] = writer._add_object(stream)
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    path.write_bytes(out.getvalue())
    return path


def test_paragraphs_of_text_and_tables_are_rows_and_nothing_comes_twice(tmp_path):
    twice = (
        f"<mc:AlternateContent><mc:Choice>{paragraph('box')}</mc:Choice><mc:Fallback>{paragraph('box')}</mc:Fallback>"
    )
    runs = "<w:r><w:t>My doc</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    runs += "<w:r><w:t>tor</w:t><w:tab/><w:t>&amp; I</w:t><w:br/></w:r>"
    body = f"<w:p>{runs}</w:p>{paragraph(' ')}<w:tbl><w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
    body += f"<w:p><w:r>{twice}</mc:AlternateContent></w:r><w:r><w:t>after</w:t></w:r></w:p>"
    data = tables.source(word(tmp_path / "a.docx", body), ("text", "paragraph"))
    texts = ["My doctor\t& I", "cell", "box", "after"]
    assert list(data.rows()) == [{"text": t, "paragraph": i} for i, t in enumerate(texts, 1)] and data.count == 4


def bomb(path: Path) -> Path:
    """Entities of entities."""
    lines = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))
    return word(path, paragraph("&a8;"), f'<!DOCTYPE x [<!ENTITY a0 "{SECRET}">{lines}]>')


def cut(path: Path) -> Path:
    whole = word(path, paragraph(SECRET) * 500).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def other(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", SECRET)
    return path


def moved(path: Path) -> Path:
    """Cut off at its beginning: its list says that a part begins before the file."""
    path.write_bytes(word(path, paragraph(SECRET)).read_bytes()[1:])
    return path


def packed(path: Path) -> Path:
    """Eight hundred bytes or so, of which a few unfold to all of it at once."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("word/document.xml", f"<w:document {NAMES}><w:body>{paragraph(SECRET)}</w:body></w:document>")
    return path


def nested(path: Path) -> Path:
    return word(path, "<a>" * 1500 + "</a>" * 1500 + paragraph(SECRET))


def endless(path: Path) -> Path:
    """A tag that does not end."""
    return word(path, f'<a b="{"x" * (2 << 20)}"/>{paragraph(SECRET)}')


def naming(path: Path) -> Path:
    return word(path, "".join(f"<a{i}/>" for i in range(12_000)) + paragraph(SECRET))


@pytest.mark.parametrize("made", [bomb, cut, other, moved, packed, nested, endless, naming])
def test_what_no_word_processor_wrote_is_refused_and_not_quoted(tmp_path, made):
    with pytest.raises(dpt.InputError, match="no whole DOCX file") as stop:
        tables.source(made(tmp_path / "a.docx"), ("text",))
    assert SECRET not in str(stop.value)


def test_a_small_file_that_unfolds_to_a_huge_one_is_refused(tmp_path, monkeypatch):
    path = word(tmp_path / "a.docx", paragraph("a" * 3_000_000))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(office, "CHARACTERS", 1_000_000)
    with pytest.raises(dpt.InputError, match="more text than 1,000,000 characters"):
        tables.source(path, ("text",))
    monkeypatch.setattr(office, "UNFOLDED", 1 << 20)
    with pytest.raises(dpt.InputError, match="unfolds to more than 1 MB"):
        tables.source(word(tmp_path / "b.docx", "<w:sectPr/>" * 200_000), ("text",))


def test_pages_of_a_pdf_are_rows(tmp_path):
    data = tables.source(portable(tmp_path / "a.pdf", "My doctor is ill.", "", "The nurse."), ("text", "page"))
    assert list(data.rows()) == [{"text": "My doctor is ill.", "page": 1}, {"text": "The nurse.", "page": 3}]


@pytest.mark.parametrize(
    ("texts", "password", "limit", "message"),
    [
        pytest.param(["", ""], "", None, "let a program for text recognition", marks=pytest.mark.slow),
        (["a"], "secret", None, "locked with a password"),
        pytest.param(["a"] * 3, "", ("PAGES", 2), "more than 2 pages", marks=pytest.mark.slow),
        pytest.param(["abcdef"], "", ("CHARACTERS", 5), "more text than 5 characters", marks=pytest.mark.slow),
        pytest.param(["a"], "", ("SECONDS", 0.001), "takes too long", marks=pytest.mark.slow),
    ],
)
def test_a_pdf_that_is_not_taken_says_what_to_do(tmp_path, monkeypatch, texts, password, limit, message):
    if limit:
        monkeypatch.setattr(office, *limit)
    with pytest.raises(dpt.InputError, match=f"(?i){message}"):
        tables.source(portable(tmp_path / "a.pdf", *texts, password=password), ("text",))


def test_without_its_library_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    monkeypatch.setattr(office, "ready", lambda: False)
    with pytest.raises(dpt.InputError, match=r"pip install -r requirements-office\.txt"):
        tables.source(tmp_path / "a.pdf", ("text",))


@pytest.mark.slow
def test_a_pdf_whose_reader_was_left_is_read_no_further(tmp_path, monkeypatch):
    path, told = tmp_path / "a.pdf", tmp_path / "told"
    path.write_bytes(b"")
    worker = tmp_path / "worker.py"
    tell = f"pathlib.Path({str(told)!r}).write_text(str(os.getpid()))"
    worker.write_text(f"import os, pathlib, time\n{tell}\ntime.sleep(60)\n")
    monkeypatch.setattr(office, "WORKER", worker)
    monkeypatch.setattr(office, "ready", lambda: True)
    task = dpt.Task()
    begun = time.monotonic()
    threading.Timer(1, task.cancel).start()
    with pytest.raises(dpt.Cancelled):
        list(office.pdf(path, task))
    assert time.monotonic() - begun < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
    monkeypatch.setattr(office, "SECONDS", 0.5)
    with pytest.raises(dpt.InputError, match="takes too long"):
        list(office.pdf(path))
