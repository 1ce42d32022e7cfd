"""The errors a user can meet: one line each, what is wrong and what to do, never a data value."""

from __future__ import annotations

from collections.abc import Iterable

from hushtable.text import plain

MAX_LINE = 1000


class HushError(Exception):
    """Something the user can mend; the command line prints its one line and exits with 2.

    Names in files that anyone may have written can be endless, and command a terminal; lines do
    not.
    """

    def __init__(self, line: str = "", *, plainly: str | None = None) -> None:
        """`plainly` says the same to someone on a page, who has no options and no Python."""
        super().__init__(_shortened(line))
        self.plainly = str(self) if plainly is None else _shortened(plainly)


class SchemaError(HushError):
    """The schema does not describe a table."""


class DataError(HushError):
    """The table cannot be read, or does not have the schema's columns."""


class OptionError(HushError):
    """An option, ε or mechanism setting is not one we know or allow."""


class NoisyRowsWarning(UserWarning):
    """Synthetic rows are mostly noise: they were drawn from far more cells than there are people.

    To silence it: `warnings.simplefilter("ignore", hushtable.NoisyRowsWarning)`.
    """


class BudgetError(HushError):
    """The privacy budget does not allow this."""


class LedgerError(HushError):
    """The ledger file is not what it should be."""


class ReleaseError(HushError):
    """The release folder is damaged, hostile, or of a newer format."""


class PlatformError(HushError):
    """This operating system does not have what a promise rests on."""


class QueryError(HushError):
    """The question cannot be answered from this release."""


def _shortened(line: str) -> str:
    return plain(line if len(line) <= MAX_LINE else f"{line[:700]} … {line[-200:]}")


def alternatives(name: str, names: Iterable[str], what: str = "there are") -> str:
    """What to say of a name that does not exist: the one that is meant, or which there are.

    >>> alternatives("agee", ["age", "sex"]), alternatives("x", ["age", "sex"])
    ("did you mean 'age'?", 'there are age, sex')
    """
    from difflib import get_close_matches

    known = list(names)
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{what} {', '.join(known)}"
