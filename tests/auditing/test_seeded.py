"""A seeded audit is repeatable from version to version: each of its looks rewrites the same texts with the same noise,
compares the same numbers and says the same. What is expected lies in ``tests/golden/audits.json``; ``GOLDEN=write``
writes it anew, and a commit that does so says what of an audit has changed, and why.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from foreign import Generator, Latent, Swap
from golden_files import compare_case
from small_spaces import Noisy, diffractor, on, over, random_space, shuffled_lists, small_bundle, words

from dptext_core import auditing, get_mechanism
from dptext_core.auditing import (
    batches,
    fit_statistics,
    goodness_of_fit,
    inputs,
    latent,
    long_texts,
    metadata_leakage,
    release_statistics,
    report,
    statefulness,
    text_integrity,
    verdict,
    vocabulary,
)
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.inputs import Meter, probes_of
from dptext_core.auditing.rewriting import Rewriter
from dptext_core.mechanisms.base import Mechanism
from dptext_core.models import engines, masked_lm
from dptext_core.privacy.sampling import NoiseStream
from dptext_lab.broken_mechanisms import FAULTS, broken, hidden, sound
from dptext_lab.broken_mechanisms.hidden import BatchCusText, FirstCusText
from dptext_lab.broken_mechanisms.text import TEXT, TinyWriter

SPACE = random_space(24, 4)
LISTS = shuffled_lists(24, 2)
#: Looks that an audit takes one after the other.
LOOKS = {
    "released": text_integrity.released_text,
    "told": metadata_leakage.check_metadata,
    "stated": vocabulary.stated_words,
    "words": vocabulary.released_words,
    "batches": batches.in_batches,
    "first": statefulness.at_first,
    "long": long_texts.in_long_texts,
    "latent": latent.behind_a_text,
}
MODULES = [importlib.import_module(f"{auditing.__name__}.{m.name}") for m in pkgutil.iter_modules(auditing.__path__)]
#: What comes out of these is held too, wherever they are used.
NUMBERS = (
    "too_many",
    "least_hits",
    "least_share",
    "once_in",
    "misfit",
    "two_samples",
    "largest_loss",
    "event",
    "could_show",
    "lower_bound",
    "_fit",
    "_chance_of",
    "_apart",
    "smallest_leak",
    "_uniform",
    "_one_word",
    "_mass",
)


def small(name: str, make, **options):
    """A planted fault, or its twin, on the small vocabulary."""
    fault = FAULTS[name]
    cls = fault.broken if make is broken else fault.sound
    return over(SPACE, cls, **{**fault.options, "keep_stopwords": False, "recase": "none", **options})


class Printing(Latent):
    """Releases the text as it is."""

    def rewrite_prepared(self, prepared, stream, task):
        result, text = super().rewrite_prepared(prepared, stream, task), prepared.text
        piece = dataclasses.replace(result.pieces[0], span=(0, len(text)), text=text)
        return dataclasses.replace(result, text=text, pieces=(piece,))


class LastWord(Generator):
    """States, and draws, its pieces by the last word of a text."""

    def table(self, prepared, before):
        honest = super().table(prepared, before)
        told_ = zlib.crc32(prepared.document.tokens[-1].text.encode()) % len(honest.candidates)
        return dataclasses.replace(honest, scores=np.where(np.arange(len(honest.candidates)) == told_, 0.0, -50.0))


class Misstates(LastWord):
    """Draws by the last word of a text, and states what it should draw."""

    def rewrite_prepared(self, prepared, stream, task):
        stated = Generator(self.config).rewrite_prepared(prepared, stream, task)
        return dataclasses.replace(super().rewrite_prepared(prepared, stream, task), trace=stated.trace)


def listed(cls):
    """A planted fault of 1-Diffractor over the small lists."""
    return over(small_bundle(LISTS), cls, lists=("minilm-1", "minilm-2"), keep_stopwords=False, recase="none")


MADE = {
    "santext": lambda: on(SPACE, "santext", epsilon=3.0),
    "custext": lambda: on(SPACE, "custext", k=5),
    "record": lambda: on(SPACE, "custext", k=5, strategy="record", mapping="conservative"),
    "dataset": lambda: on(SPACE, "custext", k=5, strategy="dataset"),
    "mvc": lambda: on(SPACE, "mvc", epsilon=5.0),
    "diffractor": lambda: diffractor(LISTS, epsilon=0.7),
    "swap": Swap.create,
    "generator": Generator.create,
    "latent": Latent.create,
    "length": lambda: sound("weak-noise"),
    "weak length": lambda: broken("weak-noise"),
    "leaks in batches": lambda: over(SPACE, BatchCusText, k=5, keep_stopwords=False, recase="none"),
    "prints": Printing.create,
    "last word": LastWord.create,
    "late": lambda: listed(hidden.LateDiffractor),
    "shares": lambda: listed(hidden.SharedDiffractor),
    "one word": lambda: listed(hidden.OneWordDiffractor),
    "one word stated": lambda: over(SPACE, hidden.OneWordCusText, k=5, keep_stopwords=False, recase="none"),
    "leaks at first": lambda: over(SPACE, FirstCusText, k=5, keep_stopwords=False, recase="none"),
}

RELEASES = ("dataset", "mvc", "diffractor", "swap")
#: Which of the looks refutes what; the others refute nothing, with a chance below 1e-7 to be wrong.
REFUTED = {
    "leaks in batches": ("batches",),
    "leaks at first": ("first", "long"),
    "prints": ("batches", "first", "long"),
    "last word": ("long",),
    "late": ("long",),
    "shares": ("batches",),
    "one word": ("words",),
    "one word stated": ("stated",),
    "weak length": ("latent",),
}
#: Those for which some of the looks are enough.
SOME = REFUTED | {
    "santext": ("released", "told", "stated", "words"),
    "swap": ("released", "batches", "first"),
    "mvc": ("released", "words", "first"),
    "custext": ("stated", "first"),
    "record": ("stated", "batches"),
    "dataset": ("batches", "first"),
    "latent": ("released", "told", "batches", "first"),
    "prints": ("batches", "first"),
    "leaks at first": ("first",),
    "diffractor": ("stated", "words", "batches", "long"),
    "generator": ("released", "told", "first", "long", "latent"),
    "length": ("batches", "latent"),
}


def given(m: Mechanism) -> list[str]:
    if m.by_word is not None:
        return list(words(6))
    return ["doctor", "nurse", "water"] if isinstance(m, Swap) else list(inputs.TEXTS[:2])


class Noted:
    """Which rewrites were made, and which numbers came of them."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.rewrites, self.mark = 0, 0
        self.numbers: dict[str, list[float]] = {}
        whole = Mechanism._checked

        def checked(m: Mechanism, result: Any) -> Any:
            self.rewrites += 1
            if result.seed is not None:
                message = f"{m.config.epsilon:.6g}|{result.original}|{result.noise_id}|{result.text}"
                self.mark = zlib.crc32(message.encode(), self.mark)
            return whole(m, result)

        patched.setattr(Mechanism, "_checked", checked)
        for module in MODULES:
            for name in NUMBERS:
                if hasattr(module, name):
                    patched.setattr(module, name, self.noted(name, getattr(module, name)))

    def noted(self, name: str, function: Any) -> Any:
        def asked(*arguments: Any, **options: Any) -> Any:
            out = function(*arguments, **options)
            held = self.numbers.setdefault(name, [0, 0.0, 0.0])
            held[0] += 1
            for value in flat(out):
                held[1] += value
                held[2] += math.log(max(abs(value), 1e-300))
            return out

        return asked

    def told(self, m: Mechanism) -> dict[str, Any]:
        """Where chances are estimated, by draws of its own without a seed, only how many there were."""
        return {"rewrites": [self.rewrites, self.mark], "numbers": self.numbers} if closed(m) else {"n": self.rewrites}


def flat(value: Any) -> Iterable[float]:
    """The finite numbers in a value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, fit_statistics.Fit):
        return
    if isinstance(value, fit_statistics.Fit):
        yield from flat((value.p, value.share, value.log_p))
    elif isinstance(value, tuple | list | np.ndarray):
        for one in value:
            yield from flat(one)
    elif isinstance(value, int | float | np.number) and math.isfinite(value):
        yield float(value)


def closed(m: Mechanism) -> bool:
    return m.by_word is None or m.distribution(m.by_word.vocabulary.words[0], 0).draws is None


@pytest.fixture
def noted(monkeypatch):
    return Noted(monkeypatch)


def plain(check: auditing.Check | None) -> Any:
    if check is None:
        return None
    return report._plain({k: v for k, v in dataclasses.asdict(check).items() if k != "seconds"})


#: Each look where it has something to look at, and a leak with the looks that see it.
ASKED = [(name, which) for name in MADE for which in LOOKS if which in SOME.get(name, LOOKS)]


@pytest.mark.parametrize(("name", "which"), ASKED)
def test_a_look_asks_and_says_the_same(name, which, noted, monkeypatch):
    monkeypatch.setattr(hidden, "WORD", words(24)[3])
    m = MADE[name]()
    texts = given(m)
    probes = probes_of(m, texts, Meter())[0] if release_statistics.has_alignment(m) else []
    subject = Subject(m, m.guarantee(texts[0]), texts, NoiseStream(1), Meter(), probes)
    check = LOOKS[which](subject)
    assert (check is not None and check.status == "refuted") == (which in REFUTED.get(name, ())), check
    said_ = plain(check) if closed(m) else check and check.status
    compare_case("audits", f"{which} {name}", {**noted.told(m), "check": said_})


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("name", ["santext", "custext", "record", "diffractor"])
def test_a_part_of_a_vocabulary_is_looked_at_in_the_same_way(name, thorough, noted, monkeypatch):
    """In small blocks, and not every word where that is not asked for."""
    for budget, value in {"_TEXT": 5, "_TOGETHER": 6, "WORK": 300, "AGAIN": 9, "DROPPED": {2: 1, 4: 2}}.items():
        monkeypatch.setattr(vocabulary, budget, value)
    m = MADE[name]()
    subject = Subject(m, m.guarantee("x"), list(words(6)), NoiseStream(1), Meter(), thorough=thorough)
    found = {which: plain(LOOKS[which](subject)) for which in ("stated", "words")}
    compare_case("audits", f"part of {name} {thorough}", {**noted.told(m), **found})


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MADE if n in RELEASES])
def test_releases_are_looked_at_in_the_same_way(name, noted, monkeypatch):
    monkeypatch.setattr(fit_statistics, "ENOUGH", 40)
    monkeypatch.setattr(goodness_of_fit, "OTHERS", 6)
    m = MADE[name]()
    texts = given(m)
    for inputs_ in (texts[:4], [f"{texts[0]} {texts[1]} and {texts[0]}."]):
        probes = probes_of(m, inputs_, Meter())[0]
        found = goodness_of_fit.check_releases(m, probes, 20, NoiseStream(1), Meter(), Rewriter())
        case = "words" if len(inputs_) > 1 else "a text"
        own = report._plain(dataclasses.asdict(found)) if closed(m) else [found.draws, found.texts, found.each]
        compare_case("audits", f"releases of {case} {name}", {**noted.told(m), "tested": own})


WRITTEN = {
    "generator": Generator.create,
    "latent": Latent.create,
    "length": lambda: sound("weak-noise"),
    "writer": lambda: sound("appended-original"),
    "copying": lambda: broken("copied-word"),
    "misstates": Misstates.create,
    "wide latent": lambda: Latent.create(epsilon=0.4, delta=0.3),
    "tight writer": lambda: sound("appended-original", epsilon=0.2),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "claim"), [*((name, None) for name in WRITTEN), ("latent", 0.05), ("writer", 0.05), ("writer", 6.0)]
)
def test_whole_outputs_are_looked_at_in_the_same_way(name, claim, noted, monkeypatch):
    monkeypatch.setattr(verdict, "LATER", ())
    m = WRITTEN[name]()
    found = auditing.audit(m, inputs.TEXTS[:2], claim, draws=200, seed=1)
    compare_case("audits", f"outputs {name} {claim}", {**noted.told(m), **said(found)})


def said(found: auditing.AuditReport) -> dict[str, Any]:
    """Return all but what is worked out from the rest."""
    own = found.to_dict()
    for check in own["checks"]:
        del check["seconds"]
    del own["sentence"]
    if own["witness"]:
        del own["witness"]["sentence"]
    return own


@pytest.mark.parametrize("options", [{"epsilon": 1.0}, {"epsilon": 40.0}])
def test_a_loss_is_bounded_from_the_same_draws(options, noted):
    """Of a mechanism that has no closed form."""
    m = over(SPACE, Noisy, keep_stopwords=False, recase="none", **options)
    for texts in (list(words(4)), [" ".join(words(5)), words(24)[7]]):
        for claim in (None, 0.2):
            probes, skipped = probes_of(m, texts, Meter())
            subject = Subject(m, m.guarantee(texts[0]), texts, NoiseStream(2), Meter(), probes, claim, 120)
            empty = auditing.AuditReport(
                m.name, 1.0, "", 0.0, 0.0, False, 0.0, "", "", None, "", 0, 0, (), 0, None, 0.95
            )
            found, check, count = verdict._loss(m, subject, probes, tuple(skipped), empty)
            case = f"bound {options['epsilon']} {len(texts)} {claim}"
            own = report._plain(dataclasses.asdict(found))
            compare_case(
                "audits", case, {**noted.told(on(SPACE, "santext")), "found": own, "check": plain(check), "n": count}
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("dp-mlm-plus", {"add_prob": 0.3, "del_prob": 0.2}), ("dp-mlm", {"order": "sequential"})],
)
def test_releases_of_a_model_are_looked_at_in_the_same_way(name, options, tiny_model, monkeypatch):
    """How often what was seen, and its stated chance: to the digits that float32 has on every processor."""
    fits: list[Any] = []
    whole = fit_statistics.fits_of

    def noted_fits(text, way, *more):
        out = whole(text, way, *more)
        fits.extend([f.kind, repr(f.key), f.share, f.p, max(f.log_p, -99.0)] for f in out)
        return out

    monkeypatch.setattr(goodness_of_fit, "fits_of", noted_fits)
    monkeypatch.setattr(goodness_of_fit, "FEW", 4)
    # Not as another test has loaded it.
    monkeypatch.setattr(masked_lm, "best_dtype", lambda device: "float32")
    monkeypatch.setattr(masked_lm, "_loaded", {}, raising=False)
    monkeypatch.setattr(engines, "_engines", {})
    m = get_mechanism(name, model=tiny_model, epsilon=20.0, recase="none", **options)
    texts = ["my doctor changed the medicine"]
    probes = probes_of(m, texts, Meter())[0]
    found = goodness_of_fit.check_releases(m, probes, 10, NoiseStream(3), Meter(), Rewriter())
    draws = [found.draws, found.texts, found.each]
    assert min(p for *_, p, _ in fits) > goodness_of_fit.SAMPLER_LEVEL, "nothing is refuted"
    compare_case("audits", f"releases of {name}", {"fits": fits, "draws": draws}, 1e-3, 1e-3)


@pytest.mark.parametrize("name", [f.name for f in TEXT])
def test_what_is_said_of_a_fault_in_a_text_stays(name, noted):
    m = broken(name) if issubclass(FAULTS[name].sound, TinyWriter) else small(name, broken)
    subject = Subject(m, m.guarantee("doctor"), list(words(6)), NoiseStream(1), Meter())
    found = {which: plain(LOOKS[which](subject)) for which in ("released", "told")}
    compare_case("audits", f"fault {name}", {**noted.told(m), **found})
