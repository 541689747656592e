"""The ledger adds what adds up, refuses what does not, and exports no text."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from datetime import UTC, datetime

import numpy as np
import pytest
from foreign import Latent, Swap
from small_spaces import on, over, random_space, small_bundle, words

import dptext_core as dpt
from dptext_core import Guarantee, InputError, NoiseStream
from dptext_core.measure import ledger as module
from dptext_core.measure.ledger import Ledger
from dptext_core.mechanisms.words.diffractor import Diffractor

TEXT = "The doctor changed the dose of insulin."
OTHER = "A lawyer moved to Lisbon in winter."
WORDS = 4  # drawn words of TEXT


def diffractor(epsilon=2.0, **options):
    return dpt.get_mechanism("diffractor", epsilon=epsilon, **options)


def custext(epsilon=3.0, **options):
    return dpt.get_mechanism("custext", epsilon=epsilon, **options)


def clock():
    return datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_only_what_is_released_counts():
    ledger, m = Ledger(clock), diffractor()
    r = m.rewrite(TEXT)
    entry = ledger.record(r)
    assert not entry.released and entry.total == r.guarantee.total == 2.0 * WORDS and entry.time == clock()
    assert "nothing was released" in ledger.account(1).sentence()
    ledger.record(r, released=True)
    assert len(ledger.entries) == 1 and ledger.entries[0].released and not entry.released, "entries do not change"
    assert ledger.account(1).totals[0].epsilon == 2.0 * WORDS
    ledger.record(r)
    assert ledger.entries[0].released, "what has left does not come back"


def test_fresh_draws_add_up_by_text():
    ledger, m = Ledger(), diffractor()
    for _ in range(3):
        ledger.record(m.rewrite(TEXT), released=True)
    ledger.record(m.rewrite(OTHER), released=True)
    first, second = ledger.accounts()
    assert first.totals[0].epsilon == pytest.approx(3 * 2.0 * WORDS) and first.totals[0].releases == 3
    assert (
        "(3 releases)" in first.sentence()
        and "metric differential privacy for each unit of distance (places on the list)" in first.sentence()
    )
    assert (second.text, second.releases) == (2, 1) and ledger.draws(1) == 3 and not first.void


def test_a_distance_that_is_cut_off_adds_up_as_the_distance_itself():
    """min(d, γ) is at most d, whatever γ is; it is another one at each ε."""
    places = [over(small_bundle([words(200)]), Diffractor, noise="tem", epsilon=e) for e in (0.05, 1.0, 2.0)]
    space = random_space()
    euclidean = [on(space, "tem", epsilon=e) for e in (0.1, 20.0, 40.0)] + [on(space, "santext", epsilon=3.0)]
    for releases in (places, euclidean):
        assert len({m.guarantee("badoq").metric for m in releases}) == 3
        ledger = Ledger()
        for m in releases:
            ledger.record(m.rewrite("badoq"), released=True)
        (total,) = ledger.account(1).totals
        assert total.epsilon == pytest.approx(sum(m.config.epsilon for m in releases)) and total.releases == len(
            releases
        )
        assert "γ" not in ledger.account(1).sentence()
        ledger.record_rows(releases[1], [("badoq", releases[1].guarantee("badoq"))], "a run", released=True)
        assert len(ledger.account(1).totals) == 1


def test_places_on_other_lists_are_another_distance():
    ledger = Ledger()
    for lists in (("L2",), ("minilm-1",), ("minilm-1", "minilm-2"), ("minilm-1", "minilm-input-1")):
        ledger.record(diffractor(lists=lists).rewrite(TEXT), released=True)
    account = ledger.account(1)
    assert len(account.totals) == 4 and "(places on the list: minilm-1)" in account.sentence()


def test_a_text_that_was_never_recorded_has_an_account_of_its_own():
    ledger, m = Ledger(), diffractor()
    for text in (TEXT, OTHER):
        ledger.record(m.rewrite(text), released=True)
    assert ledger.account("never seen").sentence() == "This text: nothing was released, so nothing was spent."
    assert "cannot detect): ε = " in ledger.overall().sentence()


@pytest.mark.parametrize("wrong", [True, False, 0, -1, 3, 1.0, None, b"text"])
def test_what_is_no_text_of_the_ledger_has_no_account(wrong):
    ledger = Ledger()
    for text in (TEXT, OTHER):
        ledger.record(diffractor().rewrite(text))
    for asked in (ledger.account, ledger.draws):
        with pytest.raises(InputError, match="number of a text"):
            asked(wrong)


def test_of_a_text_that_is_typed_what_it_is_by_now_stays_and_it_is_one_text():
    ledger, m, stream = Ledger(), diffractor(), NoiseStream()
    typed = [TEXT[:12], TEXT[:20], TEXT]
    for before, text in zip([None, *typed], typed, strict=False):
        ledger.record(m.rewrite(text, stream=stream), edited=before)
    assert [e.text for e in ledger.entries] == [1] and ledger.draws(TEXT) == 1
    again = m.rewrite(TEXT)
    ledger.record(again)
    ledger.record(m.rewrite(f"{TEXT} It helped."), edited=TEXT)
    assert ledger.draws(1) == 3 and len(ledger.accounts()) == 1, "who drew again before an edit drew more than once"


def test_releases_before_and_after_an_edit_add_up_and_share_no_noise():
    ledger, m, stream, longer = Ledger(), diffractor(), NoiseStream(), f"{TEXT} It helped."
    first = m.rewrite(TEXT, stream=stream)
    ledger.record(first, released=True)
    assert not ledger.spent(first.noise_id, TEXT), "the same text under its own noise is judged by the account"
    shared = m.rewrite(longer, stream=stream)
    ledger.record(shared, edited=TEXT)
    assert ledger.spent(shared.noise_id, longer) and first.noise_id == shared.noise_id
    assert [e.released for e in ledger.entries] == [True, False], "what has left stays written down"
    assert ledger.knows(shared.noise_id, longer) and not ledger.knows(m.rewrite(longer).noise_id, longer)
    assert not ledger.knows(shared.noise_id, f"{longer} Again."), "of a text nobody drew from, nothing is known"
    fresh = m.rewrite(longer)
    ledger.record(fresh, released=True, edited=TEXT)
    (account,) = ledger.accounts()
    assert not ledger.spent(fresh.noise_id, longer) and not account.void
    assert account.totals[0].epsilon == pytest.approx(first.guarantee.total + fresh.guarantee.total)
    ledger.record(shared, released=True)
    assert "share their noise" in ledger.account(longer).void


@pytest.mark.slow
def test_different_notions_stand_side_by_side():
    ledger = Ledger()
    ledger.record(diffractor().rewrite(TEXT), released=True)
    ledger.record(custext().rewrite(TEXT), released=True)
    ledger.record(custext(mapping="conservative").rewrite(TEXT), released=True)
    account = ledger.account(1)
    assert sorted(t.epsilon for t in account.totals) == [8.0, 12.0, 12.0], "other groups are another promise"
    assert "which do not add" in account.sentence()


def test_a_pure_promise_and_an_approximate_one_add_up():
    def entry(notion: str, delta: float) -> Guarantee:
        return Guarantee(notion, 3.0, "text", "any two texts", 1, 3.0, delta=delta)

    ledger, m = Ledger(), Latent.create()
    for n, promise in enumerate((entry("pure", 0.0), entry("approx", 0.4), entry("approx", 0.4))):
        ledger.record_rows(m, [(TEXT, promise)], f"run {n}", released=True)
    (account,) = ledger.accounts()
    (total,) = account.totals
    assert (total.epsilon, total.delta, total.releases) == (9.0, 0.8, 3)
    assert "ε = 9, δ = 0.8 (3 releases), approximate differential privacy" in account.sentence()
    ledger.record_rows(m, [(TEXT, entry("approx", 0.4))], "run 3", released=True)
    assert "no guarantee, because δ adds up to 1 (4 releases)" in ledger.accounts()[0].sentence()


def test_a_ledger_is_not_copied():
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(InputError, match="belongs to its session"):
            copied(Ledger())


def test_two_of_a_locked_family_have_no_guarantee():
    ledger, stream = Ledger(), NoiseStream()
    a, b = (diffractor(e).rewrite(TEXT, stream=stream) for e in (1.0, 2.0))
    ledger.record(a, released=True)
    ledger.record(b)
    assert not ledger.account(1).void, "looking is free"
    assert ledger.draws(1) == 1
    forecast = ledger.what_if([b])
    assert (
        "no guarantee" in forecast
        and "share their noise" in forecast
        and len([e for e in ledger.entries if e.released]) == 1
    )
    ledger.record(b, released=True)
    assert "no guarantee" in ledger.account(1).sentence()


def test_one_output_released_twice_is_one_release():
    ledger, stream = Ledger(), NoiseStream()
    for _ in range(2):
        ledger.record(diffractor().rewrite(TEXT, stream=stream), released=True)
    assert ledger.account(1).releases == 1 and not ledger.account(1).void


@pytest.mark.slow
def test_shared_noise_counts_across_texts_and_mechanisms():
    stream = NoiseStream()
    ledger = Ledger()
    ledger.record(diffractor().rewrite(TEXT, stream=stream), released=True)
    ledger.record(diffractor().rewrite(OTHER, stream=stream), released=True)
    assert all("share their noise" in a.void for a in ledger.accounts())
    ledger = Ledger()
    ledger.record(diffractor().rewrite(TEXT, stream=stream), released=True)
    ledger.record(custext().rewrite(TEXT, stream=stream), released=True)
    assert "share their noise" in ledger.account(1).void


def test_words_drawn_once_for_all_texts_are_no_locked_family():
    ledger = Ledger()
    for r in custext(strategy="dataset").rewrite([TEXT, TEXT + " Again.", OTHER]):
        ledger.record(r, released=True)
    totals = [a.totals[0].epsilon for a in ledger.accounts()]
    assert len(set(totals)) == 1 and not any(a.void for a in ledger.accounts())


def shared(results, noise_id="one noise"):
    """The results as if all of them had been drawn with one noise."""
    return [dataclasses.replace(r, noise_id=noise_id) for r in results]


def released(*results):
    ledger = Ledger()
    for r in results:
        ledger.record(r, released=True)
    return ledger


def test_texts_of_one_list_share_their_noise_and_count_once():
    ledger = released(*shared(custext(strategy="dataset").rewrite([TEXT, OTHER])))
    assert [t.epsilon for a in ledger.accounts() for t in a.totals] == [24.0, 24.0]
    assert not any(a.void for a in ledger.accounts()) and (ledger.draws(1), ledger.draws(2)) == (1, 1)


@pytest.mark.parametrize("place", [TEXT, OTHER])
@pytest.mark.parametrize("other", [{"epsilon": 5.0}, {"strategy": "record"}, {"epsilon": 3.0000001}])
def test_results_of_one_family_are_never_added_up(place, other):
    options = {"epsilon": 3.0, "strategy": "dataset"}
    first = custext(**options).rewrite([TEXT, OTHER])
    second = custext(**options | other).rewrite([place, TEXT + " " + OTHER])
    ledger = released(*shared([*first, second[0]]))
    # A text whose release shares no noise with another setting's keeps its promise; none of these does.
    assert all("share their noise" in a.sentence() and "ε = " not in a.sentence() for a in ledger.accounts())
    assert "share their noise" in released(shared([first[0]])[0]).what_if(shared([second[0]]))


def test_the_same_noise_in_two_calls_has_no_finite_epsilon():
    """Its words were drawn for both, so that equal words show across them; neither total counts the other's."""
    stream = NoiseStream()
    m = custext(strategy="dataset")
    (first,), (second,) = (m.rewrite([t], stream=stream) for t in (TEXT, OTHER))
    assert first.guarantee.total == second.guarantee.total
    ledger = released(*shared([first, second]))
    assert all("share their noise" in a.void for a in ledger.accounts())


def test_one_output_in_two_lists_counts_with_the_larger_total():
    stream = NoiseStream()
    m = custext(strategy="dataset")
    short, long = m.rewrite([TEXT], stream=stream), m.rewrite([TEXT, OTHER], stream=stream)
    assert short[0].text == long[0].text
    for order in ([short[0], long[0]], [long[0], short[0]]):
        (account,) = released(*shared(order)).accounts()
        assert account.releases == 1 and account.totals[0].epsilon == 24.0 and not account.void


def test_fresh_noise_of_lists_adds_up():
    m = custext(strategy="dataset")
    ledger = released(*(r for k in range(3) for r in shared(m.rewrite([TEXT, OTHER]), f"noise {k}")))
    assert [(a.totals[0].epsilon, a.releases, a.void) for a in ledger.accounts()] == [(72.0, 3, "")] * 2


def test_entries_say_which_draw_they_belong_to():
    ledger, stream = Ledger(), NoiseStream()
    for e in (1.0, 2.0):
        ledger.record(diffractor(e).rewrite(TEXT, stream=stream))
    ledger.record(diffractor().rewrite(OTHER))
    ledger.record(diffractor().rewrite(TEXT))
    assert [ledger.draw_of(e) for e in ledger.entries] == [1, 1, 1, 2]
    assert ledger.draws(1) == ledger.draws(TEXT) == 2 and ledger.draws("never seen") == 0
    assert [d["draw"] for d in ledger.to_dict()["draws"]] == [1, 1, 1, 2]
    assert ledger.account(OTHER) == ledger.account(2)


def test_totals_are_rounded_up():
    r = diffractor().rewrite(TEXT)
    odd = dataclasses.replace(r, guarantee=dataclasses.replace(r.guarantee, total=1234.49))
    assert "ε = 1,235" in released(odd).account(1).sentence()


def test_seeded_and_promise_free_releases_say_so():
    ledger = Ledger()
    ledger.record(diffractor().rewrite(TEXT, seed=1), released=True)
    account = ledger.account(1)
    assert account.seeded == 1 and "no guarantee" in account.sentence() and "not private" in account.sentence()
    ledger = Ledger()
    ledger.record(custext().rewrite(TEXT), released=True)
    forecast = ledger.what_if([dpt.get_mechanism("gumbel").rewrite(TEXT)])
    assert "no guarantee" in forecast and "nearest words" in forecast
    assert not ledger.account(1).void and len(ledger.entries) == 1


def test_what_if_adds_to_what_was_released_and_writes_nothing():
    ledger, m = Ledger(), diffractor()
    ledger.record(m.rewrite(TEXT), released=True)
    ledger.record(m.rewrite(TEXT))
    forecast = ledger.what_if([m.rewrite(TEXT), m.rewrite(TEXT), m.rewrite(OTHER)])
    assert "Text 1: ε = 24 (3 releases), " in forecast and "Text 2: ε = 8, " in forecast
    assert len(ledger.entries) == 2 and ledger.account(1).totals[0].epsilon == 8
    assert "releases nothing and spends nothing" in ledger.what_if([])
    numbers = ledger.record(m.rewrite("Another nurse."), released=True).text
    assert numbers == 2, "a text that was only asked about has no number"


def test_deltas_add_up_too():
    r = diffractor().rewrite(TEXT)
    approx = dataclasses.replace(r.guarantee, notion="approx", metric="", delta=1e-6, draws=4, total=2.0)
    ledger = Ledger()
    for noise_id in "ab":
        ledger.record(dataclasses.replace(r, guarantee=approx, noise_id=noise_id), released=True)
    (total,) = ledger.account(1).totals
    assert (total.epsilon, total.delta) == (4.0, pytest.approx(8e-6)) and "δ = 8e−6" in ledger.account(1).sentence()


def test_exports_hold_no_text():
    ledger = Ledger(clock)
    ledger.record(diffractor().rewrite(TEXT), released=True)
    ledger.record(custext(epsilon=(1.0,) * 8).rewrite(TEXT))
    text = ledger.to_json()
    data = json.loads(text)
    assert data["draws"][0]["released"] and data["draws"][0]["time"] == "2025-01-02T03:04:05+00:00"
    assert data["draws"][0]["config"]["epsilon"] == 2.0 and data["draws"][1]["total"] == 4.0
    assert data["texts"][0]["draws"] == 2 and data["texts"][0]["totals"][0]["epsilon"] == 8.0
    for e in ledger.entries:
        assert e._output and str(e._output) not in text and str(e._output) not in repr(e)
    assert TEXT not in text and "insulin" not in text and "insulin" not in repr(ledger)


def test_the_page_lists_the_latest_first():
    pytest.importorskip("streamlit")
    from dptext_studio.components.ledger import budget_table

    ledger = Ledger(clock)
    ledger.record(diffractor().rewrite(TEXT, seed=3), released=True)
    ledger.record(dpt.get_mechanism("gumbel").rewrite(TEXT))
    rows = budget_table(ledger)
    assert rows["mechanism"] == ["Truncated Gumbel", "1-Diffractor"] and rows["released"] == [False, True]
    assert rows["note"] == ["no guarantee", "seeded, not private"] and rows["total ε"] == ["none", "8"]


def test_the_page_shows_one_row_for_what_was_looked_at_of_a_draw():
    pytest.importorskip("streamlit")
    from dptext_studio.components.ledger import budget_table

    ledger, stream = Ledger(clock), NoiseStream()
    for e in (1.0, 2.0, 1234.4 / WORDS):
        ledger.record(diffractor(e).rewrite(TEXT, stream=stream))
    ledger.record(custext().rewrite(TEXT, stream=stream))
    ledger.record(diffractor(2.0).rewrite(TEXT, stream=stream), released=True)
    for _ in range(2):
        ledger.record(diffractor().rewrite(TEXT))
    rows = budget_table(ledger)
    assert rows["draw"] == [3, 2, 1, 1] and rows["settings"] == [1, 1, 1, 3] and len(set(rows["draw"])) == 3
    assert rows["released"] == [False, False, True, False]
    assert rows["total ε"] == ["8", "8", "8", "4 to 1,235"]
    assert rows["mechanism"][3] == "1-Diffractor, CusText"


def test_noise_that_serves_two_places_has_one_name():
    """Under dataset a word's noise is the same wherever its text stands: two ε of it never add up to a number."""
    stream = NoiseStream()
    first = custext(epsilon=1.0, strategy="dataset").rewrite([TEXT, OTHER], stream=stream)
    second = custext(epsilon=30.0, strategy="dataset").rewrite([OTHER, TEXT], stream=stream)
    assert {r.noise_id for r in (*first, *second)} == {first[0].noise_id}
    ledger = released(first[0], second[1])
    assert ledger.account(1).void and "no guarantee" in ledger.account(1).sentence()
    apart = custext(strategy="token").rewrite([TEXT, OTHER], stream=stream)
    assert len({r.noise_id for r in apart}) == 2


# --- which text is which


@pytest.mark.parametrize(
    "other",
    [
        TEXT + " ",
        TEXT.replace(" ", "  "),
        TEXT.replace(" ", "\n"),
        "  " + TEXT.upper(),
        TEXT.replace("dose", "do\u200bse").replace(".", "!"),
        "The doctor, changed the dose \uff4ff insulin",
        "The \u3164doctor\U000e0041 changed\u2800 the ⓓⓞⓢⓔ of insulin",
    ],
)
def test_a_blank_a_mark_or_a_capital_makes_no_other_text(other):
    ledger, m = Ledger(), diffractor()
    for text in (TEXT, other, TEXT):
        ledger.record(m.rewrite(text), released=True)
    (account,) = ledger.accounts()
    assert account.releases == 3 and account.totals[0].epsilon == sum(m.guarantee(t).total for t in (TEXT, other, TEXT))
    assert "(3 releases)" in ledger.what_if([]) or ledger.overall() is None
    assert ledger.draws(other) == ledger.draws(TEXT) == 3 and ledger.account(other) == account


def test_texts_of_which_the_same_words_are_drawn_are_one_in_what_the_promise_compares():
    ledger, m = Ledger(), diffractor()
    ledger.record(m.rewrite(TEXT), released=True)
    ledger.record(m.rewrite(TEXT.replace("The", "My")), released=True)
    (account,) = ledger.accounts()
    assert account.totals[0].epsilon == 2 * 2.0 * WORDS
    # The same change under a mechanism that draws all words is another text, and is said to be perhaps of one person.
    ledger, m = Ledger(), diffractor(keep_stopwords=False)
    for text in (TEXT, TEXT.replace("The", "My")):
        ledger.record(m.rewrite(text), released=True)
    assert len(ledger.accounts()) == 2


def test_what_joins_two_texts_gives_them_one_number():
    ledger, all_words = Ledger(), diffractor(keep_stopwords=False)
    mine = TEXT.replace("The", "My")
    first, second = (ledger.record(all_words.rewrite(t), released=True) for t in (TEXT, mine))
    ledger.record(all_words.rewrite(OTHER), released=True)
    assert (first.text, second.text) == (1, 2)
    for text in (TEXT, mine):
        ledger.record(diffractor().rewrite(text), released=True)
    assert [e.text for e in ledger.entries] == [1, 1, 3, 1, 1]
    assert [(a.text, a.releases) for a in ledger.accounts()] == [(1, 4), (3, 1)]
    assert ledger.account(TEXT) == ledger.account(mine) == ledger.account(1)
    with pytest.raises(InputError, match="no text 2"):
        ledger.account(2)


def test_what_cannot_be_told_apart_is_said_with_its_sum():
    ledger, m = Ledger(), diffractor()
    assert ledger.overall() is None
    ledger.record(m.rewrite(TEXT), released=True)
    ledger.record(m.rewrite(OTHER))
    assert ledger.overall() is None, "looking at another text joins nothing"
    forecast = ledger.what_if([m.rewrite(OTHER)])
    assert "cannot detect): ε = 16 (2 releases)" in forecast
    ledger.record(m.rewrite(OTHER), released=True)
    overall = ledger.overall()
    assert overall.totals[0].epsilon == sum(a.totals[0].epsilon for a in ledger.accounts()) == 16.0
    assert overall.to_dict() == ledger.to_dict()["together"]
    ledger.record(m.rewrite(OTHER + " Again.", seed=1), released=True)
    assert "no guarantee" in ledger.overall().sentence()


@pytest.mark.parametrize("texts", [("\U0001f642", "\U0001f641"), ("!", "?"), ("", "?")])
def test_texts_without_letters_are_told_apart_by_their_marks(texts):
    ledger = Ledger()
    for text in texts:
        ledger.record(diffractor().rewrite(text))
    assert len(ledger.accounts()) == 2


def test_a_ledger_holds_no_text_and_no_hash_that_others_could_make():
    ledgers = [Ledger(), Ledger()]
    for ledger in ledgers:
        ledger.record(diffractor().rewrite(TEXT, seed=1))
    one, other = (set(ledger._texts) for ledger in ledgers)
    assert len(one) == len(other) == 2 and not one & other
    assert ledgers[0].entries[0]._output != ledgers[1].entries[0]._output
    everything = repr([vars(ledger) for ledger in ledgers]).lower()
    assert not any(word in everything for word in ("doctor", "insulin", "dose"))


class Chorus(Swap):
    """Rewrites each text by the first: somebody's own mechanism whose texts share what they draw."""

    name, title = "chorus", "Chorus"
    shares = True

    @property
    def shares_draws(self):
        return self.shares

    def rewrite_list(self, texts, stream, task):
        one = stream.at(0)
        total = max(self.guarantee(t).total for t in texts)
        results = [self.rewrite_prepared(self.prepare(t), one, dpt.Task()) for t in texts]
        return [dataclasses.replace(r, guarantee=dataclasses.replace(r.guarantee, total=total)) for r in results]


def test_whose_texts_share_noise_is_asked_of_the_mechanism_and_of_no_option(monkeypatch):
    """A plugin and CusText with strategy dataset are treated alike, and so is one that shares and does not say so."""
    texts = ["my doctor and my sister", "the doctor likes water"]
    for m in (Chorus.create(), custext(strategy="dataset")):
        ledger = released(*m.rewrite(texts))
        assert not any(a.void for a in ledger.accounts()), m.name
        assert len({a.totals[0].epsilon for a in ledger.accounts()}) == 1
        assert ledger.overall().totals[0].epsilon == ledger.account(1).totals[0].epsilon, "drawn once for all"
        both = m.rewrite(texts) + m.rewrite(texts)
        assert released(*both).overall().totals[0].epsilon == 2 * both[0].guarantee.total
    monkeypatch.setattr(Chorus, "shares", False)
    assert all("share their noise" in a.void for a in released(*Chorus.create().rewrite(texts)).accounts())


def test_texts_of_one_list_that_differ_by_a_blank_are_drawn_once():
    results = custext(strategy="dataset").rewrite([TEXT, TEXT.replace(" ", "  ")])
    (account,) = released(*results).accounts()
    assert not account.void and account.totals[0].epsilon == results[0].guarantee.total


@pytest.mark.slow
def test_groups_of_different_spaces_or_distances_do_not_add():
    space, made = random_space(), {"epsilon": 3.0, "k": 8}
    text = " ".join(space.words[:5])
    for other in ({"metric": "euclidean"}, {"k": 5}):
        ledger = released(*(on(space, "custext", **made | more).rewrite(text) for more in ({}, other)))
        assert len(ledger.account(1).totals) == 2, other


def test_what_is_no_rewrite_and_no_text_is_refused():
    polished = dpt.get_mechanism("custext", epsilon=3.0).rewrite("My doctor came.", seed=0).polished()
    with pytest.raises(dpt.InputError, match="only record rewrites"):
        Ledger().record(polished, released=True)
    with pytest.raises(dpt.InputError, match="the text itself"):
        Ledger().account(None)


# --- data sets


def rows_of(m, texts):
    return [(t, m.guarantee(t)) for t in texts]


def test_a_data_set_is_one_entry_with_its_rows_and_both_totals():
    ledger, m = Ledger(clock), diffractor()
    texts = [TEXT, OTHER, "The doctor and the nurse."]
    entry = ledger.record_rows(m, [*rows_of(m, texts), ("lost", None)], "run", released=True)
    each = [m.guarantee(t).total for t in texts]
    assert (entry.rows, entry.total, entry.one, entry.epsilon) == (4, sum(each), max(each), 2.0)
    account = ledger.account(1)
    assert account.sentence().startswith(
        "Data set 1 (4 rows): at most ε = 8, metric differential privacy for each unit of distance (places on the "
        "list), for one text in it. For an author of all rows: ε = 20, metric"
    )
    assert ledger.account(OTHER) == account, "its rows are known again"
    assert json.loads(ledger.to_json())["draws"][0]["rows"] == 4 and "insulin" not in ledger.to_json()


def test_a_run_that_goes_on_or_leaves_again_is_no_second_release():
    ledger, m = Ledger(), diffractor()
    rows = rows_of(m, [TEXT, OTHER])
    for part in (rows[:1], rows, rows, rows[:1]):
        ledger.record_rows(m, part, "run", released=True)
    assert len(ledger.entries) == 1 and ledger.entries[0].rows == 2 and ledger.entries[0].total == 16.0
    ledger.record_rows(m, rows, "another run", released=True)
    account = ledger.account(1)
    assert account.totals[0].epsilon == 32.0 and account.each[0].epsilon == 16.0 and not account.void


def test_rows_with_one_text_add_up_and_meet_the_same_text_elsewhere():
    ledger, m = Ledger(), diffractor()
    ledger.record(m.rewrite(TEXT), released=True)
    ledger.record(m.rewrite(OTHER), released=True)
    entry = ledger.record_rows(m, rows_of(m, [TEXT, TEXT + " ", "A nurse."]), "run", released=True)
    assert entry.one == 16.0 and entry.text == 1
    assert ledger.account(1).each[0].epsilon == 24.0 and ledger.account(1).totals[0].epsilon == 8 + 16 + 2
    assert ledger.account(2).totals[0].epsilon == 8.0, "a text that is no row of it stays apart"


def test_rows_of_which_the_same_words_are_drawn_are_one_text_and_so_beside_others():
    m, alike = dpt.get_mechanism("custext", epsilon=3.0), "The doctor treated her sister!"
    one = "My doctor treated my sister."
    assert m.guarantee(one).total == m.guarantee(alike).total == 9.0
    ledger = Ledger()
    assert ledger.record_rows(m, rows_of(m, [one, alike, "A nurse."]), "run", released=True).one == 18.0
    for first_row in (True, False):
        ledger = Ledger()
        if first_row:
            ledger.record_rows(m, rows_of(m, [one]), "run", released=True)
        ledger.record(m.rewrite(alike), released=True)
        if not first_row:
            ledger.record_rows(m, rows_of(m, [one]), "run", released=True)
        assert len(ledger.accounts()) == 1 and ledger.accounts()[0].totals[0].epsilon == 18.0
    # Through a third text: the first and the last have neither letters nor drawn words in common.
    said = m.guarantee(one)
    told = [("my doctor, and Zqxv", said), ("the doctor and zqxw", said), ("The doctor and ZQXW.", said)]
    assert Ledger().record_rows(m, told, "run").one == 3 * said.total
    # What is drawn without a look at the word tells no text from another.
    drawn_blindly = dpt.get_mechanism("custext", oov="random").rewrite("zqxv zqxw")
    ledger = Ledger()
    assert ledger.record(drawn_blindly).text != ledger.record(m.rewrite("zqxw zqxv")).text


@pytest.mark.parametrize("m", [Chorus.create(), custext(strategy="dataset")], ids=lambda m: m.name)
def test_what_all_rows_draw_once_is_spent_once(m):
    texts = ["my doctor and my sister", "the doctor likes water"]
    rows = [(r.original, r.guarantee) for r in m.rewrite(texts)]
    entry = released().record_rows(m, rows, "run")
    assert entry.total == entry.one == rows[0][1].total > 0


def test_a_data_set_without_a_promise_says_so():
    ledger, m = Ledger(), diffractor()
    seeded = m.rewrite(TEXT, seed=1).guarantee
    ledger.record_rows(m, [(TEXT, seeded)], "run", released=True)
    assert "not private" in ledger.account(1).sentence()
    ledger, m = Ledger(), dpt.get_mechanism("gumbel")
    ledger.record_rows(m, rows_of(m, [TEXT]), "run", released=True)
    assert "no guarantee" in ledger.account(1).sentence() and ledger.to_dict()["draws"][0]["one"] is None
    ledger.record_rows(diffractor(), [("lost", None)], "lost", released=True)
    assert ledger.entries[1].total == 0.0


def test_what_left_is_listed_once_with_what_it_means():
    ledger = Ledger(clock)
    for _ in range(2):
        ledger.take("audit", "audit.json", "private")
    ledger.take("about", "papers.bib", "nothing")
    assert [(t.page, t.file) for t in ledger.exports] == [("audit", "audit.json"), ("about", "papers.bib")]
    assert [t["means"][:9] for t in ledger.to_dict()["taken"]] == ["your text", "nothing o"]


def test_two_sets_of_hashes_have_one_in_common_or_none():
    common = lambda a, b: module._common(np.array(a, np.uint64), np.array(b, np.uint64))  # noqa: E731
    top = 2**64 - 1
    assert common([5], [5]) and common([9, 1], [0, 1, 4]) and common([top], [0, top]) and common([0, 7], [0, 3])
    assert not any(common(*pair) for pair in ([[6], [5]], [[4], [5]], [[], [1]], [[1], []], [[0, top], [1, 2, 3]]))


def test_the_sums_of_a_data_set_are_those_of_its_rows():
    """Of all rows, and of the text in it of which most is spent; a δ is at most 1."""
    m = Swap.create()
    promise = lambda total, delta=0.4, **more: dataclasses.replace(  # noqa: E731
        m.guarantee("doctor"), notion="approx", epsilon=total / 2, total=total, draws=1, delta=delta, **more
    )
    rows = [
        ("a b", promise(1.0)),
        ("A, b!", promise(2.5)),
        ("c", promise(3.0, 0.3)),
        ("d", None),
        ("a b", promise(0.25)),
    ]
    entry = Ledger(clock).record_rows(m, rows, "run")
    assert (entry.rows, entry.total, entry.one, entry.epsilon) == (5, 6.75, 3.75, 1.5)
    assert (entry.delta, entry.one_delta, entry.seeded, entry.text) == (1.0, 1.0, False, 1)
    few = Ledger(clock).record_rows(m, rows[:3], "run")
    assert (few.rows, few.total, few.one, few.one_delta) == (3, 6.5, 3.5, 0.8) and few.delta == 1.0
    fewer = Ledger(clock).record_rows(m, [rows[0], rows[2]], "run", released=True)
    assert (fewer.one, fewer.one_delta, fewer.delta, fewer.released) == (3.0, 0.4, pytest.approx(0.7), True)
    nothing = dataclasses.replace(promise(9.0), draws=0)
    none = Ledger(clock).record_rows(m, [("a", nothing), ("b", None)], "run")
    assert (none.rows, none.total, none.one, none.delta, none.one_delta) == (2, 0.0, 0.0, 0.0, 0.0)
    ledger = Ledger(clock)
    for name, of in (("run", rows), ("other", rows[2:3]), ("third", rows[2:3])):
        ledger.record_rows(m, of, name, released=True)
    account = ledger.account(1)
    (total,) = account.totals
    (each,) = account.each
    assert (total.epsilon, total.delta, total.releases, account.rows) == (12.75, 1.0, 3, 5)
    assert (each.epsilon, each.delta, each.releases) == (9.75, 1.0, 3)
    message = "no guarantee, because δ adds up to 1 (3 releases)"
    assert (
        account.sentence()
        == f"Data set 1 (5 rows): {message}, for one text in it. For an author of all rows: {message}."
    )


def test_a_run_that_went_on_is_known_by_the_texts_of_its_longest_state():
    m, ledger = Swap.create(), Ledger(clock)
    rows = [(text, m.guarantee(text)) for text in ("a doctor", "the doctor", "no doctor")]
    ledger.record_rows(m, rows[:1], "run", released=True)
    for of in (rows, rows[:2]):
        entry = ledger.record_rows(m, of, "run")
        assert entry.rows == 3 and entry.total == sum(g.total for _, g in rows) and entry.released
        assert [ledger.account(text).rows for text, _ in rows] == [3, 3, 3]
        assert ledger.account("another").rows == 0 and len(ledger.entries) == 1


def test_pure_releases_compose_optimally_and_the_account_says_so():
    ledger, m = Ledger(), Swap.create(epsilon=0.1)
    text = " ".join(["doctor", "nurse", "lawyer"] * 30)
    spent = []
    for _ in range(4):
        r = m.rewrite(text)
        ledger.record(r, released=True)
        spent += [r.guarantee.epsilon] * r.guarantee.draws
    (total,) = ledger.account(1).totals
    together = Guarantee("pure", 0.1, "word", "any two texts", len(spent), sum(spent)).optimal()
    assert total.epsilon == pytest.approx(sum(spent)) and total.optimal == together < total.epsilon
    assert "by optimal composition" in ledger.account(1).sentence()
    assert ledger.to_dict()["texts"][0]["totals"][0]["optimal"] == together
    ledger.record(Latent.create(epsilon=1.0, delta=0.01).rewrite(text), released=True)
    assert ledger.account(1).totals[0].optimal is None, "approximate draws have none"


def test_a_data_set_composes_optimally_for_one_text_and_for_all_rows():
    ledger, m = Ledger(), Swap.create(epsilon=0.1)
    texts = [" ".join([w] * 90) for w in ("doctor", "nurse")]
    rows = [(t, m.guarantee(t)) for t in texts]
    ledger.record_rows(m, rows, "run", released=True)
    account = ledger.account(1)
    assert account.each[0].optimal == rows[0][1].optimal() < account.each[0].epsilon
    draws = sum(g.draws for _, g in rows)
    together = Guarantee("pure", 0.1, "word", "any two texts", draws, 0.1 * draws).optimal()
    assert account.totals[0].optimal == together < account.totals[0].epsilon
