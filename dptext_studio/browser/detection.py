"""Detectors and stand-ins as data for the browser edition."""

from __future__ import annotations

import json
from typing import Any

from dptext_core.detectors import detector, rules
from dptext_core.mechanisms.detected import flags, stand_ins
from dptext_core.mechanisms.detected.hybrid import ALLOWED
from dptext_core.mechanisms.detected.redact import PLACEHOLDERS
from dptext_core.mechanisms.detected.replacing import UNFLAGGED
from dptext_core.pieces import FLAGGED
from dptext_core.text.language import Language

from .patterns import javascript

#: The detectors that need no model.
DETECTORS = ("rules", "words")


def detection_data(language: Language) -> dict[str, Any]:
    """Return the patterns of the rules and of the stand-ins for JavaScript, with the numbers that stand-ins are made
    from.

    context: for each detector, whether a flag depends on other words.
    """
    shapes = {"date_shape": stand_ins.DATE_SHAPE, "time_shape": stand_ins.TIME_SHAPE}
    patterns = {**rules.patterns(language), "unit": flags.UNIT} | shapes
    return {
        "patterns": {name: javascript(pattern) for name, pattern in patterns.items()},
        "context": {name: detector(name).reads_context for name in DETECTORS},
        "placeholders": PLACEHOLDERS,
        "reasons": {"flagged": FLAGGED, "unflagged": UNFLAGGED, "allowed": ALLOWED},
        "ages": [stand_ins.AGES.start, stand_ins.AGES.stop],
        "years": [stand_ins.YEARS.start, stand_ins.YEARS.stop],
        "many": stand_ins.MANY,
    }


def stand_in_lists(language: Language) -> bytes:
    """Return the public stand-ins of each form that is not a shape, as JSON."""
    lists = {form: stand_ins.candidates(form, language) for form in flags.FORMS}
    return json.dumps(lists, ensure_ascii=False, separators=(",", ":")).encode()
