"""DP-Text Studio: page configuration and navigation."""

import streamlit as st

st.set_page_config(page_title="DP-Text Studio", page_icon=":material/tune:", layout="wide")
st.navigation([st.Page("pages/playground.py", title="Playground", icon=":material/tune:", default=True)]).run()
