"""The privacy metric and the level that a board begins with, on Findings and in the command."""

from __future__ import annotations

import pytest

from dptext_core.errors import ConfigError
from dptext_lab.commands import bench_leaderboard
from dptext_lab.results import leaderboard


def test_a_board_begins_where_settings_can_be_compared(capsys):
    rows = leaderboard.bundled()
    for data in rows.data_sets():
        judge = rows.judges(data)[0]
        privacy = leaderboard.first_privacy(rows, data, judge)
        at = leaderboard.first_level(rows, data, judge, privacy)
        n = len(leaderboard.board(rows, data, judge, privacy, at, every=False).entries)
        others = [
            len(leaderboard.board(rows, data, judge, m, x, every=False).entries)
            for m in rows.measures(data)
            for x in rows.levels(data, m)
        ]
        assert n > 1 or n == max(others), data
        assert bench_leaderboard.main(["--set", data]) == 0
        out, err = capsys.readouterr()
        assert ("\n  1 " in out) == (n > 0) and f"Level {at:g}: " in err and "Choose another with --at, such as" in err
    assert bench_leaderboard.main(["--privacy", "n_w", "--at", "0.3"]) == 0
    assert "Choose another with --at" not in capsys.readouterr().err


def test_the_error_for_a_privacy_metric_names_belief():
    with pytest.raises(ConfigError, match=r"no rows for this --privacy\. Use one of .*n_w.*, belief\."):
        bench_leaderboard.main(["--privacy", "foo"])
