"""What each setting keeps of a text and what it hides: the points, what is read from them, and the command."""

from __future__ import annotations

import csv
import dataclasses
import io

import numpy as np
import pytest
from foreign import Generator, Latent, Swap
from scipy import stats

import dptext_core as dpt
from dptext_core import cli
from dptext_core.attacks import two_texts, which_text
from dptext_core.measure import calibration, metrics, target_figures, trade_off
from dptext_core.measure.target_figures import TargetFigure
from dptext_core.measure.trade_off import TradeOffPoint, Value, add_metrics, pareto_front, tradeoff
from dptext_core.measure.trade_off_advice import advise, has_enough_points, unreadable_note
from dptext_core.measure.trade_off_settings import grid, second_option
from dptext_core.privacy.sampling import NoiseStream

TEXT = "My doctor sent a letter to my sister."
EPSILONS = (0.5, 2.0, 8.0)
SWAP = Swap.name


@pytest.fixture(autouse=True, scope="module")
def registered():
    for cls in (Swap, Generator, Latent):
        dpt.register(cls)
    yield
    for cls in (Swap, Generator, Latent):
        dpt.unregister(cls.name)


def points(settings, epsilons=EPSILONS, draws=4, measures=("unchanged", "n_w"), **options) -> list[TradeOffPoint]:
    return list(tradeoff(TEXT, settings, epsilons, draws, measures, 7, **options))


def test_a_seeded_run_is_a_plain_loop():
    settings = [dpt.get_mechanism(SWAP), dpt.get_mechanism("diffractor", keep_stopwords=False)]
    found = {(p.setting, p.epsilon): p for p in points(settings, measures=("unchanged", "bleu", "n_w"))}
    assert len(found) == 6
    for j, setting in enumerate(settings):
        for i, epsilon in enumerate(EPSILONS):
            m, stream = setting.replace(epsilon=epsilon), NoiseStream(7).at(j, i)
            texts = [r.text for r in m.rewrites(TEXT, 4, stream=stream)]
            p = found[j, epsilon]
            assert list(p.texts) == texts and p.total == m.guarantee(TEXT).total and p.seed == 7
            for name in ("unchanged", "bleu"):
                values = metrics.score(name, [TEXT] * 4, texts)
                assert list(p.scores[name]) == values
                v = p.value(name)
                assert (v.mean, v.spread, v.draws) == pytest.approx((np.mean(values), np.std(values, ddof=1), 4))
                if v.spread:
                    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
                    assert (v.low, v.high) == pytest.approx((max(0, low), min(metrics.measure(name).high, high)))
            kept = [m.distribution(TEXT, k).p_keep() for k in m.alignment.sampled_tokens(TEXT)]
            assert p.value("n_w").mean == pytest.approx(np.mean(kept)) and p.value("n_w").draws is None


@pytest.mark.slow
def test_two_texts_are_told_apart_where_no_word_answers_to_another(monkeypatch):
    monkeypatch.setattr(two_texts, "DRAWS", 20)
    monkeypatch.setitem(two_texts.measure.__kwdefaults__, "classifiers", ("words", "form"))
    settings = [dpt.get_mechanism(SWAP), dpt.get_mechanism(Generator.name)]
    found = points(settings, (2.0,), 1, ("n_w", "two_texts"))
    pair = which_text.lineup(settings[0].replace(epsilon=2.0), TEXT, None, 2).texts
    assert pair[0] == TEXT != pair[1]
    for j, p in enumerate(found):
        stream = NoiseStream(7).at(j, 0).at("two_texts")
        told = two_texts.measure(settings[j].replace(epsilon=2.0), pair, stream=stream)
        v = p.value("two_texts")
        assert v.mean == (1 + max(0, told.advantage)) / 2 and 0.5 <= v.low <= v.mean <= v.high <= 1
        assert (v.draws, p.measured["two_texts"].by) == (20, told.best.title)
    assert not found[1].has("n_w") and found[1].has("two_texts")
    again = list(add_metrics(points(settings, (2.0,), 1, ()), ("two_texts",), lambda m: m.prepare(TEXT)))
    assert [p.measured for p in again] == [{"two_texts": p.measured["two_texts"]} for p in found]
    assert (
        "a classifier of two texts, one word apart, recognises the rewritten one"
        in advise(found, "two_texts", 0.99, "two_texts").sentence()
    )
    (row, _) = trade_off.rows(found)
    assert row["two_texts_by"] == found[0].measured["two_texts"].by


def test_the_best_guess_is_that_of_a_calibration_with_the_noise_of_the_point(monkeypatch):
    monkeypatch.setattr(target_figures, "GUESSES", 1)
    settings = [dpt.get_mechanism(SWAP), dpt.get_mechanism("diffractor")]
    without, found = points(settings, (0.5,), 1, ("bayes",))
    assert "no formula" in without.reasons["bayes"]
    stream = NoiseStream(7).at(1, 0).at("bayes")
    assert found.measured["bayes"] == calibration.target_function(settings[1], "bayes", TEXT, stream=stream)(0.5)
    (plain,) = points([settings[1]], (0.5,), 1, ())
    again = next(add_metrics([dataclasses.replace(plain, setting=1)], ("bayes",), lambda m: m.prepare(TEXT)))
    assert again.measured == found.measured and found.value("bayes").draws == 4


def test_every_point_has_noise_of_its_own():
    same = [dpt.get_mechanism(SWAP), dpt.get_mechanism(SWAP)]
    found = points(same, (2.0, 2.0), 12)
    assert len({p.texts for p in found}) == 4
    unseeded = [next(tradeoff(TEXT, [SWAP], (2.0,), 12, ("n_w",))).texts for _ in range(2)]
    assert unseeded[0] != unseeded[1]


def test_scores_are_prepared_once_for_a_setting_and_shared_where_no_new_pass_is_needed(monkeypatch):
    asked = []

    def prepare(m):
        asked.append(m.key)
        return m.prepare(TEXT)

    live = [dpt.get_mechanism("diffractor"), dpt.get_mechanism("diffractor", recase="none")]
    other = dpt.get_mechanism("diffractor", keep_stopwords=False)
    points([*live, other], prepare=prepare)
    assert asked == [live[0].key, other.key]


def test_points_come_from_the_middle_outwards_and_with_progress():
    told = []
    found = points([SWAP], tuple(np.geomspace(0.5, 8, 9)), task=dpt.Task(lambda done, of: told.append((done, of))))
    order = [sorted(p.epsilon for p in found).index(p.epsilon) for p in found]
    assert order[:3] == [4, 0, 8] and sorted(order) == list(range(9)) and set(order[3:5]) == {2, 6}
    assert [d for d, _ in told] == sorted(d for d, _ in told) and told[-1][0] == told[-1][1]
    for n in range(1, 12):
        assert sorted(trade_off._from_the_middle(n)) == list(range(n))


def test_what_was_yielded_stands_when_it_is_stopped():
    task = dpt.Task()
    running = tradeoff(TEXT, [SWAP], EPSILONS, 2, ("unchanged",), task=task)
    first = next(running)
    task.cancel()
    assert first.texts
    with pytest.raises(dpt.Cancelled):
        next(running)


def test_each_axis_is_the_mechanisms_own():
    low, high, default = dpt.mechanism_class("santext").epsilon_range({})
    found = grid(dpt.get_mechanism("santext"), 5)
    assert found[0] == pytest.approx(low, rel=0.01) and found[-1] == pytest.approx(high, rel=0.01) and len(found) == 5
    assert grid(dpt.get_mechanism("santext"), 1) == (pytest.approx(default, rel=0.01),)
    assert sorted(p.epsilon for p in tradeoff(TEXT, [SWAP], points=3, draws=1, metrics=())) == sorted(
        grid(dpt.get_mechanism(SWAP), 3)
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": []}, "Give at least one"),
        ({"settings": [3]}, "a Setting or a mechanism's name, not int"),
        ({"settings": ["nothing"]}, "nothing"),
        ({"draws": 0}, "at least 1"),
        ({"metrics": ["total"]}, "not a known measure"),
        ({"epsilons": []}, "at least one ε"),
        ({"epsilons": [0.0]}, "above 0"),
        ({"points": 0}, "at least 1"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_drawn(given, said):
    with pytest.raises(dpt.ConfigError, match=said):
        tradeoff(**({"text": TEXT, "settings": [SWAP]} | given))


def test_a_text_that_is_none_and_one_without_words():
    with pytest.raises(dpt.InputError, match="must be a str"):
        tradeoff(b"x", [SWAP])
    (p,) = tradeoff("!!!", [SWAP], (1.0,), 2, ("unchanged", "n_w"))
    assert p.texts == ("!!!", "!!!") and not p.has("n_w") and "No word" in p.reasons["n_w"]


def test_a_setting_that_fails_is_told_of_and_the_others_go_on(monkeypatch):
    def broken(self, *_):
        raise dpt.ModelUnavailable("Get the model first.")

    monkeypatch.setattr(Latent, "prepare_document", broken)
    tries = []
    found = points([Latent.name, SWAP], prepare=lambda m: tries.append(m.name) or m.prepare(TEXT))
    failed = [p for p in found if p.setting == 0]
    assert [p.error for p in failed] == ["Get the model first."] * 3 and tries == [Latent.name, SWAP]
    assert all(p.texts for p in found if p.setting == 1)
    with pytest.raises(dpt.NoDistribution, match="Get the model"):
        failed[0].value("unchanged")
    assert pareto_front(found, "n_w", "unchanged") and "Get the model" in trade_off.to_csv(found)


def test_what_writes_a_new_text_has_points_without_n_w():
    found = points([Generator.name, Latent.name], (1.0,))
    assert all(p.has("unchanged") and not p.has("n_w") for p in found)
    assert "writes a new text" in found[0].reasons["n_w"]


def test_more_measures_draw_nothing_again():
    before = points([SWAP])
    prepared = dpt.get_mechanism(SWAP).prepare(TEXT)
    after = list(add_metrics(before, ("bleu", "n_w"), lambda m: prepared))
    assert [p.texts for p in after] == [p.texts for p in before] and all(p.has("bleu") for p in after)
    assert [p.scores["bleu"] for p in after] == [p.scores["bleu"] for p in points([SWAP], measures=("bleu",))]
    assert list(add_metrics(after, ("bleu",), lambda m: pytest.fail("nothing is missing"))) == after


def test_options_are_those_that_were_chosen():
    assert dpt.get_mechanism("custext").setting.options == {}
    assert dpt.get_mechanism("custext", epsilon=3, k=5).setting.options == {"k": 5}
    assert dpt.get_mechanism("dp-mlm", clip="paper").setting.options == {"clip": "paper"}
    assert second_option("custext") == ("k", (5, 20, 50)) and second_option("santext") is None
    name, values = second_option("dp-mlm")
    assert name == "clip" and set(values) == set(dpt.mechanism_class("dp-mlm").clipping.ranges({}))


# --- what to read from them


def point(hidden: float, kept: tuple[float, ...], setting: int = 0, interval=None) -> TradeOffPoint:
    m = dpt.get_mechanism(SWAP, epsilon=1.0 + setting)
    measured = TargetFigure(hidden, interval or (hidden, hidden))
    return TradeOffPoint(setting, m, 1.0, ("x",) * len(kept), {"cosine": kept}, {"n_w": measured})


def test_the_front_is_what_no_other_point_beats():
    found = [point(0.1, (0.3,)), point(0.2, (0.2,)), point(0.3, (0.6,)), point(0.3, (0.5,)), point(0.9, (0.6,))]
    assert pareto_front(found, "n_w", "cosine") == [0, 2]
    assert pareto_front([*found, TradeOffPoint(9, found[0].mechanism, error="no")], "n_w", "cosine") == [0, 2]


def test_the_advice_is_the_best_that_surely_hides_enough():
    good, best, open_ = point(0.1, (0.4, 0.401), 1), point(0.2, (0.5, 0.501), 2), point(0.6, (0.9, 0.901), 3)
    unsure = point(0.2, (0.8, 0.81), 4, (0.1, 0.3))
    advice = advise([good, best, open_, unsure], "n_w", 0.25, "cosine")
    assert advice.best is best and advice.unsure == (unsure,) and advice.points == 4 and advice.draws == 2
    assert advice.rivals == (), "its interval lies below that of the best"
    assert f"Start with {Swap.title} at ε = 3" in advice.sentence() and "1 point" in advice.doubt()
    assert advice.sentence(so_far=True) == f"For now, start{advice.sentence().removeprefix('Start')}"


def test_an_unreadable_text_is_not_advised_without_saying_so():
    unreadable, readable = (advise([point(0.1, (c, c + 0.001))], "n_w", 0.3, "cosine") for c in (0.3, 0.7))
    assert unreadable.best is not None and unreadable.doubt() == unreadable_note(0.3) != ""
    assert readable.best is not None and readable.doubt() == ""


def test_there_is_no_answer_before_each_setting_has_some_points():
    some = [point(0.1 * i, (0.4,)) for i in range(4)]
    assert has_enough_points(some, 1, 9, "n_w", "cosine") and not has_enough_points(some[:3], 1, 9, "n_w", "cosine")
    assert has_enough_points(some[:3], 1, 3, "n_w", "cosine") and not has_enough_points(some, 2, 9, "n_w", "cosine")
    refused = [TradeOffPoint(1, some[0].mechanism, error="no")] * 4
    assert has_enough_points(some + refused, 2, 9, "n_w", "cosine") and not has_enough_points(some, 1, 9, "n_w", "bleu")
    latent = [
        dataclasses.replace(p, setting=1, scores={}, measured={}, reasons={"n_w": "No.", "cosine": "No."}) for p in some
    ]
    assert has_enough_points(some + latent, 2, 9, "n_w", "cosine"), "what refuses a measure is not waited for"


def test_where_intervals_overlap_it_is_said_that_it_cannot_be_told():
    best, rival = point(0.1, (0.4, 0.6), 1), point(0.2, (0.3, 0.5), 2)
    advice = advise([best, rival], "n_w", 0.3, "cosine")
    assert advice.best is best and advice.rivals == (rival,) and "intervals overlap" in advice.doubt()
    single = advise([point(0.1, (0.4,), 1), point(0.2, (0.3,), 2)], "n_w", 0.3, "cosine")
    assert single.draws == 1 and "more draws" in single.doubt()


def test_where_nothing_hides_enough_the_nearest_is_named():
    advice = advise([point(0.5, (0.4, 0.6), 1), point(0.4, (0.3, 0.5), 2)], "n_w", 0.1, "cosine")
    assert advice.best is None and advice.nearest.setting == 2 and "40%" in advice.sentence()
    assert "There is no measurement" in advise([], "n_w", 0.1, "cosine").sentence()


def test_of_one_draw_the_interval_is_all_that_it_can_be():
    assert point(0.1, (0.4,)).value("cosine") == Value(0.4, -1, 1, None, 1)


# --- to take away


def test_the_table_has_no_text_and_all_figures():
    found = points([SWAP], measures=("unchanged", "n_w"))
    rows = list(csv.DictReader(io.StringIO(trade_off.to_csv(found))))
    assert [float(r["epsilon"]) for r in rows] == list(EPSILONS)
    by = {p.epsilon: p for p in found}
    for r in rows:
        v = by[float(r["epsilon"])].value("unchanged")
        assert float(r["unchanged"]) == pytest.approx(v.mean, rel=1e-5) and r["draws"] == "4"
        assert float(r["unchanged_sd"]) == pytest.approx(v.spread or 0, rel=1e-5)
    assert not any(t in trade_off.to_csv(found) for p in found for t in (*p.texts, "doctor"))
    assert trade_off.to_csv([]) == "" and "doctor" not in repr(found)


def test_the_command_prints_the_points(capsys):
    argv = [
        "tradeoff",
        "--setting",
        SWAP,
        "--setting",
        "diffractor:noise=tem",
        "--epsilon",
        "1,4",
        "--draws",
        "2",
        "--metric",
        "unchanged",
        "--metric",
        "n_w",
        "--seed",
        "7",
        TEXT,
    ]
    assert cli.main(argv) == 0
    out, error = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(r["mechanism"], r["options"], r["epsilon"]) for r in rows] == [
        (SWAP, "", "1"),
        (SWAP, "", "4"),
        ("diffractor", "tem", "1"),
        ("diffractor", "tem", "4"),
    ]
    settings = [dpt.get_mechanism(SWAP), dpt.get_mechanism("diffractor", noise="tem")]
    same = list(tradeoff(TEXT, settings, (1.0, 4.0), 2, ("unchanged", "n_w"), 7))
    assert out == trade_off.to_csv(same) and "not private" in error and "do not publish them" in error


@pytest.mark.parametrize(
    ("given", "said"),
    [("nothing", "nothing"), ("custext:what=1", "is not an option of custext"), ("custext:k=x", "whole number")],
)
def test_a_setting_that_is_none_is_explained(given, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["tradeoff", "--setting", given, TEXT])
    assert stopped.value.code == 2 and said in capsys.readouterr().err


def test_equal_draws_have_no_spread():
    values = [0.1, 0.1, 0.1]
    assert np.std(values, ddof=1) > 0, "by rounding, which is what is held off here"
    v = trade_off._of_draws(values, metrics.METRICS["bleu"])
    assert v.spread == 0 and v.low == v.mean == v.high


def test_a_point_over_several_texts_is_the_mean_of_its_texts():
    texts = [TEXT, "A letter to my doctor.", "!!!"]
    found = list(tradeoff(texts, [SWAP], (0.5, 2.0), 3, ("unchanged", "n_w"), 7))
    assert sorted(p.epsilon for p in found) == [0.5, 2.0]
    for p in found:
        m = dpt.get_mechanism(SWAP, epsilon=p.epsilon)
        streams = [NoiseStream(7).at("text", k).at(p.setting, p.index) for k in range(3)]
        rewrites = [[r.text for r in m.rewrites(t, 3, stream=s)] for t, s in zip(texts, streams, strict=True)]
        means = [np.mean(metrics.score("unchanged", [t] * 3, some)) for t, some in zip(texts, rewrites, strict=True)]
        assert p.scores["unchanged"] == pytest.approx(means) and p.value("unchanged").draws == 3
        n_w = [np.mean([m.distribution(t, k).p_keep() for k in m.alignment.sampled_tokens(t)]) for t in texts[:2]]
        assert p.value("n_w").mean == pytest.approx(np.mean(n_w)) and p.texts == ()
        low, high = stats.t.interval(0.95, 1, np.mean(n_w), stats.sem(n_w)) if np.ptp(n_w) else (n_w[0], n_w[0])
        assert (p.value("n_w").low, p.value("n_w").high) == pytest.approx((max(0, low), min(1, high)))
        assert p.total == pytest.approx(np.mean([m.guarantee(t).total for t in texts]))
    with pytest.raises(dpt.ConfigError, match="Omit both"):
        tradeoff(texts, [SWAP], fact="film")


def test_a_point_over_several_texts_counts_them_and_their_rewrites():
    texts = [TEXT, "A letter to my doctor."]
    (p,) = tradeoff(texts, [SWAP], (2.0,), 3, ("unchanged", "n_w"), 7)
    assert (p.originals, p.draws) == (2, 3) and "originals=2, draws=3" in repr(p)
    (row,) = csv.DictReader(io.StringIO(trade_off.to_csv([p])))
    assert (row["texts"], row["draws"]) == ("2", "3")
    assert advise([p], "n_w", 1.0, "unchanged").draws == 6
    (one,) = tradeoff(texts, [SWAP], (2.0,), 1, ("unchanged", "n_w"), 7)
    assert "One draw" not in advise([one], "n_w", 1.0, "unchanged").doubt()
    (alone,) = tradeoff(TEXT, [SWAP], (2.0,), 3, ("unchanged",), 7)
    assert (alone.originals, alone.draws) == (1, 3)


@pytest.mark.parametrize("given", [tuple, np.array, iter])
def test_texts_may_come_from_any_iterable(given):
    texts = [TEXT, "A letter to my doctor."]
    found = [[p.scores for p in tradeoff(t, [SWAP], (2.0,), 2, ("unchanged",), 7)] for t in (texts, given(texts))]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([], "There are no texts. Give at least one"),
        (iter(()), "There are no texts. Give at least one"),
        ([TEXT, 3], r"must be a str, not int\. Convert it .* It is number 2 of 2"),
        (3, r"must be a str, not int\. Convert it"),
        (b"a text", "must be a str, not bytes"),
        ({TEXT: 1}, "Give a list of texts, not dict"),
    ],
)
def test_texts_that_are_none_are_explained(text, message):
    with pytest.raises(dpt.InputError, match=message):
        tradeoff(text, [SWAP])


def test_a_setting_may_be_the_shared_object():
    settings = [dpt.get_mechanism("diffractor", noise="tem"), dpt.Setting.of("diffractor", noise="tem", epsilon=9.0)]
    first, second = (points([s], measures=("unchanged",)) for s in settings)
    assert [(p.epsilon, p.texts, p.label) for p in first] == [(p.epsilon, p.texts, p.label) for p in second]
    with pytest.raises(dpt.ConfigError, match="a Setting or a mechanism's name, not int"):
        tradeoff(TEXT, [3])
    with pytest.raises(dpt.ConfigError, match="Give at least one mechanism"):
        tradeoff(TEXT, [])
    with pytest.raises(dpt.ConfigError, match="Unknown option 'noises'"):
        tradeoff(TEXT, [dpt.Setting.of("diffractor", noises="tem")])
