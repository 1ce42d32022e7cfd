"""What this family asks of the curator. PrivBayes."""
