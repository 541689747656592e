"""Setup of a file: its column, mechanism and settings, and a preview of its first rows."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.data import tables
from dptext_core.support.checks import pluralize
from dptext_studio.server import batch as core
from dptext_studio.server import job_folders

from ...components import controls
from ...components.sticky_widgets import stay, stay_all
from ...components.text import literal
from ...figures.glossary import NO_EPSILON, definition
from ...server.public_hosting import limits
from ...server.session import session
from ...server.uploads import Upload
from .data_choice import error_text, leave_job
from .rows import number_list, pair_table, shortened_cell

#: Up to this many seconds, the first rows are rewritten whenever a setting changes.
QUICK = 2.0
#: Up to this many rows, the guarantee of all of them is computed without a request.
FORECAST_AT_ONCE = 20_000


def file_setup(upload: Upload) -> None:
    """Show the content of the file, its settings, and ten rewritten rows."""
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        head = st.container()
        header = True
        if upload.path.suffix.lower() in tables.TABLES:
            header = st.toggle(
                "The first row names the columns",
                value=True,
                key=stay(f"batch_header_{upload.folder.name}", True),
                help="Turn this off if the first row already contains data.",
            )
        work = session().at("batch_read")
        if work.request != (upload.folder, header):
            path = upload.path
            most, wide = limits().rows, limits().columns
            work.start(
                (upload.folder, header),
                lambda task: core.look(path, header, most=most, wide=wide, task=task),
                "Reading the file",
            )
        if work.is_running():
            upload.look = None
        elif work.result is not None:
            upload.look, upload.count = work.result, work.result.count
        rows = f" · {pluralize(upload.count, 'row')}" if upload.look else ""
        if upload.look and upload.look.unread:
            rows += f", {upload.look.unread:,} broken"
        head.markdown(f"**{literal(upload.file)}**{rows}")
        if upload.look and upload.look.unread:
            head.caption("A broken row produces an error message. The other rows are rewritten.")
        for note in upload.look.notes if upload.look else ():
            head.caption(literal(note.sentence()))
        head.button("Another file", key="batch_other", on_click=leave_job, icon=":material/close:")
        asked = settings_controls(upload, upload.look, header) if upload.look else None
    with right:
        if work.job is not None:
            work.show_progress("batch_read_stop")
        elif said := work.failure_text("Stopped. Choose the file again."):
            st.error(literal(said))
        elif upload.look is not None:
            first_rows(upload, upload.look, asked)


def _mechanism_control() -> dpt.MechanismSpec:
    """Show the mechanisms. A table is long, so the first choice is a fast one."""
    specs = {s.name: s for s in dpt.mechanisms()}
    first = next((n for n in specs if not dpt.mechanism_class(n).slow_to_prepare), next(iter(specs)))
    name = st.selectbox(
        "Mechanism",
        list(specs),
        list(specs).index(first),
        format_func=lambda n: specs[n].title,
        key=stay("batch_mechanism", first),
    )
    return specs[name]


def settings_controls(upload: Upload, look: core.FilePreview, header: bool) -> core.BatchRequest | None:
    """Show column, mechanism and settings, and return them; None if they are invalid together."""
    key = f"{upload.folder.name}_{header}"
    column = st.selectbox(
        "Column to rewrite",
        look.columns,
        look.columns.index(look.longest()),
        format_func=column_title(header),
        key=stay(f"batch_column_{key}", look.longest()),
    )
    keep = st.multiselect(
        "Columns to keep as they are",
        [c for c in look.columns if c != column],
        key=stay(f"batch_keep_{key}_{column}"),
        format_func=column_title(header),
        placeholder="None: export rewrites only",
    )
    if keep:
        st.warning("Nothing protects the columns that you keep. A name or a date in them can reveal who wrote the row.")
    spec = _mechanism_control()
    st.caption(spec.summary)
    budget = st.container()
    stay_all("batch-")
    controls.begin_batch(spec, "batch")
    chosen = controls.options(spec, "batch")
    chosen["epsilon"] = default = float(dpt.mechanism_class(spec.name).epsilon_range(chosen)[2])
    if dpt.mechanism_class(spec.name).uses_epsilon:
        chosen["epsilon"] = budget.number_input(
            "Privacy budget ε of one draw",
            min_value=0.001,
            max_value=dpt.MAX_EPSILON,
            value=default,
            format="%g",
            key=stay(f"batch-epsilon-{spec.name}-{default:g}", default),
            help=definition("ε"),
        )
    else:
        budget.caption(NO_EPSILON)
    polish = st.toggle(
        "Clean up the texts",
        key=stay("batch_polish", False),
        help="The bundled language model rewrites the output as more fluent text. It reads only the output, so this "
             "spends no ε, but it may restore words that an attacker could have guessed anyway.",
    )
    asked = core.BatchRequest(upload.file, column, header, tuple(keep), dpt.Setting.of(spec.name, **chosen), polish)
    try:
        asked.setting.make()
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return None
    return asked


def column_title(header: bool) -> Any:
    return (lambda c: c) if header else (lambda c: f"Column {c}")


def first_rows(upload: Upload, look: core.FilePreview, asked: core.BatchRequest | None) -> None:
    """Show ten rewritten rows, which enable the full run. They follow the settings if that is fast."""
    work = session().at("batch_first")
    n = min(core.FIRST, look.count)
    mine = work.request is not None and work.request[0] == upload.folder
    wanted = (upload.folder, asked)
    done = work.request == wanted and work.error is None
    if asked is not None and work.request != wanted and follows_settings(upload, asked):
        rewrite_first_rows(upload, asked)
    elif not done:
        label = f"Rewrite {n} rows" if n > 1 else "Rewrite one row"
        st.button(
            label,
            type="primary",
            key="batch_ten",
            disabled=asked is None,
            on_click=rewrite_first_rows,
            args=(upload, asked),
        )
    if work.is_running():
        work.show_progress("batch_ten_stop")
        return
    if said := work.failure_text("Stopped."):
        st.error(literal(said))
    if work.result is None or not (mine or work.request == wanted) or asked is None:
        st.caption("The first rows of the file. Nothing is rewritten yet.")
        st.dataframe(
            [{k: shortened_cell(v) for k, v in row.items()} for row in look.rows], hide_index=True, key="batch_look"
        )
        return
    pair_table(work.result, "batch_pairs")
    if work.request != wanted:
        st.info("The settings have changed. Rewrite the first rows again to see the effect.")
        return
    st.caption(
        "These rows are a private preview. The job below rewrites all rows with fresh noise: release only its result."
    )
    all_rows_button(upload, look, asked)


def follows_settings(upload: Upload, asked: core.BatchRequest) -> bool:
    """Return True if the preview follows the settings: if it was fast with this mechanism, or is expected to be."""
    took = upload.took.get(asked.mechanism)
    return took < QUICK if took is not None else not dpt.mechanism_class(asked.mechanism).slow_to_prepare


def rewrite_first_rows(upload: Upload, asked: core.BatchRequest | None) -> None:
    """Rewrite the first rows, and replace a running rewrite of them."""
    if asked is None:
        return
    batch = core.Batch(upload.folder, asked, limits().row)

    def work(task: dpt.Task):
        begun, ready = time.monotonic(), asked.setting.make().model_ready
        pairs = batch.first(task=task)
        if ready:  # a model is loaded once
            upload.took[asked.mechanism] = time.monotonic() - begun
        return pairs

    session().at("batch_first").start((upload.folder, asked), work, "Rewriting")


def all_rows_button(upload: Upload, look: core.FilePreview, asked: core.BatchRequest) -> None:
    """Show the button that rewrites all rows, and whether the job may outlive the session."""
    with st.container(border=True):
        forecast_view(upload, look, asked)
        keep = limits().keeps and st.toggle(f"Keep this job for {job_folders.HOURS} hours", key=stay("batch_stay"))
        if keep:
            st.caption(
                "The job continues when you close this page or lose the connection. You get a code to reopen it. "
                "Anyone with the code can see the results, so keep it secret. The server stores your original texts "
                f"and the rewrites, and its owner can read them. Everything is deleted {job_folders.HOURS} hours from "
                "now (or at the first visit after a restart), or immediately when you press “Delete now”."
            )
        else:
            st.caption("The job stops when you close or reload this page. Your file and its results are then deleted.")
        if st.button("Rewrite all rows", type="primary", key="batch_start", width="stretch"):
            start_job(upload, asked, keep)


def forecast_view(upload: Upload, look: core.FilePreview, asked: core.BatchRequest) -> None:
    """Show the guarantee of a rewrite of all rows before it begins."""
    work, wanted = session().at("batch_before"), (upload.folder, asked.column, asked.header, asked.setting)
    st.markdown("**Guarantee of the result**")
    if work.request != wanted:
        work.stop()
        ask = look.count > FORECAST_AT_ONCE
        if ask and not st.button("Compute the guarantee", key="batch_forecast"):
            return
        batch = core.Batch(upload.folder, asked, limits().row)
        work.start(wanted, batch.forecast, "Computing the guarantee", last=True)
    if work.is_running():
        work.show_progress("batch_before_stop")
        return
    if said := work.failure_text("Stopped."):
        st.caption(literal(said))
        return
    forecast = work.result
    if forecast is None:
        st.caption("With these settings, the total is known only after the run.")
        return
    promise = forecast.guarantee
    if promise.rows:
        (st.warning if promise.notions.get("none") else st.info)(literal(promise.sentence()))
    if n := forecast.uncovered:
        rows = f"In row{'s' * (n > 1)} {number_list(forecast.named, n)}"
        st.warning(
            f"{rows}, no word is sampled, so the guarantee covers nothing. Flagged words and words outside the "
            "vocabulary may still be replaced there."
        )
    if forecast.failing:
        st.caption(f"{pluralize(forecast.failing, 'row')} cannot be rewritten and will be empty in the release.")


def start_job(upload: Upload, asked: core.BatchRequest, keep: bool) -> None:
    mine = session()
    try:
        if keep:
            upload.keep(asked)
    except (dpt.DPTextError, OSError) as error:
        st.error(literal(error_text(error)))
        return
    upload.batch = core.Batch(upload.folder, asked, limits().row)
    for place in ("batch_first", "batch_before"):
        mine.at(place).stop()
        mine.at(place).request = mine.at(place).result = None
    upload.rewrite(mine.at("batch_all"), "Rewriting")
    st.rerun()
