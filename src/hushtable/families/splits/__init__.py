"""Releases of boxes that noisy decisions split, and of noisy counts of them."""
