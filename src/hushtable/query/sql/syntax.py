"""Reading SQL text into sqlglot's trees, with every failure as one plain line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import Dialect, TokenType, exp
from sqlglot import Generator as Writer
from sqlglot import Tokenizer as Tokens
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from hushtable.errors import QueryError
from hushtable.query.literal import sql_name

if TYPE_CHECKING:
    from sqlglot import Token

    from hushtable.schema import Schema

MAX_LENGTH = 5_000_000
MAX_NESTING = 30
"""Parentheses within parentheses: the parser recurses some twenty calls for each."""
SELECT_HELP = (
    "supported: SELECT attributes, COUNT(*), SUM(x), AVG(x), MEDIAN(x) … FROM the table, "
    "with WHERE, GROUP BY, HAVING, ORDER BY, LIMIT and OFFSET"
)
JOIN_HELP = (
    "joins are not answered: each release is of one table and has noise of its own; "
    "publish the joined table, or ask one table at a time"
)

_LONGEST = 30
"""Digits before and after the point that a number may have."""
_OPENS_PLACE = {TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN}
_OPENS_PLACE |= {TokenType.GROUP_BY, TokenType.ORDER_BY}
_CLOSES_PLACE = {TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM, TokenType.WHERE}
_CLOSES_PLACE |= {TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.SEMICOLON}
_LITERALS = {TokenType.NUMBER, TokenType.STRING, TokenType.NULL}
_ENDS_VALUE = _LITERALS | {TokenType.R_PAREN}
_BEGINS_VALUE = _LITERALS | {TokenType.L_PAREN}


class _Plain(Dialect):
    """Standard SQL in which nulls sort last unless the query says otherwise."""

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(Tokens):
        KEYWORDS: ClassVar[dict[str, TokenType]] = {**Tokens.KEYWORDS, "//": TokenType.DIV}

    class Generator(Writer):
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Writer.TRANSFORMS,
            exp.IntDiv: lambda self, node: self.binary(node, "//"),
        }


@contextmanager
def shallow() -> Iterator[None]:
    """Turn a stack that runs out, in the parser or after it, into a refusal."""
    try:
        yield
    except RecursionError:
        raise QueryError("the SQL is nested too deeply") from None


def parse_select(sql: str) -> exp.Select:
    """The one SELECT statement a text holds."""
    dialect = _Plain()
    try:
        tokens = dialect.tokenize(_checked(sql))
        _check_tokens(tokens)
        statements: list[Any] = [
            tree for tree in dialect.parser().parse(tokens, sql) if tree is not None
        ]
    except SqlglotError as problem:
        raise QueryError(_one_line(problem)) from None
    if len(statements) != 1:
        raise QueryError("one SELECT statement at a time, please")
    select = statements[0]
    if isinstance(select, exp.SetOperation):
        raise QueryError(
            f"{select.key.upper()} is not supported; ask each SELECT by itself, "
            "or one SELECT with OR in its WHERE"
        )
    if not isinstance(select, exp.Select):
        raise QueryError(f"{met(select)} is not supported; {SELECT_HELP}")
    return select


def _checked(sql: str) -> str:
    if not isinstance(sql, str):
        raise QueryError("a query is a text")
    if len(sql) > MAX_LENGTH:
        raise QueryError(f"the SQL is longer than {MAX_LENGTH} characters")
    return sql


def _check_tokens(tokens: list[Token]) -> None:
    """Refuse what the parser would only log about, or recurse too deeply into."""
    if not tokens:
        raise QueryError(f"the query is empty; {SELECT_HELP}")
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH):
        raise QueryError(f"a query begins with SELECT, not {quoted(tokens[0].text)}; {SELECT_HELP}")
    depth = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        _check_beside(before, token)
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth > MAX_NESTING:
            raise QueryError(f"the SQL is nested deeper than {MAX_NESTING} parentheses")


def _check_beside(before: Token | None, token: Token) -> None:
    """Refuse what the parser overlooks: an empty place in a list, BETWEEN 1 2 without its AND."""
    kinds = (before.token_type if before else None, token.token_type)
    empty = kinds[0] in _OPENS_PLACE and kinds[1] in _CLOSES_PLACE and TokenType.COMMA in kinds
    if empty or (kinds[0] in _ENDS_VALUE and kinds[1] in _BEGINS_VALUE):
        raise QueryError(f"the SQL cannot be read near {quoted(token.text)}")


def _one_line(problem: SqlglotError) -> str:
    """sqlglot's complaint without its colours, line breaks and class names."""
    if not isinstance(problem, ParseError) or not problem.errors:
        return "the SQL cannot be read; is a quotation mark or comment left open?"
    near = str(problem.errors[0].get("highlight") or "")
    return f"the SQL cannot be read near {quoted(near)}" if near else "the SQL cannot be read"


def quoted(text: str) -> str:
    """A piece of the user's text on one line, shortened, control characters escaped."""
    short = " ".join(text.split())
    return repr(short if len(short) <= 60 else short[:59] + "…")


def met(node: exp.Expression) -> str:
    """The piece of SQL a node stands for, fit for an error message."""
    return quoted(written(node) or node.key.upper())


def written(node: exp.Expression) -> str:
    """A node as SQL; empty when it has no plain SQL or is nested too deeply to write."""
    try:
        return str(node.sql(dialect=_Plain, unsupported_level=ErrorLevel.IGNORE))
    except (RecursionError, SqlglotError, ValueError):
        return ""


def natural(node: exp.Expression) -> int | None:
    """The whole number a literal is, up to 18 digits, or None."""
    node = without_parentheses(node)
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def exact(node: exp.Expression) -> Fraction:
    """The number that a literal is, exactly."""
    try:
        number = Decimal(str(node.this))
    except InvalidOperation:
        raise QueryError(f"{met(node)} is not a number") from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(abs(exponent), abs(number.adjusted())) > _LONGEST:
        raise QueryError(f"{met(node)} is too long or too large a number")
    return Fraction(number)


def called(node: exp.Expression) -> str:
    """The name of a function that the parser does not know, in capitals; else empty."""
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else ""


def refuse_extras(node: exp.Expression, allowed: set[str], advice: str) -> None:
    """Refuse any part of a node but those we know: what we do not read must not be ignored."""
    for key, value in node.args.items():
        if value and key.rstrip("_") not in allowed:
            part = value[0] if isinstance(value, list) else value
            shown = met(part) if isinstance(part, exp.Expression) else key.rstrip("_").upper()
            raise QueryError(f"{shown} is not supported here; {advice}")


def without_parentheses(node: exp.Expression) -> exp.Expression:
    """The node inside any parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def column_name(node: exp.Column, tables: set[str]) -> str:
    """The name of a column, its table checked."""
    refuse_extras(node, {"this", "table"}, "name an attribute")
    if node.table and node.table.casefold() not in tables:
        raise QueryError(f"there is no table {quoted(node.table)} in this query")
    return str(node.name)


def find_attribute(name: str, schema: Schema) -> int:
    """The position of an attribute, by its exact name or else without regard to case."""
    names = [attribute.name for attribute in schema.attributes]
    if name in names:
        return names.index(name)
    close = [i for i, known in enumerate(names) if known.casefold() == name.casefold()]
    if len(close) == 1:
        return close[0]
    raise QueryError(_no_attribute(name, names))


def _no_attribute(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1) or [n for n in names if n.startswith(name + "-")]
    if close:
        return f"there is no attribute {quoted(name)}; did you mean {sql_name(close[0])}?"
    shown = ", ".join(sql_name(known) for known in names[:20]) + (", …" if len(names) > 20 else "")
    return f"there is no attribute {quoted(name)}; there are {shown}"
