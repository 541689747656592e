"""Audit: compare the guarantee of a mechanism with measurements, or find the fault of a deliberately broken one."""

from dptext_studio.views.audit import page

page.render()
