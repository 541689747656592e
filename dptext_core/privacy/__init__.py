"""Mathematics of a release: drawing, distributions, Gaussian noise, guarantees."""
