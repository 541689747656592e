"""Run a grid of mechanisms on public data: grid, tasks, data sets, and what all measurements share."""
