"""The conformance suite: the same checks for built-in and user-defined mechanisms.

With pytest, a test for each check::

    @pytest.mark.parametrize("check", CHECKS)
    def test_it_conforms(check):
        check_mechanism(Mine, only=check)

or in one call, which explains every failed check: ``check_mechanism(Mine)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import ConfigError
from ..mechanisms.base import Mechanism
from ..mechanisms.registering import register, unregister
from ..mechanisms.registry import get_mechanism, mechanism_class
from ..support.checks import shorten_repr
from ..support.task import Task
from .conformance_checks import (
    Make,
    a_prepared_text_replaces_its_text,
    a_rewrite_is_as_likely_as_its_pieces,
    a_seed_repeats_and_is_marked,
    a_sweep_is_the_same_rewrite_at_each_epsilon,
    a_text_that_is_too_long_is_refused,
    a_wrong_epsilon_is_refused,
    all_noise_comes_from_the_stream,
    an_unknown_option_is_refused,
    equal_texts_in_a_row_are_read_once,
    every_entry_point_releases_the_same,
    invisible_characters_change_nothing,
    no_audit_check_finds_a_violation,
    no_listed_word_is_released,
    other_values_than_texts_are_refused,
    possible_words_can_be_sampled,
    progress_and_cancel,
    samples_are_in_their_distribution,
    steps_cover_the_text,
    texts_of_a_list_have_independent_noise,
    the_config_is_frozen,
    the_export_omits_the_original,
    the_guarantee_adds_up,
    the_guarantee_states_what_it_does,
    the_noise_of_a_text_follows_from_seed_and_place,
    the_spec_is_complete,
)

#: Each check by its name; its docstring describes it. The last one takes the longest.
CHECKS: dict[str, Callable[[Make], None]] = {
    check.__name__: check
    for check in (
        the_spec_is_complete,
        the_config_is_frozen,
        a_wrong_epsilon_is_refused,
        an_unknown_option_is_refused,
        steps_cover_the_text,
        invisible_characters_change_nothing,
        other_values_than_texts_are_refused,
        a_text_that_is_too_long_is_refused,
        a_seed_repeats_and_is_marked,
        the_export_omits_the_original,
        texts_of_a_list_have_independent_noise,
        the_noise_of_a_text_follows_from_seed_and_place,
        equal_texts_in_a_row_are_read_once,
        samples_are_in_their_distribution,
        a_rewrite_is_as_likely_as_its_pieces,
        possible_words_can_be_sampled,
        a_sweep_is_the_same_rewrite_at_each_epsilon,
        a_prepared_text_replaces_its_text,
        the_guarantee_adds_up,
        no_listed_word_is_released,
        progress_and_cancel,
        the_guarantee_states_what_it_does,
        every_entry_point_releases_the_same,
        all_noise_comes_from_the_stream,
        no_audit_check_finds_a_violation,
    )
}


def check_mechanism(
    mechanism: type[Mechanism] | str, only: str | None = None, task: Task | None = None, **options: Any
) -> None:
    """Check a mechanism against the conformance suite. Prints nothing if all checks pass.

    Parameters
    ----------
    mechanism : class or str
        The class, or a registered name. A class that is not registered is registered temporarily.
    only : str, optional
        The name of one of ``CHECKS``; by default all run, which takes seconds for a word mechanism.
    task : Task, optional
        Receives the progress, and cancels between two checks.
    **options
        Options of the mechanism, such as a small vocabulary, which is faster.

    Raises
    ------
    AssertionError
        One line per failed check, with its name and the reason; an unexpected error is a failure too.
    ConfigError
        ``only`` names no check, or the registry refuses the mechanism.
    """
    if only is not None and only not in CHECKS:
        raise ConfigError(f"There is no check {shorten_repr(only)}. Choose one of: {', '.join(CHECKS)}.")
    task = task or Task()
    with _registration(mechanism) as name:

        def make(**more: Any) -> Mechanism:
            return get_mechanism(name, **(options | more))

        make()
        failed = []
        names = [only] if only else list(CHECKS)
        for k, check in enumerate(names):
            task.check()
            try:
                CHECKS[check](make)
            except Exception as error:
                failed.append((check, error))
            task.report(k + 1, len(names))
    if failed:
        lines = [f"- {check}: {_error_text(error)}" for check, error in failed]
        raise AssertionError("\n".join([f"{name} fails {len(failed)} of {len(names)} checks:", *lines])) from failed[0][
            1
        ]


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"


@contextmanager
def _registration(mechanism: type[Mechanism] | str) -> Iterator[str]:
    if isinstance(mechanism, str):
        yield mechanism
        return
    try:
        is_unregistered = mechanism_class(getattr(mechanism, "name", "")) is not mechanism
    except ConfigError:
        is_unregistered = True
    if is_unregistered:
        register(mechanism)
    try:
        yield mechanism.name
    finally:
        if is_unregistered:
            unregister(mechanism.name)
