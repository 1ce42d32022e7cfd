"""What counting would make of a table, told to its owner before anything is spent."""

from hushtable.checking.dry_run import check
from hushtable.checking.report import OWNER_ONLY, CheckReport

__all__ = ["OWNER_ONLY", "CheckReport", "check"]
