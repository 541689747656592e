"""How mechanisms are evaluated: data, tasks, the grid and its runner, results, papers, findings, curves, audits."""
