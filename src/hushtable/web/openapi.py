"""The description of the JSON interface, for tools that read OpenAPI."""

from __future__ import annotations

from typing import Any

from hushtable import __version__

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string", "description": "What is wrong and what to do."}},
}
_NUMBER_OR_OPEN = {"type": ["number", "null"]}
_BAR: dict[str, Any] = {
    "value": _NUMBER_OR_OPEN,
    "stderr": _NUMBER_OR_OPEN,
    "interval": {
        "type": "array",
        "items": _NUMBER_OR_OPEN,
        "minItems": 2,
        "maxItems": 2,
        "description": "Both ends; null where there is none.",
    },
    "estimate": {
        "type": "boolean",
        "description": "Whether the interval may hold less often than it says.",
    },
}
_MEANT: dict[str, Any] = {
    "confidence": {"type": "number"},
    "simultaneous": {"type": "boolean"},
    "note": {"type": "string"},
}
_ANSWER: dict[str, Any] = {
    "oneOf": [
        {"title": "One number", "type": "object", "properties": _BAR | _MEANT},
        {
            "title": "A table",
            "type": "object",
            "properties": _MEANT
            | {
                "columns": {"type": "array", "items": {"type": "string"}},
                "rows": {
                    "type": "array",
                    "description": "Labels of the groups, and the number with its error bar; of"
                    " several aggregates, each under its name.",
                    "items": {"type": "object"},
                },
                "estimate": {"type": "boolean"},
            },
        },
    ]
}
_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "The name of a release, as the first page lists it.",
}


def description(root: str) -> dict[str, Any]:
    """The whole description, for a site at a root path."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hushtable",
            "version": __version__,
            "description": "Counts with error bars from releases under differential privacy.",
        },
        "servers": [{"url": root or "/"}],
        "paths": {
            "/{name}.json": {"get": _operation("Answer a SELECT", _asking(), _ANSWER)},
            "/{name}/info.json": {
                "get": _operation("What a release is", [_NAME], {"type": "object"})
            },
            "/-/health": {"get": _operation("Whether the server runs", [], {"type": "object"})},
        },
    }


def _asking() -> list[dict[str, Any]]:
    return [
        _NAME,
        _parameter("sql", {"type": "string"}, "SELECT … FROM …, about one table.", required=True),
        _parameter("confidence", {"type": "number", "default": 0.95}, "Of the intervals."),
        _parameter("simultaneous", {"type": "boolean"}, "All the table's intervals hold at once."),
        _parameter("estimate", {"type": "boolean"}, "Answer by a model what tables do not tell."),
    ]


def _parameter(
    name: str, schema: dict[str, Any], text: str, *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "schema": schema,
        "description": text,
    }


def _operation(
    summary: str, parameters: list[dict[str, Any]], answer: dict[str, Any]
) -> dict[str, Any]:
    def told(text: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"description": text, "content": {"application/json": {"schema": schema}}}

    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": told("The answer.", answer),
            "400": told("The question cannot be answered.", _ERROR),
            "404": told("There is no such release.", _ERROR),
            "503": told("Too much at once: come back after Retry-After seconds.", _ERROR),
        },
    }
