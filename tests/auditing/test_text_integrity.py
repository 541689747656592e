"""Plugins that print the private text: the audit refutes each, and clears the mechanisms that they derive from."""

from __future__ import annotations

import dataclasses
import functools
import zlib

import pytest
from foreign import WORDS, Generator, Latent, Swap

import dptext_core as dpt
from dptext_core.auditing import AuditReport, audit, format_share, verdict
from dptext_core.auditing.batches import in_batches
from dptext_core.auditing.checks import Subject
from dptext_core.auditing.inputs import Meter, probes_of
from dptext_core.mechanisms.capabilities import InputCoverage
from dptext_core.privacy.numbers import at_least
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.text.document import Document
from dptext_core.text.skeleton import Edit
from dptext_studio.figures import audit_figure

pytestmark = pytest.mark.usefixtures("few_releases")


def with_(thing, **values):
    return dataclasses.replace(thing, **values)


def whole(result, text):
    """The text as one drawn piece."""
    return with_(result, text=text, pieces=(with_(result.pieces[0], span=(0, len(text)), text=text),))


class Paragraph(Generator):
    """The original in a paragraph of its own."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        return with_(r, text=f"{r.text}\n\n{prepared.text}")


class TwoBlanks(Generator):
    """A second blank after the first piece where the text has a doctor."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        if "doctor" not in prepared.text:
            return r
        at = r.pieces[1].span[0]
        pieces = [r.pieces[0], *(with_(p, span=(p.span[0] + 1, p.span[1] + 1)) for p in r.pieces[1:])]
        return with_(r, text=f"{r.text[:at]} {r.text[at:]}", pieces=tuple(pieces))


class Inside(Latent):
    """The original inside the only piece."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        return whole(r, f"{r.text} / {prepared.text}")


class BlanksInside(Latent):
    """Blanks at the end of the only piece, as many as words."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        return whole(r, r.text + " " * len(prepared.text.split()))


class Invisible(Swap):
    """Characters without a width after the text, one for each vowel."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        return with_(r, text=r.text + "\u200b" * sum(c in "aeiou" for c in prepared.text))


class Letters(Swap):
    """The length of the longest word among what is exposed."""

    def guarantee(self, text):
        own, g = text if isinstance(text, str) else text.text, super().guarantee(text)
        return with_(g, exposed=(*g.exposed, f"{max(map(len, own.split()), default=0)} letters"))


class Refuses(Swap):
    """An error for one word, only where the text is rewritten."""

    def rewrite_prepared(self, prepared, *more):
        if "letter" in prepared.text.lower():
            raise dpt.InputError("Words about mail are not taken.")
        return super().rewrite_prepared(prepared, *more)


class Cases(Generator):
    """Bits of a checksum of the text in the case of letters."""

    def rewrite_prepared(self, prepared, *more):
        r, bits = super().rewrite_prepared(prepared, *more), zlib.crc32(prepared.text.encode())
        text = "".join(c.upper() if bits >> k % 32 & 1 else c for k, c in enumerate(r.text))
        return with_(r, text=text, pieces=tuple(with_(p, text=text[slice(*p.span)]) for p in r.pieces))


class Synonyms(Generator):
    """Another word of the same length in the place of a drawn one where the text has a doctor."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        if "doctor" not in prepared.text:
            return r
        pieces = tuple(
            with_(p, text="pill" if p.text in ("home", "rain", "blue", "warm") else p.text) for p in r.pieces
        )
        text = "".join(" " * (k > 0 and p.is_sampled) + p.text for k, p in enumerate(pieces))
        return with_(r, text=text, pieces=pieces)


class Counts(Generator):
    """The number of words as a piece that is said to be placed by rule."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        message = f"({len(prepared.text.split())})"
        piece = dpt.Release((len(r.text), len(r.text) + len(message)), message, 0.0, "rule", reason="size")
        return with_(r, text=r.text + message, pieces=(*r.pieces, piece))


class Notes(Swap):
    """A note for one word."""

    @property
    def reading(self):
        return Mentions(self)


class Mentions(InputCoverage):
    def note(self, text):
        return "It mentions music." if "music" in (text if isinstance(text, str) else text.text) else ""


class Results(Swap):
    """A guarantee with each result that names the length of its text."""

    def rewrite_prepared(self, prepared, *more):
        r = super().rewrite_prepared(prepared, *more)
        return with_(r, guarantee=with_(r.guarantee, exposed=(*r.guarantee.exposed, str(len(prepared.text)))))


class InLists(Swap):
    """A guarantee that names the length of its text, only with results of a list of 32."""

    def rewrite_list(self, texts, *more):
        made = super().rewrite_list(texts, *more)
        if len(texts) < 32:
            return made
        return [with_(r, guarantee=with_(r.guarantee, near=1e-9 * len(r.original))) for r in made]


class Digits(Swap):
    """Digits of the text in the total of fresh draws."""

    def rewrite_repeatedly(self, *more):
        made = super().rewrite_repeatedly(*more)
        return [with_(r, guarantee=with_(r.guarantee, total=r.guarantee.total - 1e-9 * len(r.original))) for r in made]


class LongTotals(Swap):
    """Digits of a checksum in the total of a text of more than thirty words."""

    def guarantee(self, text):
        g, original = super().guarantee(text), getattr(text, "text", text)
        return with_(g, total=g.total + zlib.crc32(original.encode()) % 1000 / 1e6) if g.draws > 30 else g


class TooLong(Swap):
    """An error with the text in it, only where a text of more than sixty words is rewritten."""

    error: type[Exception] = dpt.InputError

    def rewrite_prepared(self, prepared, *more):
        if len(prepared.document.tokens) > 60 and "sister" in prepared.text:
            raise self.error(f"This text is too long: {prepared.text}. Shorten it.")
        return super().rewrite_prepared(prepared, *more)


class Crashes(TooLong):
    """The same by an exception of another kind."""

    error = RuntimeError


HOSTILE = (
    Paragraph,
    TwoBlanks,
    Inside,
    BlanksInside,
    Invisible,
    Letters,
    Refuses,
    Cases,
    Synonyms,
    Counts,
    Notes,
    Results,
    InLists,
    Digits,
    LongTotals,
    TooLong,
    Crashes,
)


@functools.cache
def audited(cls):
    """With draws enough for what whole outputs tell; where no leak is a matter of chance, with few."""
    if issubclass(cls, Swap):
        return audit(cls.create(), list(WORDS), seed=1, draws=100)
    options = {"length": 3} if issubclass(cls, Generator) else {"epsilon": 1.0}
    return audit(cls.create(**options), None, seed=1, draws=1000 if cls is Cases else 400)


@pytest.mark.slow
@pytest.mark.parametrize("cls", HOSTILE, ids=lambda cls: cls.__name__)
def test_a_plugin_that_tells_of_the_text_never_holds(cls, monkeypatch):
    # Of the looks that come last, only that at lists has something to find here.
    monkeypatch.setattr(verdict, "LATER", (in_batches,))
    report = audited(cls)
    unclear = cls is Notes or issubclass(cls, TooLong)  # an error may be public
    assert report.verdict in (("inconclusive", "refuted") if unclear else ("refuted",)), report.details()
    if report.verdict == "inconclusive":
        assert report.reason and report.line == "Inconclusive"
    assert report.details().startswith(report.line) and not any(c.status == "refuted" for c in report.checks[:-1])
    if cls in (Paragraph, TwoBlanks, Invisible):
        assert [c.name for c in report.checks] == ["released text"] and report.witness.kind == "release"


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Swap, Generator, Latent])
def test_what_they_are_made_of_holds_and_says_what_was_not_seen(cls, monkeypatch):
    if cls is Generator:  # test_seeded has the other looks at it
        monkeypatch.setattr(verdict, "LATER", (in_batches,))
    report = audited(cls)
    assert report.verdict in ("holds", "inconclusive") and {c.status for c in report.checks} <= {
        "proven",
        "tested",
        "not tested",
    }
    if report.holds:
        message = report.details()
        assert message.startswith("No violation found in the cases tested ✓") and "; nor" not in report.first()
        # One thing in the sentence of the result, and the others in one list after it.
        assert len(report.blind) > 2 and message.index(report.blind[0]) < message.index("; ".join(report.blind[1:]))


@pytest.mark.parametrize(
    ("leak", "said"),
    [(0.00061, "0.07%"), (0.0308, "3.1%"), (0.03, "3.0%"), (0.632, "64%"), (0.29, "29%"), (1.0, "100%")],
)
def test_a_share_that_would_have_been_seen_is_rounded_up(leak, said):
    assert format_share(leak) == said


@pytest.mark.slow
def test_a_verdict_names_what_was_not_looked_at():
    """Longer texts than the longest one, longer notes, and how often one word must leak."""
    report = audited(Swap)
    message = " ".join(report.lines())
    first = report.first()
    assert "anything after token 700 of a longer text" in first and "noise that texts share" in first
    assert "notes on texts of up to 8 words" in message


@pytest.mark.slow
def test_noise_that_two_texts_share_in_a_mirror_is_refuted():
    class Mirror(Swap):
        """Every second text of a list has the words at the other end of the list of words."""

        def rewrite_list(self, texts, stream, *more):
            made = []
            for k, t in enumerate(texts):
                prepared = self.prepare(t)
                r = self.rewrite_prepared(prepared, stream.at(k // 2), *more)
                made.append(turned(r) if k % 2 else r)
            return made

    def turned(r):
        steps = [with_(s, replacement=WORDS[-1 - WORDS.index(s.replacement)]) for s in r.steps]
        edits = [Edit(s.replacement) for s in steps]
        out = Document.parse(r.original, Swap.language).skeleton([True] * len(steps)).render(edits)
        steps = tuple(with_(s, out=at) for s, at in zip(steps, out.spans, strict=True))
        return with_(r, text=out.text, steps=steps, noise_id=r.noise_id + "b")

    m = Mirror.create(epsilon=0.1)
    few, meter = list(WORDS[:3]), Meter()
    probes, _ = probes_of(m, few, meter)
    check = in_batches(Subject(m, m.guarantee("doctor"), few, NoiseStream(1), meter, probes))
    assert check.status == "refuted" and "mirror" in check.witness.details


def test_the_figure_says_what_the_text_says():
    report = AuditReport("m", 50.0, "pure", 50.04, 26.58, True, 2.0, "holds", "", None, "", 9, 36, (), 10, None, 0.95)
    assert report.loss == at_least(26.58) == "26.5" and report.limit == "50.1"
    assert f"the largest loss is {report.loss}," in report.details()
    assert list(audit_figure(report).data[0].text) == [report.loss, report.limit]
