"""Learn: lessons of two minutes, each with a question before its answer; a view for a wall, and links for a class."""

from dptext_studio.views.learn import page

page.render()
