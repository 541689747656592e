"""Findings: which mechanism preserves the most at equal measured privacy, and the papers' claims tested with our runs.
"""

from dptext_studio.views.findings import page

page.render()
