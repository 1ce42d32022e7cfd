"""A release as HTML, for notebooks: what it is, whom it protects and how to ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.families import MECHANISMS, about_mechanism
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.markup import Markup, block, code, element, facts, paragraph
from hushtable.query.answer import ESTIMATE
from hushtable.query.table_names import split_tables
from hushtable.schema.html import attributes_html

if TYPE_CHECKING:
    from hushtable.release.release import Release

_MOST_TABLES = 12


def release_html(release: Release) -> str:
    """What `hush info` tells first, and a question to begin with."""
    privacy = release.manifest["privacy"]
    told: list[tuple[str, Any]] = [
        ("guarantee", privacy["guarantee"]),
        ("protects", f"{privacy['unit']} ({privacy['neighbours']})"),
        ("ε", format_epsilon(release.epsilon)),
        ("mechanism", _mechanism(release.mechanism)),
        ("cells", f"{release.schema.cells:,}"),
        *([("tables", _tables(release.tables))] if release.tables else []),
        ("intervals", _intervals(release.estimate)),
        ("created", release.manifest["created"]),
        ("private", "yes" if release.private else element("strong", _NOT_PRIVATE)),
    ]
    return block(
        f"Release of {release.schema.name}",
        Markup() if release.private else paragraph(element("strong", "Not private.")),
        facts(told),
        attributes_html(release.schema),
        paragraph("Ask it, for instance: ", code(example_question(release))),
    )


_NOT_PRIVATE = "NO: made with injected randomness"


def example_question(release: Release) -> str:
    """Code that it answers: the counts of the attribute with the fewest values."""
    names = [attribute.name for attribute in release.schema.attributes]
    if release.tables:
        listed = [items for table in release.tables for items in split_tables(table)]
        names = [name for items in listed for name, level in items if level is None]
    if not names:
        return "release.count()"
    fewest = min(names, key=lambda name: release.schema.attribute(name).size)
    return f"release.table({fewest!r})"


def _mechanism(name: str) -> str:
    """A mechanism and what it releases, if it is one of ours."""
    return f"{name}: {about_mechanism(name).releases}" if name in MECHANISMS else name


def _tables(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_TABLES])
    return shown if len(names) <= _MOST_TABLES else f"{shown}, … ({len(names):,} in all)"


def _intervals(estimate: bool) -> Any:
    if not estimate:
        return "hold as often as they say, or more"
    return Markup(element("em", "estimate") + f": {ESTIMATE}")
