"""What pages begin with is what the measurements say, and is the same wherever it is asked for."""

from __future__ import annotations

import dptext_core as dpt
from dptext_core.mechanisms.recommended import (
    ORDER,
    label,
    recommended,
    recommended_fields,
    recommended_partners,
    with_recommended,
    without_recommended,
)
from dptext_lab.results import leaderboard
from dptext_studio.views.compare import card_settings, plot_settings


def test_the_first_is_the_one_that_keeps_most_at_the_same_measured_privacy():
    rows = leaderboard.bundled()
    data = rows.data_sets()[0]
    judge, privacy = rows.judges(data)[0], rows.measures(data)[0]
    boards = [leaderboard.board(rows, data, judge, privacy, at, every=False) for at in rows.levels(data, privacy)]
    orders = [[entry.mechanism for entry in board.entries] for board in boards]
    measured = [order for order in orders if ORDER[0] in order]
    assert len(measured) >= 2 and all(order[0] == ORDER[0] for order in measured)


def test_pages_follow_it():
    assert (
        ORDER[:4] == plot_settings.FIRST
        and card_settings.default_setting(ORDER[1]).options == with_recommended(dpt.Setting(ORDER[1])).options
    )
    assert recommended_partners(ORDER[1]) == [ORDER[0], *ORDER[2:]]
    for name in ORDER:
        m = recommended(name)
        assert m.config.loaded_words is False
        readable = {"recase": "sentence"} if hasattr(m.config, "detector") else {}
        assert recommended_fields(name).keys() == {"loaded_words", *readable}
        assert recommended(name, loaded_words=True, **readable).config == type(m).create().config
        title = label(m.setting)
        assert "loaded" not in title and without_recommended(m.setting).options == {}
        assert label(type(m).create().setting) == f"{title} (offensive words allowed)"
