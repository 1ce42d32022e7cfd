"""Releases that keep few places of a vast domain: filters, samples, sketches."""
