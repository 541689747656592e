"""The game of the browser edition: posteriors and scores are those of the app, and a whole game is played by clicks."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dptext_core.text.document import Document
from dptext_core.words.capitals import public_form
from dptext_studio.lessons import reader_game
from dptext_studio.lessons.reader_game import Level, LineUp, Score

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULES = reader_game.rules()


@pytest.fixture(scope="module")
def game(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, service_workers="block")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    page.goto(f"{address}game.html")
    page.evaluate("window.readerGame.then(() => true)")
    yield page
    context.close()
    assert wrong == [] and not [u for u in asked if ".gz" in u], "it needs no model"


def log_chances(line_up: LineUp, epsilon: float) -> list[dict[str, float]]:
    """ln of the probability of each word in the place of the fact, for each fact, as the core states it."""
    m = RULES.mechanism.replace(epsilon=epsilon)
    found = []
    for i, fact in enumerate(line_up.facts):
        prepared = m.prepare(line_up.text(i))
        d = m.distribution(prepared, prepared.document.words.index(fact))
        found.append(dict(zip(d.candidates, d.log_probs.tolist(), strict=True)))
    return found


def test_posteriors_and_expected_success_are_the_cores(game: Page) -> None:
    line_ups = {x.name: x for x in RULES.line_ups}
    call = """(epsilons) => window.readerGame.then((game) => game.data.line_ups.flatMap((line) => epsilons.map((e) => {
      const words = [...new Set(game.chances(line, e).flatMap((of) => [...of.keys()]))];
      const each = words.map((w) => [w, game.posterior(line, e, w)]);
      return [line.name, e, game.expected(line, e), each];
    })))"""
    rows = game.evaluate(call, list(RULES.epsilons))
    assert len(rows) == len(RULES.line_ups) * len(RULES.epsilons)
    for name, epsilon, expected, posteriors in rows:
        of = log_chances(line_ups[name], epsilon)
        assert {w for w, _ in posteriors} == {w for d in of for w in d}
        for word, posterior in posteriors:
            p = np.exp([d.get(word, -np.inf) for d in of])
            np.testing.assert_allclose(posterior, p / p.sum(), rtol=0, atol=1e-12)
        assert expected == pytest.approx(RULES.expected_success(line_ups[name], epsilon), abs=1e-12)
    limits = game.evaluate(
        "async (e) => { const m = await import('./reader_game.js'); return e.map((x) => m.ceiling(x, 4)); }",
        list(RULES.epsilons),
    )
    assert limits == pytest.approx([reader_game.ceiling(e, 4) for e in RULES.epsilons], abs=1e-15)


def test_rounds_are_drawn_as_the_mechanism_draws_them(game: Page) -> None:
    """Kept words, blanks and capitals as in the core's rewrites; each fact is as likely; each level in its turn."""
    call = "(n) => window.readerGame.then((game) => Array.from({ length: n }, () => game.rounds()))"
    games: list[list[dict[str, Any]]] = game.evaluate(call, 60)
    line_ups = {x.name: x for x in RULES.line_ups}
    levels = [e for e in RULES.epsilons for _ in range(RULES.rounds_each)]
    for rounds in games:
        assert [r["epsilon"] for r in rounds] == levels
        assert len({r["lineUp"]["name"] for r in rounds}) == min(len(levels), len(line_ups))
    every = [r for rounds in games for r in rounds]
    counts = np.bincount([r["secret"] for r in every], minlength=4)
    assert (abs(counts - len(every) / 4) < 5 * np.sqrt(len(every) * 3 / 16)).all()
    unchanged = []
    for r in every:
        line_up, before = line_ups[r["lineUp"]["name"]], r["lineUp"]["before"]
        text = "".join(piece for piece, _ in r["release"])
        original = line_up.text(r["secret"])
        prepared = RULES.mechanism.prepare(original)
        ours, theirs = Document.parse(original).words, Document.parse(text).words
        assert len(ours) == len(theirs), text
        kept = [reason is not None for reason in prepared.reasons]  # type: ignore[attr-defined]
        # A copied article agrees with the next word.
        assert all(a == b or {a, b} == {"a", "an"} for a, b, k in zip(ours, theirs, kept, strict=True) if k), text
        assert text[0].isupper() and text.endswith(".")
        place = len(Document.parse(before).words)
        assert theirs[place] == r["word"] == public_form(r["word"].lower()) and [r["word"], "secret"] in r["release"]
        pairs = enumerate(zip(ours, theirs, strict=True))
        changed = [b for i, (a, b) in pairs if i != place and not kept[i] and a.lower() != b.lower()]
        assert [piece for piece, mark in r["release"] if mark == "changed"] == changed
        unchanged.append((r["epsilon"], theirs[place].casefold() == ours[place].casefold()))
    for epsilon in RULES.epsilons:
        # The share of facts that are unchanged is that of the mechanism.
        p = np.mean(
            [
                np.exp(d[f.lower()])
                for x in line_ups.values()
                for f, d in zip(x.facts, log_chances(x, epsilon), strict=True)
            ]
        )
        found = [u for at, u in unchanged if at == epsilon]
        assert abs(np.mean(found) - p) < 5 * np.sqrt(p * (1 - p) / len(found))


def test_scores_are_those_of_the_app(game: Page) -> None:
    call = """(n) => window.readerGame.then(async (game) => {
      const { scoreOf, total } = await import("./reader_game.js");
      const rounds = Array.from({ length: n }, () => game.rounds()).flat();
      const guesses = rounds.map((r, i) => i % 4);
      const scores = rounds.map((r, i) => scoreOf(r, guesses[i]));
      return [rounds, guesses, scores, total(scores)];
    })"""
    rounds, guesses, scores, total = game.evaluate(call, 4)
    expected = []
    for r, guess in zip(rounds, guesses, strict=True):
        q = np.array(r["posterior"])
        line_up = next(x for x in RULES.line_ups if x.name == r["lineUp"]["name"])

        @dataclasses.dataclass
        class Played:
            line_up: LineUp
            secret: int
            posterior: np.ndarray
            reader_guess = int(q.argmax())

            def is_right(self, guess: int) -> bool:
                return guess == self.secret

        played: Any = Played(line_up, r["secret"], q)
        long_run = RULES.expected_success(line_up, r["epsilon"])
        expected.append(reader_game.score_round(played, long_run, reader_game.one_vote(guess, 4)))
    assert [s | {} for s in scores] == [pytest.approx(dataclasses.asdict(s), abs=1e-12) for s in expected]
    assert total == pytest.approx(dataclasses.asdict(reader_game.total(expected)), abs=1e-9)


def test_a_game_is_played_to_its_end_with_clicks_and_keys(game: Page) -> None:
    """On a phone's screen. The last table has what was guessed at each ε."""
    rounds = RULES.rounds_each * len(RULES.epsilons)
    played: list[tuple[float, Score]] = []
    for i in range(rounds):
        head = game.inner_text("#round")
        epsilon = float(head.rpartition("= ")[2])
        assert head.startswith(f"Round {i + 1} of {rounds} · ε = ") and game.is_hidden("#answer")
        release = game.inner_text("#release mark.secret")
        line_up = next(x for x in RULES.line_ups if x.question == game.inner_text("#question"))
        assert game.locator("#choices button").all_inner_texts() == list(line_up.facts)
        if i % 2:
            game.keyboard.press("2")
        else:
            game.locator("#choices button").nth(1).click()
        verdict = game.inner_text("#verdict")
        secret = next(
            k
            for k, fact in enumerate(line_up.facts)
            if verdict.endswith(f"it was {fact}.") or f"It was {fact}." in verdict
        )
        assert verdict.startswith("Right") == (secret == 1)
        p = np.exp([d.get(release.lower(), -np.inf) for d in log_chances(line_up, epsilon)])
        q = p / p.sum()
        bars = game.locator("#bars li").all_inner_texts()
        assert "(the original)" in bars[secret]
        widths = game.evaluate("[...document.querySelectorAll('#bars b')].map((b) => parseFloat(b.style.width) / 100)")
        assert widths == pytest.approx(q.tolist(), abs=1e-4)
        played.append(
            (epsilon, Score(1, float(secret == 1), float(q[1]), int(q.argmax() == secret), float(q.max()), 0.0, 0.25))
        )
        points = game.inner_text("#points")
        assert points.startswith(f"You {sum(s.players for _, s in played):g} · ")
        assert game.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        game.keyboard.press("Enter") if i % 2 else game.click("#next")
    assert game.is_visible("#end") and game.is_hidden("#play")
    rows = [[cell.strip("<>%") for cell in row.split("\t")] for row in game.locator("#levels tr").all_inner_texts()]
    levels: tuple[Level, ...] = reader_game.levels(played)
    assert [float(row[0]) for row in rows] == [level.epsilon for level in levels]
    for row, level in zip(rows, levels, strict=True):
        shown = [float(x) / 100 for x in row[1:]]
        mean = np.mean([RULES.expected_success(x, level.epsilon) for x in RULES.line_ups])
        assert shown == pytest.approx(
            [reader_game.ceiling(level.epsilon, 4), mean, level.players, level.deserved], abs=0.0101
        )
    assert game.locator("#curve circle").count() == 2 * len(levels)
    board = dict(re.findall(r"^(.+?)\s+([\d.]+%)", row)[0] for row in game.locator("#scoreboard li").all_inner_texts())
    total = reader_game.total([s for _, s in played])
    of_player, of_reader = (float(board[who].strip("%")) / 100 for who in ("You", "Optimal reader"))
    assert (of_player, of_reader) == pytest.approx((total.players / rounds, total.reader / rounds), abs=1e-9)
    game.click("#replay")
    assert game.inner_text("#round").startswith("Round 1 of ") and game.inner_text("#points") == ""


def test_the_page_ships_what_its_words_are_drawn_from(pocket_site: Any) -> None:
    data = json.loads((pocket_site / "game.json").read_text(encoding="utf-8"))
    assert [x["name"] for x in data["line_ups"]] == [x.name for x in RULES.line_ups]
    assert (pocket_site / "game.json").stat().st_size < 80_000
