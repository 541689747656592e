"""Explore: type a text, watch it rewritten, drag ε, and ask of every word why."""

from dptext_studio.views.explore import page

page.render()
