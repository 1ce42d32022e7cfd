"""The exact privacy of sparse summaries on every structure, and mistakes that would break it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from exact_cases import EPSILON, NEIGHBOURS, check, check_asking

from hushtable.errors import OptionError
from hushtable.families import find_mechanism
from hushtable.families.sparse.ask import summary
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import Filter, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.schema import Schema

relations = pytest.mark.parametrize("neighbours", NEIGHBOURS)
SOME = ["clipped and dropped rows", "two attributes"]
MECHANISMS = ["filter", "threshold", "priority", "filter-threshold", "filter-priority"]


@relations
@pytest.mark.parametrize("on", ["dyadic", "haar"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_neighbour_loses_more_than_epsilon(mechanism: str, on: str, neighbours: Any) -> None:
    case = SOME[MECHANISMS.index(mechanism) % 2]
    report = check(mechanism, case, neighbours, settings={"on": on})
    assert report.holds, (report.problem, report.example)
    if neighbours == "add-remove":
        assert report.tight


@relations
@pytest.mark.parametrize("on", ["cells", "dyadic", "haar"])
@pytest.mark.parametrize("case", SOME)
def test_summaries_lose_epsilon_and_never_more(case: str, on: Any, neighbours: Any) -> None:
    def ask(curator: Curator) -> Any:
        structure = Structure(on, curator.shape)
        return curator.noisy_summary(structure, Threshold(3, 2), epsilon=EPSILON).kept

    report = check_asking(ask, case, neighbours)
    assert report.holds, (report.problem, report.example)
    if neighbours == "add-remove" or on == "cells":
        assert report.tight


@pytest.mark.parametrize(
    ("on", "attribute", "neighbours"),
    [
        *((on, "entering", "add-remove") for on in ("cells", "dyadic", "haar")),
        *((on, "moving", "replace-one") for on in ("cells", "dyadic")),  # Haar's bound is loose
    ],
)
def test_halving_the_sensitivity_is_caught(
    on: Any, attribute: str, neighbours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = getattr(Structure, attribute)
    monkeypatch.setattr(Structure, attribute, property(lambda s: Fraction(true.fget(s), 2)))

    def ask(curator: Curator) -> Any:
        structure = Structure(on, curator.shape)
        return curator.noisy_summary(structure, Filter(2), epsilon=EPSILON).kept

    assert not check_asking(ask, "two attributes", neighbours).holds


@relations
@pytest.mark.parametrize("rows", [1, 2])
def test_sketches_lose_epsilon_and_never_more(rows: int, neighbours: Any) -> None:
    def ask(curator: Curator) -> Any:
        return curator.noisy_sketch(Sketch(rows, 2, curator.shape), epsilon=EPSILON)

    for case in SOME:
        report = check_asking(ask, case, neighbours)
        assert report.holds, (report.problem, report.example)
        if neighbours == "add-remove":
            assert report.tight


def test_a_noisy_total_is_paid_for() -> None:
    """Its share and the rest make ε: a total for nothing would cost more than was charged."""
    report = check("threshold", "clipped and dropped rows", "add-remove")
    assert report.holds and report.tight
    declared = check("threshold", "clipped and dropped rows", "add-remove", settings={"total": "5"})
    assert declared.holds and declared.tight


@pytest.mark.parametrize(
    ("mechanism", "settings", "words"),
    [
        ("geometric", {"on": "cells"}, "no setting 'on'"),
        ("filter", {"on": "cell"}, "on must be cells, dyadic or haar; see hush mechanisms filter"),
        ("filter", {"theta": "0"}, "theta must be a whole number from 1"),
        ("filter", {"theta": "1.5"}, "theta must be a whole number from 1"),
        ("filter", {"sides": "both"}, "sides must be one or two"),
        ("filter", {"consistent": "maybe"}, "consistent must be yes or no"),
        ("filter", {"consistent": "yes"}, "only its nodes have ancestors"),
        ("filter", {"tau": "3"}, "no setting 'tau'"),
        ("threshold", {"tau": "x"}, "tau must be a whole number"),
        ("threshold", {"share": "1"}, "share must be a decimal above 0 and below 1"),
        ("threshold", {"share": "0.1", "tau": "3"}, "not needed here"),
        ("priority", {"size": "-1"}, "size must be a whole number"),
        ("priority", {"theta": "3"}, "no setting 'theta'"),
        ("sketch", {"rows": "0"}, "rows must be a whole number"),
        ("sketch", {"rows": "99"}, "rows must be a whole number from 1 to 64"),
        ("sketch", {"estimate": "best"}, "estimate must be mean or median"),
    ],
)
def test_settings_that_mean_nothing_are_refused(mechanism: str, settings: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words) as refused:
        check(mechanism, "two attributes", "add-remove", settings=settings)
    assert "\n" not in str(refused.value)


class TestTheCurator:
    """What it accepts: its own structures and rules, in shapes of its own data."""

    @staticmethod
    def asked(structure: Any, rule: Any, **options: Any) -> Any:
        return check_asking(
            lambda c: c.noisy_summary(structure, rule, epsilon=EPSILON, **options).kept,
            "clipped and dropped rows",
            "add-remove",
        )

    def test_foreign_rules_and_structures_are_refused(self) -> None:
        class Mine(Structure):
            entering = 0  # type: ignore[assignment]

        class Cheap(Filter):
            pass

        with pytest.raises(OptionError, match="structures of hushtable"):
            self.asked(Mine("cells", (2,)), Filter(1))
        with pytest.raises(OptionError, match="rules of hushtable"):
            self.asked(Structure("cells", (2,)), Cheap(1))
        with pytest.raises(OptionError, match="shape"):
            self.asked(Structure("cells", (3,)), Filter(1))
        with pytest.raises(OptionError, match="ancestors"):
            self.asked(Structure("cells", (2,)), Filter(1), rooted=True)

    def test_counts_are_needed(self) -> None:
        with pytest.raises(OptionError, match="needs counts"):
            check_asking(
                lambda c: (
                    c.noisy_summary(Structure("cells", c.shape), Filter(1), epsilon=EPSILON).kept
                ),
                "clipped and dropped rows",
                "add-remove",
                needs="columns",
            )


def test_what_is_made_before_sampling_must_fit_too() -> None:
    """Nodes are dropped for want of an ancestor before anything is sampled."""
    long = {"kind": "ordinal", "range": [1, 10**6]}
    attributes = [{"name": "a", **long}, {"name": "b", **long}]
    schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": attributes})
    asked = {"on": "dyadic", "theta": "1", "size": "1000"}
    for name in ("filter-threshold", "filter-priority"):
        with pytest.raises(OptionError, match="more than memory"):
            find_mechanism(name).check(schema, epsilon=Fraction(1), settings=asked)


def test_what_is_kept_place_by_place_must_fit_into_files_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A priority sample is chosen in memory; a filter or a threshold looks at one place a time."""
    long = {"kind": "ordinal", "range": [1, 10**6]}
    attributes = [{"name": "a", **long}, {"name": "b", **long}]
    schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": attributes})
    monkeypatch.setattr(summary, "available_memory", lambda: 10**9)
    asked = {"size": str(10**9)}
    for mechanism, disk, fits in (
        ("filter", 10**11, True),
        ("filter", 10**10, False),
        ("filter-priority", 10**11, False),
    ):
        monkeypatch.setattr(summary, "available_disk", lambda disk=disk: disk)
        check = find_mechanism(mechanism).check
        if fits:
            check(schema, epsilon=Fraction(1), settings=asked)
            continue
        with pytest.raises(OptionError, match=r"more than memory (and TMPDIR hold|holds)"):
            check(schema, epsilon=Fraction(1), settings=asked)
