"""Redaction, surrogates, and stand-ins before a mechanism: what comes out, what decides it, and what is guaranteed."""

from __future__ import annotations

import copy
import datetime
import pickle
import re

import numpy as np
import pytest

import dptext_core as dpt
from dptext_core.detectors import KINDS
from dptext_core.mechanisms.detected import hybrid, surrogates
from dptext_core.mechanisms.detected.flags import FORMS, flag_tokens
from dptext_core.mechanisms.detected.redact import PLACEHOLDERS
from dptext_core.mechanisms.detected.stand_ins import candidates
from dptext_core.mechanisms.registry import mechanism_of
from dptext_core.privacy.kinds import ConditionKind, NotProtectedKind
from dptext_core.testing.conformance import check_mechanism
from dptext_core.text.document import Document
from dptext_core.text.languages import ENGLISH

NOTE = "Seen Thursday: Omar Haddad, 67, of 14 Meadow Lane, has lost weight since May. Mrs Brandt and Omar were worried."
#: The same flags, other words.
OTHER = "Seen Monday: Julia Li, 24, of 99 Ox Lane, has lost weight since July. Mrs Montgomery and Julia were worried."
#: Word by word mechanisms, one of each way to draw.
HYBRIDS = ("custext", "diffractor", "santext", "mahalanobis")


def forms(text, detector="rules"):
    document = Document.parse(text)
    return {document.words[f.token]: f.form for f in flag_tokens(document, detector)}


def test_redaction_puts_a_typed_placeholder_in_the_place_of_each_span():
    text = "Mail omar.h@example.org or www.example.org: Omar Haddad, +49 171 5550123, 3 June 2021, New York, room 12."
    released = dpt.get_mechanism("redact").rewrite(text).text
    assert released == "Mail [EMAIL] or [LINK]: [NAME], [PHONE], [DATE], [PLACE], room [NUMBER]."
    assert set(PLACEHOLDERS) == set(KINDS)


def test_a_token_keeps_its_form():
    found = forms(f"{NOTE} Born 12/03/1985, on the 12th of March, J. Berg, sixty-seven, 67-year-old, AB1234567, 3kg.")
    assert found["Omar"] == "first name" and found["Haddad"] == found["Brandt"] == "family name"
    assert (found["Thursday"], found["May"], found["12th"]) == ("weekday", "month", "ordinal")
    assert (found["Meadow"], found["J."], found["sixty-seven"]) == ("street", "initial", "number word")
    assert found["67"] == found["14"] == "99" and found["12/03/1985"] == "99/99/9999"
    assert (found["67-year-old"], found["AB1234567"], found["3kg"]) == ("99-year-old", "AA9999999", "9kg")
    assert forms("Flat 7xyz.")["7xyz"] == "9aaa"


SHAPES = (
    "99 9 999 9,999 99/99/9999 9999-99-99 9.9.99 AA9999999 9kg 99-year-old 9:99 99:99 99:99:99 99:99pm 9/9999 99/9999 "
    "9999-99"
)


@pytest.mark.parametrize("form", [*FORMS, *SHAPES.split()])
def test_stand_ins_are_public_words_of_the_form(form):
    words = candidates(form, ENGLISH)
    assert len(words) == len(set(words)) >= 7 and words == candidates(form, ENGLISH)
    if form[0] in "9A":
        shape = [re.sub("[A-Z]", "A", re.sub(r"\d", "9", w)) for w in words]
        assert set(shape) == {form}
    if form in ("99", "99-year-old"):
        assert {int(w[:2]) for w in words} == set(range(18, 100))
    if clock := {"9:99": "%H:%M", "99:99": "%H:%M", "99:99:99": "%H:%M:%S", "99:99pm": "%I:%Mpm"}.get(form):
        assert all(datetime.datetime.strptime(w, clock) for w in words)
    if month := {"9/9999": "%m/%Y", "99/9999": "%m/%Y", "9999-99": "%Y-%m"}.get(form):
        assert all(1930 <= datetime.datetime.strptime(w, month).year < 2026 for w in words)
    if form in ("99/99/9999", "9999-99-99", "9.9.99"):
        orders = {"99/99/9999": ("%d/%m/%Y", "%m/%d/%Y"), "9999-99-99": ("%Y-%m-%d",), "9.9.99": ("%d.%m.%y",)}[form]
        assert all(datetime.datetime.strptime(w, order) for w in words for order in orders)


def test_equal_words_get_one_stand_in_and_others_their_own():
    m = dpt.get_mechanism("surrogates")
    texts = {m.rewrite(NOTE).text for _ in range(30)}
    assert len(texts) > 25
    for text in texts:
        first, last = re.fullmatch(r"Seen \w+: (\w+) \w+, \d\d, of .* and (\w+) were worried\.", text).groups()
        assert first == last


@pytest.mark.parametrize(
    "text",
    [
        "Omar Haddad came. Haddad left. Mr Haddad is ill.",
        "Haddad called. Omar Haddad is here.",
        "Mr. O'Neill-Smith is ill. O'Neill-Smith left.",
        "Ali Omar met Omar Ali.",
    ],
)
def test_a_name_gets_one_stand_in_wherever_it_stands_in_a_name(text):
    document = Document.parse(text)
    flags = flag_tokens(document, "rules")
    assert len({f.same for f in flags}) == len({document.words[f.token] for f in flags}) < len(flags)
    assert all(len({f.form for f in flags if f.same == same}) == 1 for same in {f.same for f in flags})
    family = {document.words[f.token] for f in flags if f.form == "family name"}
    assert family == {word for word in ("Haddad", "O'Neill-Smith", "Ali") if word in text}


@pytest.mark.parametrize("name, options", [("surrogates", {}), ("custext", {"surrogates": True})])
def test_the_stand_ins_of_a_form_are_listed_once_a_text(name, options, monkeypatch):
    forms = []
    count = lambda form, language: forms.append(form) or candidates(form, language)  # noqa: E731
    for module in (surrogates, hybrid):
        monkeypatch.setattr(module, "candidates", count)
    m = dpt.get_mechanism(name, **options)
    prepared = m.prepare(" ".join(f"{k} {k + 1000}" for k in range(50)))
    m.rewrite(prepared)
    assert sorted(set(forms)) == ["9", "99", "9999"] and len(forms) == 3


def test_a_stand_in_is_uniform_over_its_list():
    m = dpt.get_mechanism("surrogates")
    d = m.distribution(NOTE, 0 + [w for w in Document.parse(NOTE).words].index("Thursday"))
    assert np.allclose(d.probs, 1 / 7) and len(d) == 7
    seen = [r.text.split()[1].rstrip(":") for r in m.rewrites("Seen Thursday: nothing.", 1400, seed=1)]
    counts = np.array([seen.count(day) for day in d.candidates])
    assert counts.sum() == 1400 and abs(counts - 200).max() < 60


@pytest.mark.parametrize("name", ["redact", "surrogates"])
def test_a_reader_learns_nothing_of_a_flagged_word_and_everything_of_another(name):
    m = dpt.get_mechanism(name)
    flagged = dpt.belief(m, NOTE, "Omar", ["Julia", "Karim"], seed=1)
    assert np.allclose(flagged.posterior, 1 / 3)
    other = dpt.belief(m, NOTE, "weight", ["hope", "money"], seed=1)
    assert np.allclose(other.posterior, [1, 0, 0])


@pytest.mark.parametrize("name", ["redact", "surrogates"])
def test_nothing_is_guaranteed_and_it_says_why(name):
    g = dpt.get_mechanism(name).guarantee(NOTE)
    assert g.notion == "none" and g.reason.kind == "unflagged-words" and g.draws == 0
    shown = {e.kind: e.parameters for e in g.exposed}
    assert NotProtectedKind.UNFLAGGED_WORDS in shown
    assert shown[NotProtectedKind.FLAGGED_PLACES]["count"] == (7 if name == "redact" else 9)
    assert (NotProtectedKind.FLAGGED_SHAPES in shown) is (name == "surrogates")


@pytest.mark.parametrize("name", ["redact", "surrogates"])
def test_epsilon_is_refused_where_it_has_no_effect(name):
    with pytest.raises(dpt.ConfigError, match="has no ε"):
        dpt.get_mechanism(name, epsilon=3.0)
    m = dpt.get_mechanism(name)
    assert eval(m.setting.call(), {"dpt": dpt}).config == m.config
    assert [r.text for r in m.sweep(NOTE, [1.0, 5.0], seed=2).results] == [m.rewrite(NOTE, seed=2).text] * 2


# --- stand-ins before a mechanism


@pytest.mark.parametrize("name", [*HYBRIDS, "dp-mlm", "dp-mlm-plus", "dp-mlm-prior"])
def test_with_the_same_noise_texts_that_differ_in_flagged_words_give_one_release(name, tiny_model):
    options = {"model": tiny_model} if name.startswith("dp-mlm") else {}
    m = dpt.get_mechanism(name, surrogates=True, **options)
    assert m.audit_support.adjacent(NOTE, OTHER)
    one, other = (m.rewrite([t] * 3, seed=4) for t in (NOTE, OTHER))
    assert [r.text for r in one] == [r.text for r in other] and len({r.text for r in one}) == 3
    assert m.guarantee(NOTE) == m.guarantee(OTHER)
    plain = m.replace(surrogates=False)
    assert [r.text for r in plain.rewrite([NOTE] * 3, seed=4)] != [r.text for r in plain.rewrite([OTHER] * 3, seed=4)]


def test_the_model_reads_stand_ins_and_no_flagged_word(tiny_model, monkeypatch):
    from dptext_core.mechanisms.masked import masked_prepared

    read = []
    real = masked_prepared.MaskedPrepared.cut

    def cut(self, lm):
        read.append(self.document.text)
        real(self, lm)

    monkeypatch.setattr(masked_prepared.MaskedPrepared, "cut", cut)
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, surrogates=True)
    result = m.rewrite(NOTE)
    assert read and result.original == NOTE
    for text in read:
        assert not {"Omar", "Haddad", "67", "Meadow", "Brandt"} & set(Document.parse(text).words)
    shown = [s.replacement for s in result.steps if s.reason == "flagged"]
    assert len(shown) == 9 and all(word in read[-1] for word in shown)


def test_steps_are_those_of_the_original_text():
    r = dpt.get_mechanism("custext", surrogates=True).rewrite(NOTE, seed=2)
    assert [NOTE[slice(*s.span)] for s in r.steps] == [s.original for s in r.steps]
    assert all(r.text[slice(*s.out)] == s.replacement for s in r.steps)
    flagged = [s for s in r.steps if s.reason == "flagged"]
    assert [s.original for s in flagged][:3] == ["Thursday", "Omar", "Haddad"] and not any(s.epsilon for s in flagged)
    assert sum(s.epsilon for s in r.steps) == pytest.approx(r.guarantee.total)
    i = r.steps.index(flagged[1])
    assert r.distribution(i).p(flagged[1].replacement) == pytest.approx(1 / len(candidates("first name", ENGLISH)))


def test_the_guarantee_compares_texts_with_the_same_flags():
    plain, m = (dpt.get_mechanism("custext", surrogates=on, epsilon=3.0) for on in (False, True))
    g = m.guarantee(NOTE)
    assert (g.notion, g.epsilon) == (plain.guarantee(NOTE).notion, 3.0) and g.draws < plain.guarantee(NOTE).draws
    assert ConditionKind.SAME_FLAGS in {c.kind for c in g.adjacency.conditions}
    assert ConditionKind.SAME_FLAGS in {c.kind for c in g.among.conditions}
    kinds = {e.kind for e in g.exposed}
    assert {NotProtectedKind.FLAGGED_PLACES, NotProtectedKind.FLAGGED_SHAPES, NotProtectedKind.MISSED_WORDS} <= kinds
    assert NotProtectedKind.FLAGS_IN_CONTEXT in kinds
    alone = m.replace(detector="words").guarantee(NOTE)
    assert NotProtectedKind.FLAGS_IN_CONTEXT not in {e.kind for e in alone.exposed}
    assert not m.audit_support.adjacent(NOTE, NOTE.replace("Omar", "omelette"))
    assert not m.audit_support.adjacent(NOTE, NOTE.replace("and Omar", "and Karim")), "repetitions"


def test_the_ledger_counts_sampled_words_alone():
    m = dpt.get_mechanism("custext", surrogates=True)
    words = Document.parse(NOTE).words
    drawn = [words[i] for i in m.alignment.sampled_tokens(NOTE)]
    assert "weight" in drawn and not {"Omar", "67", "May", "Meadow"} & set(drawn)


def test_a_reader_learns_nothing_of_a_flagged_word_and_of_another_as_before():
    plain, m = (dpt.get_mechanism("santext", surrogates=on, epsilon=12.0) for on in (False, True))
    result = m.rewrite(NOTE, seed=1)
    assert np.allclose(dpt.belief(m, NOTE, "Omar", ["Julia", "Karim"], result=result, draws=0).posterior, 1 / 3)
    (step,) = [s for s in result.steps if s.original == "weight"]
    own = dpt.belief(m, NOTE, "weight", ["hope", "money"], result=result, draws=0).posterior
    words = [plain.distribution(w, 0).p(step.replacement) for w in ("weight", "hope", "money")]
    assert np.allclose(own, np.array(words) / sum(words)) and own[0] != pytest.approx(1 / 3)


def test_it_is_made_again_from_its_config_its_setting_and_by_a_copy():
    m = dpt.get_mechanism("custext", surrogates=True, k=5)
    r = m.rewrite(NOTE, seed=3)
    assert m.setting.options["surrogates"] is True and m.setting.make().rewrite(NOTE, seed=3).text == r.text
    assert mechanism_of(r).rewrite(NOTE, seed=3).text == r.text
    for other in (copy.copy(m), pickle.loads(pickle.dumps(m))):
        assert other.rewrite(NOTE, seed=3).text == r.text
    assert m.replace(epsilon=50.0).inner.config.epsilon == 50.0
    assert type(m.replace(surrogates=False)) is dpt.mechanism_class("custext")


def test_no_listed_word_is_a_stand_in():
    never = [w for w in candidates("weekday", ENGLISH) if w != "Friday"]
    m = dpt.get_mechanism("custext", surrogates=True, never=never)
    assert all("Friday" in r.text for r in m.rewrite(["Seen Thursday."] * 5, seed=1))
    with pytest.raises(dpt.ConfigError, match="Shorten"):
        m.replace(never=[*never, "friday"]).rewrite("Seen Thursday.")


def test_draws_for_a_whole_data_set_are_refused():
    with pytest.raises(dpt.ConfigError, match="Choose another strategy"):
        dpt.get_mechanism("custext", surrogates=True, strategy="dataset")


#: The audit's own tests make the others.
QUICK = (
    "steps_cover_the_text",
    "invisible_characters_change_nothing",
    "a_seed_repeats_and_is_marked",
    "the_noise_of_a_text_follows_from_seed_and_place",
    "samples_are_in_their_distribution",
    "a_rewrite_is_as_likely_as_its_pieces",
    "a_sweep_is_the_same_rewrite_at_each_epsilon",
    "a_prepared_text_replaces_its_text",
    "the_guarantee_adds_up",
    "no_listed_word_is_released",
)


@pytest.mark.parametrize("name", ["custext", "dp-mlm-plus"])
def test_a_mechanism_with_stand_ins_conforms(name, tiny_model):
    options = {"model": tiny_model} if name.startswith("dp-mlm") else {}
    for check in QUICK:
        check_mechanism(name, only=check, surrogates=True, **options)


def test_no_shape_of_a_text_stays_in_the_process():
    from dptext_core.mechanisms.detected import stand_ins

    assert stand_ins.candidates("9:9:9", ENGLISH)
    assert not hasattr(stand_ins.candidates, "cache_info")
    with pytest.raises(KeyError):
        stand_ins._listed()["9:9:9"]
    assert stand_ins._named.cache_info().currsize <= len(FORMS)


def test_the_expected_success_with_stand_ins_is_enumerated_where_a_word_is_sampled_from_itself_alone():
    plain, m = (dpt.get_mechanism("custext", surrogates=on, epsilon=3.0) for on in (False, True))
    flagged = dpt.belief(m, NOTE, "Brandt", ["Novak", "Keller", "Rossi"], seed=1).expected_success
    assert (flagged.value, flagged.draws) == (pytest.approx(1 / 4), 0)
    others = ["pounds", "money", "hope"]
    other = dpt.belief(m, NOTE, "weight", others, seed=1).expected_success
    alone = dpt.belief(plain, "weight", "weight", others, seed=1).expected_success
    assert other.draws == alone.draws == 0 and other.value == pytest.approx(alone.value)
    estimated = dpt.belief(m, NOTE, "weight", others, draws=400, seed=1).expected_success
    assert abs(estimated.value - other.value) < 4 * estimated.standard_error + 1e-9
    # A word that the detector does not flag is sampled, so the flags tell it from a weekday.
    missed = dpt.belief(m, NOTE, "Thursday", ["Monday", "garden"], draws=40, seed=1)
    assert missed.expected_success.value > 1 / 3


def test_no_pass_of_a_model_is_needed_where_texts_differ_in_flagged_words_alone(tiny_model):
    m = dpt.get_mechanism("dp-mlm", model=tiny_model, surrogates=True)
    same, other = (
        dpt.belief(m, NOTE, *fact, seed=1, draws=None)
        for fact in (("Brandt", ["Novak", "Keller", "Rossi"]), ("weight", ["hope", "money"]))
    )
    assert (same.expected_success.value, same.expected_success.draws) == (pytest.approx(1 / 4), 0)
    assert other.expected_success.draws > 0


def test_another_clipping_range_has_its_own_ends(tiny_model):
    plain = dpt.get_mechanism("dp-mlm", model=tiny_model, clip_min=-1.0, clip_max=1.0)
    one = plain.replace(surrogates=True)
    assert one.config == plain.replace(surrogates=True).config and one.clips_alone is plain.clips_alone
    bundled = dpt.get_mechanism("dp-mlm", surrogates=True).replace(clip="paper")
    wanted = dpt.get_mechanism("dp-mlm", surrogates=True, clip="paper")
    assert bundled.config == wanted.config and type(bundled) is type(wanted)
    assert bundled.replace(surrogates=False).config == dpt.get_mechanism("dp-mlm", clip="paper").config
    assert type(wanted).clipping.ranges({}) == type(plain).clipping.ranges({})
