"""A mechanism in a pipeline of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from studio.test_batch import block

import dptext_core as dpt

TEXTS = ["The doctor was good.", "My friend has pain.", "A good letter.", "Bad pain at home."] * 3
LABELS = [1, 0, 1, 0] * 3


#: What scikit-learn asks of every estimator that it asks without a table of numbers: those, it leaves out for texts.
ASKED = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)


@pytest.mark.parametrize("check", ASKED)
def test_scikit_learn_takes_it_as_an_estimator(check):
    getattr(estimator_checks, check)("DPRewriter", dpt.DPRewriter("custext", epsilon=8.0))


def test_it_rewrites_as_the_mechanism_does_and_learns_nothing():
    step = dpt.DPRewriter("custext", epsilon=8.0, options={"oov": "drop"}, seed=3)
    m = dpt.get_mechanism("custext", epsilon=8.0, oov="drop")
    wanted = [r.text for r in m.rewrite(TEXTS, seed=3)]
    for texts in (TEXTS, np.array(TEXTS), (t for t in TEXTS)):
        out = step.fit(["other"], [5]).transform(texts)
        assert out.dtype == object and out.shape == (12,) and list(out) == wanted
    assert step.mechanism_.setting == m.setting
    free = dpt.DPRewriter("custext", epsilon=2.0).fit(TEXTS)
    assert list(free.transform(TEXTS)) != list(free.transform(TEXTS)), "every call draws anew"
    assert dpt.DPRewriter("custext").fit([]).transform([]).shape == (0,)
    assert list(dpt.DPRewriter().get_feature_names_out()) == ["text"]


def test_it_stands_in_a_pipeline_and_in_a_search_over_epsilon():
    pipe = make_pipeline(dpt.DPRewriter("custext", seed=1), TfidfVectorizer(), LogisticRegression())
    search = GridSearchCV(pipe, {"dprewriter__epsilon": [1.0, 20.0]}, cv=2, error_score="raise").fit(TEXTS, LABELS)
    assert set(search.cv_results_["param_dprewriter__epsilon"]) == {1.0, 20.0}
    assert search.predict(TEXTS).shape == (12,)
    assert clone(pipe.steps[0][1]).get_params() == {"mechanism": "custext", "epsilon": None, "options": None, "seed": 1}


def test_what_is_wrong_is_said_in_a_sentence():
    with pytest.raises(NotFittedError):
        dpt.DPRewriter("custext").transform(TEXTS)
    with pytest.raises(dpt.ConfigError, match="Unknown mechanism"):
        dpt.DPRewriter("none").fit(TEXTS)
    with pytest.raises(dpt.ConfigError, match="epsilon"):
        dpt.DPRewriter("custext", epsilon=-1).fit(TEXTS)
    step = dpt.DPRewriter("custext").fit(TEXTS)
    for wrong in ("one text", 3, None):
        with pytest.raises(dpt.InputError, match="list of texts"):
            step.transform(wrong)
    with pytest.raises(dpt.InputError, match="text"):
        step.transform([["a"], ["b"]])


def test_the_python_of_the_document_runs(capsys):
    exec(compile(block("sklearn"), "sklearn", "exec"), {})
    assert capsys.readouterr().out.strip() in ("[0]", "[1]")
