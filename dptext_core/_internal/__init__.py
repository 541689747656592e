"""Modules for this package alone: lazy sequences and fast slots."""
