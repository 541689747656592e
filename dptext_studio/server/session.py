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

from .chosen_fact import ChosenFact
from .comparison import ColumnOutcome, ComparisonRequest
from .jobs import Work
from .plot_request import PlotRequest
from .rewrite_cache import RewriteCache
from .runs import Run
from .uploads import Upload

#: The number of runs whose copies can still be reported: a message from the browser may be about an earlier run.
RECENT = 3
#: The largest number of settings in Compare.
COLUMNS = 4


@dataclass(eq=False)
class Session:
    """The data of a session.

    run, epsilon: what Explore shows. explored_setting: the setting of Explore that Compare took over. number: of the
    newest run. recent: the last runs, by draw and number. ledger_fragment: the fragment that shows the ledger; a new
    object each time that it is drawn. copies: the copies that the browser reported, as (draw, run, ε). work: tasks, by
    place. text, previous_text: the text in the box, which Streamlit forgets on another page, and the previous one.
    questions: facts with stored model passes, by text, setting and fact.

    upload_error: why the last file was rejected. query: of a link or a file. link: its setting; link_new: True until
    that is started; link_problem: its error. addresses: those that the pages have had. num_address_requests: how often
    an address made a request. controls: the last values of controls that must keep them (``stay``). shares_for: the
    text and words of a table of shares, with its number. public_plan: a budget by public context, and its inputs.
    requested_epsilon: the ε of the last request for a new pass. hidden_controls: names of controls that a link hides.

    upload: the data of the page Batch. uploads: their number. batch_error: an error there that has not been shown yet.
    rewrite_cache: scores and draws of viewed settings. columns: the settings that Compare shows, with their numbers.
    columns_new: True until its controls show them. word: the position of the chosen word in the text of Compare.
    compared_texts: that text, and the one from which it was edited. comparison: the last request of Compare and its
    results.

    points: of the trade-off plot, as they arrive. plot_request: their request. chosen_in, chosen_word: the text in
    which a word was last chosen, and that word. explored_fact: the text and the fact that the
    visitor chose on Explore; None for the default fact. compared_fact: the one that Compare took over. tours: the
    number of requests for the tour. bring: a panel that was just opened and must be scrolled to. chosen_mechanism: the
    mechanism that a card has just chosen.
    """

    run: Run | None = None
    epsilon: float | None = None
    questions: dict[Any, dpt.BeliefQuestion] = field(default_factory=dict)
    explored_setting: dpt.Setting | None = None
    number: int = 0
    recent: dict[tuple[str, int], Run] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    ledger_fragment: tuple[str | None] = (None,)
    copies: set[tuple[str, int, float]] = field(default_factory=set)
    work: dict[str, Work] = field(default_factory=dict)
    text: str | None = None
    previous_text: str = ""
    upload_error: str = ""
    query: dict[str, str] | None = None
    link: dpt.Setting | None = None
    link_new: bool = False
    link_problem: str = ""
    addresses: dict[tuple[tuple[str, str], ...], None] = field(default_factory=dict)
    num_address_requests: int = 0
    controls: dict[str, Any] = field(default_factory=dict)
    shares_for: dict[str, tuple[Any, int]] = field(default_factory=dict)
    public_plan: tuple[Any, Budget] | None = None
    requested_epsilon: float | None = None
    hidden_controls: tuple[str, ...] = ()
    upload: Upload | None = None
    uploads: int = 0
    batch_error: str = ""
    rewrite_cache: RewriteCache = field(default_factory=RewriteCache)
    columns: list[tuple[int, dpt.Setting]] = field(default_factory=list)
    columns_new: bool = False
    word: int | None = None
    compared_texts: tuple[str, str | None] = ("", None)
    comparison: tuple[ComparisonRequest, list[ColumnOutcome]] | None = None
    points: list[TradeOffPoint] = field(default_factory=list)
    plot_request: PlotRequest | None = None
    chosen_in: str | None = None
    chosen_word: str | None = None
    explored_fact: tuple[str, ChosenFact] | None = None
    compared_fact: tuple[str, ChosenFact] | None = None
    tours: int = 0
    bring: str = ""
    chosen_mechanism: str = ""

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
