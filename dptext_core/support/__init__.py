"""Helpers shared by all packages: assets, input checks, tasks, statistics, extras."""
