"""DP-Text Studio: page configuration and navigation."""

import streamlit as st

from pages.ui import sessions, shell

# An icon of our own: Streamlit's named ones are fetched from another site for the browser's tab.
st.set_page_config(page_title="DP-Text Studio", page_icon="assets/pictures/icon.svg", layout="wide")
pages = {
    "playground": st.Page("pages/playground.py", title="Playground", default=True),
    "audit": st.Page("pages/audit.py", title="Audit"),
    "benchmarks": st.Page("pages/benchmarks.py", title="Benchmarks"),
    "case_study": st.Page("pages/case_study.py", title="Case study"),
    "findings": st.Page("pages/findings.py", title="What we found"),
}
# Links to headings are invisible until the mouse is there, and would still take the keyboard's focus. Streamlit's grey
# of captions has a contrast of 3.9, and its ring around what has the focus can hardly be seen on some controls.
st.html("""<style>
[data-testid='stHeaderActionElements'] { display: none; }
[data-testid='stCaptionContainer'] { color: light-dark(#5d5b57, #b3b0a9) !important; opacity: 1 !important; }
.stApp :focus-visible { outline: 2px solid light-dark(#0b5cad, #8fc1f2); outline-offset: 2px; }
</style>""")
page = st.navigation(list(pages.values()), position="top")
st.session_state.app = True
sessions.watch()
if wanted := st.session_state.pop("app_wanted", None):
    st.switch_page(pages[wanted])
shell.plugin_problems()
page.run()
