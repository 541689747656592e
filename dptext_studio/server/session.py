"""All data of a visitor's session except the values of its controls, as one typed object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

import dptext_core as dpt
from dptext_core.measure.budget import Budget
from dptext_core.measure.ledger import Ledger
from dptext_core.measure.trade_off import TradeOffPoint

from .comparison import ColumnOutcome, ComparisonRequest
from .jobs import Work
from .plot_request import PlotRequest
from .rewrite_cache import RewriteCache
from .runs import Run
from .uploads import Upload

#: Runs whose copies can still be told: a message from the browser may be older than what it shows by then.
RECENT = 3
#: Settings that Compare shows at most.
COLUMNS = 4


@dataclass(eq=False)
class Session:
    """What a session holds.

    run: what Explore shows; epsilon: at which ε; explored: the setting of it that Compare took over; number: of the
    newest run; recent: the last runs, by draw and number. ledger_drawn: the fragment that shows the ledger, another
    object each time that it is drawn. copied: the copies that the browser has told of, as (draw, run, ε). work: long
    work, by its place. text, undo: the text in the box, which Streamlit forgets on another page, and the one before.
    questions: facts whose passes are held, by text, setting and fact.
    upload_error: why the last file was not taken. query: a link's, or a file's; link: the setting it asked for,
    link_new until that is started, link_problem what is wrong with it. addresses: those that the pages have had; asked:
    how often an address asked for something. controls: what controls were left at that have to stay so (``stay``).
    shares_for: for what text and words a table of shares was made, with its number. public_plan: a budget by what is
    public, and what it was made from. moved_to: the ε that a new pass was last asked for. hidden: names of controls
    that a link hides. upload: the data of the page Batch; uploads: how many there were; batch_error: what went wrong
    there and is still to be said. kept: scores and draws of settings that were looked at. columns: the settings that
    Compare shows, with the number of each; columns_new: until its controls show them. word: where the word begins in
    the text that Compare shows. compared: that text, and the one that it was edited from. beside: what Compare showed
    last, and for what. points: of the trade-off, as they are measured; tried: what they are measured for. chosen_in,
    chosen_word: the text in which a word was last chosen, and that word. tours: how often the tour was asked for.
    bring: what was just opened and is to be brought into sight. chosen: the mechanism that a card has just chosen.
    """

    run: Run | None = None
    epsilon: float | None = None
    questions: dict[Any, dpt.BeliefQuestion] = field(default_factory=dict)
    explored: dpt.Setting | None = None
    number: int = 0
    recent: dict[tuple[str, int], Run] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    ledger_drawn: tuple[str | None] = (None,)
    copied: set[tuple[str, int, float]] = field(default_factory=set)
    work: dict[str, Work] = field(default_factory=dict)
    text: str | None = None
    undo: str = ""
    upload_error: str = ""
    query: dict[str, str] | None = None
    link: dpt.Setting | None = None
    link_new: bool = False
    link_problem: str = ""
    addresses: dict[tuple[tuple[str, str], ...], None] = field(default_factory=dict)
    asked: int = 0
    controls: dict[str, Any] = field(default_factory=dict)
    shares_for: dict[str, tuple[Any, int]] = field(default_factory=dict)
    public_plan: tuple[Any, Budget] | None = None
    moved_to: float | None = None
    hidden: tuple[str, ...] = ()
    upload: Upload | None = None
    uploads: int = 0
    batch_error: str = ""
    kept: RewriteCache = field(default_factory=RewriteCache)
    columns: list[tuple[int, dpt.Setting]] = field(default_factory=list)
    columns_new: bool = False
    word: int | None = None
    compared: tuple[str, str | None] = ("", None)
    beside: tuple[ComparisonRequest, list[ColumnOutcome]] | None = None
    points: list[TradeOffPoint] = field(default_factory=list)
    tried: PlotRequest | None = None
    chosen_in: str | None = None
    chosen_word: str | None = None
    tours: int = 0
    bring: str = ""
    chosen: str = ""

    def at(self, place: str) -> Work:
        """Return the task of a place on a page."""
        return self.work.setdefault(place, Work())

    def show(self, run: Run) -> None:
        """Make this the run that Explore shows."""
        self.run = run
        self.recent[run.result.noise_id, run.number] = run
        for key in list(self.recent)[:-RECENT]:
            del self.recent[key]

    def compare(self, settings: Sequence[dpt.Setting]) -> None:
        """Make Compare show these settings, each with an ε."""
        self.columns = [(self.next_number(), setting) for setting in settings[:COLUMNS]]
        self.columns_new = True

    def next_number(self) -> int:
        self.number += 1
        return self.number


def session() -> Session:
    """Return the session of the visitor whose page this is."""
    if "session" not in st.session_state:
        st.session_state.session = Session()
    return st.session_state.session
