"""What answers from a release: noisy cells, noisy coefficients, shrunken ones."""
