"""What this family asks of the curator. Basic, Privelet and its kin, trees."""
