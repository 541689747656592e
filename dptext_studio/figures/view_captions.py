"""Titles and captions of the views of a sampled word, in plain text that callers escape."""

from __future__ import annotations

import functools

from dptext_core.errors import InputError
from dptext_core.explain import CloudView, DiffractionView, GroupView, ProposalView, View, same_word
from dptext_core.privacy.numbers import odds_text, percent
from dptext_core.support.checks import pluralize

#: The number of words that a caption names before "…".
NAMED = 5
TITLES: dict[type, str] = {
    DiffractionView: "Lists",
    GroupView: "Group",
    CloudView: "Noise cloud",
    ProposalView: "Proposal and shift",
}


def title(view: View) -> str:
    """Return the title of a view, which is the name of its tab."""
    if type(view) not in TITLES:
        raise unknown_view(view)
    return TITLES[type(view)]


@functools.singledispatch
def caption(view: View) -> str:
    """Describe the word of a view in whole sentences."""
    raise unknown_view(view)


@caption.register(DiffractionView)
def _lists_caption(view: DiffractionView) -> str:
    drawn = view.lists[view.chosen]
    where = shift_text(drawn.candidate_offset)
    if len(view.lists) == 1:
        at = drawn.at(drawn.candidate_offset)
        chance = "" if at is None else f", which had probability {percent(drawn.probs[at])}"
        if drawn.candidate_offset == 0:
            return f"The noise on the list {drawn.name} did not move “{view.source}”{chance}."
        return f"The noise moved “{view.source}” {where} on the list {drawn.name}, to “{view.released_word}”{chance}."
    return (
        f"Each of the {len(view.lists)} lists moved “{view.source}” with separate noise; the candidate of "
        f"{drawn.name} ({where}) was chosen at random and released."
    )


@caption.register(GroupView)
def _group_caption(view: GroupView) -> str:
    all_of_them = (
        f"In this mapping of {pluralize(view.groups, 'group')}, {percent(view.alone_share)} of all words have a "
        "unique set."
    )
    if view.alone:
        return f"Warning: “{view.source}” is alone in its group: it has no protection at any ε. {all_of_them}"
    others = [w for w in view.crowd if not same_word(w, view.source)]
    names = ", ".join(others[:NAMED]) + (", …" if len(others) > NAMED else "")
    return (
        f"“{view.source}” is one of {len(view.crowd):,} words that share this output set, with {names}: the guarantee "
        f"holds only among them. {all_of_them}"
    )


@caption.register(CloudView)
def _cloud_caption(view: CloudView) -> str:
    many = "many" if view.dims is None else f"{view.dims:,}"
    share = "" if view.share is None else f" (this plane preserves {percent(view.share)} of the squared distances)"
    return (
        f"This is a projection from {many} dimensions to 2, so distances are approximate{share}. The noise moved "
        f"“{view.source}” to the ×. In all dimensions, the nearest word is “{view.released_word}”."
    )


@caption.register(ProposalView)
def _proposal_caption(view: ProposalView) -> str:
    at = next(i for i, w in enumerate(view.words) if same_word(w, view.released_word))
    moved_by = "did not increase its weight"
    if view.shift[at] > 0:
        moved_by = f"multiplied its weight by {_factor(view.shift[at])}, relative to the least favoured words"
    limit = "" if view.most is None else f"; at this ε the limit is {_factor(view.most)}"
    return (
        f"The public prior gives “{view.released_word}” probability {percent(view.proposed[at])}. The private text "
        f"{moved_by}{limit}. The result is {percent(view.probs[at])}."
    )


def _factor(nats: float) -> str:
    """Write e^nats for people."""
    return odds_text(nats).replace(" times", "")


def shift_text(offset: int) -> str:
    """Write how far a word moved along a list: ``3 places forward``."""
    if offset == 0:
        return "not moved"
    return f"{pluralize(abs(offset), 'place')} {'forward' if offset > 0 else 'back'}"


def unknown_view(view: object) -> InputError:
    """Return the error for a view without a figure."""
    return InputError(f"There is no figure of {type(view).__name__}: use a view of dptext_core.explain.")
