"""Mechanisms that write a text anew, one token after the other."""
