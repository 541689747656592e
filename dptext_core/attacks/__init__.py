"""Attackers that look at a rewritten text, each with the chance of guessing without it.

* ``bayes``: the posterior over what a word was, and the success of the best guess;
* ``query``: how many answers would give a word away;
* ``nearest``: the released word, or its nearest neighbour, as the guess;
* ``mask_inference``: a language model guesses from the words around.

What they say of a text comes from the private text itself: for its owner's eyes.
"""

from . import bayes, mask_inference, nearest, query
from .bayes import Posterior, Success, expected_success, posterior, simulated_success
from .mask_inference import MaskInference
from .nearest import NearestAttack
from .prior import Prior, public_prior
from .query import QueryCurve, QueryNumber, query_curve, query_number

__all__ = [
    "MaskInference",
    "NearestAttack",
    "Posterior",
    "Prior",
    "QueryCurve",
    "QueryNumber",
    "Success",
    "bayes",
    "expected_success",
    "mask_inference",
    "nearest",
    "posterior",
    "public_prior",
    "query",
    "query_curve",
    "query_number",
    "simulated_success",
]
