"""The kinds of all values in a guarantee. Code compares these; only ``sentences`` words them."""

from __future__ import annotations

from enum import StrEnum


class Notion(StrEnum):
    """The kind of privacy that is guaranteed."""

    PURE = "pure"
    METRIC = "metric"
    GROUP = "group"
    APPROX = "approx"
    NONE = "none"

    def __repr__(self) -> str:
        return repr(str(self))  # as messages show it


class UnitKind(StrEnum):
    """What one draw protects."""

    RELEASED_WORD = "released-word"
    DISTINCT_WORD = "distinct-word"
    RELEASED_TOKEN = "released-token"
    RELEASED_SENTENCE = "released-sentence"
    RELEASED_TEXT = "released-text"
    CUSTOM = "custom"


class ConditionKind(StrEnum):
    """What two texts must share for a guarantee to compare them."""

    TOKEN_COUNT = "token-count"
    KEPT_TOKENS = "kept-tokens"
    UNKNOWN_WORDS = "unknown-words"
    BLOCKLISTED_WORDS = "blocklisted-words"
    SPACING = "spacing"
    CAPITALS = "capitals"
    SENTENCE_COUNT = "sentence-count"
    WORD_AND_MARK_COUNT = "word-and-mark-count"
    SKELETON = "skeleton"
    RELEASED_BEFORE = "released-before"
    SAME_GROUP = "same-group"
    SENSITIVE_WORDS = "sensitive-words"
    REPETITIONS = "repetitions"
    SAME_FLAGS = "same-flags"
    CUSTOM = "custom"


class NotProtectedKind(StrEnum):
    """What a release reveals that its guarantee does not cover."""

    KEPT_TOKENS = "kept-tokens"
    UNKNOWN_REPLACED = "unknown-replaced"
    UNKNOWN_MASKED = "unknown-masked"
    UNKNOWN_DROPPED = "unknown-dropped"
    BLOCKLISTED_REPLACED = "blocklisted-replaced"
    TOKEN_COUNT = "token-count"
    EDITED_TOKEN_COUNT = "edited-token-count"
    NAMES_AMONG_STOP_WORDS = "names-among-stop-words"
    SPACING = "spacing"
    CAPITALS = "capitals"
    EPSILON_LIST = "epsilon-list"
    BLOCKLIST = "blocklist"
    ALLOWLIST = "allowlist"
    WORD_GROUP = "word-group"
    ALONE_IN_GROUP = "alone-in-group"
    REPETITIONS = "repetitions"
    COMMON_WORDS = "common-words"
    WORD_PIECE_LIMITS = "word-piece-limits"
    TOKEN_LIMITS = "token-limits"
    TRAINING_TEXTS = "training-texts"
    SENTENCE_SLOTS = "sentence-slots"
    SENTENCE_COUNT = "sentence-count"
    TOKEN_LIMIT = "token-limit"
    WORD_AND_MARK_COUNT = "word-and-mark-count"
    UNFLAGGED_WORDS = "unflagged-words"
    FLAGGED_PLACES = "flagged-places"
    FLAGGED_SHAPES = "flagged-shapes"
    MISSED_WORDS = "missed-words"
    FLAGS_IN_CONTEXT = "flags-in-context"
    SEED = "seed"
    CUSTOM = "custom"


class ReasonKind(StrEnum):
    """Why there is no guarantee."""

    NO_NOISE = "no-noise"
    MISMATCHED_NORMS = "mismatched-norms"
    FEW_OUTPUTS = "few-outputs"
    ANTONYM_FILTER = "antonym-filter"
    UNFLAGGED_WORDS = "unflagged-words"
    CUSTOM = "custom"


class MetricKind(StrEnum):
    """The distance that ε refers to."""

    EUCLIDEAN = "euclidean"
    MAHALANOBIS = "mahalanobis"
    LIST_PLACES = "list-places"
    CUSTOM = "custom"


class GroupKind(StrEnum):
    """The words that a word is hidden among."""

    SHARED_SET = "shared-set"
    CUSTOM = "custom"


class Scope(StrEnum):
    """Where equal words share one draw."""

    TEXT = "text"
    ALL_TEXTS = "all-texts"
