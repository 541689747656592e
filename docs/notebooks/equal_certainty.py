# %% [markdown]
# # Mechanisms at equal certainty
#
# The ε of two mechanisms bounds different things. So each mechanism gets the largest ε at which the optimal reader's
# expected certainty about one fact is at most 80%, and its rewrites are compared there. The baselines have no ε:
# redaction and random stand-ins.

# %%
import numpy as np

import dptext_core as dpt
from dptext_core.measure import metrics

TEXT = "My doctor in Lisbon treated my sister for diabetes."
FACT, ALTERNATIVES = "sister", ["brother", "mother", "father"]
LIMIT, RELEASES = 0.8, 20


def preserved(mechanism: dpt.Mechanism) -> float:
    """Return the mean BLEU of some releases."""
    rewrites = mechanism.rewrite([TEXT] * RELEASES, seed=1)
    return float(np.mean(metrics.score("bleu", [TEXT] * RELEASES, [r.text for r in rewrites])))


# %%
print("mechanism       ε       certainty  BLEU")
for name in ("custext", "santext", "santext-plus", "tem"):
    try:
        found = dpt.calibrate(
            dpt.get_mechanism(name), {"certainty": LIMIT}, text=TEXT, fact=FACT, alternatives=ALTERNATIVES
        )
    except dpt.InputError as error:  # no ε of this mechanism reaches the limit
        print(f"{name:15} {error}")
        continue
    print(f"{name:15} {found.epsilon:<7.3g} {found.reached:9.0%}  {preserved(found.calibrated):.1f}")

# %% [markdown]
# The baselines replace what a detector flags and leave all other words: the reader stays certain of the fact.

# %%
for name in ("redact", "surrogates"):
    baseline = dpt.get_mechanism(name)
    belief = dpt.belief(baseline, TEXT, FACT, ALTERNATIVES, seed=1)
    print(f"{name:15} {'-':7} {belief.posterior[0].max():9.0%}  {preserved(baseline):.1f}")

# %% [markdown]
# One text and one fact do not rank mechanisms. `bench belief` does the same for many texts, with intervals.
