"""Everything that differs between languages goes by one object: English's own rules, and a second language's."""

from __future__ import annotations

import ast
import dataclasses
import gzip
import re

import numpy as np
import pytest
from guarantee_terms import entries
from project.test_rules import texts
from small_spaces import over, random_space, words

import dptext_core as dpt
from dptext_core import ENGLISH, Document, InputError, Language, ModelUnavailable
from dptext_core.attacks.prior import public_prior
from dptext_core.models.tokens import whole_words as model_words
from dptext_core.text import lexicons
from dptext_core.text.language import ENDERS, straighten_apostrophes
from dptext_core.text.languages import english
from dptext_core.text.lexicons import read_lines
from dptext_core.words import Antonyms, Lexicon, files
from dptext_core.words.vocabulary import whole_words
from dptext_studio.figures import token_view


def toy_case(word: str, sentence_start: bool) -> str:
    """Words with b have a capital anywhere, and the last letter has one at a sentence start."""
    word = "B".join(word.split("b"))
    return word[:-1] + word[-1:].upper() if sentence_start else word


#: A language that no file of the program knows, and that shares no rule with English.
TOY = Language(
    name="Toyish",
    code="qt",
    clitics=("na", "xen"),
    detached=("k'o",),
    titles=frozenset({"hr"}),
    abbreviations=frozenset({"osv"}),
    before_number=frozenset({"nummer"}),
    starters=frozenset({"det"}),
    no_initials=frozenset("o"),
    enders=ENDERS | {";"},
    case=toy_case,
    letters="[a-mø]",
    one_letter_words=frozenset("ø"),
    bases=lambda word: (word[:-2],) if word.endswith("zz") else (),
    load_stop_words=lambda: Lexicon("toy", "the stop words of Toyish", frozenset({"og", "det", words(9)[8]}), ENGLISH),
    load_antonyms=lambda: Antonyms("toy", "the antonyms of Toyish", {"good": frozenset({"bad"})}),
)


def cut(text: str, language: Language) -> list[str]:
    return [token.text for token in Document.parse(text, language).tokens]


def of_toy(name: str, vocabulary=None, **options):
    """A mechanism for Toyish: a subclass that names it, and nothing more."""
    toy = type("Toy", (dpt.mechanism_class(name),), {"language": TOY})
    options = {"recase": "none", "keep_stopwords": False} | options
    return toy.create(**options) if vocabulary is None else over(vocabulary, toy, **options)


# --- English


@pytest.mark.parametrize(
    ("word", "start", "expected"),
    [
        ("monday", True, "Monday"),
        ("monday", False, "monday"),
        ("i", False, "I"),
        ("i'm", False, "I'm"),
        ("i’ll", False, "I’ll"),
        ("in", False, "in"),
        ("in", True, "In"),
        ("NASA", False, "NASA"),
        ("1st", True, "1st"),
        ("ßa", True, "ßa"),
        ("", True, ""),
        ("'tis", True, "'Tis"),
    ],
)
def test_the_capitals_of_english(word, start, expected):
    assert ENGLISH.case(word, start) == expected


def test_the_words_of_english():
    assert [p for p in ("the", "A", "i", "b", "##s", "x1", "naïve", "", "'s", "K") if ENGLISH.is_word(p)] == [
        "the",
        "A",
        "i",
    ]
    assert not ENGLISH.is_word("a", shortest=2)
    assert ENGLISH.is_letter("b") and not ENGLISH.is_letter("é") and not ENGLISH.is_letter("ab")


# --- a second language


@pytest.mark.parametrize("tokenize", [None, str.split])
def test_tokens_go_by_the_language(tokenize):
    toy = Language(**{f: getattr(TOY, f) for f in TOY.__dataclass_fields__} | {"tokenize": tokenize})
    text = "Mor'na og far’XEN, it's sa k'o no."
    assert cut(text, toy) == ["Mor", "'na", "og", "far", "’XEN", ",", "it's", "sa", "k'o", "no", "."]
    kinds = {t.text: t.kind for t in Document.parse(text, toy).tokens}
    assert kinds["'na"] == kinds["’XEN"] == kinds["k'o"] == "clitic" and kinds["it's"] == "word"
    assert cut(text, ENGLISH) == ["Mor'na", "og", "far’XEN", ",", "it", "'s", "sa", "k'o", "no", "."]
    assert "clitic" not in {t.kind for t in Document.parse("sa k'o", ENGLISH).tokens}


def test_a_language_without_clitics_has_none():
    plain = Language("Plain", "qp")
    assert cut("it's 's ' n't. 'x", plain) == ["it's", "'", "s", "'", "n't", ".", "'", "x"]
    assert plain.case("ida", True) == "Ida" and plain.case("i", False) == "i"


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("Da kom hr. Olsen", "hr."),
        ("Da kom osv. Olsen", "osv."),
        ("Se nummer. 5", "nummer."),
        ("Da kom O.P. Olsen", "O.P."),
    ],
)
def test_sentence_ends_go_by_the_language(text, together):
    assert together in cut(text, TOY)
    if "O.P." not in together:
        assert together not in cut(text, ENGLISH)


def test_what_begins_a_sentence_goes_by_the_language():
    assert "osv." not in cut("Da kom osv. Det gikk", TOY)
    assert "o." not in cut("Da kom o. Olsen", TOY) and "o." in cut("Da kom o. Olsen", ENGLISH)
    assert "Dr." not in cut("Da kom Dr. Olsen", TOY) and "Dr." in cut("Da kom Dr. Olsen", ENGLISH)
    text = "Da kom; han gikk"
    begins = [Document.parse(text, lang).skeleton([True] * 5).begins for lang in (TOY, ENGLISH)]
    assert [at for at, begin in enumerate(begins[0]) if begin] == [0]  # a hole shows no mark
    begins = [Document.parse(text, lang).skeleton([False] * 5).begins for lang in (TOY, ENGLISH)]
    assert begins == [(True, False, False, True, False), (True, False, False, False, False)]


def test_the_short_way_is_the_languages(monkeypatch):
    def unwanted(sentence):
        raise AssertionError("the short way was not taken")

    toy = Language("Short", "qs", plain=re.compile(r"\s*+(?:(\w++|[.])|(\S(?s:.)*+))"), tokenize=unwanted)
    assert cut("Mor og far.", toy) == ["Mor", "og", "far", "."]
    with pytest.raises(AssertionError, match="short way"):
        cut("Mor og far, ja", toy)


def test_stop_words_go_by_the_language(tmp_path):
    stop = dpt.stop_words(language=TOY)
    assert stop.source == "the stop words of Toyish"
    for word in ("OG", "det’na", "og'xen", "ogzz", "'na", "k’o"):
        assert word in stop, word
    for word in ("the", "it's", "n't", "'s", "og's", "zz"):
        assert word not in stop, word
    mine = tmp_path / "mine.txt"
    mine.write_text("mor\n", encoding="utf-8")
    assert "mor'na" in dpt.stop_words(mine, TOY) and "mor'na" not in dpt.stop_words(mine)
    mine.write_text("\ufeff\ufeffmor\n\ufefflang\n", encoding="utf-8")
    assert {"mor", "lang"} == set(read_lines(mine))
    assert "mor's" in dpt.stop_words(mine) and "mor's" not in dpt.stop_words(mine, TOY)


def test_a_packed_list_that_unpacks_to_a_huge_one_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "words.txt.gz"
    path.write_bytes(gzip.compress(b"word\n" * 1_000_000))
    monkeypatch.setattr(lexicons, "LARGEST", 1 << 20)
    with pytest.raises(InputError, match="more than 1 MB of words"):
        read_lines(path)


@pytest.mark.parametrize("read", [dpt.stop_words, dpt.antonyms])
def test_a_language_without_lists_says_what_to_do(read):
    with pytest.raises(ModelUnavailable, match=r"No list of Plain .* is known\. Provide a file"):
        read(language=Language("Plain", "qp"))


def test_what_is_a_word_goes_by_the_language():
    pieces = ["[CLS]", "##ab", "a", "ø", "død", "mad", "ab1", "now", "le"]
    assert whole_words(pieces, TOY) == ("død", "mad", "le")
    assert [p for p in pieces if TOY.is_word(p)] == ["ø", "død", "mad", "le"]


def test_vectors_in_many_languages_are_read_in_one(tmp_path):
    path = tmp_path / "many.txt.gz"
    rows = ("/c/en/house 1 2", "/c/en/the 3 4", "/c/qt/hus 5 6", "/c/qt/mor 7 8")
    path.write_bytes(gzip.compress("\n".join(("4 2", *rows)).encode()))
    assert files.read_vectors(path, language=TOY)[0] == ("hus", "mor")
    space = dpt.word_space(path, language=TOY)
    assert space.words == ("hus", "mor") and space is dpt.word_space(path, language=TOY)
    assert dpt.word_space(path).words == ("the", "house")
    assert set(dpt.word_list(f"{path}@1", language=TOY)) == {"hus", "mor"}
    assert set(dpt.word_list(f"{path}@1")) == {"the", "house"}
    assert of_toy("santext", space=str(path)).vocabulary.words == ("hus", "mor")
    with pytest.raises(InputError, match=r"no Plain words \(/c/qp/"):
        files.read_vectors(path, language=Language("Plain", "qp"))


# --- mechanisms


SPACE = random_space(30, seed=3)
TEXT = f"Hr. {words(9)[8]} og {words(3)[2]}'na; {words(5)[4]} the k'o it's."


def test_a_word_mechanism_goes_by_the_language():
    m = of_toy("santext", SPACE, epsilon=5.0, keep_stopwords=True, recase="sentence", oov="keep")
    prepared = m.prepare(TEXT)
    tokens = [t.text for t in prepared.document.tokens]
    assert tokens == ["Hr.", words(9)[8], "og", words(3)[2], "'na", ";", words(5)[4], "the", "k'o", "it's", "."]
    stopped = [t for t, why in zip(tokens, prepared.reasons, strict=True) if why == "stop word"]
    assert stopped == [words(9)[8], "og", "'na", "k'o"]
    sources = {e["reason"]: e["source"] for e in entries(m.guarantee(prepared), "kept-tokens")}
    assert sources["stop word"] == "the stop words of Toyish"
    for seed in range(20):
        steps = m.rewrite(prepared, seed=seed).steps
        inside, begin = (s.replacement for s in steps if s.action == "replace")
        assert inside == toy_case(inside.lower(), False) and begin == toy_case(begin.lower(), True)
        assert begin[-1] == "Q" and inside[-1] == "q"


def test_the_token_view_goes_by_the_language():
    m = of_toy("santext", SPACE, epsilon=5.0, recase="sentence")
    shown = token_view.payload(m.rewrite(words(1)[0], seed=1), run=1, low=0.5, high=50.0, default=5.0)["tokens"][0]["c"]
    assert set(shown) <= {toy_case(w, False) for w in SPACE.words} and any("B" in w for w in shown)


@pytest.mark.usefixtures("quick_audits")
def test_attackers_and_audit_go_by_the_language():
    counted = dataclasses.replace(SPACE, counts=np.full(len(SPACE), 5))
    m = of_toy("santext", counted, epsilon=2.0, keep_stopwords=True, recase="sentence")
    prior = public_prior(m)
    assert [w for w, p in zip(prior.words, prior.p, strict=True) if p < prior.chance] == [words(9)[8]]
    report = dpt.audit(of_toy("santext", SPACE, epsilon=2.0, recase="sentence"), list(words(6)), seed=1, draws=100)
    assert report.holds, report.details()


def test_a_masked_language_model_goes_by_the_language(tiny_model):
    m = of_toy("dp-mlm", model=tiny_model, epsilon=20.0, antonym_filter=True, keep_stopwords=True, recase="sentence")
    d = m.distribution("good food og god", 0)
    assert d.candidates and all(set(c) <= set("abcdefghijklm") for c in d.candidates)
    assert "bad" in d.candidates and d.p("bad") == 0 and m.distribution("good food og god", 1).p("bad") > 0
    assert len(d.candidates) < len(dpt.get_mechanism("dp-mlm", model=tiny_model).distribution("good", 0).candidates)
    r = m.rewrite("good food og god", seed=1)
    assert [s.action for s in r.steps] == ["replace", "replace", "keep", "replace"]
    assert [s.replacement for s in r.steps] == [
        toy_case(s.replacement.lower(), i == 0) if s.action == "replace" else "og" for i, s in enumerate(r.steps)
    ]
    assert r.steps[0].replacement[-1].isupper()


def test_a_models_words_go_by_the_language(tiny_model):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    ids, found, _ = model_words(tokenizer, TOY)
    assert "bad" in found and "friend" not in found and len(ids) == len(found)
    assert "friend" in model_words(tokenizer)[1]
    with pytest.raises(dpt.ConfigError, match="no whole None words"):
        model_words(tokenizer, Language("None", "qn", letters="[ж]"))


# --- nothing outside knows a language


def _lists(tree: ast.Module) -> list[set[str]]:
    """What could be a list of words: the words of each string of many, and those of each collection of strings."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(set(re.split(r"[\s|(),:?]+", straighten_apostrophes(node.value))))
        elif isinstance(node, ast.Set | ast.Tuple | ast.List | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            found.append({i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)})
    return found


CLITICS = {*ENGLISH.clitics, *ENGLISH.clitic_tokens} - {"s", "d", "m"}
TABLES = (CLITICS, ENGLISH.titles, ENGLISH.abbreviations - {"no", "sat", "sun", "may"}, set(english.IRREGULAR))


def _english(text: str) -> list[set[str]]:
    """Lists in this code with three words of a table; it is parsed only where three stand in it anywhere."""
    parts = set(re.split(r"""[\s|(),:?"\[\]{}\\]+""", straighten_apostrophes(text)))
    parts |= {part.strip("'") for part in parts}
    if all(len(parts & table) < 3 for table in TABLES):
        return []
    return [words & table for words in _lists(ast.parse(text)) for table in TABLES if len(words & table) >= 3]


@pytest.mark.slow
def test_no_list_of_english_stands_outside():
    ours = re.compile(r"dptext_(core|lab|studio)/|pages/|app\.py$")
    own = {path: text for path, text in texts(".py").items() if ours.match(path)}
    home = {path for path in own if path.startswith("dptext_core/text/languages/")}
    home.add("dptext_core/measure/identifiers.py")  # what an English benchmark's own evaluation does not count
    assert _english(own["dptext_core/text/languages/english.py"]), "the test would not see such a list"
    assert {path: found for path, text in own.items() if path not in home and (found := _english(text))} == {}


def test_english_is_nowhere_more_than_a_default():
    """Outside its file the object is imported, and is the default of an argument, a field or a class: never asked."""
    default = r"Language\]? = (field\(default=)?ENGLISH\b"
    imported = r"from (\.+|dptext_core\.)(text\.)?languages import ENGLISH$"
    allowed = re.compile(rf'{imported}|.*: (ClassVar\[)?{default}|\s+"ENGLISH",')
    seen = 0
    for path, text in texts(".py").items():
        if re.match(r"dptext_(core|lab|studio)/|pages/|app\.py$", path) and "/languages/" not in path:
            for line in text.splitlines():
                if "ENGLISH" in line:
                    seen += 1
                    assert allowed.match(line), f"{path}: {line.strip()}"
    assert seen > 20


def test_no_test_of_words_by_ascii_letters():
    """Such tests stand in a language; what is left is about numbers, encodings, names of files and addresses."""
    asks = re.compile(r"\.isascii\(\)|\[A-Za-z\]|\[a-z\][{*+]")
    found = {
        path
        for path, text in texts(".py").items()
        if re.match(r"dptext_core/(?!text/languages/)", path) and asks.search(text)
    }
    named = (
        "cli/console.py",
        "mechanisms/codec.py",
        "mechanisms/detected/stand_ins.py",
        "mechanisms/preparing.py",
        "mechanisms/writing/spelling.py",
        "mechanisms/blocklist.py",
        "text/visible.py",
        "words/files.py",
    )
    assert found == {f"dptext_core/{name}" for name in named}


def test_every_apostrophe_becomes_straight():
    from dptext_core.text.language import APOSTROPHES, straighten_apostrophes

    assert [straighten_apostrophes(f"o{mark}clock") for mark in APOSTROPHES] == ["o'clock"] * len(APOSTROPHES)
    assert [mark for mark in APOSTROPHES if f"o{mark}clock".isalpha()] == ["ʼ"], "the short way leaves out this one"
    assert straighten_apostrophes("clock") == "clock"
