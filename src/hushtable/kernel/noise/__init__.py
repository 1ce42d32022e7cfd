"""Exact noise on integers: one door to randomness, slow samplers and their fast twins."""
