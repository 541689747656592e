"""How mechanisms are evaluated: data, tasks, grid and runner, results, papers, findings, leaderboard, curves, audits."""
