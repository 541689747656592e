"""Mechanisms that draw from what a masked language model proposes."""
