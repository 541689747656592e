"""Benchmarks: what each mechanism keeps and what it hides, measured, beside what the papers print."""

from dptext_studio.views.benchmarks import page

page.render()
