"""The author attack over a user's releases: its rows, table, figure and sentence."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_core.attacks.authors import letter_classifier
from dptext_lab.measurements import authors
from dptext_lab.results import authors as authors_rows
from dptext_lab.runner.data_sets import Data
from dptext_studio import figures
from dptext_studio.views.findings.conclusions import authors_sentence

STYLES = {"ann": "Indeed the colour of my doctor was grey", "ben": "So yeah my doctor is sick ok"}
N = 12


@pytest.fixture(scope="module")
def data() -> Data:
    texts = tuple((f"{STYLES[a]}, note {i}.",) for i in range(N) for a in STYLES)
    every = range(len(texts))
    labels = tuple(a for _ in range(N) for a in STYLES)
    return Data("authors", "x", texts, {"author": labels}, tuple(every[:8]), tuple(every[8:]), "0", "x")


@pytest.fixture(scope="module")
def rows(data) -> list[authors_rows.AuthorsRow]:
    texts, labels = [t for (t,) in data.texts], data.targets["author"]
    static = letter_classifier().fit([texts[i] for i in data.train], [labels[i] for i in data.train])
    setting = dpt.Setting("custext", {"keep_stopwords": True}, 2.0)
    return [
        *authors.measure(authors.UNPROTECTED, None, 1, data, static),
        *authors.measure("CusText", setting, 2, data, static, 6),
    ]


def test_rows_say_what_each_attacker_recognises_by_the_number_of_texts(rows):
    assert [(r.system, r.attacker, r.texts, r.trained) for r in rows] == [
        ("Unprotected", "static", 1, 8),
        ("Unprotected", "static", 5, 8),
        ("CusText", "static", 1, 8),
        ("CusText", "static", 5, 8),
        ("CusText", "adaptive", 1, 6),
        ("CusText", "adaptive", 5, 6),
    ], "no author has 20 texts"
    plain, own = rows[0], rows[2]
    assert plain.success == 1.0 and plain.chance == 0.5 and plain.groups == 16 and plain.stop_words is None
    assert (own.mechanism, own.epsilon, own.stop_words, own.releases) == ("custext", 2.0, True, 2)


def test_releases_of_a_text_have_noise_of_their_own():
    m = dpt.get_mechanism("custext", epsilon=2.0)
    (one, other) = authors.rewrites(m, ["My doctor treated my sister."], 2)[0]
    assert one != other and authors.rewrites(m, ["My doctor treated my sister."], 2, first=1) != [[one, other]]


def test_the_strongest_attacker_stands_in_the_table_the_figure_and_the_sentence(rows):
    top = {(r.system, r.texts): r for r in authors_rows.strongest(rows)}
    assert all(r.success <= top[r.system, r.texts].success for r in rows) and len(top) == 4
    head, _, *lines = authors.table(rows).splitlines()
    assert head == "| system | 1 text | 5 texts |" and [line.split(" |")[0] for line in lines] == [
        "| Unprotected",
        "| CusText",
    ]
    drawn = figures.authors(rows)["data"]
    line = next(t for t in drawn if t.get("name") == "CusText" and len(t["x"]) == 2)
    assert list(line["x"]) == [1.0, 5.0] and list(line["y"]) == [top["CusText", n].success for n in (1, 5)]
    one, five = (f"{top['CusText', n].success:.0%}" for n in (1, 5))
    sentence = authors_sentence(rows)
    assert f"{five} (CusText, ε = 2)" in sentence and f"{one} to {one}" in sentence
