"""Measure the bundled masked language model: accuracy, clipping range, and what the context half is worth.

Run:  python tools/evaluate_masked_lm.py --model bundled --heldout heldout_wikitext2_test.txt \\
          --sst2 sst2/test.tsv --stopwords stopwords_english.txt
      python tools/evaluate_masked_lm.py --model FOLDER --clip-from train.txt.gz      (for spec.json)

Accuracy: 15% of the word pieces replaced by [MASK], windows of 64, the whole vocabulary as candidates. The table: the
first --max-texts sentences of SST-2's test.tsv, parallel order, stop words kept, cosine by all-MiniLM-L6-v2, N_w
averaged over the replaced words. --forms N: what the mask-filling attacker finds of the words that DP-MLM replaced in
the first N of these sentences, by a mask and by a query over the masked text, and the same of N held-out lines that
nobody rewrote.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import gzip
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dptext_core as dpt
from dptext_core import models
from dptext_core.attacks import mask_inference
from dptext_core.measure import metrics
from dptext_core.measure.metrics.perplexity import pseudo_perplexity
from dptext_core.models.clip import ClipEstimate
from dptext_core.models.registry import WEIGHTS_FILE
from dptext_core.support.statistics import half_width
from dptext_core.text.document import Document

EPSILONS = (10.0, 25.0, 50.0, 100.0, 250.0)
#: Word pieces that the model was trained on at a time.
WINDOW = 64


@torch.no_grad()
def evaluate(model, tok, lines: list[str], device: str, limit: int | None = None, seed: int = 0):
    flat = np.array([i for x in tok(lines, add_special_tokens=False)["input_ids"] for i in x])
    n = len(flat) // (WINDOW - 2)
    body = flat[: n * (WINDOW - 2)].reshape(n, -1)
    rng = np.random.default_rng(seed)
    if limit and limit < n:
        body = body[rng.permutation(n)[:limit]]
    words = model.embeddings().float()
    top1 = top5 = total = 0
    nll = 0.0
    for i in range(0, len(body), 64):
        ids = np.full((len(body[i : i + 64]), WINDOW), tok.cls_token_id)
        ids[:, 1:-1], ids[:, -1] = body[i : i + 64], tok.sep_token_id
        hit = rng.random(ids.shape) < 0.15
        hit[:, 0] = hit[:, -1] = False
        rows, cols = np.nonzero(hit)
        labels = torch.as_tensor(ids[rows, cols], device=device)
        ids[rows, cols] = tok.mask_token_id
        t = lambda a: torch.as_tensor(a, device=device)  # noqa: E731
        with torch.autocast(device, dtype=torch.bfloat16):
            h = model.hidden(t(ids), t(np.zeros_like(ids)), t(rows), t(cols))
        logits = h.float() @ words.T + model.bias
        loss = F.cross_entropy(logits, labels)
        best = logits.topk(5).indices
        top1 += (best[:, 0] == labels).sum().item()
        top5 += (best == labels[:, None]).any(1).sum().item()
        nll += loss.item() * len(rows)
        total += len(rows)
    return {"top1": top1 / total, "top5": top5 / total, "nll": nll / total, "masked": total}


@torch.no_grad()
def evaluate_skeletons(model, data: Any, lines: list[str], device: str, limit: int = 400):
    """Top-1, top-5 and mean negative log-likelihood of single-piece words that are masked with all others but stop
    words; ``half``: where the first half of them stands again."""
    lines = [s for s in lines if 8 <= len(s.split()) <= 60]
    words = model.embeddings().float()
    out = {}
    for name, density in (("none", 0.0), ("half", 0.5)):
        hits, nll = np.zeros(2), []
        for line in lines[:limit]:
            pieces = np.array(data.tok(line, add_special_tokens=False)["input_ids"])
            ids, _, there, rows, cols, labels, _ = data.padded([data.skeleton(pieces, density, noise=False)])
            if not len(labels):
                continue
            t = lambda a: torch.as_tensor(a, device=device)  # noqa: E731
            with torch.autocast(device, dtype=torch.bfloat16):
                h = model.hidden(t(ids), t(np.zeros_like(ids)), t(rows), t(cols), t(there))
            logits = h.float() @ words.T + model.bias
            best = logits.topk(5).indices == t(labels)[:, None]
            hits += [best[:, 0].sum().item(), best.sum().item()]
            nll += F.cross_entropy(logits, t(labels), reduction="none").tolist()
        out[name] = {"top1": hits[0] / len(nll), "top5": hits[1] / len(nll), "nll": float(np.mean(nll)), "n": len(nll)}
    return out


def accuracy(model: str, heldout: Path) -> dict[str, float]:
    """Top-1, top-5 and mean negative log-likelihood of the masked word pieces."""
    from train_masked_lm import MaskedLM, lines_of, trunk_model, weights_in
    from transformers import AutoTokenizer

    from dptext_core.words.vocabulary import verified_trunk_folder

    module = MaskedLM(trunk_model(verified_trunk_folder()))
    module.load_state_dict(weights_in(models.masked_lm_spec(model).folder / WEIGHTS_FILE), strict=False)
    return evaluate(module.eval(), AutoTokenizer.from_pretrained(verified_trunk_folder()), lines_of(heldout), "cpu")


def clip_ranges(model: str, corpus: Path, n: int = 1000) -> ClipEstimate:
    """The paper's range and the tuned one, over ``n`` lines of 8 words or more, evenly spread over a public corpus."""
    with gzip.open(corpus, "rt", encoding="utf-8") as f:
        lines = [s for s in map(str.strip, f) if len(s.split()) >= 8]
    return models.estimate_clip_range(lines[:: len(lines) // n][:n], model)


def sst2(path: Path, n: int) -> list[str]:
    with path.open(encoding="utf-8", newline="") as f:
        rows = csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row["sentence"].strip() for row, _ in zip(rows, range(n), strict=False)]


def table(model: str, texts: list[str], seed: int, **options) -> list[dict]:
    """Rows of ε × (with, without context): cosine, BLEU, unchanged share, N_w."""
    rows = []
    for contextualize in (True, False):
        m = dpt.get_mechanism("dp-mlm", model=model, contextualize=contextualize, **options)
        prepared = [m.prepare(t) for t in texts]
        for epsilon in EPSILONS:
            at = m.replace(epsilon=epsilon)
            stream = dpt.NoiseStream(seed).at(str(epsilon))
            rewrites = [at.rewrite(p, stream=stream.at(i)) for i, p in enumerate(prepared)]
            out = [r.text for r in rewrites]
            keep = [
                r.distribution(k).p_keep() for r in rewrites for k, s in enumerate(r.steps) if s.action == "replace"
            ]
            rows.append(
                {"context": contextualize, "epsilon": epsilon}
                | {name: statistics.fmean(metrics.score(name, texts, out)) for name in ("cosine", "bleu", "unchanged")}
                | {"n_w": statistics.fmean(keep)}
            )
    return rows


def forms(model: str, texts: list[str], epsilons: tuple[float, ...], **options) -> list[dict]:
    """The share of the replaced words that the attacker names at once and with ten guesses, by each form, on the same
    rewrites; without an ε of the words that would be replaced, in the texts as they are."""
    lm, engine = models.load_masked_lm(model), models.engine(model)
    m = dpt.get_mechanism("dp-mlm", model=model, **options)
    place: dict[str, list[int]] = {}
    for j, word in enumerate(lm.candidates):
        place.setdefault(word.casefold(), []).append(j)
    rows = []
    for epsilon in epsilons:
        found: dict[str, list[list[int]]] = {"mask": [], "query": []}
        for i, text in enumerate(texts):
            result = m.replace(epsilon=epsilon or 50.0).rewrite(text, stream=dpt.NoiseStream(1).at(i))
            steps = [s for s in result.steps if s.action == "replace"]
            released = result.text if epsilon else text
            at = steps if epsilon else [dataclasses.replace(s, out=s.span) for s in steps]
            if not steps:
                continue
            for form, ranks in found.items():
                asked = mask_inference.mask_requests(lm, Document.parse(released), at)
                if form == "query":
                    asked = [dataclasses.replace(r, context=r.masked) for r in asked]
                scores = engine.score(asked)
                own = [place.get(s.original.casefold()) for s in steps]
                ranks.append(
                    [
                        0 if w is None else 1 + int((row > row[w].max()).sum())
                        for w, row in zip(own, scores, strict=True)
                    ]
                )
        of_all = {form: np.array([r for of in each for r in of]) for form, each in found.items()}
        row: dict = {"epsilon": epsilon or None, "words": len(of_all["mask"])}
        for most in (1, 10):
            hits = {form: (r > 0) & (r <= most) for form, r in of_all.items()}
            apart = [
                float(np.mean([0 < b <= most for b in y]) - np.mean([0 < a <= most for a in x]))
                for x, y in zip(found["mask"], found["query"], strict=True)
            ]
            row |= {f"{form}_top{most}": round(float(h.mean()), 4) for form, h in hits.items()}
            row |= {f"gain_top{most}": [round(float(np.mean(apart)), 4), round(half_width(apart), 4)]}
        rows.append(row)
    return rows


def show(rows: list[dict]) -> str:
    lines = ["| context half | ε | cosine | BLEU | unchanged | N_w |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {'yes' if r['context'] else 'no'} | {r['epsilon']:g} | {r['cosine']:.2f} | {r['bleu']:.1f} "
        f"| {r['unchanged']:.2f} | {r['n_w']:.2f} |"
        for r in rows
    ]
    return "\n".join(lines)


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--model", default="bundled")
    ap.add_argument("--heldout", type=Path)
    ap.add_argument("--clip-from", type=Path)
    ap.add_argument("--sst2", type=Path)
    ap.add_argument("--max-texts", type=int, default=200)
    ap.add_argument("--stopwords", help="one word a line; the paper keeps NLTK's list")
    ap.add_argument("--preset", choices=models.CLIPS, help="the named clipping range; the card's table has the paper's")
    ap.add_argument("--clip", type=float, nargs=2, metavar=("MIN", "MAX"))
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--forms", type=int, metavar="N", help="texts on which the attacker asks by a mask and by a query")
    ap.add_argument("--perplexity", type=int, default=200, metavar="N", help="lines of --heldout for pseudo-perplexity")
    a = ap.parse_args()
    if a.clip_from:
        both = clip_ranges(a.model, a.clip_from)
        ends = {"clip_min": both.paper.low, "clip_max": both.paper.high}
        ends |= {"tuned_min": both.tuned.low, "tuned_max": both.tuned.high}
        print(json.dumps({k: round(v, 4) for k, v in ends.items()}))
    if a.forms:
        keep = {"stopwords": a.stopwords} if a.stopwords else {}
        if a.sst2:
            for row in forms(a.model, sst2(a.sst2, a.forms), (25.0, 50.0, 100.0), **keep):
                print(json.dumps(row))
        if a.heldout:
            some = [s.strip() for s in a.heldout.read_text(encoding="utf-8").split("\n") if 8 <= len(s.split()) <= 40]
            for row in forms(a.model, some[:: max(1, len(some) // a.forms)][: a.forms], (0.0,), **keep):
                print(json.dumps(row))
        return
    if a.heldout:
        print(json.dumps(accuracy(a.model, a.heldout)))
        lines = [s.strip() for s in a.heldout.read_text(encoding="utf-8").split("\n") if 8 <= len(s.split()) <= 60]
        values = [x for x in pseudo_perplexity(lines[: a.perplexity], a.model) if x == x]
        print(json.dumps({"pseudo_perplexity_median": statistics.median(values), "lines": len(values)}))
    if a.sst2:
        options = {"stopwords": a.stopwords} if a.stopwords else {}
        if a.preset:
            options["clip"] = a.preset
        if a.clip:
            options |= {"clip_min": a.clip[0], "clip_max": a.clip[1]}
        print(show(table(a.model, sst2(a.sst2, a.n), a.seed, **options)))


if __name__ == "__main__":
    main()
