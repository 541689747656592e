"""Rows of a data set: in order, each with its own noise and promise, from any place on, in bounded memory."""

from __future__ import annotations

import itertools
import json

import pytest
from foreign import Generator, Latent, Swap

import dptext_core as dpt
from dptext_core.data.records import DatasetGuarantee, rewrite_part, rewrite_records, seeded_stream, shared_draws
from dptext_core.data.rewriting import OWN, guarantee_of, line_of

TEXT = "My doctor sent a letter to my sister."


def rows(n: int):
    return ({"id": i, "text": f"Row {i}: {TEXT}"} for i in range(n))


class Picky(Swap):
    """Refuses one text as a mechanism of ours would, and stops at another as somebody else's might."""

    title = "Picky"

    def rewrite_prepared(self, prepared, stream, task):
        if "refused" in prepared.text:
            raise dpt.InputError("This text is refused. Write another.")
        if "stopped" in prepared.text:
            raise RuntimeError(f"secret: {prepared.text}")
        return super().rewrite_prepared(prepared, stream, task)


class Counted(Swap):
    """Counts how often a text is looked at, and can share draws between texts."""

    shared = False
    seen: list[str]

    @property
    def shares_draws(self) -> bool:
        return self.shared

    def rewrite_prepared(self, prepared, stream, task):
        self.seen.append(prepared.text)
        return super().rewrite_prepared(prepared, stream, task)


@pytest.fixture
def counted():
    m = Counted.create()
    m.seen = []
    return m


def test_every_row_comes_out_in_order_with_its_promise_and_its_other_columns():
    found = list(dpt.rewrite_records(rows(70), Swap.create(epsilon=2.0), "text"))
    assert [r.index for r in found] == list(range(70)) == [r.row["id"] for r in found]
    assert all(r.error is None and r.text.startswith(f"Row {r.index}: My ") for r in found)
    assert all("text" not in r.row for r in found)
    assert {(r.guarantee.epsilon, r.guarantee.total) for r in found} == {(2.0, 6.0)}
    assert len({r.text.partition(":")[2] for r in found}) > 10, "every row has noise of its own"


@pytest.mark.parametrize("cls", [Swap, Generator, Latent])
def test_any_mechanism_will_do_and_rows_may_be_texts(cls):
    found = list(rewrite_records([TEXT, TEXT], cls.create(), batch=1))
    assert [type(r.text) for r in found] == [str, str] and all(r.guarantee.sentence() for r in found)


def test_a_data_frame_with_two_columns_of_one_name_is_refused():
    import pandas as pd

    for names, column in ((["text", "text"], "text"), (["id", "text", "id"], "text")):
        frame = pd.DataFrame([[TEXT] * len(names)], columns=names)
        with pytest.raises(dpt.InputError, match="two columns of the same name"):
            rewrite_records(frame, dpt.get_mechanism("custext"), column)


def test_rows_of_pandas_are_rows_and_a_data_frame_is_not_the_names_of_its_columns():
    import pandas as pd

    frame = pd.DataFrame({"id": [5, 6], "text": [TEXT, None]}, index=[9, 3])
    from_rows = (row for _, row in frame.iterrows())
    for given in (frame, frame.to_dict("records"), from_rows, frame.itertuples()):
        one, other = rewrite_records(given, Swap.create())
        assert one.text.startswith("My ") and one.row["id"] == 5 and "text" not in one.row
        assert "no text in the column 'text'" in other.error and other.row["id"] == 6


def test_no_more_than_a_batch_is_read_ahead():
    taken = 0

    def endless():
        nonlocal taken
        for taken in itertools.count(1):  # noqa: B007
            yield {"text": TEXT}

    out = rewrite_records(endless(), Swap.create(), batch=8)
    assert taken == 0, "nothing is read before a row is asked for"
    for k in range(1, 41):
        next(out)
        assert taken == -(-k // 8) * 8


def test_rows_that_fail_have_an_error_and_no_original_and_the_others_are_rewritten():
    texts = [TEXT, "refused qzk", TEXT, "stopped qzk", None, 5]
    found = list(rewrite_records([{"text": t} for t in texts] + [{"other": TEXT}, TEXT], Picky.create()))
    assert [r.error is None for r in found] == [True, False, True, False, False, False, False, True]
    assert found[1].error == "This text is refused. Write another."
    assert "RuntimeError" in found[3].error and "no text in the column 'text'" in found[6].error
    for r in found:
        assert (r.text is None) == (r.guarantee is None) == (r.error is not None)
        assert "qzk" not in f"{r!r} {r.error}" and "doctor" not in repr(r)


def test_what_is_wrong_with_all_rows_ends_the_run(counted):
    with pytest.raises(dpt.ConfigError, match="epsilon"):
        next(rewrite_records(rows(2), Swap.create(epsilon=(1.0, 2.0))))
    stop = dpt.Task()
    out = rewrite_records(rows(9), counted, batch=3, task=stop)
    next(out)
    stop.cancel()
    with pytest.raises(dpt.Cancelled):
        list(out)
    assert len(counted.seen) == 3


@pytest.mark.parametrize(("wrong", "of"), [(dict(column=3), "column"), (dict(start=-1), "start"), (dict(batch=0), "b")])
def test_wrong_arguments_are_refused_at_once(wrong, of):
    with pytest.raises(dpt.ConfigError, match=of):
        rewrite_records([], Swap.create(), **wrong)
    with pytest.raises(dpt.ConfigError, match="get_mechanism"):
        rewrite_records([], "custext")
    with pytest.raises(dpt.InputError, match="list"):
        rewrite_records("a text", Swap.create())
    for no_rows in (5, None, 0.5):
        with pytest.raises(dpt.InputError, match=rf"list of rows .*, not {type(no_rows).__name__}"):
            rewrite_records(no_rows, Swap.create())


def test_a_run_goes_on_anywhere_and_draws_no_row_before_it(counted):
    found = list(rewrite_records(rows(10), counted, start=7, batch=4))
    assert [r.index for r in found] == [7, 8, 9] and len(counted.seen) == 3


@pytest.mark.parametrize("start", range(0, 11, 3))
def test_a_seeded_run_is_the_same_from_every_start_and_says_so(start):
    whole = [r.text for r in rewrite_records(rows(10), Swap.create(), seed=5, batch=4)]
    found = list(rewrite_records(rows(10), Swap.create(), seed=5, batch=4, start=start))
    assert [r.text for r in found] == whole[start:] and all(r.guarantee.seeded for r in found)


def test_the_noise_of_a_seeded_row_is_that_of_its_number_whatever_is_rewritten_beside_it():
    given = [row["text"] for row in rows(10)]
    whole = [r.text for r in rewrite_records(given, Picky.create(), seed=5)]
    assert len(set(whole)) > 5
    for batch in (1, 3, 10):
        assert [r.text for r in rewrite_records(given, Picky.create(), seed=5, batch=batch)] == whole
    given[2], given[4] = None, "refused"
    assert [r.text for r in rewrite_records(given, Picky.create(), seed=5)] == [
        *whole[:2],
        None,
        whole[3],
        None,
        *whole[5:],
    ]
    part = rewrite_part(given[3:7], 3, Picky.create(), "text", stream=seeded_stream(5), batch=2)
    assert [(r.index, r.text) for r in part] == [(3, whole[3]), (4, None), (5, whole[5]), (6, whole[6])]


def test_a_seed_of_rows_is_other_noise_than_that_of_a_list():
    given, m = [row["text"] for row in rows(10)], Swap.create()
    found = [r.text for r in rewrite_records(given, m, seed=5)]
    assert (
        found
        == [r.text for r in m.rewrite(given, stream=seeded_stream(5))]
        != [r.text for r in m.rewrite(given, seed=5)]
    )
    (last,) = rewrite_records(given, m, seed=5, start=9)
    assert (last.index, last.text) == (9, found[9])


def test_the_noise_of_shared_draws_follows_from_the_seed_and_the_word():
    m = dpt.get_mechanism("custext", epsilon=1.0, strategy="dataset")
    one, other = m.rewrite(["a letter", "the letter of a doctor"], seed=5)
    alone = m.rewrite("doctor or letter", seed=5)
    word = one.text.split()[-1]
    assert other.text.split()[1] == word == alone.text.split()[-1]


def test_parts_under_one_stream_are_the_whole_where_draws_are_shared():
    m = dpt.get_mechanism("custext", epsilon=1.0, strategy="dataset", oov="random")
    given = [f"{word} qzkv{i} the {word}" for i, word in enumerate(["doctor", "letter", None, "doctor", "sister"])]
    given[2] = None
    whole = list(rewrite_records(given, m, seed=4))
    found = [shared_draws(given[a:b], m, "text") for a, b in ((0, 2), (2, 5))]
    draws = len(found[0] | found[1])
    parts = [
        *rewrite_part(given[:2], 0, m, "text", stream=seeded_stream(4), draws=draws),
        *rewrite_part(given[2:], 2, m, "text", stream=seeded_stream(4), draws=draws),
    ]
    assert [(r.index, r.text, r.guarantee) for r in parts] == [(r.index, r.text, r.guarantee) for r in whole]
    assert draws == whole[0].guarantee.draws == 3 and Swap.create().in_parts is None


def test_draws_for_a_whole_data_set_are_made_at_once(counted):
    counted.shared = True
    next(rewrite_records(rows(9), counted, batch=2))
    assert len(counted.seen) == 9
    with pytest.raises(dpt.ConfigError, match="all rows share"):
        rewrite_records(rows(9), counted, start=2)


def test_a_strategy_over_the_data_set_draws_each_word_once_over_all_rows():
    m = dpt.get_mechanism("custext", epsilon=1.0, strategy="dataset")
    assert m.shares_draws and not dpt.get_mechanism("custext").shares_draws
    found = list(rewrite_records([{"text": "doctor"}] * 50, m, batch=4))
    assert len({r.text for r in found}) == 1 and {r.guarantee.total for r in found} == {1.0}


def test_draws_for_all_rows_come_row_by_row_and_are_those_of_one_call():
    m = dpt.get_mechanism("custext", epsilon=1.0, strategy="dataset")
    texts = [f"{TEXT} Qzkv{i} the doctor." for i in range(300)]
    at_once = m.rewrite(texts, seed=3)
    each = m.rewrite_each(texts, stream=dpt.NoiseStream(3))
    first = next(each)
    assert first.guarantee == at_once[0].guarantee and first.guarantee.draws == len(
        {"doctor", "sent", "letter", "sister"}
    )
    assert [first.text, *(r.text for r in each)] == [r.text for r in at_once]


def test_a_row_that_fails_among_shared_draws_has_its_error_and_the_rest_is_drawn():
    m = dpt.get_mechanism("custext", epsilon=1.0, strategy="dataset")
    rows = [{"text": "doctor"}, {"text": None}, {"text": "doctor"}]
    a, b, c = rewrite_records(rows, m)
    assert a.text == c.text and b.error and b.text is None


# --- the promise of the whole


def overall(m: dpt.Mechanism, n: int = 3, shares_draws: bool = False, **options) -> DatasetGuarantee:
    out = DatasetGuarantee(shares_draws)
    for r in rewrite_records(rows(n), m, **options):
        out.add(r.guarantee)
    return out


def test_the_whole_is_the_largest_row_and_the_sum_of_all():
    out = overall(Swap.create(epsilon=2.0))
    assert (out.rows, out.errors, out.one, out.all) == (3, 0, 6.0, 18.0)
    assert "at most ε = 6 " in out.sentence() and "over all rows at most ε = 18" in out.sentence()
    assert out.exposed == ("every other word", "the spacing and the line breaks")
    out.add(None)
    assert (out.rows, out.errors, out.all) == (4, 1, 18.0) and "1 row had an error" in out.sentence()
    assert out.sentence().endswith("1 row had an error: nothing of its text is released.")
    out.add(None)
    assert out.sentence().endswith("2 rows had an error: nothing of their texts is released.")
    assert overall(Swap.create(epsilon=2.0), n=1).sentence().startswith("The row has its own guarantee (pure")
    out.add(Swap.create(epsilon=2.0).guarantee("42."), untouched=True)
    message = "1 row had no sampled word: this guarantee protects nothing in it."
    assert "Each of 3 rows" in out.sentence() and message in out.sentence() and out.to_dict()["untouched"] == 1
    message = "3 rows were rewritten, 1 had no sampled word and 2 had an error."
    assert out.counted() == message
    latent = overall(Latent.create(epsilon=1.0, delta=0.05))
    assert (latent.one_delta, round(latent.all_delta, 9)) == (0.05, 0.15) and "δ = 0.15" in latent.sentence()
    many = overall(Latent.create(epsilon=1.0, delta=0.4))
    assert many.all_delta == 1 and many.to_dict()["all_rows"] is None, "a δ of 1 bounds nothing"
    assert many.sentence().endswith("over all rows there is no guarantee, because their δ add up to 1.")


def test_shared_draws_are_counted_once_seeds_and_missing_promises_are_said():
    assert overall(Swap.create(epsilon=2.0), shares_draws=True).all == 6.0
    assert "not private" in overall(Swap.create(), seed=1).sentence()
    none = DatasetGuarantee()
    none.add(dpt.Guarantee("none", float("inf"), "text", "any", 1, float("inf"), reason="Nothing holds."))
    assert none.sentence() == "There is no privacy guarantee: Nothing holds." and none.to_dict()["all_rows"] is None
    finite = DatasetGuarantee()
    for notion in ("approx", "none", "approx"):
        finite.add(dpt.Guarantee(notion, 1.0, "text", "any", 1, 1.0, delta=0.5, reason="Nothing holds."))
    totals = ("one_row", "one_row_delta", "all_rows", "all_rows_delta")
    assert finite.all == float("inf") and [finite.to_dict()[k] for k in totals] == [None] * 4
    assert DatasetGuarantee().sentence() == "No row was rewritten."


def test_rows_of_pure_draws_compose_optimally_also_after_a_file():
    m, whole, again = Swap.create(epsilon=0.1), DatasetGuarantee(), DatasetGuarantee()
    given = [{"text": " ".join(["doctor"] * n)} for n in (80, 90)]
    for r in rewrite_records(given, m):
        whole.add(r.guarantee)
        own = json.loads(json.dumps(line_of(r, "text", [])))[OWN]
        again.add(guarantee_of(own))
    one, every = (
        dpt.Guarantee("pure", 0.1, "word", "any two texts", n, 0.1 * n, bounded_range=whole.draws.bounded_range)
        for n in (90, 170)
    )
    assert whole.one_optimal == one.optimal() < whole.one and whole.all_optimal == every.optimal() < whole.all
    assert whole.to_dict() | {"exposed": 0} == again.to_dict() | {"exposed": 0}
    assert whole.to_dict()["all_rows_optimal"] == {"epsilon": every.optimal(), "delta": 1e-5}
    assert whole.sentence().count("optimal composition") == 2
    whole.add(dpt.Guarantee("approx", 1.0, "text", "any", 1, 1.0, delta=0.01))
    assert whole.all_optimal is None and whole.to_dict()["one_row_optimal"] is None


def test_a_polished_row_keeps_its_promise_and_what_was_drawn():
    m = dpt.get_mechanism("diffractor", epsilon=0.7)
    given = [TEXT, "and the", 3]
    plain = list(rewrite_records(given, m, seed=5))
    polished = list(rewrite_records(given, m, seed=5, polish=True))
    assert [r.guarantee for r in polished] == [r.guarantee for r in plain], "no ε is spent"
    assert [r.sampled_text for r in polished] == [r.text for r in plain] and all(r.sampled_text is None for r in plain)
    result = m.rewrite([TEXT], stream=seeded_stream(5).numbered([0]))[0]
    assert polished[0].text == result.polished(m).text != result.text
    assert polished[1].text == "and the" and polished[2].error
