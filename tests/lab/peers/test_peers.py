"""The comparison with released packages: its statistics, the formulas it states, and both workers."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from marks import slow_but

from dptext_core.errors import DPTextError, InputError, ModelUnavailable
from dptext_lab.peers import command, difference, formulas, process, report, table, worker
from dptext_lab.peers import comparison as compare

ROOT = Path(__file__).resolve().parents[3]
PEERS_PYTHON = os.environ.get("DPTEXT_PEERS_PYTHON", "")


@pytest.fixture(scope="module")
def space() -> formulas.Vectors:
    stream = np.random.default_rng(3)
    words = tuple(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60))
    return formulas.Vectors(words, (stream.standard_normal((60, 4)) + np.array([1.0, 0, 0, 0])).astype(np.float32))


def stream() -> np.random.Generator:
    return np.random.default_rng(1)


# --- statistics -----------------------------------------------------------------------------------------------------


def test_draws_of_a_channel_are_the_same_and_draws_of_another_are_not():
    channels = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.4, 0.4]])
    near = np.array([[0.56, 0.27, 0.17, 0.0], [0.1, 0.1, 0.4, 0.4]])
    seen = np.stack([stream().multinomial(4000, channel) for channel in channels])
    assert difference.against_channel(channels, seen, [0, 0], stream()).same
    found = difference.against_channel(near, seen, [3, 3], stream())
    assert not found.same and found.tv > 2 * found.chance
    assert not difference.against_channel(channels, seen[::-1], [0, 0], stream()).same


@pytest.mark.slow
def test_a_word_kept_too_often_shows_where_all_else_is_rare():
    """Over many rare words the total variation by chance hides what N_w shows."""
    rare = np.full(400, 1 / 400)
    p, q = np.append(0.3 * rare, 0.7), np.append(0.36 * rare, 0.64)
    rng = stream()
    a, b, c = (rng.multinomial(n, channel)[None] for n, channel in ((4000, p), (2000, p), (2000, q)))
    assert difference.against_draws(a, b, [400], rng).same and difference.against_channel(p[None], b, [400], rng).same
    assert (
        not difference.against_draws(a, c, [400], rng).same
        and not difference.against_channel(p[None], c, [400], rng).same
    )


def test_two_sets_of_draws_are_compared_by_permutation():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3])
    a, b, c = (stream().multinomial(n, channel)[None] for n, channel in ((3000, p), (1000, p), (1000, q)))
    assert difference.against_draws(a, b, [0], stream()).same
    assert not difference.against_draws(a, c, [0], stream()).same
    # One against nine draws that have nothing in common, in one of ten equally likely orders.
    rare = difference.against_draws(np.array([[1, 0]]), np.array([[0, 9]]), [0], stream(), 20_000)
    assert rare.tv == 1 and rare.p == pytest.approx(2 * 0.1, abs=0.02)


def test_chance_is_what_equal_distributions_show():
    channel = np.full((1, 50), 1 / 50)
    again = [difference.against_channel(channel, stream().multinomial(200, channel[0])[None], [0], stream()).chance]
    many = np.random.default_rng(5).multinomial(200, channel[0], size=4000)
    assert again[0] == pytest.approx(np.abs(many / 200 - channel).sum(1).mean() / 2, rel=0.03)


def test_small_p_is_rare_where_both_are_equal():
    channel = np.array([[0.7, 0.2, 0.05, 0.05]])
    rng = np.random.default_rng(8)
    found = [
        difference.against_channel(channel, rng.multinomial(500, channel[0])[None], [0], rng, 199).p for _ in range(300)
    ]
    assert 0.5 < np.mean(found) < 0.85 and np.mean(np.array(found) < 0.1) < 0.16


# --- formulas -------------------------------------------------------------------------------------------------------


def test_tem_references_against_a_literal_draw(space, monkeypatch):
    # With the usual β the outcome for far words is too rare to be seen.
    monkeypatch.setattr(formulas, "FIXED_BETA", 0.3)
    row, epsilon, n = 5, 6.0, 60_000
    rng = stream()
    d = np.linalg.norm(space.vectors - space.vectors[row], axis=1)
    for name in ("tem-ratio", "tem-original"):
        channel = formulas.CHANNELS[name](space, row, epsilon)
        assert channel.sum() == pytest.approx(1)
        if name == "tem-ratio":
            gamma = round(2 / epsilon * np.log(0.7 * 60 / 0.3), 1)
            near = np.flatnonzero(d <= gamma)
            bottom = -gamma + 2 * np.log(60 / len(near)) / epsilon
        else:
            gamma = 2 / epsilon * np.log(0.7 * 59 / 0.3)
            near = np.flatnonzero(d <= gamma)
            bottom = -gamma + 2 * np.log(60 - len(near)) / epsilon
        assert 1 < len(near) < 60
        noisy = np.append(-d[near], bottom) + rng.gumbel(0, 2 / epsilon, (n, len(near) + 1))
        best = noisy.argmax(1)
        rest = rng.choice(np.setdiff1d(np.arange(60), near), n) if name == "tem-ratio" else np.full(n, row)
        out = np.where(best == len(near), rest, np.append(near, 0)[best])
        assert difference.against_channel(channel[None], compare.counts([out.tolist()], 60), [row], rng).same


def test_custext_far_takes_the_words_least_alike(space):
    channel = formulas.custext_far(space, 7, 4.0)
    v = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosine = v @ v[7]
    assert set(np.flatnonzero(channel)) == set(np.argsort(cosine)[: formulas.K])
    chosen = np.flatnonzero(channel)
    best, worst = chosen[cosine[chosen].argmax()], chosen[cosine[chosen].argmin()]
    assert channel[best] / channel[worst] == pytest.approx(np.exp(2.0))


def test_noise_has_its_length_and_its_shape(space):
    rng = stream()
    z = formulas.sphere(40_000, 4, 2.0, rng)
    length = np.linalg.norm(z, axis=1)
    assert length.mean() == pytest.approx(2.0, rel=0.02) and length.var() == pytest.approx(1.0, rel=0.05)
    pooled, own = formulas.root_of(space.vectors, True), formulas.root_of(space.vectors, False)
    v = space.vectors.astype(np.float64)
    sigma = np.cov(v, rowvar=False, ddof=0)
    np.testing.assert_allclose(
        own @ own, formulas.LAM * sigma / v.var(axis=0).mean() + (1 - formulas.LAM) * np.eye(4), atol=1e-12
    )
    np.testing.assert_allclose(
        pooled @ pooled, formulas.LAM * sigma / v.var() + (1 - formulas.LAM) * np.eye(4), atol=1e-12
    )
    assert np.trace(pooled) < np.trace(own)
    unit = np.linalg.norm(formulas.sphere(40_000, 4, 2.0, rng, own, True), axis=1)
    assert unit.mean() == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("name", sorted(set(formulas.DRAWS) - {"cells"}))
def test_references_by_draws_reach_words_and_follow_epsilon(space, name):
    low, high = (formulas.reference_draws(name, space, 3, e, 3000, stream()) for e in (2.0, 200.0))
    assert len(low) == len(high) == 3000 and low.min() >= 0 and low.max() < 60
    assert len(set(low)) > 30 and len(set(high)) <= 3
    assert (3 in high) == (name != "vickrey-others")


def test_vickrey_references_at_one_noisy_point(space):
    n, rng = 20_000, stream()
    for shift in (0.05, 1.5):
        noise = np.tile(np.float64([shift, 0, 0, 0]), (n, 1))
        d = np.linalg.norm(space.vectors + 0.0 - (space.vectors[3] + noise[0]), axis=1)
        near = np.argsort(d)
        assert (near[0] == 3) == (shift < 1)
        first, second = near[near != 3][:2] if near[0] == 3 else near[:2]
        out = formulas.vickrey_others(space, 3, noise, rng)
        assert set(out) == {first, second}
        assert (out == first).mean() == pytest.approx(1 / (1 + np.exp(d[first])), abs=0.02)
        out = formulas.vickrey(space, 3, noise, rng)
        a, b = near[:2]
        assert set(out) == {a, b}
        assert (out == a).mean() == pytest.approx(0.25 * d[b] / (0.75 * d[a] + 0.25 * d[b]), abs=0.02)


def test_every_row_has_its_formula_and_a_name_of_its_own():
    assert len({(p.package, p.title) for p in table.PEERS}) == len(table.PEERS)
    for p in table.PEERS:
        assert p.package in table.PACKAGES
        assert bool(p.reason) == bool(p.reference), p.title
        assert not p.reference or p.reference in {*formulas.CHANNELS, *formulas.DRAWS}
        assert p.theirs.partition("-")[0] in worker.SIDES
    assert {p.reference for p in table.PEERS} - {""} == {*formulas.CHANNELS, *formulas.DRAWS}


def test_epsilon_follows_the_vectors(space):
    wide = formulas.Vectors(space.words, space.vectors * 10)
    for p in table.PEERS:
        expected = 1 if not p.scale else 10
        assert p.epsilon_on(space) / p.epsilon_on(wide) == pytest.approx(expected, rel=0.1)


# --- the space and its lists ------------------------------------------------------------------------------------------


def test_distances_and_gap_of_a_space(space):
    d = np.linalg.norm(space.vectors[:, None] - space.vectors[None], axis=2)
    np.testing.assert_allclose(space.distances(space.vectors.astype(float)), d, atol=1e-5)
    off = d[~np.eye(60, dtype=bool)]
    assert space.extremes == pytest.approx((off.min(), off.max()), rel=1e-5)
    np.fill_diagonal(d, np.inf)
    assert space.gap == pytest.approx(np.median(d.min(1)), rel=1e-5)


def test_jumps_and_length_of_a_list():
    line = formulas.Vectors(tuple("abcde"), np.array([[0], [1], [2.5], [4.5], [7]], dtype=np.float32))
    assert compare.jumps(line, np.arange(5)) == 0 and compare.length(line, np.arange(5)) == pytest.approx(7)
    crossed = np.array([0, 4, 1, 2, 3])
    # From 0 the nearest is 1, from 7 it is 4.5; the rest is in order.
    assert compare.jumps(line, crossed) == 2 and compare.length(line, crossed) == pytest.approx(7 + 6 + 3.5)


def test_vectors_survive_as_text(space, tmp_path):
    path = tmp_path / "space.txt"
    worker.write_text(space, path, header=True)
    head, *lines = path.read_text().splitlines()
    assert head == "60 4" and [line.split()[0] for line in lines] == list(space.words)
    np.testing.assert_array_equal(np.array([x.split()[1:] for x in lines], dtype=np.float32), space.vectors)


# --- workers ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("peers")
    compare.prepare_folder(path, compare.comparison_space("minilm", 2500))
    return path


@pytest.fixture(scope="module")
def ours(folder) -> Iterator[process.Process]:
    with process.Process("ours", folder, 1) as made:
        yield made


@pytest.mark.parametrize(
    "title", slow_but(["1-Diffractor, geometric"], ["Vickrey, MVC noise", "1-Diffractor, geometric"])
)
def test_our_worker_answers(folder, ours, title):
    (peer,) = (p for p in table.PEERS if p.title == title)
    part = formulas.Vectors.load(folder / "part.npz")
    assert part.vectors.shape == formulas.PART
    job = {"theirs": peer.theirs, "ours": peer.ours, "epsilon": peer.epsilon_on(part), "options": peer.options}
    job |= {"by_place": peer.by_place, "reference": peer.reference, "delta": part.extremes}
    word = part.words[700]
    ours.ask("make", job=job, space="part.npz")
    words, seconds = ours.ask("time", texts=compare.invented_texts(part, 30), limit=60)
    assert words == 600 and seconds > 0
    assert 20e6 < ours.ask("peak") < 4e9
    drawn = ours.ask("draw", words=[word], n=400, limit=60)
    assert len(drawn[0]) == 400
    channels = ours.ask("channel", words=[word])
    order = ours.ask("order")
    if peer.ours == "vickrey":
        assert channels is None and len(set(drawn[0])) > 1
    else:
        assert sum(channels[0]) == pytest.approx(1)
        assert difference.against_channel(
            np.array(channels), compare.counts(drawn, len(part.words)), [700], stream()
        ).same
    if peer.by_place:
        assert sorted(order) == sorted(part.words)
        assert compare.jumps(part, np.array([part.words.index(w) for w in order])) == 0
    else:
        assert order is None


@pytest.mark.slow
def test_what_a_worker_cannot_do_is_said(folder, ours):
    with pytest.raises(DPTextError, match="no-such-mechanism"):
        ours.ask(
            "make",
            space="part.npz",
            job={
                "ours": "no-such-mechanism",
                "epsilon": 1.0,
                "options": {},
                "theirs": "",
                "by_place": False,
                "reference": "",
            },
        )
    # It answers the next request all the same.
    assert ours.ask("versions", packages=["numpy"]) == {"numpy": np.__version__}
    with process.Process("theirs", folder, 1, sys.executable) as theirs:
        with pytest.raises(process.PeerFailed, match="KeyError"):
            theirs.ask("make", space="part.npz", job={"theirs": "unknown"})
        theirs.process.kill()
        theirs.process.wait()
        with pytest.raises(process.PeerFailed, match="the process ended"):
            theirs.ask("peak")


@pytest.mark.skipif(os.name != "posix", reason="stops the worker by a signal")
def test_a_worker_that_hangs_is_ended(folder):
    with process.Process("theirs", folder, 1, sys.executable, limit=0.5) as theirs:
        theirs.process.send_signal(signal.SIGSTOP)
        with pytest.raises(process.PeerFailed, match=r"no answer in 0\.5 seconds"):
            theirs.ask("peak")
        assert theirs.process.wait(10) != 0


def test_an_environment_without_the_packages_is_said(folder):
    with pytest.raises(ModelUnavailable, match=r"pypantera.*requirements-peers\.txt"):
        command.main(["--peers-python", sys.executable, "--vocabulary", "2000"])
    with pytest.raises(InputError, match="cannot be started"):
        compare.installed(folder, str(folder / "no-python"))
    with pytest.raises(InputError, match="Choose from MVC"):
        command.main(["--peers-python", sys.executable, "--only", "nothing"])
    with pytest.raises(InputError, match="Raise --vocabulary"):
        command.main(["--peers-python", sys.executable, "--vocabulary", "10"])


def test_the_worker_needs_none_of_our_packages(tmp_path):
    """Their Python is shown the folder, isolated, and must find everything it needs at the heads of the files."""
    code = process.THEIRS.replace("sys.exit(worker(*sys.argv[2:]))", "print(*sorted(sys.modules))")
    out = subprocess.run(
        [sys.executable, "-I", "-c", code, str(ROOT / "dptext_lab" / "peers")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout.split()
    assert "numpy" in out and not [m for m in out if m.startswith(("dptext_core", "torch", "gensim"))]


def test_requirements_pin_what_the_comparison_names():
    lines = (ROOT / "requirements-peers.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines)
    names = [line.partition("==")[0].replace("_", "-") for line in lines]
    assert names == sorted(names, key=str.lower) and set(table.PACKAGES) <= set(names)


# --- the report -------------------------------------------------------------------------------------------------------


def test_report_has_a_row_each_and_says_what_differs():
    by_title = {f"{p.package} {p.title}": p for p in table.PEERS}
    far, same = difference.Difference(0.4, 0.05, 0.0005), difference.Difference(0.05, 0.05, 0.5)
    speed = compare.Speed(20.0, 50_000.0, 25.0, (120_000_000, None), "its list is longer")
    rows = [
        compare.PeerComparison(by_title["pypantera SanText"], speed, compare.Match(10.0, (0.5, 0.51), (0, 900), same)),
        compare.PeerComparison(
            by_title["pypantera TEM, β 0.3"], speed, compare.Match(10.0, (1, 1), (0, 9), same, same, 0.0007)
        ),
        compare.PeerComparison(
            by_title["pypantera Mahalanobis, λ 0.9"], speed, compare.Match(9.0, (0.5, 0.2), (99, 99), far, far)
        ),
        compare.PeerComparison(by_title["pypantera CMP (MVC)"], speed, compare.Match(9.0, (0.5, 0.2), (99, 99), far)),
        compare.PeerComparison(by_title["mldp-text TEM"], "ValueError: scale < 0", "ValueError: scale < 0"),
    ]
    text = "\n".join(report.report(rows))
    tables = [[line for line in block.splitlines() if line] for block in text.split("\n\n")]
    for lines in tables[:2]:
        assert len(lines) == 2 + len(rows) and len({line.count("|") for line in lines}) == 1
    assert "| 50,000 | 25 | 2,000× | 120 | – |" in text
    assert "closed form | 900" in text and tables[1][2].endswith("| same |")
    assert tables[1][3].endswith("see below |") and "0.0007 apart" in text
    assert tables[1][4].endswith("only partly explained below |") and "do not fit" in text
    assert tables[1][5].endswith("| differs |") and "unknown reason" in text
    assert "theirs stops: ValueError" in tables[1][6]
    assert text.count("its list is longer.") == 1
    alike = compare.PeerComparison(by_title["pypantera SanText"], dataclasses.replace(speed, lists=""), rows[0].match)
    assert "differs" not in "\n".join(report.report([alike]))


# --- the packages themselves ------------------------------------------------------------------------------------------

if PEERS_PYTHON:  # their environment: they do not fit beside our own packages

    @pytest.mark.slow
    @pytest.mark.parametrize("peer", table.PEERS, ids=lambda p: p.theirs)
    def test_theirs_is_ours_or_the_formula_that_is_stated(folder, peer):
        part = formulas.Vectors.load(folder / "part.npz")
        with process.pair(folder, 1, PEERS_PYTHON) as (ours, theirs):
            match = compare.compare_draws(peer, part, ours, theirs, 3, 400, 20)
        assert (match.explained or match.difference).same, json.dumps([match.verdict, match.difference.p])
