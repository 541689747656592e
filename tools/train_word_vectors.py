"""Train the bundled word spaces word2vec, fasttext and cooccurrence: ``assets/words/<name>.npz``.

    python tools/train_word_vectors.py --corpus train.txt.gz --out-dir assets/words --ppdb ppdb_synonyms.txt.gz

All three are trained on the lower-cased words of a public corpus (one text a line, one sentence to them): skip-gram
with negative sampling (Mikolov et al. 2013), the same over character n-grams (Bojanowski et al. 2017), and positive
PMI, factorised (Levy, Goldberg and Dagan 2015). The first two are centred (Mu and Viswanath 2018, first step), the
third is retrofitted with synonyms (Faruqui et al. 2015): with every second pair of the list of ``--ppdb`` (two words a
line); it stays as it is where no list is given. Kept are the whole words of all-MiniLM-L6-v2's vocabulary that occur at
least ``--min-count`` times. Their vectors get length 1, are rotated to their principal axes and rounded as those of
``minilm.npz`` are. Written are these, which words were kept (one bit for each of the vocabulary), and the smallest and
largest distance of two words; no word and no text of the corpus. The order of the words is that of ``minilm.npz`` in
the same folder, so ``tools/build_word_space.py`` comes first.

Prints the share of the 50 nearest words that each file shares with full precision, its bytes and its SHA-256, and,
where a list of synonyms is given, how many of the pairs that the retrofitting did not see have the partner among the
nearest words, for all five bundled spaces. One thread and fixed seeds: with the same versions, the same vectors. Takes
about 12 minutes. ``--only`` trains some of them; ``--measure`` trains nothing and measures the files that are there.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_word_space import overlap, rotate

from dptext_core.text.document import Document
from dptext_core.words.space import WordSpace
from dptext_core.words.space_loading import SPACES, common_vocabulary, word_space, words_sha256
from dptext_core.words.vocabulary import read_pieces, whole_words

NAMES = ("word2vec", "fasttext", "cooccurrence")
SEED = 1
DIM = 64
WINDOW = 5


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from file


def read_sentences(corpus: Path) -> list[list[str]]:
    """The lower-cased words of each line of the corpus that has two or more."""
    found = []
    for line in lines(corpus):
        words = [sys.intern(token.text.lower()) for token in Document.parse(line).tokens if token.kind == "word"]
        if len(words) > 1:
            found.append(words)
    return found


def centred(vectors: np.ndarray) -> np.ndarray:
    return vectors - vectors.mean(axis=0)


def train_word2vec(texts: list[list[str]], words: Sequence[str], min_count: int) -> np.ndarray:
    """Skip-gram with negative sampling, centred; float32 (n, 64)."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        texts,
        vector_size=DIM,
        window=WINDOW,
        min_count=min_count,
        sg=1,
        negative=10,
        sample=1e-4,
        epochs=25,
        workers=1,
        seed=SEED,
    )
    return centred(np.stack([model.wv[word] for word in words]))


def train_fasttext(texts: list[list[str]], words: Sequence[str], min_count: int) -> np.ndarray:
    """The same with a word's vector made of those of its character n-grams (3 to 6 characters); float32 (n, 64)."""
    from gensim.models import FastText

    model = FastText(
        texts,
        vector_size=DIM,
        window=WINDOW,
        min_count=min_count,
        sg=1,
        negative=5,
        sample=1e-4,
        epochs=15,
        min_n=3,
        max_n=6,
        bucket=200_000,
        workers=1,
        seed=SEED,
    )
    return centred(np.stack([model.wv[word] for word in words]))


def factorise(texts: list[list[str]], words: Sequence[str], min_count: int) -> np.ndarray:
    """Positive PMI of words with the words around them, by truncated SVD with the roots of the singular values.

    Neighbours count less the farther they are, as in word2vec. No shift and no smoothing of the contexts: with both,
    the partners of fewer synonym pairs were near. float64 (n, 64).
    """
    counts = Counter(word for text in texts for word in text)
    context = {word: i for i, word in enumerate(word for word, count in counts.items() if count >= min_count)}
    flat = np.array([context.get(word, -1) for text in texts for word in text])
    line = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    size = len(context)
    near = csr_array((size, size))
    for offset in range(1, WINDOW + 1):
        left, right = flat[:-offset], flat[offset:]
        together = (left >= 0) & (right >= 0) & (line[:-offset] == line[offset:])
        weight = np.full(int(together.sum()), (WINDOW + 1 - offset) / WINDOW)
        near = near + coo_array((weight, (left[together], right[together])), shape=(size, size)).tocsr()
    near = (near + near.T).tocsr()
    total = np.asarray(near.sum(axis=1)).ravel()
    rows = np.array([context[word] for word in words])
    chosen = near[rows].tocoo()
    pmi = np.log(chosen.data * total.sum() / (total[rows][chosen.row] * total[chosen.col]))
    positive = pmi > 0
    places = (chosen.row[positive], chosen.col[positive])
    matrix = coo_array((pmi[positive].astype(np.float32), places), shape=chosen.shape).tocsr()
    left_vectors, values, _ = svds(matrix, k=DIM, random_state=SEED)
    return left_vectors.astype(np.float64) * np.sqrt(values.astype(np.float64))


def retrofit(vectors: np.ndarray, pairs: np.ndarray, rounds: int = 10) -> np.ndarray:
    """Draw synonyms together (Faruqui et al. 2015, alpha 1, beta 1/degree); pairs (m, 2) of places; float64 (n, d)."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(vectors),) * 2)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    linked = degree > 0
    moved = vectors.copy()
    for _ in range(rounds):
        # All at once from the last round, so that the order of the words plays no part.
        mean = (graph @ moved)[linked] / degree[linked, None]
        moved[linked] = (vectors[linked] + mean) / 2
    return moved


def synonym_pairs(path: Path, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of the pairs whose words are both known: to retrofit with, and to measure with; int64 (m, 2) each."""
    place = {word: i for i, word in enumerate(words)}
    pairs = {tuple(sorted(line.lower().split())) for line in lines(path)}
    known = sorted(p for p in pairs if len(p) == 2 and p[0] != p[1] and p[0] in place and p[1] in place)
    shuffled = np.random.default_rng(SEED).permutation(np.array([[place[a], place[b]] for a, b in known]))
    return shuffled[::2], shuffled[1::2]


def partners_near(vectors: np.ndarray, pairs: np.ndarray, ks: Sequence[int] = (10, 50)) -> list[float]:
    """Share of the pairs (both directions) whose second word is among the k nearest of the first, by the cosine."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    ranks = np.empty(len(both), np.int64)
    for start in range(0, len(both), 1000):
        first, second = both[start : start + 1000].T
        similar = unit[first] @ unit.T
        similar[np.arange(len(first)), first] = -2
        ranks[start : start + 1000] = (similar > similar[np.arange(len(first)), second][:, None]).sum(axis=1)
    return [float(np.mean(ranks < k)) for k in ks]


def save(path: Path, vectors: np.ndarray, kept: np.ndarray, vocabulary: tuple[str, ...], step: float) -> None:
    """Write the vectors (n, d) of the kept words (a mask over the vocabulary), most frequent first, and print facts."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    codes = np.rint(rotate(vectors) / step)
    if np.abs(codes).max() > 127:
        raise SystemExit(f"A step of {step} needs more than 8 bits: take a larger one.")
    codes = codes[:, codes.any(axis=0)].astype(np.int8)
    rounded = codes.astype(np.float32)
    rounded /= np.linalg.norm(rounded, axis=1, keepdims=True)
    low, high = WordSpace(path.stem, "", tuple(map(str, range(len(codes)))), rounded).delta
    arrays = {
        "kept": np.packbits(kept),
        "codes": np.ascontiguousarray(codes.T),
        "step": np.float32(step),
        "delta": np.array([low, high]),
        "words_sha256": np.array(words_sha256(vocabulary)),
    }
    # LZMA packs these codes 7% smaller than savez_compressed does; np.load reads both.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for key, array in arrays.items():
            # A fixed time, so that the same arrays make the same file.
            info = zipfile.ZipInfo(f"{key}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_LZMA
            with file.open(info, "w") as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    data = path.read_bytes()
    print(f"{path}: {codes.shape[0]} words, {codes.shape[1]} axes, {len(data)} bytes")
    print(f"  overlap of the 50 nearest with full precision: {overlap(vectors, rounded):.4f}")
    print(f"  distances of two words: {low:.6f} to {high:.6f}")
    print(f"  SHA-256 {hashlib.sha256(data).hexdigest()}", flush=True)


def measure(ppdb: Path) -> None:
    """Print the share of synonym pairs with the partner among the nearest words, for each bundled space."""
    common = common_vocabulary()
    _, pairs = synonym_pairs(ppdb, common)
    print(f"{len(common)} common words, {len(pairs)} pairs of synonyms that no space has seen")
    print(f"{'space':<14}{'in 10 nearest':>15}{'in 50 nearest':>15}")
    for name in SPACES:
        space = word_space(name)
        shares = partners_near(space.vectors[space.rows(common)].astype(np.float64), pairs)
        print(f"{name:<14}" + "".join(f"{share:>15.3f}" for share in shares))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the bundled word vectors.")
    parser.add_argument("--corpus", type=Path, help="public texts, one a line (.gz or plain)")
    parser.add_argument("--out-dir", type=Path, default=Path("assets/words"))
    parser.add_argument("--ppdb", type=Path, help="pairs of synonyms, two words a line (.gz or plain)")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="train only these")
    parser.add_argument("--measure", action="store_true", help="train nothing, measure the files of assets/words")
    parser.add_argument("--min-count", type=int, default=5, help="leave out words that occur less often")
    parser.add_argument("--step", type=float, default=0.02, help="rounding step of the vectors, which have length 1")
    args = parser.parse_args()
    if args.measure:
        if args.ppdb is None:
            parser.error("--measure needs --ppdb")
        measure(args.ppdb)
        return
    if args.corpus is None:
        parser.error("--corpus is needed to train")

    texts = read_sentences(args.corpus)
    counts = Counter(word for text in texts for word in text)
    vocabulary = whole_words(read_pieces())
    kept = np.array([counts[word] >= args.min_count for word in vocabulary])
    with np.load(args.out_dir / "minilm.npz", allow_pickle=False) as file:
        order = file["order"]
    words = [vocabulary[i] for i in order[kept[order]]]
    print(f"{len(texts)} sentences, {counts.total()} words, {len(words)} of the vocabulary kept", flush=True)
    train = {"word2vec": train_word2vec, "fasttext": train_fasttext, "cooccurrence": factorise}
    for name in args.only:
        began = time.perf_counter()
        vectors = train[name](texts, words, args.min_count)
        if name == "cooccurrence" and args.ppdb:
            vectors = retrofit(vectors, synonym_pairs(args.ppdb, words)[0])
        print(f"{name} trained in {time.perf_counter() - began:.0f} s")
        save(args.out_dir / f"{name}.npz", vectors, kept, vocabulary, args.step)
    if args.ppdb and args.out_dir.resolve() == Path(__file__).resolve().parent.parent / "assets" / "words":
        measure(args.ppdb)


if __name__ == "__main__":
    main()
