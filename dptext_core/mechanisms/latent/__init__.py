"""Mechanisms that put noise on one vector of a whole text, and write from it."""
