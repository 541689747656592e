"""The checks that every mechanism must pass. Each docstring says what is checked."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from ..auditing.checks import Subject
from ..auditing.entry_points import through_entry_points
from ..auditing.guarantee_fields import every_field, stated_guarantee
from ..auditing.inputs import Meter
from ..auditing.noise_source import generators_read, global_generators, noise_source
from ..auditing.second_process import in_two_processes
from ..auditing.verdict import LATER
from ..data.records import rewrite_records
from ..errors import Cancelled, ConfigError, InputError, NoDistribution
from ..mechanisms.base import Mechanism
from ..mechanisms.blocklist import forms
from ..mechanisms.config import capitals
from ..mechanisms.likelihood import require_likelihood
from ..mechanisms.option_meta import OptionMeta, option_meta
from ..mechanisms.registry import mechanisms
from ..pieces import by_rule
from ..privacy.kinds import NotProtectedKind
from ..privacy.sampling import DEPTH, NoiseStream
from ..privacy.sentences import NOTIONS
from ..support.task import Task
from ..text import document
from ..text.document import Document
from ..text.visible import to_visible
from .entry_points import entry_point_differences

#: Builds the mechanism under test, with other options if a check needs them.
Make = Callable[..., Mechanism]
TEXT = "The doctor told my friend that the pain was bad. She went home in 3 days, and wrote a letter!"
TEXTS = (
    TEXT,
    "",
    "   \n\n ",
    "🙂🙂 👩‍👩‍👧",
    "...!?",
    "<img src=x onerror=alert(1)> **bold** [x](javascript:1)",
    "مرحبا doctor שלום",
    "one\ttwo\r\nthree  four\n\n\nfive",
    "it's Ana's U.S. e-mail: a@b.org, isn't it?",
    "doctor " * 40,
    "a\u0000b c\u200dd",
)
#: Invisible characters: zero-width, variations, tags, private use, direction, blank letters, controls.
HIDDEN = ("\u200b", "\ufe0f\u034f", "\U000e0041\U000e007f", "\ue000\u202e", "\u3164\u2800", "\0\u00ad\U000e01ef")
#: Words that later checks of an audit rewrite: most vocabularies contain them.
COMMON = "doctor friend pain home letter told wrote"
#: The text that is rewritten many times if each rewrite takes a model pass.
SHORT = "The pain was bad. She wrote a letter in 3 days!"
#: Audit checks that a conformance check makes itself, more strictly.
MADE_ELSEWHERE = (stated_guarantee, through_entry_points, noise_source, in_two_processes)


def _require(condition: Any, message: str) -> None:
    """Raise AssertionError unless true. Not an assert statement, which Python removes under -O."""
    if not condition:
        raise AssertionError(message)


def _equal(is_: Any, wanted: Any, message: str) -> None:
    _require(is_ == wanted, f"{message}: {is_!r}, not {wanted!r}")


@contextmanager
def _expect_error(error: type[Exception], of: str, *words: str) -> Iterator[None]:
    try:
        yield
    except error as refusal:
        for word in words:
            _require(word in str(refusal), f"{of} is refused, but the reason does not mention {word!r}: {refusal}")
    else:
        raise AssertionError(f"{of} does not raise {error.__name__}")


def _fields(m: Mechanism) -> dict[str, OptionMeta]:
    return {f.name: option_meta(f) for f in dataclasses.fields(m.config)}


def _admissible_epsilons(m: Mechanism, *epsilons: float) -> list[float]:
    """Return these ε, each reduced by the same factor if the mechanism accepts none as large."""
    share = min(1.0, m.max_epsilon / max(epsilons))
    return [share * epsilon for epsilon in epsilons]


def _draws(m: Mechanism) -> bool:
    return any(p.is_sampled for p in m.rewrite(TEXT, seed=1).releases)


def the_spec_is_complete(make: Make) -> None:
    """The spec needs a guarantee notion, a label and a help text for every option, and a place in the registry."""
    spec = make().spec()
    _require(spec.notion in NOTIONS, f"the notion {spec.notion!r} is not one of {', '.join(NOTIONS)}")
    for field in dataclasses.fields(spec.config_cls):
        _require(
            option_meta(field).label and option_meta(field).help, f"the option {field.name} has no label or no help"
        )
    _require(spec in mechanisms(), "dpt.mechanisms() does not list the mechanism")


def the_config_is_frozen(make: Make) -> None:
    """A mechanism is one setting for its whole life."""
    with _expect_error(dataclasses.FrozenInstanceError, "a change of ε in an existing mechanism"):
        make().config.epsilon = 3.0


def a_wrong_epsilon_is_refused(make: Make) -> None:
    """The error states the reason and names the option."""
    for epsilon in (0, -1, math.nan, math.inf, "5", True, None, 1e9, [], [1.0, math.nan]):
        with _expect_error(ConfigError, f"epsilon={epsilon!r}", "epsilon"):
            make(epsilon=epsilon)


def an_unknown_option_is_refused(make: Make) -> None:
    """The error lists the known options."""
    with _expect_error(ConfigError, "an unknown option", "epsilon"):
        make(epsilom=3)


def steps_cover_the_text(make: Make) -> None:
    """Every letter of a text is in a step, or there are no steps; every released part is at its stated offsets."""
    m = make()
    for text in TEXTS:
        r = m.rewrite(text, seed=1)
        _equal(r.original, text, "the original of the result")
        if "alignment" not in r.can:
            unaligned = not len(r.steps) and all(p.source is None for p in r.releases)
            _require(unaligned, "the result has steps or sources, but no alignment")
            _equal([r.text[slice(*p.span)] for p in r.releases], [p.text for p in r.releases], "spans of the "
                                                                                               f"rewrite of {text!r}")
            released = "".join("".join(p.text for p in r.releases).split())
            _equal(released, "".join(r.text.split()), f"spans of the rewrite of {text!r} together")
            continue
        covered = {i for s in r.steps for i in range(*s.span)}
        lost = [c for i, c in enumerate(text) if c.isalnum() and i not in covered]
        _require(not lost, f"no step covers {lost} of {text!r}")
        at = 0
        for s in r.steps:
            given = text[slice(*s.span)]
            visible = to_visible(given)
            _equal(s.original, given if visible is None else visible.text, "the original of a step")
            _require(s.action in {"replace", "keep", "insert", "delete"}, f"a step has the unknown action {s.action!r}")
            _equal(r.text[slice(*s.out)], "" if s.action == "delete" else s.replacement, "the replacement of a step")
            if s.action == "keep":
                same = s.replacement == s.original or (capitals(m.config) == "public" and (s.capital or by_rule(s)))
                is_copied = same and s.epsilon == 0 and s.reason
                _require(is_copied, f"the copy of {s.original!r} is changed, has ε > 0 or has no reason")
                at = r.text.index(s.replacement, at) + len(s.replacement)


def invisible_characters_change_nothing(make: Make) -> None:
    """A text with invisible characters gives the same rewrite as without them, and no rewrite contains any."""
    m, plain = make(), 'The doctor told my friend: "It is bad." \U0001f642 of (it)!'
    wanted = m.rewrite(plain, seed=5).text
    for hidden in HIDDEN:
        text = "".join([char + hidden for char in plain])
        r = m.rewrite(text, seed=5)
        _equal(r.original, text, f"the original with {hidden!r} behind each character")
        _equal(r.text, wanted, f"the rewrite with {hidden!r} behind each character")
    message = "".join([chr(0xE0000 + ord(char)) for char in "Maria, 4711"])
    _equal(m.rewrite(message, seed=5).text, m.rewrite("", seed=5).text, "the rewrite of Unicode tags")


def other_values_than_texts_are_refused(make: Make) -> None:
    """The error is an InputError, and says that a text is expected."""
    for text in (None, 3, b"bytes", "broken \ud800 half"):
        with _expect_error(InputError, f"{text!r}", "text", *(["or one text"] * (not isinstance(text, str)))):
            make().rewrite(text)  # type: ignore[arg-type]


def a_text_that_is_too_long_is_refused(make: Make) -> None:
    """A long text is refused before anything else, so that no guarantee depends on the length."""
    m, text = make(), "a doctor " * 5
    message = "This text has more than 40 characters. Split it into several texts."
    ways = (
        m.plan,
        m.prepare,
        m.reading.coverage,
        m.rewrite,
        lambda t: m.rewrite([t]),
        lambda t: m.rewrites(t, 2),
        lambda t: list(m.prepare_many([t])),
        lambda t: list(m.rewrite_each([t])),
        lambda t: m.sweep(t, [m.config.epsilon]),
    )
    with patch.object(document, "LARGEST", 40):
        for asked in ways:
            with _expect_error(InputError, "a text over the maximum length", message):
                asked(text)
        (record,) = rewrite_records([text], m)
        _equal(record.error, message, "the error of a row")
        _require(m.guarantee(text[:40]).sentence(), "a text of the maximum length has no guarantee")


def a_seed_repeats_and_is_marked(make: Make) -> None:
    """The same seed gives the same text, with a warning that it is not private."""
    m = make()
    a, b = m.rewrite(TEXT, seed=7), m.rewrite(TEXT, seed=7)
    _equal(a.text, b.text, "the second rewrite with one seed")
    _equal(a.seed, 7, "the seed of the result")
    _require("not private" in json.dumps(a.to_dict()), "an export of a rewrite with a seed does not say 'not private'")
    _require("not private" not in json.dumps(m.rewrite(TEXT).to_dict()), "an export without a seed says 'not private'")


def the_export_omits_the_original(make: Make) -> None:
    """The export omits the original, unless the text is unchanged or the trace is requested."""
    r = make().rewrite("doctor hospital cancer treatment", seed=3)
    _equal(r.original in json.dumps(r.to_dict()), r.text == r.original, "whether the export contains the original")
    _equal(r.to_dict(trace=True)["original"], r.original, "the original in a trace")


def texts_of_a_list_have_independent_noise(make: Make) -> None:
    """Four copies of the same text do not all get the same rewrite."""
    m = make()
    many = m.rewrite([TEXT] * 4, seed=5)
    _equal([r.original for r in many], [TEXT] * 4, "the originals of a list")
    if len({r.text for r in many}) == 1:  # equal at random too, if only a few different texts can be written
        many = m.rewrite([TEXT] * 64, seed=5)
    _equal(len({r.text for r in many}) > 1, _draws(m), "whether the rewrites of equal texts differ")


def the_noise_of_a_text_follows_from_seed_and_place(make: Make) -> None:
    """The first text of a list has the same noise as alone, whatever else is in the list."""
    m, other = make(), "My doctor paid."
    texts_released = [r.text for r in m.rewrite([TEXT, other, TEXT, other], seed=5)]
    _equal(texts_released[0], m.rewrite(TEXT, seed=5).text, "the first rewrite of a list, compared with "
                                                            "that of the text alone with that seed")
    in_its_place = "the rewrite at the same place of another list with that seed"
    _equal([r.text for r in m.rewrite([other, other, TEXT], seed=5)][1:], texts_released[1:3], in_its_place)
    _equal([r.text for r in m.rewrite([TEXT, TEXT, other, other], seed=5)][::3], texts_released[::3], in_its_place)


def equal_texts_in_a_row_are_read_once(make: Make) -> None:
    """Reading is the expensive part; each text still has its own result, in its place."""
    m, read = make(), []

    def reading(text: str) -> Document:
        read.append(text)
        return type(m).document(m, text)

    with patch.object(m, "document", reading):
        many = m.rewrite([TEXT, TEXT, "My doctor paid.", TEXT], seed=5)
    _equal(read, [TEXT, "My doctor paid.", TEXT], "what was read")
    _equal([r.original for r in many], [TEXT, TEXT, "My doctor paid.", TEXT], "the originals of a list")


def samples_are_in_their_distribution(make: Make) -> None:
    """Every distribution sums to 1 and contains the sampled word; a missing one is explained."""
    r = make().rewrite(TEXT, seed=11)
    together = {} if r.no_chances else dict(r.distributions())
    samples = []
    for i, u in enumerate(r.units):
        if u.action in ("keep", "delete") or "distribution" not in r.can:
            with _expect_error(NoDistribution, f"the distribution of {u.text!r}"):
                r.distribution(i)
            continue
        d = r.distribution(i)
        _require(abs(d.probs.sum() - 1) <= 1e-9, f"the probabilities at {u.text!r} add up to {d.probs.sum()}")
        _require(np.array_equal(together.pop(i).probs, d.probs), f"the probabilities at {u.text!r} differ if computed "
                                                                 "separately")
        _equal((d.probs.dtype, len(d.probs)), (np.dtype("float64"), len(d.candidates)), f"probabilities at {u.text!r}")
        known = r.candidate(i)
        samples.append((d.p(u.text) if known is None else d.probs[known]) > 0)
        # An estimate from draws may miss some possible words, but contains most samples.
        estimated = d.draws is not None and len(d.index(u.text))
        _require(samples[-1] or estimated, f"{u.text!r} was sampled but has probability 0 in its distribution")
    _require(not samples or np.mean(samples) > 0.5, "most sampled words have probability 0 in their distributions")
    _require(not together, "a part that was not sampled has a distribution")


def a_rewrite_is_as_likely_as_its_pieces(make: Make) -> None:
    """The probability of a rewrite is the product over its parts, or its absence is explained."""
    m = make()
    try:
        chances = require_likelihood(m)
    except NoDistribution as reason:
        _require(m.title in str(reason), f"the NoDistribution error does not name {m.title}: {reason}")
        if m.likelihood is not None:
            with _expect_error(NoDistribution, "a list of no rewrites", str(reason)):
                m.likelihood.log([], [])
        return
    r = m.rewrite(TEXT, seed=4)
    texts = [m.prepare(TEXT), m.prepare(f"{TEXT} Now.")]
    own, other = chances.log(texts, [r])[:, 0]
    total = 0.0
    for i, u in enumerate(r.units):
        if u.is_sampled:
            known = r.candidate(i)
            total += np.log(r.distribution(i).p(u.text) if known is None else r.distribution(i).probs[known])
    _require(
        math.isclose(own, total, rel_tol=1e-6), f"the probability of a rewrite is e^{own}, that of its parts e^{total}"
    )
    message = "whether a longer text makes this rewrite impossible (true unless it is a neighbour)"
    _equal(bool(np.isinf(other)), not m.audit_support.adjacent(*texts), message)


def possible_words_can_be_sampled(make: Make) -> None:
    """Even at the largest ε, no possible output is beyond the sampler's depth, or beyond float64."""
    m = make()
    m = m.replace(epsilon=m.max_epsilon)
    for i, token in enumerate(Document.parse(TEXT).tokens):
        try:
            d = m.distribution(TEXT, i)
        except NoDistribution:
            continue
        possible = np.isfinite(d.log_probs)
        least = d.log_probs[possible].min()
        deep = f"a word has ln p = {least}, which is too small: reduce max_epsilon"
        _require(least >= -d.depth, f"at {token.text!r} and ε {m.config.epsilon} {deep}")
        _require(
            d.depth > DEPTH or (d.probs[possible] > 0).all(), f"at {token.text!r} a possible word has probability 0"
        )


def a_sweep_is_the_same_rewrite_at_each_epsilon(make: Make) -> None:
    """All ε use the same noise, so that dragging ε is meaningful."""
    m = make()
    epsilons = _admissible_epsilons(m, 1.0, 20.0, 120.0)
    s = m.sweep(TEXT, epsilons=epsilons, seed=3)
    alone = [m.replace(epsilon=e).rewrite(TEXT, seed=3).text for e in epsilons]
    _equal([r.text for r in s.results], alone, "the rewrites of a sweep")
    _equal((len(s.distributions), len(s.distributions[0])), (3, len(s.results[0].units)), "distributions of a sweep")
    _equal(len({r.noise_id for r in s.results}), 1, "the number of noise IDs in a sweep")


def a_prepared_text_replaces_its_text(make: Make) -> None:
    """Also at another ε: the preparation does not depend on it."""
    m = make()
    p = m.prepare(TEXT)
    for one in (m, m.replace(epsilon=_admissible_epsilons(m, 3.0)[0])):
        _equal(one.rewrite(p, seed=4).text, one.rewrite(TEXT, seed=4).text, "the rewrite of a prepared text")
    _equal(m.guarantee(p), m.guarantee(TEXT), "the guarantee of a prepared text")


def the_guarantee_adds_up(make: Make) -> None:
    """The parts spend no more than the total, and the guarantee states what is not protected."""
    m = make()
    r = m.rewrite(TEXT, seed=6)
    g = r.guarantee
    spent = sum(u.epsilon for u in r.units if u.is_sampled)
    _require(g.notion in NOTIONS, f"the notion {g.notion!r} is not one of {', '.join(NOTIONS)}")
    _require(spent <= g.total + 1e-9, f"the parts spend {spent}, but the stated total is {g.total}")
    _require(
        g.sentence() and g.formal() and g.exposed, "the guarantee lacks a sentence, a formal statement or a list "
                                                   "of what is not protected"
    )
    seeded = any(entry.kind is NotProtectedKind.SEED for entry in g.exposed)
    _require(seeded, "a rewrite with a seed does not say so among what is not protected")
    # A guarantee for any two texts also hides that a text is empty; samples that read no text cost nothing.
    free = "alignment" in m.can or g.total == 0
    _equal(m.guarantee("").total == 0, free, "whether an empty text costs nothing")


def no_listed_word_is_released(make: Make) -> None:
    """A listed word is not sampled, nor copied as a stop word, unknown word, number or symbol, in any capitals."""
    fields = _fields(make())
    if "never" not in fields:
        with _expect_error(ConfigError, "a blocklist", "Unknown option 'never'"):
            make(never=["pain"])
        return
    text = "The Doctor told ANA of pain: 3 days 🙂 at sea-side. " * 3
    listed = ["the", "doctor", "of", "ana", "3", "sea", "pain", "person", "bafaq"]
    listed += [] if "model" in fields and fields["model"].generators else ["🙂"]
    plain = make()
    common = [u.text.lower() for u in plain.rewrite(text, seed=1).units if u.is_sampled and u.text.isalpha()]
    for options in ({"oov": "keep"}, {"oov": "mask"}) if "oov" in fields else ({},):
        m = make(never=[*listed, *common], **options)
        for r in m.rewrite([text] * 2, seed=1):
            released = {part for t in Document.parse(r.text).tokens for part in forms(t.text)}
            _require(r.text.strip(), "nothing is released at all")
            _require(not released & {*listed, *common}, "released although on the blocklist: "
                                                        f"{released & {*listed, *common}}")
            g = r.guarantee
            _equal(g.never, len(m.config.never), "the number of words on the list, in the guarantee")
            named = any(entry.kind is NotProtectedKind.BLOCKLIST for entry in g.exposed)
            _require(named, "what is not protected does not name the blocklist")
            _equal(g.epsilon, m.config.epsilon, "ε in the guarantee")
    with _expect_error(ConfigError, "a text that was prepared without the list", "prepared with other options"):
        m.rewrite(plain.prepare(text))


def progress_and_cancel(make: Make) -> None:
    """The caller receives the progress, and can cancel the work."""
    stop = Task()
    stop.cancel()
    m = make()
    if _draws(m):
        with _expect_error(Cancelled, "cancelled work"):
            m.rewrite(TEXT, task=stop)


def the_guarantee_states_what_it_does(make: Make) -> None:
    """Each field of the guarantee can be recomputed from the stated distributions or from rewrites, and agrees."""
    check = every_field(_subject(make))
    message = "" if check is None or check.witness is None else f" {check.witness.sentence()}"
    _require(check is None or check.status == "tested", f"{check and check.reason}{message}")


def every_entry_point_releases_the_same(make: Make) -> None:
    """The release is the same with the same noise: prepared, planned, in lists, sweeps, threads, copies and rows."""
    m = make()
    text = TEXT if m.by_word is not None else SHORT
    differing = [f"{d.point} ({d.what})" for d in entry_point_differences(m, text, 3)]
    _require(not differing, f"different from the rewrite of the text alone: {', '.join(differing)}")


def all_noise_comes_from_the_stream(make: Make) -> None:
    """No noise comes from another generator, and none is coarser than the stream's."""
    m = make()
    m.rewrite(TEXT, seed=1)
    before = global_generators()
    m.rewrite(TEXT, seed=1)
    _require(not (read := generators_read(before)), f"a rewrite reads the global generator of {', '.join(read)}")
    for look in (noise_source, in_two_processes):
        check = look(_subject(make))
        _require(check is None or check.status == "tested", f"its noise: {check.reason if check else ''}")


def no_audit_check_finds_a_violation(make: Make) -> None:
    """Each check finds a violation in a sound mechanism with probability below 5e-8; the noise is fixed."""
    subject = _subject(make)
    for look in LATER:
        if look in MADE_ELSEWHERE:
            continue
        check = look(subject)
        _require(check is None or check.status != "refuted", f"{look.__name__} shows a violated guarantee: {check}")


def _subject(make: Make) -> Subject:
    """Return the input of an audit check: few words, or for written texts few tokens."""
    m = make()
    if "max_tokens" in _fields(m):
        m = m.replace(max_tokens=3)
    return Subject(m, m.guarantee(COMMON), [COMMON], NoiseStream(4), Meter())
