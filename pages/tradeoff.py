"""An address of earlier links: app.py knows where it leads to."""

from pages.ui.shell import within_app

within_app("tradeoff")
