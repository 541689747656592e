"""Compare: on one text, two to four settings beside each other, or many as points on a map."""

from dptext_studio.views.compare import page

page.render()
