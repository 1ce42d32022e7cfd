"""Everything whose mistake would break privacy, and nothing else: read this folder."""
