"""Make and read the bundled results: benchmarks, measurements, findings, leaderboard, peers, speed, training."""
