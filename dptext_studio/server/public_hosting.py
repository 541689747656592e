"""Limits for visitors, on your own machine and on a public server (``dptext_core.support.hosting``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from dptext_core import models, words
from dptext_core.data import tables
from dptext_core.mechanisms.option_meta import OptionMeta
from dptext_core.support import hosting
from dptext_core.words import smaller_spaces, space_loading

from . import sessions, streamlit_patches

FULL = "This server is full. Reload this page in a few minutes. Other visitors are not affected."
NO_HOST = (
    "This server is public (DPTEXT_PUBLIC) but has no public name. Its owner must start it with "
    "`--server.allowedHosts NAME`."
)


@dataclass(frozen=True)
class Limits:
    """Limits for visitors. None: no limit.

    words: words and punctuation marks of a text that a page rewrites at once. upload, rows, columns: MB, rows and
    columns of a table, whose kind must be in kinds. row: words and punctuation marks of one of its rows. pieces:
    running tasks of one session. minutes: duration of a task. sessions: at a time. lists: blocklists, each of which
    keeps a copy of a word space. keeps: whether a job may outlive its session. chooses: whether a visitor may use more
    than the bundled models and word spaces of this machine, or type a name.
    """

    words: int
    upload: int
    rows: int | None
    columns: int
    row: int | None
    kinds: tuple[str, ...]
    pieces: int
    minutes: float | None
    sessions: int | None
    lists: int | None
    keeps: bool
    chooses: bool


OWN = Limits(
    1000,
    50,
    None,
    1000,
    None,
    tables.KINDS,
    pieces=24,
    minutes=None,
    sessions=None,
    lists=None,
    keeps=True,
    chooses=True,
)
# A Parquet file gives no reliable size of its decompressed content.
PUBLIC = Limits(
    500,
    2,
    1000,
    100,
    500,
    tuple(k for k in tables.KINDS if k != ".parquet"),
    pieces=6,
    minutes=5.0,
    sessions=200,
    lists=12,
    keeps=False,
    chooses=False,
)


def limits() -> Limits:
    mine = PUBLIC if hosting.is_public_host() else OWN
    most = hosting.most_sessions()
    return mine if most is None else replace(mine, sessions=most)


def enter() -> None:
    """Apply a public server's limits before a page runs; stop it with an error if the server is full."""
    mine = limits()
    if mine.lists is not None:
        smaller_spaces.hold_at_most(mine.lists)
    if streamlit_patches.option("server.maxUploadSize") > mine.upload:  # data sent without the page
        streamlit_patches.set_option("server.maxUploadSize", mine.upload)
    if (
        hosting.is_public_host()
        and streamlit_patches.is_serving()
        and not set(streamlit_patches.option("server.allowedHosts")) - {"*"}
    ):
        st.error(NO_HOST)
        st.stop()
    if mine.sessions is not None and not sessions.take_place(mine.sessions):
        st.error(FULL)
        st.stop()


def offered_values(meta: OptionMeta, default: Any) -> list[str] | None:
    """Return the values that a page offers for an option with named values; None if it offers none."""
    if meta.offered_names:
        return list(meta.offered_names)
    if meta.word_spaces:
        known = [s.name for s in words.word_spaces()]
        return known if limits().chooses else [name for name in known if name in space_loading.SPACES]
    if not limits().chooses and meta.names_model:
        return [str(default)]
    return models.offered_models(meta, str(default))


def is_offered(meta: OptionMeta) -> bool:
    """Return True if a page has a control for an option."""
    if not meta.on_pages:
        return False
    known = bool(meta.offered_names) or meta.word_spaces or meta.names_model or meta.word_lists
    return known or limits().chooses or meta.kind not in ("text", "texts")
