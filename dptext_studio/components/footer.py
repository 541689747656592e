"""The line at the bottom of every page: limits, stored data, citations and licences.

The environment variable DPTEXT_POCKET is the address of the browser edition (``dptext pocket --out``), if there is one:
http(s)://…, or a path on the same server. The line then links to it.
"""

from __future__ import annotations

from collections import defaultdict

import streamlit as st

import dptext_core as dpt
from dptext_core.data.folder import environment
from dptext_core.support import assets, hosting
from dptext_core.support.version import __version__

from .. import references
from ..server import session_reset
from . import download
from .shell import draw_when_open
from .style import add_style
from .text import literal

#: The width of the popover, in pixels.
WIDE = 640
LIMITS = (
    "**English.** The bundled language models, word spaces, lists and stop words are English. Plugins can add other "
    "languages.",
    "**Small models.** The bundled models run on any laptop. Larger models write better text at the same ε; you can "
    "add them.",
    "**What a guarantee does not cover.** Most mechanisms do not hide kept words, punctuation, spacing, the number "
    "of words or the style. Each result lists what everyone can see.",
    "**A large ε guarantees little** for any mechanism. Several releases of one text add up.",
    "**Research and teaching.** This program has had no external review. Have it reviewed before you use it on "
    "other people's data.",
)


def limits() -> None:
    for limit in LIMITS:
        st.markdown(f"- {limit}")


def cite() -> None:
    st.markdown("Cite this program and the paper of each mechanism that you use.")
    st.code(references.reference(references.OWN).bibtex, language="bibtex")
    used, lines = [references.OWN], []
    for spec in dpt.mechanisms():
        # A plugin may name papers that are not listed here.
        keys = [k for k in dpt.mechanism_class(spec.name).references if k in references.references()]
        used += keys
        if not keys:
            lines.append(f"**{literal(spec.title)}** has no paper.")
            continue
        first = references.reference(keys[0])
        is_own = keys[0] == references.OWN
        said = "is new and has no paper yet: cite this program." if is_own else literal(first.line())
        others = [references.reference(k).line() for k in keys[1:]]
        more = f" It builds on: {literal(' '.join(others))}" if others else ""
        lines.append(f"**{literal(spec.title)}** {said}{more}")
    download.button(
        "Download as BibTeX",
        references.bibtex(tuple(used)),
        "dp-text-studio.bib",
        "application/x-bibtex",
        icon=":material/format_quote:",
        key="footer_bibtex",
        on_click="ignore",
        holds="nothing",
    )
    for line in lines:
        st.markdown(line)


def licences() -> None:
    st.markdown("The code is under the MIT licence. The program contains no third-party data sets.")
    kinds: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for entry in assets.read_json(assets.assets_folder() / "MANIFEST.json"):
        kinds[entry["licence"], entry["source"]].append(entry)
    rows = [
        {
            "licence": licence,
            "made from": source,
            "files": ", ".join(e["path"] for e in entries[:3])
            + (f", and {len(entries) - 3} more" * (len(entries) > 3)),
            "MB": sum(e["bytes"] for e in entries) / 1e6,
        }
        for (licence, source), entries in sorted(kinds.items())
    ]
    st.dataframe(rows, hide_index=True, height=320, column_config={"MB": st.column_config.NumberColumn(format="%.2f")})
    st.caption("`assets/MANIFEST.json` lists each file with its SHA-256 and the command that made it.")
    here = environment()
    sources = {name: here[name] for name in ("dptext-studio", "python", "system")} | here["packages"]
    st.caption(literal("Versions: " + ", ".join(f"{name} {version}" for name, version in sources.items()) + "."))


#: Parts of “About”, by title.
PARTS = {
    "Limits": limits,
    "Your data": lambda: session_reset.panel("footer_forget"),
    "How to cite": cite,
    "Licences": licences,
}


def about() -> None:
    """Show the chosen part."""
    st.session_state.setdefault("footer_part", next(iter(PARTS)))
    chosen = st.segmented_control(
        "About", list(PARTS), required=True, key="footer_part", label_visibility="collapsed"
    )
    if chosen is not None:
        PARTS[chosen]()


@st.fragment
def line() -> None:
    """Show the line. Opening “About” reruns only this part, and nothing is computed while it is closed."""
    if session_reset.reset_note():
        st.rerun(scope="app")
    with st.container(key="footer", horizontal=True, vertical_alignment="center"):
        st.caption(f"DP-Text Studio {__version__} · no text leaves the machine it runs on", width="content")
        if address := hosting.browser_edition_url():
            st.link_button("Open browser edition", address, type="tertiary")
        draw_when_open(st.popover("About", type="tertiary", key="footer_about", on_change="rerun"), WIDE, about)


def footer() -> None:
    add_style(__file__, "footer.css")
    line()
