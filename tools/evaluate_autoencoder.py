"""What a pre-trained autoencoder reaches on held-out texts, and what it remembers: the figures of its model card.

    python tools/evaluate_autoencoder.py assets/models/adept_snips --train train.csv --heldout test.csv --other test.csv

Files are CSV without a header, the text in column 2 (``--column``). Accuracy: the share of word pieces that are the
likeliest of all, each given the right ones before it. BLEU, exact: of what is written without noise against what was
read. Remembered: the share of rewrites that are, word for word, a training text, and that are one though they are not
what was read; the same for texts of another data set, where what is written is the model's own.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dptext_core import NoiseStream
from dptext_core.data import tables
from dptext_core.mechanisms.latent.adept import ADePT
from dptext_core.models import autoencoder as ae


def plain(text: str) -> str:
    """The words alone, so that spaces and marks make no difference."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def accuracy(checkpoint: str, texts: Sequence[str]) -> tuple[float, float]:
    """Share of right pieces and mean loss in nats, over all places and all pieces that can be written."""
    m = ADePT.create(checkpoint=checkpoint, no_noise=True)
    model, most = m.autoencoder, m.shape.max_tokens
    contexts = np.stack([m.noisy(m.prepare(t), NoiseStream(0)) for t in texts])
    ids = [model.pieces(t)[0] for t in texts]
    column = {int(i): k for k, i in enumerate(ae.output_ids())}
    right, loss, n = 0, 0.0, 0
    for own, scores in zip(ids, model.scores(contexts, [i[:most] for i in ids]), strict=True):
        wanted = [*own, ae.tokenizer().end][:most]
        for target, row in zip(wanted, scores.astype(np.float64), strict=False):
            if target in column:
                right += int(row.argmax() == column[target])
                loss += float(np.logaddexp.reduce(row) - row[column[target]])
                n += 1
    return right / n, loss / n


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    ap.add_argument("checkpoint")
    ap.add_argument("--train", required=True)
    ap.add_argument("--heldout", required=True)
    ap.add_argument("--other", required=True, help="texts of another data set")
    ap.add_argument("--column", default="2")
    args = ap.parse_args()

    import sacrebleu

    folder = str(Path(args.checkpoint).resolve())
    train, heldout, other = (
        tables.texts_of(tables.source(file, (args.column,)), args.column)
        for file in (args.train, args.heldout, args.other)
    )
    known = {plain(t) for t in train}
    right, loss = accuracy(folder, heldout)
    print(f"held out: {len(heldout)} texts, pieces right {right:.1%}, loss {loss:.3f}")
    for name, texts in (("held out", heldout), ("other", other)):
        for epsilon in (None, 1000.0, 100.0, 10.0):
            m = ADePT.create(checkpoint=folder, no_noise=epsilon is None, epsilon=epsilon or 1.0)
            written = [r.text for r in m.rewrite(texts, seed=1)]
            exact = np.mean([plain(a) == plain(b) for a, b in zip(written, texts, strict=True)])
            known_ones = np.mean([plain(w) in known for w in written])
            foreign = np.mean([plain(w) in known and plain(w) != plain(t) for w, t in zip(written, texts, strict=True)])
            bleu = sacrebleu.corpus_bleu(written, [list(texts)]).score
            print(
                f"{name}, ε = {'∞' if epsilon is None else f'{epsilon:g}'}: BLEU {bleu:.1f}, exact {exact:.1%}, a "
                f"training text {known_ones:.1%}, one that was not read {foreign:.1%}"
            )


if __name__ == "__main__":
    main()
