"""Attackers that look at a rewritten text, each with the chance of guessing without it.

* ``bayes``: the posterior over what a word was, and the success of the best guess;
* ``risk``: how often that best guess names each word of a text, before it is drawn;
* ``query``: how many answers would give a word away;
* ``nearest``: the released word, or its nearest neighbour, as the guess;
* ``mask_inference``: a language model guesses from the words around;
* ``likely_text``: a larger one says which of these guesses makes the likeliest text;
* ``which_text``: the posterior over whole originals, from a list of texts that it could have been;
* ``classifier``: who wrote it, by a static and an adaptive classifier (in the benchmark).

``base`` says what an attacker is, and holds the registry.

What they say of a text comes from the private text itself: for its owner's eyes.
"""

# In the order in which they are shown.
from . import bayes, query, nearest, mask_inference, likely_text, which_text, classifier, risk  # isort: skip
from .base import (
    Attacker,
    DataAttacker,
    Finding,
    TextAttacker,
    attackers,
    drawn_by_looking,
    get_attacker,
    register,
    unregister,
)
from .bayes import Posterior, Success, expected_success, posterior, simulated_success
from .mask_inference import MaskInference
from .nearest import NearestAttack
from .prior import Prior, public_prior
from .query import QueryCurve, QueryNumber, query_curve, query_number
from .risk import WordSuccess, word_success
from .which_text import Lineup, WhichText

__all__ = [
    "Attacker",
    "DataAttacker",
    "Finding",
    "Lineup",
    "MaskInference",
    "NearestAttack",
    "Posterior",
    "Prior",
    "QueryCurve",
    "QueryNumber",
    "Success",
    "TextAttacker",
    "WhichText",
    "WordSuccess",
    "attackers",
    "bayes",
    "classifier",
    "drawn_by_looking",
    "expected_success",
    "get_attacker",
    "likely_text",
    "mask_inference",
    "nearest",
    "posterior",
    "public_prior",
    "query",
    "query_curve",
    "query_number",
    "register",
    "risk",
    "simulated_success",
    "unregister",
    "which_text",
    "word_success",
]
