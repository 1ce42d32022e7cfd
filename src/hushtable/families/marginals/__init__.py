"""Several small tables of a wide table, read together by least squares."""
