"""Mechanisms that replace a word by another one: lists, distances, noise on vectors."""
