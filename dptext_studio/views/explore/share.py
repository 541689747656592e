"""Share: the setting as a link, as code and as a command, and files with and without the originals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.errors import InputError

from ... import exports
from ...components import address, download, links, methods_panel
from ...components.shell import draw_when_open
from ...components.style import add_style
from ...components.text import literal
from ...exports.methods import seeded
from ...server import runs
from ...server.session import session
from . import attackers

state = st.session_state
KINDS = {"html": "text/html", "json": "application/json", "csv": "text/csv"}
#: The height of the panel in every tab.
WIDTH = 560
VOID = "The guarantee no longer holds for this draw because two versions of it were released."


def link(query: Mapping[str, str], left_out: Sequence[str], to: str) -> None:
    """Show the address of a page with the values of its controls, to copy. left_out: what it does not carry."""
    st.markdown(f"**Link** to {to}. It contains no text.")
    url = address.link(query)
    st.code(url, language=None, wrap_lines=True)
    if address.only_here(url):
        st.caption(address.ONLY_HERE)
    if left_out:
        st.caption(literal(f"The link does not include {', '.join(left_out)}."))


def popover(run: runs.Run, result: dpt.RewriteResult, epsilon: float, void: bool) -> None:
    """Show all ways to share a rewrite or its setting, computed when the popover is opened."""
    share = st.popover("Share", icon=":material/share:", width="stretch", key="share", on_change="rerun")
    draw_when_open(share, WIDTH, partial(_tabs, run, result, epsilon, void))


def _tabs(run: runs.Run, result: dpt.RewriteResult, epsilon: float, void: bool) -> None:
    """Show setting, methods, release, files with originals, and session, each in a tab."""
    # The popover is anchored at its lower edge, so equal heights keep the tabs in place.
    add_style(__file__, "share.css")
    with st.container(key="share_ways"):
        setting, paper, without, originals, keep = st.tabs(["Setting", "Methods", "Release", "With originals", "Save"])
    warning = VOID if void else ""
    with setting:
        _setting(run, result, epsilon)
    with paper:
        methods_panel.panel([(type(run.mechanism)(result.config), ())], seeded(run.inputs.seed))
    with without:
        _release(result, warning)
    with originals:
        _originals(run, result, warning)
    with keep:
        _session(run, epsilon)


def _setting(run: runs.Run, result: dpt.RewriteResult, epsilon: float) -> None:
    """Show the setting as a link, a command, Python and a notebook."""
    query, left_out = links.link_of_run(run.inputs, epsilon)
    mechanism = type(run.mechanism)(result.config)
    link(query | links.example_to_query(run.inputs.text), left_out, "this setting")
    st.markdown("**As a command**, with your text in a file")
    st.code(exports.as_command(mechanism, run.inputs.seed), language="sh", wrap_lines=True)
    st.markdown("**As Python**, with your text in a file. Without a seed, each run uses fresh noise.")
    st.code(exports.as_python(mechanism, run.inputs.seed), language="python", wrap_lines=True)
    download.button(
        "Notebook",
        partial(exports.as_notebook, mechanism, run.inputs.seed),
        "setting.ipynb",
        "application/x-ipynb+json",
        icon=":material/download:",
        key="share_notebook",
        holds="nothing",
        on_click="ignore",
        help="Jupyter: the rewrite, the candidates of each word, and the attacks. It contains no text and reads "
             "yours from a file.",
    )


def _release(result: dpt.RewriteResult, warning: str) -> None:
    """Offer the files without originals."""
    st.caption(
        "The rewritten text, its settings and its guarantee. Original words appear only where the rewritten text "
        "shows them. What you download counts as released in the ledger."
    )
    short = partial(exports.report, result, warning=warning)
    _file("Report", "release", "report", "html", short, result)
    _file("Data (JSON)", "release", "rewrite", "json", partial(exports.record, result), result)


def _originals(run: runs.Run, result: dpt.RewriteResult, warning: str) -> None:
    """Offer the files with originals."""
    st.markdown("**These files show the original words: do not publish them for a private text.**")
    moves = run.payload["live"] and not run.spread
    label = "Page with slider" if moves else "Page with candidates"
    _file(label, "inspection", "slider", "html", partial(exports.inspection, result, run.payload))
    findings = attackers.finished_attacks(run, result)
    named = f" and {len(findings)} attacker{'s' if len(findings) > 1 else ''}" if findings else ""
    _file(
        f"Report with originals{named}",
        "inspection",
        "report",
        "html",
        partial(exports.report, result, "inspection", findings=findings, warning=warning),
    )
    _file("Data (JSON)", "inspection", "rewrite", "json", partial(exports.record, result, "inspection"))
    if "distribution" in result.can:
        st.caption(f"The distribution of each word: its {exports.LIKELIEST} most likely candidates, and all others "
                   "as one row.")
        _file("Probabilities (CSV)", "inspection", "chances", "csv", partial(exports.chances_csv, result))
        _file("Probabilities (JSON)", "inspection", "chances", "json", partial(exports.chances_json, result))


def _session(run: runs.Run, epsilon: float) -> None:
    """Offer the session as a file, to open it later."""
    st.caption(
        "A file with this setting and its seed. Open it again with “More”, “Advanced”, “Open a file”. It never "
        "contains the noise."
    )
    with_text = st.toggle("With my text", key="share_with_text")
    query, lacks = links.link_of_run(run.inputs, epsilon, file=True)
    if lacks := [what for what in lacks if what != "the seed"]:
        st.caption(literal(f"The file does not include {', '.join(lacks)}."))
    saved = exports.SavedSession(query, run.inputs.seed, run.inputs.text if with_text else None)
    download.button(
        "Save the session",
        saved.to_json,
        f"{'PRIVATE-' if with_text else ''}session.json",
        "application/json",
        icon=":material/save:",
        key="share_session",
        on_click="ignore",
        holds="private" if with_text else "nothing",
    )


def _file(
    label: str,
    kind: str,
    what: str,
    suffix: str,
    make: Callable[[], str],
    released: dpt.RewriteResult | None = None,
) -> None:
    """Show a file that is made on request. released: the rewrite in it, if it counts as released."""
    counted: dict[str, Any] = {"holds": "private", "on_click": "ignore"}
    if released is not None:
        counted = {"holds": "rewrite", "release": lambda book: book.record(released, released=True)}
    download.button(
        label,
        make,
        exports.file_name(kind, what, suffix),
        KINDS[suffix],
        icon=":material/download:",
        key=f"share_{kind}_{what}_{suffix}",
        **counted,
    )


def is_session(name: str) -> bool:
    """Return True if a file's name is that of a saved session."""
    return name.lower().endswith(".json")


def open_session(data: bytes, name: str, use_text: Callable[[str], None]) -> None:
    """Set the page to the content of a session file. Raises InputError, and then changes nothing."""
    saved = exports.read_session(data, name)
    query = links.from_file(saved.query)
    _, problem = links.from_query(query, "The file could not be opened")
    if problem is not None:
        raise InputError(problem)
    session().query = query
    state.play_seeded = saved.seed is not None
    if saved.seed is not None:
        state.play_seed = saved.seed
    if saved.text is not None:
        use_text(saved.text)
