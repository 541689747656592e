"""Benchmarks: measured utility and privacy of each mechanism, next to the papers' numbers."""

from dptext_studio.views.benchmarks import page

page.render()
