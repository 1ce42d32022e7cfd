"""What to do about a table that does not fit its schema, the most important first."""

from __future__ import annotations

from collections.abc import Iterator

from hushtable.checking.likeness import in_words
from hushtable.checking.report import AttributeCheck, CheckReport, Outcome, PeopleCheck, show_share
from hushtable.schema import Schema

LABELS_ARE_PUBLIC = (
    "Labels you copy from here into the schema are published: add only ones that are publicly"
    " known."
)

_WORTH_SAYING = 0.01
"""The share of values that must be clipped, or go to `other`, to be mentioned."""

_REMEDIES = {
    "empty": 'outside = "other" would keep them',
    "unknown": 'add the labels that are publicly known, or set outside = "other"',
    "not a number": 'outside = "other" would keep them',
    "not a date": 'dates are read as 2024-12-31, and outside = "other" would keep the others',
    "below": 'a wider range or outside = "clip" would keep them',
    "above": 'a wider range or outside = "clip" would keep them',
}


def advise(report: CheckReport, schema: Schema) -> tuple[str, ...]:
    """Lines for the owner: what loses most rows first, then what changes values, then figures."""
    lost = sorted(_losses(report), key=lambda loss: -loss[0])
    changed = sorted(_changes(report), key=lambda change: -change[0])
    lines = [f"publish refuses this table, all else is said without: {r}" for r in report.refused]
    lines += [line for _, line in (*lost, *changed)]
    if not report.rows:
        lines.append("the table has no rows")
    elif not lost and not any(attribute.misfits for attribute in report.attributes):
        lines.append("every row is kept as it is")
    lines += _declarations(report, schema)
    if any(attribute.values for attribute in report.attributes):
        lines.append(LABELS_ARE_PUBLIC)
    return tuple(lines)


def _losses(report: CheckReport) -> Iterator[tuple[int, str]]:
    """How many rows each reason loses, and what to do about it."""
    for attribute in report.attributes:
        if number := attribute.number("dropped"):
            why = _why(attribute, "dropped")
            yield (
                number,
                f"{_rows(number, report.rows)} dropped because of {attribute.name!r}: {why}",
            )
    if report.broken_lines:
        yield (
            report.broken_lines,
            f"{_lines(report.broken_lines)} not well-formed, and no row: a quote that is not closed"
            " on its line, or bytes that are no text (see --csv-multiline and --csv-encoding)",
        )
    if report.short_lines:
        yield (
            report.short_lines,
            f"{_lines(report.short_lines)} no row: the first line of the file has more fields",
        )
    if report.people is not None:
        yield from _lost_people(report, report.people)
    if report.counted is not None and report.counted.invalid:
        number, column = report.counted.invalid, report.counted.column
        yield (
            number,
            f"{_rows(number, report.rows)} of nobody: {column!r} holds no whole number of people"
            " there",
        )


def _lost_people(report: CheckReport, people: PeopleCheck) -> Iterator[tuple[int, str]]:
    if number := report.without_id:
        yield number, f"{_rows(number, report.rows)} nobody's: {people.column!r} holds no id there"
    if number := report.beyond_max_rows:
        enough = people.enough_for(0.99)
        noise = enough / people.max_rows
        yield (
            number,
            f"{_rows(number, report.rows)} beyond max_rows = {people.max_rows}: {enough} would keep"
            f" 99 % of them, with {noise:.3g} times the noise",
        )


def _changes(report: CheckReport) -> Iterator[tuple[int, str]]:
    """Values that count as others: worth a line where they are many, or meant to be labels."""
    outcomes: tuple[tuple[Outcome, str], ...] = (
        ("other", "go to `other`"),
        ("clipped", "are clipped"),
    )
    for attribute in report.attributes:
        for outcome, words in outcomes:
            number = attribute.number(outcome)
            many = number >= max(1, _WORTH_SAYING * report.rows)
            if many or (number and attribute.resembling):
                values = _values(attribute, number, report.rows)
                yield number, f"{values} {words}: {_why(attribute, outcome)}"
    if report.counted is not None and report.counted.above:
        number, most = report.counted.above, report.counted.most
        yield (
            number,
            f"{_rows(number, report.rows)} of more people than most = {most}, and counted as"
            f" {most:,} each",
        )


def _why(attribute: AttributeCheck, becomes: Outcome) -> str:
    """The reasons, the most frequent first, and what would help against that one."""
    misfits = sorted(
        (misfit for misfit in attribute.misfits if misfit.becomes == becomes),
        key=lambda misfit: -misfit.rows,
    )
    number = sum(misfit.rows for misfit in misfits)
    if attribute.resembling == number:
        return f"its values {_how(attribute)}; correct the labels"
    reasons = in_words([f"{misfit.rows:,} {misfit.words}" for misfit in misfits])
    if attribute.resembling:
        reasons += f", of which {attribute.resembling:,} {_how(attribute)}"
    return f"{reasons}; {_REMEDIES[misfits[0].reason]}" if becomes == "dropped" else reasons


def _how(attribute: AttributeCheck) -> str:
    """In what values that look like labels differ from them, with an example."""
    example = next((value for value in attribute.values if value.hint), None)
    shown = f" ('{example.text}': {example.hint})" if example else ""
    return f"differ from labels by {in_words(attribute.differ)} alone{shown}"


def _declarations(report: CheckReport, schema: Schema) -> Iterator[str]:
    """What to declare, or to think about, before publishing."""
    people = report.suggested_people
    if people is not None and schema.people is None:
        yield (
            f"people = {people} in the schema would tell `auto` about how many rows there are; it"
            " is published, so declare only what you would tell anyone"
        )
    elif people is not None and schema.people and not 0.8 <= people / schema.people <= 1.25:
        yield f"the schema declares people = {schema.people}, but about {people} rows count"
    if not schema.reviewed:
        yield "the schema is a draft: review it, then set reviewed = true"


def _rows(number: int, whole: int) -> str:
    """As the beginning of a sentence: how many rows are …"""
    if number == whole:
        return "all rows are" if whole > 1 else "the only row is"
    return f"{number:,} row{'s' * (number != 1)} ({show_share(number, whole)}) " + (
        "are" if number != 1 else "is"
    )


def _lines(number: int) -> str:
    return f"{number:,} lines are" if number != 1 else "1 line is"


def _values(attribute: AttributeCheck, number: int, whole: int) -> str:
    if number == whole:
        return f"all values of {attribute.name!r}"
    return f"{number:,} values of {attribute.name!r} ({show_share(number, whole)})"
