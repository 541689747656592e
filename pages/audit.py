"""Audit: hold what a mechanism promises against what can be measured of it, or let a planted fault be found."""

from dptext_studio.views.audit import page

page.render()
