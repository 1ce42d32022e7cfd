"""Ratios to other tools and to the machine's limits; absolute times are not stable."""
