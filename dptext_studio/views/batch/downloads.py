"""Downloads of a job: the release, the inspection file and the guarantee."""

from __future__ import annotations

import json

import streamlit as st

from dptext_core.data import release_files, tables
from dptext_studio.server import batch as core

from ...components import download, methods_panel
from ...components.sticky_widgets import stay

FORMATS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSONL", ".parquet": "Parquet", ".txt": "TXT: texts only"}


def download_boxes(batch: core.Batch, found: core.BatchSummary, done: bool) -> None:
    st.subheader("Downloads")
    left, middle, right = st.columns(3, gap="large")
    with left, st.container(border=True):
        st.markdown("**The release**")
        st.caption(
            "The rewrites and the columns that you kept. Share this file only; it counts as released in the ledger."
        )
        release_download(batch, "" if done else "so far")
    with middle, st.container(border=True):
        st.markdown("**The inspection file**")
        st.caption("Originals next to rewrites. It is private, and its name and each row say so.")
        key = stay("batch_inspection")
        suffix = st.selectbox("Format", release_files.INSPECTION, format_func=FORMATS.__getitem__, key=key)
        download.button(
            "Download, private",
            lambda: batch.inspection(suffix).read_bytes(),
            f"{batch.stem}-PRIVATE-with-originals{suffix}",
            "application/octet-stream",
            icon=":material/lock:",
            key="batch_private",
            on_click="ignore",
            width="stretch",
            holds="private",
            what=f"with originals, {FORMATS[suffix]}",
        )
    with right, st.container(border=True):
        st.markdown("**Guarantee**")
        st.caption("The guarantee for each row and for all rows, with mechanism and settings, as JSON.")
        download.button(
            "Download the guarantee",
            json.dumps(batch.guarantee_file(found), ensure_ascii=False, indent=1),
            f"{batch.stem}-guarantee.json",
            "application/json",
            icon=":material/receipt_long:",
            key="batch_promise",
            on_click="ignore",
            width="stretch",
            holds="promise",
            what="promise",
        )
    methods_panel.expander(lambda: [(batch.mechanism, ())], "batch_methods", polish=batch.request.polish)


def release_download(batch: core.Batch, how_far: str) -> None:
    suffix = st.selectbox("Format", release_files.RELEASE, format_func=FORMATS.__getitem__, key=stay("batch_release"))
    exact = False
    if suffix in tables.TABLES:
        exact = st.toggle(
            "Leave formulas in cells",
            key=stay("batch_exact"),
            help="A spreadsheet runs cells that begin with =, +, - or @, so they get an apostrophe. Turn this on "
                 "for programs: cells are exported exactly, without a byte-order mark.",
        )
    download.button(
        "Download" + (f" {how_far}" if how_far else ""),
        lambda: batch.release(suffix, exact).read_bytes(),
        f"{batch.stem}-release{suffix}",
        "application/octet-stream",
        icon=":material/download:",
        key="batch_download",
        on_click="ignore",
        type="primary",
        width="stretch",
        holds="rewrite",
        what=f"release, {FORMATS[suffix]}",
        release=lambda book: book.record_rows(batch.mechanism, batch.row_guarantees(), batch.noise_id, released=True),
    )
