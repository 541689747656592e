"""Starts the app where a service installs the requirements that lie beside the file it runs: those without PyTorch."""

import sys
from pathlib import Path

import streamlit as st

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP))

from dptext_studio.server import streamlit_patches  # noqa: E402

streamlit_patches.apply()
app = st.App(str(TOP / "app.py"), lifespan=streamlit_patches.lifespan)
