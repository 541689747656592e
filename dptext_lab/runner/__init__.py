"""Run a grid of mechanisms on public data: the grid, data sets, tasks, scores and processes."""
