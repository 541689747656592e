"""Small helpers that the other two packages use too: assets, input checks, tasks, statistics, extras."""
