"""What this family asks of the curator. Small tables of a wide table."""
