"""Batch: a table of texts rewritten row by row: ten rows for a look, then all of them, and what they come to."""

from __future__ import annotations

import streamlit as st

from ...components.shell import within_app
from ...components.text import literal
from ...server.session import session
from .data_choice import choose_data
from .job import job_view
from .setup import file_setup

#: Long words of a cell are broken.
STYLE = "<style>[class*='st-key-batch_pairs'] td {overflow-wrap: anywhere; vertical-align: top; width: 50%} "
STYLE += "[class*='st-key-batch_pairs'] td:first-child {width: auto; overflow-wrap: normal}</style>"


def main() -> None:
    st.markdown("## Batch")
    st.html(STYLE)
    st.caption("Rewrite a whole table of texts, row by row. Look at ten rows first, then do all of them.")
    mine = session()
    if mine.batch_error:
        st.error(literal(mine.batch_error))
        mine.batch_error = ""
    upload = mine.upload
    if upload is not None and not upload.folder.is_dir():
        mine.upload = upload = None
        st.warning("This job is over: its files were deleted.")
    if upload is None:
        choose_data()
    elif upload.batch is None:
        file_setup(upload)
    else:
        job_view(upload, upload.batch)


def render() -> None:
    """Draw the page."""
    within_app("batch")
    main()
