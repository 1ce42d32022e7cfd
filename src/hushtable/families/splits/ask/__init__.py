"""What privtree asks the curator."""
