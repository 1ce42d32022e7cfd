"""Releases of noisy cells and of regions of them that were chosen by noisy answers."""
