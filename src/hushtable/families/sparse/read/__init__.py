"""What answers from a release: summaries of cells and of nodes, sketches."""
