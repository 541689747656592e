"""Batch: rewrite a table of texts row by row, with a preview of ten rows before the full run."""

from dptext_studio.views.batch import page

page.render()
