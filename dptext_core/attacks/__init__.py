"""Attackers that look at a rewritten text, each with the chance of guessing without it.

* ``bayes``: the posterior over what a word was, and the success of the best guess;
* ``reader``: the same with the words around it, all places of a text together;
* ``risk``: how often that best guess names each word of a text, before it is drawn;
* ``query``: how many answers would give a word away;
* ``nearest``: the released word, or its nearest neighbour, as the guess;
* ``mask_inference``: a language model guesses from the words around;
* ``likely_text``: a larger one says which of these guesses makes the likeliest text;
* ``which_text``: the posterior over whole originals, from a list of texts that it could have been;
* ``two_texts``: how well classifiers tell two texts apart by their rewrites, and the ε that this proves;
* ``best``: which of those on single words finds most, and how much;
* ``corpus``: many rewritten texts together: which rewrite is of which, and the best of all on their words;
* ``polish``: what the reader reads as a text, for whoever releases it;
* ``classifier``: who wrote it, by a static and an adaptive classifier (in the benchmark);
* ``authors``: who wrote a user's releases, by a classifier that reads several of them together.

``base`` says what an attacker is, and holds the registry.

What they say of a text comes from the private text itself: for its owner's eyes.
"""

# In the order in which they are shown.
from . import bayes, query, reader, nearest, mask_inference, likely_text, which_text, two_texts, best, corpus  # isort: skip
from . import authors, classifier, polish, risk
from .authors import AuthorAttack, attack_authors
from .base import (
    Attacker,
    AttackFinding,
    DataAttacker,
    TextAttacker,
    attackers,
    drawn_by_looking,
    get_attacker,
    register,
    unregister,
)
from .bayes import Posterior, Success, expected_success, posterior, simulated_success
from .best import StrongestAttack
from .corpus import CorpusAttacker, LinkageResult
from .mask_inference import MaskInference
from .nearest import NearestAttack
from .prior import Prior, public_prior
from .query import QueryCurve, QueryNumber, query_curve, query_number
from .reader import ReleaseReading, WordReading, read_releases
from .risk import WordSuccess, word_success
from .several_releases import SeveralReleases, certified_ceiling, several_releases
from .two_texts import DistinguishabilityFinding
from .which_text import Lineup, WhichText

__all__ = [
    "AttackFinding",
    "Attacker",
    "AuthorAttack",
    "CorpusAttacker",
    "DataAttacker",
    "DistinguishabilityFinding",
    "Lineup",
    "LinkageResult",
    "MaskInference",
    "NearestAttack",
    "Posterior",
    "Prior",
    "QueryCurve",
    "QueryNumber",
    "ReleaseReading",
    "SeveralReleases",
    "StrongestAttack",
    "Success",
    "TextAttacker",
    "WhichText",
    "WordReading",
    "WordSuccess",
    "attack_authors",
    "attackers",
    "authors",
    "bayes",
    "best",
    "certified_ceiling",
    "classifier",
    "corpus",
    "drawn_by_looking",
    "expected_success",
    "get_attacker",
    "likely_text",
    "mask_inference",
    "nearest",
    "polish",
    "posterior",
    "public_prior",
    "query",
    "query_curve",
    "query_number",
    "read_releases",
    "reader",
    "register",
    "risk",
    "several_releases",
    "simulated_success",
    "two_texts",
    "unregister",
    "which_text",
    "word_success",
]
