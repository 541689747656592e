"""Lessons: their answers are what the core says and change with it; drawn or printed, no word of a text is markup."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import numpy as np
import pytest
from marks import slow_but
from small_spaces import on, random_space

import dptext_core as dpt
from dptext_core.mechanisms.blocklist import public_blocklist
from dptext_core.mechanisms.recommended import recommended
from dptext_core.privacy.distribution import TokenDistribution
from dptext_studio import lessons
from dptext_studio.components import links
from dptext_studio.figures import lessons as drawn
from dptext_studio.figures.handout import handout
from dptext_studio.lessons import (
    LESSONS,
    base,
    beat_reader,
    coin,
    equal_epsilon,
    example_text,
    group,
    memorisation,
    odds,
    original_returns,
    reader_game,
    redaction,
    remaining_leaks,
    repeated_answers,
    sentence_bank,
    single_word,
    word_lines,
)
from dptext_studio.lessons import temperature as temperature_of

#: The others take a second or two each.
QUICK = ("one-word", "come-back", "temperature", "line", "leaks", "reader", "coin", "odds")
HOSTILE = "<script>alert('x')</script> & \" <img src=x onerror=y> http://example.org/a.css"


def told(name: str) -> tuple[lessons.Lesson, base.Question, base.Reveal]:
    one = lessons.lesson(name)
    start = one.checked(one.control.start)
    return one, one.ask(start), one.reveal(start)


@pytest.mark.parametrize("name", slow_but(QUICK, [one.name for one in LESSONS]))
def test_a_lesson_is_whole(name):
    one, question, found = told(name)
    assert 2 <= len(one.said) <= 3 and one.beside < len(one.said)
    assert 2 <= len(question.answers) <= 4 and question.text.endswith("?")
    assert 0 <= found.right < len(question.answers) and found.found and found.because and found.parts
    assert len(found.replies) == len(question.answers), "each wrong answer gets a reply of its own"
    assert all(found.replies[i] for i in range(len(question.answers)) if i != found.right)
    assert one.goal.endswith(".") and one.task.endswith((".", "?")) and one.take_home.endswith(".")
    shown = one.show(one.control.start)
    assert shown and all(assert_harmless(drawn.draw(part)) for part in (*shown, *found.parts))
    for value in one.control.values:
        assert one.control.said(value)
        query = links.to_query(one.setting(value))
        setting, problem = links.from_query(query)
        assert problem is None and setting is not None, "its door opens"


def test_there_are_lessons_each_with_a_name_of_its_own():
    assert len(LESSONS) >= 8 and len({one.name for one in LESSONS}) == len(LESSONS)
    assert [one for part in lessons.COURSE for one in part.lessons] == list(LESSONS)
    assert sum(part.class_minutes for part in lessons.COURSE) == 90
    with pytest.raises(dpt.InputError, match="one-word"):
        lessons.lesson("none")


# --- the answers are worked out --------------------------------------------------------------------------------------


def test_half_of_the_words_stay_at_the_epsilon_of_the_core():
    right = told("one-word")[2].right
    prepared, means = example_text.prepared(), []
    places = [
        s.index
        for i, s in enumerate(example_text.rewrite_at(50.0).steps)
        if i in set(example_text.drawn_words(example_text.rewrite_at(50.0)))
    ]
    for epsilon in single_word.OFFERED:
        m = recommended("dp-mlm", epsilon=epsilon)
        means.append(np.mean([m.distribution(prepared, i).p_keep() for i in places]))
    assert right == int(np.argmin(np.abs(np.array(means) - 0.5)))
    away = np.sort(np.abs(np.array(means) - 0.5))
    assert away[0] < 0.05 and away[1] > 0.1, "one of the offered ε is about half, and no other"
    assert example_text.kept_shares(single_word.OFFERED) == pytest.approx(np.array(means), abs=1e-9)


def test_a_banned_original_is_told_apart_by_what_cannot_come_out():
    stays, other, loss = original_returns.odds(15.0, False)
    m = recommended("santext", epsilon=15.0)
    assert stays == pytest.approx(m.distribution("doctor", 0).p("doctor"))
    assert other == pytest.approx(m.distribution("nurse", 0).p("doctor"))
    assert loss <= 15.0 * m.audit_support.distances(["doctor", "nurse"])[0, 1] * (1 + 1e-9)
    assert original_returns.odds(15.0, True)[0] == 0.0 and original_returns.odds(15.0, True)[2] == float("inf")


def test_clipping_and_temperature_are_what_the_mechanism_draws_from():
    own, soft, temperature = temperature_of.distribution_at(2.0)
    config = dpt.get_mechanism("dp-mlm").config
    assert temperature == pytest.approx(2 * 2 * (config.clip_max - config.clip_min) / temperature_of.EPSILON)
    assert own.probs == pytest.approx(soft.probs, abs=1e-12)


def test_a_word_of_ones_own_walks_the_list():
    there = word_lines.places("river")
    words = [w for w in dpt.word_list(dpt.word_lists()[0]) if w.lower() not in public_blocklist()]
    assert there and all(words.index(w) - words.index("river") == k for w, k in there.items())
    beside = sum(abs(k) <= word_lines.BESIDE for k in there.values())
    found = lessons.lesson("line").reveal("river")
    assert found.right == (0 if beside >= 8 else 1 if beside >= 4 else 2) and f"{beside} of the 10" in found.found[0]
    (lane,) = lessons.lesson("line").show("river")
    m = dpt.get_mechanism("diffractor", epsilon=word_lines.EPSILON)
    at = lane.offsets.index(0)
    assert lane.words[at] == "river" and lane.probs[at] == pytest.approx(m.distribution("river", 0).p("river"))


def test_the_coin_has_the_odds_of_randomised_response_and_its_estimate_is_unbiased():
    for faces in coin.Coin.control.values:
        yes, no = coin.yes_probabilities(faces)
        assert yes == pytest.approx((6 + faces) / 12) and no == pytest.approx((6 - faces) / 12)
        assert coin.epsilon(faces) == pytest.approx(math.log((6 + faces) / (6 - faces)))
        mean = (coin.TRUE_YES * yes + (coin.CLASS - coin.TRUE_YES) * no) / coin.CLASS
        assert coin.estimate(mean, faces) == pytest.approx(coin.TRUE_YES / coin.CLASS)
        right = lessons.lesson("coin").reveal(faces).right
        assert right == (0 if faces == 1 else 1 if faces in (2, 3) else 2)
    assert 0 <= coin.survey(4) <= coin.CLASS and coin.survey(4) == coin.survey(4)


def test_the_odds_after_a_release_are_those_before_times_e_to_epsilon():
    for prior in (0.5, 0.1, 0.01):
        for epsilon in odds.Odds.control.values:
            after = odds.most_certain(prior, epsilon)
            assert after / (1 - after) == pytest.approx(prior / (1 - prior) * math.exp(epsilon))
    question, reveal = told("odds")[1:]
    assert question.answers[reveal.right] == "23%" and len(set(question.answers)) == 3


def test_the_limit_of_a_reader_is_never_read_as_certainty():
    limits = [reader_game.ceiling(e, 4) for e in reader_game.rules().epsilons]
    assert [beat_reader.limit_text(x) for x in limits] == ["99.998%", "99.899%", "95%", "71%", "48%"]


def test_crossing_out_names_leaves_the_fact(monkeypatch):
    note = example_text.prepared().text
    assert "".join(piece for piece, _ in redaction.crossed_out(redaction.NOTHING)) == note
    left = "".join(piece for piece, mark in redaction.crossed_out(redaction.EVERYTHING) if not mark)
    assert "Halvorsen" not in left and "67" not in left and "heart" in left
    assert "67" in "".join(piece for piece, mark in redaction.crossed_out(redaction.NAMES) if not mark)
    monkeypatch.setattr(redaction, "success_rates", lambda: {10.0: 0.3, 20.0: 0.6, 50.0: 0.9})
    assert told("redaction")[2].right == 2
    monkeypatch.setattr(example_text, "WORD", "Halvorsen")
    assert told("redaction")[2].right == 0, "a name is crossed out"


@pytest.mark.parametrize("typed", ["", "  ", "two words", "x" * 41, "qqqqzz", "<b>", "doctor,"])
def test_what_is_no_word_of_the_list_is_refused_in_plain_words(typed):
    with pytest.raises(dpt.InputError, match="word"):
        lessons.lesson("line").checked(typed)


def test_a_value_that_a_control_does_not_have_is_refused():
    with pytest.raises(dpt.InputError, match="Privacy budget is one of"):
        lessons.lesson("one-word").checked(7.0)


def test_what_leaks_is_counted_on_the_rewrite():
    result = example_text.rewrite_at(50.0)
    found = remaining_leaks.words(result)
    steps = [s for s in result.steps if any(c.isalnum() for c in s.original)]
    same = sum(not s.changed for s in steps)
    assert found["kept"] + found["same"] == same and sum(found.values()) == len(steps)
    assert "".join(text for text, _ in remaining_leaks.marks(result)) == result.text


@pytest.mark.slow
def test_answers_add_up_by_the_ledger_and_tell_more(monkeypatch):
    m = repeated_answers.mechanism()
    assert repeated_answers.total_spent(5) == pytest.approx(5 * m.guarantee(repeated_answers.WORD).total)
    monkeypatch.setattr(repeated_answers, "WORDS", ("doctor", "river"))
    repeated_answers.guess_rates.cache_clear()
    try:
        share = repeated_answers.guess_rates()
        assert share[-1] > share[0] and told("twice")[2].right == (2 if share[-1] >= 0.75 else 1)
    finally:
        repeated_answers.guess_rates.cache_clear()


def sure(p: float) -> TokenDistribution:
    return TokenDistribution(("heart", "chest"), np.log([p, 1 - p]), "heart", 50.0)


def test_no_answer_is_written_down(monkeypatch):
    """With other chances another answer is right."""
    monkeypatch.setattr(example_text, "kept_shares", lambda epsilons: np.where(np.asarray(epsilons) <= 10, 0.5, 1.0))
    assert told("one-word")[2].right == 0
    monkeypatch.setattr(original_returns, "odds", lambda epsilon, banned: (0.2, 0.1, 1.0 if banned else 2.0))
    assert told("come-back")[2].right == 0
    monkeypatch.setattr(temperature_of, "distribution_at", lambda width: (sure(width / 5), sure(width / 5), 1.0))
    assert told("temperature")[2].right == 0
    monkeypatch.setattr(word_lines, "places", lambda word: dict.fromkeys(word_lines.nearest(word), 500))
    assert told("line")[2].right == 2
    monkeypatch.setattr(remaining_leaks, "words", lambda result: {"kept": 1, "same": 0, "changed": 99})
    assert told("leaks")[2].right == 0
    monkeypatch.setattr(repeated_answers, "guess_rates", lambda: np.full(repeated_answers.MANY, 0.5))
    assert told("twice")[2].right == 0
    monkeypatch.setattr(memorisation, "shares", lambda epsilon: {("snips", "snips"): 0.001})
    assert told("memory")[2].right == 0


@pytest.mark.slow
def test_no_answer_is_written_down_where_groups_are_made(monkeypatch):
    monkeypatch.setattr(group, "own_sets", lambda space, word, k: ("x",) * k)
    reveal = told("group")[2]
    assert reveal.right == 2 and "with none" in " ".join(reveal.found)
    monkeypatch.setattr(equal_epsilon, "unchanged_at", lambda epsilon: {"A": 0.5, "B": 0.4})
    assert told("equal")[2].right == 0


def test_words_with_the_very_same_set_are_those_of_the_aggressive_mapping():
    space = random_space(40, 3, seed=3)
    m = on(space, "custext", k=3, mapping="aggressive", epsilon=1.0)
    crowds = [set(m.rewrite(word, seed=1).views(0)[0].crowd) for word in space.words]
    assert crowds == [set(group.own_sets(space, word, 3)) for word in space.words]
    assert {len(crowd) for crowd in crowds} > {1}, "some stand alone, some do not"


@pytest.mark.slow
def test_a_whole_draw_and_words_spend_the_same_and_the_nearer_one_is_right(monkeypatch):
    one, right = lessons.lesson("whole-sentence"), {}
    for total in (sentence_bank.TOTALS[2], sentence_bank.TOTALS[-1]):
        prepared, n = sentence_bank._word_mechanism()
        spent = example_text.mechanism().replace(epsilon=total / n).guarantee(prepared).total
        assert spent == pytest.approx(total) == one.setting(total).make().guarantee(prepared.text).total
        ours, theirs, near, words = sentence_bank.both(total)
        assert len(ours) == len(theirs) == len(near) == len(words) == sentence_bank.DRAWS
        bank = set(one.setting(total).make().candidates)
        assert set(ours) <= bank and not set(theirs) & bank
        right[total] = one.reveal(total).right
        assert right[total] == (0 if near.mean() > words.mean() else 1)
    assert set(right.values()) == {0, 1}, "the answer turns as the total grows"
    monkeypatch.setattr(sentence_bank, "SAME", 2.0)
    assert one.reveal(sentence_bank.TOTALS[2]).right == 2


def test_equal_privacy_is_that_of_the_core():
    found = told("equal")[2]
    rows = next(p for p in found.parts if isinstance(p, base.Facts)).rows
    for (title, _, epsilon), name in zip(rows, equal_epsilon.NAMES, strict=True):
        c = dpt.calibrate(dpt.get_mechanism(name), {"n_w": equal_epsilon.TARGET}, words=equal_epsilon.WORDS)
        assert c.mechanism.title == title and float(epsilon) == pytest.approx(c.epsilon, rel=0.01)


# --- drawn and printed -----------------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """Tags, attributes and text of a document."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def assert_harmless(html: str) -> Seen:
    seen = Seen(html)
    assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form", "a"} & set(seen.tags)
    names = {name for name, _ in seen.attributes}
    assert not {"src", "href", "srcset", "style", "xlink:href"} & names and not any(n.startswith("on") for n in names)
    return seen


PARTS = (
    base.Bars(HOSTILE, (base.Row(HOSTILE, 0.5, HOSTILE, "original"), base.Row("b", 0.0, "0%"))),
    base.Curves(HOSTILE, HOSTILE, {HOSTILE: ((1.0, 10.0), (0.1, 0.9))}, at=(2.0, HOSTILE)),
    base.Curves("", "", {HOSTILE: ((1.0, 10.0), (0.1, 0.9))}, dots={HOSTILE: ((2.0,), (0.5,))}),
    base.Lane(HOSTILE, (HOSTILE, "b"), (0, 1), (0.7, 0.3), frozenset({"b"}), HOSTILE),
    base.Marked(HOSTILE, ((HOSTILE, ""), (HOSTILE, "kept")), {"kept": HOSTILE}),
    base.Facts((HOSTILE,), ((HOSTILE,),)),
)


@pytest.mark.parametrize("part", PARTS, ids=lambda p: type(p).__name__)
def test_no_word_of_a_part_is_markup(part):
    seen = assert_harmless(drawn.draw(part))
    assert HOSTILE in seen.text


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(dpt.InputError, match="no curve"):
        drawn.draw(base.Curves("t", "y", {}))
    with pytest.raises(dpt.InputError, match="no figure of int"):
        drawn.draw(3)


def test_bars_and_curves_are_as_long_as_their_values():
    bars = drawn.draw(base.Bars("t", (base.Row("a", 0.25, "25%"), base.Row("b", 9.0, "9")), top=1.0))
    assert 'width="25.00"' in bars and 'width="100.00"' in bars
    curve = drawn.draw(base.Curves("t", "y", {"l": ((1.0, 100.0), (0.0, 1.0))}))
    assert 'points="46.0,206.0 426.0,14.0"' in curve, "from the lower left corner to the upper right one"
    assert "<circle" not in curve and "key" not in curve
    dotted = drawn.draw(base.Curves("t", "y", {"l": ((1.0, 100.0), (0.0, 1.0))}, dots={"d": ((10.0,), (0.5,))}))
    assert 'cx="236.0" cy="110.0"' in dotted and dotted.count("<li>") == 2
    assert set(drawn.colours()) == set(drawn.colours(dark=True)) and drawn.colours() != drawn.colours(dark=True)


class Hostile(base.Lesson):
    name, title, goal, task, take_home = "hostile", HOSTILE, HOSTILE, "Move " + HOSTILE, HOSTILE
    said = (HOSTILE, HOSTILE)
    control = base.Control(HOSTILE, (HOSTILE,), HOSTILE)
    door = {"mechanism": "dp-mlm", "epsilon": 50.0}  # noqa: RUF012

    def show(self, value):
        return PARTS

    def ask(self, value):
        return base.Question("Question " + HOSTILE, (HOSTILE, "B"))

    def reveal(self, value):
        return base.Reveal(0, ("Found " + HOSTILE,), (HOSTILE,), PARTS)


def test_a_hand_out_holds_all_it_shows_and_its_answers_come_last():
    html = handout((Hostile(), Hostile()), address="http://host.test/learn?<b>", code="<svg></svg>")
    seen = assert_harmless(html)
    assert "default-src 'none'" in html and "url(" not in html and "@import" not in html
    assert "http://host.test/learn?<b>" in seen.text and seen.tags.count("svg") > 4
    assert seen.text.rindex("Question ") < seen.text.index("Answers\n" if "Answers\n" in seen.text else "Answers")
    assert seen.text.index("Answers") < seen.text.index("Found "), "no answer stands beside its question"
    assert seen.text.count("A. " + HOSTILE) == 2
    assert "Move " not in seen.text, "nothing moves on paper"


def test_a_hand_out_of_lessons_has_their_questions_and_their_answers():
    some = tuple(map(lessons.lesson, QUICK))
    html = handout(some)
    seen = assert_harmless(html)
    for k, one in enumerate(some, 1):
        assert seen.text.count(f"{k}. {one.title}") == 2, one.title
        right = one.reveal(one.control.start).right
        assert f"{'ABCD'[right]}. {one.ask(one.control.start).answers[right]}" in seen.text
    assert "http" not in html.replace("http-equiv", "")
