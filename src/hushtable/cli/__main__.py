"""`python -m hushtable.cli` is `hush`."""

from hushtable.cli.main import run

run()
