"""Batch: a table of texts rewritten row by row: ten rows for a look, then all of them, and what they come to."""

from dptext_studio.views.batch import page

page.render()
