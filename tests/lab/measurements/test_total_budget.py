"""What a total budget buys: each text spends the same, rows say what they are of, and the chart has them all."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from small_banks import meaningless

import dptext_core as dpt
from dptext_core.attacks.corpus import in_common, linked_share
from dptext_core.errors import InputError
from dptext_core.models import sentence_encoder
from dptext_lab.measurements import total_budget
from dptext_lab.measurements.total_budget import Sample, measure, table
from dptext_lab.results import total_budget as total_budget_rows
from dptext_lab.results.total_budget import MEASURES, BudgetRow, bundled
from dptext_studio import figures

pytestmark = pytest.mark.usefixtures("stand_in_scores")

TEXTS = ["My friend was ill.", "The doctor came. She stayed.", "Nobody knew what to do about the old garden."]


@pytest.fixture(autouse=True)
def encoder(monkeypatch):
    monkeypatch.setattr(sentence_encoder, "embed", meaningless)


LABELS = {"task": ["ill", "ill", "garden"]}
SAID = Sample("builtin", TEXTS, LABELS, TEXTS, LABELS)


def values(rows, name: str) -> dict[float, float]:
    return {r.total: r.value for r in rows if r.measure == name}


def test_every_text_spends_the_same_whatever_its_draws(small_bank, monkeypatch):
    spent = []
    cls = dpt.mechanism_class("dp-sentence")
    rewrite = cls.rewrite

    def noted(self, *args, **more):
        r = rewrite(self, *args, **more)
        spent.append((len(r.releases), r.guarantee.total))
        return r

    monkeypatch.setattr(cls, "rewrite", noted)
    m = dpt.get_mechanism("dp-sentence", bank=small_bank)
    rows = measure("S", m, SAID, [30.0, 60.0], seeds=[1, 2], few=0)
    assert [(n, round(total, 6)) for n, total in spent] == [
        *[(1, 0.0), (2, 0.0), (1, 0.0)] * 2,
        *[(1, 30.0), (2, 30.0), (1, 30.0)] * 2,
        *[(1, 60.0), (2, 60.0), (1, 60.0)] * 2,
    ]
    assert values(rows, "draws") == {0.0: pytest.approx(4 / 3)}
    assert {(r.measure, r.total, r.texts, r.seeds) for r in rows if r.measure != "draws"} == {
        (name, total, 3, 2) for name in ("cosine", "task", "linked") for total in (0.0, 30.0, 60.0)
    }


def test_a_text_without_a_draw_is_left_out():
    test = dataclasses.replace(SAID, texts=["of the", "My doctor paid."], labels={"task": ["a", "b"]})
    rows = measure("D", dpt.get_mechanism("custext", oov="drop"), test, [5.0], seeds=[1], few=0)
    assert all(r.texts == 1 and r.half is None for r in rows) and {r.mechanism for r in rows} == {"custext"}
    assert " (interval unknown) |" in table(rows, "cosine") and "±" not in table(rows, "cosine")
    assert {x for trace in figures.total_budget(rows)["data"] for x in trace["x"]} == {5.0}
    endless = measure(
        "D", dpt.get_mechanism("custext", oov="drop"), test, [50.0], seeds=[1], few=1, judge=lambda texts: [np.inf]
    )
    assert "perplexity" not in {r.measure for r in endless}, "nothing is known of it"


def test_what_is_measured_is_that_of_the_rewrites(small_bank):
    m = dpt.get_mechanism("dp-sentence", bank=small_bank)
    rows = measure("S", m, SAID, [40.0], seeds=[3, 4], few=0)
    own, linked = [], []
    for number, text in enumerate(TEXTS):
        draws = m.guarantee(text).draws
        of = []
        for seed in (3, 4):
            stream = dpt.NoiseStream(seed).at(number)
            released = m.replace(epsilon=40.0 / draws).rewrite(text, stream=stream).text
            of.append((meaningless(TEXTS) @ meaningless([released])[0]).tolist())
        own.append(np.mean([cosines[number] for cosines in of]))
        linked.append(np.mean([cosines[number] == max(cosines) for cosines in of]))
    (cosine,) = [r for r in rows if r.measure == "cosine" and r.total]
    assert cosine.value == pytest.approx(np.mean(own), abs=1e-5)
    assert cosine.half == pytest.approx(1.96 * np.std(own, ddof=1) / 3**0.5, rel=0.01)
    assert values(rows, "linked")[40.0] >= np.mean(linked) - 1e-9, "the better of two attackers"


def test_a_text_that_is_kept_is_linked_named_and_told(monkeypatch):
    m = dpt.get_mechanism("custext", epsilon=1.0)
    monkeypatch.setattr(type(m), "rewrite", lambda self, p, stream: SimpleNamespace(text=p.text))
    rows = measure("K", m, SAID, [50.0], seeds=[1], few=2, judge=lambda texts: [float(len(t)) for t in texts])
    assert [values(rows, name)[50.0] for name in ("cosine", "task", "linked", "named")] == pytest.approx([1.0] * 4)
    assert values(rows, "perplexity")[50.0] == np.mean([len(t) for t in TEXTS[:2]])
    assert {r.texts for r in rows if r.measure in ("named", "perplexity")} == {2}


def test_an_author_is_told_by_vectors_or_by_letters_whichever_is_right_more_often(monkeypatch):
    m = dpt.get_mechanism("custext", epsilon=1.0)
    monkeypatch.setattr(type(m), "rewrite", lambda self, p, stream: SimpleNamespace(text=p.text))
    authors = {"author": ["Ada", "Bo", "Ada"]}
    test = dataclasses.replace(SAID, labels=authors, learnt_labels=authors)
    said = {"vectors": ["Ada", "Ada", "Bo"], "letters": ["Ada", "Bo", "Bo"]}

    def by(which):
        def classify(*given):
            read = given[-1]
            assert given[-2] == ["Ada", "Bo", "Ada"] and len(read) == 3
            return said[which]

        return classify

    monkeypatch.setattr(total_budget.tasks, "classify", by("vectors"))
    monkeypatch.setattr(total_budget.judges, "classify", by("letters"))
    for told, share in ((said, 2 / 3), ({"vectors": ["Ada", "Bo", "Ada"], "letters": ["Bo", "Ada", "Bo"]}, 1.0)):
        said = told
        rows = measure("K", m, test, [50.0], seeds=[1, 2], few=0)
        assert values(rows, "author") == {0.0: pytest.approx(share), 50.0: pytest.approx(share)}
        assert not values(rows, "task"), "nothing of use is to be told of these texts"


def test_what_is_of_use_and_who_wrote_it_are_kept_apart():
    ((_, test, own),) = total_budget._tests(["builtin"], None, 6, 4)
    assert set(test.labels) == set(test.learnt_labels) == {"task", "author"}
    assert {len(test.labels["task"]), len(test.labels["author"]), len(test.texts)} == {6} and len(own) == 4
    assert set(test.learnt_labels["author"]) == {"Ada", "Bruno", "Cleo"}
    assert set(test.learnt_labels["task"]) == {"praise", "complaint"}


def test_the_nearest_is_found_and_ties_count_their_part():
    likeness = np.array([[0.9, 0.1, 0.2], [0.5, 0.5, 0.1], [0.8, 0.1, 0.2]])
    assert linked_share(likeness).tolist() == [1.0, 0.5, 0.0]
    found = in_common(["a red dog", "the cat"], ["a red dog", "the cat sat"])
    assert found[0, 0] == pytest.approx(1) and found[0, 1] == 0 < found[1, 1] < 1


def row(system: str, total: float, value: float, measured: str = "cosine") -> BudgetRow:
    return BudgetRow(system, "dp-sentence", "sst2", total, measured, value, 0.1, 20, 1)


def test_the_table_has_a_line_a_total_and_the_one_without_the_text_first():
    rows = [row("A", 0.0, 0.1), row("A", 50.0, 0.5), row("B", 50.0, 0.6), row("B", 50.0, 0.9, "task")]
    lines = table(rows, "cosine").splitlines()
    assert lines[0] == "| total ε | A | B |"
    assert lines[2:] == ["| ≈ 0 | 0.100 ± 0.100 |  |", "| 50 | 0.500 ± 0.100 | 0.600 ± 0.100 |"]


@pytest.mark.parametrize("measured", MEASURES)
def test_the_chart_has_every_curve_with_its_band_and_its_floor(measured):
    rows = [row(s, t, 0.1 + t / 100, name) for s in ("A", "B <b>") for t in (0.0, 10.0, 50.0) for name in MEASURES]
    figure = figures.total_budget(rows, measured)
    drawn = [trace for trace in figure["data"] if trace.get("showlegend") is not False]
    assert [trace["name"] for trace in drawn] == ["A", "B &lt;b&gt;"]
    assert list(drawn[0]["x"]) == [10.0, 50.0] and list(drawn[0]["y"]) == pytest.approx([0.2, 0.6])
    floors = [
        trace
        for trace in figure["data"]
        if trace["mode"] == "lines" and "text-independent" in str(trace.get("hovertemplate"))
    ]
    assert [list(trace["y"]) for trace in floors] == [[0.1, 0.1]] * 2
    assert figure["layout"]["xaxis"]["title"]["text"] == "Total ε of a text"
    assert figure["layout"]["yaxis"]["title"]["text"] == MEASURES[measured]
    with pytest.raises(InputError, match="no total"):
        figures.total_budget([row("A", 0.0, 0.1)])


def test_a_file_of_rows_is_gone_on_with(monkeypatch, tmp_path, capsys):
    measured, wanted = [], ["A", "not wanted", "B"]

    def noted(system, mechanism, test, **more):
        measured.append((system, test.data, len(test.texts), list(more["seeds"])))
        return [dataclasses.replace(row(system, t, 0.5), data=test.data) for t in (0.0, 10.0)]

    monkeypatch.setattr(total_budget, "measure", noted)
    monkeypatch.setattr(total_budget, "systems", lambda bank, options: dict.fromkeys(wanted))
    out = tmp_path / "budget.json"
    call = [
        "--data",
        str(tmp_path),
        "--sets",
        "builtin",
        "--own",
        "0",
        "--max-texts",
        "5",
        "--seeds",
        "4",
        "--out",
        str(out),
    ]
    for also in ([], ["--system", "B"]):
        assert total_budget.main([*call, "--system", "A", *also]) == 0
    assert measured == [("A", "builtin", 5, [4]), ("B", "builtin", 5, [4])]
    found = total_budget_rows.MEASUREMENT.read(out)
    assert [(r.system, r.total) for r in found] == [("A", 0.0), ("A", 10.0), ("B", 0.0), ("B", 10.0)]
    assert "| ≈ 0 | 0.500 ± 0.100 | 0.500 ± 0.100 |" in capsys.readouterr().out
    with pytest.raises(dpt.ConfigError, match=r"no system 'C'\. Use one of A, not wanted, B"):
        total_budget.main([*call, "--system", "C"])


def test_what_is_bundled_says_what_the_documents_say():
    found = {(r.data, r.system, r.total, r.measure): r for r in bundled()}

    def above(data: str, one: str, other: str, total: float, measured: str = "cosine") -> bool:
        a, b = (found[data, system, total, measured] for system in (one, other))
        return a.value - a.half > b.value + b.half

    sentence, prior, mlm = "Sentence bank", "DP-MLM, public prior", "DP-MLM"
    two = "Sentence bank, 2 outputs per sentence"
    for data, totals in {
        "sst2": (20.0, 30.0, 50.0),
        "snips": (20.0, 30.0, 50.0),
        "reviews": (50.0, 75.0, 100.0),
    }.items():
        assert all(above(data, sentence, prior, total) for total in totals)
    assert all(above(data, prior, sentence, 400.0) for data in ("sst2", "snips"))
    assert above("sst2", two, sentence, 150.0) and above("sst2", two, sentence, 200.0)
    assert above("sst2", prior, two, 200.0, "named") and above("sst2", two, sentence, 200.0, "linked")
    for total in (0.0, 50.0, 400.0):
        told = [found["reviews", system, total, "author"].value for system in (sentence, mlm)]
        assert told[0] < 0.41 < 0.5 < told[1]
    assert {r.total for r in bundled()} == {0.0, *total_budget.TOTALS}


def test_one_sentence_says_what_a_total_buys():
    names = (total_budget_rows.WHOLE, total_budget_rows.WORDS, f"{total_budget_rows.WHOLE} from the same domain")
    whole, each, own = (next(r for r in bundled() if r.system == n and r.data == "sst2") for n in names)
    rows = [
        dataclasses.replace(r, measure="cosine", total=50.0, value=v, texts=7)
        for r, v in ((whole, 0.48), (each, 0.19), (own, 0.99))
    ]
    ((mechanism, said),) = total_budget_rows.sentences_by_mechanism(rows).items()
    assert mechanism == "dp-sentence"
    assert "ε of 50" in said and "cosine of 0.48" in said and "0.19 (7 texts of SST-2)" in said
    one = [dataclasses.replace(r, texts=1) for r in rows]
    assert "(1 text of" in total_budget_rows.sentences_by_mechanism(one)["dp-sentence"]
    assert (
        total_budget_rows.sentences_by_mechanism(rows[:1]) == {} != total_budget_rows.sentences_by_mechanism(bundled())
    )


def test_the_uncertainty_has_the_label_at_the_total_and_the_cosine_at_the_largest():
    values = {("task", 50.0): (0.6, 0.5), ("cosine", 50.0): (0.4, 0.2), ("cosine", 400.0): (0.3, 0.7)}
    rows = [
        BudgetRow(system, "dp-mlm", "sst2", total, name, value, 0.1, 10, 1)
        for (name, total), pair in values.items()
        for system, value in zip((total_budget_rows.WHOLE, total_budget_rows.WORDS), pair, strict=True)
    ]
    said = total_budget_rows.label_sentence(rows, 50.0)
    assert [float(x) for x in re.findall(r"(0\.\d+) ±", said)] == [0.6, 0.5, 0.3, 0.7] and "400" in said
    assert total_budget_rows.label_sentence(rows[2:], 50.0) == ""


def test_the_uncertainty_names_the_data_sets_with_a_clear_lead_by_label():
    said = total_budget_rows.label_sentence(bundled(), 50.0)
    assert "on 1 of 3 data sets (Snips: 0.59 ± 0.08 against 0.28 ± 0.05)" in said
    assert total_budget_rows.groups_sentence(bundled(), 50.0).startswith("CusText preserves 0.60, ")
    assert total_budget_rows.groups_sentence([]) == ""
