"""Mechanisms that write a new text, token by token."""
