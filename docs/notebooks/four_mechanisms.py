# %% [markdown]
# # Four mechanisms at equal privacy
#
# The ε of two mechanisms counts different things. So each gets the ε at which a drawn word stays what it was with the
# same chance (N_w), and then it is asked how much of the texts is kept. Small is private.

# %%
import numpy as np

import dptext_core as dpt
from dptext_core.measure import metrics

TEXTS = [
    "My doctor in Lisbon treated my sister for diabetes.",
    "The film was slow at first, but the music was wonderful in the end.",
    "Please send the letter to my new address before the end of the month.",
]
STAYS = 0.4
DRAWS = 5
mechanisms = [dpt.get_mechanism(name) for name in ("custext", "diffractor", "santext", "mvc")]

# %% [markdown]
# `dpt.equal_privacy` finds the ε of each for one text, over the words that all of them draw. For MVC it is found from
# draws, since its chances have no formula.

# %%
found_of = {text: dpt.equal_privacy(mechanisms, {"n_w": STAYS}, text=text) for text in TEXTS}
print("mechanism      ε, one a text           N_w reached   BLEU")
for place, mechanism in enumerate(mechanisms):
    epsilons, reached, bleu = [], [], []
    for text in TEXTS:
        found = found_of[text][place]
        rewrites = found.calibrated.rewrite([text] * DRAWS, seed=1)
        epsilons.append(f"{found.epsilon:.2f}")
        reached.append(found.reached)
        bleu += list(metrics.score("bleu", [text] * DRAWS, [r.text for r in rewrites]))
    print(f"{mechanism.title:14} {', '.join(epsilons):23} {np.mean(reached):.2f}          {np.mean(bleu):.1f}")

# %% [markdown]
# N_w is one measure of privacy, and others put mechanisms into another order: an attacker who reads the whole
# sentence finds more of the words of some. `dpt.calibrate(mechanism, {"best": 0.4}, text=…)` goes by the best of all
# attackers, and asks a language model for it.
