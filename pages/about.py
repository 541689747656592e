"""About: what it stands on, how to cite it, what it cannot do, and what comes with it under which licence."""

from __future__ import annotations

from collections import defaultdict

import streamlit as st

import dptext_core as dpt
from dptext_core._internal import assets
from dptext_core.data.folder import environment
from dptext_core.show import references
from pages.ui import download, forget
from pages.ui.shell import compact, within_app
from pages.ui.text import literal

LIMITS = (
    "**English.** What is bundled (the language models, word spaces, lists, stop words) is English. The program itself "
    "takes another language as a plugin.",
    "**Small models.** The bundled models have to run on any laptop. Larger ones write better text at the same ε; they "
    "are added by hand.",
    "**What a promise leaves out.** Kept words, punctuation, spacing, the number of words and the style are not hidden "
    "by most mechanisms. Each result says what everyone can see.",
    "**A large ε promises little**, whoever makes it. Several answers to one text add up.",
    "**Research and teaching.** It was not reviewed from outside. Have it reviewed before you rely on it for the data "
    "of others.",
)


def cite() -> None:
    st.subheader("How to cite")
    st.markdown("This program, and the paper of each mechanism that you use.")
    st.code(references.reference(references.OWN).bibtex, language="bibtex")


def papers() -> None:
    st.subheader("Where each mechanism is from")
    used: list[str] = [references.OWN]
    for spec in dpt.mechanisms():
        # A mechanism of somebody's own may name papers that are not listed here.
        keys = [k for k in dpt.mechanism_class(spec.name).references if k in references.references()]
        used += keys
        if not keys:
            st.markdown(f"**{literal(spec.title)}** names no paper.")
            continue
        first = references.reference(keys[0])
        own = keys[0] == references.OWN
        said = "is our own, first described with this program." if own else literal(first.line())
        others = [references.reference(k).line() for k in keys[1:]]
        more = f" It also stands on: {literal(' '.join(others))}" if others else ""
        st.markdown(f"**{literal(spec.title)}** {said}{more}")
    with st.expander("All of them as BibTeX"):
        st.code(references.bibtex(tuple(used)), language="bibtex")
    download.button(
        "Download the BibTeX file", references.bibtex(tuple(used)), "dp-text-studio.bib", "application/x-bibtex",
        icon=":material/format_quote:", key="about_bibtex", on_click="ignore", holds="nothing",
    )  # fmt: skip


def bundled() -> None:
    st.subheader("What comes with it, under which licence")
    st.markdown("The code is under the MIT licence. No data set of others comes with the program.")
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
    st.dataframe(rows, hide_index=True, column_config={"MB": st.column_config.NumberColumn(format="%.2f")})
    st.caption("`assets/MANIFEST.json` has each file with its SHA-256 and the command that made it.")


def versions() -> None:
    st.subheader("Versions")
    here = environment()
    found = {name: here[name] for name in ("dptext-studio", "python", "system")} | here["packages"]
    st.markdown(literal(", ".join(f"{name} {version}" for name, version in found.items()) + "."))


def main() -> None:
    st.markdown("## About")
    st.markdown(
        "DP-Text Studio rewrites text under differential privacy, and shows what each ε keeps and what it hides. "
        "Everything runs on the machine that it was started on, and works offline."
    )
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("What it cannot do")
        for limit in LIMITS:
            st.markdown(f"- {limit}")
        cite()
    with right:
        st.subheader("What is kept, and where")
        forget.panel("about_forget")
    papers()
    bundled()
    versions()


within_app("about")
compact()
main()
