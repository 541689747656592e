"""The data of the token view as types: the plain JSON that the scripts in ``browser/`` read."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from .belief_view import Exactness
from .mechanism_steps import MechanismSteps
from .odds_view import OddsView
from .tour_view import TourStory

Flips = list[tuple[float, int]]
Action = Literal["replace", "keep", "insert", "delete", "whole"]


class PlacedToken(TypedDict):
    """One token of the text, with the fields that every token has; a token that was not sampled has no others.

    ``pre``: the released text between the previous token and this one; "" for a deleted token. ``o``: the original word
    if there is one, otherwise the released text. ``a``: the action of the step; "whole" for a sampled token without
    separate probabilities. ``why``: why it was kept, deleted, inserted or replaced in another way; "" without a reason.
    ``t``: the released text, if its candidate is listed differently, or a copied word has another form. ``forms``: for
    an article that agrees with the next token, which is sampled: its form before most words, and before the candidates
    that ``second`` of that token names.
    """

    pre: str
    o: str
    a: Action
    why: str
    t: NotRequired[str]
    forms: NotRequired[list[str]]


class DrawnToken(PlacedToken):
    """A token that was sampled from a distribution, with the fields that all of them have.

    ``cap``: 1 if a rule gives the released word a capital, otherwise 0. ``c``: the candidates worth showing, as the
    mechanism writes them. ``src``: the index of the original word among them, −1 if it cannot be sampled. ``flips``:
    [ε, index in ``c``], ascending: from that ε on, this candidate is the released word. ``total``: the number of all
    candidates, if it differs from the payload's ``total_candidates``. ``draws``: the number of draws, if probabilities
    are estimated. ``bent``: if probabilities bend along ε, so that they are approximate between points: the place of
    each of ``c`` among all candidates. ``second``: after an article that agrees, the indices in ``c`` of the candidates
    that take its second form.
    """

    cap: int
    c: list[str]
    src: int
    flips: list[list[float]]
    second: NotRequired[list[int]]
    total: NotRequired[int]
    draws: NotRequired[int]
    bent: NotRequired[list[int]]


class ScoredToken(DrawnToken):
    """A sampled token whose candidates have only scores: the probability of candidate j at ε is exp(ε·s[j] − ln Z(ε)).

    ``s``: the scores. ``rank``: the rank of each candidate among all, 1 for the best. ``z``: ln Z at the payload's
    ``n_grid`` points of ε.
    """

    s: list[float]
    rank: list[int]
    z: list[float]


class GridToken(DrawnToken):
    """A sampled token whose probabilities are known at points of ε.

    ``lp``: for each candidate, ln p at consecutive points of the payload's ``lp_grid``. ``off``: for each candidate,
    the first point of its row. A candidate that is listed only because it is released at some ε has the points around
    it; all others have every point.
    """

    lp: list[list[float]]
    off: list[int]


PayloadToken: TypeAlias = PlacedToken | DrawnToken | ScoredToken | GridToken


class Identifier(TypedDict):
    """A name, number, date or place that rules found in the original. Equal ones of one kind are one.

    ``kind``: one of :data:`dptext_core.detectors.rules.KINDS`. ``kinds``: its plural. ``text``: as in the original.
    ``at``: the indices of tokens that contain its words; it is visible at an ε at which one of them is released
    unchanged. If tokens do not correspond to words: the tokens that contain it. ``among``: if those are sampled at
    every ε, for each of ``at`` the candidates that contain it.
    """

    kind: str
    kinds: str
    text: str
    at: list[int]
    among: NotRequired[list[list[int]]]


class AttackMarks(TypedDict):
    """How often the attacker's best guess recovers each word, before sampling (``dptext_core.attacks.risk``).

    ``why``: why there is no value, or none yet; the other fields are missing then. ``eps``: the ε of ``p``. ``p``: for
    each token the value, None if no word was sampled in its place. ``along``: if it is known at every ε, its parts for
    each token: the scores of the outputs, their bases, and for each output the range of ε in which the word is the best
    guess; None if ``p`` is the same at every ε. ``chance``, ``guess``: how often a single guess for all words is right
    without the output, and that guess.
    """

    why: NotRequired[str]
    eps: NotRequired[float]
    p: NotRequired[list[float | None]]
    along: NotRequired[list[tuple[list[float], list[float], list[list[float]]] | None]]
    chance: NotRequired[float]
    guess: NotRequired[str]


class AttackGuesses(TypedDict):
    """The strongest attacker's guesses about a release.

    ``eps``: of the release. ``why``: why there is nothing, or nothing yet; the other fields are missing then. ``name``:
    the attacker. ``words``: its guess for each attacked token. ``right``: the correct ones. ``of``: the number of
    attacked words. ``pending``: whether slower attackers are still running.
    """

    eps: float
    why: NotRequired[str]
    name: NotRequired[str]
    words: NotRequired[dict[str, str]]
    right: NotRequired[list[int]]
    of: NotRequired[int]
    pending: NotRequired[bool]


class CosineAt(TypedDict):
    """The cosine of the text at one ε to the original."""

    eps: float
    cosine: float


class Similarity(TypedDict):
    """How much meaning is preserved.

    ``at``: values of ε, ascending. ``cosine``: of the text that is released from each on, with the original. ``all``:
    whether they include every text on the axis. Both lists are empty if nothing can measure it. ``now``: the cosine at
    the slider's resting ε, if it is not among them.
    """

    at: list[float]
    cosine: list[float]
    all: bool
    now: NotRequired[CosineAt]


class ProbabilitiesAt(TypedDict):
    """Probabilities at one ε of tokens whose probabilities bend along it. ``eps``: that ε. ``lp``: for the index of a
    token, ln p of each of its ``c``.
    """

    eps: float
    lp: dict[str, list[float]]


class Command(TypedDict):
    """A command of the page that the browser runs once. ``n``: the number of the command. ``eps``: the ε to move to."""

    n: int
    eps: float


class Payload(TypedDict):
    """One rewrite for the browser. All values are plain JSON, and no number is NaN or infinite.

    ``run``: increases with each new rewrite. ``draw``: names the noise, which several runs may share. ``key``: the name
    of the view in the session, set by the page. ``cmd``: a command of the page, if there is one.

    ``eps``: the ε of the result. ``lo``, ``hi``: the ends of the range of ε. ``n_grid``, ``lp_grid``: the number of
    log-spaced points from ``lo`` to ``hi`` for the ``z`` and the ``lp`` of tokens. ``default_eps``: the ε to return to.
    ``unit``: what one ε covers. ``spread``: why ε cannot be dragged, in one sentence: each word has a separate one, or
    the mechanism uses none. ``live``: whether another ε needs no new pass; otherwise everything holds at ``eps`` only.
    ``seeded``: whether the result is a demonstration that is not private.

    ``total_candidates``: the number of candidates of a token. ``aligned``: whether tokens correspond to the original
    words; otherwise ``original`` contains the text. ``telling``: identifiers that rules found in the original, which
    the browser checks at every ε. ``finder``: the spaCy pipeline used in addition. ``attack``: set by the page if words
    can be marked by an attacker's success. ``tokens``: in order. ``tail``: the released text after the last token.

    ``pin``: the index of the token that is chosen until the user chooses, if there is one. ``here``: results at ``eps``
    besides the points, if no server sends them for the current ε.

    Set by the page: ``stage``: whether the view is a first screen, with the steps of the chosen word and gauges next to
    the slider. ``how``: those steps. ``meaning``: for a gauge; missing until computed. ``tour``: the content of the
    tour. ``belief``: set if the page shows a reader's belief: whether it can. ``odds``: how to state the guarantee in
    odds. ``tools``: whether to offer marks, originals and copying next to the text; missing means yes. ``attackable``:
    whether an attacker's guesses can be shown over the text. ``mechanism``: its name; after a change of mechanism, the
    browser says that scales of ε differ.
    """

    run: int
    draw: str
    key: NotRequired[str]
    cmd: NotRequired[Command]
    eps: float
    lo: float
    hi: float
    n_grid: int
    lp_grid: int
    default_eps: float
    unit: str
    spread: NotRequired[str]
    live: bool
    seeded: bool
    total_candidates: int
    aligned: bool
    original: NotRequired[str]
    telling: NotRequired[list[Identifier]]
    finder: NotRequired[str]
    attack: NotRequired[AttackMarks]
    pin: NotRequired[int]
    here: NotRequired[ProbabilitiesAt]
    stage: NotRequired[bool]
    how: NotRequired[MechanismSteps]
    tour: NotRequired[TourStory]
    belief: NotRequired[Exactness]
    odds: NotRequired[OddsView]
    tools: NotRequired[bool]
    mechanism: NotRequired[str]
    attackable: NotRequired[bool]
    tokens: list[PayloadToken]
    tail: str
