# %% [markdown]
# # Score rewrites of any system beside baselines
#
# `dpt.score` measures originals and rewrites of any system: what is preserved, and what attackers recover who need no
# mechanism. It states no ε. Two baselines stand beside your file: redaction, and the unchanged text. The figures need
# the bundled language model (the extra `[models]`). Here the file is made first; put yours in its place.

# %%
import csv
import tempfile
from pathlib import Path

import dptext_core as dpt

ORIGINALS = [
    "My doctor in Lisbon treated my sister for diabetes.",
    "The film was slow at first, but the music was wonderful in the end.",
    "Please send the letter to my new address before the end of the month.",
    "Our neighbours were friendly and the garden was quiet in the evening.",
]
file = Path(tempfile.mkdtemp()) / "pairs.csv"
rewrites = dpt.get_mechanism("diffractor", epsilon=1).rewrite(ORIGINALS, seed=1)
with file.open("w", encoding="utf-8", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["text", "rewrite"])
    writer.writerows(zip(ORIGINALS, (r.text for r in rewrites), strict=True))

# %%
with file.open(encoding="utf-8", newline="") as pairs:
    rows = list(csv.DictReader(pairs))
texts = [row["text"] for row in rows]
systems = {
    "your file": [row["rewrite"] for row in rows],
    "redaction": [r.text for r in dpt.get_mechanism("redact").rewrite(texts, seed=1)],
    "unchanged": texts,
}

# %% [markdown]
# Each figure has its 95% interval over texts. With four texts it is wide.

# %%
for system, outputs in systems.items():
    scores = dpt.score(texts, outputs)
    print(system)
    for name in ("cosine", "bleu_uncased", "unchanged", "reader", "linking"):
        one = scores[name]
        print(f"  {one.title:34} {one.value:.2f}  ({one.low:.2f} to {one.high:.2f})")
