# %% [markdown]
# # Rewrite and audit
#
# A text is rewritten by a mechanism, its promise is read, and the promise is held against what can be measured. It
# needs no language model. A seed makes the noise repeatable, and voids the promise: leave it out for a text that
# matters.

# %%
import dptext_core as dpt

TEXT = "My doctor in Lisbon treated my sister for diabetes."
mechanism = dpt.get_mechanism("custext", epsilon=8)
result = mechanism.rewrite(TEXT, seed=7)
print(result.text)
print(result.guarantee.sentence())

# %% [markdown]
# What stands there in spite of the promise:

# %%
for line in result.guarantee.exposed:
    print("-", line)

# %% [markdown]
# Each word has the distribution that its replacement was drawn from.

# %%
for word, chance in result.distribution(1).top(5):
    print(f"{word:12} {chance:.3f}")

# %% [markdown]
# The audit compares the stated distributions of these words, draws them, and names a witness where the promise fails.

# %%
report = dpt.audit(mechanism, ["doctor", "nurse", "sister", "mother"], seed=7)
print(report.verdict, "-", report.sentence().partition(" Proven:")[0])
