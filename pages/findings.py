"""What we found: what keeps most at the same measured privacy, and the papers' claims held against our own runs."""

from dptext_studio.views.findings import page

page.render()
