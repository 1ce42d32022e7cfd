"""How large an attack is, what it counted, and the table of counts at the end of a run.

Every attack counts what it tried (`tally`). The counts travel in the reports of the tests, so that
they add up over processes, and end in one table with the time of each suite.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack import Size, Tally, extent, size_for
from manifest_kinds import Published

TESTS = Path(__file__).parent.parent

# What the attacks have in common with the tests of each part.
for part in ("evaluation", "privacy", "query", "release"):
    sys.path.append(str(TESTS / part))
sys.path.append(str(TESTS))


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> Size:
    return size_for(extent(request.config))


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """Small releases by kind, for attacks on copies of them."""
    return Published(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def tally(record_property: Callable[[str, Any], None]) -> Tally:
    """Count what was tried."""
    return lambda what, count: record_property(f"tried {what}", count)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if extent(terminalreporter.config) == "small":
        return
    reports = [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if "tests/trust/" in report.nodeid
    ]
    if not reports:
        return
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for report in reports:
        seconds[report.nodeid.partition("::")[0].rpartition("/")[2]] += report.duration
        for name, value in report.user_properties:
            if name.startswith("tried "):
                counts[name.removeprefix("tried ")] += value
    counts["violations"] = sum(report.failed for report in reports)
    terminalreporter.section("trust")
    for name, count in counts.items():
        terminalreporter.write_line(f"{count:>9,}  {name}")
    for name, value in seconds.items():
        terminalreporter.write_line(f"{value:>8.1f}s  {name}")
    for report in reports:
        for name, value in report.user_properties:
            if name in ("mutant", "coverage"):
                terminalreporter.write_line(value)
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"  skipped  {report.nodeid}: {report.longrepr[2]}")
