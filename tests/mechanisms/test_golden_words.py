"""Distributions, draws, promises and views of the mechanisms that draw words from a vocabulary, on a small one: what is
expected lies in ``tests/golden/words.json`` (``GOLDEN=write`` writes it anew)."""

from __future__ import annotations

import dataclasses
import math
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from golden_files import compare_case, plain
from small_spaces import diffractor, on, random_space, shuffled_lists, words

import dptext_core as dpt
from dptext_core.auditing.release_statistics import with_epsilon
from dptext_core.errors import DPTextError
from dptext_core.explain import project
from dptext_core.mechanisms import likelihood
from dptext_core.mechanisms.latent import adept, dp_bart
from dptext_core.mechanisms.option_meta import OptionMeta, option_meta
from dptext_core.mechanisms.words import list_noise, mvc, word_groups
from dptext_core.mechanisms.writing import generation
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.text.skeleton import Edit

SPACE = random_space(26, 4)
W = words(26)
TEXT = f"{W[0]} and {W[1].title()}, {W[0]} {W[5].upper()} Grzybowski {W[9]}!"
S = NoiseStream(21)

MADE = {
    "santext": lambda: on(SPACE, "santext", epsilon=3.0),
    "santext keep": lambda: on(SPACE, "santext", epsilon=3.0, oov="keep", keep_stopwords=True, recase="sentence"),
    "santext-plus": lambda: on(SPACE, "santext-plus", epsilon=3.0, sensitive=0.7),
    "custext": lambda: on(SPACE, "custext", epsilon=3.0, k=5),
    "custext aggressive": lambda: on(SPACE, "custext", epsilon=3.0, k=4, mapping="aggressive", oov="mask"),
    "custext conservative": lambda: on(SPACE, "custext", epsilon=3.0, k=7, mapping="conservative", strategy="record"),
    "custext data set": lambda: on(SPACE, "custext", epsilon=3.0, k=5, strategy="dataset", oov="drop"),
    "tem": lambda: on(SPACE, "tem", epsilon=3.0, gamma=1.2),
    "tem own": lambda: on(SPACE, "tem", epsilon=9.0),
    "mahalanobis": lambda: on(SPACE, "mahalanobis", epsilon=8.0),
    "gumbel": lambda: on(SPACE, "gumbel", epsilon=8.0),
    "vickrey": lambda: on(SPACE, "vickrey", epsilon=8.0),
    "mvc": lambda: on(SPACE, "mvc", epsilon=8.0),
    "diffractor": lambda: diffractor(shuffled_lists(26, 2), epsilon=0.7),
    "diffractor tem": lambda: diffractor(shuffled_lists(26, 3), epsilon=0.7, noise="tem"),
    "diffractor window": lambda: diffractor(shuffled_lists(26, 1), epsilon=0.7, noise="tem", gamma=5.0),
}
EPSILONS = (0.3, 2.0, 11.0)


def tried(what: Any) -> Any:
    """A value, or the error in its place."""
    try:
        return plain(what())
    except DPTextError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", MADE)
def test_distributions_and_draws_stay(name):
    m = MADE[name]()
    rows = np.array([0, 5, 17])
    found: dict[str, Any] = {}
    channels = m.channels(rows)
    closed = channels[0].at(2.0).draws is None
    for row, channel in zip(rows.tolist(), channels, strict=True):
        own: dict[str, Any] = {"source": [channel.source, channel.source_index, len(channel.candidates)]}
        own["drawn"] = [channel.draw(e, S.at(k)) for e in EPSILONS for k in range(8)]
        own["flips"] = [tried(lambda c=channel, k=k: c.epsilon_breakpoints(S.at(k), 0.1, 20.0)) for k in range(2)]
        if closed:
            own["log p"] = [channel.at(e).log_probs for e in EPSILONS]
            own["sampled"] = [channel.at(e).sample_indices(6, S) for e in EPSILONS]
            own["shown"] = [channel.shown(n, 0.2, 9.0) for n in (1, 4)]
            own["deniability"] = [channel.deniability(e) for e in EPSILONS]
            own["chances"] = channel.log_p(np.array(EPSILONS), np.array([0, 2]))
        found[f"row {row}"] = own
    compare_case("words", f"distributions of {name}", plain(found))


@pytest.mark.parametrize("name", MADE)
def test_promises_and_views_stay(name):
    m = MADE[name]()
    found: dict[str, Any] = {
        "distances": tried(lambda: np.nan_to_num(m.audit_support.distances([*W[:4], "zzz"]), nan=-1.0)),
        "largest": [tried(lambda: m.max_epsilon), tried(lambda: type(m).epsilon_range({}))],
        "promise": [tried(lambda t=t: m.guarantee(t)) for t in (TEXT, W[3], "the and", "")],
        "note": tried(lambda: m.reading.note(TEXT)),
        "alike": [
            tried(lambda a=a: m.audit_support.adjacent(TEXT, a)) for a in (TEXT.replace(W[9], W[8]), f"{W[0]} x", TEXT)
        ],
        "rewritten": [plain([r.text, r.guarantee.total, r.steps]) for r in (m.rewrite(TEXT, seed=s) for s in range(4))],
        "many": [r.text for r in m.rewrites(TEXT, 5, seed=2)] + [r.text for r in m.rewrite([TEXT, W[2]] * 2, seed=3)],
        "each": [with_epsilon(m, e).rewrite(" ".join(W[:12]), seed=7).text for e in EPSILONS],
    }
    if m.distribution(W[0], 0).draws is None:
        found["likelihoods"] = [tried(lambda w=w: m.by_word.log_likelihood(w, 2.0)) for w in (W[0], W[7], "zzz")]
        r = m.rewrite(TEXT, seed=5)
        found["views"] = [tried(lambda k=k: r.views(k)) for k in range(3)]
    compare_case("words", f"promises of {name}", plain(found))


FIGURES = {
    "steps": lambda: list_noise.geometric_steps(np.array([0.1, 1.0, 5.0])[:, None], np.log([0.9, 0.4, 1e-9])),
    "places": lambda: [
        list_noise.noisy_place(noise, e, np.array([0, 5, 19]), 20, gamma, sign, np.log(u), np.log(far))
        for noise, gamma in (("geometric", None), ("tem", None), ("tem", 3.0), ("tem", 0.5))
        for e in (0.2, 1.0, 8.0)
        for sign in (-1, 1)
        for u, far in ((0.999, 0.1), (0.3, 0.001), (1e-6, 0.5), (0.02, 0.0004))
    ],
    "clipping": lambda: [
        clip(np.array(x), norm)
        for clip in (adept.clip_l1, adept.clip_l2, dp_bart.clip)
        for x in ([0.1, -0.2], [3, -4.0], [np.nan, 1.0], [np.inf, -2], [0.0, 0], [1e300, 1], [0.5, 0.5], [0.6, 0.8])
        for norm in (0.5, 1.0, 5.0)
    ],
    "windows": lambda: [
        list_noise.Window.of(e, np.array([0, 3, 19]), 20, gamma)
        for e in (0.3, 2.0, 50.0)
        for gamma in (None, 2.0, 2.5, 30.0)
    ],
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stays(name):
    compare_case("words", name, {"found": plain(FIGURES[name]())})


def test_chances_add_up_to_one_at_every_place():
    for noise, gamma in (("geometric", None), ("tem", None), ("tem", 3.0), ("tem", 0.5)):
        for e in (0.1, 1.0, 12.0):
            for at in (0, 1, 10, 19):
                assert np.exp(list_noise.log_pmf(noise, e, at, np.arange(20), 20, gamma)).sum() == pytest.approx(1.0)


def test_words_of_another_text_stand_only_where_they_were_written_so():
    def step(action, capital=None):
        return SimpleNamespace(action=action, capital=capital, replacement="word")

    for mine, theirs in product((None, False, True), repeat=2):
        found = likelihood._edits([step("replace", mine)], [step("replace", theirs)])
        assert found == ([Edit("word")] if mine is theirs else None)
    assert likelihood._edits([step("keep")], [step("replace", True)]) == [Edit()]
    assert likelihood._edits([step("delete")], [step("delete")]) == [Edit("word")]
    assert (
        likelihood._edits([step("delete")], [step("keep")])
        is None
        is likelihood._edits([step("keep")], [step("delete")])
    )


def test_places_that_share_a_draw_have_one_word_or_no_chance():
    m = MADE["custext conservative"]()
    prepared = m.prepare(f"{W[0]} {W[0]} {W[1]}")
    one, other, *_ = m.distribution(prepared, 0).candidates
    together = m.likelihood.in_places(
        prepared, [{0: one, 1: one.upper()}, {0: one, 1: other}, {0: one, 1: one[:2] + one[2:]}]
    )
    alone = m.likelihood.in_places(prepared, [{0: one}])
    assert together[0] == together[2] == alone[0] > -np.inf == together[1]


def test_a_place_beyond_the_window_is_on_the_list():
    """Where the uniform that picks it is 1 but for the last bit."""
    for u in (1.0, 1 - 2**-53, 1e-300):
        found = list_noise.noisy_place("tem", 1.0, np.array([0, 10, 19]), 20, 0.5, 1, np.log(1e-9), np.log(u))
        assert ((found >= 0) & (found < 20)).all()


def test_a_prompt_has_the_least_room_or_is_refused(monkeypatch):
    config = dpt.mechanism_class("dp-prompt").config_cls(max_tokens=50)
    monkeypatch.setattr(generation, "_room", lambda spec, tokens: generation.LEAST_ROOM)
    dpt.mechanism_class("dp-prompt").resolve(config)
    monkeypatch.setattr(generation, "_room", lambda spec, tokens: generation.LEAST_ROOM - 1)
    with pytest.raises(dpt.ConfigError, match=r"23 remain for the text and the prompt. Choose at most 49\."):
        dpt.mechanism_class("dp-prompt").resolve(config)


def test_the_tables_of_a_size_are_those_of_all_its_words():
    m = MADE["custext conservative"]()  # 26 words in sets of 7: the last set is smaller
    sizes = np.array([len(m.channel(row).candidates) for row in range(26)])
    assert len(set(sizes.tolist())) > 1
    for size in set(sizes.tolist()):
        which, outputs, scores = word_groups._all_tables(m.vocabulary, 7, "conservative", m.config.metric, size)
        assert which.tolist() == np.flatnonzero(sizes == size).tolist() and outputs.shape == (len(which), size)
        for row, given, own in zip(which, outputs, scores, strict=True):
            table = m.channel(int(row))
            assert [m.vocabulary.words[i] for i in given] == list(table.candidates)
            np.testing.assert_allclose(own, table.scores)


@pytest.mark.parametrize(
    ("prior", "never", "alone"), [("none", (), True), ("none", ("x",), False), ("a", (), False), ("a", ("x",), False)]
)
def test_a_range_is_looked_at_alone_only_where_nothing_before_counts(prior, never, alone):
    m = SimpleNamespace(config=SimpleNamespace(prior=prior), never=never)
    assert bool(generation.Generation.clips_alone.fget(m)) is alone


def with_noise_of_a_seed(name: str, monkeypatch, **options):
    """A mechanism whose noise for estimates is not that of the process."""
    monkeypatch.setattr(mvc, "NoiseStream", lambda: NoiseStream(5))
    return on(random_space(26, 4), name, **({"epsilon": 8.0} | options))


@pytest.mark.parametrize("name", ["mvc", "mahalanobis", "vickrey"])
def test_estimates_stay(name, monkeypatch):
    m = with_noise_of_a_seed(name, monkeypatch)
    found: dict[str, Any] = {}
    for row in (0, 5, 25):
        channel = m.channel(row)
        found[f"row {row}"] = {
            "counts": [np.rint(channel.at(e).probs * 1000) for e in EPSILONS],
            "curve": np.sort(channel._curve(np.array(EPSILONS)), axis=0)[::20],
            "shown": [channel.shown(n, 0.2, 9.0) for n in (1, 4, 99)],
            "deniability": [channel.deniability(e) for e in EPSILONS],
            "without": [channel.deniability_without(e, 4) for e in EPSILONS],
            "chances": np.exp(channel.log_p(np.array(EPSILONS), np.array([0, 5, 2]))),
        }
    compare_case("words", f"estimates of {name}", plain(found))


def test_the_noise_behind_estimates_is_that_of_its_definition(monkeypatch):
    """A direction by normal numbers, a length by d exponential ones; the matrix of another metric comes after."""
    m = with_noise_of_a_seed("mvc", monkeypatch)
    block, stream, d = m.block, NoiseStream(5), 4
    normal = stream.at("direction").normals(1000 * d)
    uniform = stream.at("length").uniforms(1000 * d)
    for k in (0, 7, 999):
        x = normal[d * k : d * (k + 1)]
        length = -sum(math.log(u) for u in uniform[d * k : d * (k + 1)])
        assert block.noise[k] == pytest.approx(length * x / math.sqrt(sum(x * x)))
        assert block.squares[k] == pytest.approx(length**2)
    assert block.noise.shape == (1000, d) and block.products.shape == (1000, 26) and block.few.shape == (200, 26)
    assert block.coins.tolist() == stream.at("coins").uniforms(1000).tolist()
    other = with_noise_of_a_seed("mahalanobis", monkeypatch)
    assert other.block.noise == pytest.approx(block.noise @ other._root)
    own = NoiseStream(8)
    x, u = own.at("direction").normals(d), own.at("length").uniforms(d)
    expected = -np.log(u).sum() * x / np.linalg.norm(x)
    assert m.noise(own) == pytest.approx(expected) and other.noise(own) == pytest.approx(expected @ other._root)


@pytest.mark.parametrize("released", [3, 20])
def test_a_picture_of_noise_shows_near_words_a_cloud_and_where_this_point_landed(released, monkeypatch):
    m = with_noise_of_a_seed("mvc", monkeypatch)
    space, stream = m.vocabulary, NoiseStream(9)
    (view,) = m._views(space.words[released], 4, 2.0, stream)
    x = space.vectors.astype(np.float64)
    near = np.argsort(np.linalg.norm(x - x[4], axis=1), kind="stable")[:24].tolist()
    shown = list(dict.fromkeys([4, *near, released]))
    plane = project(x[shown], 0)
    assert (view.source, view.released_word, view.words) == (W[4], W[released], tuple(W[i] for i in shown))
    assert view.xy == pytest.approx(plane.xy) and (view.draws, view.dims) == (150, 4)
    assert view.noise == pytest.approx(plane.of(x[4] + m.block.noise[:150] / 2.0))
    assert view.landed == pytest.approx(plane.of((x[4] + m.noise(stream) / 2.0)[None])[0])
    assert view.share == pytest.approx(plane.share)


@pytest.mark.parametrize("name", [spec.name for spec in dpt.mechanisms()])
def test_options_with_their_ends_stay(name):
    """What forms, help and checks are made from; how it is worded may change."""
    worded = {"label", "help", "phrase", "unset_phrase", "unit", "row_meanings"}
    always = {"kind", "min", "max", "choices", "advanced", "live"}
    kept = [f for f in dataclasses.fields(OptionMeta) if f.name not in worded]

    def described(meta: OptionMeta) -> dict:
        values = {f.name: (getattr(meta, f.name), f.default) for f in kept}
        return plain({k: v for k, (v, default) in values.items() if k in always or v != default})

    options = {
        f.name: described(option_meta(f)) | {"default": plain(f.default)}
        for f in dataclasses.fields(dpt.mechanism_class(name).config_cls)
    }
    cls = dpt.mechanism_class(name)
    # What is made with them, so that a line of each module is run.
    drawn = MADE[name]().rewrite(TEXT, seed=1).text if name in MADE else ""
    compare_case("options", name, {"options": options, "variants": plain(cls.variants()), "drawn": drawn})
