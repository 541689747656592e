"""Answers that are kept as long as what they are about."""

from __future__ import annotations

import gc
import weakref

from dptext_core.support.cache import cache_with


class Owner:
    pass


class Answer:
    pass


def test_an_answer_is_made_once_for_each_owner_and_key():
    first, second = Owner(), Owner()
    found = cache_with(first, "a", Answer)
    assert cache_with(first, "a", Answer) is found
    assert cache_with(first, "b", Answer) is not found and cache_with(second, "a", Answer) is not found


def test_an_answer_goes_with_its_owner():
    owner = Owner()
    answer = weakref.ref(cache_with(owner, "a", Answer))
    gc.collect()
    assert answer() is not None
    del owner
    gc.collect()
    assert answer() is None
