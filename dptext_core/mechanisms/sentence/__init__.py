"""The sentence-level exponential mechanism: a public sentence bank, and similarity of meaning."""
