"""DP-Text Studio: page configuration and navigation."""

import streamlit as st

from pages.ui import forget, hide, sessions, shell

#: Section → page → its title. The pages without a section come first.
SECTIONS = {
    "": {"home": "Home", "about": "About"},
    "Try": {"playground": "Playground"},
    "Learn": {"learn": "Lessons", "case_study": "Case study"},
    "Research": {"benchmarks": "Benchmarks", "findings": "What we found", "audit": "Audit"},
}
#: Opens at the bare address, where links with a setting lead to.
FIRST = "playground"

# An icon of our own: Streamlit's named ones are fetched from another site for the browser's tab.
st.set_page_config(page_title="DP-Text Studio", page_icon="assets/pictures/icon.svg", layout="wide")
pages = {
    name: st.Page(f"pages/{name}.py", title=title, default=name == FIRST)
    for section in SECTIONS.values()
    for name, title in section.items()
}
# Links to headings are invisible until the mouse is there, and would still take the keyboard's focus.
st.html("<style>[data-testid='stHeaderActionElements'] { display: none; }</style>")
page = st.navigation({title: [pages[n] for n in names] for title, names in SECTIONS.items()}, position="top")
if forget.reload():
    st.stop()
st.session_state.app = True
sessions.watch()
if wanted := st.session_state.pop("app_wanted", None):
    st.switch_page(pages[wanted])
hide.take()
hide.apply()
shell.plugin_problems()
page.run()
