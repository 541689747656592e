"""Mechanisms that replace what a detector flags: no guarantee for the rest of the text."""
