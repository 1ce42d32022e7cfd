"""Tables of a lake: one snapshot each, whose files are listed once and never change."""
