"""The game "Beat the optimal reader" as data for the browser edition.

The rules are those of :mod:`dptext_studio.lessons.reader_game`. The scores of the words are public, so the page needs
no model and no table of a mechanism.
"""

from __future__ import annotations

from typing import Any

from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.errors import ConfigError

from ..lessons import reader_game
from ..lessons.beat_reader import BeatReader


def game_data() -> dict[str, Any]:
    """Return the game as plain JSON.

    ``tables``: for each sampled word, its candidates, most likely first, and their scores: the probability of a
    candidate is proportional to exp(ε·score). ``rows``: for each fact, the table of each token, None if the token is
    kept. ``place``: the token of the fact.
    """
    rules = reader_game.rules()
    tables: dict[str, dict[str, Any]] = {}
    line_ups = [_line_up(rules, line_up, tables) for line_up in rules.line_ups]
    return {
        "title": BeatReader.title,
        "rules": BeatReader.sentences,
        "take_home": BeatReader.take_home,
        "epsilons": rules.epsilons,
        "rounds_each": rules.rounds_each,
        "mechanism": rules.mechanism.title,
        "tables": tables,
        "line_ups": line_ups,
    }


def _line_up(
    rules: reader_game.Rules, line_up: reader_game.LineUp, tables: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    question: BeliefQuestion = rules.question(line_up)
    mechanism: Any = rules.mechanism
    rows = []
    for prepared in question.prepared:
        words: list[str | None] = []
        for i, reason in enumerate(prepared.reasons):  # type: ignore[attr-defined]
            row = mechanism.token_row(prepared, i)
            if reason is not None:
                words.append(None)
                continue
            if row is None:
                raise ConfigError(
                    f"The line-up {line_up.name} has a word that {mechanism.title} does not know. Replace it."
                )
            word = mechanism.vocabulary.words[row]
            channel = mechanism.channel(row)
            tables[word] = {"candidates": list(channel.candidates), "scores": channel.scores.tolist()}
            words.append(word)
        rows.append(words)
    if any([w is None for w in words] != [w is None for w in rows[0]] for words in rows):
        raise ConfigError(f"The texts of the line-up {line_up.name} keep different words. Change its words.")
    before, after = line_up.template.split(reader_game.GAP)
    return {
        "name": line_up.name,
        "question": line_up.question,
        "before": before,
        "after": after,
        "facts": line_up.facts,
        "rows": rows,
        "place": next(i for i, words in enumerate(zip(*rows, strict=True)) if len(set(words)) > 1),
    }
