"""What is measured of any system's rewrites: known texts, known shares, intervals, and no ε."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core import cli
from dptext_core.measure import identifiers, metrics, scored
from dptext_core.support.statistics import clopper_pearson

pytestmark = pytest.mark.usefixtures("stand_in_scores")

ORIGINALS = ["My doctor treated my sister.", "The new teacher lives in Paris.", "The film was long and dull."]
REWRITES = ["My doctor treated my brother.", "The old lawyer lives in London.", "The film was short and dull."]


@pytest.fixture(scope="module")
def found():
    return dpt.score(ORIGINALS, REWRITES, labels=["a", "b", "a"], authors=["x", "x", "y"])


@pytest.fixture
def no_metrics(monkeypatch):
    monkeypatch.setattr(scored, "METRICS", ())


@pytest.fixture
def bare(no_metrics, monkeypatch):
    """Without a language model: no metric of a text, and attackers on words who are not asked."""
    nobody = lambda originals, *_: ({name: [0.0] * len(originals) for name in scored.WORDS}, 0, 0.0)  # noqa: E731
    monkeypatch.setattr(scored, "_recovered_shares", nobody)


def test_words_answer_place_by_place_or_in_equal_runs():
    assert scored.align_words("My doctor treated my sister.", "My nurse cured my brother.") == [
        (1, "doctor"),
        (2, "treated"),
        (4, "sister"),
    ]
    # One word less: those between words that stayed answer to each other, the run of another length to none.
    assert scored.align_words("The tall doctor treated Anna kindly", "The doctor cured Anna kindly") == [
        (1, "doctor"),
        (2, "treated"),
        (3, "Anna"),
        (4, "kindly"),
    ]
    assert scored.align_words("and the", "or a") == []


def test_metrics_are_means_over_texts_with_their_intervals(found):
    values = metrics.score("cosine", ORIGINALS, REWRITES)
    assert found["cosine"].value == pytest.approx(np.mean(values))
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(3)
    assert found["cosine"].low == pytest.approx(np.mean(values) - half)
    assert found["cosine"].high == pytest.approx(min(1.0, np.mean(values) + half))
    reads = metrics.score("perplexity", ORIGINALS, REWRITES)
    assert found["perplexity"].value == pytest.approx(np.exp(np.mean(np.log(reads))))
    assert found["perplexity"].low < found["perplexity"].value < found["perplexity"].high


def test_its_figures_are_known_by_their_names(found):
    assert "cosine" in found and "none" not in found and list(found) == [row.name for row in found.rows]


def test_same_words_are_counted_and_the_best_attacker_is_named(found):
    # doctor, treated, not sister; lives, not new, teacher, Paris; film, dull, not long.
    assert found.words == 10
    assert found["same-word"].value == pytest.approx(np.mean([2 / 3, 1 / 4, 2 / 3]))
    assert found.best is not None and found.best.value == max(found[n].value for n in scored.WORDS)
    assert found.best.title in found.sentence() and "are not a guarantee" in found.sentence()
    assert 0 < found["same-word"].chance < 0.02


def test_each_rewrite_is_linked_to_the_nearest_of_all_originals(found, no_metrics):
    assert found["linking"].value == 1.0 and found["linking"].chance == pytest.approx(1 / 3)
    assert (found["linking"].low, found["linking"].high) == clopper_pearson(3, 3)
    # What says nothing of its original is linked by chance.
    same = dpt.score(ORIGINALS, ["x"] * 3)
    assert same["linking"].value == pytest.approx(1 / 3, abs=0.34) and same.best is None
    equal = dpt.score(["A red car."] * 4, ["A red car."] * 4)
    assert equal["linking"].value == pytest.approx(1 / 4)


def test_names_that_are_left_are_counted_over_the_texts_that_have_some(bare):
    some = dpt.score(
        ["Anna met Peter in Paris on 3 May 2020.", "We met."], ["Anna met nobody in Rome on 3 May 2020.", "We met."]
    )
    assert some["identifiers"].n == 1 and 0 < some["identifiers"].value < 1
    assert (some["identifiers"].low, some["identifiers"].high) == (0.0, 1.0), "one text has no interval"


def test_labels_are_guessed_of_texts_that_were_not_learnt_from(bare):
    topics = ["the goal and the match", "the match had a goal", "the vote and the law", "the law had a vote"] * 5
    labels = ["sport", "sport", "state", "state"] * 5
    hidden = ["a thing"] * 20
    clear = dpt.score(topics, topics, labels=labels)
    blank = dpt.score(topics, hidden, labels=labels, authors=labels)
    assert clear["label_static"].value == clear["label_adaptive"].value == 1.0
    assert clear["label_static"].chance == 0.5 and clear["label_static"].kind == "kept"
    assert blank["label_adaptive"].value <= 0.5 and blank["author_static"].kind == "found"


def test_no_epsilon_is_stated_and_what_is_missing_has_a_reason(found, monkeypatch, tmp_path):
    monkeypatch.setenv("DPTEXT_MODELS", str(tmp_path))
    one = dpt.score(ORIGINALS[:1], REWRITES[:1])
    assert one.sentence().startswith(f"1 text, {one.words} words aligned with the original. Of the attackers")
    told = one.to_dict()
    assert told["epsilon"] is None and "lm_perplexity" in told["missing"]
    assert "doctor" not in json.dumps(told, allow_nan=False)
    assert any(r["high"] is None for r in told["rows"]), "an end that is not known is no number"
    with pytest.raises(dpt.InputError, match="no figure 'epsilon'"):
        found["epsilon"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((["a"], ["b", "c"]), "as many rewrites"),
        (([], []), "at least one"),
        (("a", "b"), "list of originals, not str"),
        ((["a"], [None]), "number 1 of 1"),
    ],
)
def test_lists_that_do_not_match_are_refused(given, says):
    with pytest.raises(dpt.InputError, match=says):
        dpt.score(*given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"labels": ["a"]}, "as many labels"),
        ({"authors": ["a", 1]}, "number 2 of 2"),
        ({"identifiers": [[]]}, "have no list of identifiers"),
        ({"identifiers": [[], ["name"]]}, "have no list of identifiers"),
    ],
)
def test_what_is_told_of_texts_is_checked_before_anything_is_measured(monkeypatch, given, says):
    monkeypatch.setattr(metrics, "score", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(dpt.InputError, match=says):
        dpt.score(["a", "b"], ["c", "d"], **given)


def test_the_command_reads_a_file_of_pairs(bare, tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("text", "rewrite"), *zip(ORIGINALS, REWRITES, strict=True), ("lonely", "")])
    given = ["score", str(path), "--original", "text", "--private", "rewrite"]
    assert cli.main([*given, "--json"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["texts"] == 3 and "1 row without a text" in err
    assert cli.main(given) == 0
    out, _ = capsys.readouterr()
    assert "Contextual Bayes, by similarity" in out and "are not a guarantee" in out
    assert cli.main(["score", str(path), "--original", "text", "--private", "none"]) == 2


# --- annotated identifiers


def tab(tmp_path, documents):
    file = tmp_path / "tab.json"
    file.write_text(json.dumps(documents), encoding="utf-8")
    return file


def mention(text: str, part: str, entity: str, kind: str, nth: int = 0) -> dict:
    start = -1
    for _ in range(nth + 1):
        start = text.index(part, start + 1)
    return {
        "entity_type": "PERSON",
        "entity_mention_id": f"{entity}_{nth}",
        "start_offset": start,
        "end_offset": start + len(part),
        "span_text": part,
        "edit_type": "check",
        "identifier_type": kind,
        "entity_id": entity,
        "confidential_status": "NOT_CONFIDENTIAL",
    }


TRIAL = "Mr Ian Craig sued Norway in 1999. Craig lost."


def annotated(*mentions) -> dict:
    return {"doc_id": "1", "text": TRIAL, "annotations": {"annotator1": {"entity_mentions": list(mentions)}}}


def test_an_identifier_is_hidden_only_where_no_mention_survives(tmp_path):
    file = tab(
        tmp_path,
        [
            annotated(
                mention(TRIAL, "Ian Craig", "a", "DIRECT"),
                mention(TRIAL, "Craig", "a", "DIRECT", 1),
                mention(TRIAL, "Norway", "b", "QUASI"),
                mention(TRIAL, "1999", "c", "QUASI"),
                mention(TRIAL, "Mr", "d", "NO_MASK"),
            )
        ],
    )
    known = identifiers.read_tab(file)[TRIAL]
    assert [(i.kind, len(i.mentions)) for i in known] == [("direct", 2), ("quasi", 1), ("quasi", 1)]
    assert identifiers.are_hidden(TRIAL, "A man sued Norway in 2001. CRAIG lost.", known) == [False, False, True]
    other = "A man sued Sweden in 19990. Craigs lost."
    assert identifiers.are_hidden(TRIAL, other, known) == [True, True, True], "whole words"


@pytest.mark.parametrize(
    ("rewrite", "hidden"),
    [
        ("Dr Ian Craig sued Norway in 1999. Craig lost.", False),
        ("Mr Ian Smith sued Norway in 1999. Smith lost.", False),  # a part of the name is left in its place
        ("Mr X Y sued Norway in 1999. Z lost.", True),
        ("Mr *** *** sued Norway in 1999. *** lost.", True),
        ("Norway was sued, and lost, by one Ian Craig.", False),  # elsewhere
        ("Mr X Y sued Norway in 1999 as Ian did. Z lost.", True),  # a word of it elsewhere is not the name
    ],
)
def test_a_mention_is_hidden_word_by_word_as_tab_counts_and_titles_do_not_count(rewrite, hidden, tmp_path):
    file = tab(
        tmp_path, [annotated(mention(TRIAL, "Mr Ian Craig", "a", "DIRECT"), mention(TRIAL, "Craig", "a", "DIRECT", 1))]
    )
    assert identifiers.are_hidden(TRIAL, rewrite, identifiers.read_tab(file)[TRIAL]) == [hidden]


def test_recall_is_over_the_identifiers_of_all_annotators(tmp_path):
    two = annotated(mention(TRIAL, "Norway", "b", "QUASI"))
    two["annotations"]["annotator2"] = {
        "entity_mentions": [
            mention(TRIAL, "Norway", "b", "QUASI"),
            mention(TRIAL, "1999", "c", "QUASI"),
            mention(TRIAL, "Ian Craig", "a", "QUASI"),
        ]
    }
    known = identifiers.read_tab(tab(tmp_path, [two]))[TRIAL]
    (found,) = identifiers.recall([TRIAL], ["He sued Norway."], [known])
    # The first has 0 of 1, the second 2 of 3.
    assert (found.kind, found.identifiers, found.value) == ("quasi", 4, 0.5)
    assert (found.low, found.high) == (0.0, 1.0), "one document says nothing of others"
    other = identifiers.Identifier("quasi", ("Paris",))
    (many,) = identifiers.recall([TRIAL, "y", "y"], ["He sued Norway.", "x", "x"], [known, [other], [other] * 3])
    assert many.value == pytest.approx((2 + 1 + 3) / (4 + 1 + 3)) and 0 < many.low < many.value < many.high


def test_the_command_reads_annotations_and_refuses_another_format(bare, tmp_path, capsys):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f'a,b\n"{TRIAL}","A man sued Norway. He lost."\nOther text.,Other words.\n', encoding="utf-8")
    file = tab(tmp_path, [annotated(mention(TRIAL, "Norway", "b", "QUASI"), mention(TRIAL, "1999", "c", "QUASI"))])
    given = ["score", str(pairs), "--original", "a", "--private", "b", "--json"]
    assert cli.main([*given, "--identifiers", str(file)]) == 0
    out, err = capsys.readouterr()
    rows = {r["name"]: r for r in json.loads(out)["rows"]}
    assert rows["recall_quasi"]["value"] == 0.5 and "recall_direct" not in rows and "originals: 1 of 2" in err
    assert cli.main([*given, "--identifiers", str(tab(tmp_path, [{"text": "x"}]))]) != 0
    assert "Document 1 is not in TAB" in capsys.readouterr().err
    assert cli.main([*given, "--identifiers", str(tab(tmp_path, [annotated() | {"text": "no"}]))]) != 0
    assert "No original is the text" in capsys.readouterr().err


def test_a_name_inside_of_another_word_is_not_left(bare):
    assert dpt.score(["Ann went to Paris in 2019."], ["She cannot go to Berlin in 2020."])["identifiers"].value == 0
    assert dpt.score(["Al slept in Rome."], ["Sally also slept in Jerome."])["identifiers"].value == 0
    assert dpt.score(["Al slept in New York."], ["Al left new york!"])["identifiers"].value == 1


def test_texts_that_are_all_alike_do_not_say_how_far_others_may_be(no_metrics):
    original = "My doctor treated my sister."
    found = dpt.score([original] * 2, [original.replace("treated", w) for w in ("watched", "healed")])["same-word"]
    assert (found.value, found.low, found.high) == pytest.approx((2 / 3, *clopper_pearson(4 / 3, 2)))
    person = identifiers.Identifier("direct", ("Ann",), ((0, 3),))
    hidden = dpt.score(["Ann fell."] * 3, ["She fell."] * 3, identifiers=[[person]] * 3)["recall_direct"]
    assert (hidden.value, hidden.low, hidden.high) == pytest.approx((1.0, *clopper_pearson(3, 3)))


def test_what_is_no_list_of_texts_or_of_identifiers_is_refused(bare):
    for given in ((None, None), (["a b"], 3)):
        with pytest.raises(dpt.InputError, match="Give a list"):
            dpt.score(*given)
    for wrong in (["x"], [["x"]], [None], 3):
        with pytest.raises(dpt.InputError, match=r"list|identifiers"):
            dpt.score(["a b"], ["b"], identifiers=wrong)


def test_rows_without_a_label_are_left_out_and_told(bare, tmp_path, capsys):
    pairs = tmp_path / "pairs.csv"
    rows = [("My doctor left.", "My nurse left.", label) for label in ("a", "b", "", " ", "a", "b")]
    with pairs.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("o", "r", "lab"), *rows])
    given = ["score", str(pairs), "--original", "o", "--private", "r", "--json"]
    assert cli.main([*given, "--label", "lab"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["texts"] == 4 and "2 rows without a text or a label are left out" in err
    assert cli.main(given) == 0 and json.loads(capsys.readouterr().out)["texts"] == 6
