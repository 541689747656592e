"""Differentially private text rewriting: mechanisms, their distributions, their guarantees.

::

    import dptext_core as dpt

    m = dpt.get_mechanism("dp-mlm", epsilon=50)
    r = m.rewrite("My doctor in Lisbon changed the dose.")
    print(r.text, r.guarantee.sentence(), sep="\\n")

Importing this package loads no model and no torch; what is heavy loads on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import errors, metrics
from .distribution import MAX_EPSILON, Channel, ScoreTable, TokenDistribution
from .document import Document, Token
from .errors import (
    Busy,
    Cancelled,
    ConfigError,
    DPTextError,
    InputError,
    ModelUnavailable,
    NoDistribution,
)
from .guarantee import Guarantee
from .language import Language
from .languages import ENGLISH
from .mechanisms.base import Mechanism, MechanismSpec, Prepared
from .mechanisms.config import epsilon_option, option
from .mechanisms.registry import get_mechanism, mechanism_class, mechanisms, register, unregister
from .result import Release, RewriteResult, Step, Sweep, Trace
from .sampling import NoiseStream

if TYPE_CHECKING:
    from .auditing import AuditReport, audit
    from .calibration import Calibration, calibrate, equal_privacy
    from .experiments.components import register_classifier, register_data_set
    from .ledger import Ledger
    from .records import Record, rewrite_records
    from .trade_off import tradeoff
    from .words import WordSpace, antonyms, stop_words, word_list, word_lists, word_space, word_spaces

__version__ = "0.1.0"

_LAZY = {
    "AuditReport": "auditing",
    "Calibration": "calibration",
    "Ledger": "ledger",
    "Record": "records",
    "audit": "auditing",
    "calibrate": "calibration",
    "equal_privacy": "calibration",
    "register_classifier": "experiments.components",
    "register_data_set": "experiments.components",
    "rewrite_records": "records",
    "tradeoff": "trade_off",
    "WordSpace": "words",
    "antonyms": "words",
    "stop_words": "words",
    "word_list": "words",
    "word_lists": "words",
    "word_space": "words",
    "word_spaces": "words",
}

__all__ = [
    "ENGLISH",
    "MAX_EPSILON",
    "AuditReport",
    "Busy",
    "Calibration",
    "Cancelled",
    "Channel",
    "ConfigError",
    "DPTextError",
    "Document",
    "Guarantee",
    "InputError",
    "Language",
    "Ledger",
    "Mechanism",
    "MechanismSpec",
    "ModelUnavailable",
    "NoDistribution",
    "NoiseStream",
    "Prepared",
    "Record",
    "Release",
    "RewriteResult",
    "ScoreTable",
    "Step",
    "Sweep",
    "Token",
    "TokenDistribution",
    "Trace",
    "WordSpace",
    "antonyms",
    "audit",
    "calibrate",
    "epsilon_option",
    "equal_privacy",
    "errors",
    "get_mechanism",
    "mechanism_class",
    "mechanisms",
    "metrics",
    "option",
    "register",
    "register_classifier",
    "register_data_set",
    "rewrite_records",
    "stop_words",
    "tradeoff",
    "unregister",
    "word_list",
    "word_lists",
    "word_space",
    "word_spaces",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
