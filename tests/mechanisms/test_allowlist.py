"""Words of an allowlist: copied everywhere, and stated as not protected."""

from __future__ import annotations

import pytest

import dptext_core as dpt
from dptext_core.privacy.kinds import NotProtectedKind

NOTE = "Seen Monday: Omar Haddad, 67, from 14 Meadow Lane. MONDAY is the day for Omar."
LIST = ("Monday", "omar")


def count(m: dpt.Mechanism) -> int | None:
    found = [e for e in m.guarantee(NOTE).exposed if e.kind is NotProtectedKind.ALLOWLIST]
    return found[0].parameters["count"] if found else None


@pytest.mark.parametrize("name", ["redact", "surrogates", "custext", "santext"])
def test_a_listed_word_is_copied_wherever_it_stands_and_listed_as_not_protected(name):
    hybrid = {} if name in ("redact", "surrogates") else {"surrogates": True, "epsilon": 0.1}
    m = dpt.get_mechanism(name, allowlist=LIST, **hybrid)
    for r in m.rewrites(NOTE, 5, seed=1):
        shown = {s.original: (s.replacement, s.action, s.epsilon) for s in r.steps}
        for word in ("Monday", "MONDAY", "Omar"):
            assert shown[word] == (word, "keep", 0.0)
        assert shown["Haddad"][1] == "replace" and "Haddad" not in r.text and "67" not in r.text.split()
    assert count(m) == 4 and count(dpt.get_mechanism(name, **hybrid)) is None
    assert m.config.allowlist == ("monday", "omar")


def test_a_release_states_only_the_length_of_the_list():
    r = dpt.get_mechanism("surrogates", allowlist=LIST).rewrite(NOTE)
    blocked = dpt.get_mechanism("custext", never=LIST).rewrite(NOTE)
    stated = r.to_dict()["config"]["allowlist"]
    assert stated == blocked.to_dict()["config"]["never"] and "omar" not in str(stated)
    assert r.to_dict(trace=True)["config"]["allowlist"] == ("monday", "omar")


def test_a_span_is_cut_at_a_listed_word():
    released = dpt.get_mechanism("redact", allowlist=("lane", "haddad")).rewrite(NOTE).text
    assert released == "Seen [DATE]: [NAME] Haddad, [NUMBER], from [PLACE] Lane. [DATE] is the day for [NAME]."


def test_texts_that_differ_in_flagged_words_alone_stay_adjacent():
    m = dpt.get_mechanism("custext", surrogates=True, allowlist=("haddad",))
    other = NOTE.replace("Omar", "Karim")
    assert m.audit_support.adjacent(NOTE, other)
    assert [r.text for r in m.rewrite([NOTE] * 3, seed=2)] == [r.text for r in m.rewrite([other] * 3, seed=2)]
    assert not m.audit_support.adjacent(NOTE, NOTE.replace("Haddad", "Brandt"))


def test_a_word_on_both_lists_is_refused():
    with pytest.raises(dpt.ConfigError, match="on both the allowlist and the blocklist"):
        dpt.get_mechanism("custext", surrogates=True, allowlist=("omar",), never=("omar",))


def test_a_flagged_number_stays_a_number():
    for name in ("surrogates", "custext", "mahalanobis"):
        m = dpt.get_mechanism(name, **({} if name == "surrogates" else {"surrogates": True}))
        for r in m.rewrites("He is 67, she is 104, in room 8 of 10,000 on 12/03/1985, aged 67-year-old.", 6, seed=3):
            numbers = [s for s in r.steps if any(map(str.isdigit, s.original))]
            assert len(numbers) == 6
            for s in numbers:
                shapes = ["".join("9" if c.isdigit() else c for c in w) for w in (s.original, s.replacement)]
                assert shapes[0] == shapes[1]
