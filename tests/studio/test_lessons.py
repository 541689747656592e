"""Lessons: their answers are what the core says and change with it; drawn or printed, no word of a text is markup."""

from __future__ import annotations

import dataclasses
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from marks import slow_but
from small_spaces import on, random_space

import dptext_core as dpt
from dptext_core.mechanisms.recommended import recommended
from dptext_core.privacy.distribution import TokenDistribution
from dptext_core.privacy.numbers import odds_text
from dptext_lab.broken_mechanisms import broken
from dptext_lab.findings import verdicts
from dptext_lab.findings.base import OURS
from dptext_lab.findings.evidence import VERDICTS
from dptext_lab.results import authors
from dptext_studio import lessons
from dptext_studio.components import links
from dptext_studio.figures import lessons as drawn
from dptext_studio.figures.handout import handout, solutions
from dptext_studio.lessons import (
    LESSONS,
    base,
    beat_reader,
    broken_audit,
    coin,
    equal_epsilon,
    example_text,
    group,
    many_texts,
    memorisation,
    odds,
    paper_claim,
    polish,
    reader_game,
    redaction,
    remaining_leaks,
    repeated_answers,
    sentence_bank,
    single_word,
    vectors,
)
from dptext_studio.lessons import temperature as temperature_of

#: The others take a second or two each.
QUICK = ("one-word", "polish", "temperature", "vectors", "leaks", "reader", "coin", "odds", "many-texts", "paper")
HOSTILE = "<script>alert('x')</script> & \" <img src=x onerror=y> http://example.org/a.css"


def told(name: str) -> tuple[lessons.Lesson, base.Question, base.Reveal]:
    one = lessons.lesson(name)
    start = one.checked(one.control.start)
    return one, one.ask(start), one.reveal(start)


@pytest.mark.parametrize("name", slow_but(QUICK, [one.name for one in LESSONS]))
def test_a_lesson_is_whole(name):
    one, question, found = told(name)
    assert 2 <= len(one.sentences) <= 3 and one.num_beside_figure < len(one.sentences)
    assert 2 <= len(question.answers) <= 4 and question.text.endswith("?")
    assert 0 <= found.right < len(question.answers) and found.measurements and found.explanation and found.parts
    assert len(found.replies) == len(question.answers), "each wrong answer gets a reply of its own"
    assert all(found.replies[i] for i in range(len(question.answers)) if i != found.right)
    assert len(set(found.replies)) == len(found.replies)
    assert one.take_home.endswith(".") and not re.search(r"[.!?] ", one.take_home), "one sentence to take home"
    assert len(one.title) <= 42, "the button that leads to it shows all of it on a phone"
    assert one.goal.endswith(".") and one.task.endswith((".", "?")) and one.take_home.endswith(".")
    shown = one.show(one.control.start)
    assert shown and all(assert_harmless(drawn.draw(part)) for part in (*shown, *found.parts))
    for value in one.control.values:
        assert one.control.format_value(value)
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
    prepared, means = example_text.bundled().prepared, []
    places = [
        s.index
        for i, s in enumerate(example_text.bundled().rewrite_at(50.0).steps)
        if i in example_text.bundled().sampled
    ]
    for epsilon in single_word.OFFERED:
        m = recommended("dp-mlm", epsilon=epsilon)
        means.append(np.mean([m.distribution(prepared, i).p_keep() for i in places]))
    assert right == int(np.argmin(np.abs(np.array(means) - 0.5)))
    away = np.sort(np.abs(np.array(means) - 0.5))
    assert away[0] < 0.05 and away[1] > 0.1, "one of the offered ε is about half, and no other"
    assert example_text.bundled().kept_shares(single_word.OFFERED) == pytest.approx(np.array(means), abs=1e-9)


def test_a_clean_up_that_looks_at_the_original_breaks_the_guarantee_and_one_of_the_release_cannot():
    m = recommended("santext", epsilon=15.0)
    own, other, loss = polish.odds(15.0, "none")
    assert own == pytest.approx(m.distribution("doctor", 0).p("doctor"))
    assert other == pytest.approx(m.distribution("nurse", 0).p("doctor"))
    assert loss <= 15.0 * m.audit_support.distances(["doctor", "nurse"])[0, 1] * (1 + 1e-9)
    banned = polish.odds(15.0, "no original")
    assert banned[0] == 0.0 and banned[2] == float("inf")
    merged = polish.odds(15.0, "singular")
    both = m.distribution("doctor", 0).p("doctor") + m.distribution("doctor", 0).p("doctors")
    assert merged[0] == pytest.approx(both) and merged[2] <= loss


def test_clipping_and_temperature_are_what_the_mechanism_draws_from():
    own, soft, temperature = temperature_of.distribution_at(example_text.bundled(), 2.0)
    config = dpt.get_mechanism("dp-mlm").config
    assert temperature == pytest.approx(2 * 2 * (config.clip_max - config.clip_min) / temperature_of.EPSILON)
    assert own.probs == pytest.approx(soft.probs, abs=1e-12)


@pytest.mark.parametrize("word", ["river", "banana"])
def test_the_limit_of_two_words_is_epsilon_times_their_distance(word):
    m, found = dpt.get_mechanism("mvc"), vectors.distances(word)
    vector = {w: m.vocabulary.vectors[m.vocabulary.index(w)].astype(float) for w in (word, *found)}
    assert list(found.values()) == sorted(found.values()) and word not in found
    assert all(d == pytest.approx(np.linalg.norm(vector[w] - vector[word]), rel=1e-5) for w, d in found.items())
    one = lessons.lesson("vectors")
    question, reveal = one.ask(word), one.reveal(word)
    times = math.exp(vectors.EPSILON * next(iter(found.values())))
    assert question.answers[reveal.right] == f"Up to {odds_text(math.log(times))}"
    assert len(set(question.answers)) == 3


def test_many_texts_of_an_author_need_the_sum_of_their_budgets():
    one, k = lessons.lesson("many-texts"), reader_game.rules().k
    found, words = many_texts.read_all(many_texts.EPSILON)
    assert len(words) == many_texts.TEXTS[-1] and found.releases == (1, *many_texts.TEXTS)
    success = [e.value for e in found.expected_success]
    assert success == sorted(success) and 1 / k < success[0]
    for row, n in enumerate(found.releases):
        limit = reader_game.ceiling(many_texts.total(many_texts.EPSILON, n), k)
        assert found.ceiling[row] == pytest.approx(limit) and success[row] <= limit
    for n in many_texts.TEXTS:
        reveal = one.reveal(n)
        assert many_texts.total(many_texts.budgets(n)[reveal.right], n) == pytest.approx(many_texts.EPSILON)
        bars = one.show(n)[1]
        assert [r.value for r in bars.rows] == pytest.approx(found.posterior[found.releases.index(n)])


def test_many_texts_reveal_their_author_as_measured(monkeypatch):
    one, best = lessons.lesson("many-texts"), authors.strongest(authors.bundled())
    found = one.reveal(one.control.start)
    table, at = found.parts[-1], {(r.system, r.texts): r.success for r in best}
    names = ["stop words kept", "stop words replaced", "guess: most frequent author"]
    assert [row[0] for row in table.rows] == names and table.head[1:] == ("1 text", "5 texts", "20 texts")
    for name, *cells in table.rows[:2]:
        assert [cell.split(" ")[0] for cell in cells] == [f"{at[f'CusText, {name}', n]:.0%}" for n in (1, 5, 20)]
    sentence = found.measurements[-1]
    shares = [f"{at[f'CusText, stop words {s}', n]:.0%}" for s in ("kept", "replaced") for n in (1, 20)]
    assert re.findall(r"\d+%", sentence) == shares and "11 authors" in sentence
    monkeypatch.setattr(authors, "bundled", tuple)
    without = one.reveal(one.control.start)
    assert len(without.parts) == len(found.parts) - 1 and len(without.measurements) == len(found.measurements) - 1


@pytest.mark.parametrize("name", broken_audit.BROKEN)
def test_the_audit_finds_each_broken_mechanism_by_the_check_that_is_right(name):
    one, report = lessons.lesson("audit"), broken_audit.report(name)
    assert report.verdict == "refuted" and report.mechanism == broken(name).name
    right = one.reveal(name).right
    assert [c.status for c in report.checks if c.name == broken_audit.CHECKS[right]] == ["refuted"]


def test_the_broken_mechanisms_differ_in_where_their_fault_shows():
    assert {broken_audit.found_by(name) for name in broken_audit.BROKEN} == set(broken_audit.CHECKS)


def test_the_claims_of_the_lesson_have_all_four_verdicts_and_the_right_one_is_that_of_the_findings(monkeypatch):
    one, bundled = lessons.lesson("paper"), {f.name: f for f in verdicts.bundled()}
    for name in paper_claim.CLAIMS:
        assert VERDICTS[one.reveal(name).right] == bundled[name].verdict
        text = " ".join(cell for row in one.show(name)[0].rows for cell in row)
        assert bundled[name].numbers[0] in text and bundled[name].of.claim in text and bundled[name].of.paper != OURS
    assert {bundled[name].verdict for name in paper_claim.CLAIMS} == set(VERDICTS)
    for name in paper_claim.CLAIMS:
        (facts,) = lessons.lesson("paper").show(name)
        assert facts.rows[-1][1] == bundled[name].effect, "the number of the verdict, before the question"
    together = lessons.lesson("paper").show("dp_mlm_headline")[0].rows
    medians = [re.search(r"Median difference (\S+)", text)[1] for label, text in together if label == "measured here"]
    assert medians == ["−1.4", "+5.6"] and together[-1][1].startswith("+2.2 points")
    assert together[-1][0] == "effect: all comparisons above"
    first = paper_claim.CLAIMS[0]
    other = {first: dataclasses.replace(bundled[first], verdict=VERDICTS[1])}
    monkeypatch.setattr(paper_claim, "findings", lambda: other)
    assert one.reveal(first).right == 1


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
    note = example_text.bundled().text
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
        lessons.lesson("vectors").checked(typed)


def test_a_value_that_a_control_does_not_have_is_refused():
    with pytest.raises(dpt.InputError, match="Privacy budget must be one of"):
        lessons.lesson("one-word").checked(7.0)


def test_what_leaks_is_counted_on_the_rewrite():
    result = example_text.bundled().rewrite_at(50.0)
    found = remaining_leaks.words(result)
    steps = [s for s in result.steps if any(c.isalnum() for c in s.original)]
    same = sum(not s.is_changed for s in steps)
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
        one, _, found = told("twice")
        assert share[-1] > share[0] and found.right == (2 if share[-1] >= 0.75 else 1)
        bars, table = found.parts
        counts = [row.label for row in bars.rows], [one.control.format_value(int(n)) for n, _ in table.rows]
        assert counts[0] == counts[1] == [one.control.format_value(n) for n in one.control.values], "one list of counts"
    finally:
        repeated_answers.guess_rates.cache_clear()


#: A visitor's text: no word of it is in the bundled example's answers.
OWN = "The plumber repaired our kitchen on Friday. My sister Wilhelmina paid the bill."


def test_answers_are_computed_for_a_text_of_your_own_and_none_of_it_stays():
    own = example_text.Example.of_visitor(f"  {OWN} ")
    taken = [one for one in LESSONS if isinstance(one, lessons.TextLesson)]
    assert [one.name for one in taken] == ["one-word", "temperature", "whole-sentence", "leaks"]
    before = {one.name: one.ask(one.control.start) for one in taken}
    for one in taken:
        mine = one.on(own)
        assert mine == one.on(own) != one, "the same work is not repeated"
        value = one.control.start
        question, found = mine.ask(value), mine.reveal(value)
        assert 0 <= found.right < len(question.answers) and len(set(found.replies)) == len(found.replies)
        written = f"{mine.show(value)} {question} {found}"
        assert not re.search("Halvorsen|heart|disease|doctor|note", written)
        assert one.ask(value) == before[one.name] and OWN not in repr(mine)
    shares = own.kept_shares(single_word.OFFERED)
    assert taken[0].on(own).reveal(20.0).right == int(np.argmin(np.abs(shares - 0.5)))
    assert taken[0].on(own).ask(20.0).text.startswith(f"The text has {len(own.sampled)} words")
    assert remaining_leaks.words(own.rewrite_at(50.0)) != remaining_leaks.words(example_text.bundled().rewrite_at(50.0))


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "no words"), ("12 – 13!", "no words"), ("word " * 130, "649 characters"), ("of the", "words")],
)
def test_an_unsuitable_text_is_refused(text, says):
    with pytest.raises(dpt.InputError, match=says):
        lessons.lesson("one-word").on(example_text.Example.of_visitor(text)).ask(20.0)


def sure(p: float) -> TokenDistribution:
    return TokenDistribution(("heart", "chest"), np.log([p, 1 - p]), "heart", 50.0)


def test_no_answer_is_written_down(monkeypatch):
    """With other chances another answer is right."""
    half_at_10 = lambda self, epsilons: np.where(np.asarray(epsilons) <= 10, 0.5, 1.0)  # noqa: E731
    monkeypatch.setattr(example_text.Example, "kept_shares", half_at_10)
    assert told("one-word")[2].right == 0
    losses = {"none": 2.0, "singular": 3.0, "no original": 1.0}
    monkeypatch.setattr(polish, "odds", lambda epsilon, clean_up: (0.2, 0.1, losses[clean_up]))
    assert told("polish")[2].right == 1
    monkeypatch.setattr(temperature_of, "distribution_at", lambda _, width: (sure(width / 5), sure(width / 5), 1.0))
    assert told("temperature")[2].right == 0
    monkeypatch.setattr(many_texts, "total", lambda epsilon, texts: epsilon)
    assert told("many-texts")[2].right == 0
    monkeypatch.setattr(broken_audit, "found_by", lambda name: "")
    assert lessons.lesson("audit").reveal(broken_audit.BROKEN[0]).right == len(broken_audit.CHECKS)
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
    assert reveal.right == 2 and "with none" in " ".join(reveal.measurements)
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
        prepared, n = one._words()
        spent = example_text.bundled().mechanism.replace(epsilon=total / n).guarantee(prepared).total
        assert spent == pytest.approx(total) == one.setting(total).make().guarantee(prepared.text).total
        ours, theirs, near, words = one.both(total)
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
    sentences = (HOSTILE, HOSTILE)
    control = base.Control(HOSTILE, (HOSTILE,), HOSTILE)
    door = {"mechanism": "dp-mlm", "epsilon": 50.0}  # noqa: RUF012

    def show(self, value):
        return PARTS

    def ask(self, value):
        return base.Question("Question " + HOSTILE, (HOSTILE, "B"))

    def reveal(self, value):
        return base.Reveal(0, ("Found " + HOSTILE,), (HOSTILE,), PARTS)


def test_a_hand_out_holds_all_it_shows_and_no_answer():
    html = handout((Hostile(), Hostile()), address="http://host.test/learn?<b>", code="<svg></svg>")
    seen = assert_harmless(html)
    assert "default-src 'none'" in html and "url(" not in html and "@import" not in html
    assert "http://host.test/learn?<b>" in seen.text and seen.tags.count("svg") > 4
    assert seen.text.count("Question ") == 2 and "Found " not in seen.text and "Answers" not in seen.text
    assert "Move " not in seen.text, "nothing moves on paper"


def test_solutions_hold_every_answer_and_a_score_sheet_without_names():
    seen = assert_harmless(solutions((Hostile(), Hostile())))
    assert seen.text.count("A. " + HOSTILE) == 2 and seen.text.count("Found ") == 2
    for epsilon in reader_game.rules().epsilons:
        assert base.epsilon_text(epsilon) + beat_reader.limit_text(reader_game.ceiling(epsilon, 4)) in seen.text


def test_a_hand_out_of_lessons_has_their_questions_and_the_solutions_their_answers():
    some = tuple(map(lessons.lesson, QUICK))
    paper, answers = handout(some), solutions(some)
    asked, answered = assert_harmless(paper).text, assert_harmless(answers).text
    for k, one in enumerate(some, 1):
        assert asked.count(f"{k}. {one.title}") == answered.count(f"{k}. {one.title}") == 1, one.title
        start = one.control.start
        question, reveal = one.ask(start), one.reveal(start)
        assert f"{'ABCD'[reveal.right]}. {question.answers[reveal.right]}" in answered
        assert question.text in asked and reveal.explanation[0] not in asked
    assert "http" not in (paper + answers).replace("http-equiv", "")
