"""A mechanism as a step of a scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..mechanisms.registry import DEFAULT_MECHANISM, get_mechanism
from ..support import extras
from ..support.checks import text_list

if TYPE_CHECKING or extras.is_installed("sklearn"):
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
else:  # the name can be imported, and its use names the extra
    BaseEstimator, TransformerMixin = (type(name, (), {}) for name in ("BaseEstimator", "TransformerMixin"))

if TYPE_CHECKING:
    from sklearn.utils import Tags


class DPRewriter(TransformerMixin, BaseEstimator):
    """Rewrite each text independently, before the next steps of a pipeline.

    Nothing is learned from texts or labels, so the guarantee of a text does not depend on other texts. Every call of
    ``transform`` uses fresh noise, and the guarantees of two rewrites of one text add up. So rewrite once, and keep the
    result. ``mechanism_.guarantee(text)`` returns the guarantee of a text, and ``dptext_core.rewrite_records`` yields
    guarantees with the rewrites.

    Parameters
    ----------
    mechanism : str
        One of ``dptext_core.mechanisms()``.
    epsilon : float, optional
        ε of one draw; without it the mechanism's own default.
    options : mapping, optional
        The mechanism's other options.
    seed : int, optional
        Makes rewrites repeatable, and not private.

    Attributes
    ----------
    mechanism_ : Mechanism
        After ``fit``.

    Examples
    --------
    ::

        make_pipeline(dpt.DPRewriter("custext", epsilon=8), TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    """

    def __init__(
        self,
        mechanism: str = DEFAULT_MECHANISM,
        epsilon: float | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        extras.require("sklearn")
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.options = options
        self.seed = seed

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Check the options. Texts and labels are ignored. Raises ConfigError."""
        given = dict(self.options or {}) | ({} if self.epsilon is None else {"epsilon": self.epsilon})
        self.mechanism_ = get_mechanism(self.mechanism, **given)
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.object_]:
        """Return the rewritten texts.

        Parameters
        ----------
        X : iterable of str, length n

        Returns
        -------
        ndarray of str objects, shape (n,)

        Raises
        ------
        InputError
            X is one text or a table, or contains other values than texts.
        """
        check_is_fitted(self, "mechanism_")
        texts = text_list(X)
        out = np.empty(len(texts), dtype=object)
        out[:] = [r.text for r in self.mechanism_.rewrite(texts, seed=self.seed)]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the name of the only column, the text."""
        return np.array(["text"], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit, tags.no_validation = True, True
        tags.non_deterministic = self.seed is None
        return tags
