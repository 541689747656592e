"""Compare: two to four settings side by side on one text, a trade-off plot of many settings, or all anonymisers."""

from dptext_studio.views.compare import page

page.render()
