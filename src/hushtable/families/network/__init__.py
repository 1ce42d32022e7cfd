"""Releases that are a Bayesian network: its noisy tables, answers and synthetic rows."""
