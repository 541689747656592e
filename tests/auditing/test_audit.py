"""The audit: exact maxima by brute force, lower bounds that are lower, verdicts, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from itertools import permutations

import numpy as np
import pytest
from small_spaces import Noisy, diffractor, on, over, random_space, shuffled_lists, words
from small_spaces import small_bundle as bundle_of

import dptext_core as dpt
from dptext_core import auditing as module
from dptext_core.auditing import AuditReport, goodness_of_fit, verdict
from dptext_core.auditing.sampled import misfit
from dptext_core.mechanisms.words.custext import CusText
from dptext_core.mechanisms.words.santext import SanText

SPACE = random_space(30, 4)

pytestmark = pytest.mark.usefixtures("few_looks", "few_releases")


@pytest.fixture(autouse=True)
def one_first_look(monkeypatch):
    """Without metadata of a text, which test_text_integrity and test_seeded have."""
    monkeypatch.setattr(verdict, "FIRST", verdict.FIRST[:1])


def audit(m, inputs=None, claim=None, **options):
    """With few rewrites, where a test does not ask for more."""
    return module.audit(m, inputs, claim, **({"draws": 100} | options))


def brute(m, names) -> float:
    """The largest log-ratio per unit over all ordered pairs that are neighbours, by plain loops."""
    apart = m.audit_support.distances(names)
    ds = [m.distribution(w, 0) for w in names]
    best = 0.0
    for a, b in permutations(range(len(names)), 2):
        if not apart[a, b] > 0:
            continue
        q = dict(zip(ds[b].candidates, ds[b].log_probs, strict=True))
        for word, p in zip(ds[a].candidates, ds[a].log_probs, strict=True):
            other = q.get(word, -math.inf)
            if p > -math.inf:
                best = max(best, (p - other) / apart[a, b])
    return best


CLOSED = {
    "santext": lambda: on(SPACE, "santext", epsilon=3.0),
    "tem": lambda: on(SPACE, "tem", epsilon=3.0, gamma=1.2),
    "custext conservative": lambda: on(SPACE, "custext", epsilon=3.0, k=5, mapping="conservative"),
    "diffractor geometric": lambda: diffractor(shuffled_lists(30, 3), epsilon=0.7),
    "one list": lambda: diffractor(shuffled_lists(30, 1), epsilon=0.7),
}


@pytest.mark.slow
#: By distance, within groups, and of noise over lists.
@pytest.mark.parametrize("name", ["santext", "custext conservative", "diffractor geometric"])
def test_a_closed_form_is_measured_exactly_and_holds(name):
    m = CLOSED[name]()
    names = list(words(30))
    report = audit(m, names, seed=3)
    assert report.measured == pytest.approx(brute(m, names), rel=1e-9)
    assert report.exact and report.verdict == "holds" and report.holds
    assert math.isfinite(report.detectable) and report.detectable > 0
    assert "Proven" in report.details() and "Tested" in report.details() and 0 < report.leak < 1
    assert report.claimed == m.config.epsilon
    w = report.witness
    first, second = m.distribution(w.first, 0), m.distribution(w.second, 0)
    assert w.p_first == pytest.approx(first.p(w.output)) and w.p_second == pytest.approx(second.p(w.output))
    assert (w.log_p_first - w.log_p_second) / w.distance == pytest.approx(report.measured)
    assert w.distance == pytest.approx(m.audit_support.distances([w.first, w.second])[0, 1])


def test_a_smaller_claim_is_refuted_and_that_of_a_tight_mechanism_holds():
    m = CLOSED["one list"]()
    report = audit(m, list(words(30)), seed=1)
    assert report.measured == pytest.approx(0.7, rel=1e-9) and report.holds
    report = audit(m, list(words(30)), claim=0.7 * (1 - 1e-7), seed=1)
    assert report.verdict == "refuted"
    # Where three digits are the same, the sentence has more.
    assert "0.7 per" in report.details() and "0.69999993" in report.details()


def test_supports_that_differ_are_an_infinite_loss_across_words():
    m = on(SPACE, "custext", epsilon=3.0, k=5, mapping="aggressive")
    report = audit(m, list(words(30)), claim=3.0, seed=1)
    assert report.verdict == "refuted" and report.measured == math.inf and report.claimed == 3.0
    w = report.witness
    assert w.p_second == 0 and w.p_first == m.distribution(w.first, 0).p(w.output) > 0
    assert m.distribution(w.second, 0).p(w.output) == 0 and "never under" in report.details()


def test_no_neighbours_is_no_verdict():
    m = on(SPACE, "custext", epsilon=3.0, k=1)  # everyone alone
    report = audit(m, list(words(30)), seed=1)
    assert (report.verdict, report.pairs, report.detectable) == ("inconclusive", 0, 0.0)
    assert "nothing to compare" in report.details()


@pytest.mark.slow
def test_what_promises_nothing_is_inconclusive_until_a_claim_is_made():
    m = on(SPACE, "gumbel", epsilon=150.0)
    report = audit(m, list(words(3)), seed=1)
    assert (report.verdict, report.claimed) == ("inconclusive", math.inf) and "no guarantee" in report.reason
    assert audit(m, list(words(3)), claim=0.5, draws=250, seed=1).verdict == "refuted"


@pytest.mark.slow
def test_the_antonym_filter_is_refuted_as_soon_as_it_claims_something(tiny_model, monkeypatch):
    class Lexicon:
        def of(self, word):
            return {"good": ("bad",), "bad": ("good",)}.get(word, ())

    monkeypatch.setattr(sys.modules[dpt.mechanism_class("dp-mlm").__module__], "antonyms", lambda **given: Lexicon())
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=20.0, antonym_filter=True, keep_stopwords=False)
    texts = ["the film was good", "the film was bad"]
    assert audit(m, texts, seed=1).verdict == "inconclusive"
    report = audit(m, texts, claim=20.0, seed=1)
    assert report.verdict == "refuted" and report.measured == math.inf and report.witness.output in ("good", "bad")


@pytest.mark.slow
def test_language_models_are_compared_over_all_contexts(tiny_model, monkeypatch):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=20.0)
    texts = ["my doctor changed", "the red car"]
    report = audit(m, texts, seed=1)
    rows = []
    for text in texts:
        for i in range(len(dpt.Document.parse(text).tokens)):
            try:
                rows.append(m.distribution(text, i).log_probs)
            except dpt.NoDistribution:
                continue
    x = np.stack(rows)
    assert report.inputs == len(x) and report.pairs == len(x) * (len(x) - 1) // 2
    assert report.measured == pytest.approx((x.max(axis=0) - x.min(axis=0)).max())
    assert 0 < report.measured <= report.claimed == 20.0 and report.holds
    assert report.witness.first in texts and report.witness.first_at in report.witness.first
    monkeypatch.setattr(verdict, "check_releases", lambda *arguments: goodness_of_fit.ReleaseFindings())
    again = audit(m, [m.prepare(t) for t in texts], seed=1)
    assert again.measured == pytest.approx(report.measured)


@pytest.mark.slow
def test_single_words_of_a_language_model_are_rewritten_too(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=20.0)
    report = audit(m, ["doctor", "paris"], seed=1)
    assert report.holds and report.draws > 2 * 50


@pytest.mark.slow
def test_default_inputs_are_drawn_words_and_the_same_each_time(monkeypatch):
    monkeypatch.setattr(verdict, "check_releases", lambda *arguments: goodness_of_fit.ReleaseFindings())
    m = on(SPACE, "santext", epsilon=3.0)
    found = module.default_inputs(m)
    assert found == module.default_inputs(m) and len(set(found)) == len(found) > 20
    grouped = on(SPACE, "custext", epsilon=3.0, k=5, mapping="conservative")
    report = audit(grouped, seed=2)
    assert report.pairs > 0 and report.inputs == len(module.default_inputs(grouped))
    real = dpt.get_mechanism("diffractor", epsilon=1.0)
    assert "the" not in (found := module.default_inputs(real)) and 100 < len(found) <= 250


@pytest.mark.slow
def test_kept_and_unknown_words_are_left_out_and_named():
    m = diffractor(shuffled_lists(30, 1), epsilon=1.0, keep_stopwords=True)
    report = audit(m, [words(30)[3], "the", "Qwzzx", words(30)[7], "!"], seed=1)
    assert report.inputs == 2 and [w for w, _ in report.skipped] == ["the", "Qwzzx", "!"]
    assert "stop word" in report.skipped[0][1] and "vocabulary" in report.skipped[1][1]


@pytest.mark.slow
def test_texts_compare_every_drawn_word():
    m = on(SPACE, "santext", epsilon=3.0)
    names = list(words(30))
    whole = audit(m, [" ".join(names[:15]) + ".", " ".join(names[15:])], seed=1)
    assert whole.inputs == 30 and whole.measured == pytest.approx(brute(m, names))


@pytest.mark.slow
def test_equal_vectors_must_give_equal_distributions():
    vectors = np.array(SPACE.vectors)
    vectors[1] = vectors[0]
    space = dataclasses.replace(SPACE, vectors=vectors)
    m = on(space, "santext", epsilon=3.0)
    assert audit(m, list(words(3)), seed=1).holds

    class Peeks(SanText):
        def channels(self, rows):
            out = super().channels(rows)
            for row, channel in zip(rows, out, strict=True):
                if row == 1:
                    channel.scores[2] -= 0.5
            return out

    peeks = over(space, Peeks, epsilon=3.0, keep_stopwords=False)
    assert audit(peeks, list(words(3)), seed=1).measured == math.inf


# --- the sampler


def test_a_rewrite_that_draws_otherwise_is_refuted():
    class Other(CusText):
        def _draw(self, draws, task):
            return [self.vocabulary.words[r] for r in draws.rows]

    m = over(SPACE, Other, epsilon=0.5, k=5, keep_stopwords=False)
    report = audit(m, list(words(30)), seed=1)
    assert report.verdict == "refuted" and report.witness.kind == "sampler" and report.sampler_p < 1e-6
    assert "do not follow the stated distribution" in report.details() and "of the draws" in report.details()


def test_honest_draws_are_no_misfit():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        p = rng.dirichlet(np.full(rng.integers(2, 60), 0.5))
        found.append(misfit(rng.multinomial(500, p), np.log(np.maximum(p, 1e-300)))[0])
    assert min(found) > 1e-4 and np.mean(np.array(found) < 0.05) < 0.1


@pytest.mark.parametrize(
    ("counts", "p"),
    [
        ([300, 200], [0.5, 0.5]),  # a slight lean is found with 50,000 draws
        ([0, 500], [0.5, 0.5]),
        ([499, 1], [1.0, 0.0]),  # impossible
        ([496, 4], [1 - 1e-9, 1e-9]),  # far too often
    ],
)
def test_a_misfit_is_found(counts, p):
    with np.errstate(divide="ignore"):
        value, _ = misfit(np.array(counts) * (100 if p[0] == 0.5 else 1), np.log(np.array(p)))
    assert value < 1e-9


# --- noise


def noisy(epsilon):
    return over(SPACE, Noisy, epsilon=epsilon, keep_stopwords=False)


@pytest.mark.slow
def test_bounds_from_draws_are_below_the_truth_and_near_it(monkeypatch):
    """The estimate alone, from all the words in one text: what is tested of the releases is looked at elsewhere."""
    monkeypatch.setattr(verdict, "check_releases", lambda *arguments: goodness_of_fit.ReleaseFindings())
    names = list(words(6))
    truth = brute(on(SPACE, "santext", epsilon=4.0), names)
    found = [audit(noisy(4.0), [" ".join(names)], draws=1000, seed=s) for s in range(3)]
    assert not any(r.exact for r in found) and all(r.measured > 0.4 * truth for r in found)
    assert sum(r.measured > truth for r in found) <= 1  # each with 5% at most, more than one with 0.7%
    w = found[0].witness
    assert w.p_first > w.p_second and len(w.outputs) >= 1
    assert (w.log_p_first - w.log_p_second) / w.distance == pytest.approx(found[0].measured)
    # Bounds of single probabilities, not the probabilities themselves.
    true = [sum(noisy(4.0).distribution(x, 0).p(y) for y in w.outputs) for x in (w.first_at, w.second_at)]
    assert w.p_first < true[0] and w.p_second > true[1]


def test_draws_refute_a_claim_that_is_too_small():
    report = audit(noisy(4.0), list(words(6)), claim=0.5, draws=1000, seed=1)
    assert report.verdict == "refuted" and "at least" in report.details()


def test_few_draws_say_that_they_could_not_have_found_it():
    m = noisy(40.0)
    report = audit(m, list(words(6)), draws=200, seed=1)
    assert report.verdict == "inconclusive" and report.detectable < report.claimed == 40.0
    n, alpha = 100, 0.05 / 16
    limit = math.log(alpha ** (1 / n)) - math.log(1 - alpha ** (1 / n))
    apart = m.audit_support.distances(list(words(6)))
    assert any(report.detectable == pytest.approx(limit / d) for d in apart[apart > 0])
    assert "with 1,200 draws" in report.details() and report.draws > 6 * 200


@pytest.mark.slow
def test_enough_draws_hold():
    report = audit(noisy(1.0), list(words(3)), draws=1500, seed=1)
    assert report.verdict == "holds" and report.detectable > report.claimed


# --- the report, and what is refused


@pytest.mark.slow
def test_a_report_is_plain_values():
    for m, claim in ((CLOSED["tem"](), None), (on(SPACE, "custext", k=5, mapping="aggressive"), 1.0)):
        report = audit(m, list(words(10)), claim=claim, seed=1)
        own = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert float(own["measured"]) == report.measured and own["verdict"] == report.verdict
        assert own["witness"]["output"] if "output" in own["witness"] else own["witness"]["outputs"]
        assert own["sentence"] == report.details()
        assert ("per unit of distance" in report.details()) == (claim is None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"inputs": ["the"]}, dpt.InputError, "replaces no word of “the”"),
        ({"inputs": []}, dpt.InputError, "is empty"),
        ({"inputs": "doctor"}, dpt.InputError, "list"),
        ({"inputs": [f"w{i}" for i in range(1001)]}, dpt.InputError, "at most 1,000"),
        ({"claim": -1.0}, dpt.ConfigError, "claim"),
        ({"claim": math.inf}, dpt.ConfigError, "claim"),
        ({"draws": 10}, dpt.ConfigError, "draws"),
        ({"confidence": 1.0}, dpt.ConfigError, "confidence"),
    ],
)
def test_what_cannot_be_audited_says_so(arguments, error, message):
    with pytest.raises(error, match=message):
        audit(dpt.get_mechanism("diffractor", epsilon=1.0), **arguments)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        (
            "redact",
            ["sun", "moon"],
            "replaces no word of “sun” and 1 other input. Give texts with names, dates or other",
        ),
        ("custext", ["the"], "replaces no word of “the”. Give words of its vocabulary that are not stop words."),
        ("dp-mlm", ["the"], "replaces no word of “the”. Give texts with words that are not stop words."),
    ],
)
def test_inputs_of_which_nothing_is_replaced_are_refused_in_one_message(name, words, message):
    with pytest.raises(dpt.InputError) as refused:
        audit(dpt.get_mechanism(name), words)
    assert message in str(refused.value) and "Token" not in str(refused.value)


def test_a_list_of_epsilons_is_refused():
    with pytest.raises(dpt.ConfigError, match="one ε"):
        audit(dpt.get_mechanism("diffractor", epsilon=(1.0, 2.0)), ["doctor", "nurse"])


@pytest.mark.slow
def test_progress_grows_and_a_wish_to_stop_is_heard():
    m, seen = CLOSED["santext"](), []
    audit(m, list(words(30)), seed=1, task=dpt.Task(lambda done, of: seen.append(done / of)))
    assert seen == sorted(seen) and seen[-1] > 0.8
    task = dpt.Task()
    task.cancel()
    with pytest.raises(dpt.Cancelled):
        audit(m, list(words(30)), task=task)


@pytest.mark.slow
def test_the_bench_writes_a_row_for_each_configuration(tmp_path, monkeypatch, capsys):
    from dptext_lab.measurements import audit as bench

    names = {s.mechanism for s in bench.configurations()}
    assert names == {s.name for s in dpt.mechanisms()}
    monkeypatch.setattr(bench, "configurations", lambda: [dpt.Setting("diffractor", {"lists": ("L2",)})])
    monkeypatch.setattr(bench, "audit", lambda m, inputs, **more: audit(m, inputs, **more | {"draws": 100}))
    monkeypatch.setattr(bench, "default_inputs", lambda m: ["doctor", "nurse", "water"])
    out = tmp_path / "audit.json"
    assert bench.main(["--out", str(out)]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [r["verdict"] for r in rows] == ["holds", "holds"] and rows[1]["epsilon"] > rows[0]["epsilon"]
    assert capsys.readouterr().out.count("| diffractor |") == 2


def test_the_bench_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    from dptext_lab.measurements import audit as bench

    measured: list[str] = []

    def quick(m, inputs, **_):
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append(m.name)
        limit = math.inf if m.name == "diffractor" else 1.5
        return AuditReport(
            m.name, m.config.epsilon, m.notion, limit, 1.0, True, 0.0, "holds", "", None, "", 2, 1, (), 100, None, 0.95
        )

    two = [dpt.Setting("custext"), dpt.Setting("diffractor", {"lists": ("L2",)})]
    monkeypatch.setattr(bench, "configurations", lambda: two)
    monkeypatch.setattr(bench, "audit", quick)
    monkeypatch.setattr(bench, "default_inputs", lambda m: [])
    out = tmp_path / "audit.json"
    with pytest.raises(KeyboardInterrupt):
        bench.main(["--out", str(out)])
    assert f"Stopped. Finished rows are in {out}" in capsys.readouterr().err
    before = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [r["mechanism"] for r in before] == ["custext", "custext", "diffractor"]
    measured.clear()
    assert bench.main(["--out", str(out)]) == 0
    after = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert measured == ["diffractor"] and after[:3] == before and len(after) == 4
    output = capsys.readouterr()
    assert "4 rows, 3 done, 1 to measure" in output.err and "4 rows: 4 holds." in output.err
    assert output.out.count("| custext |") == output.out.count("| diffractor |") == 2
    # One mechanism again: the others' rows stay, and what is asked for no more goes.
    monkeypatch.setattr(bench, "configurations", lambda: two[1:])
    measured.clear()
    assert bench.main(["--out", str(out), "--mechanism", "diffractor", "--rerun"]) == 0
    assert measured == ["diffractor"] * 2
    assert json.loads(out.read_text(encoding="utf-8"))["rows"] == after[2:]


@pytest.mark.parametrize("change", [{"version": "0.0.0"}, {"seed": 2}])
def test_the_bench_adds_to_no_table_of_another_version(change, tmp_path):
    from dptext_lab.measurements import audit as bench

    out = tmp_path / "audit.json"
    out.write_text(json.dumps({"about": {**bench.ABOUT, **change}, "rows": []}), encoding="utf-8")
    with pytest.raises(dpt.InputError, match="Name another file"):
        bench.main(["--out", str(out)])
    out.write_text("[1]", encoding="utf-8")
    with pytest.raises(dpt.InputError, match="is not a table of audits"):
        bench.main(["--out", str(out)])


def test_lists_that_lack_a_word_are_no_neighbours():
    orders = [list(words(8)), list(words(6))]
    b = bundle_of(orders)
    m = on(b, "diffractor", epsilon=0.7, lists=("minilm-1", "minilm-2"))
    report = audit(m, list(words(8)), seed=1)
    assert report.inputs == 6 and report.holds and len(report.skipped) == 2


def test_with_what_was_released_before_there_are_no_more_inputs_than_an_audit_takes(tiny_model, monkeypatch):
    monkeypatch.setattr(verdict, "MAX_INPUTS", 5)
    monkeypatch.setattr(verdict, "check_releases", lambda *arguments: goodness_of_fit.ReleaseFindings())
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, epsilon=20.0, order="sequential", keep_stopwords=False)
    report = audit(m, ["my doctor told friend"], draws=100, seed=1)
    assert report.inputs == 5
