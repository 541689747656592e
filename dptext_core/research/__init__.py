"""How mechanisms are evaluated: data, tasks, grid, runner, results, papers, findings, leaderboard, curves, audits."""
