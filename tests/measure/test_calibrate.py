"""The ε that calibrate finds gives what was wanted, measured again by other means."""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from small_spaces import on, random_space

import dptext_core as dpt
from dptext_core.attacks import bayes, best, risk
from dptext_core.measure import calibration, target_figures
from dptext_core.measure.calibration import LOW, calibrate, equal_privacy
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support.statistics import clopper_pearson

TEXT = "The doctor changed the dose of insulin, and the doctor left Lisbon on a cold Monday."
WORDS = ["doctor", "insulin", "river", "teacher", "cold", "bank", "train", "winter"]


def chances(mechanism, epsilon: float, text: str = TEXT) -> list[float]:
    """N_w of each drawn word of a text, by the public contract."""
    m, prepared = mechanism.replace(epsilon=epsilon), mechanism.prepare(text)
    steps = m.rewrite(prepared).steps
    return [m.distribution(prepared, i).p_keep() for i, s in enumerate(steps) if s.action == "replace" and not s.reason]


def kept(mechanism, epsilon: float, text: str = TEXT) -> float:
    return float(np.mean(chances(mechanism, epsilon, text)))


CLOSED = [
    ("santext", {}, 0.3),
    ("diffractor", {}, 0.6),
    ("diffractor", {"noise": "tem"}, 0.3),
    ("custext", {"strategy": "record"}, 0.6),
]


@pytest.mark.parametrize(("name", "options", "target"), CLOSED)
def test_n_w_of_a_closed_form_is_reached_exactly(name, options, target):
    m = dpt.get_mechanism(name, epsilon=7.0, **options)
    c = calibrate(m, {"n_w": target}, text=TEXT)
    assert kept(m, c.epsilon) == pytest.approx(target, abs=1e-7)
    assert c.reached == pytest.approx(target, abs=1e-7) and c.interval == (c.reached, c.reached) and c.draws is None
    assert c.words == len(chances(m, 1.0)) > 5 and c.steps < 50
    assert c.calibrated.config.epsilon == c.epsilon
    again = calibrate(m.replace(epsilon=1.0), {"n_w": target}, text=m.prepare(TEXT))
    assert again.epsilon == c.epsilon, "the ε of the given mechanism does not matter"


#: Words of a small space: what noise does to them is known at once.
SPACE = random_space(60, 4, seed=2)
FEW = list(SPACE.words[:8])


def test_n_w_of_a_noise_mechanism_agrees_with_fresh_rewrites():
    m, text = on(SPACE, "mvc"), " ".join(FEW)
    c = calibrate(m, {"n_w": 0.5}, text=text)
    assert c.draws == 1000 and c.interval[0] < 0.5 < c.interval[1] and abs(c.reached - 0.5) < 0.01
    same = [
        sum(s.original.lower() == s.replacement.lower() for s in r.steps if s.epsilon > 0)
        for r in c.calibrated.rewrites(text, 150)
    ]
    low, high = clopper_pearson(sum(same), 150 * c.words, 0.99999)
    assert low - 0.05 < c.reached < high + 0.05, "0.05: three standard errors of the estimate that was calibrated on"


def test_vickrey_at_a_value_it_reaches_and_beyond():
    m = on(SPACE, "vickrey")
    c = calibrate(m, {"n_w": 0.3}, words=FEW)
    channels = m.channels(np.arange(8))
    assert np.mean([channel.at(c.epsilon).p_keep() for channel in channels]) == pytest.approx(c.reached)
    assert abs(c.reached - 0.3) < 0.01
    with pytest.raises(dpt.InputError) as error:
        calibrate(m, {"n_w": 0.99}, words=FEW)
    assert "cannot be 99.0%" in str(error.value)
    least = re.search(r"ranges from (\d\.\d)% to", str(error.value))
    assert least and 1.0 <= float(least[1]) <= 2.5, "an estimate, near 1 in 60 words"


def test_dp_mlm_given_the_original_text():
    """Its N_w rises and falls again: what can be reached is more than what the ends of the search give."""
    m, text = (
        dpt.get_mechanism("dp-mlm"),
        "The doctor was very tired, and the hospital treated many patients with insulin.",
    )
    values = [kept(m, e, text) for e in (30.0, 60.0, 120.0, 240.0, 480.0)]
    c = calibrate(m, {"n_w": 0.8 * max(values)}, text=text)
    assert kept(m, c.epsilon, text) == pytest.approx(0.8 * max(values), abs=1e-7)
    assert c.reachable[0] <= min(values) and 0.8 * max(values) <= c.reachable[1]


def test_a_figure_that_rises_and_falls(tiny_model):
    """Untrained, the model prefers other words: the more ε, the rarer the original."""
    m, text = dpt.get_mechanism("dp-mlm", model=tiny_model), "My doctor left London in winter."
    high = max(kept(m, e, text) for e in np.geomspace(LOW, m.max_epsilon, 30))
    c = calibrate(m, {"n_w": high / 2}, text=text)
    assert kept(m, c.epsilon, text) == pytest.approx(high / 2, abs=1e-7) and c.reachable[1] <= high * 1.05
    with pytest.raises(dpt.NoDistribution, match="no formula"):
        calibrate(m, {"bayes": 0.3}, text=text)
    with pytest.raises(dpt.InputError, match="Give a text"):
        calibrate(m, {"n_w": 0.3}, words=["doctor"])


@pytest.mark.parametrize(("name", "target"), [("diffractor", 3.7), ("dp-mlm-plus", 1000.0), ("mvc", 1000.0)])
def test_the_total_is_that_of_the_guarantee(name, target):
    m = dpt.get_mechanism(name)
    c = calibrate(m, {"total": target}, text=TEXT)
    assert m.replace(epsilon=c.epsilon).guarantee(TEXT).total == pytest.approx(target, rel=1e-9)
    assert c.steps <= 5


def test_a_total_over_words_and_out_of_reach():
    m = dpt.get_mechanism("santext")
    assert calibrate(m, {"total": 16.0}, words=WORDS).epsilon == pytest.approx(2.0)
    with pytest.raises(dpt.InputError, match="Choose a value in this range"):
        calibrate(m, {"total": 8 * 1400 + 1.0}, words=WORDS)


def test_bayes_success_over_words_is_that_of_the_best_guess():
    m, space = dpt.get_mechanism("custext"), dpt.word_space()
    group = m.groups.members(space.index("doctor"))
    words = [space.words[r] for r in group]
    c = calibrate(m, {"bayes": 0.8}, words=words)
    prior, table = space.counts[group] + 1.0, np.zeros((len(words), len(space)))
    for line, channel in zip(table, m.channels(group), strict=True):
        line[space.rows(channel.candidates)] = channel.at(c.epsilon).probs
    assert (prior[:, None] / prior.sum() * table).max(axis=0).sum() == pytest.approx(0.8, abs=1e-7)
    simulated = bayes.simulated_success(m, words, c.epsilon, draws=4000, seed=5)
    low, high = clopper_pearson(round(simulated.value * 4000), 4000, 0.99999)
    assert low < 0.8 < high


class SmallSanText(SanText):
    """SanText over 60 words, where guessing can be worked out in full."""

    name = "small-santext"
    vocabulary = SPACE


@pytest.mark.slow
def test_the_epsilon_that_is_told_gives_the_figure_that_is_told():
    """The best guess jumps at some ε: three digits lie beside such a place (6.4 for 6.40402)."""
    m, text = dpt.get_mechanism("custext"), "My doctor in Lisbon treated my sister."
    c = calibrate(m, {"bayes": 0.3}, text=text)
    told = float(c.sentence().partition("ε = ")[2].split()[0].rstrip(","))
    assert calibration.target_function(m, "bayes", text)(told).value == pytest.approx(c.reached, abs=5e-4)


@pytest.mark.parametrize("few", [True, False], ids=["by its outputs", "by a pass over all words"])
def test_bayes_success_on_a_text_counts_the_words_that_are_guessed(monkeypatch, few):
    if not few:
        monkeypatch.setattr(risk, "OUTPUTS", 0)
    m = SmallSanText.create(epsilon=1.0)
    words = m.vocabulary.words
    text = " ".join([words[3], words[8], words[3], words[20], words[41]])
    c = calibrate(m, {"bayes": 0.6}, text=text)
    table = np.stack([channel.at(c.epsilon).probs for channel in m.channels(np.arange(60))])
    guess = table.argmax(axis=0)  # the prior is flat: no word of it is counted in public
    share = np.mean([table[r][guess == r].sum() for r in (3, 8, 3, 20, 41)])
    # Exact, whichever way it was found; from draws alone it was known to twelve points.
    assert c.reached == pytest.approx(share, abs=1e-9) and c.interval == (c.reached, c.reached)
    assert c.reached == pytest.approx(0.6, abs=1e-6 if few else 0.01)
    assert c.words == 5 and c.draws is None


def test_what_cannot_be_reached_says_what_can():
    with pytest.raises(dpt.InputError, match="Choose a value in this range"):
        calibrate(dpt.get_mechanism("custext"), {"n_w": 0.0001}, words=WORDS)


@pytest.mark.parametrize(
    ("target", "inputs", "says"),
    [
        ({"n_w": 1.0}, {"text": TEXT}, "between 0 and 1"),
        ({"n_w": 0.0}, {"text": TEXT}, "between 0 and 1"),
        ({"total": -1.0}, {"text": TEXT}, "above 0"),
        ({"n_w": float("nan")}, {"text": TEXT}, "must be a"),
        ({"n_w": True}, {"text": TEXT}, "must be a"),
        ({"s_w": 3.0}, {"text": TEXT}, "one of"),
        ({"n_w": 0.5, "total": 3.0}, {"text": TEXT}, "one of"),
        ({}, {"text": TEXT}, "one of"),
        ({"n_w": 0.5}, {}, "text or a list"),
        ({"n_w": 0.5}, {"text": TEXT, "words": WORDS}, "either a text or"),
        ({"n_w": 0.5}, {"text": "the of and"}, "nothing to measure"),
        ({"n_w": 0.5}, {"words": ["Xqzzy"]}, "none of these words in its vocabulary"),
    ],
)
def test_wrong_targets_and_inputs(target, inputs, says):
    with pytest.raises((dpt.InputError, dpt.ConfigError), match=says):
        calibrate(dpt.get_mechanism("santext"), target, **inputs)


def test_mechanisms_at_equal_measured_privacy():
    """Their ε differ by more than an order of magnitude; their N_w does not."""
    mechanisms = [dpt.get_mechanism(n) for n in ("diffractor", "custext", "santext")]
    ticks: list[tuple[int, int]] = []
    calibrations = equal_privacy(mechanisms, {"n_w": 0.5}, words=WORDS, task=dpt.Task(lambda *t: ticks.append(t)))
    assert [c.mechanism.name for c in calibrations] == [m.name for m in mechanisms]
    for c, m in zip(calibrations, mechanisms, strict=True):
        assert abs(c.reached - 0.5) < 1e-7
        channels = m.channels(np.array([[w.lower() for w in m.vocabulary.words].index(x) for x in WORDS]))
        assert np.mean([channel.at(c.epsilon).p_keep() for channel in channels]) == pytest.approx(c.reached, abs=1e-9)
    epsilons = [c.epsilon for c in calibrations]
    assert max(epsilons) > 10 * min(epsilons)
    assert ticks[-1][0] == ticks[-1][1] and [t[0] for t in ticks] == sorted(t[0] for t in ticks)


def test_equal_privacy_takes_the_first_as_the_measure_and_keeps_what_fails():
    first = dpt.get_mechanism("santext", epsilon=14.0)
    others = [dpt.get_mechanism("tem"), dpt.get_mechanism("gumbel")]
    calibrations = equal_privacy([first, *others], "n_w", text=TEXT)
    assert calibrations[0].epsilon == pytest.approx(14.0, rel=1e-6)
    assert calibrations[1].reached == pytest.approx(kept(first, 14.0), abs=1e-7)
    assert (
        calibrations[2].epsilon is None
        and "Choose a value in this range" in calibrations[2].reason
        and calibrations[2].sentence() == calibrations[2].reason
    )
    with pytest.raises(dpt.InputError, match="Choose a value in this range"):
        _ = calibrations[2].calibrated
    with pytest.raises(dpt.InputError, match="not a useful target"):
        equal_privacy([first.replace(epsilon=first.max_epsilon), *others], "n_w", text=TEXT)
    with pytest.raises(dpt.ConfigError, match="one ε per token"):
        equal_privacy([first.replace(epsilon=(1.0, 2.0)), *others], "n_w", text=TEXT)


def test_only_words_that_all_of_them_draw_are_compared():
    a = dpt.get_mechanism("santext", keep_stopwords=False)
    b = dpt.get_mechanism("santext", keep_stopwords=True)
    text = "The doctor is here."
    assert calibrate(a, {"n_w": 0.5}, text=text).words > calibrate(b, {"n_w": 0.5}, text=text).words == 1
    calibrations = equal_privacy([a, b], {"n_w": 0.5}, text=text)
    assert calibrations[0].epsilon == calibrations[1].epsilon and calibrations[0].words == calibrations[1].words == 1
    assert equal_privacy([a, b], {"total": 8.0}, text=text)[0].epsilon == pytest.approx(2.0), "a total is of all draws"
    with pytest.raises(dpt.InputError, match="No word is sampled by all"):
        small = SmallSanText.create(epsilon=1.0)
        equal_privacy([b, small], {"n_w": 0.5}, words=["doctor", small.vocabulary.words[0]])


def test_mechanisms_that_cannot_be_measured_do_not_stop_the_others():
    calibrations = equal_privacy(
        [dpt.get_mechanism("custext"), dpt.get_mechanism("mvc")], {"bayes": 0.5}, text="doctor insulin"
    )
    assert (
        calibrations[0].epsilon is not None
        and calibrations[1].epsilon is None
        and "no formula" in calibrations[1].reason
    )


def test_it_can_be_stopped():
    def after_five(done: int, of: int) -> None:
        if done >= 5:
            task.cancel()

    task = dpt.Task(after_five)

    with pytest.raises(dpt.Cancelled):
        calibrate(dpt.get_mechanism("santext"), {"n_w": 0.5}, text=TEXT, task=task)


@pytest.fixture
def quick_models(monkeypatch, tiny_model):
    """Attackers that ask a tiny model: of the words of the bundled one they are asked in tests/attacks/test_best.py."""
    monkeypatch.setattr(best.reader, "read_releases", partial(best.reader.read_releases, model=tiny_model))
    monkeypatch.setattr(best.mask_inference, "attack", partial(best.mask_inference.attack, model=tiny_model))


@pytest.mark.slow
def test_the_best_of_all_attackers_is_reached_and_has_its_name(quick_models, monkeypatch):
    monkeypatch.setattr(target_figures.secrets, "randbits", lambda n: 5)
    told: list[float] = []
    task = dpt.Task(lambda done, of: told.append(done / of))
    text = "The doctor changed the dose of insulin."
    c = calibrate(dpt.get_mechanism("diffractor"), {"best": 0.5}, text=text, task=task)
    assert told == sorted(told) and 0.7 < told[-1] <= 1, "who waits for reading is told how far it is"
    assert c.by in best.ASKED and c.draws is not None and c.interval[0] <= c.reached <= c.interval[1]
    assert abs(c.reached - 0.5) < 0.12, "a few dozen guesses"
    assert f"by “{best.title(c.by)}”, 95% interval" in c.sentence()
    stream = NoiseStream(3)
    figure = calibration.target_function(c.mechanism, "best", text, stream=stream)
    m = c.calibrated
    again = best.ask(m, m.rewrites(m.prepare(text), c.draws, stream=stream))
    assert figure(c.epsilon) == target_figures.TargetFigure(
        again.success, (again.low, again.high), c.draws, again.name, again.words
    )
    with pytest.raises(dpt.InputError, match="Give a text"):
        calibrate(c.mechanism, {"best": 0.5}, words=WORDS)


@pytest.mark.slow
def test_figures_of_several_are_over_the_words_that_all_draw(quick_models):
    two = [dpt.get_mechanism("diffractor", epsilon=0.5), dpt.get_mechanism("custext", epsilon=8, keep_stopwords=False)]
    text = "The doctor left Lisbon on a cold Monday."
    both = calibration.measured_together(two, "n_w", text)
    alone = calibration.target_function(two[0], "n_w", text)(0.5)
    assert both[0] == alone, "stop words are drawn by one of them only"
    assert both[1] != calibration.target_function(two[1], "n_w", text)(8.0)
    found = calibration.measured_together(two, "best", text)
    assert all(m.by and 0 <= m.interval[0] <= m.value <= m.interval[1] <= 1 for m in found)


def test_the_sentence_says_what_was_measured():
    c = calibrate(dpt.get_mechanism("santext"), {"n_w": 0.5}, words=WORDS)
    assert c.sentence().startswith("SanText: at ε = ") and "50.0% (8 words)" in c.sentence()
    noisy = calibrate(on(SPACE, "mvc"), {"n_w": 0.5}, words=FEW[:1])
    assert "1 word, 95% interval" in noisy.sentence()


def test_the_page_shows_a_table():
    pytest.importorskip("streamlit")
    from dptext_studio.views.compare.equal_privacy import table

    mechanisms = [on(SPACE, n) for n in ("santext", "mvc", "gumbel")]
    rows = table(equal_privacy(mechanisms, {"n_w": 0.6}, words=FEW))
    assert rows["mechanism"][0] == "SanText" and rows["ε"][2] == "not reached"
    assert rows["measured"][0] == "60.0%" and " to " in rows["measured"][1]
    assert rows["counted"][0] == "per word and unit of distance"


def test_the_first_mechanism_stays_at_its_own_epsilon_where_the_others_are_to_reach_what_it_does():
    first = dpt.get_mechanism("custext", epsilon=7.0)
    own, other = equal_privacy([first, dpt.get_mechanism("santext")], "n_w", text=TEXT)
    assert (own.epsilon, own.steps) == (7.0, 1) and own.reached == own.target
    assert abs(other.reached - own.reached) < 1e-6 and other.steps > 2


def test_words_that_are_drawn_in_turn_may_be_deleted_by_chance(tiny_model):
    given = {"model": tiny_model, "order": "sequential"}
    m = dpt.get_mechanism("dp-mlm-plus", add_prob=0.5, del_prob=0.5, **given)
    found = calibration.target_function(m, "n_w", "my doctor came", stream=NoiseStream(1))(20.0)
    assert 0.0 <= found.interval[0] <= found.value <= found.interval[1] <= 1.0
    m = dpt.get_mechanism("dp-mlm-plus", del_prob=1.0, **given)
    with pytest.raises(dpt.NoDistribution, match="deleted at random"):
        calibration.target_function(m, "n_w", "my doctor came")(20.0)


@pytest.mark.slow
def test_where_words_are_drawn_in_turn_n_w_is_that_of_rewrites():
    """A drawn word that is given with those before it: at ε 25 words stay more often than the original text says."""
    text = "My sister has diabetes."
    m = dpt.get_mechanism("dp-mlm-prior", order="sequential", epsilon=25.0)
    drawn = [[s for s in r.steps if s.action == "replace"] for r in m.rewrites(text, 40, seed=1)]
    shares = [np.mean([s.replacement.lower() == s.original.lower() for s in steps]) for steps in drawn]
    mean, error = np.mean(shares), np.std(shares) / np.sqrt(len(shares))
    found = calibration.target_function(m, "n_w", text, stream=NoiseStream(2))(25.0)
    assert found.interval[0] - 2 * error < mean < found.interval[1] + 2 * error and found.draws == 8
    plan = m.plan(text)
    of_the_text = np.mean([m.distribution(plan, i).p_keep() for i in m.alignment.sampled_tokens(plan)])
    assert of_the_text < min(mean - 2 * error, found.interval[0]), "what the chances given the original come to"


@pytest.mark.parametrize("kind", ["n_w", "bayes", "best"])
def test_a_mechanism_that_looks_at_no_word_has_no_figure_and_takes_none_from_others(kind):
    custext, removed = dpt.get_mechanism("custext"), dpt.get_mechanism("redact")
    figure, reason = calibration.measured_together([custext, removed], kind, "Omar lost weight.")
    assert isinstance(figure, target_figures.TargetFigure) and 0 <= figure.value <= 1
    refused = target_figures.refusals(removed)
    assert reason == refused[kind] != "" and not refused["total"]


@pytest.mark.parametrize(("ends", "advice"), [((1.0, 1.0), "another mechanism"), ((0.8, 1.0), "in this range")])
def test_a_figure_that_is_equal_at_every_epsilon_has_no_range_to_choose_from(ends, advice):
    search = SimpleNamespace(
        mechanism=SimpleNamespace(title="CusText"),
        kind="n_w",
        target=0.5,
        ends=ends,
        most=300.0,
        seen={1.0: SimpleNamespace(value=1.0)},
        result=lambda found, nearest, reason: (found, nearest.value, reason),
    )
    found, nearest, reason = calibration._Search.unreachable(search)
    assert found is None and nearest == 1.0 and advice in reason
