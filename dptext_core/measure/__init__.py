"""Utility, privacy and privacy cost of a rewrite."""
