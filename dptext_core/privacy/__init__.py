"""Sampling, distributions, Gaussian noise, guarantees and their composition."""
