"""The sentences and figures of an audit's report, each way of saying and both sides of each threshold."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

import dptext_core as dpt
from dptext_core.auditing.report import AuditReport, Check, Witness, _capital, _plain, format_probability, format_share

WITNESS = Witness("cat", "dog", ("sun",), math.log(0.5), math.log(0.25), 1.0)
REPORT = AuditReport(
    "m",
    2.0,
    "pure",
    2.0,
    1.5,
    True,
    0.7,
    "holds",
    "",
    WITNESS,
    "",
    3,
    2,
    (),
    40,
    0.5,
    0.95,
    checks=(
        Check("a", "proven", "formulas were compared."),
        Check("b", "tested", "words were drawn.", blind="a leak; nor a loss", draws=40),
        Check("c", "not tested", "", "no list was given."),
    ),
)
REST = "Inputs that were not tried may lose more."


@pytest.mark.parametrize(
    ("log_p", "said"),
    [
        (-math.inf, "0"),
        (0.0, "1"),
        (math.log(0.123), "0.12"),
        (math.log(1.01e-4), "0.0001"),
        (math.log(1e-4), "1.0e-4"),
        (math.log(2.5e-7), "2.5e-7"),
        (-800.0, "3.7e-348"),
    ],
)
def test_a_chance(log_p, said):
    assert format_probability(log_p) == said


@pytest.mark.parametrize(
    ("leak", "said"),
    [
        (0.0007, "0.07%"),
        (0.00701, "0.71%"),
        (0.0099, "0.99%"),
        (0.01, "1.0%"),
        (0.0311, "3.2%"),
        (0.031, "3.1%"),
        (0.0999, "10.0%"),
        (0.1, "10%"),
        (0.631, "64%"),
        (1.0, "100%"),
        (0.0, "0.00%"),
    ],
)
def test_a_share_is_rounded_up(leak, said):
    assert format_share(leak) == said


def test_a_sentence_begins_with_its_capital_and_a_symbol_stays():
    assert [_capital(x) for x in ("abc", "zbc", "δ is", "Abc", "", "{x", "`x")] == [
        "Abc",
        "Zbc",
        "δ is",
        "Abc",
        "",
        "{x",
        "`x",
    ]


def test_plain_values():
    told = {"a": (math.inf, [-math.inf, 1.5, 3, "x", None, {"b": math.inf}])}
    assert _plain(told) == {"a": ["inf", ["-inf", 1.5, 3, "x", None, {"b": "inf"}]]}


def test_the_sentences_of_a_witness():
    assert (WITNESS.output, WITNESS.p_first, WITNESS.p_second) == ("sun", pytest.approx(0.5), pytest.approx(0.25))
    assert WITNESS.sentence() == "“sun” has probability 0.5 under “cat” and 0.25 under “dog”."
    never = replace(WITNESS, log_p_second=-math.inf, first_at="c", second_at="d", outputs=("sun", "rain"))
    assert never.sentence() == (
        "One of 2 words (such as “sun”) has probability 0.5 under “c” in “cat” and never under “d” in “dog”."
    )
    drawn = replace(WITNESS, kind="sampler")
    assert drawn.sentence() == (
        "Under “cat”, “sun” was sampled with frequency 0.5; its stated probability is 0.25."
    )
    assert replace(WITNESS, details="So it was.").sentence() == "So it was."
    for end, stop in (("dog.", ""), ("dog!", ""), ("dog?", ""), ("dog,", ".")):
        assert replace(WITNESS, second=end).sentence().endswith(f"“{end}”{stop}")


def test_a_witness_of_a_rule_is_of_one_text_or_of_two():
    one, two = Witness.of_rule("Told.", "x"), Witness.of_rule("Told.", "x", "y", at="z", kind="release")
    assert one == Witness("x", "x", (), 0.0, 0.0, 0.0, None, None, "sampler", "Told.")
    assert two == Witness("x", "y", (), 0.0, 0.0, 0.0, "z", None, "release", "Told.")


def test_a_check_has_a_known_status():
    with pytest.raises(dpt.ConfigError, match="proven, tested, refuted, not tested, not 'seen'"):
        Check("a", "seen", "")


def test_a_report_that_holds():
    report = REPORT
    assert report.holds and report.line == "No violation found in the cases tested ✓"
    assert report.blind == ("a leak", "a loss")
    assert report.first() == (
        "over 3 inputs (2 pairs), the largest loss is 1.5, and the guarantee allows 2 (one output at most 7.39 times "
        f"as likely). The draws could not detect a leak. Also not detectable: a loss. {REST}"
    )
    assert report.parts() == (
        ("proven", ("Formulas were compared.",)),
        ("tested", ("Words were drawn.",)),
        ("not tested", ("No list was given.",)),
    )
    assert report.lines() == (
        report.line,
        f"O{report.first()[1:]}",
        "Proven: Formulas were compared.",
        "Tested: Words were drawn.",
        "Not tested: No list was given.",
    )
    assert report.details() == (
        f"{report.line}: {report.first()} Proven: Formulas were compared. Tested: Words were drawn. Not tested: No "
        "list was given."
    )
    twice = replace(report, checks=(*report.checks, *report.checks))
    assert twice.parts() == report.parts() and twice.blind == report.blind
    assert replace(report, checks=()).first() == report.first().replace(
        ". The draws could not detect a leak. Also not detectable: a loss", ""
    )
    assert len(replace(report, checks=()).lines()) == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"inputs": 1, "pairs": 1}, "over 1 input (1 pair), the largest loss is 1.5, and the guarantee allows 2 (one"),
        ({"unit": "places"}, "the largest loss is 1.5 per unit of distance (places), and the guarantee allows 2. The"),
        ({"claimed": 20.8}, "and the guarantee allows 20.8. The draws"),
        ({"claimed": 20.7}, "and the guarantee allows 20.7 (one output at most"),
        ({"delta": 0.01}, "loss is 1.5 beyond δ = 0.01, and the guarantee allows 2 with δ = 0.01. The draws"),
        ({"of": "the whole output"}, "the largest loss is 1.5 for the whole output, and"),
        ({"of": "the whole output", "delta": 0.01}, "is 1.5 for the whole output beyond δ = 0.01, and"),
        ({"exact": False}, "the loss is at least 1.5 (with 95% confidence), and"),
        ({"inputs": 3000, "pairs": 2000}, "over 3,000 inputs (2,000 pairs), the"),
    ],
)
def test_a_report_that_holds_names_what_its_figures_are_of(changed, said):
    assert said in replace(REPORT, **changed).first()


def test_a_refuted_report():
    report = replace(REPORT, verdict="refuted", measured=2.5)
    assert not report.holds and report.line == "Violated ✗" and report.parts() == ()
    assert report.first() == (
        "the largest loss is 2.5, over 3 inputs (2 pairs), where the guarantee allows 2 (one output at most 7.39 times "
        f"as likely). {WITNESS.sentence()}"
    )
    assert replace(report, witness=None, reason="It leaks.").first() == "It leaks."
    assert replace(report, reason="It leaks.").first() == f"It leaks. {WITNESS.sentence()}"
    infinite = replace(report, measured=math.inf)
    impossible = "a released word is possible under one input and impossible under another (an infinite loss), over"
    assert infinite.first().startswith(impossible)
    assert replace(infinite, exact=False).first().startswith(impossible)
    assert replace(infinite, verdict="holds").first().startswith(f"over 3 inputs (2 pairs), {impossible[:-6]}")


def test_a_refuted_report_has_as_many_digits_as_tell_its_two_figures_apart():
    near = replace(REPORT, verdict="refuted", measured=2.00000123)
    assert (near.loss, near.limit) == ("2.00000123", "2")
    assert (replace(near, verdict="holds").loss, replace(near, verdict="holds").limit) == ("2", "2")
    far, below = replace(near, measured=2.5), replace(near, measured=1.5)
    assert (far.loss, far.limit, below.loss, below.limit) == ("2.5", "2", "1.5", "2")
    under = replace(near, claimed=1.99999877, measured=2.0)
    assert (under.loss, under.limit) == ("2", "1.99999877")


def test_a_report_that_cannot_tell():
    report = replace(REPORT, verdict="inconclusive", reason="Few were drawn.", measured=1.5)
    message = "Few were drawn. Measured over 3 inputs (2 pairs): the largest loss is 1.5"
    assert report.line == "Inconclusive" and report.first() == f"{message}."
    assert replace(report, pairs=0).first() == "Few were drawn."
    nothing = replace(report, claimed=math.inf)
    assert nothing.first() == f"{message}."
    beyond = "That exceeds the nominal ε = 1.2 of one draw, which is no guarantee."
    assert replace(nothing, epsilon=1.2).first() == f"{message}. {beyond}"
    assert replace(nothing, epsilon=1.5).first() == f"{message}." == replace(report, epsilon=1.2).first()
    assert "nominal" not in replace(nothing, epsilon=1.2, of="the whole output").first()


def test_a_report_in_plain_values():
    own = replace(REPORT, measured=math.inf).to_dict()
    assert (own["measured"], own["holds"], own["line"]) == ("inf", True, "No violation found in the cases tested ✓")
    assert own["witness"]["p_first"] == pytest.approx(0.5) and own["witness"]["p_second"] == pytest.approx(0.25)
    assert own["witness"]["sentence"] == WITNESS.sentence() and own["checks"][1]["draws"] == 40
    assert replace(REPORT, witness=None).to_dict()["witness"] is None


def test_the_sentence_is_short_for_every_report():
    """It depends on these fields alone, so this covers every mechanism. A number of any size is one word."""
    numbers = (0.0, 1.234567e-9, 1.5, 123_456.789, 1.234e17, math.inf)
    names = ("released text", "a check of a long name, with the words of its whole file")
    longest = 0
    for verdict, claimed, measured, exact, unit in itertools.product(
        ("holds", "refuted", "inconclusive"), numbers, numbers, (True, False), ("", "place on the list")
    ):
        for name, reason, inputs, pairs in itertools.product(names, ("", "It leaks."), (1, 12_345), (0, 9)):
            report = replace(
                REPORT,
                verdict=verdict,
                claimed=claimed,
                measured=measured,
                exact=exact,
                unit=unit,
                reason=reason,
                inputs=inputs,
                pairs=pairs,
                checks=(Check(name, "refuted", ""),),
            )
            longest = max(longest, len(report.sentence().split()))
    assert 30 < longest <= 40


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "No violation found in the cases tested ✓: the largest loss is 1.5 over 3 inputs, and the guarantee",
        ),
        (
            {"unit": "places", "exact": False, "inputs": 1},
            "loss is at least 1.5 per unit of distance over 1 input, and",
        ),
        ({"verdict": "refuted", "measured": math.inf}, "Violated ✗: the largest loss is infinite over 3 inputs, where"),
        ({"verdict": "refuted", "reason": "It leaks."}, "Violated ✗: the check “the release” failed."),
        (
            {"verdict": "inconclusive", "claimed": math.inf},
            "Inconclusive: the largest loss is 1.5 over 3 inputs, and no",
        ),
        ({"verdict": "inconclusive", "pairs": 0}, "Inconclusive: nothing could be compared. The details explain why"),
    ],
)
def test_the_sentence_is_short_and_the_details_have_everything(changed, said):
    report = replace(REPORT, **changed)
    assert said in report.sentence() and len(report.sentence().split()) <= 40
    assert report.first() in report.details()
