"""Explore: type a text, watch its rewrite, drag ε, and inspect every word."""

from dptext_studio.views.explore import page

page.render()
