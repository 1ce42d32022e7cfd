"""A schema as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.markup import Markup, block, element, facts, grid, paragraph

if TYPE_CHECKING:
    from hushtable.schema.attribute import Attribute
    from hushtable.schema.schema import Schema


def schema_html(schema: Schema) -> str:
    """The attributes, whom the guarantee protects, and the budget."""
    told: list[tuple[str, Any]] = [
        ("protects", schema.protects),
        ("neighbours", schema.neighbours),
        ("budget", f"ε = {format_epsilon(schema.budget)} for {schema.dataset_name} in all"),
        ("cells", f"{schema.cells:,}"),
    ]
    if schema.people is not None:
        told.append(("people", f"about {schema.people:,}, as declared"))
    draft = Markup() if schema.reviewed else paragraph(element("strong", "A draft: review it."))
    return block(f"Schema of {schema.name}", draft, facts(told), attributes_html(schema))


def attributes_html(schema: Schema) -> Markup:
    """A table of the attributes: what may be asked for."""
    heads = ["attribute", "kind", "values", "outside", "levels", "codes"]
    return grid(heads, [_row(attribute) for attribute in schema.attributes], left=4)


def _row(attribute: Attribute) -> list[Any]:
    first, last = attribute.label(0), attribute.label(attribute.declared - 1)
    span = f"{first} … {last}" if attribute.declared > 1 else f"{first}"
    levels = "" if attribute.hierarchy is None else attribute.hierarchy.height + 1
    return [attribute.name, attribute.kind, span, attribute.outside, levels, f"{attribute.size:,}"]
