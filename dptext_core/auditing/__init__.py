"""Audits: compare the guarantee of a mechanism with measurements.

An audit uses only what every user can call (``m.guarantee``, ``m.audit_support``, ``m.distribution``, ``m.rewrite``,
``m.rewrites``). So it finds errors inside a mechanism and errors in its guarantee alike. It is a list of checks
(``checks``) with typed results, and the verdict follows from these alone. It is refuted if any check is, inconclusive
if a necessary check was impossible, and otherwise holds for the inputs tried. The first checks are:

* texts (``text_integrity``): released texts match their parts and skeletons, byte for byte;
* metadata (``metadata_leakage``): the metadata is the same for texts that the guarantee compares.

Then:

* proven (``exact``): for closed forms, the largest log-ratio over all compared pairs of inputs and all outputs, from
  float64 log-probabilities. It is exact for the given inputs, in the metric of the guarantee (``distance``). Over
  contexts of a language model it is a lower bound on the worst case. Possible outputs must be within the sampler's
  depth;
* stated (``guarantee_fields``): every field of the guarantee, recomputed from stated distributions or from rewrites;
* tested (``goodness_of_fit``): rewrites of whole texts, through every entry point, against the stated distributions.

Noise without a closed form has no proven part: its loss is bounded from rewrites (``sampled``), with the stated
confidence. Losses are per unit of distance if the guarantee is metric. An output that is possible under one input and
impossible under the other is an infinite loss. Rounding: a loss exceeds the claim if it is larger by 1e-9, both
relatively and absolutely.
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
