"""Mechanisms that add noise to one vector of a whole text, and write a new text from it."""
