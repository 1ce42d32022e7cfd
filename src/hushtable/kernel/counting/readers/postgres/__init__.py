"""Tables of Postgres, streamed over Arrow by the database's own driver for it."""
