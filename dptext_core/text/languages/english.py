"""English: its clitics, abbreviations, tokens, capital letters and lists of words.

Words are cut by NLTK's word tokenizer (the one DP-MLM, CusText and 1-Diffractor use). Stop words: NLTK's English list
where its data is installed, else the list inside gensim (Stone et al. 2011). Antonyms: WordNet (Miller 1995), as NLTK's
data or as Debian's package wordnet-base has it.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ModelUnavailable
from ..language import APOSTROPHES, Clues, Language, position_case

if TYPE_CHECKING:
    from ..lexicon import Antonyms, Lexicon


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- tokens: the words and marks on whose tokens NLTK, refined, leaves no doubt. Each alternative is one token, tied by
# look-around to the neighbours with which it is one. Group 2 takes the rest of a sentence from the first doubt on.

_LETTER = "[A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e]"
_END = "(?:[sSdDmM]|[rRvV][eE]|[lL][lL])"
# NLTK cuts around ``cannot`` and the like, which shows where they are part of a longer word.
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
    """NLTK's word tokenizer: where they are as known, its two files alone, since importing NLTK takes over a second."""
    if "nltk" not in sys.modules:
        try:
            return _tokenizer_alone()
        except (OSError, SyntaxError, ImportError, LookupError, NameError, TypeError, ValueError, AttributeError):
            pass  # another layout
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def _tokenizer_alone() -> Any:
    """NLTK's word tokenizer, run from its source without the package around it."""
    spec = importlib.util.find_spec("nltk")
    (place,) = (spec.submodule_search_locations or []) if spec else []
    folder = Path(place)
    # Its expressions, which run under a clock.
    found = importlib.util.spec_from_file_location("_nltk_redos", folder / "redos.py")
    if found is None or found.loader is None:
        raise ImportError("NLTK has no file of this name")
    redos = importlib.util.module_from_spec(found)
    found.loader.exec_module(redos)
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
    """The pronoun "i" (also ``i'm``) has a capital everywhere, every word has one at a sentence start."""
    if word[:1] == "i" and (len(word) == 1 or word[1] in APOSTROPHES):
        return "I" + word[1:]
    return position_case(word, sentence_start)


# --- lists of words

#: Irregular forms, and those of verbs that lists of stop words leave out, by a verb that they have.
IRREGULAR = {"can't": "can", "won't": "will", "shan't": "will", "ain't": "is", "needn't": "must", "oughtn't": "should"}
_DEBIAN_WORDNET = Path("/usr/share/wordnet")


def _bases(word: str) -> tuple[str, ...]:
    """Of a negation the verb, and its writing without an apostrophe, which some lists have."""
    if not word.endswith("n't"):
        return ()
    return IRREGULAR.get(word, word[:-3]), word.replace("'", "")


def _stop_words() -> Lexicon:
    from ..lexicon import Lexicon, nltk_stop_words

    words = nltk_stop_words("english")
    if words is not None:
        return Lexicon("nltk", "NLTK's English stop words", words, ENGLISH)
    return Lexicon("gensim", "gensim's English stop words", _gensim_stop_words(), ENGLISH)


def _gensim_stop_words() -> frozenset[str]:
    """Read from gensim's source without running it: importing gensim takes most of a second, this some milliseconds."""
    spec = importlib.util.find_spec("gensim")
    for place in (spec.submodule_search_locations or []) if spec else []:
        source = Path(place) / "parsing" / "preprocessing.py"
        if source.is_file():
            for node in ast.parse(source.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                if getattr(node.targets[0], "id", "") == "STOPWORDS" and len(node.value.args) == 1:
                    return frozenset(ast.literal_eval(node.value.args[0]))
    try:
        from gensim.parsing.preprocessing import STOPWORDS
    except ImportError as error:
        raise ModelUnavailable(
            "There is no list of stop words: pip install gensim, or give a file with one word a line."
        ) from error
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
        "Ubuntu: apt install wordnet-base), or give a file with two opposite words a line."
    )


# --- what names, places, dates and numbers are told by: facts of common knowledge, written by hand

_PLACES = _set_of(
    "afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium bolivia "
    "bosnia brazil britain bulgaria cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus "
    "czechia denmark ecuador egypt england estonia ethiopia finland france georgia germany ghana greece guatemala "
    "haiti honduras hungary iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan "
    "kenya kuwait laos latvia lebanon liberia libya lithuania luxembourg malaysia mali malta mexico moldova mongolia "
    "montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan "
    "palestine panama paraguay peru philippines poland portugal qatar romania russia rwanda scotland senegal serbia "
    "singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand tunisia "
    "turkey uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen zambia zimbabwe usa us uk u.s u.k uae eu "
    "africa asia europe america antarctica scandinavia alabama alaska arizona california colorado connecticut "
    "delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts "
    "michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee "
    "texas utah vermont virginia wisconsin wyoming ontario quebec abuja accra algiers amman amsterdam ankara athens "
    "atlanta auckland baghdad baltimore bangalore bangkok barcelona bath beijing beirut belfast belgrade bergen "
    "berlin birmingham bogota bologna boston bratislava brisbane bristol brussels bucharest budapest cairo calgary "
    "cambridge canberra caracas cardiff casablanca chennai chicago cologne copenhagen cork dakar dallas damascus "
    "delhi denver detroit dhaka dubai dublin dresden edinburgh florence frankfurt geneva genoa glasgow gothenburg "
    "hamburg hanoi havana helsinki houston hyderabad islamabad istanbul jakarta jerusalem johannesburg kabul karachi "
    "kathmandu khartoum kinshasa kolkata krakow kyiv kiev kyoto lagos lahore leeds leipzig leicester lima lisbon "
    "liverpool ljubljana london lyon madrid manchester manila marseille melbourne memphis miami milan milwaukee "
    "minneapolis minsk mobile montreal moscow mumbai munich nairobi naples nashville newcastle nice nottingham "
    "oakland orlando osaka oslo ottawa oxford palermo paris perth philadelphia phoenix pittsburgh portland porto "
    "prague reading reykjavik riga rome rotterdam santiago sarajevo seattle seoul seville shanghai sheffield sofia "
    "southampton stavanger stockholm stuttgart sydney tallinn tampa tehran tokyo toronto toulouse trondheim tripoli "
    "tunis turin uppsala valencia vancouver venice vienna vilnius warsaw wellington york zagreb zurich african "
    "american arab argentinian asian australian austrian belgian brazilian british bulgarian canadian chilean "
    "chinese colombian croatian cuban czech danish dutch egyptian english ethiopian european finnish french german "
    "greek hungarian indian indonesian iranian iraqi irish israeli italian japanese kenyan korean mexican moroccan "
    "nigerian norwegian pakistani palestinian peruvian polish portuguese romanian russian scottish serbian somali "
    "spanish swedish swiss syrian thai turkish ukrainian vietnamese welsh"
) | {
    "bosnia and herzegovina",
    "costa rica",
    "czech republic",
    "dominican republic",
    "el salvador",
    "great britain",
    "hong kong",
    "ivory coast",
    "new zealand",
    "north korea",
    "northern ireland",
    "saudi arabia",
    "sierra leone",
    "south africa",
    "south korea",
    "sri lanka",
    "united arab emirates",
    "united kingdom",
    "united states",
    "new hampshire",
    "new jersey",
    "new mexico",
    "north carolina",
    "north dakota",
    "rhode island",
    "south carolina",
    "south dakota",
    "west virginia",
    "british columbia",
    "addis ababa",
    "buenos aires",
    "cape town",
    "kuala lumpur",
    "las vegas",
    "los angeles",
    "mexico city",
    "new delhi",
    "new orleans",
    "new york",
    "new york city",
    "rio de janeiro",
    "salt lake city",
    "san antonio",
    "san diego",
    "san francisco",
    "san jose",
    "sao paulo",
    "são paulo",
    "st petersburg",
    "tel aviv",
    "the hague",
}
_FIRST_NAMES = _set_of(
    "aaron abdul adam ahmed alan albert alex alexander alexandra ali alice alicia amanda amir amy ana andrea andreas "
    "andrew angela anita ann anna anne anthony antonio arthur astrid barbara beatrice ben benjamin betty bob brian "
    "bruce carl carla carlos carol caroline catherine charles charlotte chris christian christina christine "
    "christopher claire clara claudia daniel david deborah dennis diana diego dmitri donald donna dorothy edward "
    "elena eleanor elizabeth ella ellen emily emma eric erik ethan eva evelyn fatima felix fernando fiona frances "
    "francis frank fred gary george giovanni greta gregory hans hannah harold harry hassan heather heidi helen "
    "helena henry howard ian ibrahim igor ingrid irene isabel isabella ivan jack jacob james jan jane janet jason "
    "jean jeff jennifer jeremy jessica jim joan joe john jonas jonathan jose joseph joshua juan judith julia julian "
    "julie karen karl kate katherine kathleen keith kelly ken kevin khalid kim lars laura lauren lea leo leon liam "
    "linda lisa lucas lucia lucy luis luke magnus marco margaret maria marie marion mario marta martha martin mary "
    "matthew max megan mei melissa mia michael michelle miguel mike mohamed mohammed monica muhammad nadia nancy "
    "natalie nicholas nicole nina noah olga oliver olivia omar oscar pablo pamela patricia paul paula pedro peter "
    "philip priya rachel rebecca richard robert robin roger ronald rosa ruth ryan samantha samuel sandra sara sarah "
    "sean sergei sharon simon sofia sophia sophie stephanie stephen steven susan tanya thomas tim timothy tom tony "
    "ursula vanessa victor victoria vincent walter wei wendy william yusuf zoe"
)
_CLUES = Clues(
    capitals=True,
    common=_set_of(
        "i a an the and but or nor so yet for as at by from in into of on to with without about after before since "
        "until he she it we they you his her its our their my your this that these those there here who what when "
        "where why how which while if then than not no yes please thanks thank hello hi dear best kind regards "
        "sincerely yours ok okay today tomorrow yesterday now later soon again also however all some any both each "
        "every most many much more is are was were be been am do does did have has had can could will would shall "
        "should may might must let i'm i've i'd i'll god internet christmas easter ms mr mrs dr tv pm am"
    ),
    titles=_set_of(
        "mr mrs ms miss mx dr doctor prof professor sir madam lord lady rev reverend father sister brother aunt "
        "uncle grandma grandpa captain capt colonel col major sgt sergeant lt lieutenant gen general judge senator "
        "president king queen prince princess pope bishop nurse officer"
    ),
    first_names=_FIRST_NAMES,
    particles=_set_of("von van de del della der den di da du la le bin ibn al el af av zu y"),
    places=_PLACES,
    places_or_words=_set_of(
        "bath chad china cork georgia jordan mali mobile nice niger oman orlando phoenix polish reading turkey "
        "florence sofia venice virginia us eu york"
    ),
    place_ends=_set_of(
        "street st road rd lane avenue ave drive boulevard blvd square court close crescent terrace alley highway "
        "bridge hospital clinic university college school church cathedral mosque synagogue hotel airport station "
        "park museum library theatre theater county valley island lake river mountain beach"
    ),
    before_place=_set_of("in near outside around across throughout"),
    months=_set_of(
        "january february march april may june july august september october november december jan feb mar apr jun "
        "jul aug sept sep oct nov dec"
    ),
    months_or_words=_set_of("march may mar august jan jun jul sat sun mon wed"),
    weekdays=_set_of(
        "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays "
        "saturdays sundays mon tue tues wed thu thur thurs fri sat sun"
    ),
    ordinals=_set_of("st nd rd th"),
    joining=_set_of("of the and"),
    before_year=_set_of(
        "in since until till from of by before after during around circa year spring summer autumn fall winter"
    ),
    numbers=_set_of(
        "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty "
        "seventy eighty ninety hundred thousand million billion twenties thirties forties fifties sixties seventies "
        "eighties nineties"
    ),
    small_numbers=_set_of(
        "one two three four five six seven eight nine ten first second third fourth fifth sixth seventh eighth ninth "
        "year years old"
    ),
)


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
    letters="[A-Za-z]",
    one_letter_words=frozenset("ai"),
    bases=_bases,
    clues=_CLUES,
    load_stop_words=_stop_words,
    load_antonyms=_antonyms,
)
