"""Data sets: files and tables in, releases out, on one machine or many."""
