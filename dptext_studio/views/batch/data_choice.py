"""Choose data: upload a file, take the example, or open a kept job."""

from __future__ import annotations

import streamlit as st

import dptext_core as dpt
from dptext_core.data import documents
from dptext_studio.server import batch as core

from ...server.public_hosting import limits
from ...server.session import session
from ...server.uploads import open_upload, store_upload


def choose_data() -> None:
    """Show the ways to begin: upload a file, take the example, or open a kept job."""
    mine = session()
    left, right = st.columns([1.6, 1], gap="large")
    with left:
        sent = st.file_uploader(
            "A file with a text in each row",
            type=[k[1:] for k in limits().kinds],
            max_upload_size=limits().upload,
            key=f"batch_upload_{mine.uploads}",
        )
        example = st.button("Use an example", key="batch_example")
        tables_taken = "CSV, TSV, JSONL or Parquet" if ".parquet" in limits().kinds else "CSV, TSV or JSONL"
        rows = f" and {limits().rows:,} rows" if limits().rows else ""
        st.caption(
            f"{tables_taken}: choose the column with the text. TXT: each line is a row. DOCX: each paragraph. PDF: "
            f"each page. At most {limits().upload} MB{rows}; the command line takes more."
        )
        if not documents.pdf_ready():
            st.caption(f"This server cannot read PDF files. Its owner can install support: `{documents.INSTALL}`")
    if limits().keeps:
        with right, st.container(border=True):
            st.markdown("**Resume a job**")
            code = st.text_input("Job code", key="batch_code", help="You received it when you chose to keep a job.")
            if st.button("Open the job", key="batch_open", width="stretch"):
                open_kept(code)
    unless = ", unless you ask to keep the job" if limits().keeps else ""
    st.caption(
        "Your file is stored in a separate folder that only the server's owner can read. It is deleted with all "
        f"results within two minutes after you close this page{unless}. Its contents are never logged or sent "
        "anywhere."
    )
    if sent is not None or example:
        name, data = (sent.name, sent.getvalue()) if sent is not None else ("example.csv", core.example())
        # A new key makes the browser forget its copy of the file.
        mine.uploads += 1
        accept_file(name, data)


def accept_file(name: str, data: bytes) -> None:
    mine = session()
    try:
        mine.upload = store_upload(name, data)
    except (dpt.DPTextError, OSError) as error:
        mine.batch_error = error_text(error)
    st.rerun()


def error_text(error: Exception) -> str:
    if isinstance(error, dpt.DPTextError):
        return str(error)
    return "The server could not store the file. Try again later, or use the command line."


def open_kept(code: str) -> None:
    mine = session()
    if not code.strip():
        mine.batch_error = "Enter the job code first."
    else:
        try:
            mine.upload = open_upload(code, mine.at("batch_all"), "Reading the results")
        except dpt.DPTextError as error:
            mine.batch_error = str(error)
    st.rerun()


def leave_job(delete: bool = False) -> None:
    """Return to the beginning. Kept jobs remain, unless they must be deleted."""
    mine = session()
    upload, mine.upload = mine.upload, None
    for place in ("batch_read", "batch_first", "batch_before", "batch_measure"):
        mine.at(place).stop()
    work = mine.at("batch_all")
    if upload is not None and upload.code and not delete:
        work.job = None  # it continues
    work.stop()
    work.request = work.result = work.error = None
    if upload is not None:
        upload.delete() if delete else upload.forget()
