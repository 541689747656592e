"""Audit: what a mechanism promises against what can be measured of it.

The audit sees what every user sees (``m.guarantee``, ``m.audit_support``, ``m.distribution``, ``m.rewrite``,
``m.rewrites``), so that it finds a mistake inside a mechanism as it finds one in its promise. It is a list of looks
(``checks``), each of which comes to a typed check, and the verdict follows from the checks alone: refuted where one is,
inconclusive where one that is needed could not be made, else it holds on what was tried. First of all:

* texts (``text_integrity``): released texts are what their pieces and their skeletons say, byte for byte;
* metadata (``metadata_leakage``): metadata of a text is the same for texts that the promise makes alike.

Then:

* proven (``exact``): of closed forms the largest log-ratio over all pairs of inputs that the promise makes alike and
  over all outputs, from float64 log-probabilities; exact for the inputs given, in the metric that the guarantee names
  (``distance``). Over contexts of a language model it is a lower bound on the worst case. What is stated to be
  possible must lie within the depth of the sampler;
* stated (``guarantee_fields``): every field of the guarantee, recomputed from stated distributions or from rewrites;
* tested (``goodness_of_fit``): rewrites of whole texts, in every way in which they can be had, against what is stated.

Noise without a closed form has no proven part: its loss is bounded from rewrites (``sampled``), with the stated
confidence. Per unit of distance where the promise is metric. An output that is possible under one input and impossible
under the other is an infinite loss. Rounding: a loss counts as above the claim from 1e-9 of it on (and 1e-9
absolutely).
"""

from .goodness_of_fit import SAMPLER_LEVEL
from .inputs import MAX_INPUTS, NOISY_WORDS, TEXTS, WORDS, default_inputs, default_words
from .report import LINES, AuditReport, Check, Witness, format_share
from .verdict import audit

__all__ = [
    "LINES",
    "MAX_INPUTS",
    "NOISY_WORDS",
    "SAMPLER_LEVEL",
    "TEXTS",
    "WORDS",
    "AuditReport",
    "Check",
    "Witness",
    "audit",
    "default_inputs",
    "default_words",
    "format_share",
]
