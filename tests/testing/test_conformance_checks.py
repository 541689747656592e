"""What the checks for anybody's mechanism find: each finds a mechanism that breaks just that."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path

import pytest

import dptext_core as dpt
from dptext_core.testing import CHECKS, check_mechanism

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example(name: str) -> type[dpt.Mechanism]:
    """The class of a documented plugin, which registers itself."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return dpt.mechanism_class(name.replace("_", "-"))


@pytest.fixture
def sound():
    """Randomised response as documented, not registered."""
    cls = example("randomised_response")
    dpt.unregister(cls.name)
    return cls


SMALL = {"size": 300}


def test_a_sound_mechanism_passes_and_is_registered_no_longer_than_that(sound):
    told = []
    check_mechanism(sound, task=dpt.Task(lambda done, of: told.append(done / of)), **SMALL)
    assert told[-1] == 1 and told == sorted(told)
    assert sound.name not in {s.name for s in dpt.mechanisms()}
    dpt.register(sound)
    try:
        check_mechanism(sound, only="the_spec_is_complete")
        check_mechanism(sound.name, only="the_spec_is_complete")
        assert dpt.mechanism_class(sound.name) is sound, "what was registered before stays so"
    finally:
        dpt.unregister(sound.name)


def test_one_that_takes_only_small_epsilons_passes(sound):
    """Where scores lie far apart, as distances do, the largest ε is a small one."""

    class Narrow(sound):
        name = "narrow"

        def channel(self, row):
            found = super().channel(row)
            return dataclasses.replace(found, scores=200 * found.scores)

        @property
        def max_epsilon(self):
            return super().max_epsilon / 200

    for check in ("possible_words_can_be_sampled", "a_sweep_is_the_same_rewrite_at_each_epsilon"):
        check_mechanism(Narrow, only=check, epsilon=0.1, **SMALL)
    check_mechanism(Narrow, only="a_prepared_text_replaces_its_text", epsilon=0.1, **SMALL)

    class Deep(Narrow):
        max_epsilon = sound.max_epsilon

    with pytest.raises(AssertionError, match="too small: reduce max_epsilon"):
        check_mechanism(Deep, only="possible_words_can_be_sampled", epsilon=0.1, **SMALL)


def test_one_that_writes_only_a_few_different_texts_passes():
    """The documented plugin that replaces no word."""
    cls = example("keywords")
    try:
        check_mechanism(cls)
    finally:
        dpt.unregister(cls.name)


def broken(cls: type[dpt.Mechanism], check: str) -> type[dpt.Mechanism]:
    """A twin of the sound mechanism that breaks what the check holds."""

    class Broken(cls):
        name = "broken"

    def changed(make):
        """Every rewrite's result, changed."""

        def rewrite_prepared(self, prepared, stream, task):
            return make(self, cls.rewrite_prepared(self, prepared, stream, task))

        Broken.rewrite_prepared = rewrite_prepared

    def replaced(r, **fields):
        return dataclasses.replace(r, **fields)

    if check == "a_seed_repeats_and_is_marked":
        changed(lambda m, r: replaced(r, seed=None))
    elif check == "the_guarantee_adds_up":
        Broken.guarantee = lambda self, text: replaced(cls.guarantee(self, text), total=0.5)
    elif check == "a_prepared_text_replaces_its_text":
        Broken.guarantee = lambda self, text: replaced(
            cls.guarantee(self, text), total=99.0 + isinstance(text, dpt.Prepared)
        )
    elif check == "progress_and_cancel":
        Broken.rewrite = lambda self, text, seed=None, task=None: cls.rewrite(self, text, seed=seed)
    elif check == "no_listed_word_is_released":
        Broken.vocabulary = property(
            lambda self: type(cls.create(**SMALL).vocabulary)(dpt.word_space("minilm").words[: self.config.size])
        )
    elif check == "possible_words_can_be_sampled":
        Broken.max_epsilon = property(lambda self: 2000.0)
    elif check == "texts_of_a_list_have_independent_noise":
        Broken.rewrite_list = lambda self, texts, stream, task: [
            self.rewrite_prepared(self.prepare(t), stream, task) for t in texts
        ]
    return Broken


BREAKS = (
    "a_seed_repeats_and_is_marked",
    "the_guarantee_adds_up",
    "a_prepared_text_replaces_its_text",
    "progress_and_cancel",
    "no_listed_word_is_released",
    "possible_words_can_be_sampled",
    "texts_of_a_list_have_independent_noise",
)


@pytest.mark.parametrize("check", BREAKS)
def test_what_breaks_it_is_found(sound, check):
    with pytest.raises(AssertionError, match=f"broken fails 1 of 1 checks:\n- {check}: ."):
        check_mechanism(broken(sound, check), only=check, **SMALL)
    assert "broken" not in {s.name for s in dpt.mechanisms()}
    check_mechanism(sound, only=check, **SMALL)


def test_all_that_fails_is_said_at_once(sound):
    cls = broken(sound, "the_guarantee_adds_up")
    cls.max_epsilon = property(lambda self: 2000.0)
    with pytest.raises(AssertionError) as found:
        check_mechanism(cls, **SMALL)
    first, *lines = str(found.value).splitlines()
    named = [line[2:].split(":")[0] for line in lines if line.startswith("- ")]
    assert first == f"broken fails {len(named)} of {len(CHECKS)} checks:"
    assert {"the_guarantee_adds_up", "possible_words_can_be_sampled"} <= set(named)


def test_a_wrong_question_is_refused(sound):
    with pytest.raises(dpt.ConfigError, match=r"no check 'all'.*the_spec_is_complete"):
        check_mechanism(sound, only="all")
    with pytest.raises(dpt.ConfigError, match=r"derives from dptext_core\.Mechanism"):
        check_mechanism(dict)
    with pytest.raises(dpt.ConfigError, match="Unknown option"):
        check_mechanism(sound, length=3)
    stop = dpt.Task()
    stop.cancel()
    with pytest.raises(dpt.Cancelled):
        check_mechanism(sound, task=stop, **SMALL)


def test_every_check_says_what_it_holds():
    assert all(check.__doc__ and check.__doc__.strip() for check in CHECKS.values())
