"""DP-Text Studio: page configuration and navigation."""

import streamlit as st

# An icon of our own: Streamlit's named ones are fetched from another site for the browser's tab.
st.set_page_config(page_title="DP-Text Studio", page_icon="assets/pictures/icon.svg", layout="wide")
st.navigation(
    [
        st.Page("pages/playground.py", title="Playground", default=True),
        st.Page("pages/audit.py", title="Audit"),
    ],
    position="top",
).run()
