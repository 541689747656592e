"""Every sentence about a guarantee, rendered from its typed values.

A sentence is a template with named placeholders and the values to fill in. The browser edition takes the same templates
with the numbers left open (:func:`templates`, :func:`counted`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..support.checks import LARGEST, pluralize
from .kinds import ConditionKind, GroupKind, MetricKind, Notion, NotProtectedKind, ReasonKind, Scope, UnitKind
from .numbers import MOST_ODDS, bound, number, odds_text, scientific

if TYPE_CHECKING:
    from .guarantee import Guarantee
    from .terms import Condition

NOTIONS: dict[str, str] = {
    Notion.PURE: "pure differential privacy",
    Notion.METRIC: "metric differential privacy",
    Notion.GROUP: "differential privacy within a group",
    Notion.APPROX: "approximate differential privacy",
    Notion.NONE: "no guarantee",
}
#: The adjacency without conditions.
ANY_TEXTS = "any two texts"
#: δ of the second statement, unless another is requested.
DELTA = 1e-5
#: A factor above this hides little: e^ε, or e^(ε·distance) of a word's nearest neighbour.
LARGE = 100.0


class _Open(dict[str, str]):
    """Values of placeholders; those without a value remain open."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders that have a value, and leave the others."""
    return template.format_map(_Open(values))


# --- units

_NOUNS = {
    UnitKind.RELEASED_WORD: ("released word", "word"),
    UnitKind.DISTINCT_WORD: ("distinct word", "word"),
    UnitKind.RELEASED_TOKEN: ("released token", "token"),
    UnitKind.RELEASED_SENTENCE: ("released sentence", "sentence"),
    UnitKind.RELEASED_TEXT: ("released text", "text"),
}
UNITS_BY_NOUN = {whole: kind for kind, (whole, _) in _NOUNS.items()}


def noun(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    """Return the noun of a unit without "released" or "distinct"."""
    return str(parameters["text"]) if kind == UnitKind.CUSTOM else _NOUNS[UnitKind(kind)][1]


def _unit(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    return str(parameters["text"]) if kind == UnitKind.CUSTOM else _NOUNS[UnitKind(kind)][0]


# --- which texts are compared

_WITH = {
    ConditionKind.TOKEN_COUNT: "the same number of tokens",
    ConditionKind.KEPT_TOKENS: "the same kept tokens in the same places",
    ConditionKind.UNKNOWN_WORDS: "unknown words in the same places",
    ConditionKind.BLOCKLISTED_WORDS: "blocklisted words in the same places",
    ConditionKind.SPACING: "the same spaces and line breaks",
    ConditionKind.CAPITALS: "capital letters at the beginning of the same words",
    ConditionKind.SENTENCE_COUNT: "the same number of sentences",
    ConditionKind.WORD_AND_MARK_COUNT: "the same number of words and marks",
    ConditionKind.SKELETON: "the same kept words and marks in the same places",
    ConditionKind.RELEASED_BEFORE: "the same words released before",
    ConditionKind.SAME_FLAGS: "flagged words in the same places, with the same types, formats and repetitions",
    ConditionKind.CUSTOM: "{text}",
}
_WHERE = {
    ConditionKind.SAME_GROUP: "each word is in the same group",
    ConditionKind.SENSITIVE_WORDS: "both words of each changed place are sensitive (the rarest {share} of the "
    "vocabulary)",
    ConditionKind.REPETITIONS: "words {where} are equal at the same places",
}
_SCOPES = {Scope.TEXT: "in the text", Scope.ALL_TEXTS: "in all texts that are rewritten together"}


def _condition(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    return (_WITH | _WHERE)[ConditionKind(kind)].format_map(_values(parameters))


def _join_list(items: Sequence[str]) -> str:
    and_ = ", and " if len(items) > 2 else " and "
    return and_.join([", ".join(items[:-1])] * (len(items) > 1) + list(items[-1:]))


def comparison_phrase(conditions: Sequence[Condition]) -> str:
    """Word what a text must share: "with the same number of sentences"."""
    return f"with {_join_list(conditions)}" if conditions else ""


def adjacency(conditions: Sequence[Condition], custom: str = "") -> str:
    """Word which texts are compared.

    custom: a plugin's own phrase, with more conditions.
    """
    shared = [c for c in conditions if c.kind not in _WHERE]
    where = [c for c in conditions if c.kind in _WHERE]
    phrase = f"{custom or ANY_TEXTS} {comparison_phrase(shared)}".rstrip()
    return f"{phrase}, where {_join_list(where)}" if where else phrase


# --- what is not protected

_KEPT = {
    "stop word": ("stop word", "stop words"),
    "punctuation": ("punctuation mark", "punctuation marks"),
    "symbol": ("symbol or emoji", "symbols and emoji"),
    "not in the vocabulary": (
        "unknown word (a name, a number, a typing error)",
        "unknown words (names, numbers, typing errors)",
    ),
}
_LIKELIHOOD = ", to anyone who knows how likely the released words are"
_NOT_PROTECTED = {
    NotProtectedKind.KEPT_TOKENS: "{count} {kept}, unchanged and in place{source}",
    NotProtectedKind.UNKNOWN_REPLACED: f"that a word was unknown{_LIKELIHOOD}",
    NotProtectedKind.UNKNOWN_MASKED: "the places of {count} unknown {words}, shown as {mask}",
    NotProtectedKind.UNKNOWN_DROPPED: "that {count} unknown {words} {were} left out, to anyone who counts the words",
    NotProtectedKind.BLOCKLISTED_REPLACED: f"that a word was on the blocklist{_LIKELIHOOD}",
    NotProtectedKind.TOKEN_COUNT: "the number of words, and which places were kept",
    NotProtectedKind.EDITED_TOKEN_COUNT: "the number of words after deleting and adding, and which were kept; the "
    "total of this guarantee also shows the original number",
    NotProtectedKind.NAMES_AMONG_STOP_WORDS: "the fact that no kept stop word is written as a name, a date or a number",
    NotProtectedKind.SPACING: "the spacing and the line breaks",
    NotProtectedKind.CAPITALS: "which original words began with a capital letter",
    NotProtectedKind.EPSILON_LIST: "the list of ε, which reveals something if you chose it by looking at the text",
    NotProtectedKind.BLOCKLIST: "the blocklist, which reveals something if you chose it by looking at the text",
    NotProtectedKind.ALLOWLIST: "{count} {words} on the allowlist, unchanged and in place; the list reveals something "
    "if you chose it by looking at the text",
    NotProtectedKind.WORD_GROUP: "the group of each word: its {outputs} possible outputs{overlap}",
    NotProtectedKind.ALONE_IN_GROUP: "a word that is alone in its group ({share} of the vocabulary): no ε protects it",
    NotProtectedKind.REPETITIONS: "which words are repeated {where}",
    NotProtectedKind.COMMON_WORDS: "each non-sensitive word (the most common {share} of the vocabulary). It is visibly "
    "unchanged with probability 1 − p = {passed}. If it is sampled, its ε against a sensitive word is ln(1/p) = {cost} "
    "larger",
    NotProtectedKind.WORD_PIECE_LIMITS: "that at most {read} word pieces of a text are read and at most {written} are "
    "written, for every text",
    NotProtectedKind.TOKEN_LIMITS: "that at most {read} tokens of a text are read and at most {written} are written, "
    "as you set",
    NotProtectedKind.TRAINING_TEXTS: "what the model was pre-trained on, from which it may repeat whole sentences",
    NotProtectedKind.SENTENCE_SLOTS: "that {count} {sentences} sampled, as you set",
    NotProtectedKind.SENTENCE_COUNT: "how many sentences your text has",
    NotProtectedKind.TOKEN_LIMIT: "the limit of {count} {tokens}, which you set",
    NotProtectedKind.WORD_AND_MARK_COUNT: "how many words and marks your text has, which the length limit shows",
    NotProtectedKind.UNFLAGGED_WORDS: "every word that the detector does not flag, unchanged",
    NotProtectedKind.FLAGGED_PLACES: "{count} {places} that the detector flagged, with {types}",
    NotProtectedKind.FLAGGED_SHAPES: "which flagged words are equal, and the format of numbers and dates",
    NotProtectedKind.MISSED_WORDS: "identifying words that the detector misses: only ε per word protects them",
    NotProtectedKind.FLAGS_IN_CONTEXT: "words that decide whether the detector flags a word beside them",
    NotProtectedKind.SEED: "everything, to anyone who knows the seed",
    NotProtectedKind.CUSTOM: "{text}",
}


def _agreement(parameters: Mapping[str, Any], one: bool) -> dict[str, str]:
    """Return nouns and verbs that agree with a count."""
    out = {"words": "word" if one else "words", "were": "was" if one else "were"}
    out |= {"places": "place", "types": "its type"} if one else {"places": "places", "types": "their types"}
    out["tokens"] = "token" if one else "tokens"
    out["sentences"] = "sentence is" if one else "sentences are"
    if "reason" in parameters:
        out["kept"] = _KEPT[parameters["reason"]][not one]
        out["source"] = f" (the list: {parameters['source']})" if parameters.get("source") else ""
    return out


def _not_protected(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    values = _values(parameters) | _agreement(parameters, parameters.get("count") == 1)
    if kind == NotProtectedKind.WORD_GROUP:
        values["overlap"] = ", which overlap with those of other groups" if parameters["overlap"] else ""
    return _NOT_PROTECTED[NotProtectedKind(kind)].format_map(values)


def count_templates(kind: StrEnum, parameters: Mapping[str, Any]) -> tuple[str, str]:
    """Return the templates of an entry about one, and about several: with the placeholder ``{count}``."""
    others = {k: v for k, v in parameters.items() if k != "count"}
    one, several = (_values(others) | _agreement(others, alone) for alone in (True, False))
    template = _NOT_PROTECTED[NotProtectedKind(kind)]
    return fill(template, one | {"count": "1"}), fill(template, several)


# --- why there is no guarantee, metrics and groups

_REASONS = {
    ReasonKind.NO_NOISE: "the option “no noise” is on, so the new text is written from the exact vector of your text.",
    ReasonKind.MISMATCHED_NORMS: "the vector is clipped in one norm and the noise is calibrated to another. In "
    "{dimensions} dimensions, two texts can be √{dimensions} = {factor} times as far apart as assumed, so the nominal "
    "ε = {nominal} is really {real}.",
    ReasonKind.FEW_OUTPUTS: "a word can only become one of its few nearest words, whose number is sampled "
    "independently of ε. So some outputs are practically impossible under one word and likely under another.{paper}",
    ReasonKind.ANTONYM_FILTER: "the antonym filter makes the possible outputs depend on the private word. So some are "
    "possible under one text and impossible under another.",
    ReasonKind.UNFLAGGED_WORDS: "every word that the detector does not flag is released unchanged, and the detector "
    "misses some identifying words.",
    ReasonKind.CUSTOM: "{text}",
}


def _reason(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    values = _values(parameters)
    if kind == ReasonKind.MISMATCHED_NORMS:
        factor, epsilon = parameters["dimensions"] ** 0.5, parameters["epsilon"]
        values |= {"factor": number(factor), "nominal": number(epsilon), "real": number(epsilon * factor)}
    if kind == ReasonKind.FEW_OUTPUTS:
        undefined = " At this ε, the paper's noise scale is not a real number; its real part is used."
        values["paper"] = undefined if parameters["scale_undefined"] else ""
    return _REASONS[ReasonKind(kind)].format_map(values)


def _metric(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    p = parameters
    if kind == MetricKind.CUSTOM:
        return str(p["text"])
    if kind == MetricKind.EUCLIDEAN:
        message = f"Euclidean, in the word space {p['space']}"
    elif kind == MetricKind.MAHALANOBIS:
        message = f"regularised Mahalanobis with λ = {p['lam']:g}, in the word space {p['space']}"
    else:
        several = f", largest over {p['lists']} lists" if p["lists"] > 1 else ""
        message = f"places on the list{several}" + (f": {', '.join(p['names'])}" if p.get("names") else "")
    if p.get("limit") is not None:
        message += f", at most γ = {bound(p['limit'])}"
    if p.get("shortest") is not None:
        message += f", depending on the list's length ({bound(p['shortest'])} on the shortest)"
    return message


_CROWDS = {
    "balanced": "the words with the same set of K = {size} output words",
    "conservative": "the K = {size} words with its outputs",
    "aggressive": "the words with exactly the same K = {size} nearest words, usually only the word itself",
}


def _group(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    if kind == GroupKind.CUSTOM:
        return str(parameters["text"])
    crowd = f"{_CROWDS[parameters['mapping']]} ({{distance}} distance in the word space {{space}})"
    return crowd.format_map(_values(parameters))


# --- all terms

_TERMS: dict[type[StrEnum], Callable[[StrEnum, Mapping[str, Any]], str]] = {
    UnitKind: _unit,
    ConditionKind: _condition,
    NotProtectedKind: _not_protected,
    ReasonKind: _reason,
    MetricKind: _metric,
    GroupKind: _group,
}


def term(kind: StrEnum, parameters: Mapping[str, Any]) -> str:
    """Word one typed value. Raises KeyError for a missing parameter."""
    return _TERMS[type(kind)](kind, parameters)


def _values(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as text: a share as a percentage, a scope in words."""
    out = {}
    for name, value in parameters.items():
        if name == "share":
            out[name] = f"{value:.{parameters.get('digits', 0)}%}"
        elif name == "where":
            out[name] = _SCOPES[Scope(value)]
        elif name == "p":
            out |= {"passed": f"{1 - value:g}", "cost": f"{-math.log(value):.2f}"}
        else:
            out[name] = f"{value:,}" if isinstance(value, int) else str(value)
    return out


# --- the guarantee in plain words


def sentence(g: Guarantee) -> str:
    """Render the guarantee in plain words, with its odds."""
    return fill(" ".join(_template(g, g.draws, g.epsilon)), _texts(g) | numbers(g))


def headline(g: Guarantee) -> str:
    """Render only the first sentence."""
    return fill(_template(g, g.draws, g.epsilon)[0], _texts(g) | numbers(g))


def templates(g: Guarantee) -> dict[str, dict[str, str]]:
    """Return the templates by the number of draws (none, one, many) and the size of the odds (plain, large).

    Open placeholders: ``{odds}``, e^ε; ``{near}`` and ``{largest}``, the odds of the nearest and of the most different
    word; ``{each}``, ε of a draw; ``{draws}``; ``{total}``, ε of all draws.
    """
    sizes = {"plain": 0.0, "large": math.inf}
    return {
        name: {size: fill(" ".join(_template(g, draws, epsilon)), _texts(g)) for size, epsilon in sizes.items()}
        for name, draws in (("none", 0), ("one", 1), ("many", 2))
    }


def _template(g: Guarantee, draws: int, epsilon: float) -> list[str]:
    """Return the sentences of a guarantee, with placeholders for numbers and terms."""
    if g.notion is Notion.NONE:
        return ["There is no privacy guarantee: {reason}"]
    statements = _statement(g, draws, epsilon)
    if g.seeded:
        before = "This is a demonstration, not private: anyone who knows the seed can reproduce the noise."
        return [before, f"Without a seed: {statements[0][0].lower()}{statements[0][1:]}", *statements[1:]]
    return statements


def _statement(g: Guarantee, draws: int, epsilon: float) -> list[str]:
    if draws == 0:
        return [
            "No sampling depended on your words, so this guarantee protects nothing: everyone can read each kept word."
        ]
    most = "At most {draws}" if g.expected is not None or not g.unit.is_word else "{draws}"
    drawn = f"{most} {_count_phrase(g, draws)}"
    total = "together at most ε = {total}"
    if g.notion is Notion.METRIC:
        return [_by_distance(g, epsilon), f"{drawn}, with ε = {{each}} per unit of distance ({{metric}})."]
    large = ["A factor this large hides little."] if epsilon > math.log(LARGE) else []
    if g.notion is Notion.GROUP:
        within = " This compares only texts {among}." if g.among else ""
        hidden = (
            "A word is protected only within its group. Its group: {group}. A released word is at most e^ε times as "
            f"likely under your word as under another one of its group: {{odds}}.{within}"
        )
        return [hidden, *large, f"{drawn} with ε = {{each}} per word, {total}."]
    if g.notion is Notion.APPROX and draws > 1:
        total += " and δ = {total_delta}"
        total = total if g.total_delta < 1 else "together without any guarantee, since their δ add up to 1"
    several = draws > 1 or g.unit.is_word
    per = f" per {g.unit.noun}" if several else ""
    other = "comparable text" if g.among else "other"
    comparable = " Comparable texts are those {among}." if g.among else ""
    plus = ". An additional probability of δ = {delta} is allowed" if g.notion is Notion.APPROX else ""
    first = (
        f"{_subject(g, several)} is at most e^ε times as likely under your text as under any {other}: {{odds}} "
        f"(ε = {{each}}{per}){plus}.{comparable}"
    )
    return [first, *large, *([f"{drawn}, {total}."] if several else [])]


def _count_phrase(g: Guarantee, draws: int) -> str:
    one, verb = ("draw", "made") if g.unit.is_custom else (g.unit.noun, "sampled")
    return f"{one} is {verb}" if draws == 1 else f"{one}s are {verb}"


def _subject(g: Guarantee, several: bool) -> str:
    """Return the subject of the odds."""
    if g.unit.is_custom:
        return "What one draw releases" if several else "What is released"
    return f"A released {g.unit.noun}" if several else f"The released {g.unit.noun}"


def _by_distance(g: Guarantee, epsilon: float) -> str:
    within = " This compares only texts {among}." if g.among else ""
    examples = [
        phrase
        for phrase, d in (
            ("typically {near} for the nearest word", g.near),
            ("{largest} for the most different word", g.largest),
        )
        if d is not None
    ]
    odds = f" That is {', and '.join(examples)}." if examples else ""
    subject = "Similar words are harder to distinguish than different ones."
    if g.near is not None and epsilon * g.near > math.log(LARGE):
        subject = "At this ε, even similar words can be easy to distinguish."
    return (
        f"{subject} A released word is at most e^(ε·distance) times as likely under your word as under "
        f"another.{odds}{within}"
    )


def _texts(g: Guarantee) -> dict[str, str]:
    return {"reason": g.reason, "metric": g.metric, "group": g.group, "among": g.among}


def numbers(g: Guarantee) -> dict[str, str]:
    """Return the values of the number placeholders."""
    if g.notion is Notion.NONE:
        return {}
    out = {"each": g.each(), "draws": f"{g.draws:,}", "total": bound(g.total), "odds": odds_text(g.epsilon)}
    out |= {"delta": scientific(g.delta), "total_delta": scientific(g.total_delta)}
    apart = {"near": g.near, "largest": g.largest}
    out |= {name: odds_text(g.epsilon * d) for name, d in apart.items() if d is not None}
    if g.near is not None and g.largest is not None and g.epsilon * g.near > math.log(MOST_ODDS):
        out["largest"] = "even more"
    return out


# --- the guarantee as papers state it


def lines(g: Guarantee) -> tuple[str, ...]:
    """Render the formal statement, one short sentence per line."""
    if g.notion is Notion.NONE:
        return (f"No finite ε: {g.reason}",)
    delta = f", δ = {scientific(g.delta)}" if g.delta else ""
    unit = f"{g.unit} and unit of distance ({g.metric})" if g.notion is Notion.METRIC else str(g.unit)
    if g.notion is Notion.GROUP:
        unit += f" within {g.group}"
    if g.among:
        unit += f", between texts {g.among}"
    out = [
        f"{NOTIONS[g.notion].capitalize()}, ε = {g.each()}{delta} per {unit}.",
        f"Neighbours: {g.adjacency}.",
        f"Texts: at most {LARGEST:,} characters; longer ones are refused. Invisible characters are removed before a "
        "text is read.",
        _composition(g),
    ]
    out += [stand_ins_note(e.parameters["count"]) for e in g.exposed if e.kind is NotProtectedKind.FLAGGED_PLACES]
    if g.expected is not None:
        out.append(f"Expected total: {number(g.expected)}; an expectation is not a guarantee.")
    if closer := zcdp_sentence(g):
        out.append(closer)
    if g.loaded:
        out.append(
            f"The program's blocklist: {g.loaded:,} offensive words are removed before anything is sampled. The list "
            "is the same for every text, so ε is unchanged."
        )
    if g.never:
        out.append(f"Your blocklist: {blocklist_note(g.never)}")
    if g.seeded:
        out.append("Seeded: this guarantee is void for anyone who knows the seed.")
    return tuple(out)


def _composition(g: Guarantee) -> str:
    most, worst = ("at most ", " in the worst case") if g.expected is not None else ("", "")
    total = f"total ε = {bound(g.total)}"
    if g.delta:
        total += f", δ = {scientific(g.total_delta)}"
        total = total if g.total_delta < 1 else "no finite ε, since δ adds up to 1"
    if g.notion is Notion.METRIC:
        worst += " if each word moves by one unit (in general, the sum of ε × distance over the words)"
    return f"Sequential composition of {most}{pluralize(g.draws, 'draw')}: {total}{worst}."


def stand_ins_note(n: int) -> str:
    """Explain what the guarantee is for flagged words."""
    words, are, they = ("word", "is", "it is") if n == 1 else ("words", "are", "they are")
    return (
        f"Stand-ins: {n:,} flagged {words} {are} replaced at random, independently of what {they}. Between texts with "
        "the same flags, the distribution of the release does not depend on the flagged words (ε = 0)."
    )


def zcdp_sentence(g: Guarantee, delta: float = DELTA) -> str:
    """Render the second statement, by optimal composition; empty if it is not smaller than the total."""
    optimal, closer = g.optimal(delta), g.zcdp(delta)
    if optimal is None:
        return ""
    message = f"Also approximate DP by optimal composition, with δ = {scientific(delta)}: ε = {bound(optimal)} in total"
    return f"{message} ({bound(closer)} by zCDP composition)." if closer is not None else f"{message}."


def allowlist_note(n: int) -> str:
    """Explain what an allowlist of n words does to a guarantee."""
    what, it, them = ("is", "it", "it") if n == 1 else ("are", "they", "them")
    return f"{pluralize(n, 'word')} {what} copied wherever {it} {what} in a text. Nothing protects {them}."


def blocklist_note(n: int) -> str:
    """Explain what a blocklist of n words does to a guarantee."""
    return (
        f"{pluralize(n, 'word')} {'is' if n == 1 else 'are'} excluded from the possible outputs before anything is "
        "sampled. Another form of a word, such as its plural, counts as another word. ε is unchanged as long as the "
        "list is public and was made without looking at the text."
    )
