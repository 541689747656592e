# %% [markdown]
# # What a reader believes, and what the guarantee allows
#
# The optimal reader knows every word of a text but one fact, the mechanism and its ε. `dpt.belief` computes that
# reader's exact posterior over public alternatives. The audit then compares the guarantee with measurements. A seed
# makes the noise repeatable and voids the guarantee: leave it out for a text that matters.

# %%
import dptext_core as dpt

TEXT = "My doctor in Lisbon treated my sister for diabetes."
FACT, ALTERNATIVES = "sister", ["brother", "mother", "father"]
EPSILONS = [2.0, 8.0, 14.0, 20.0]
mechanism = dpt.get_mechanism("santext", epsilon=14)
result = mechanism.rewrite(TEXT, seed=7)
print(result.text)
print(result.guarantee.sentence())

# %% [markdown]
# The posterior of each alternative at each ε, the expected success over all releases, and the ceiling: the most that
# the guarantee allows any reader. Without the release, the reader is right one time in four.

# %%
belief = dpt.belief(mechanism, TEXT, FACT, ALTERNATIVES, epsilons=EPSILONS, seed=7)
print("ε     certainty  expected success  ceiling")
for epsilon, row, expected, ceiling in zip(
    EPSILONS, belief.posterior, belief.expected_success, belief.ceiling, strict=True
):
    print(f"{epsilon:<5g} {max(row):9.0%}  {expected.value:16.0%}  {max(ceiling):7.0%}")

# %% [markdown]
# Several releases of one text reveal more than one.

# %%
question = dpt.BeliefQuestion.make(mechanism, TEXT, FACT, ALTERNATIVES)
releases = [mechanism.rewrite(TEXT, seed=k) for k in range(8)]
print(dpt.attacks.several_releases(question, releases).sentence())

# %% [markdown]
# The audit compares the stated distributions of these words, samples them, and names a witness of a violation.

# %%
report = dpt.audit(mechanism, ["doctor", "nurse", "sister", "mother"], seed=7)
print(report.verdict, "-", report.sentence().partition(" ✓")[0])
