"""Give every entrance of the program anything: it ends in a result, or in one sentence of an error of ours.

    python tests/fuzz.py                                   some hundred examples at each entrance
    python tests/fuzz.py --entrance vectors --seconds 600  as many as fit into ten minutes, at one
    python tests/fuzz.py --entrance session --seconds 600 --atheris

With ``--atheris`` the examples are led by which code they reach. It needs the package of that name, which is no
requirement of this program. Needs requirements-dev.txt.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP), str(TOP / "tests")]

#: Examples of a round.
ROUND = 200
TABLE = 'id,text,label\n1,My doctor called my sister.,a\n2,"A letter, he said, was lost.",b\n'
SESSION = {
    "kind": "DP-Text Studio session",
    "version": 1,
    "mechanism": "custext",
    "options": {"epsilon": "3", "k": "5"},
    "seed": 7,
    "text": "My doctor called.",
}


@dataclass(frozen=True)
class Entrance:
    """given: makes the strategy of its inputs. run: takes one in. cost: how many times as long as another it takes."""

    given: Callable[[], Any]
    run: Callable[[Any], None]
    cost: int = 1


def sentence(error: BaseException) -> bool:
    """Whether an error says something that can be shown to a user."""
    said = str(error)
    return bool(said) and said[-1] in ".)?" and len(said) < 3000 and "Traceback" not in said


def tried(run: Callable[[Any], None]) -> Callable[[Any], None]:
    """The entrance, with errors of ours as an answer."""

    def one(given: Any) -> None:
        from dptext_core import DPTextError

        try:
            run(given)
        except DPTextError as error:
            assert sentence(error), f"no sentence: {str(error)[:300]!r}"

    return one


# --- inputs


def sessions() -> Any:
    """Sessions with other values, and files that are damaged."""
    from hypothesis import strategies as st

    leaf = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=8)
        | st.sampled_from(["custext", "L0"])
    )
    values = (
        leaf | st.lists(leaf, max_size=3) | st.dictionaries(st.sampled_from(["k", "epsilon", "never", "mapping"]), leaf)
    )
    other = st.dictionaries(st.sampled_from([*SESSION, "more"]), values, max_size=3)
    made = other.map(lambda new: json.dumps(SESSION | new).encode())
    return made | damaged(json.dumps(SESSION).encode(), json.dumps(SESSION, indent=2).encode())


def damaged(*whole: bytes, most: int = 6) -> Any:
    """Bytes of one's own, and files with some parts changed, cut out, put in or doubled."""
    from hypothesis import strategies as st

    @st.composite
    def made(draw: Any) -> bytes:
        data = bytearray(draw(st.sampled_from(whole)))
        for _ in range(draw(st.integers(0, most))):
            at = draw(st.integers(0, len(data)))
            n = draw(st.integers(0, 40))
            kind = draw(st.integers(0, 4))
            if kind == 0:
                data[at : at + n] = b""
            elif kind == 1:
                data[at:at] = draw(st.binary(max_size=12))
            elif kind == 2:
                data[at : at + n] = draw(st.binary(min_size=n, max_size=n))
            elif kind == 3:
                data[at:at] = data[at : at + n] * 3
            else:
                del data[at:]
        return bytes(data)

    return st.one_of(made(), st.binary(max_size=200))


def texts() -> Any:
    from hypothesis import strategies as st

    odd = [
        "\0",
        "\ud800",
        "\u202e",
        "é",
        "e\u0301",
        "🙂",
        "’",
        "''",
        "...",
        "-",
        "\r\n",
        "doctor",
        "Dr.",
        "I",
        "<b>",
        "1e5",
    ]
    return st.one_of(
        st.text(max_size=80), st.lists(st.sampled_from(odd) | st.text(max_size=5), max_size=30).map(" ".join)
    )


def messages() -> Any:
    from hypothesis import strategies as st

    numbers = st.floats() | st.integers() | st.booleans() | st.none()
    leaf = numbers | st.text(max_size=6)
    anything = st.recursive(
        leaf, lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=5), x, max_size=4)
    )
    names = ("run", "eps", "token", "copies", "tint", "word")
    copies = st.lists(st.tuples(st.text(max_size=3), numbers, numbers).map(list), max_size=3) | anything
    view = st.fixed_dictionaries({"run": numbers, "eps": numbers, "token": numbers, "copies": copies, "tint": leaf})
    parts = st.fixed_dictionaries({}, optional={n: copies if n == "copies" else numbers | anything for n in names})
    return view | parts | anything


def addresses() -> Any:
    import dataclasses

    from hypothesis import strategies as st

    import dptext_core as dpt

    specs = dpt.mechanisms()
    options = sorted({f.name for s in specs for f in dataclasses.fields(s.config_cls)})
    names = st.sampled_from([*options, "hide", "1.mechanism", "2.k", "lesson", "present"]) | st.text(max_size=8)
    value = st.text(max_size=20) | st.sampled_from(
        ["1", "none", "yes", "-1", "1e400", "nan", "L0", "../x", "minilm", '"', "[]", "1,2"]
    )
    mechanism = st.sampled_from([s.name for s in specs]) | st.text(max_size=10)
    return st.builds(lambda m, rest: {"mechanism": m, **rest}, mechanism, st.dictionaries(names, value, max_size=5))


@cache
def parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["My doctor called.", None], "n": [1, 2]}), out)
    return out.getvalue()


@cache
def docx() -> bytes:
    out = io.BytesIO()
    body = "<w:p><w:r><w:t>My doctor called.</w:t></w:r></w:p>"
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
    return out.getvalue()


@cache
def vectors() -> tuple[bytes, ...]:
    import gzip

    import numpy as np

    plain = b"3 2\ndoctor 1.5 2\nsister -1 0.25\nletter 1e-3 4\n"
    packed, binary = io.BytesIO(), b"2 2\n" + b"".join(w + np.array([1, 2], "<f4").tobytes() for w in (b"a ", b"b "))
    np.savez(packed, words=np.array(["doctor", "sister"]), vectors=np.eye(2))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", plain)
    return plain, plain[4:], binary, packed.getvalue(), gzip.compress(plain, mtime=0), zipped.getvalue()


# --- entrances


@cache
def place() -> Path:
    """A folder of this process."""
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="dptext-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def of_table(kind: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        from dptext_studio.server import batch

        path = place() / f"table{kind}"
        path.write_bytes(data)
        found = batch.look(path)
        assert found.columns and found.count >= len(found.rows) > 0
        json.dumps([dict(row) for row in found.rows])

    return run


def text(given: str) -> None:
    import dptext_core as dpt

    result = dpt.get_mechanism("diffractor", epsilon=2).rewrite(given, seed=1)
    result.text.encode("utf-8")
    document = dpt.Document.parse(given)
    assert document.text == given, "something is lost"
    seen = document.visible
    assert all(seen.text[t.start : t.end] == t.text for t in seen.tokens), "a token is not what stands at its place"
    assert all(not gap or gap.isspace() for gap in seen.gaps), "something is lost"


def text_file(data: bytes) -> None:
    from dptext_studio.components.text import decode, literal

    literal(decode(data))


def session(data: bytes) -> None:
    from dptext_studio import exports
    from dptext_studio.components import links

    saved = exports.read_session(data)
    _, problem = links.from_query(links.from_file(saved.query))
    assert problem is None or problem[-1] in ".)?"


def address(params: dict[str, str]) -> None:
    from dptext_studio.components import hidden_controls, links

    setting, problem = links.from_query(params)
    assert (setting is None) == (problem is not None)
    assert problem is None or (problem[-1] in ".)?" and len(problem) < 3000), problem
    if setting is not None:
        assert links.from_query(links.to_file(setting)) == (setting, None)
    links.several_from_query(params)
    hidden_controls.known_names(params.get("hide", ""))


def message(given: Any) -> None:
    from dptext_studio.components import rewrite_view, token_strip

    token_strip._read_view(given)
    rewrite_view.word_of(given)
    rewrite_view.copies_of(given)


def vectors_file(data: bytes) -> None:
    import numpy as np

    from dptext_core.words import files

    path = place() / "vectors"
    path.write_bytes(data)
    words, found = files.read_vectors(path)
    assert len(words) == len(found) >= 1 and bool(np.all(np.isfinite(found)))


@cache
def model() -> Path:
    from tiny import tiny_masked_lm

    return tiny_masked_lm(place() / "model")


CHECKPOINT = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "dptext.json")


def checkpoints() -> Any:
    from hypothesis import strategies as st

    files = {name: (model() / name).read_bytes() for name in CHECKPOINT if (model() / name).is_file()}
    # Of weights the beginning, which says what is in the file, and its length.
    one = [st.tuples(st.just(n), damaged(d[:3000] if n.endswith("s") else d, most=3)) for n, d in files.items()]
    return st.one_of(*one)


def checkpoint(given: tuple[str, bytes]) -> None:
    import dptext_core as dpt
    from dptext_core.models import engines, masked_lm

    name, data = given
    folder = Path(tempfile.mkdtemp(dir=place()))
    try:
        for file in model().iterdir():
            shutil.copy(file, folder / file.name)
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(data + whole[3000:] if name.endswith("safetensors") else data)
        m = dpt.get_mechanism("dp-mlm", epsilon=50, model=str(folder), clip_min=-4, clip_max=8)
        assert m.rewrite("My doctor called.", seed=1).text
    finally:
        held: tuple[dict[Any, Any], ...] = (masked_lm._loaded, engines._engines)
        for kept in held:
            for key in [k for k in kept if str(folder) in map(str, k)]:
                del kept[key]
        shutil.rmtree(folder)


def table(kind: str, *whole: bytes) -> Entrance:
    return Entrance(lambda: damaged(*whole), of_table(kind))


LINES = b'{"text": "My doctor called.", "n": 1}\n{"text": null, "n": [1]}\n'
ENTRANCES = {
    "text": Entrance(texts, text, 2),
    "text file": Entrance(lambda: damaged(b"My doctor called.\n", "My sister’s".encode("utf-16")), text_file),
    "csv": table(".csv", TABLE.encode()),
    "tsv": table(".tsv", TABLE.replace(",", "\t").encode()),
    "jsonl": table(".jsonl", LINES),
    "txt": table(".txt", b"My doctor called.\n\nMy sister came.\n"),
    "parquet": Entrance(lambda: damaged(parquet()), of_table(".parquet")),
    "docx": Entrance(lambda: damaged(docx()), of_table(".docx")),
    "session": Entrance(sessions, session),
    "address": Entrance(addresses, address),
    "message": Entrance(messages, message),
    "vectors": Entrance(lambda: damaged(*vectors()), vectors_file),
    "checkpoint": Entrance(checkpoints, checkpoint, 20),
}


def fuzz(name: str, examples: int = ROUND, seed: int = 0, run: bool = True) -> Any:
    """Give one entrance so many examples. Raises what it raises and should not, with the smallest such example.

    run: else the function that would do so is given back, for another engine.
    """
    import hypothesis

    entrance = ENTRANCES[name]
    test = hypothesis.given(entrance.given())(tried(entrance.run))
    test = hypothesis.settings(
        max_examples=max(1, examples // entrance.cost),
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )(test)
    test = hypothesis.seed(seed)(test)
    return test() if run else test


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entrance", choices=list(ENTRANCES), action="append", help="this one alone; may be repeated")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on for so long, over all of them")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--atheris", action="store_true", help="led by which code is reached; one entrance")
    args = parser.parse_args()
    names = args.entrance or list(ENTRANCES)
    if args.atheris:
        if len(names) != 1:
            parser.error("--atheris takes one --entrance")
        import atheris

        with atheris.instrument_imports(include=["dptext_core", "dptext_studio"]):
            __import__("dptext_studio.exports")
            __import__("dptext_studio.server.batch")
            __import__("dptext_studio.components.links")
            __import__("dptext_core.words.files")
        test = fuzz(names[0], run=False)
        atheris.RunConfig([sys.argv[0], f"-max_total_time={args.seconds or 60:.0f}"], test.hypothesis.fuzz_one_input)
        atheris.Fuzz()
        return
    end, seed = time.monotonic() + args.seconds, args.seed
    done = dict.fromkeys(names, 0)
    while True:
        for name in names:
            if seed > args.seed and time.monotonic() >= end:
                break
            fuzz(name, ROUND, seed)
            done[name] += max(1, ROUND // ENTRANCES[name].cost)
            print(f"{name}: {done[name]:,}", file=sys.stderr, flush=True)
        seed += 1
        if time.monotonic() >= end:
            break
    for name in names:
        print(f"{name}: {done[name]:,} examples, each a result or one sentence")
    print(f"total: {sum(done.values()):,}")


if __name__ == "__main__":
    main()
