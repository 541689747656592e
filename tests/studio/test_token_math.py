"""What the token view works out in the browser is what the core works out: the same cases through both."""

from __future__ import annotations

import dataclasses
import sys
import unicodedata
from collections import Counter

import numpy as np
import pytest
from e2e.strip_harness import (
    LIST_HI,
    LIST_LO,
    LIST_TEXT,
    CountedChannel,
    FakeConfig,
    GateChannel,
    Stated,
    fake_rewrite,
    list_payload,
)
from small_banks import meaningless
from small_spaces import on, random_space
from small_spaces import words as small_words
from studio.test_token_payload import keys
from tiny_generators import tiny_generator
from token_engine import call, chances, texts

import dptext_core as dpt
from dptext_core import attacks
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.models import sentence_encoder
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH
from dptext_core.text.skeleton import Edit
from dptext_studio.figures import token_channels
from dptext_studio.figures.belief_view import belief_curve, belief_view
from dptext_studio.figures.token_payload import (
    AttackMarks,
)
from dptext_studio.figures.token_view import attack_marks, payload, probabilities_at

LOW, HIGH = 5.0, 500.0
TEXT = "The doctor told my friend that the pain was bad.\nShe went home 🙂 <b>again</b>! i'm sick."
#: Ends and points of the grids, and what lies between them.
EPSILONS = [LOW, 5.1, *np.geomspace(LOW, HIGH, 17)[1:-1] * 1.003, 499.0, HIGH]
LISTED = [LIST_LO, 0.1003, *np.geomspace(LIST_LO, LIST_HI, 17)[1:-1] * 1.003, 9.97, LIST_HI]

WORDS = (
    "doctor",
    "ßen",
    "ŉa",
    "ǆabc",
    "ﬁnd",
    "i",
    "i'm",
    "i’ll",
    "'tis",
    "‘quoted’",
    "3rd",
    "🙂ok",
    "<b>x</b>",
    "&amp;",
    "e\u0301a",
    "\u0345a",
    "𐐨𐐩",
    "ⓐb",
    "აბგ",
    "ömer",
    "ıslak",
    "ñu",
    "İstanbul",
    "жизнь",
    "العربية",
    "שלום",
    "日本",
    "a\u200db",
    "$&",
    "\\u0061",
    "`${x}`",
    "</script>",
    "\u2028line",
    '"quoted"',
    "",
    "…",
    "McX",
    "éÉ",
)


def capitals(words):
    return call("capitals", list(words))


def test_a_word_gets_its_capital_where_the_core_gives_it():
    assert capitals(WORDS) == [ENGLISH.case(word, True) for word in WORDS]


@pytest.mark.slow
def test_every_character_gets_its_capital_as_in_the_core():
    """All that have a case, and one in 64 of those without. Characters that Python does not know yet are left out."""
    every = [chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) not in ("Cn", "Cs")]
    known = [c for i, c in enumerate(every) if c.upper() != c or c.lower() != c or c.title() != c or i % 64 == 0]
    words = [f"“{c}b" for c in known]
    differ = [
        (word, mine, theirs)
        for word, mine, theirs in zip(words, (ENGLISH.case(w, True) for w in words), capitals(words), strict=True)
        if mine != theirs and all(unicodedata.category(c) != "Cn" for c in theirs)
    ]
    assert not differ and len(known) > 4_000


# --- released text


@pytest.mark.parametrize(
    ("name", "options"),
    [("dp-mlm", {}), ("dp-mlm", {"recase": "none"}), ("dp-mlm-plus", {"add_prob": 0.4, "del_prob": 0.3})],
)
def test_the_strip_splices_what_a_rewrite_at_that_epsilon_releases(tiny_model, name, options):
    m = dpt.get_mechanism(name, model=tiny_model, **options)
    stream, prepared = dpt.NoiseStream(3), m.prepare(TEXT)
    shown = payload(m.rewrite(prepared, stream=stream), run=1, low=LOW, high=HIGH, default=50.0)
    results = [m.replace(epsilon=float(e)).rewrite(prepared, stream=stream) for e in EPSILONS]
    released = texts(shown, EPSILONS)
    assert released == [r.text for r in results] and len(set(released)) > 1
    changed = [sum(s.action == "replace" and s.is_changed for s in r.steps) for r in results]
    assert call("changed", shown, EPSILONS) == changed


def test_channels_and_words_outside_the_vocabulary_are_spliced_as_they_were_drawn():
    shown = list_payload()
    some = LISTED[::2]
    assert texts(shown, some) == [fake_rewrite(LIST_TEXT, e).text for e in some]


def hostile(epsilon: float) -> dpt.RewriteResult:
    """Each word of a text exchanged for a hostile one, with a capital where a sentence begins."""
    document = Document.parse("One two <b>three</b>. Four\n\nfive 🙂 six! “Seven eight” (nine) $& ten")
    drawn = [token.kind == "word" for token in document.tokens]
    skeleton = document.skeleton(drawn)
    starts, stream = skeleton.starts(), dpt.NoiseStream(5)
    words = [ENGLISH.case(w, False) for w in WORDS if w]
    table = dpt.ScoreTable(words, np.linspace(0.5, 0.49, len(words)))
    picked = [words[table.draw(epsilon, stream.at(i))] for i in range(len(drawn))]
    new = [ENGLISH.case(w, start) if d else None for w, start, d in zip(picked, starts, drawn, strict=True)]
    out = skeleton.render([Edit(w) for w in new])
    steps = tuple(
        dpt.Step(
            (t.start, t.end),
            t.text,
            t.text if new[i] is None else new[i],
            "replace" if drawn[i] else "keep",
            "" if drawn[i] else "symbol",
            epsilon if drawn[i] else 0.0,
            out.spans[i],
            i,
            starts[i],
        )
        for i, t in enumerate(document.tokens)
    )
    guarantee = dpt.Guarantee("none", epsilon, "word", "", len(steps), 0.0, reason="made up")
    return dpt.RewriteResult(
        out.text,
        document.text,
        steps,
        guarantee,
        "hostile",
        FakeConfig(epsilon),
        None,
        "",
        Stated(lambda k: table.at(epsilon), lambda k: (table, stream.at(k))),
    )


def test_hostile_words_leave_as_the_core_writes_them():
    shown = payload(hostile(50.0), run=1, low=LOW, high=HIGH, default=50.0)
    assert any(t["cap"] for t in shown["tokens"] if "c" in t)
    released = texts(shown, EPSILONS)
    assert released == [hostile(e).text for e in EPSILONS]
    assert len(set(released)) > 1 and len({t["c"][t["flips"][0][1]] for t in shown["tokens"] if "c" in t}) > 5


# --- chances


def of_words(d: dpt.TokenDistribution) -> Counter[str]:
    """What ``d.p`` says of each word in lower case, by one pass over all."""
    found: Counter[str] = Counter()
    for word, p in zip(d.candidates, d.probs.tolist(), strict=True):
        found[word.casefold()] += p
    return found


def test_chances_of_scores_are_those_of_the_core(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model)
    r = m.rewrite(TEXT)
    shown = payload(r, run=1, low=LOW, high=HIGH, default=50.0)
    seen = 0
    for epsilon, tokens in zip(EPSILONS, chances(shown, EPSILONS), strict=True):
        for k, (token, found) in enumerate(zip(shown["tokens"], tokens, strict=True)):
            if found is None:
                continue
            exact = of_words(r.locked(k)[0].at(epsilon))
            assert found == pytest.approx([exact[word.casefold()] for word in token["c"]], rel=5e-5, abs=1e-12)
            seen += len(found)
    assert seen > 1500


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-mlm", "custext", "diffractor", "dp-sentence"])
def test_between_the_points_of_a_curve_chances_are_right_or_said_to_be_rough(name, tiny_model):
    """Of scores, of closed forms, and of what bends; from a public start, too."""
    cls = dpt.mechanism_class(name)
    starts = [option_meta(f).choices or () for f in dataclasses.fields(cls.config_cls) if f.name == "prior"]
    off = {True: 0.0, False: 0.0}
    for options in ({}, {"prior": "frequency"})[: 1 + any("frequency" in choices for choices in starts)]:
        m = dpt.get_mechanism(name, **options, **({"model": tiny_model} if name == "dp-mlm" else {}))
        low, high, default = m.epsilon_range()
        stream, prepared = dpt.NoiseStream(5), m.prepare("My doctor paid.")
        result = m.rewrite(prepared, stream=stream)
        assert {"sweep", "distribution"} <= result.can and not result.no_chances
        shown = payload(result, run=1, low=low, high=high, default=default)
        epsilons = [float(e) for e in np.geomspace(low * 1.01, high * 0.99, 6)]
        for epsilon, tokens in zip(epsilons, chances(shown, epsilons), strict=True):
            for k, (token, found) in enumerate(zip(shown["tokens"], tokens, strict=True)):
                if found is None or token.get("draws"):
                    continue
                every = of_words(result.locked(k)[0].at(epsilon))
                bent = bool(token.get("bent"))
                for word, p in zip(token["c"], found, strict=True):
                    if p is not None and (exact := every[word.casefold()]) > 1e-3:
                        off[bent] = max(off[bent], abs(p / exact - 1))
    assert off[False] < 2e-3
    assert (off[True] > 0.01) == (name == "dp-sentence"), "what is called rough is"


def test_where_the_page_rests_rough_chances_are_exact():
    """The server tells them for the ε that it hears of; the words that they belong to have none of their own beside."""
    m = dpt.get_mechanism("dp-sentence")
    low, high, default = m.epsilon_range()
    stream, prepared = dpt.NoiseStream(5), m.prepare("My doctor paid.")
    shown = payload(m.rewrite(prepared, stream=stream), run=1, low=low, high=high, default=default)
    compared = 0
    for epsilon in np.geomspace(low * 1.01, high * 0.99, 2).tolist():
        result = m.replace(epsilon=epsilon).rewrite(prepared, stream=stream)
        drawn = [k for k, t in enumerate(shown["tokens"]) if "c" in t]
        some = probabilities_at(result, shown, drawn[:1])
        assert set(some["lp"]) == {str(drawn[0])} and some["eps"] == epsilon
        told = shown | {"here": probabilities_at(result, shown)}
        (at_rest,), (moved,) = chances(told, [epsilon]), chances(told, [epsilon * 1.02])
        assert moved == chances(shown, [epsilon * 1.02])[0], "they are of one ε alone"
        assert call("rough_at", told, epsilon) == [False] * len(drawn)
        assert call("rough_at", told, epsilon * 1.02) == call("rough_at", shown, epsilon) == [True] * len(drawn)
        for k in drawn:
            every = of_words(result.distribution(k))
            exact = [every[c.casefold()] for c in shown["tokens"][k]["c"]]
            assert at_rest[k] == pytest.approx(exact, rel=2e-8, abs=1e-300)
            compared += len(exact)
    assert compared > 30
    word = dpt.get_mechanism("mvc").rewrite("My doctor paid.", seed=1)
    assert probabilities_at(word, payload(word, run=1, low=1.0, high=9.0, default=2.0)) is None


def test_what_cannot_be_and_what_hardly_can_are_told_apart():
    table = dpt.ScoreTable(("often", "hardly", "never"), np.array([0.0, -500.0, -np.inf]), "often")
    shown = payload(
        fake_rewrite("word", channels=lambda _: ("replace", table, "")), run=1, low=1.0, high=9.0, default=1
    )
    ((token,),) = chances(shown, [9.0])
    by_word = dict(zip(shown["tokens"][0]["c"], map(lambda p: call("percent", p), token), strict=True))
    assert by_word == {"often": ">99.9%", "hardly": "< 0.01%"} | ({"never": "0%"} if "never" in by_word else {})


@pytest.mark.slow
def test_chances_on_a_grid_are_those_of_the_core():
    """Smooth ones everywhere; counted ones on the grid, and on a line between two of its points; vanishing ones there
    within the ends of the line."""
    r, shown = fake_rewrite(LIST_TEXT), list_payload()
    grid = np.geomspace(LIST_LO, LIST_HI, shown["lp_grid"])
    epsilons = sorted({*LISTED[::2], *grid[::24].tolist()})
    compared = {"exact": 0, "line": 0, "within": 0}
    for epsilon, tokens in zip(epsilons, chances(shown, epsilons), strict=True):
        for k, (token, found) in enumerate(zip(shown["tokens"], tokens, strict=True)):
            if found is None or "lp" not in token:
                continue
            channel = r.locked(k)[0]
            known = [j for j, p in enumerate(found) if p is not None]
            which, mine = [channel.candidates.index(token["c"][j]) for j in known], [found[j] for j in known]
            i = min(np.searchsorted(grid, epsilon, side="right") - 1, len(grid) - 2)
            if np.isclose(grid, epsilon, rtol=1e-12).any() or not isinstance(channel, CountedChannel | GateChannel):
                kind, expected = "exact", channel.at(epsilon).probs[which]
            else:
                a, b = channel.at(float(grid[i])).probs[which], channel.at(float(grid[i + 1])).probs[which]
                share = np.log(epsilon / grid[i]) / np.log(grid[i + 1] / grid[i])
                kind, expected = "line", (1 - share) * a + share * b
                if isinstance(channel, GateChannel):
                    kind, expected = "within", np.clip(mine, np.minimum(a, b), np.maximum(a, b))
            assert mine == pytest.approx(expected, rel=2e-3, abs=2e-5), (kind, token["o"], epsilon)
            compared[kind] += len(known)
    assert compared["exact"] > 2_500 and compared["line"] > 100 and compared["within"] > 10


def test_a_word_changes_from_its_point_on():
    shown = list_payload()
    token = max(shown["tokens"], key=lambda t: len(t.get("flips", ())))
    points = [e for e, _ in token["flips"]]
    words = [token["c"][j] for _, j in token["flips"]]
    assert len(points) > 5
    alone = shown | {"tokens": [token], "tail": ""}
    assert [text.strip() for text in texts(alone, points)] == words
    assert [text.strip() for text in texts(alone, [e * (1 - 1e-6) for e in points[1:]])] == words[:-1]


def test_a_chance_is_unknown_only_where_the_word_is_not_released():
    shown = list_payload()
    unknown = 0
    for epsilon, tokens in zip(LISTED, chances(shown, LISTED), strict=True):
        for token, found in zip(shown["tokens"], tokens, strict=True):
            if found is not None:
                now = int([j for e, j in token["flips"] if e <= epsilon][-1])
                assert found[now] is not None and (token["src"] < 0 or found[token["src"]] is not None)
                unknown += found.count(None)
    assert unknown > 100


@pytest.mark.parametrize("impossible", range(10))
def test_a_chance_beside_an_impossible_one_lies_on_a_line(impossible):
    """Of six points around a place none may be impossible: ln p has no smooth curve through it."""
    row = [-0.5 * j for j in range(10)]
    row[impossible] = token_channels.FLOOR
    token = {"lp": [row], "off": [0], "last": 9, "draws": 0}
    ends = np.exp(row[4:6])
    expected = np.mean(ends) if 2 <= impossible <= 7 else np.sqrt(np.prod(ends))
    assert call("chance", token, 0, 1.0, 4.5 / 9) == pytest.approx(expected, rel=1e-9)


def test_interpolation_is_that_of_a_polynomial_through_six_points():
    polynomial = np.polynomial.Polynomial([0.3, -1.0, 0.5, 0.2, -0.03, 0.001])
    values = polynomial(np.arange(12.0)).tolist()
    for x in (0.0, 0.4, 1.0, 3.7, 10.2, 11.0):
        assert call("interpolate", values, x) == pytest.approx(polynomial(x), rel=1e-9)
    assert call("interpolate", [1.0, 2.0, 4.0], 1.0) == 2.0


@pytest.mark.parametrize("along", [True, False])
def test_what_an_attacker_would_get_is_that_of_the_core_at_every_epsilon_where_it_is_known(along):
    space = random_space(40, 5, seed=3)
    m = on(space, "custext", k=6, epsilon=4.0)
    text = m.prepare(f"{' '.join(m.vocabulary.words[:6])} xyzzy, 7")
    r = m.rewrite(text)
    ends = {"low": 0.5, "high": 30.0} if along else {}
    marks = attack_marks(r, attacks.word_success(m, text, **ends))
    assert keys(AttackMarks) >= set(marks) and ("along" in marks) == along
    for epsilon in (0.5, 1.7, 4.0, 9.3, 30.0):
        at = on(space, "custext", k=6, epsilon=epsilon)
        expected = attacks.word_success(at, text) if along or epsilon == 4.0 else None
        for k, step in enumerate(r.steps):
            found = call("named", marks, k, epsilon)
            if step.action != "replace" or expected is None:  # NaN comes back as None
                assert found is None
            else:
                assert found == pytest.approx(expected.success.get(step.index, 0.0), abs=1e-9)
    assert [step.action for step in r.steps][6:] == ["replace", "keep", "replace"], (
        "unknown words are drawn, and never named"
    )


GROUPS = {"k": 4, "mapping": "conservative"}


@pytest.mark.parametrize(("name", "options", "most"), [("santext", {}, 3), ("custext", GROUPS, 1)])
def test_a_belief_is_that_of_the_core_at_its_points_and_between_them_in_log_odds(name, options, most):
    a, b, c, d = small_words(12)[:4]
    m = on(random_space(12), name, epsilon=2.0, **options)
    question = dpt.BeliefQuestion.make(m, f"{d} {a}", a, [b, c])
    stream, epsilons = dpt.NoiseStream(5), [0.5, 2.0, 8.0]
    curve = belief_curve(question, question.prepared[0], stream, epsilons)
    rest = question.answer(m.replace(epsilon=3.0).rewrite(question.prepared[0], stream=stream))
    view = belief_view(question, curve, [1], (3.0, rest))
    for epsilon, belief in (*curve.items(), (3.0, rest)):
        found = call("believed", view, epsilon)
        assert found["exact"] and found["p"] == pytest.approx(belief.posterior, abs=1e-6)
        assert found["ceiling"] == pytest.approx(belief.ceiling, abs=1e-6) and found["guess"] == int(belief.guess)
    between = call("believed", view, 1.0)
    possible = [j for j in range(3) if curve[0.5].posterior[j] and curve[2.0].posterior[j]]
    assert not between["exact"] and sum(between["p"]) == pytest.approx(1) and len(possible) == most
    odds = [np.log(p[possible] / p[possible[0]]) for p in (curve[0.5].posterior, curve[2.0].posterior)]
    shown = np.array(between["p"])[possible]
    assert np.log(shown / shown[0]) == pytest.approx(np.mean(odds, axis=0), abs=1e-4)
    assert call("believed", view, 0.4) is None


@pytest.mark.parametrize("name", ["redact", "surrogates"])
def test_a_mechanism_without_a_guarantee_covers_no_word_of_a_belief(name):
    question = dpt.BeliefQuestion.make(dpt.get_mechanism(name), "Omar has lost weight.", "weight", ["hope"])
    belief = question.answer(question.mechanism.rewrite(question.prepared[0]))
    view = belief_view(question, {1.0: belief}, [3], (1.0, belief))
    assert view["covered"] == [False, False] and np.exp(view["now"]["log"]) == pytest.approx([1.0, 0.0])


def test_the_mark_is_the_last_point_up_to_which_the_reader_is_at_most_so_sure():
    a, b, c, d = small_words(12)[:4]
    m = on(random_space(12), "santext", epsilon=2.0)
    question = dpt.BeliefQuestion.make(m, f"{d} {a}", a, [b, c])
    epsilons, marks = np.geomspace(0.5, 16.0, 12).tolist(), set()
    for seed in range(12):
        curve = belief_curve(question, question.prepared[0], dpt.NoiseStream(seed), epsilons)
        view = belief_view(question, curve, [1], (epsilons[0], curve[epsilons[0]]))
        for most in (0.1, 0.4, 0.5, 0.8, 1.0):
            unsure = [float(curve[e].certainty) <= most for e in epsilons]
            last = unsure.index(False) - 1 if False in unsure else -1
            assert call("surestAt", view, most) == (epsilons[last] if last >= 0 else None)
            marks.add(last)
    assert len(marks) > 4


def test_sentences_and_empty_slots_are_spliced_as_the_core_does(small_bank, monkeypatch):
    """At every ε, whatever was drawn as nothing at the one that the data were made at."""
    monkeypatch.setattr(sentence_encoder, "embed", meaningless)
    epsilons = [5.0, *np.geomspace(5.0, 200.0, 23)[1:-1] * 1.003, 200.0]
    empty = 0
    for seed in range(6):
        m = dpt.get_mechanism("dp-sentence", bank=small_bank, slots=3, epsilon=7.0 if seed % 2 else 150.0)
        p = m.prepare("" if seed == 5 else "My friend was ill.")
        data = payload(m.rewrite(p, seed=seed), run=1, low=5.0, high=200.0, default=50.0)
        made = [m.replace(epsilon=e).rewrite(p, seed=seed) for e in epsilons]
        assert texts(data, epsilons) == [r.text for r in made]
        empty += sum(not u.text for r in made for u in r.units)
    assert empty > 50


@pytest.mark.parametrize("kind", ["gpt2", "t5"])
def test_pieces_that_are_listed_otherwise_are_spliced_as_they_were_written(kind, tmp_path, monkeypatch):
    """Pieces of words, blanks, half characters and the end are listed by names of their own."""
    model = str(tiny_generator(tmp_path / kind, kind))
    m = dpt.get_mechanism("dp-prompt", model=model, epsilon=60.0, max_tokens=10)
    for seed in range(4):
        if seed == 3:
            drawn = iter([50, 60, m.generator().end])
            monkeypatch.setattr(dpt.ScoreTable, "draw", lambda self, epsilon, stream, drawn=drawn: next(drawn))
        r = m.rewrite("The doctor told my friend that the pain was bad.", seed=seed)
        data = payload(r, run=1, low=LOW, high=HIGH, default=60.0)
        assert texts(data, [60.0]) == [r.text]
        (shown,) = chances(data, [60.0])
        for k, token in enumerate(data["tokens"]):
            at = [c for c, _ in enumerate(token["c"])][token["flips"][0][1]]
            assert token["t"] == r.releases[k].text
            assert token["c"][at] == r.distribution(k).candidates[r.candidate(k)]
            assert shown[k][at] == pytest.approx(r.distribution(k).probs[r.candidate(k)], rel=1e-4, abs=1e-7)
    assert r.candidate(2) == m.generator().end and data["tokens"][2]["t"] == ""


def test_meaning_is_interpolated_between_measured_texts_and_exact_at_rest():
    at = {"at": [10.0, 40.0], "cosine": [0.2, 0.8], "all": False}
    assert call("kept", at, 20.0) == {"share": pytest.approx(0.5), "exact": False}
    assert call("kept", at | {"now": {"eps": 20.0, "cosine": 0.4}}, 20.0) == {"share": 0.4, "exact": True}
    assert call("kept", at | {"all": True}, 20.0) == {"share": 0.2, "exact": True}
    assert [call("likeness", c) for c in (0.2, 0.7, 1.0)] == ["another topic", "loose paraphrase", "unchanged"]
