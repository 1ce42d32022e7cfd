"""What this family asks of the curator. ISPE and k-d trees."""
