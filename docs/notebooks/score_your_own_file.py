# %% [markdown]
# # Score a file of your own
#
# Originals and rewrites of any system, in two columns of a file: what was kept, and what attackers find who need no
# mechanism. It states no ε, and it asks the bundled language model (the extra `[models]`). Here the file is made
# first; put yours in its place.

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
scores = dpt.score([row["text"] for row in rows], [row["rewrite"] for row in rows])
print(scores.sentence())

# %% [markdown]
# Each figure has its 95% interval over texts. With four texts it is wide.

# %%
for name in ("cosine", "bleu_uncased", "unchanged", "reader", "linking"):
    print(f"{scores[name].title:34} {scores[name].value:.2f}  ({scores[name].low:.2f} to {scores[name].high:.2f})")
