"""Mechanisms that sample from the proposals of a masked language model."""
