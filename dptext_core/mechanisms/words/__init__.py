"""Mechanisms that replace each word by another one: lists, distances, noise on vectors."""
