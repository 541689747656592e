"""Attackers that read a rewritten text, each with the baseline of guessing without it.

* ``bayes``: the posterior over the original word, and the success of the Bayes-optimal guess;
* ``reader``: the same with the context, for all places of a text together;
* ``risk``: how often the Bayes-optimal guess recovers each word of a text, before sampling;
* ``query``: how many answers would reveal a word;
* ``nearest``: the released word, or its nearest neighbour, as the guess;
* ``mask_inference``: a language model guesses from the context;
* ``likely_text``: a larger one chooses the guess that makes the text most likely;
* ``which_text``: the posterior over whole originals, from a list of possible texts;
* ``two_texts``: how well classifiers distinguish two texts by their rewrites, and the ε that this proves;
* ``best``: the strongest attacker on single words, and its success;
* ``corpus``: many rewritten texts together: linking rewrites to originals, and the strongest attacker on their words;
* ``polish``: post-processing of a release into fluent text;
* ``classifier``: guessing the author by a static and an adaptive classifier (in the benchmark);
* ``authors``: guessing the author of several releases that a classifier reads together.

``base`` defines the interface of attackers, and contains the registry.

Their results are computed from the private text itself, so they are for its owner alone.
"""

# In display order.
from . import bayes, query, reader, nearest, mask_inference, likely_text, which_text, two_texts, best, corpus  # isort: skip
from . import authors, classifier, polish, risk
from .authors import AuthorAttack, attack_authors
from .base import (
    Attacker,
    AttackFinding,
    DataAttacker,
    TextAttacker,
    attackers,
    check_sampled,
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
    "check_sampled",
    "classifier",
    "corpus",
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
