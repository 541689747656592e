"""Batch: a table of texts rewritten row by row: ten rows for a look, then all of them, and what they come to."""

from __future__ import annotations

import json
import time
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.data import documents, release_files, tables
from dptext_core.measure.metrics.registry import measure
from dptext_core.text.visible import count_removed, removed_note

from ...components import controls, download, ledger, links, standing
from ...components.shell import within_app
from ...components.sticky_widgets import stay, stay_all
from ...components.text import literal
from ...figures.glossary import said_of
from ...server import batch as core
from ...server import job_folders
from ...server.jobs import Job, lasting
from ...server.public import limits
from ...server.session import session
from ...server.uploads import Upload, finder, opened, taken

#: Rows of results on the screen at a time, and characters of a cell.
PAGE, CELL = 20, 1000
#: Long words of a cell are broken.
STYLE = "<style>[class*='st-key-batch_pairs'] td {overflow-wrap: anywhere; vertical-align: top; width: 50%} "
STYLE += "[class*='st-key-batch_pairs'] td:first-child {width: auto; overflow-wrap: normal}</style>"
#: Seconds up to which the first rows are rewritten whenever a setting changes.
QUICK = 2.0
FORMATS = {".csv": "CSV", ".tsv": "TSV", ".jsonl": "JSONL", ".parquet": "Parquet", ".txt": "TXT: texts alone"}

state = st.session_state


# --- choosing data --------------------------------------------------------------------------------------------------


def begin() -> None:
    """No data yet: upload a file, take the example, or open a kept job."""
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
            st.caption(f"PDF files cannot be read on this server. Its owner can add this: `{documents.INSTALL}`")
    if limits().keeps:
        with right, st.container(border=True):
            st.markdown("**Come back to a job**")
            code = st.text_input("Job code", key="batch_code", help="You got it when you asked to keep a job.")
            if st.button("Open the job", key="batch_open", width="stretch"):
                open_kept(code)
    unless = ", unless you ask to keep the job" if limits().keeps else ""
    st.caption(
        "Your file lies in a folder of its own on this server, which only the server's owner can read. It is deleted "
        f"with all results within two minutes after you close this page{unless}. Nothing in it is logged or sent "
        "anywhere."
    )
    if sent is not None or example:
        name, data = (sent.name, sent.getvalue()) if sent is not None else ("example.csv", core.example())
        # Another key makes the browser's copy of the file be forgotten.
        mine.uploads += 1
        take(name, data)


def take(name: str, data: bytes) -> None:
    mine = session()
    try:
        mine.upload = taken(name, data)
    except (dpt.DPTextError, OSError) as error:
        mine.batch_error = told_of(error)
    st.rerun()


def told_of(error: Exception) -> str:
    if isinstance(error, dpt.DPTextError):
        return str(error)
    return "The server could not store the file. Try again later, or use the command line."


def open_kept(code: str) -> None:
    mine = session()
    if not code.strip():
        mine.batch_error = "Type the code of the job first."
    else:
        try:
            mine.upload = opened(code, mine.at("batch_all"), "Reading the results")
        except dpt.DPTextError as error:
            mine.batch_error = str(error)
    st.rerun()


def leave(delete: bool = False) -> None:
    """Back to the beginning. What is kept stays, unless it is to be deleted."""
    mine = session()
    upload, mine.upload = mine.upload, None
    for place in ("batch_read", "batch_first", "batch_measure"):
        mine.at(place).stop()
    work = mine.at("batch_all")
    if upload is not None and upload.code and not delete:
        work.job = None  # it goes on
    work.stop()
    work.asked = work.result = work.error = None
    if upload is not None:
        upload.delete() if delete else upload.forget()


# --- one file -------------------------------------------------------------------------------------------------------


def setup(upload: Upload) -> None:
    """What is in the file, what is to be done with it, and ten rows of that."""
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        head = st.container()
        header = True
        if upload.path.suffix.lower() in tables.TABLES:
            header = st.toggle(
                "The first row names the columns",
                value=True,
                key=stay(f"batch_header_{upload.folder.name}", True),
                help="Turn this off where the first row is data already.",
            )
        work = session().at("batch_read")
        if work.asked != (upload.folder, header):
            path = upload.path
            most, wide = limits().rows, limits().columns
            work.start(
                (upload.folder, header),
                lambda task: core.look(path, header, most=most, wide=wide, task=task),
                "Reading the file",
            )
        if work.running():
            upload.look = None
        elif work.result is not None:
            upload.look, upload.count = work.result, work.result.count
        rows = f" · {upload.count:,} rows" if upload.look else ""
        if upload.look and upload.look.unread:
            rows += f", {upload.look.unread:,} broken"
        head.markdown(f"**{literal(upload.file)}**{rows}")
        if upload.look and upload.look.unread:
            head.caption("A broken row comes out as an error that says what is wrong. The others are rewritten.")
        for note in upload.look.notes if upload.look else ():
            head.caption(literal(note.sentence()))
        head.button("Another file", key="batch_other", on_click=leave, icon=":material/close:")
        asked = choices(upload, upload.look, header) if upload.look else None
    with right:
        if work.job is not None:
            work.waiting("batch_read_stop")
        elif said := work.said("Stopped. Choose the file again."):
            st.error(literal(said))
        elif upload.look is not None:
            ten(upload, upload.look, asked)


def choices(upload: Upload, look: core.Look, header: bool) -> core.Asked | None:
    """Column, mechanism and settings; None where they do not fit together."""
    key = f"{upload.folder.name}_{header}"
    column = st.selectbox(
        "Column to rewrite",
        look.columns,
        look.columns.index(look.longest()),
        format_func=named(header),
        key=stay(f"batch_column_{key}", look.longest()),
    )
    keep = st.multiselect(
        "Columns to keep as they are",
        [c for c in look.columns if c != column],
        key=stay(f"batch_keep_{key}_{column}"),
        format_func=named(header),
        placeholder="None: only the rewrites leave",
    )
    if keep:
        st.warning("Nothing protects the columns that you keep. A name or a date in them tells who wrote the row.")
    specs = {s.name: s for s in dpt.mechanisms()}
    # A table is long: begin with a mechanism that is quick.
    first = next((n for n in specs if not dpt.mechanism_class(n).slow_to_prepare), next(iter(specs)))
    spec = specs[
        st.selectbox(
            "Mechanism",
            list(specs),
            list(specs).index(first),
            format_func=lambda n: specs[n].title,
            key=stay("batch_mechanism", first),
        )
    ]
    st.caption(spec.summary)
    budget = st.container()
    stay_all("batch-")
    chosen = controls.options(spec, "batch")
    default = dpt.mechanism_class(spec.name).epsilon_range(chosen)[2]
    chosen["epsilon"] = budget.number_input(
        "Privacy budget ε of one draw",
        min_value=0.001,
        max_value=dpt.MAX_EPSILON,
        value=float(default),
        format="%g",
        key=stay(f"batch-epsilon-{spec.name}-{default:g}", float(default)),
        help=said_of("ε"),
    )
    polish = st.toggle(
        "Polish the texts",
        key=stay("batch_polish", False),
        help="What was drawn is read again with the bundled language model, and written out as it would most likely "
        "be. Nothing private is looked at, so that this spends no ε: the promise is the same. It may bring back what "
        "an attacker who reads the release would have found. What was drawn stays in the run.",
    )
    asked = core.Asked(upload.file, column, header, tuple(keep), dpt.Setting.of(spec.name, **chosen), polish)
    try:
        asked.setting.make()
    except dpt.DPTextError as error:
        st.error(literal(str(error)))
        return None
    return asked


def named(header: bool) -> Any:
    return (lambda c: c) if header else (lambda c: f"Column {c}")


def ten(upload: Upload, look: core.Look, asked: core.Asked | None) -> None:
    """Ten rows rewritten for a look; then all of them can be. They follow the settings where that is quick."""
    work = session().at("batch_first")
    n = min(core.FIRST, look.count)
    mine = work.asked is not None and work.asked[0] == upload.folder
    wanted = (upload.folder, asked)
    done = work.asked == wanted and work.error is None
    if asked is not None and work.asked != wanted and quick(upload, asked):
        first(upload, asked)
    elif not done:
        label = f"Rewrite the first {n} rows" if n > 1 else "Rewrite the row"
        st.button(
            label,
            type="primary",
            key="batch_ten",
            disabled=asked is None,
            on_click=first,
            args=(upload, asked),
        )
    if work.running():
        work.waiting("batch_ten_stop")
        return
    if said := work.said("Stopped."):
        st.error(literal(said))
    if work.result is None or not (mine or work.asked == wanted) or asked is None:
        st.caption("The first rows of the file. Nothing is rewritten yet.")
        st.dataframe([{k: short(v) for k, v in row.items()} for row in look.rows], hide_index=True, key="batch_look")
        return
    pairs(work.result, "batch_pairs")
    if work.asked != wanted:
        st.info("The settings have changed since. Rewrite the first rows again to see what they do.")
        return
    st.caption(
        "These rows are for your eyes. All rows are drawn afresh below: release that result, and not this one too."
    )
    every(upload, look, asked)


def quick(upload: Upload, asked: core.Asked) -> bool:
    """Whether the first rows of this file follow the settings: as long as they took last time under this mechanism, or
    before that is known, by what the mechanism says of itself."""
    took = upload.took.get(asked.mechanism)
    return took < QUICK if took is not None else not dpt.mechanism_class(asked.mechanism).slow_to_prepare


def first(upload: Upload, asked: core.Asked | None) -> None:
    """Rewrite the first rows, in the place of those that are under way."""
    if asked is None:
        return
    batch = core.Batch(upload.folder, asked, limits().row)

    def work(task: dpt.Task):
        begun, ready = time.monotonic(), asked.setting.make().model_ready
        found = batch.first(task=task)
        if ready:  # a model is loaded once
            upload.took[asked.mechanism] = time.monotonic() - begun
        return found

    session().at("batch_first").start((upload.folder, asked), work, "Rewriting")


def every(upload: Upload, look: core.Look, asked: core.Asked) -> None:
    """The button that rewrites all rows, and whether the job may outlive the session."""
    with st.container(border=True):
        keep = limits().keeps and st.toggle(f"Keep this job for {job_folders.HOURS} hours", key=stay("batch_stay"))
        if keep:
            st.caption(
                "The job then goes on when you close this page or lose the connection. You get a code that brings it "
                "back. Whoever has the code sees the results, so keep it to yourself. Your file, with its original "
                "texts, and the rewrites lie on this server, where its owner can read them. All of it is deleted "
                f"{job_folders.HOURS} hours from now (if the server is off then, at the first visit after its start), "
                "or at once when you press “Delete now”."
            )
        else:
            st.caption("The job stops when you close or reload this page. Your file and its results are then deleted.")
        if st.button(f"Rewrite all {look.count:,} rows", type="primary", key="batch_start", width="stretch"):
            start(upload, asked, keep)


def start(upload: Upload, asked: core.Asked, keep: bool) -> None:
    mine = session()
    try:
        if keep:
            upload.keep(asked)
    except (dpt.DPTextError, OSError) as error:
        st.error(literal(told_of(error)))
        return
    upload.batch = core.Batch(upload.folder, asked, limits().row)
    mine.at("batch_first").stop()
    mine.at("batch_first").result = None
    upload.rewrite(mine.at("batch_all"), "Rewriting")
    st.rerun()


# --- all rows -------------------------------------------------------------------------------------------------------


def job(upload: Upload, batch: core.Batch) -> None:
    """A job under way, or what it came to."""
    mine = session()
    work = mine.at("batch_all")
    top, away = st.columns([4, 1], vertical_alignment="center")
    top.markdown(f"**{literal(upload.file)}** · {upload.count:,} rows · {literal(str(batch.mechanism.title))}")
    if upload.code:
        away.button("Another file", key="batch_away", on_click=leave, icon=":material/close:", width="stretch")
        code(upload)
    else:
        with away.popover("Another file", icon=":material/close:", width="stretch"):
            st.markdown("This deletes your file and all results, and stops what is under way.")
            st.button("Delete and begin anew", key="batch_away", on_click=leave, icon=":material/delete:")
    if work.running():
        running = work.job
        work.waiting("batch_stop", lambda: progress_of(running) if running else "")
        if batch.mechanism.shares_draws:
            st.caption("With this strategy all rows are looked at once before the first one is rewritten.")
        else:
            with st.columns([1, 1.5])[0]:
                st.caption("What is done by now can be downloaded while the rest goes on.")
                release(batch, "so far")
        return
    if work.error is not None and work.result is None:
        said = work.said(f"Stopped after {batch.written:,} of {upload.count:,} rows. Those are whole, and stay.")
        (st.warning if isinstance(work.error, dpt.Cancelled) else st.error)(literal(said))
        # What is written can still be looked at: it is read in the place of what was stopped.
        ended = mine.at("batch_found")
        if ended.asked is not work.error:
            ended.start(work.error, finder(batch), "Reading the results")
        if ended.running():
            ended.waiting("batch_found_stop")
            return
        found = ended.result
    else:
        found = work.result
    done = batch.done
    if not done:
        onward(upload, batch)
    if found is not None and found.rows:
        results(batch, found, done)
    elsewhere(batch.asked)
    with st.expander("Ledger: what was released", key="batch_ledger", on_change="rerun") as book:
        if book.open:
            ledger.panel(mine.ledger)


def progress_of(running: Job) -> str:
    done, of = running.counted
    if not of:
        return f"{running.label} …"
    if done >= of:
        return f"All {of:,} rows are written. Adding up what is promised and what has changed …"
    left = running.left
    return f"{done:,} of {of:,} rows" + (f" · about {lasting(left)} left" if left is not None else "")


def code(upload: Upload) -> None:
    """The code of a kept job, when it ends, and the way to end it now."""
    with st.container(border=True):
        left, right = st.columns([4, 1], vertical_alignment="center")
        with left:
            st.markdown("**Your job code.** It is shown here and stored nowhere: copy it now.")
            st.code(upload.code, language=None)
            st.caption(
                f"Type it on this page to come back, from any browser. File and results are deleted on "
                f"{time.strftime('%d %B at %H:%M', time.gmtime(upload.expires))} (UTC)."
            )
        right.button(
            "Delete now",
            key="batch_delete",
            on_click=leave,
            args=(True,),
            icon=":material/delete:",
            width="stretch",
            help="This stops the job and deletes your file and all results from this server.",
        )


def onward(upload: Upload, batch: core.Batch) -> None:
    """A job that was stopped can go on, or begin anew where its draws are for all rows at once."""
    if session().at("batch_all").error is None:  # it was opened by its code
        st.caption(f"{batch.written:,} of {upload.count:,} rows are done.")
    if batch.mechanism.shares_draws and batch.written:
        st.info(
            "With this strategy the draws are for all rows at once, and their random key ended with the job. So it "
            "cannot go on. It can begin anew; then do not release what was done before too."
        )
        if st.button("Begin anew", key="batch_anew"):
            batch.forget_run()
            upload.rewrite(session().at("batch_all"), "Rewriting")
            st.rerun()
    elif st.button("Go on", type="primary", key="batch_on", help="Rows that are done are not drawn again."):
        upload.rewrite(session().at("batch_all"), "Rewriting")
        st.rerun()


def results(batch: core.Batch, found: core.Found, done: bool) -> None:
    wrong = found.promise["errors"]
    if done:
        st.success(f"Done: {found.promise['counted']}")
    else:
        st.caption(f"Of what is done: {found.promise['counted']}")
    leftover(found)
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        st.subheader("What is promised")
        (st.warning if "none" in found.promise["notions"] else st.info)(literal(found.promise["sentence"]))
        if found.polish:
            st.caption(literal(found.polish))
        for line in batch.meaning():
            st.markdown("- " + literal(line))
        if plain := batch.first_promise():
            with st.expander("What that means, for the first row"):
                st.markdown(literal(plain))
        if batch.strategies:
            with st.expander("What another strategy would change"):
                for name, line in batch.strategies.items():
                    st.markdown(f"- **{name.capitalize()}.** {literal(line)}")
        if found.promise["exposed"]:
            with st.expander("What everyone can see in spite of it"):
                st.caption("Of the first row; each other row shows the same of itself.")
                for line in found.promise["exposed"]:
                    st.markdown("- " + literal(line))
    with right:
        st.subheader("How much has changed")
        measures(batch, found)
    downloads(batch, found, done)
    if found.errors:
        st.subheader(f"Rows with an error: {wrong:,}")
        more = f" The first {len(found.errors):,} are shown." if wrong > len(found.errors) else ""
        st.caption(f"Nothing of their texts is in the release: their text is empty there.{more}")
        st.dataframe(
            [{"row": row, "why": why} for row, why in found.errors],
            hide_index=True,
            key="batch_errors",
            height=min(320, 36 * (1 + len(found.errors)) + 2),
        )
    st.subheader("Rows")
    browse(batch, found.rows)


def leftover(found: core.Found) -> None:
    """Names, numbers, dates and places that still stand, in which rows, and the way to look at one."""
    left = found.left
    if not left.looked:
        return
    of = (
        f"{left.looked:,} rows"
        if left.looked + found.promise["errors"] == found.rows
        else f"{left.looked:,} rows, evenly taken"
    )
    rules = "Found by simple rules, which miss some and flag harmless words."
    if not left.rows:
        st.caption(f"No name, number, date or place of the originals was found again in {of}. {rules}")
        return
    with st.expander(f"Still standing: names, numbers, dates or places in {left.rows:,} of {of}", key="batch_left"):
        st.caption(f"{rules} What a mechanism keeps, it keeps at every ε.")
        standing.table(left.first, key="batch_standing")
        if left.rows > len(left.first):
            st.caption(f"The first {len(left.first):,} of these rows.")


def measures(batch: core.Batch, found: core.Found) -> None:
    """Shares of unchanged words always; the rest when asked for, since it takes its time."""
    work = session().at("batch_measure")
    if work.asked is not batch:
        work.stop()
        work.asked, work.result, work.error = batch, None, None
    busy = work.running()
    known = {**found.measures, **(work.result or {})}
    for name, value in known.items():
        about = measure(name)
        st.metric(
            about.title, format(value["mean"], about.digits), help=f"{about.about} The mean over {value['n']:,} rows."
        )
    if found.rows > core.MEASURED:
        st.caption(f"Measured on about {core.MEASURED:,} rows, evenly taken.")
    if busy:
        work.waiting("batch_measure_stop")
    elif work.result is None:
        if said := work.said("Stopped."):
            st.error(literal(said))
        if st.button("Measure likeness: cosine and BLEU", key="batch_measure"):
            work.start(batch, lambda task: batch.measure(("cosine", "bleu"), task), "Measuring")
            st.rerun()


def downloads(batch: core.Batch, found: core.Found, done: bool) -> None:
    st.subheader("Take it away")
    left, middle, right = st.columns(3, gap="large")
    with left, st.container(border=True):
        st.markdown("**The release**")
        st.caption(
            "The rewrites and the columns that you kept. This is what others may get, and counts as released in the "
            "ledger."
        )
        release(batch, "" if done else "so far")
    with middle, st.container(border=True):
        st.markdown("**The inspection file**")
        st.caption("Originals beside rewrites, for your eyes only. Its name and each row say so.")
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
        st.markdown("**The promise**")
        st.caption("What is promised of each row and of all, as JSON, to go with the release.")
        download.button(
            "Download the promise",
            json.dumps(found.promise, ensure_ascii=False, indent=1),
            f"{batch.stem}-promise.json",
            "application/json",
            icon=":material/receipt_long:",
            key="batch_promise",
            on_click="ignore",
            width="stretch",
            holds="promise",
            what="promise",
        )


def release(batch: core.Batch, how_far: str) -> None:
    suffix = st.selectbox("Format", release_files.RELEASE, format_func=FORMATS.__getitem__, key=stay("batch_release"))
    exact = False
    if suffix in tables.TABLES:
        exact = st.toggle(
            "Leave formulas in cells",
            key=stay("batch_exact"),
            help="A spreadsheet would run a cell that begins with =, +, - or @. So such a cell begins with an "
            "apostrophe here, whoever wrote it. For programs, turn this on: then each cell is exactly as it is, and no "
            "byte-order mark stands before the first.",
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
        release=lambda book: book.record_rows(batch.mechanism, batch.promised(), batch.noise_id, released=True),
    )


@st.fragment
def browse(batch: core.Batch, rows: int) -> None:
    """A page of originals and rewrites: the browser never gets more."""
    pages = -(-rows // PAGE)
    page = 1
    if pages > 1:
        page = int(st.number_input(f"Page, 1 to {pages:,}", 1, pages, 1, key="batch_page", width=200))
    shown = batch.page((page - 1) * PAGE, PAGE)
    pairs(shown, "batch_pairs_page")
    st.caption("For your eyes: the originals stand beside the rewrites.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by_row = {p.row: p for p in shown if p.original.strip()}
        row = st.selectbox("Look at a row word by word", list(by_row), key="batch_row", width=240)
        if row in by_row and st.button(
            "Open it in Explore",
            key="batch_to_explore",
            help="Its original is drawn afresh there, with noise of its own: to look at, and not to release beside "
            "the result.",
        ):
            session().text = by_row[row].original
            st.switch_page("pages/explore.py", query_params=links.to_query(batch.asked.setting))


def pairs(found: list[core.Pair], key: str) -> None:
    """Originals and rewrites side by side, as a table that wraps."""
    lines = ["| row | original | rewrite |", "|---:|---|---|"]
    for p in found:
        rewrite = f"*There is none: {cell(p.error)}*" if p.error else cell(p.text)
        lines.append(f"| {p.row} | {cell(p.original)} | {rewrite} |")
    with st.container(key=key):
        st.markdown("\n".join(lines))
        if said := removed_note(sum(count_removed(p.original) for p in found)):
            st.caption(f"In these rows: {said}")


def cell(text: str) -> str:
    """A text in a cell of a Markdown table, as it is."""
    return literal(" ".join(short(text).split()))


def short(value: Any) -> Any:
    """A cell of a table on the screen."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if len(text) <= CELL else f"{text[:CELL]} …"


def elsewhere(asked: core.Asked) -> None:
    with st.expander("The same from the command line and from Python"):
        st.caption("In the folder of your file. A command that was stopped goes on where it was.")
        st.code(core.command(asked), language="sh", wrap_lines=True)
        st.code(core.snippet(asked), language="python", wrap_lines=True)


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
        begin()
    elif upload.batch is None:
        setup(upload)
    else:
        job(upload, upload.batch)


def render() -> None:
    """Draw the page."""
    within_app("batch")
    main()
