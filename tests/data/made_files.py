"""DOCX and PDF files for tests, written part by part."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

_TYPES = "http://schemas.openxmlformats.org"
NAMES = (
    f'xmlns:w="{_TYPES}/wordprocessingml/2006/main" xmlns:m="{_TYPES}/officeDocument/2006/math" '
    f'xmlns:mc="{_TYPES}/markup-compatibility/2006"'
)


def word(path: Path, body: str, head: str = "", main: str = "word/document.xml", **related: str) -> Path:
    """Write a DOCX file. related: by the kind of a part (header, footnotes …), what is in it."""
    folder, _, name = main.rpartition("/")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", relations(officeDocument=main))
        archive.writestr(main, f"{head}<w:document {NAMES}><w:body>{body}</w:body></w:document>")
        if related:
            archive.writestr(f"{folder}/_rels/{name}.rels", relations(**{k: f"{k}.xml" for k in related}))
        for kind, content in related.items():
            root = {"header": "hdr", "footer": "ftr"}.get(kind, kind)
            archive.writestr(f"{folder}/{kind}.xml", f"<w:{root} {NAMES}>{content}</w:{root}>")
    return path


def relations(**targets: str) -> str:
    each = "".join(
        f'<Relationship Id="r{i}" Type="{_TYPES}/officeDocument/2006/relationships/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets.items())
    )
    return f'<Relationships xmlns="{_TYPES}/package/2006/relationships">{each}</Relationships>'


def paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def portable(
    path: Path, *texts: str, password: str = "", owner: str = "", fields: dict[str, Any] | None = None
) -> Path:
    """Write a PDF file with a page for each text. owner: the password that lifts restrictions; fields: of a form on
    the first page, where True is a ticked box."""
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    named = pypdf.generic.NameObject
    for text in texts:
        page = writer.add_blank_page(300, 300)
        font = dictionary(Type="/Font", Subtype="/Type1", BaseFont="/Helvetica")
        page[named("/Resources")] = dictionary(Font=dictionary(F1=font))
        stream = pypdf.generic.DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode() if text else b"")
        page[named("/Contents")] = writer._add_object(stream)
    if fields:
        widgets = pypdf.generic.ArrayObject(writer._add_object(widget(n, v)) for n, v in fields.items())
        writer.pages[0][named("/Annots")] = widgets
        writer._root_object[named("/AcroForm")] = dictionary(Fields=widgets)
    if password or owner:
        writer.encrypt(password, owner or None, algorithm="RC4-128" if owner else None)
    out = io.BytesIO()
    writer.write(out)
    path.write_bytes(out.getvalue())
    return path


def widget(name: str, value: Any) -> Any:
    from pypdf.generic import ArrayObject, FloatObject, TextStringObject

    shared = dictionary(Type="/Annot", Subtype="/Widget", Rect=ArrayObject(FloatObject(x) for x in (0, 0, 9, 9)))
    kind = "/Btn" if isinstance(value, bool) else "/Tx"
    state = {"V": "/Yes" if value else "/Off", "AS": "/Yes" if value else "/Off"}
    shared.update(dictionary(FT=kind, T=TextStringObject(name), **(state if isinstance(value, bool) else {})))
    if isinstance(value, str):
        shared.update(dictionary(V=TextStringObject(value)))
    return shared


def dictionary(**items: Any) -> Any:
    from pypdf.generic import DictionaryObject, NameObject

    return DictionaryObject(
        {NameObject(f"/{k}"): NameObject(v) if type(v) is str and v.startswith("/") else v for k, v in items.items()}
    )
