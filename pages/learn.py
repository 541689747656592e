"""Learn: short lessons, each with a question before its answer, a presenter view, and links for a class."""

from dptext_studio.views.learn import page

page.render()
