"""Differentially private text rewriting: mechanisms, their distributions, their guarantees.

::

    import dptext_core as dpt

    m = dpt.get_mechanism("dp-mlm", epsilon=50)
    r = m.rewrite("My doctor in Lisbon changed the dose.")
    print(r.text, r.guarantee.sentence(), sep="\\n")

Importing this package loads no model and no torch; heavy parts load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import errors
from .errors import Busy, Cancelled, ConfigError, DPTextError, InputError, ModelUnavailable, NoDistribution
from .measure import metrics
from .mechanisms.base import Mechanism
from .mechanisms.config import epsilon_option, option
from .mechanisms.configured import MechanismSpec
from .mechanisms.option_meta import OptionMeta
from .mechanisms.preparing import Prepared
from .mechanisms.registering import register, unregister
from .mechanisms.registry import get_mechanism, mechanism_class, mechanisms
from .mechanisms.setting import Setting
from .privacy.distribution import MAX_EPSILON, Channel, ScoreTable, TokenDistribution
from .privacy.guarantee import Guarantee
from .privacy.sampling import NoiseStream
from .result import Release, RewriteResult, Step, Sweep, Trace
from .support.task import Task
from .support.version import __version__ as __version__
from .text.document import Document, Token
from .text.language import Language
from .text.languages import ENGLISH

if TYPE_CHECKING:
    from . import attacks, testing
    from .attacks.belief import Belief, BeliefQuestion, belief
    from .attacks.trade_off_curve import TradeOffCurve, trade_off_curve
    from .auditing import AuditReport, audit
    from .data.components import register_classifier, register_data_set
    from .data.libraries import BatchRewriter
    from .data.records import Record, rewrite_records
    from .data.transformer import DPRewriter
    from .measure.calibration import Calibration, calibrate, equal_privacy
    from .measure.ledger import Ledger
    from .measure.scored import Scores, score
    from .measure.trade_off import tradeoff
    from .words import WordSpace, antonyms, stop_words, word_list, word_lists, word_space, word_spaces

_LAZY = {
    "AuditReport": "auditing",
    "Belief": "attacks.belief",
    "BeliefQuestion": "attacks.belief",
    "BatchRewriter": "data.libraries",
    "Calibration": "measure.calibration",
    "DPRewriter": "data.transformer",
    "Ledger": "measure.ledger",
    "Record": "data.records",
    "audit": "auditing",
    "belief": "attacks.belief",
    "calibrate": "measure.calibration",
    "equal_privacy": "measure.calibration",
    "register_classifier": "data.components",
    "register_data_set": "data.components",
    "rewrite_records": "data.records",
    "Scores": "measure.scored",
    "score": "measure.scored",
    "TradeOffCurve": "attacks.trade_off_curve",
    "trade_off_curve": "attacks.trade_off_curve",
    "tradeoff": "measure.trade_off",
    "WordSpace": "words",
    "antonyms": "words",
    "stop_words": "words",
    "word_list": "words",
    "word_lists": "words",
    "word_space": "words",
    "word_spaces": "words",
}
#: Packages that are available as attributes.
_PACKAGES = ("attacks", "testing")

__all__ = [
    "ENGLISH",
    "MAX_EPSILON",
    "AuditReport",
    "BatchRewriter",
    "Belief",
    "BeliefQuestion",
    "Busy",
    "Calibration",
    "Cancelled",
    "Channel",
    "ConfigError",
    "DPRewriter",
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
    "OptionMeta",
    "Prepared",
    "Record",
    "Release",
    "RewriteResult",
    "ScoreTable",
    "Scores",
    "Setting",
    "Step",
    "Sweep",
    "Task",
    "Token",
    "TokenDistribution",
    "Trace",
    "TradeOffCurve",
    "WordSpace",
    "antonyms",
    "attacks",
    "audit",
    "belief",
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
    "score",
    "stop_words",
    "testing",
    "trade_off_curve",
    "tradeoff",
    "unregister",
    "word_list",
    "word_lists",
    "word_space",
    "word_spaces",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str):
        if name in _LAZY:
            return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
        if name in _PACKAGES:
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
