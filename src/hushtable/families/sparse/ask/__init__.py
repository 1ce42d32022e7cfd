"""What this family asks of the curator. Filters and samples of noisy values, and sketches."""
