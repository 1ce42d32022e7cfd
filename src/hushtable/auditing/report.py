"""An audit in words: a verdict of one line, a table, and a report in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushtable import __version__
from hushtable.auditing.coverage import CONFIDENCE_LEVELS, COVERAGE, Coverage, short
from hushtable.auditing.noise_law import LAW
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.query.answer import show_percent

if TYPE_CHECKING:
    from hushtable.auditing.audit import Audit, Finding
    from hushtable.auditing.noise_law import LawCheck

_MOST_SHOWN = 8

COLUMNS = [
    "schema",
    "neighbours",
    "cells",
    "rows",
    "pairs",
    "exact loss",
    "runs",
    "lower bound",
    "verdict",
]

_METHOD = """\
**Exact loss**: all pairs of neighbours among tables of at most two people whose rows are among the
listed kinds; with an id column, one person beside nobody or beside a fixed crowd. Two runs (three
in a nightly audit), one of them without noise, are recorded on one table and replayed, with the
same noisy answers, on its neighbour; the loss is Σ abs(v − v′)/scale over all noisy values, and the
largest log-ratio of the probabilities of each choice: exact, or rounded up. It must be at most what
was charged, and what is published must be a function of the noisy answers alone. Scores of choices
change by nearly their bounds only in larger tables: where a schema has pairs of these, they are
tried too.

**Lower bound**: real noise, as publishing draws it, on the two neighbouring tables of the largest
exact loss, or of the first mistake. An event that has probability p on one and p′ on the other
shows a loss of ln(p/p′). Half of the runs choose the events, the other half bound p from below and
p′ from above (Clopper and Pearson), all bounds of one mechanism together at {confidence}
confidence: a sound one shows a lower bound above its ε in less than one audit of {one_in:,.0f}.

**Noise**: the kinds of draws that were asked for (at most twelve scales and three choices), made
again up to millions of times by the sampler that publishing uses, against their closed forms; of
priority samples, against the rule written out. Sound noise is blamed at most once in about a
billion audits.

**Coverage**: releases of tables of a few shapes (the same count everywhere and correlated clusters;
in a nightly audit also nothing at all, one peak, a checkerboard) are asked for their total, cells,
marginals, hierarchy nodes, ranges, unions and complements, at 90, 95 and 99.9 %, and at 95 % all at
once. A promise must hold as often as it says: each question by itself, and all of one kind
together. Shares that promises which are kept would fall to less than once in a billion audits
(Hoeffding) are violations. Estimates promise nothing; the share that held is shown.

An audit finds mistakes; that it finds none is no proof. It does not look at the ledger, or at how
files are read."""


def verdict(audit: Audit) -> str:
    """What came out, in one line."""
    epsilon = format_epsilon(audit.epsilon)
    if audit.holds:
        return (
            f"no loss above ε = {epsilon} found: at most {audit.largest_loss:.4g} exactly,"
            f" at least {audit.largest_bound:.3g} by experiment"
        )
    shown = [by for by in audit.caught_by if by not in (LAW, COVERAGE)]
    refused = any(finding.refusal is not None for finding in audit.findings)
    told = [f"more than ε = {epsilon} is lost, shown by the {_joined(shown)}"] if shown else []
    if refused and shown == ["exact check"]:
        told = [f"it asks for more than ε = {epsilon}, and the curator refuses"]
    if LAW in audit.caught_by:
        told.append("noise is not what it says")
    if COVERAGE in audit.caught_by:
        told.append("intervals hold less often than they promise")
    return f"VIOLATION: {', and '.join(told)}"


def sentence(audit: Audit) -> str:
    """The verdict as a sentence."""
    text = verdict(audit)
    return text[0].upper() + text[1:] + "."


def problems(audit: Audit) -> list[str]:
    """Each violation in words."""
    found = []
    for finding in audit.findings:
        where = f"{finding.schema.name}, {finding.neighbours}"
        if finding.refusal is not None:
            found.append(f"{where}: the curator refused it ({finding.refusal})")
        elif finding.exact is not None and finding.exact.problem is not None:
            found.append(f"{where}: {finding.exact.problem}{_tables(finding)}")
        bound = finding.bound
        if bound is not None and "lower bound" in finding.caught_by(audit.epsilon):
            often, seldom = bound.hits
            found.append(
                f"{where}: {bound.event}: {often:,} times on one table, {seldom:,} on its"
                f" neighbour, of {bound.runs:,} each; so ε > {bound.epsilon:.3g}"
            )
    found += [f"{law.what}: {law.problem}" for law in audit.noise if law.problem]
    return found + short(audit.coverage)


def _tables(finding: Finding) -> str:
    """The two tables of a mistake, made up as they are; or how many people they have."""
    assert finding.exact is not None and finding.exact.example is not None
    shown = [
        f"{len(table):,} rows"
        if len(table) > _MOST_SHOWN
        else "{" + ", ".join("(" + ", ".join(map(str, row)) + ")" for row in table) + "}"
        for table in finding.exact.example
    ]
    return f", on {shown[0]} and {shown[1]}"


def rows(audit: Audit) -> list[list[str]]:
    """A row of the table for each finding."""
    return [_row(finding, audit) for finding in audit.findings]


def noise_words(audit: Audit) -> str:
    """How the noise compares with its laws, in one line."""
    draws, strayed = sum(law.draws for law in audit.noise), sum(map(_strays, audit.noise))
    looked = sum(law.draws > 0 for law in audit.noise)
    kinds = f"{looked} kind{'s' * (looked != 1)} of draws, {draws:,} draws"
    left = len(audit.noise) - looked
    unseen = f"; {left} not looked at, its noise is too wide" if left else ""
    return f"{kinds}: " + (f"{strayed} off their laws" if strayed else "as stated") + unseen


def _strays(law: LawCheck) -> bool:
    return law.problem is not None


COVERED = ["questions", "promised", *(f"in {level.words}" for level in CONFIDENCE_LEVELS)]
COVERED += ["estimates", *(f"in {level.words}" for level in CONFIDENCE_LEVELS)]


def coverage_rows(audit: Audit) -> list[list[str]]:
    """How often intervals held: a row for each kind of question, promises before estimates."""
    found = []
    for kind in dict.fromkeys(one.kind for one in audit.coverage):
        of_kind = {one.level: one for one in audit.coverage if one.kind == kind}
        levels = [of_kind[level] for level in CONFIDENCE_LEVELS]
        promised, estimated = levels[0].promised, levels[0].estimated
        found.append(
            [
                kind,
                f"{promised:,}",
                *(_share(one.share, promised, short=one.problem is not None) for one in levels),
                f"{estimated:,}",
                *(_share(one.estimate_share, estimated) for one in levels),
            ]
        )
    return found


def _share(share: float, tried: int, *, short: bool = False) -> str:
    return "" if not tried else f"{100 * share:.2f} %" + (" SHORT" if short else "")


def _coverage_cell(coverage: Sequence[Coverage]) -> str:
    """Promises and estimates at 95 %: the kind of question that held least often."""
    level = [one for one in coverage if one.level.confidence == 0.95]
    promised = [one.share for one in level if one.promised and not one.level.together]
    estimated = [one.estimate_share for one in level if one.estimated and not one.level.together]
    told = [f"{100 * min(promised):.1f} %"] if promised else []
    told += [f"estimates {100 * min(estimated):.1f} %"] if estimated else []
    return ", ".join(told) or "not tried"


SUMMARY = [
    "mechanism",
    "schemas",
    "pairs",
    "exact loss",
    "lower bound",
    "noise",
    "inside 95 % intervals",
    "verdict",
]


def summary_row(audit: Audit) -> list[str]:
    """An audit as one row, beside those of other mechanisms."""
    pairs = sum(finding.exact.pairs for finding in audit.findings if finding.exact)
    return [
        audit.mechanism,
        str(len({finding.schema.name for finding in audit.findings})),
        f"{pairs:,}",
        f"{audit.largest_loss:.4g}",
        f"{audit.largest_bound:.3g}",
        "strays" if any(map(_strays, audit.noise)) else "as stated",
        _coverage_cell(audit.coverage),
        f"VIOLATION ({_joined(audit.caught_by)})" if audit.caught_by else "holds",
    ]


def summary(audits: Sequence[Audit]) -> str:
    """A page of several audits: one table, then each of them, and once what was tried."""
    lines = [
        f"# Privacy audits at ε = {format_epsilon(audits[0].epsilon)}",
        "",
        f"hushtable {__version__}",
        "",
        *_table(SUMMARY, [summary_row(audit) for audit in audits]),
        "",
    ]
    for audit in audits:
        lines += [f"## `{audit.mechanism}`", "", *_found(audit)]
    return "\n".join([*lines, *_tried(audits)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(columns), _line(["---"] * len(columns)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(finding: Finding, audit: Audit) -> list[str]:
    exact, bound = finding.exact, finding.bound
    caught = finding.caught_by(audit.epsilon)
    return [
        finding.schema.name,
        finding.neighbours,
        f"{finding.schema.schema.cells:,}",
        finding.schema.tried,
        "" if exact is None else f"{exact.pairs:,}",
        "refused" if exact is None else f"{float(exact.worst):.4g}",
        "" if bound is None else f"2 × {2 * bound.runs:,}",
        "" if bound is None else f"{bound.epsilon:.3g}",
        f"VIOLATION ({_joined(caught)})" if caught else "holds",
    ]


def _joined(names: Sequence[str]) -> str:
    return " and the ".join(names)


def as_markdown(audit: Audit) -> str:
    """A report to keep: what was tried, what came out, and what that means."""
    asked = ", ".join(f"{key}={value}" for key, value in audit.settings.items())
    lines = [
        f"# Privacy audit of `{audit.mechanism}` at ε = {format_epsilon(audit.epsilon)}",
        "",
        f"hushtable {__version__}" + (f", settings {asked}" if asked else ""),
        "",
        *_found(audit),
        *_tried([audit]),
    ]
    return "\n".join(lines)


def _found(audit: Audit) -> list[str]:
    told = [f"* {problem}" for problem in problems(audit)]
    told += [f"* `{name}` left out: {reason}" for name, reason in audit.left_out.items()]
    return [
        f"**{sentence(audit)}**",
        "",
        *_table(COLUMNS, rows(audit)),
        "",
        f"Noise: {noise_words(audit)}.",
        "",
        *(_table(COVERED, coverage_rows(audit)) if audit.coverage else ["Coverage: not tried."]),
        "",
        *told,
        *([""] if told else []),
    ]


def _tried(audits: Sequence[Audit]) -> list[str]:
    schemas = {f.schema.name: f.schema.words for audit in audits for f in audit.findings}
    confidence = audits[0].confidence
    return [
        "## What was tried",
        "",
        *(f"* `{name}`: {words}" for name, words in schemas.items()),
        "",
        _METHOD.format(confidence=show_percent(confidence), one_in=1 / (1 - confidence)),
        "",
    ]
