"""One draw for a whole sentence: a public bank of sentences, and the likeness of meaning."""
