"""The bundled examples with every mechanism, and the lessons, as static files for any web server or a memory stick.

The texts are fictitious and public. The noise comes from a seed, so everybody gets the same files: a demonstration,
which is not private. Existing pages that would be identical are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dptext_core.errors import DPTextError, InputError, ModelUnavailable
from dptext_core.mechanisms.base import Mechanism
from dptext_core.mechanisms.configured import MechanismSpec
from dptext_core.mechanisms.registry import get_mechanism, mechanisms
from dptext_core.privacy.sentences import NOTIONS
from dptext_core.support.assets import Example, examples
from dptext_core.support.checks import shorten_repr
from dptext_core.support.task import UNWATCHED, Task
from dptext_core.support.version import __version__
from dptext_core.support.whole_files import replacement, sweep, write_errors

from ..lessons import LESSONS, Lesson
from . import html
from . import lesson as lessons_as
from .inspection import inspection, view_of

SEED = 1
#: The list of finished pages, for the next run.
STATE = "gallery.json"
#: The meaning of each notion for newcomers.
PLAIN = {
    "pure": "ε limits how much more likely the released words are for this text than for any other.",
    "metric": "ε limits the change in odds per unit of distance: similar words are protected more than others.",
    "group": "A word is protected only within its group of similar words.",
    "approx": "ε limits how much more likely the released text is for this text than for any other, except with "
              "probability δ.",
    "none": "It has no guarantee and is included for comparison.",
}


@dataclass(frozen=True)
class Page:
    """An existing page.

    made_of: a hash of its sources. draggable: whether ε can be dragged. mechanism: "" for the page of a lesson, whose
    name is then in ``example``.
    """

    file: str
    mechanism: str
    example: str
    made_of: str
    draggable: bool
    sentence: str


@dataclass(frozen=True)
class GallerySummary:
    """Summary of a finished gallery.

    pages: all pages. num_existing: how many of them already existed. omissions: why a mechanism or a lesson has no
    pages, by name.
    """

    pages: tuple[Page, ...]
    num_existing: int
    omissions: dict[str, str]
    bytes: int


def gallery(
    out: Path,
    names: Sequence[str] = (),
    chosen: Sequence[str] = (),
    lessons: Sequence[str] = (),
    *,
    seed: int = SEED,
    say: Callable[[str], None] = lambda line: None,
    task: Task = UNWATCHED,
) -> GallerySummary:
    """Write the gallery into the folder ``out``, and resume a stopped run.

    names: mechanisms; chosen: examples; lessons: lessons. Without any names, all; otherwise only the named ones. say:
    receives the name of each page. Raises InputError for an unknown name, and for a folder that contains something
    else.
    """
    specs = _pick(mechanisms(), names, lambda s: s.name, "mechanism")
    texts = _pick(examples(), chosen, slug, "example")
    wanted = _pick(LESSONS, lessons, lambda one: one.name, "lesson")
    if lessons and not (names or chosen):
        specs = []
    elif (names or chosen) and not lessons:
        wanted = []
    state = _open_folder(out)
    assets = {html.STYLE: html.style(), html.SCRIPT: html.script()}
    drawn_by = hashlib.sha256("".join(assets.values()).encode()).hexdigest()
    assets[lessons_as.STYLE] = lessons_as.style()
    kept, left_out = 0, {}
    for spec in specs:
        try:
            mechanism = get_mechanism(spec.name)
            for example in texts:
                task.check()
                key = f"{spec.name}-{slug(example)}.html"
                made_of = _source_hash(mechanism, example, seed, drawn_by)
                if key in state and state[key].made_of == made_of and (out / key).is_file():
                    kept += 1
                    continue
                start = time.monotonic()
                state[key], content = _page(key, mechanism, example, seed, made_of, task)
                _write(out / key, content)
                _remember(out, state)
                say(f"{key}: {time.monotonic() - start:.1f} s, {len(content.encode()) // 1000} kB")
        except ModelUnavailable as error:
            left_out[spec.name] = str(error)
            say(f"{spec.name}: left out. {error}")
    kept += _write_lessons(out, wanted, assets[lessons_as.STYLE], state, left_out, say, task)
    if not state:
        raise InputError("No page was made because no mechanism is installed. See: python -m dptext_core models")
    for name, content in assets.items():
        _write(out / name, content)
    _write(out / "index.html", _index(tuple(state.values()), seed))
    size = sum((out / name).stat().st_size for name in (*state, *assets, "index.html"))
    return GallerySummary(tuple(state.values()), kept, left_out, size)


def _write_lessons(
    out: Path,
    lessons: Sequence[Lesson],
    sheet: str,
    state: dict[str, Page],
    left_out: dict[str, str],
    say: Callable[[str], None],
    task: Task,
) -> int:
    """Write the pages of lessons, and return how many of them already existed."""
    kept = 0
    for lesson in lessons:
        task.check()
        key, made_of = lessons_as.file_of(lesson), lessons_as.source_hash(lesson, sheet)
        if key in state and state[key].made_of == made_of and (out / key).is_file():
            kept += 1
            continue
        try:
            content = lessons_as.lesson_page(lesson, "index.html", task)
        except (ModelUnavailable, InputError) as error:
            left_out[lesson.name] = str(error)
            say(f"{lesson.name}: left out. {error}")
            continue
        state[key] = Page(key, "", lesson.name, made_of, False, lesson.goal)
        _write(out / key, content)
        _remember(out, state)
        say(f"{key}: {len(content.encode()) // 1000} kB")
    return kept


def slug(example: Example) -> str:
    """Return the name of an example in an address and on the command line."""
    return re.sub(r"[^a-z0-9]+", "-", example.title.lower()).strip("-")


def _pick(there: Sequence[Any], names: Sequence[str], name: Callable[[Any], str], what: str) -> list[Any]:
    by_name = {name(one): one for one in there}
    for wanted in names:
        if wanted not in by_name:
            raise InputError(f"There is no {what} {shorten_repr(wanted)}. Choose from {', '.join(by_name)}.")
    return [by_name[n] for n in dict.fromkeys(names)] if names else list(there)


def _source_hash(mechanism: Mechanism, example: Example, seed: int, drawn_by: str) -> str:
    facts = [__version__, mechanism.name, repr(mechanism.config), dict(mechanism.loads()), example.text, seed, drawn_by]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _page(key: str, mechanism: Mechanism, example: Example, seed: int, made_of: str, task: Task) -> tuple[Page, str]:
    result = mechanism.rewrite(example.text, seed=seed, task=task.quiet)
    view = view_of(result, task=task.quiet)
    content = inspection(
        result,
        view,
        title=f"{example.title}, rewritten with {mechanism.title}",
        note=f"The text is fictitious. Its noise comes from seed {seed}, so this is a demonstration and not private.",
        above='<nav class="p-eyebrow"><a href="index.html">All examples and mechanisms</a></nav>',
        shared=True,
    )
    return Page(key, mechanism.name, slug(example), made_of, view["live"], result.guarantee.sentence()), content


# --- the index


def _index(pages: tuple[Page, ...], seed: int) -> str:
    titles = {slug(e): e for e in examples()}
    there = {p.example for p in pages}
    wanted = "".join(
        f"<li><strong>{html.escape(e.title)}</strong>. {html.escape(e.description)}</li>"
        for name, e in titles.items()
        if name in there
    )
    cards = "".join(
        _card(spec, of_it, titles) for spec in mechanisms() if (of_it := [p for p in pages if p.mechanism == spec.name])
    )
    there_too = {p.example: p.file for p in pages if not p.mechanism}
    lessons = "".join(
        f'<li><a href="{there_too[one.name]}">{html.escape(one.title)}</a>: {html.escape(one.goal)}</li>'
        for one in LESSONS
        if one.name in there_too
    )
    lessons = f"<h2>Lessons</h2>\n<ol>{lessons}</ol>" if lessons else ""
    texts = f"<h2>The texts</h2>\n<ul>{wanted}</ul>\n<h2>The mechanisms</h2>" if wanted else ""
    body = f"""<p class="p-eyebrow">DP-Text Studio</p>
<h1>The same text, rewritten privately</h1>
<p class="p-lede">A text can reveal who wrote it and whom it is about, even without a name. These pages show short \
texts, rewritten by different mechanisms. Most of them replace words with randomly sampled ones. Open a page and drag \
the slider.</p>
<p class="p-mark">The texts are fictitious. Their noise comes from seed {seed}, so this is a demonstration and not \
private.</p>
<div class="p-prose">
<h2>What ε is</h2>
<p>ε, “epsilon”, is the privacy budget. When it is small, noise dominates and few of the author’s words \
remain. When it is large, the words return, and so do the secrets. Each guarantee is for one ε. It is below each \
text, with a list of what it does not protect.</p>
<p>Equal numbers do not mean equal privacy: mechanisms have different units of ε.</p>
{lessons}
{texts}
</div>
<div class="p-cards">{cards}</div>
<footer>Made by DP-Text Studio {html.escape(__version__)}. These pages send no data.</footer>"""
    return html.page("DP-Text Studio: rewritten examples", body, shared=True, private=False)


def _card(spec: MechanismSpec, pages: Sequence[Page], titles: dict[str, Example]) -> str:
    order = list(titles)
    pages = sorted(pages, key=lambda p: order.index(p.example) if p.example in titles else len(order))
    links = "".join(
        f'<li><a href="{html.escape(p.file)}">{html.escape(titles[p.example].title)}</a></li>'
        for p in pages
        if p.example in titles
    )
    still = (
        ""
        if any(p.draggable for p in pages)
        else " Each page shows one ε, because another ε needs a new pass of the model."
    )
    return (
        f'<section class="p-card" id="{html.escape(spec.name)}"><h3>{html.escape(spec.title)}</h3>'
        f'<p>{html.escape(spec.summary)}</p><p class="p-small">{html.escape(NOTIONS[spec.notion].capitalize())}. '
        f"{html.escape(PLAIN[spec.notion])}{still}</p><ul>{links}</ul>"
        f"<details><summary>Guarantee for the first text</summary><p>{html.escape(pages[0].sentence)}</p></details>"
        "</section>"
    )


# --- files


def _open_folder(out: Path) -> dict[str, Page]:
    """Return the pages that are in the folder. Make the folder if it is missing."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        sweep(out)
        if not (out / STATE).exists():
            if any(out.iterdir()):
                raise InputError(f"{shorten_repr(str(out))} contains something other than a gallery. Choose an empty "
                                 "folder.")
            _remember(out, {})  # before the first page, so that a run that is stopped there goes on
        content = json.loads((out / STATE).read_text(encoding="utf-8"))
        pages = [Page(**p) for p in content["pages"]]
        if any(p.file != Path(p.file).name or not p.file.endswith(".html") for p in pages):
            raise ValueError("a page name is invalid")
        return {p.file: p for p in pages if (out / p.file).is_file()}
    except OSError as error:
        raise InputError(
            f"{shorten_repr(str(out))} cannot be used: {error.strerror or error}. Choose another folder."
        ) from error
    except DPTextError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{STATE} in {shorten_repr(str(out))} is damaged. Delete it and start again.") from error


def _remember(out: Path, state: dict[str, Page]) -> None:
    about = {"version": __version__, "pages": [asdict(p) for p in state.values()]}
    _write(out / STATE, json.dumps(about, ensure_ascii=False, indent=1))


def _write(path: Path, content: str) -> None:
    """Write a file completely or not at all. Raise InputError."""
    with write_errors(path), replacement(path) as beside:
        beside.write_text(content, encoding="utf-8", newline="\n")
