"""What holds a user's words shows none of them in its repr, and no error quotes them."""

from __future__ import annotations

import gc
import html
import traceback
import types
from dataclasses import dataclass

import pytest
from splicing import splice
from tiny_generators import tiny_generator

import dptext_core as dpt
from dptext_core import attacks, cli
from dptext_core.attacks import bayes, mask_inference, nearest, query
from dptext_core.measure import budget
from dptext_core.mechanisms.base import Prepared
from dptext_core.models import MaskRequest
from dptext_core.support.private import Private
from dptext_core.text.skeleton import Edit
from dptext_core.words.space import WordSpace
from dptext_studio.server import runs

SECRETS = ("giraffe", "qzkvoltar")  # one that the vocabularies have, and one that none has
TEXT = "The Giraffe told qzkvoltar of it. A giraffe!"
PUBLIC = (type, types.ModuleType, WordSpace)
NAMES = [s.name for s in dpt.mechanisms()]


def ours(start: object) -> list[object]:
    """The objects of this project's classes that can be reached from ``start``, public vocabularies left out."""
    seen, found, todo = {id(start)}, [], [start]
    while todo:
        thing = todo.pop()
        if isinstance(thing, types.FunctionType):
            todo += [c for c in thing.__closure__ or () if id(c) not in seen]
            continue
        if type(thing).__module__.startswith(("dptext_core", "dptext_lab", "dptext_studio")):
            found.append(thing)
        elif not isinstance(thing, list | tuple | dict | types.CellType):
            continue
        for other in gc.get_referents(thing):
            if id(other) not in seen and not isinstance(other, PUBLIC):
                seen.add(id(other))
                todo.append(other)
    return found


def quoted(thing: object) -> list[str]:
    """Names of the classes whose repr, str or format shows a private word."""
    shown = [(o, (repr(o) if same(type(o)) else f"{o!r} {o} {o!s}").casefold()) for o in ours(thing)]
    return [type(o).__name__ for o, text in shown if any(s in text for s in SECRETS)]


def same(kind: type) -> bool:
    """Whether what is printed or formatted is the repr."""
    return kind.__str__ is object.__str__ and kind.__format__ is object.__format__


@pytest.fixture(scope="module")
def small(tiny_model, small_bank, tmp_path_factory) -> dict[str, dict[str, str]]:
    """Options of each mechanism with a model: a tiny one in its place."""
    gpt2, bart = (str(tiny_generator(tmp_path_factory.mktemp(kind), kind)) for kind in ("gpt2", "bart"))
    made = {"dp-prompt": gpt2, "dp-paraphrase": gpt2, "dp-bart": bart}
    given = {name: {"model": made.get(name, tiny_model)} if name.startswith("dp-") else {} for name in NAMES}
    return given | {"dp-sentence": {"bank": str(small_bank)}}


#: One of each kind of prepared text and of trace.
KINDS = ("dp-mlm", "dp-mlm-prior", "diffractor", "custext", "mvc", "dp-prompt", "dp-sentence", "adept")


@pytest.mark.parametrize("name", KINDS)
def test_no_repr_of_a_rewrite_shows_a_word(name, small):
    m = dpt.get_mechanism(name, **small[name])
    low, high, default = m.epsilon_range({})
    prepared = m.prepare(TEXT)
    result = m.rewrite(prepared)
    things = [prepared, result, list(result.steps), m.rewrite([TEXT, TEXT]), m.rewrites(prepared, 2)]
    if "alignment" not in m.can:
        things += [m.sweep(prepared, [low, high])]
        assert quoted(things) == []
        return
    i = next(i for i, s in enumerate(result.steps) if s.original == "Giraffe" and s.action in ("replace", "delete"))
    things += [m.sweep(prepared, [low, high]), m.distribution(prepared, i)]
    things.append(budget.distribute(m, TEXT, 9.0, "frequency"))
    if result.steps[i].action == "replace":
        things += [result.distribution(i), result.views(i), result.locked(i) if "sweep" in result.can else None]
    inputs = runs.Inputs(TEXT, dpt.Setting(name, small[name]), None)
    things.append(runs.make_run(inputs, 1, default, (low, high, default)))
    assert quoted(things) == []
    assert f"mechanism={name!r}" in repr(result) and "sampled spans" in repr(result)


def test_a_notebook_shows_and_keeps_what_is_released_and_nothing_runs_in_it():
    result = dpt.get_mechanism("santext", epsilon=0.1).rewrite("giraffe <b onclick=x>doctor</b>", seed=1)
    shown = result._repr_html_()
    assert html.escape(result.text) in shown and html.escape(result.guarantee.sentence()) in shown
    assert "giraffe" not in result.text and "giraffe" not in shown and "<b" not in shown


def test_no_repr_of_an_attack_shows_a_word():
    m = dpt.get_mechanism("santext", epsilon=5.0)
    result = m.rewrite("giraffe")
    found = [bayes.attack(m, result, 0), nearest.attack(m, result), query.query_number(result.distribution(0))]
    found.append(mask_inference.attack(m, result))
    assert "giraffe" in found[0].sentence(), "they hold it"
    assert [quoted(f) for f in found] == [[]] * 4
    assert quoted(MaskRequest(context=None, masked=[[7]], target=0)) == []
    assert quoted(Edit("giraffe")) == quoted(splice(dpt.Document.parse(TEXT), [Edit()] * 10)) == []


def test_the_search_finds_a_repr_that_shows_a_word():
    @dataclass(frozen=True)
    class Shows(Private):
        word: str

        def __repr__(self) -> str:
            return f"Shows({self.word})"

    Shows.__module__ = "dptext_core.planted"
    assert quoted([{"a": Shows("giraffe")}]) == ["Shows"]


def test_a_class_of_somebody_else_inherits_it():
    @dataclass(frozen=True, eq=False)
    class Mine(Prepared):
        more: str = ""

    made = Mine(dpt.Document.parse(TEXT), (), "giraffe")
    assert "iraffe" not in repr(made) and "tokens" in repr(made)


@pytest.mark.parametrize("name", NAMES)
def test_no_error_quotes_the_text(name, small, tmp_path, capsys):
    """The place stands for the word, and no chained exception of a library quotes it."""
    raised = []

    def caught(call) -> None:
        try:
            call()
        except dpt.DPTextError as error:
            raised.append("".join(traceback.format_exception_only(error)) + repr(error.__cause__))

    m = dpt.get_mechanism(name, **small[name])
    options = {"stopwords": str(tmp_path / "stop.txt"), "keep_stopwords": True}
    (tmp_path / "stop.txt").write_text("giraffe\n")
    kept = m.replace(**options) if hasattr(m.config, "stopwords") else m
    caught(lambda: kept.distribution(TEXT, 1))
    caught(lambda: kept.rewrite("giraffe").distribution(0))
    caught(lambda: m.distribution(TEXT, 99))
    caught(lambda: m.replace(epsilon=(1.0,)).rewrite(TEXT))
    caught(lambda: m.rewrite(TEXT + "\ud800"))
    caught(lambda: dpt.calibrate(m, {"n_w": 2.0}, text=TEXT))
    caught(lambda: dpt.calibrate(kept, {"n_w": 0.5}, text="giraffe"))
    caught(lambda: bayes.posterior(m, "qzkvoltar", true="giraffe"))
    caught(lambda: attacks.public_prior(m).only(["qzkvoltar"]))
    if "oov" in {f for f in vars(m.config)}:
        caught(lambda: m.replace(oov="drop").distribution("qzkvoltar", 0))
        caught(lambda: m.replace(oov="keep").distribution("qzkvoltar", 0))
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode() + b"\xe4")
    assert cli.main(["rewrite", "--mechanism", name, "--file", str(path)]) != 0
    raised.append(capsys.readouterr().err)
    assert len(raised) >= 8 and not [r for r in raised if any(s in r.casefold() for s in SECRETS)], raised
