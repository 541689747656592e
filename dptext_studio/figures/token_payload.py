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
    """One token of the text, as far as every token has it; all that a token has where nothing was drawn.

    ``pre``: the released text between the token before and this one; "" for a deleted token. ``o``: the original word
    where there is one, else what stands there. ``a``: what happened, as the action of a step; "whole" for a drawn piece
    that has no chances of its own. ``why``: why it was kept, deleted, inserted or replaced in another way; "" where
    there is nothing to say. ``t``: what was released, where its candidate is listed otherwise, or a copied word has
    another form. ``forms``: of an article that agrees with the next token, which is drawn: what it is before most
    words, and before the candidates that ``second`` of that token names.
    """

    pre: str
    o: str
    a: Action
    why: str
    t: NotRequired[str]
    forms: NotRequired[list[str]]


class DrawnToken(PlacedToken):
    """A token that was drawn from a distribution, as far as all of them have it.

    ``cap``: 1 where the released word gets a capital by rule, else 0. ``c``: the candidates worth showing, as the
    mechanism writes them. ``src``: the index of the original word among them, −1 where it cannot be drawn. ``flips``:
    [ε, index in ``c``], ascending: from that ε on, this candidate is the released word. ``total``: how many candidates
    there are in all, where that differs from the payload's ``total_candidates``. ``draws``: where chances are
    estimated, from how many draws. ``bent``: where they bend along ε, so that between points they are known roughly:
    the place of each of ``c`` among all candidates. ``second``: after an article that agrees, the indices in ``c`` of
    the candidates that take its second form.
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
    """A drawn token whose candidates have scores alone: the chance of candidate j at ε is exp(ε·s[j] − ln Z(ε)).

    ``s``: the scores. ``rank``: the place of each candidate among all, 1 for the best. ``z``: ln Z at the payload's
    ``n_grid`` points of ε.
    """

    s: list[float]
    rank: list[int]
    z: list[float]


class GridToken(DrawnToken):
    """A drawn token whose chances are known at points of ε.

    ``lp``: for each candidate ln p at consecutive ones of the payload's ``lp_grid`` points of ε. ``off``: for each
    candidate the point that its row begins with. A candidate that is there only because it is released somewhere has
    the points around the ε at which it is; all others have all.
    """

    lp: list[list[float]]
    off: list[int]


PayloadToken: TypeAlias = PlacedToken | DrawnToken | ScoredToken | GridToken


class Identifier(TypedDict):
    """A name, number, date or place that rules found in the original. Equal ones of one kind are one.

    ``kind``: one of :data:`dptext_core.detectors.rules.KINDS`. ``kinds``: the word for several. ``text``: as it
    was read. ``at``: the indices of tokens that hold its words: it stands at an ε where one of them is released
    unchanged. Where tokens answer to no words: the tokens in which it stands.
    ``among``: where those are drawn at every ε, for
    each of ``at`` the candidates in which it stands.
    """

    kind: str
    kinds: str
    text: str
    at: list[int]
    among: NotRequired[list[list[int]]]


class AttackMarks(TypedDict):
    """How often the attacker's best guess names each word, before it is drawn (``dptext_core.attacks.risk``).

    ``why``: why there is no figure, or none yet; the others are missing then. ``eps``: the ε that ``p`` belongs to.
    ``p``: for each token the figure, None where no word was drawn in its place. ``along``: where it is known at every
    ε, for each token what it comes from: the scores of the outputs, their bases, and for each output the points of ε
    where the word begins and ceases to be the best guess; None where ``p`` holds at every ε. ``chance``, ``guess``: how
    often one guess for all words is right without the output, and which.
    """

    why: NotRequired[str]
    eps: NotRequired[float]
    p: NotRequired[list[float | None]]
    along: NotRequired[list[tuple[list[float], list[float], list[list[float]]] | None]]
    chance: NotRequired[float]
    guess: NotRequired[str]


class AttackGuesses(TypedDict):
    """What the strongest attacker guesses of a release. ``eps``: that of the release. ``why``: why there is nothing,
    or nothing yet; the others are missing then. ``name``: the attacker. ``words``: its guess for each attacked token.
    ``right``: those of them that are right. ``of``: how many words were attacked. ``pending``: whether others, which
    take longer, still guess."""

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
    """How much of the meaning is kept. ``at``: values of ε, ascending. ``cosine``: of the text that is released from
    each on, with the original. ``all``: whether every text on the axis is among them. Both lists are empty where
    nothing can measure it. ``now``: the cosine at the ε where the slider rests, where it is not among them."""

    at: list[float]
    cosine: list[float]
    all: bool
    now: NotRequired[CosineAt]


class ProbabilitiesAt(TypedDict):
    """Chances at one ε of tokens whose chances bend along it. ``eps``: that ε. ``lp``: for the index of a token ln p
    of each of its ``c``."""

    eps: float
    lp: dict[str, list[float]]


class Command(TypedDict):
    """What the page asks the browser to do once. ``n``: the number of the command. ``eps``: the ε to move to."""

    n: int
    eps: float


class Payload(TypedDict):
    """One rewrite for the browser. All values are plain JSON, and no number is NaN or infinite.

    ``run``: grows with each new rewrite. ``draw``: names the noise, which several runs may share. ``key``: the name of
    the view in the session, set where it is mounted. ``cmd``: a command of the page, where there is one.

    ``eps``: the ε of the result. ``lo``, ``hi``: the ends of the axis of ε. ``n_grid``, ``lp_grid``: how many points,
    log-spaced from ``lo`` to ``hi``, the ``z`` and the ``lp`` of tokens stand for. ``default_eps``: the ε to return to.
    ``unit``: what one ε is spent on. ``spread``: why no ε can be dragged, in one sentence: each word has its own, or
    the mechanism uses none. ``live``: whether the text at another ε needs no new pass; if not, all holds at ``eps``
    only. ``seeded``: whether the result is a demonstration that is not private.

    ``total_candidates``: how many words can be drawn for a token. ``aligned``: whether tokens answer to the words that
    were read; where not, ``original`` holds the text. ``telling``: what rules found in the original, of which the
    browser can say at every ε what still stands. ``finder``: the spaCy pipeline that looked beside them. ``attack``:
    set where it is mounted, where words may be marked by what an attacker would get. ``tokens``: in order. ``tail``:
    the released text after the last.
    ``pin``: the index of the token that is chosen until the user chooses, where there is one. ``here``: what is known
    at ``eps`` beside the points, where no server tells it for the ε that is looked at.

    Set where it is mounted: ``stage``: whether the view is a first screen, with the steps of the chosen word and gauges
    beside the slider. ``how``: those steps. ``meaning``: for a gauge; missing as long as it is worked out. ``tour``:
    what the tour shows. ``belief``: set where the page says what a reader believes: whether it can. ``odds``: how to
    say the guarantee in odds. ``tools``: whether marks, originals and copying are offered beside the text; they are,
    where it is missing. ``attackable``: whether an attacker's guesses can be laid over the text. ``mechanism``: its
    name: after another one, the browser says that scales of ε differ.
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
