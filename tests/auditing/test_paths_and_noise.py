"""Mistakes of one way to a rewrite, and of the noise: an audit finds each, or says why it cannot, and clears what is
sound but unusual."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from small_spaces import over, random_space, words

import dptext_core as dpt
from dptext_core.auditing import audit, entry_points, noise_source, second_process, three_way, verdict
from dptext_core.auditing.checks import Subject, look_at
from dptext_core.auditing.inputs import Meter
from dptext_core.auditing.release_statistics import LEVEL
from dptext_core.auditing.report import LINES
from dptext_core.auditing.tapped import Tape, TappedStream
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.santext import SanText
from dptext_core.mechanisms.words.word_level import WordMechanism
from dptext_core.privacy.sampling import NoiseStream, Sampler
from dptext_core.testing import check_mechanism
from dptext_lab.broken_mechanisms import FAULTS, broken, sound
from dptext_lab.broken_mechanisms.noise import NOISE, inverted
from dptext_lab.broken_mechanisms.paths import PATHS

SPACE = random_space(60, 4)
#: The one that finds most, and finds it soonest, first.
LOOKS = (entry_points.through_entry_points, noise_source.noise_source, three_way.three_together)
INPUTS = ["doctor", "hospital", "music", "garden"]
#: What cannot be told in principle: whether a generator of somebody's own, or numbers that words share, are enough.
DOUBTS = {"own-generator": "uses another generator", "xor-noise": "shares all its noise"}
#: What another check of a whole audit finds before, or a second process.
PROCESSES = ("counted-key", "process-key")


def looked(m: dpt.Mechanism, look, inputs=INPUTS):
    found = look_at((look,), Subject(m, m.guarantee(inputs[0]), inputs, NoiseStream(4), Meter()))
    return found[0] if found else None


@pytest.fixture
def few_boundaries(monkeypatch):
    """Uniforms are called coarse after six boundaries: a sound mechanism would be with a chance of 2^-72."""
    monkeypatch.setattr(noise_source, "BOUNDARIES", 6)


def made(name: str, make=broken) -> dpt.Mechanism:
    """The fault beside the default ε, which a copy may fall back to."""
    fault = FAULTS[name]
    return make(name, epsilon=1.1 * fault.sound.epsilon_range()[2])


#: The checks for plugins that are about paths and noise.
FOUND_BY = (
    "every_entry_point_releases_the_same",
    "all_noise_comes_from_the_stream",
    "no_audit_check_finds_a_violation",
)


def plugin(cls: type[dpt.Mechanism]) -> type[dpt.Mechanism]:
    """The class as a plugin of its own, which another process can import from here."""
    name = f"Own{cls.__name__}"
    made_ = type(name, (cls,), {"name": f"own-{cls.name}", "__module__": __name__, "__qualname__": name})
    globals()[name] = made_
    return made_


@pytest.fixture
def new_looks(few_releases, monkeypatch):
    monkeypatch.setattr(verdict, "FIRST", verdict.FIRST[:2])
    monkeypatch.setattr(verdict, "LATER", (*LOOKS, second_process.in_two_processes))


NAMES = [f.name for f in (*PATHS, *NOISE)]
#: Faults whose check takes long: only the check of noise looks at them, at one word.
SLOW = {"24-bit-noise", "xor-noise"}
#: Each check finds its faults below. That whole audits and the checks for plugins run these checks needs fewer faults:
#: both doubts, and every fourth, so that each of ``FOUND_BY`` is met.
IN_AUDITS = [*[name for name in NAMES if name not in SLOW][::4], "own-generator"]
IN_PLUGINS = [name for name in NAMES if name not in SLOW][2::4]


@pytest.mark.parametrize("name", [f.name for f in (*PATHS, *NOISE) if f.name not in PROCESSES])
def test_a_look_finds_the_fault(name, few_boundaries):
    checks, inputs = (LOOKS[1:2], INPUTS[:1]) if name in SLOW else (LOOKS, INPUTS)
    found = (c for check in checks if (c := looked(made(name), check, inputs)) is not None)
    if name in DOUBTS:
        found = list(found)
        assert "refuted" not in {c.status for c in found}
        (doubt,) = (c.reason for c in found if c.status == "not tested")
        assert DOUBTS[name] in doubt
    else:
        witness = next(c.witness for c in found if c.status == "refuted")
        assert witness.sentence()


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_AUDITS)
def test_an_audit_does_not_say_that_it_holds(name, new_looks):
    report = audit(made(name), INPUTS, draws=100, seed=1)
    assert report.verdict == ("inconclusive" if name in DOUBTS else "refuted"), report.details()
    assert report.line == LINES[report.verdict]


def test_the_checks_for_plugins_clear_what_the_faults_are_made_of():
    for cls in {FAULTS[name].sound for name in IN_PLUGINS}:
        check_mechanism(plugin(cls), only=FOUND_BY[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_PLUGINS)
def test_the_checks_for_plugins_find_it_too(name):
    options = dpt.Setting.of("custext", epsilon=made(name).config.epsilon).given()
    failed = []
    for check in FOUND_BY:
        try:
            check_mechanism(plugin(FAULTS[name].broken), only=check, **options)
        except AssertionError:
            failed.append(check)
            break
    assert failed


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_registered_is_cleared(look):
    """With its own words; test_conformance looks at every mechanism, with fewer."""
    assert looked(dpt.get_mechanism("custext"), look).status == "tested"


@pytest.mark.parametrize("name", ["custext", "santext", "diffractor"])
def test_what_is_registered_has_no_keys_of_its_own(name):
    assert second_process.own_keys(dpt.get_mechanism(name)) == []


@pytest.mark.slow
def test_two_processes_have_noise_of_their_own_unless_it_is_counted(monkeypatch):
    for name in PROCESSES:
        check = looked(broken(name), second_process.in_two_processes)
        assert check.status == "refuted" and check.witness.sentence()
    # A sound one that writes rewrite anew is rewritten in two processes as well.
    first, second = second_process.noise_names(sound("counted-key"), "doctor")
    assert len(first) == 8 and not set(first) & set(second) and len(set(first)) == 8

    class Local(FAULTS["counted-key"].broken):
        pass

    check = looked(Local.create(), second_process.in_two_processes)
    assert check.status == "not tested" and "Another process cannot import it" in check.reason


# --- sound, but unusual


class PermuteAndFlip(WordMechanism):
    """McKenna and Sheldon 2020: words in a random order, the first whose coin falls right. Its number of draws is
    random."""

    name, title, notion = "flips", "Permute and flip", "pure"

    def table(self, row: int) -> np.ndarray:
        return -np.abs(np.arange(len(self.vocabulary.words)) - row) / len(self.vocabulary.words) / 2

    def channel(self, row: int) -> dpt.Channel:
        return Flips(self.vocabulary.words, self.table(row), self.vocabulary.words[row], np.array([row]))

    def _draw(self, draws, *arguments, **more):
        out = []
        for j, row in enumerate(draws.rows.tolist()):
            p = np.exp(float(draws.epsilons[j]) * (self.table(row) - self.table(row).max()))
            stream = draws.stream(j)
            order = np.argsort(stream.at("order").uniforms(len(p)))
            at = next(i for k, i in enumerate(order) if stream.at("coin", k).uniform() < p[i])
            out.append(self.vocabulary.words[at])
        return out


class Flips(dpt.ScoreTable):
    """Its distribution, by the sum over all orders (an integral over the place in the order)."""

    def at(self, epsilon):
        p = np.exp(epsilon * (self.scores - self.scores.max()))
        nodes, weights = np.polynomial.legendre.leggauss(40)
        t = (nodes + 1) / 2
        all_ = np.prod(1 - t[:, None] * p[None], axis=1)
        chance = p * ((weights / 2)[:, None] * all_[:, None] / (1 - t[:, None] * p[None])).sum(axis=0)
        return dpt.TokenDistribution(
            self.candidates, np.log(chance / chance.sum()), self.source, float(epsilon), None, self._keep
        )


class Rejecting(SanText):
    """SanText by rejection: uniform words, until one is taken. The number of random numbers is random."""

    title = "SanText by rejection"

    def _draw(self, draws, *arguments, **more):
        out = []
        for j, channel in enumerate(self.channels(draws.rows)):
            log_p = channel.at(float(draws.epsilons[j])).log_probs
            bound, n = np.exp(log_p - log_p.max()), len(log_p)
            stream, k = draws.stream(j), 0
            while True:
                which, coin = stream.at(k).uniforms(2).tolist()
                if coin < bound[int(which * n)]:
                    break
                k += 1
            out.append(channel.candidates[int(which * n)])
        return out


class Inverting(SanText):
    """SanText by one uniform a word."""

    title = "SanText by one uniform"

    def _draw(self, draws, *arguments, **more):
        return inverted(self, draws, lambda j: draws.stream(j).uniform())


class Shifted(SanText):
    """SanText whose uniforms are all moved by one of the text, modulo 1, which keeps them independent."""

    title = "SanText with a moved uniform"

    def _draw(self, draws, *arguments, **more):
        own = [stream.at("shift").uniform() for stream, _ in draws.texts]
        return inverted(self, draws, lambda j: (draws.stream(j).uniform() + own[draws.owners[j]]) % 1.0)


class Uniform(SanText):
    """Any word, whatever stood there: of 32, so that five bits are enough."""

    title = "Uniform words"

    def channels(self, rows):
        return [
            dataclasses.replace(c, candidates=c.candidates[:32], scores=np.zeros(32), _keep=np.empty(0, np.int64))
            for c in super().channels(rows)
        ]


class FiveBits(Uniform):
    """The same from five bits of a random number."""

    title = "Uniform words by five bits"

    def _draw(self, draws, *arguments, **more):
        return [self.vocabulary.words[int(draws.stream(j).words(1)[0] >> 59)] for j in range(len(draws.rows))]


class Same(SanText):
    """One word, whatever stood there."""

    title = "One word"

    def channels(self, rows):
        return [
            dataclasses.replace(c, candidates=c.candidates[:1], scores=np.zeros(1), _keep=np.empty(0, np.int64))
            for c in super().channels(rows)
        ]


UNUSUAL = (PermuteAndFlip, Rejecting, Inverting, Shifted, Uniform, FiveBits, Same)


@pytest.mark.parametrize("cls", UNUSUAL)
@pytest.mark.parametrize("look", LOOKS)
def test_what_is_sound_but_unusual_is_cleared(cls, look):
    m = over(SPACE, cls, epsilon=2.0, keep_stopwords=False, recase="none")
    check = looked(m, look, list(words(8)))
    assert check is None or check.status == "tested", check


# --- rates


def test_what_a_look_refutes_wrongly_is_as_rare_as_it_says():
    # Two-sided: the bound of Hoeffding, over all comparisons of both tables.
    tests = 7 * (math.comb(6, 3) + math.comb(4, 3))
    least = three_way.least_mean(three_way.CALLS, tests)
    assert three_way.chance_of(least, three_way.CALLS) * tests == pytest.approx(LEVEL)
    assert three_way.least_mean(three_way.TIMES, tests) < 0.5 and least < 0.71
    # Twenty releases that change with other streams and never with other numbers: a chance below 1 in 2^20.
    changes, n = noise_source.CHANGES, noise_source.TRIES
    worst = max(math.comb(k, changes) / math.comb(2 * k, changes) for k in range(changes, n + 1))
    assert worst < 2.0**-changes < 1e-6
    # Boundaries of a number of 53 bits are as round as coarse ones with a chance of 2^-12 each.
    assert noise_source.BOUNDARIES * noise_source.CLOSER > 200


@pytest.mark.parametrize(("strength", "found"), [(1.0, True), (0.7, True), (0.0, False)])
def test_three_draws_that_go_together_are_found_from_some_strength_on(strength, found):
    """In a share of the rewrites the third is the sum of the others, or their XOR."""
    rng = np.random.default_rng(1)
    for k in range(20):
        u, v, w = rng.random((3, 400))
        bound = rng.random(400) < strength
        both = (u + v) % 1 if k % 2 else ((u * 2**40).astype(np.int64) ^ (v * 2**40).astype(np.int64)) / 2**40
        lies = np.stack([u, v, np.where(bound, both, w)], axis=1)
        m = over(SPACE, SanText)
        assert (three_way._judge(m, "text", {"draws": lies}).status == "refuted") == found
        if found:
            for a, b in ((0, 1), (0, 2), (1, 2)):
                assert abs(np.corrcoef(lies[:, a], lies[:, b])[0, 1]) < 0.2, "each two are independent"


@pytest.mark.parametrize("bits", [8, 16, 24, 30])
def test_uniforms_of_few_bits_are_told_by_their_number(bits, few_boundaries):
    class Coarse(CusText):
        def _draw(self, draws, *arguments, **more):
            return inverted(self, draws, lambda j: int(draws.stream(j).words(1)[0] >> (64 - bits)) / 2**bits)

    check = looked(Coarse.create(), noise_source.noise_source)
    assert check.status == "refuted" and f"{bits} bits" in check.reason


@pytest.mark.parametrize("bits", [44, 53])
def test_uniforms_of_enough_bits_are_cleared(bits):
    class Fine(CusText):
        def _draw(self, draws, *arguments, **more):
            return inverted(self, draws, lambda j: int(draws.stream(j).words(1)[0] >> (64 - bits)) / 2**bits)

    assert looked(Fine.create(), noise_source.noise_source).status == "tested"


# --- the tapped stream


def test_a_tapped_stream_has_the_numbers_of_its_own():
    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(500)))
    for path in ((), (0,), (3, "words")):
        plain, tape = NoiseStream(7).at(*path), Tape()
        tapped = TappedStream.of(NoiseStream(7), tape).at(*path)
        assert tapped.noise_id == plain.noise_id and tapped.seed == plain.seed
        for ask in (
            lambda s: s.uniforms(9),
            lambda s: s.normals(5),
            lambda s: s.prefixes(4, 2),
            lambda s: s.skip(2).words(5),
            lambda s: s.at(1).words(3),
            lambda s: s.numbered([4, 6]).at(1).words(3),
            lambda s: Sampler(log_p).one(s),
            lambda s: Sampler(log_p).draws(s, 50),
        ):
            assert np.array_equal(ask(plain), ask(tapped))
        assert tape.bits > 0
    assert noise_source.without_seed(NoiseStream(7)).seed is None
    assert np.array_equal(noise_source.without_seed(NoiseStream(7)).words(4), NoiseStream(7).words(4))
