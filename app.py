"""DP-Text Studio: page configuration and navigation."""

import streamlit as st

from pages.ui import sessions, shell

# An icon of our own: Streamlit's named ones are fetched from another site for the browser's tab.
st.set_page_config(page_title="DP-Text Studio", page_icon="assets/pictures/icon.svg", layout="wide")
pages = {
    "playground": st.Page("pages/playground.py", title="Playground", default=True),
    "compare": st.Page("pages/compare.py", title="Compare"),
    "tradeoff": st.Page("pages/tradeoff.py", title="Trade-off"),
    "audit": st.Page("pages/audit.py", title="Audit"),
    "benchmarks": st.Page("pages/benchmarks.py", title="Benchmarks"),
    "case_study": st.Page("pages/case_study.py", title="Case study"),
    "findings": st.Page("pages/findings.py", title="What we found"),
}
# Links to headings are invisible until the mouse is there, and would still take the keyboard's focus.
st.html("<style>[data-testid='stHeaderActionElements'] { display: none; }</style>")
page = st.navigation(list(pages.values()), position="top")
st.session_state.app = True
sessions.watch()
if wanted := st.session_state.pop("app_wanted", None):
    st.switch_page(pages[wanted])
shell.plugin_problems()
page.run()
