"""Tokens and their spans."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dptext_core.errors import InputError
from dptext_core.text import tokenizing
from dptext_core.text.document import Document, Token
from dptext_core.text.languages import english
from dptext_core.text.tokenizing import KINDS

# Characters that break tokenizers more often than random code points do.
PIECES = st.sampled_from(
    [
        "'",
        '"',
        "''",
        "``",
        "’",
        "“",
        "”",
        ".",
        "...",
        "…",
        ",",
        ":",
        "(",
        ")",
        "-",
        "--",
        "—",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "\x1c",
        "\x85",
        "\u00a0",
        "\u200b",
        "\u200d",
        "\u2028",
        "\ufeff",
        "\u0301",
        "😀",
        "👍🏽",
        "👩‍👩‍👧",
        "🇩🇪",
        "can't",
        "don’t",
        "it's",
        "I'd've",
        "n't",
        "U.S.",
        "Dr.",
        "e.g.",
        "3.5",
        "10,000",
        "a@b.org",
        "http://x.y/(z)",
        "\ud800",
        "مرحبا",
        "שלום",
        "你好。",
        "ि",
        "½",
        "cannot",
        "word",
        "i",
        "é",
        "_",
        "`",
        "$",
        "%",
    ]
)
# English as people write it: most of these sentences are cut by one expression, without NLTK.
ENGLISH = """
the a of I film went Monday Boys' dogs' can't don’t isn't cannot gonna wanna more'n d'ye o'clock O'Neill it's we’re
I'd couldn't've they'll 's ’s n't 'll 'tis ’tis 'em 90s '90s U.S. U.S Dr. Mr. No. e.g. a.m. etc. Jr. 3.5 10,000 10:30
5 1st 1. 5% $5.50 £5 C++ well-known and/or AT&T x_y a@b.org http://x.y/z www.x.org W WWW.x é naïve Šimić ſ İ
. . . , , ? ! ; : ... .. … -- --- - — – / & # * ( ) [ ] < > " " ' ' '' `` “ ” ‘ ’ :) ?! ." .) .' ," 's, 😀 你好。
"""
PROSE = st.lists(
    st.tuples(st.sampled_from(ENGLISH.split()), st.sampled_from(["", " ", " ", " ", "  ", "\n", "\t", "\u00a0"])),
    max_size=14,
).map(lambda pieces: "".join(word + gap for word, gap in pieces))
TEXTS = st.one_of(
    st.lists(PIECES, max_size=25).map("".join),
    st.text(max_size=60),
    st.text(alphabet=st.characters(), max_size=40),
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=20).map("".join),
)


def words(text: str) -> list[str]:
    return [token.text for token in Document.parse(text).tokens]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.text, token.kind) for token in Document.parse(text).tokens]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
@example('"a\'\' b" ``c"')
@example("don\u2019t\ud800\0👩‍👧 \u0301x")
def test_every_character_counts(text):
    given = Document.parse(text)
    doc, text = given.visible, given.visible.text
    assert (given.text, given.words, given.kinds, given.gaps) == (given.text, doc.words, doc.kinds, doc.gaps)
    covered = set()
    at = 0
    for token in doc.tokens:
        assert at <= token.start < token.end
        assert token.text == text[token.start : token.end]
        assert not any(char.isspace() for char in token.text)
        assert token.kind in KINDS
        covered.update(range(token.start, token.end))
        at = token.end
    assert all(i in covered for i, char in enumerate(text) if not char.isspace())
    assert "".join(doc.gap(i) + token.text for i, token in enumerate(doc.tokens)) + doc.gap(len(doc.tokens)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met on Monday. Then we left.", ["We", "met", "on", "Monday", ".", "Then", "we", "left", "."]),
        ("The U.S. Senate met Dr. Who, e.g. here", ["The", "U.S.", "Senate", "met", "Dr.", "Who", ",", "e.g.", "here"]),
        ("At 3.5 or 10,000 well-known ones", ["At", "3.5", "or", "10,000", "well-known", "ones"]),
        ("can't don’t cannot gonna couldn't've", ["can't", "don’t", "cannot", "gonna", "couldn't", "'ve"]),
        ("it's we’re I'd've he'll I'm", ["it", "'s", "we", "’re", "I", "'d", "'ve", "he", "'ll", "I", "'m"]),
        ("O'Neill o’clock rock'n'roll", ["O'Neill", "o’clock", "rock'n'roll"]),
        ("(user@host.org, https://a.b/c?d=1#e).", ["(", "user@host.org", ",", "https://a.b/c?d=1#e", ")", "."]),
        ("great😀movie 👩‍👩‍👧!", ["great", "😀", "movie", "👩👩👧", "!"]),
        ('"a\'\' b" ``c"', ['"', "a", "''", "b", '"', "``", "c", '"']),
        ("你好，世界。好", ["你好", "，", "世界", "。", "好"]),
        ("C++ costs $5 or 50%", ["C++", "costs", "$", "5", "or", "50", "%"]),
        ("1. Apples\n2. Pears", ["1", ".", "Apples", "2", ".", "Pears"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_tokens(text, expected):
    assert words(text) == expected


def test_kinds():
    assert kinds("It's 3.5 km, right? 👍 1st") == [
        ("It", "word"),
        ("'s", "clitic"),
        ("3.5", "number"),
        ("km", "word"),
        (",", "punct"),
        ("right", "word"),
        ("?", "punct"),
        ("👍", "symbol"),
        ("1st", "word"),
    ]
    assert kinds("the film 's good and does n't bore") == [
        ("the", "word"),
        ("film", "word"),
        ("'s", "clitic"),
        ("good", "word"),
        ("and", "word"),
        ("does", "word"),
        ("n't", "clitic"),
        ("bore", "word"),
    ]
    assert kinds("mail a@b.org")[1] == ("a@b.org", "word")


def test_parse_wants_text():
    with pytest.raises(InputError):
        Document.parse(b"bytes")  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_the_fallback_keeps_every_promise(text):
    """Without NLTK's spans the same invariants hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizing, "_plain_spans", lambda *sentence: None)
        patch.setattr(tokenizing, "_tokenizer_spans", lambda *sentence: None)
        test_every_character_counts.hypothesis.inner_test(text)


def test_the_fallback_agrees_on_plain_text(monkeypatch):
    text = "On Monday, Dr. Ames's well-known team can't test 10,000 (or 3.5) -- it's \"hard\": see a@b.org. Why?"
    expected = words(text)
    monkeypatch.setattr(tokenizing, "_plain_spans", lambda *sentence: None)
    monkeypatch.setattr(tokenizing, "_tokenizer_spans", lambda *sentence: None)
    assert words(text) == expected


def both_ways(text: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """The tokens of a text, and those it has where every sentence goes through NLTK."""
    tokens = Document.parse(text).tokens
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizing, "_plain_spans", lambda *sentence: None)
        return tokens, Document.parse(text).tokens


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.one_of(PROSE, PROSE, TEXTS))
@example("He said cannot-Mr. and x-gonna's, No.gonnan't, U.S.more'n, don’t_n't, d'ye:3.5")
@example("Ư'tis⁁'D' ")
@example("The U.S. and Dr. Who (of the U.S.) \"met.\" He said ‘no.’ Boys' dogs'.")
def test_the_short_way_changes_nothing(text):
    quick, general = both_ways(text)
    assert quick == general


@pytest.mark.parametrize(
    ("alphabet", "longest"), [("a 5'.,-\"", 3), ("s 's’.(:", 3), ("a d.\"'?)…", 2), ("“s” '—,’", 2)]
)
def test_the_short_way_changes_nothing_on_any_short_text(alphabet, longest):
    for size in range(1, longest + 1):
        for text in map("".join, itertools.product(sorted(set(alphabet)), repeat=size)):
            quick, general = both_ways(f"a{text}s Mr. {text}b")
            assert quick == general, text


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a's b‒c " * 2500, "a's b‒c " * 2499 + "ab" + " " * 7])
def test_the_short_way_changes_nothing_on_very_long_sentences(text):
    assert len(text) > 19_990
    for tail in ("", "x", " " * 30):
        quick, general = both_ways(text + tail)
        assert quick == general


def test_the_short_way_is_taken(monkeypatch):
    """No plain English sentence comes to NLTK."""
    text = (
        "On Monday, Dr. Ames's well-known team can't test 10,000 (or 3.5) -- it’s “hard”. \"Why?\" She left the U.S. "
        "at 5 p.m. with the boys' 'new' cars; they're $5.50 or 50%... film 's — naïve…\nA title: (and/or)!"
    )
    general = both_ways(text)[1]
    monkeypatch.setattr(tokenizing, "_general_spans", lambda *sentence: pytest.fail("went to NLTK"))
    assert Document.parse(text).tokens == general


@settings(max_examples=100, deadline=None)
@given(st.one_of(PROSE, TEXTS))
@example("He said \"I cannot--gimme that (d'ye?)'' [x] … 'tis 5.\"")
def test_nltks_tokenizer_by_itself_is_nltks(text):
    from nltk.tokenize.destructive import NLTKWordTokenizer

    assert alone().tokenize(text) == NLTKWordTokenizer().tokenize(text)


alone = functools.cache(english._tokenizer_alone)


def test_cutting_a_text_loads_no_nltk_and_does_where_its_files_are_others(tmp_path):
    """All of NLTK is over a second; of another layout it is imported."""
    text = "mail a@b.org: he said ''cannot''"
    code = (
        "import sys; from dptext_core.text.document import Document; "
        f"print([t.text for t in Document.parse({text!r}).tokens], 'nltk' in sys.modules)"
    )
    (tmp_path / "nltk" / "tokenize").mkdir(parents=True)
    for name in ("__init__.py", "tokenize/__init__.py"):
        (tmp_path / "nltk" / name).write_text("")
    (tmp_path / "nltk" / "tokenize" / "destructive.py").write_text(
        "class NLTKWordTokenizer:\n    def tokenize(self, text):\n        return text.split()\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
            env=os.environ | {"PYTHONPATH": path},
        ).stdout.strip()
        for path in ("", str(tmp_path))
    ]
    tokens = [t.text for t in Document.parse(text).tokens]
    assert said[0] == f"{tokens} False" and said[1].endswith(" True")


@pytest.mark.slow
def test_the_short_way_changes_nothing_on_a_corpus():
    folder = Path(os.environ.get("DPTEXT_DATA") or Path(__file__).parents[3] / "shared" / "data")
    path = folder / "corpus" / "train.txt.gz"
    if not path.is_file():
        pytest.skip("needs corpus/train.txt.gz in the folder that DPTEXT_DATA names")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, 0, 20_000, 30):
            quick, general = both_ways(line)
            assert quick == general


def test_python_and_this_module_know_the_same_line_ends():
    """A text without any is not searched for them."""
    every = "".join(map(chr, range(0x110000)))
    found = tokenizing.NEWLINE.findall(every)
    assert found == [line[-1] for line in every.splitlines(keepends=True)[:-1]]
    rules = tokenizing._rules(english.ENGLISH)
    for char in found:
        assert [s[:2] for s in tokenizing._sentences(f"a{char}", rules)] == [(0, 1), (1, 2)]
        assert [s[:2] for s in tokenizing._sentences(char, rules)] == [(0, 1)]


@pytest.mark.parametrize("value", [Token("a", 0, 1, "word")])
def test_tokens_are_values(value):
    same = dataclasses.replace(value)
    assert same == value and hash(same) == hash(value) and {same, value} == {value}
    assert pickle.loads(pickle.dumps(value)) == value
    assert type(value)(*dataclasses.astuple(value)) == value
    assert value != dataclasses.replace(value, text="c")
    assert not hasattr(value, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.text = "b"


@pytest.mark.parametrize("piece", ["'s", '"', ".", "a@", "-a", "(", "' ", "http://", "\u0301", "😀", "a."])
def test_no_quadratic_text(piece):
    """A square of the length would take minutes."""
    text = piece * 20_000
    covered = "".join(text[t.start : t.end] for t in Document.parse(text).tokens)
    assert covered == ("" if piece == "\u0301" else text.replace(" ", ""))
