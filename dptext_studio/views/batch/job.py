"""A running or finished job: its progress, its code, and how to resume it."""

from __future__ import annotations

import time

import streamlit as st

import dptext_core as dpt
from dptext_core.support.checks import pluralize
from dptext_studio.server import batch as core

from ...components import ledger
from ...components.text import literal
from ...server.jobs import Job, duration_text
from ...server.session import session
from ...server.uploads import Upload, results_reader
from .data_choice import leave_job
from .downloads import release_download
from .results import results_view


def job_view(upload: Upload, batch: core.Batch) -> None:
    """Show a running job, or its results."""
    mine = session()
    work = mine.at("batch_all")
    top, away = st.columns([4, 1], vertical_alignment="center")
    rows = pluralize(upload.count, "row")
    top.markdown(f"**{literal(upload.file)}** · {rows} · {literal(str(batch.mechanism.title))}")
    if upload.code:
        away.button("Another file", key="batch_away", on_click=leave_job, icon=":material/close:", width="stretch")
        code_box(upload)
    else:
        with away.popover("Another file", icon=":material/close:", width="stretch"):
            st.markdown("This stops the current work and deletes your file and all results.")
            st.button("Delete and restart", key="batch_away", on_click=leave_job, icon=":material/delete:")
    if work.is_running():
        running = work.job
        work.show_progress("batch_stop", lambda: progress_text(running) if running else "")
        if batch.mechanism.shares_draws:
            st.caption("This strategy reads all rows before it rewrites the first one.")
        else:
            with st.columns([1, 1.5])[0]:
                st.caption("You can download the finished rows while the job continues.")
                release_download(batch, "so far")
        return
    if work.error is not None and work.result is None:
        said = work.failure_text(
            f"Stopped after {batch.written:,} of {rows}. The finished rows are complete."
        )
        (st.warning if isinstance(work.error, dpt.Cancelled) else st.error)(literal(said))
        # Finished rows remain viewable: reading them replaces the stopped task.
        ended = mine.at("batch_found")
        if ended.request is not work.error:
            ended.start(work.error, results_reader(batch), "Reading the results")
        if ended.is_running():
            ended.show_progress("batch_found_stop")
            return
        summary = ended.result
    else:
        summary = work.result
    done = batch.done
    if not done:
        resume_controls(upload, batch)
    if summary is not None and summary.rows:
        results_view(batch, summary, done)
    code_snippets(batch.request)
    with st.expander("Ledger: what was released", key="batch_ledger", on_change="rerun") as book:
        if book.open:
            ledger.panel(mine.ledger)


def progress_text(running: Job) -> str:
    done, of = running.counts
    if not of:
        return f"{running.label} …"
    if done >= of:
        return f"{pluralize(of, 'row')} written. Computing the guarantee and the changes …"
    left = running.seconds_left
    return f"{done:,} of {pluralize(of, 'row')}" + (f" · about {duration_text(left)} left" if left is not None else "")


def code_box(upload: Upload) -> None:
    """Show the code of a kept job, its expiry, and a button to delete it now."""
    with st.container(border=True):
        left, right = st.columns([4, 1], vertical_alignment="center")
        with left:
            st.markdown("**Your job code.** It is not stored, so copy it now.")
            st.code(upload.code, language=None)
            st.caption(
                "Enter it on this page in any browser to return. The file and results are deleted on "
                f"{time.strftime('%d %B at %H:%M', time.gmtime(upload.expires))} (UTC)."
            )
        right.button(
            "Delete now",
            key="batch_delete",
            on_click=leave_job,
            args=(True,),
            icon=":material/delete:",
            width="stretch",
            help="This stops the job and deletes your file and all results from this server.",
        )


def resume_controls(upload: Upload, batch: core.Batch) -> None:
    """Offer to resume a stopped job, or to restart it if its draws cover all rows together."""
    if session().at("batch_all").error is None:  # opened with its code
        st.caption(f"Done: {batch.written:,} of {pluralize(upload.count, 'row')}.")
    if batch.mechanism.shares_draws and batch.written:
        st.info(
            "This strategy draws for all rows together, and its random key was deleted when the job stopped. The job "
            "cannot resume. If you start from scratch, do not also release the earlier rows."
        )
        if st.button("Start from scratch", key="batch_anew"):
            batch.forget_run()
            upload.rewrite(session().at("batch_all"), "Rewriting")
            st.rerun()
    elif st.button("Resume", type="primary", key="batch_on", help="Finished rows are not rewritten again."):
        upload.rewrite(session().at("batch_all"), "Rewriting")
        st.rerun()


def code_snippets(asked: core.BatchRequest) -> None:
    with st.expander("The same from the command line and from Python"):
        st.caption("Run it in the folder of your file. A stopped command resumes where it stopped.")
        st.code(core.command(asked), language="sh", wrap_lines=True)
        st.code(core.snippet(asked), language="python", wrap_lines=True)
