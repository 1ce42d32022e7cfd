"""Answers for machines: the same JSON that the command line prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.errors import QueryError
from hushtable.release.described import answer_dict, release_dict
from hushtable.text import plain_json
from hushtable.web.exchange import Asked, Reply

if TYPE_CHECKING:
    from hushtable.release import Release

JSON = "application/json"
SWITCHES = ("simultaneous", "estimate")


def answer(release: Release, asked: Asked) -> Reply:
    """The answer to `sql`, as by `hush query --json`."""
    given = dict(asked.query)
    if not given.get("sql", "").strip():
        raise QueryError("ask by ?sql=SELECT …; /info.json of the release lists its attributes")
    return _reply(
        answer_dict(
            release.sql(
                given["sql"],
                confidence=_number(given.get("confidence", "0.95")),
                row_cap=asked.rows,
                **{name: _is_on(given.get(name, "")) for name in SWITCHES},
            )
        )
    )


def info(release: Release, asked: Asked) -> Reply:
    """What the release is, as by `hush info --json`."""
    return _reply(release_dict(release))


def refusal(asked: Asked, line: str, status: int) -> Reply:
    """One line that says what is wrong."""
    return _reply({"error": line}, status)


def _reply(content: Any, status: int = 200) -> Reply:
    return Reply(status, JSON, plain_json(content).encode())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueryError("confidence is a number between 0 and 1, such as 0.95") from None


def _is_on(text: str) -> bool:
    return text.lower() in ("1", "on", "true", "yes")
