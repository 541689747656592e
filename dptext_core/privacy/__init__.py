"""Mathematics of a release: drawing, distributions, Gaussian noise, what is promised."""
