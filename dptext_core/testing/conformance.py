"""What every mechanism keeps, whatever it does. The built-in ones and anybody's own pass through the same checks.

With pytest, a test for each check::

    @pytest.mark.parametrize("check", CHECKS)
    def test_it_conforms(check):
        check_mechanism(Mine, only=check)

or in one call, which says of every check that fails why: ``check_mechanism(Mine)``.
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
    a_prepared_text_stands_for_its_text,
    a_rewrite_is_as_likely_as_its_pieces,
    a_seed_repeats_and_is_said,
    a_sweep_is_the_same_rewrite_at_each_epsilon,
    a_text_that_is_too_long_is_refused,
    a_wrong_epsilon_is_refused,
    all_noise_comes_from_the_stream,
    an_unknown_option_is_refused,
    equal_texts_in_a_row_are_read_once,
    every_entry_point_releases_the_same,
    no_listed_word_is_released,
    no_look_of_an_audit_refutes_it,
    progress_and_cancel,
    steps_cover_the_text,
    texts_of_a_list_have_noise_of_their_own,
    the_config_is_frozen,
    the_export_does_not_hold_the_original,
    the_guarantee_adds_up,
    the_guarantee_states_what_it_does,
    the_noise_of_a_text_follows_from_seed_and_place,
    the_spec_is_complete,
    what_is_no_text_is_refused,
    what_is_possible_can_be_drawn,
    what_nobody_sees_changes_nothing,
    what_was_drawn_is_in_its_distribution,
)

#: Each check by its name; its docstring says what is kept. The last one takes the longest.
CHECKS: dict[str, Callable[[Make], None]] = {
    check.__name__: check
    for check in (
        the_spec_is_complete,
        the_config_is_frozen,
        a_wrong_epsilon_is_refused,
        an_unknown_option_is_refused,
        steps_cover_the_text,
        what_nobody_sees_changes_nothing,
        what_is_no_text_is_refused,
        a_text_that_is_too_long_is_refused,
        a_seed_repeats_and_is_said,
        the_export_does_not_hold_the_original,
        texts_of_a_list_have_noise_of_their_own,
        the_noise_of_a_text_follows_from_seed_and_place,
        equal_texts_in_a_row_are_read_once,
        what_was_drawn_is_in_its_distribution,
        a_rewrite_is_as_likely_as_its_pieces,
        what_is_possible_can_be_drawn,
        a_sweep_is_the_same_rewrite_at_each_epsilon,
        a_prepared_text_stands_for_its_text,
        the_guarantee_adds_up,
        no_listed_word_is_released,
        progress_and_cancel,
        the_guarantee_states_what_it_does,
        every_entry_point_releases_the_same,
        all_noise_comes_from_the_stream,
        no_look_of_an_audit_refutes_it,
    )
}


def check_mechanism(
    mechanism: type[Mechanism] | str, only: str | None = None, task: Task | None = None, **options: Any
) -> None:
    """Check a mechanism against the conformance suite. Prints nothing if all checks pass.

    Parameters
    ----------
    mechanism : class or str
        The class, or the name of one that is registered. A class that is not registered is for as long as this takes.
    only : str, optional
        The name of one of ``CHECKS``; without it all are made, which takes seconds for a word mechanism.
    task : Task, optional
        Receives the progress, and cancels between two checks.
    **options
        The options with which the mechanism is made, such as a small vocabulary, which makes it faster.

    Raises
    ------
    AssertionError
        A line for every check that fails, with its name and why; an error that a check did not ask for is one, too.
    ConfigError
        ``only`` names no check, or the mechanism is not taken by the registry.
    """
    if only is not None and only not in CHECKS:
        raise ConfigError(f"There is no check {shorten_repr(only)}. There are: {', '.join(CHECKS)}.")
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
        own = mechanism_class(getattr(mechanism, "name", "")) is not mechanism
    except ConfigError:
        own = True
    if own:
        register(mechanism)
    try:
        yield mechanism.name
    finally:
        if own:
            unregister(mechanism.name)
