"""English: its clitics, abbreviations, tokens, capital letters and lists of words.

Words are cut by NLTK's word tokenizer (the one DP-MLM, CusText and 1-Diffractor use). Stop words: NLTK's English list
where its data is installed, else the list inside gensim (Stone et al. 2011) where that is installed, else the words in
``english_function_words.toml``. Antonyms: WordNet (Miller 1995), as NLTK's data or as Debian's package wordnet-base
has it.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ModelUnavailable
from ...support import extras
from ..language import APOSTROPHES, Articles, Clues, Language, position_case

if TYPE_CHECKING:
    from ..lexicon import Antonyms, Lexicon


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- tokens: the words and marks that NLTK, refined, always cuts this way. Each alternative is one token; look-around
# ties it to the neighbours that it depends on. Group 2 takes the rest of a sentence from the first ambiguity on.

_LETTER = "[A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e]"
_END = "(?:[sSdDmM]|[rRvV][eE]|[lL][lL])"
# NLTK's cuts around ``cannot`` and similar words show where they are part of a longer word.
_INNER = (
    r"(?<![nN][oO][tT].)(?<![mM][mM][eE].)(?<![nN][nN][aA].)(?<![tT][tT][aA].)(?<!['’][yY][eE].)(?<!['’][nN].)"
    r"(?!(?i:cannot|gimme|gonna|gotta|lemme|wanna|d['’]ye|more['’]n|n['’]t))"
)
_PLAIN = re.compile(
    "|".join(
        (
            rf"\s*+(?:({_LETTER}++(?:(?:[-./_]|[,:](?=[0-9])|['’](?!{_END}\b)){_INNER}{_LETTER}++)*+",
            r"[,:](?![0-9,:])",
            r"\.(?:(?=\s|[\"')\]”’]*+\Z)|\.++)",
            r"[()\[\]{}<>;?!$%&#*“”„‘«»‒–—―]",
            rf"['’](?<={_LETTER}['’]){_END}(?![\w'’]|[-./]{_LETTER}|[,:][0-9])",
            rf"['’](?<=\s['’]){_END}(?=[\s,;?!]|\.?\Z)",
            rf"'(?<![^\s(\[“]')(?={_LETTER})(?!{_END}\b)",
            r"'(?<=[\w\s,:;?!).\]]')(?=[\s,;?!)\]]|\.?[)\]]*+\Z)",
            rf"’(?:(?!\w)|(?<![\w\s]’)(?={_LETTER})|(?<=\s’)(?={_LETTER})(?!{_END}\b))",
            r"\"(?<!'\")(?!')",
            r"-(?:-(?!-)|(?<![^\s\w]-)(?=\s|\Z))",
            r"/(?<=\s/)(?=[\s>])",
            r"[£€](?<![^\s(].)(?=[0-9])",
            r"…++)",
        )
    )
    + r"|(\S(?s:.)*+))"
)


@cache
def _tokenizer() -> Any:
    """Return NLTK's word tokenizer.

    Loads only its two files if they are as expected, since importing NLTK takes over a second.
    """
    if "nltk" not in sys.modules:
        try:
            return _tokenizer_alone()
        except (OSError, SyntaxError, ImportError, LookupError, NameError, TypeError, ValueError, AttributeError):
            pass  # another layout
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def _tokenizer_alone() -> Any:
    """Return NLTK's word tokenizer, run from its source without the rest of the package."""
    spec = importlib.util.find_spec("nltk")
    (place,) = (spec.submodule_search_locations or []) if spec else []
    folder = Path(place)
    # Its expressions run under a time limit.
    module_spec = importlib.util.spec_from_file_location("_nltk_redos", folder / "redos.py")
    if module_spec is None or module_spec.loader is None:
        raise ImportError("NLTK has no file of this name")
    redos = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(redos)
    file = folder / "tokenize" / "destructive.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tree.body = [n for n in tree.body if not (isinstance(n, ast.ImportFrom) and (n.module or "").startswith("nltk"))]
    names: dict[str, Any] = {"__name__": "_nltk_destructive", "redos": redos, "TokenizerI": object}
    exec(compile(tree, str(file), "exec"), names)
    return names["NLTKWordTokenizer"]()


def _tokenize(sentence: str) -> list[str]:
    return _tokenizer().tokenize(sentence)


# --- capital letters


def _case(word: str, sentence_start: bool) -> str:
    """Capitalise the pronoun "i" (also ``i'm``) everywhere, and every word at a sentence start."""
    if not sentence_start and word[:1] != "i":  # most words
        return word
    if word[:1] == "i" and (len(word) == 1 or word[1] in APOSTROPHES):
        return "I" + word[1:]
    return position_case(word, sentence_start)


# --- articles

#: "an" precedes words that begin with a vowel sound: "an hour", "a user", "an 18-year-old", "an MRI".
_ARTICLES = Articles(
    forms=("a", "an"),
    second=re.compile(
        r"(?!eu|ewe|once\b|one\b|one(?:self|ness)|ouija|u(?:[cgk]a|nanim|ni(?!de|m|nf|nh|ni|ns|nt|nv)|bi|fo\b|k\b|r[aeio]"
        r"|s[aeu]|s\b|sing|t[eio]|kul|kr))[aeiou]|hour|honou?r|honest|heir|8|1[18](?!\d)"
    ),
    spelled=re.compile(r"[A-Z]{1,3}(?![A-Za-z])"),
    letters=frozenset("AEFHILMNORSX"),
)

# --- lists of words

#: Irregular forms, and forms of verbs that stop word lists omit, mapped to a verb that they contain.
IRREGULAR = {"can't": "can", "won't": "will", "shan't": "will", "ain't": "is", "needn't": "must", "oughtn't": "should"}
_DEBIAN_WORDNET = Path("/usr/share/wordnet")


def _bases(word: str) -> tuple[str, ...]:
    """Return the verb of a negation, and its spelling without an apostrophe, which some lists contain."""
    if not word.endswith("n't"):
        return ()
    return IRREGULAR.get(word, word[:-3]), word.replace("'", "")


def _stop_words() -> Lexicon:
    from ..lexicon import Lexicon, nltk_stop_words

    words = nltk_stop_words("english")
    if words is not None:
        return Lexicon("nltk", "NLTK's English stop words", words, ENGLISH)
    if (words := _gensim_stop_words()) is not None:
        return Lexicon("gensim", "gensim's English stop words", words, ENGLISH)
    return Lexicon("built-in", "the built-in list of English function words", _function_words(), ENGLISH)


def _function_words() -> frozenset[str]:
    """Read the list that is part of this package."""
    with Path(__file__).with_name("english_function_words.toml").open("rb") as file:
        return frozenset().union(*map(_set_of, tomllib.load(file).values()))


def _gensim_stop_words() -> frozenset[str] | None:
    """Read gensim's list from its source without running it; None if gensim is not installed.

    Importing gensim takes most of a second, this a few milliseconds.
    """
    if not extras.is_installed("gensim"):
        return None
    spec = importlib.util.find_spec("gensim")
    for place in (spec.submodule_search_locations or []) if spec else []:
        source = Path(place) / "parsing" / "preprocessing.py"
        if source.is_file():
            for node in ast.parse(source.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                if getattr(node.targets[0], "id", "") == "STOPWORDS" and len(node.value.args) == 1:
                    return frozenset(ast.literal_eval(node.value.args[0]))
    from gensim.parsing.preprocessing import STOPWORDS

    return frozenset(STOPWORDS)


def _antonyms() -> Antonyms:
    from ..lexicon import Antonyms, folder_antonyms, nltk_antonyms

    pairs = nltk_antonyms("wordnet")
    if pairs is not None:
        return Antonyms("wordnet", "WordNet's antonyms (NLTK's data)", pairs)
    if (_DEBIAN_WORDNET / "data.adj").is_file():
        return Antonyms("wordnet", "WordNet's antonyms (Debian's wordnet-base)", folder_antonyms(_DEBIAN_WORDNET))
    raise ModelUnavailable(
        "There are no antonyms on this machine. Install WordNet (python -m nltk.downloader wordnet, or on Debian and "
        "Ubuntu: apt install wordnet-base), or provide a file with two opposite words per line."
    )


# --- clues to names, places, dates and numbers


def _clues() -> Clues:
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        content = tomllib.load(file)
    places = frozenset(content.pop("long_places")) | _set_of(content.pop("places"))
    capitals = content.pop("capitals")
    return Clues(capitals=capitals, places=places, **{name: _set_of(words) for name, words in content.items()})


_CLUES = _clues()


ENGLISH = Language(
    name="English",
    code="en",
    clitics=("s", "re", "ve", "ll", "d", "m"),
    detached=("n't",),
    titles=_set_of("mr mrs ms dr prof st rev gen sen rep gov capt lt col sgt maj hon messrs mt ft vs viz cf e.g i.e"),
    abbreviations=_set_of(
        "jr sr inc ltd co corp bros etc al approx dept est ca a.m p.m u.s u.k u.n ph.d b.a m.a m.d "
        "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun ave blvd rd"
    ),
    before_number=_set_of("no nos fig figs p pp vol ch sec eq ed art"),
    starters=_set_of(
        "i he she it we they you this that these those there the a an my his her its our their in on at but and so "
        "then if when while as for after before however what who why how"
    ),
    no_initials=frozenset("i"),
    tokenize=_tokenize,
    plain=_PLAIN,
    case=_case,
    articles=_ARTICLES,
    tight_before=_set_of(". , ; : ? ! ) ] } % 's 'm 're 've 'll 'd n't"),
    tight_after=_set_of("( [ { $ £ €"),
    letters="[A-Za-z]",
    one_letter_words=frozenset("ai"),
    bases=_bases,
    clues=_CLUES,
    load_stop_words=_stop_words,
    load_antonyms=_antonyms,
)
