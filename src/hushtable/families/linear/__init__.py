"""Releases that are linear in the counts: noisy cells and noisy coefficients of transforms."""
