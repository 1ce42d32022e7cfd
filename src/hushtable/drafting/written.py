"""A draft as a TOML file that says why, and what was read off the data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from hushtable.errors import SchemaError
from hushtable.kernel.counting.silence import raise_alone
from hushtable.schema.foreign import Draft
from hushtable.schema.formats import schema_to_dict

_LOOKED = """\
# DRAFT, made by looking at the data: its ranges, bins and values could reveal someone.
# Go through every attribute. Where it says "from the data", put what is publicly known instead:
# the codes of the questionnaire, the limits of a form, a published classification. Remove what you
# do not want to publish. Then set reviewed = true.
"""
_IMPORTED = """\
# DRAFT, imported: bins are a guess where the file gave only bounds. Go through every attribute,
# then set reviewed = true.
"""
_BUDGET = (
    "# budget is the total ε that may ever be spent on this dataset; set it before the first"
    " release.\n"
)
_UNIT = 'If a person can have several rows, add:  unit = { column = "person_id", max_rows = 4 }'
_WIDTH = 100


def write_draft(draft: Draft, path: Path, *, imported: bool = False) -> None:
    """Write a draft with its warnings, in one step."""
    from hushtable.scratch import whole_file

    header = [_IMPORTED if imported else _LOOKED, _BUDGET]
    named = any(line.startswith(("unit =", "counts =")) for line in draft.hints)
    header += [f"# {line}\n" for line in (*(() if named else (_UNIT,)), *draft.hints)]
    for column, reason in draft.left_out:
        told = wrap(f"left out: {column!r}, {reason}", _WIDTH - 2, subsequent_indent="  ")
        header += [f"# {line}\n" for line in told]
    try:
        with whole_file(path) as partial:
            text = "".join(header) + "\n" + "".join(f"{line}\n" for line in _lines(draft))
            partial.write_text(text, encoding="utf-8")
    except OSError:
        raise_alone(SchemaError(f"{path} cannot be written"))


def _lines(draft: Draft) -> Iterator[str]:
    content = schema_to_dict(draft.schema)
    tables = draft.tables or tuple(content.pop("attribute"))
    content.pop("attribute", None)
    for key, value in content.items():
        yield f"{key} = {toml_value(value)}"
    for table in tables:
        yield ""
        yield "[[attribute]]"
        for note in draft.notes.get(table["name"], ()):
            yield from (f"# {line}" for line in wrap(note, _WIDTH - 2))
        tree: Any = table.get("tree")
        for key, value in table.items():
            if key != "tree" or not _is_even(tree):
                yield _line(key, value)
        if _is_even(tree):
            yield from _groups("attribute.tree", tree)


def _is_even(tree: Any, height: int = 5) -> bool:
    """Whether a tree can be written as tables of lists, which come before tables of tables."""
    if not isinstance(tree, dict) or not height:
        return False
    lists = all(isinstance(b, list) and all(isinstance(x, str) for x in b) for b in tree.values())
    return lists or all(_is_even(below, height - 1) for below in tree.values())


def _groups(path: str, tree: dict[str, Any]) -> Iterator[str]:
    """A table for every group of groups, a line for every group of values."""
    if any(isinstance(below, list) for below in tree.values()):
        yield f"[{path}]"
    for group, below in tree.items():
        if isinstance(below, list):
            yield _line(toml_value(group), below)
        else:
            yield from _groups(f"{path}.{toml_value(group)}", below)


def _line(key: str, value: Any) -> str:
    """A key and its value, long lists on lines of their own."""
    line = f"{key} = {toml_value(value)}"
    if len(line) <= _WIDTH or not isinstance(value, list):
        return line
    lines, row = [f"{key} = ["], "   "
    for item in map(toml_value, value):
        if len(row) + len(item) + 2 > _WIDTH:
            lines.append(row)
            row = "   "
        row += f" {item},"
    return "\n".join([*lines, row, "]"])


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line."""
    import tomlkit

    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {toml_value(below)}" for key, below in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(tomlkit.item(value).as_string())


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else toml_value(key)
