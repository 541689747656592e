"""One total for all words of a text: it always adds up, and the plan says what its list tells."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dptext_core as dpt
from dptext_core.measure import budget
from dptext_core.measure.budget import distribute, frequency_weight

TEXT = "My doctor in Lisbon changed the dose of insulin, and the doctor left Xqzzy."
MECHANISMS = {
    "santext": lambda: dpt.get_mechanism("santext"),
    "custext": lambda: dpt.get_mechanism("custext", strategy="record"),
    "dp-mlm": lambda: dpt.get_mechanism("dp-mlm", keep_stopwords=False),
    "dp-mlm-plus": lambda: dpt.get_mechanism("dp-mlm-plus", add_prob=0.2),
}


PUBLIC = {
    "dp-mlm-prior": lambda: dpt.get_mechanism("dp-mlm-prior"),
    "santext": lambda: dpt.get_mechanism("santext", prior="skeleton"),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_the_kept_words_predict_gets_less_and_nothing_is_exposed(name):
    m = PUBLIC[name]()
    other = "My lawyer in Paris opened the door of silver, and the window broke Xqzzy."
    plan = distribute(m, TEXT, 120.0, "public")
    assert plan.total == 120.0 and plan.sum == pytest.approx(120.0, abs=1e-9)
    assert m.replace(epsilon=plan.epsilons).guarantee(TEXT).total == pytest.approx(120.0, abs=1e-9)
    assert plan.epsilons == distribute(m, other, 120.0, "public").epsilons, "the list is that of every adjacent text"
    assert not any("class" in e or "private" in e for e in plan.exposes)
    open_ = m.public_prior.entropy(TEXT)
    assert set(open_) >= set(m.alignment.sampled_tokens(TEXT)) and all(h > 0 for h in open_.values())
    order = sorted(plan.sampled_tokens, key=lambda i: open_[i])
    given = [plan.epsilons[i] for i in order]
    assert given == sorted(given) and given[0] < given[-1]
    largest = max(open_.values())
    weights = [max(0.2, open_[i] / largest) for i in order]
    assert given == pytest.approx([120.0 * w / math.fsum(weights) for w in weights])


def test_the_values_follow_the_skeleton_at_unknown_words_too():
    m = dpt.get_mechanism("santext", prior="skeleton")
    known = "My doctor in Lisbon changed the dose of insulin, and the doctor left Paris."
    plan, other = (distribute(m, t, 60.0, "public") for t in (TEXT, known))
    assert len(other.sampled_tokens) == len(plan.sampled_tokens) + 1
    ratio = [a / b for a, b in zip(plan.epsilons, other.epsilons, strict=True)]
    # One unit is another, since fewer words share the total: only who knows that learns which word was unknown.
    assert ratio == pytest.approx([ratio[0]] * len(ratio))
    assert plan.exposes == ("which words are unknown, to anyone who knows the total and every ε",)


@pytest.mark.parametrize("options", [{"name": "dp-mlm"}, {"name": "dp-mlm-prior", "prior": "frequency"}])
def test_without_a_proposal_by_place_nothing_says_who_needs_less(options):
    m = dpt.get_mechanism(options["name"], **{k: v for k, v in options.items() if k != "name"})
    with pytest.raises(dpt.ConfigError, match="Use a public prior"):
        distribute(m, TEXT, 120.0, "public")


def words_of(text: str) -> list[str]:
    return [t.text for t in dpt.Document.parse(text).tokens]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("by", ["uniform", "frequency", "hand"])
def test_the_guarantee_of_the_list_is_the_total(name, by):
    m = MECHANISMS[name]()
    shares = {m.alignment.spending(TEXT)[1]: 0.02} if by == "hand" else None
    plan = distribute(m, TEXT, 120.0, by, shares)
    assert len(plan.epsilons) == len(words_of(TEXT)) and all(0 < e <= dpt.MAX_EPSILON for e in plan.epsilons)
    listed = m.replace(epsilon=plan.epsilons).guarantee(TEXT)
    assert listed.total == pytest.approx(120.0, abs=1e-9)
    assert plan.sum == pytest.approx(120.0, abs=1e-9) and math.fsum(plan.shares) == pytest.approx(1.0, abs=1e-12)
    if shares:
        (token,) = shares
        ones = [1.0] * len(plan.epsilons)
        ones[token] = 2.0
        each = m.replace(epsilon=tuple(ones)).guarantee(TEXT).total - m.replace(epsilon=1.0).guarantee(TEXT).total
        assert plan.epsilons[token] * each == pytest.approx(0.02 * 120.0), "what the token spends is its share"


def test_every_word_that_is_drawn_spends_its_value():
    m = MECHANISMS["santext"]()
    plan = distribute(m, TEXT, 60.0, "frequency")
    steps = m.replace(epsilon=plan.epsilons).rewrite(TEXT).steps
    assert {s.index: s.epsilon for s in steps if s.epsilon > 0} == {i: plan.epsilons[i] for i in plan.sampled_tokens}


def test_uniform_is_even_and_tells_only_how_many_are_unknown():
    even = distribute(MECHANISMS["santext"](), TEXT, 60.0)
    assert len(set(even.epsilons)) == 1 and even.epsilons[0] == pytest.approx(60 / len(even.sampled_tokens))
    assert even.exposes == ("how many words are unknown, to anyone who knows the total and every ε",)
    assert distribute(MECHANISMS["dp-mlm"](), TEXT, 60.0).exposes == ()


def test_frequency_weighs_by_the_word_alone_and_gives_rare_words_less():
    m = MECHANISMS["dp-mlm"]()
    plan = distribute(m, TEXT, 100.0, "frequency")
    words = words_of(TEXT)
    weights = [frequency_weight(words[i]) for i in plan.sampled_tokens]
    for share, weight in zip(plan.shares, weights, strict=True):
        assert share == pytest.approx(weight / sum(weights))
    assert frequency_weight("the") == 4 > frequency_weight("insulin") >= 2 > frequency_weight("Xqzzy") == 1
    assert frequency_weight("DOCTOR") == frequency_weight("doctor")
    space = dpt.word_space("minilm")
    assert [frequency_weight(space.words[r]) for r in (0, 999, 1000, 4999, 5000, len(space) - 1)] == [4, 4, 3, 3, 2, 2]
    assert "public frequency class" in plan.exposes[0] and "one of 4" in plan.sentence()
    # Another text with words of the same classes gets the same list.
    like = next(
        w for w in space.words if w.isalpha() and len(w) > 6 and frequency_weight(w) == frequency_weight("doctor")
    )
    assert distribute(m, TEXT.replace("doctor", like), 100.0, "frequency").epsilons == plan.epsilons


def test_tokens_that_spend_nothing_are_valued_by_the_same_rule():
    """An unknown word must not stand out from known ones of its class."""
    m = MECHANISMS["santext"]()
    plan = distribute(m, TEXT, 60.0, "frequency")
    words = words_of(TEXT)
    unit = plan.epsilons[plan.sampled_tokens[0]] / frequency_weight(words[plan.sampled_tokens[0]])
    assert [e / unit for e in plan.epsilons] == pytest.approx([frequency_weight(w) for w in words])


def test_by_hand_the_others_share_the_rest_evenly():
    m = MECHANISMS["dp-mlm"]()
    drawn = m.alignment.spending(TEXT)
    plan = distribute(m, TEXT, 100.0, "hand", {drawn[0]: 0.5, drawn[3]: 0.01})
    values = [plan.epsilons[i] for i in drawn]
    assert values[0] == pytest.approx(50) and values[3] == pytest.approx(1)
    rest = {round(v, 9) for k, v in enumerate(values) if k not in (0, 3)}
    assert rest == {round(49 / (len(drawn) - 2), 9)}
    assert "you consider private" in plan.exposes[0]
    nothing = distribute(m, TEXT, 100.0, "hand", {})
    assert nothing.epsilons == pytest.approx(distribute(m, TEXT, 100.0).epsilons)
    every = distribute(m, TEXT, 100.0, "hand", dict.fromkeys(drawn, 1 / len(drawn)))
    assert every.sum == pytest.approx(100.0, abs=1e-9)


def test_what_was_chosen_by_hand_is_not_seen_at_kept_tokens():
    """They stand at what the words have that nobody chose; where somebody chose for all, at their mean."""
    m = MECHANISMS["dp-mlm"]().replace(keep_stopwords=True)
    drawn = m.alignment.spending(TEXT)
    plan = distribute(m, TEXT, 100.0, "hand", {drawn[0]: 0.5})
    kept = [e for i, e in enumerate(plan.epsilons) if i not in drawn]
    assert kept and set(kept) == {plan.epsilons[drawn[1]]} != {plan.epsilons[drawn[0]]}
    parts = [1 + k for k in range(len(drawn))]
    every = {i: part / sum(parts) for i, part in zip(drawn, parts, strict=True)}
    plan = distribute(m, TEXT, 100.0, "hand", every)
    kept = [e for i, e in enumerate(plan.epsilons) if i not in drawn]
    assert kept == pytest.approx([100 / len(drawn)] * len(kept))


def test_shares_of_all_words_that_nearly_add_up_spend_the_total():
    m = dpt.get_mechanism("dp-mlm")
    plan = distribute(m, "Doctor nurse.", 10.0, "hand", {0: 0.5, 1: 0.5 + 8e-7})
    assert math.fsum(plan.shares) == pytest.approx(1.0, abs=1e-12) and plan.sum == pytest.approx(10.0, abs=1e-11)
    with pytest.raises(dpt.InputError, match="Token 2 is not sampled"):
        distribute(m, "Doctor nurse.", 10.0, "hand", {2: 0.5, 99: 0.1})


def test_the_plan_in_words():
    m = dpt.get_mechanism("dp-mlm")
    assert distribute(m, "The doctor left.", 7.0).sentence() == "2 words, ε = 3.5 per word, together ε = 7."
    assert distribute(m, "The doctor.", 7.0).sentence() == "1 word, ε = 7 per word, together ε = 7."
    said = distribute(m, "The doctor left.", 7.0, "hand", {1: 0.2}).sentence()
    assert said.startswith("2 words, between ε = 1.4 and 5.6 per word, together ε = 7. ")
    assert "This reveals which words you consider private" in said


def test_a_word_that_is_drawn_once_counts_once():
    m = dpt.get_mechanism("custext", strategy="record")
    text = "doctor doctor doctor nurse"
    assert m.alignment.spending(text) == (0, 3)
    assert dpt.get_mechanism("custext").alignment.sampled_tokens(text) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("total", "by", "shares", "says"),
    [
        (0.0, "uniform", None, "above 0"),
        (math.inf, "uniform", None, "above 0"),
        (True, "uniform", None, "above 0"),
        (1e6, "uniform", None, "at most"),
        (10.0, "hand", {1: 0.7, 6: 0.4}, "nothing remains"),
        (10.0, "hand", {1: 0.0}, "above 0"),
        (10.0, "hand", {9: 0.5}, "not sampled"),
        (10.0, "hand", {99: 0.5}, "not sampled"),
        (10.0, "even", None, "one of"),
        (10.0, "hand", None, "shares"),
        (10.0, "uniform", {1: 0.5}, "shares"),
    ],
)
def test_what_cannot_be_is_refused(total, by, shares, says):
    with pytest.raises((dpt.InputError, dpt.ConfigError), match=says):
        distribute(dpt.get_mechanism("dp-mlm"), TEXT, total, by, shares)


def test_what_is_no_share_and_no_word_is_refused():
    m = dpt.get_mechanism("dp-mlm")
    with pytest.raises(dpt.ConfigError, match="must map tokens to shares"):
        distribute(m, TEXT, 10.0, "hand", [0.5])
    with pytest.raises(dpt.InputError, match="no ε at all"):
        distribute(m, TEXT, 5e-324)
    with pytest.raises(dpt.InputError, match="A word must be a str"):
        frequency_weight(3)


def test_shares_of_all_words_must_add_up():
    m = dpt.get_mechanism("dp-mlm")
    with pytest.raises(dpt.InputError, match="Make the sum 100%"):
        distribute(m, "Doctor nurse.", 10.0, "hand", {0: 0.5, 1: 0.4})


def test_texts_and_mechanisms_without_a_list_are_refused():
    with pytest.raises(dpt.InputError, match="nothing to distribute"):
        distribute(dpt.get_mechanism("dp-mlm"), "the of and.", 10.0)
    with pytest.raises(dpt.ConfigError, match="one ε"):
        distribute(dpt.get_mechanism("custext", strategy="dataset"), "doctor nurse", 10.0)


def test_the_largest_total_that_is_offered_is_taken():
    m = dpt.get_mechanism("dp-mlm")
    with pytest.raises(dpt.InputError, match="at most 9,800"):  # 7 drawn words, 1,400 each
        distribute(m, TEXT.replace(" Xqzzy", ""), 9801.0)
    assert distribute(m, TEXT.replace(" Xqzzy", ""), 9800.0).epsilons[1] == pytest.approx(1400)


@given(
    st.lists(st.floats(1e-3, 1.0), min_size=0, max_size=6),
    st.floats(0.01, 3000.0),
    st.lists(st.sampled_from(["doctor", "the", "insulin", "Lisbon", "nurse", "left", "Xq"]), min_size=8, max_size=30),
)
@settings(max_examples=60)
def test_it_always_adds_up(raw, total, words):
    m = dpt.get_mechanism("dp-mlm", keep_stopwords=False)
    text = " ".join(words)
    drawn = m.alignment.spending(text)
    scale = 0.9 / max(1.0, sum(raw))
    shares = {i: r * scale for i, r in zip(drawn, raw, strict=False)}
    try:
        plans = [distribute(m, text, total, "hand", shares), distribute(m, text, total, "frequency")]
    except dpt.InputError as error:
        assert "more than the largest possible" in str(error)
        return
    for plan in plans:
        spent = math.fsum(plan.epsilons[i] for i in plan.sampled_tokens)
        assert abs(spent - total) <= 1e-9 * max(1.0, total) and abs(plan.sum - total) <= 1e-9 * max(1.0, total)
        assert all(0 < e <= dpt.MAX_EPSILON for e in plan.epsilons) and len(plan.epsilons) == len(words)


def test_the_page_reads_edited_rows():
    pytest.importorskip("streamlit")
    from dptext_studio.views.explore.budget import shares, table

    assert shares({"0": {"share": 10.0}, 2: {"share": None}, 1: {}}, (4, 7, 9)) == {4: 0.1}
    plan = distribute(dpt.get_mechanism("dp-mlm"), TEXT, 100.0, "hand", {1: 0.1})
    rows = table(TEXT, plan)
    assert rows["word"][0] == "doctor" and rows["ε"][0] == 10.0 and rows["share, %"][0] == 10.0
    assert sum(rows["share, %"]) == pytest.approx(100, abs=0.1)


def test_a_word_gets_a_fifth_of_what_the_most_open_one_gets_and_no_less(monkeypatch):
    m = dpt.get_mechanism("santext", prior="skeleton")
    entropy = {0: 10.0, 2: 5.0, 3: 1.0}
    monkeypatch.setattr(type(m), "public_prior", SimpleNamespace(entropy=lambda prepared: entropy))
    assert budget._by_openness(m, m.plan("a b c d e")) == [1.0, 1.0, 0.5, 0.2, 1.0]
    entropy.clear()
    assert budget._by_openness(m, m.plan("a b")) == [1.0, 1.0]


def test_one_word_may_have_the_whole_total():
    plan = distribute(dpt.get_mechanism("dp-mlm"), "Doctor.", 10.0, "hand", {0: 1.0})
    assert plan.shares[0] == 1.0 and plan.sum == pytest.approx(10.0)
    with pytest.raises(dpt.InputError, match="at most 1"):
        distribute(dpt.get_mechanism("dp-mlm"), "Doctor.", 10.0, "hand", {0: 1.0 + 1e-9})
