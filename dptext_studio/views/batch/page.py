"""Batch: rewrite a table of texts row by row, with a preview of ten rows before the full run."""

from __future__ import annotations

import streamlit as st

from ...components.shell import enter_app
from ...components.style import add_style
from ...components.text import literal
from ...server.session import session
from .data_choice import choose_data
from .job import job_view
from .setup import file_setup


def main() -> None:
    st.markdown("## Batch")
    add_style(__file__, "page.css")
    st.caption("Rewrite a whole table of texts, row by row. Preview ten rows first, then rewrite all of them.")
    mine = session()
    if mine.batch_error:
        st.error(literal(mine.batch_error))
        mine.batch_error = ""
    upload = mine.upload
    if upload is not None and not upload.folder.is_dir():
        mine.upload = upload = None
        st.warning("This job has ended and its files were deleted. Choose a file.")
    if upload is None:
        choose_data()
    elif upload.batch is None:
        file_setup(upload)
    else:
        job_view(upload, upload.batch)


def render() -> None:
    """Draw the page."""
    enter_app("batch")
    main()
