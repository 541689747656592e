"""Build the folder of the browser edition from bundled files, without a download.

It contains the graphs and weights of the models, their runtime, the vocabulary, the tables of the word mechanisms, the
lists of the language, templates of guarantees, the app's token view, and the modules in ``site``. Large files are
compressed with gzip, because not every web server compresses what it sends.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dptext_core.attacks import alternatives
from dptext_core.attacks.belief import BeliefQuestion
from dptext_core.detectors.rules import KINDS
from dptext_core.errors import InputError, ModelUnavailable
from dptext_core.mechanisms.masked import dp_mlm_prior
from dptext_core.mechanisms.option_meta import option_meta
from dptext_core.mechanisms.registry import get_mechanism
from dptext_core.mechanisms.words.custext import CusTextConfig
from dptext_core.privacy.sampling import NoiseStream
from dptext_core.support import folder_lock
from dptext_core.support.assets import assets_folder, examples
from dptext_core.support.version import __version__
from dptext_core.support.whole_files import replacement, sweep, write_errors
from dptext_core.text.language import Language
from dptext_core.text.languages.english import IRREGULAR
from dptext_core.text.lexicons import stop_words
from dptext_core.text.visible import character_table
from dptext_core.words.capitals import public_forms

from ..exports import html, lesson
from ..exports.gallery import gallery, slug
from ..figures import browser
from ..figures.belief_view import belief_curve, belief_view, points
from ..figures.token_view import payload
from .course import course_data
from .detection import detection_data, stand_in_lists
from .game import game_data
from .patterns import javascript
from .templates import mechanism_data

_HERE = Path(__file__).parent / "site"
#: In the order of the page, which starts with the first.
MECHANISMS = ("dp-mlm", "custext", "diffractor", "santext", "dp-sentence", "dp-mlm-prior", "redact", "surrogates")
#: Options that the browser edition does not offer: excluded words change CusText's groups, which take long to compute.
FROZEN = {"custext": ("never",)}
#: The available tables of CusText, by the number of output words.
K = next(option_meta(f).trade_off_values for f in dataclasses.fields(CusTextConfig) if f.name == "k")
#: The policy of the page. Compiling WebAssembly needs a separate keyword in every browser.
POLICY = (
    "default-src 'self'; connect-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'"
)
#: Replaces an example's problem if the text is the visitor's own.
OWN_TEXT = "Choose a word to protect."
NOTES = (
    "The randomness comes from your browser's cryptographic generator. Every word is sampled over the full range of "
    "float64, so improbable words remain possible.",
    "The language model is the same as in the full program, computed in float32. Only the sentence encoder has "
    "weights rounded to 8 bits; the guarantee is the same.",
    "The reader's certainty is exact for the sampled distributions. With a public prior, it is interpolated while "
    "you drag (≈) and exact when you stop.",
    "The page and its files come from the server where you opened it. After loading, it sends no data.",
)
#: The large files that the first mechanism and the reader's certainty need, by their names in core.json.
FIRST_PARTS = ("vocabulary", "runtime", "model", "model-weights", "neighbours-words", "neighbours")
#: The names of the index file, of the course, and of the folder of finished pages.
CORE, LESSONS, GALLERY = "core.json", "lessons.json.gz", "gallery"
#: This file exists while a site is incomplete.
UNFINISHED = "unfinished.txt"


@dataclass(frozen=True)
class SiteSummary:
    """Summary of a finished site.

    files: the transferred bytes of each file, by path. total: their sum. first_visit: the bytes that a first visit with
    the first mechanism fetches.
    """

    files: dict[str, int]
    first_visit: int

    @property
    def total(self) -> int:
        return sum(self.files.values())


def write_site(
    out: Path, say: Callable[[str], None] = lambda line: None, *, shown: Sequence[str] | None = None
) -> SiteSummary:
    """Write the site into the folder ``out``.

    say: receives the name of each large file. shown: mechanisms whose rewritten examples (``exports.gallery``) are
    included as finished pages; empty: all of them; None: no pages. Raises InputError if the folder contains something
    else, and ModelUnavailable if a bundled file is missing.
    """
    with write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    with folder_lock.exclusive(out):
        sweep(out)
        if any(out.iterdir()) and not (out / CORE).is_file() and not (out / UNFINISHED).is_file():
            raise InputError(f"{out.name} contains something other than this site. Choose a new or empty folder.")
        with write_errors(out / UNFINISHED):
            (out / UNFINISHED).write_bytes(b"This site is incomplete. Run the same command again.\n")
        made = _write_parts(out, say, shown)
        (out / UNFINISHED).unlink()
    return made


def _write_parts(out: Path, say: Callable[[str], None], shown: Sequence[str] | None) -> SiteSummary:
    """Write all files of a site into its folder."""
    files: dict[str, int] = {}

    def write(path: str, data: bytes | str) -> None:
        data, place = data.encode() if isinstance(data, str) else data, out / path
        with write_errors(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            with replacement(place) as beside:
                beside.write_bytes(data)
        files[path] = len(data)

    packed: dict[str, dict[str, Any]] = {}
    candidates: list[tuple[int, int]] = []
    for name, path, data in _large(candidates):
        small = _pack(data)
        write(path, small)
        packed[name] = {"path": path, "bytes": len(small), "sha256": hashlib.sha256(data).hexdigest()}
        say(f"{path}: {len(small) / 1e6:.1f} MB")
    write("runtime/ort.mjs", _runtime("ort.wasm.bundle.min.mjs"))
    for licence in sorted((assets_folder() / "licences").iterdir()):
        write(f"licences/{licence.name}", licence.read_bytes())
    core = json.dumps(_core(packed, candidates), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write(CORE, core)
    write("game.json", json.dumps(game_data(), ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    course = json.dumps(course_data(MECHANISMS, say), ensure_ascii=False, separators=(",", ":"))
    write(LESSONS, _pack(course.encode()))
    write("first.json", json.dumps(_first(), ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    for file in sorted(_HERE.iterdir()):
        if file.suffix in (".js", ".webmanifest") and file.name != "sw.js":
            write(file.name, file.read_bytes())
    write("strip.js", browser.script())
    sheet = (_HERE / "site.css").read_text(encoding="utf-8")
    write("style.css", html.style() + sheet)
    write("lessons.css", lesson.style() + sheet)
    write("icon.svg", (_HERE / "icon.svg").read_bytes())
    write("index.html", _page("page.html", "app.js", shown is not None))
    write("game.html", _page("game.html", "game.js"))
    write("lessons.html", _page("lessons.html", "lessons.js", sheet="lessons.css"))
    shell = sorted(p for p in files if p == LESSONS or not (p.endswith(".gz") or p.startswith("licences/")))
    if shown is not None:
        folder = out / GALLERY
        gallery(folder, shown, say=say)
        files |= {p.relative_to(out).as_posix(): p.stat().st_size for p in folder.iterdir()}
    version = hashlib.sha256("".join(f"{p}{_digest(out / p)}" for p in sorted(files)).encode()).hexdigest()[:16]
    worker = (_HERE / "sw.js").read_text(encoding="utf-8")
    write("sw.js", f"const VERSION = {json.dumps(version)};\nconst SHELL = {json.dumps(shell)};\n{worker}")
    fetched = {*shell, "sw.js", *(part["path"] for name, part in packed.items() if name in FIRST_PARTS)}
    return SiteSummary(files, sum(files[path] for path in fetched))


def _pack(data: bytes) -> bytes:
    """Compress with gzip. Use only the frequencies of numbers if that is smaller, as for vectors; a part records which.
    """

    def by(way: int, data: bytes) -> bytes:
        packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS + 16, 9, way)
        return packer.compress(data) + packer.flush()

    middle = len(data) // 2
    part = data[middle : middle + 500_000]
    way = min((zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY), key=lambda way: len(by(way, part)))
    return by(way, data)


def _large(candidates: list[tuple[int, int]]) -> Iterator[tuple[str, str, bytes]]:
    """Return the large files, each with its name in core.json and its path. candidates: receives the ids of the words
    that can be sampled, as ranges.
    """
    from dptext_core.models import eight_bits, sentence_encoder
    from dptext_core.models.onnx_masked import stored_candidates
    from dptext_core.models.registry import GRAPH_FILE, WEIGHTS_FILE, masked_lm_spec
    from dptext_core.words.bank import sentence_bank
    from dptext_core.words.vocabulary import read_pieces

    spec = masked_lm_spec(get_mechanism("dp-mlm").config.model)
    ids = stored_candidates(spec)
    breaks = np.flatnonzero(np.diff(ids) != 1) + 1
    candidates += [(int(run[0]), int(run[-1]) + 1) for run in np.split(ids, breaks)]
    yield "vocabulary", "data/vocabulary.txt.gz", "\n".join(read_pieces()).encode()
    yield "words", "data/words.txt.gz", "\n".join(_words_of("custext").vocabulary.words).encode()
    for k in K:
        yield f"custext-{k}", f"data/custext-{k}.bin.gz", _custext(k)
    yield "codes", "data/codes.bin.gz", _codes()
    yield "nearest", "data/nearest.bin.gz", _nearest()
    (order,) = _words_of("diffractor").vocabulary.lists
    yield "list", "data/list.txt.gz", "\n".join(order).lower().encode()
    yield "stand-ins", "data/stand_ins.json.gz", stand_in_lists(get_mechanism("surrogates").language)
    words, near = _neighbours()
    yield "neighbours-words", "data/neighbours.txt.gz", words
    yield "neighbours", "data/neighbours.bin.gz", near
    yield "runtime", "runtime/ort.wasm.gz", _runtime("ort-wasm-simd-threaded.wasm")
    yield "model", "data/model.onnx.gz", _file(spec.folder / GRAPH_FILE)
    yield "model-weights", f"data/{WEIGHTS_FILE}.gz", _file(spec.folder / WEIGHTS_FILE)
    small = sentence_encoder.graphs_folder() / sentence_encoder.SMALL_GRAPH
    _, weights = eight_bits.laid_out(eight_bits.in_eight_bits(sentence_encoder.weights()))
    yield "encoder", "data/encoder.onnx.gz", _file(small)
    yield "encoder-weights", f"data/{sentence_encoder.SMALL_WEIGHTS}.gz", weights
    bank = sentence_bank()
    yield "sentences", "data/sentences.txt.gz", "\n".join(bank.sentences).encode()
    yield "vectors", "data/vectors.bin.gz", bank.codes.tobytes()


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"{path.name} is missing. Restore it from the repository.") from error


def _words_of(name: str, **options: Any) -> Any:
    """Return a mechanism over words, which has a ``vocabulary`` and a ``channel`` for each row of it."""
    return get_mechanism(name, **options)


def _custext(k: int) -> bytes:
    """Return the K outputs of each word, most likely first: scores, float64 (words, K), then places, uint16 (words, K).
    """
    mechanism = _words_of("custext", k=k)
    space = mechanism.vocabulary
    places, scores = mechanism.tables(np.arange(len(space)))
    return scores.astype("<f8").tobytes() + places.astype("<u2").tobytes()


def _codes() -> bytes:
    """Return the vectors of SanText's word space as whole numbers, int8 (axes, words), which compress better."""
    codes = _words_of("santext").vocabulary.codes
    if codes is None:
        raise ModelUnavailable("The bundled word space has no integer vectors. Restore it from the repository.")
    return np.ascontiguousarray(codes.T).tobytes()


def _nearest() -> bytes:
    """Return the nearest other word of each word: distances, float64 (words,), then places, uint16 (words,)."""
    space = _words_of("santext").vocabulary
    places, distances = space.nearest(np.arange(len(space)), 2)
    return distances[:, 1].astype("<f8").tobytes() + places[:, 1].astype("<u2").tobytes()


def _neighbours() -> tuple[bytes, bytes]:
    """Return the words of the public space that alternatives come from, and the alternatives of each, uint16 (words,
    SUGGESTED). A word with fewer alternatives repeats its own place.
    """
    mechanisms = [get_mechanism(name) for name in MECHANISMS]
    space = alternatives.public_space(mechanisms[0])
    if any(alternatives.public_space(m) is not space for m in mechanisms):
        raise ModelUnavailable(
            "The mechanisms of the browser edition take alternatives from several word spaces. Use mechanisms of one."
        )
    places = {word: i for i, word in enumerate(space.words)}
    near = np.repeat(np.arange(len(space), dtype="<u2")[:, None], alternatives.SUGGESTED, axis=1)
    for rows in np.array_split(np.arange(len(space)), len(space) // 1024 + 1):
        nearest = alternatives.nearest_words(space, rows.tolist(), alternatives.SUGGESTED, mechanisms[0].language)
        for row, words in zip(rows.tolist(), nearest, strict=True):
            near[row, : len(words)] = [places[w] for w in words]
    return "\n".join(space.words).encode(), near.tobytes()


def _runtime(name: str) -> bytes:
    path = assets_folder() / "pocket" / f"{name}.xz"
    try:
        return lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise ModelUnavailable(
            f"assets/pocket/{path.name} is missing or damaged. Restore it from the repository."
        ) from error


def _core(packed: dict[str, dict[str, Any]], candidates: list[tuple[int, int]]) -> dict[str, Any]:
    from dptext_core.models import sentence_encoder
    from dptext_core.models.registry import masked_lm_spec

    stop = stop_words()

    mechanisms = {name: get_mechanism(name) for name in MECHANISMS}
    made = {name: mechanism_data(m, FROZEN.get(name, ())) for name, m in mechanisms.items()}
    for name in ("dp-mlm", "dp-mlm-prior"):
        made[name]["max_length"] = masked_lm_spec(mechanisms[name].config.model).max_length
    made["dp-mlm-prior"]["shape"] = _model_shape(mechanisms["dp-mlm-prior"].config.model)
    made["dp-sentence"]["max_length"] = sentence_encoder.PIECES + 2
    return {
        "version": __version__,
        "files": packed,
        "visible": character_table(),
        "language": language_data(mechanisms[MECHANISMS[0]].language),
        "stop_words": sorted(stop.words),
        "kinds": KINDS,
        "alternatives": alternatives.word_lists(mechanisms[MECHANISMS[0]].language),
        "suggested": alternatives.SUGGESTED,
        "candidates": candidates,
        "mechanisms": list(made.values()),
        "examples": [
            {"slug": slug(e), "title": e.title, "text": e.text, "problem": e.problem, "sensitive": e.sensitive}
            for e in examples()
        ],
        "own": OWN_TEXT,
        "notes": NOTES,
    }


def _model_shape(model: str) -> dict[str, float]:
    """Return what determines the range of the private shift and the weight of the proposal at any ε."""
    of = dp_mlm_prior
    numbers = {"low": of.LOW, "width": of.WIDTH, "growth": of.GROWTH, "widest": of.WIDEST, "firm": of.FIRM}
    return {"sigma": of.score_deviation(model), **numbers, "power": of.POWER, "spread": of.SPREAD}


def _first() -> dict[str, Any]:
    """Return the first example rewritten by the first mechanism, to drag while the model loads. It has a seed, so it is
    not private.
    """
    mechanism = get_mechanism(MECHANISMS[0])
    example, seed = examples()[0], 1
    result = mechanism.rewrite(example.text, seed=seed)
    low, high, default = mechanism.epsilon_range()
    shown = payload(result, run=0, low=low, high=high, default=default, pin=example.sensitive)
    question = BeliefQuestion.make(mechanism, example.text, example.sensitive)
    where = points(question, low, high).tolist()
    curve = belief_curve(question, question.prepared[0], NoiseStream(seed), where)
    now = (float(default), question.answer(result))
    return {
        "payload": {**shown, "stage": True, "belief": {"why": ""}},
        "belief": belief_view(question, curve, [shown["pin"]], now),
        "sentence": result.guarantee.sentence(),
        "exposed": result.guarantee.exposed,
    }


def language_data(language: Language) -> dict[str, Any]:
    """Return the lists of the language that text.js and identifiers.js read.

    text.js splits and writes texts with the English tokenizer; identifiers.js finds names and dates.
    """
    clues, articles = language.clues, language.articles
    assert articles is not None
    return {
        "clitics": language.clitics,
        "detached": language.detached,
        "enders": "".join(sorted(language.enders)),
        "titles": sorted(language.titles),
        "abbreviations": sorted(language.abbreviations),
        "before_number": sorted(language.before_number),
        "starters": sorted(language.starters),
        "no_initials": sorted(language.no_initials),
        "irregular": IRREGULAR,
        "articles": {
            "forms": articles.forms,
            "second": javascript(articles.second),
            "spelled": javascript(articles.spelled),
            "letters": sorted(articles.letters),
        },
        "tight_before": sorted(language.tight_before),
        "tight_after": sorted(language.tight_after),
        "capitals": _capitals(),
        "detection": detection_data(language),
        "clues": {
            **{name: sorted(x) if isinstance(x, frozenset) else x for name, x in dataclasses.asdict(clues).items()},
            "longest_place": clues.longest_place,
            "short_titles": sorted(language.titles),
        },
    }


def _capitals() -> dict[str, list[str]]:
    """Return the words whose public form has one capital, and those written in capitals."""
    forms = public_forms()
    title = sorted(word for word, form in forms.items() if form == word.capitalize())
    return {"title": title, "upper": sorted(forms.keys() - set(title))}


def _page(name: str, script: str, with_gallery: bool = False, sheet: str = "style.css") -> str:
    """Return a page of the site with its body and its script."""
    body = (_HERE / name).read_text(encoding="utf-8").replace("{{strip}}", browser.markup())
    if with_gallery:
        link = f'<a href="{GALLERY}/index.html">All examples with every mechanism</a>'
        body += f'<p class="p-small">{link}</p>\n'
    # Without these links, a page asks for its scripts and data one round trip after another.
    links = [f'<link rel="modulepreload" href="{name}">' for name in _imported(script)]
    if script == "app.js":
        links.append(f'<link rel="preload" href="{CORE}" as="fetch" crossorigin>')
    preloads = "\n".join(links)
    title = re.search("<h1>(.*?)</h1>", body)
    assert title is not None
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="DP-Text Studio {html.escape(__version__)}">
<title>{title[1]}</title>
<link rel="icon" href="icon.svg">
<link rel="manifest" href="manifest.webmanifest">
<link rel="stylesheet" href="{sheet}">
{preloads}
</head>
<body>
<main>
{body}
</main>
<script type="module" src="{script}"></script>
</body>
</html>
"""


def _imported(script: str) -> list[str]:
    """Return the modules that a script of the site imports, directly or indirectly."""
    found: list[str] = []
    waiting = [script]
    while waiting:
        file = _HERE / waiting.pop()
        text = file.read_text(encoding="utf-8") if file.exists() else ""  # strip.js is built from other files
        new = [name for name in re.findall(r'^import .*?from "\./(\w+\.js)";', text, re.M | re.S) if name not in found]
        found += new
        waiting += new
    return sorted(set(found))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
