"""Files and tables in memory, read so that no row decides how another is read."""
