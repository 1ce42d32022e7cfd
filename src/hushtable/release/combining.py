"""Several releases of one table, answered as one: averages by the variances of their noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.query.answer import Draws
from hushtable.query.averaging import CombinedReader, is_exact
from hushtable.release.asking import Asking
from hushtable.release.release import Release
from hushtable.schema import Schema
from hushtable.text import plain


def combine(*releases: Release) -> Combination:
    """Several releases of one table as one, which answers more closely than each of them.

    Intervals are promises where the releases are of one declared snapshot and nothing but noise
    sets them apart; else they are estimates, and `why_estimate` says why.
    """
    if len(releases) < 2 or not all(isinstance(release, Release) for release in releases):
        raise OptionError("combine takes two releases or more, as open gives them")
    for one, other in itertools.combinations(releases, 2):
        _check_two(one, other)
    return Combination(releases)


class Combination(Asking):
    """Several releases of one table, and the answers that they give together."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self.releases = tuple(releases)

    def __repr__(self) -> str:
        shown = format_epsilon(self.epsilon)
        return f"<{len(self.releases)} releases of {self.schema.name!r} combined, ε = {shown}>"

    @property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self.releases[0].schema

    @property
    def epsilon(self) -> Fraction:
        """What all of them cost: losses of releases about the same people add up."""
        return sum((release.epsilon for release in self.releases), Fraction(0))

    @property
    def delta(self) -> float:
        """The sum of their δ."""
        return math.fsum(release.manifest["privacy"]["delta"] for release in self.releases)

    @property
    def private(self) -> bool:
        """Whether all noise came from the operating system's randomness."""
        return all(release.private for release in self.releases)

    @property
    def draws(self) -> Draws:
        """What tells their noise from that of others, where it is known of all."""
        every = [release.draws for release in self.releases]
        known = [draws for draws in every if draws is not None]
        return frozenset().union(*known) if len(known) == len(every) else None

    @cached_property
    def reader(self) -> CombinedReader:
        """What answers from all of them."""
        note = (
            f"average of {len(self.releases)} releases by the variances of their noise;"
            f" together they cost ε = {format_epsilon(self.epsilon)}"
        )
        why = self.why_estimate
        readers = tuple(release.reader for release in self.releases)
        return CombinedReader(readers, not why, f"{note}; an estimate: {why}" if why else note)

    @property
    def estimate(self) -> bool:
        """Whether its intervals are estimates, which may hold less often than they say."""
        return bool(self.why_estimate)

    @cached_property
    def why_estimate(self) -> str:
        """Why its intervals are estimates; empty where they are promises."""
        return next(_doubts(self.releases), "")


# ── which releases are of one table ──────────────────────────────────────────────────────────────


def _check_two(one: Release, other: Release) -> None:
    """Refuse two releases that do not count the same things, or are one."""
    if one.manifest["arrays"] == other.manifest["arrays"] or _are_one(one, other):
        raise OptionError("a release is named twice: combine different ones")
    for what, mine, theirs in (
        ("tables", one.schema.name, other.schema.name),
        ("datasets", one.schema.dataset_name, other.schema.dataset_name),
    ):
        if mine != theirs:
            raise OptionError(f"these are releases of two {what}, {mine!r} and {theirs!r}")
    _check_schemas(one.schema, other.schema)
    first, second = one.snapshot, other.snapshot
    if first and second and first != second:
        raise OptionError(
            f"these are releases of two snapshots, {first!r} and {second!r}: each has a truth of"
            " its own; compare them by a difference of their answers"
        )


def _are_one(one: Release, other: Release) -> bool:
    """Whether both were paid by one reservation; experiments have none."""
    paid = one.manifest["reservation"]
    return bool(paid == other.manifest["reservation"] and paid != "none")


def _check_schemas(one: Schema, other: Schema) -> None:
    names = [{attribute.name for attribute in schema.attributes} for schema in (one, other)]
    if odd := sorted(names[0] ^ names[1]):
        raise OptionError(f"only one of the releases has the attribute {odd[0]!r}")
    pairs = zip(one.attributes, other.attributes, strict=True)
    if differ := [mine.name for mine, theirs in pairs if mine != theirs]:
        raise OptionError(
            f"the attribute {differ[0]!r} differs, or stands elsewhere, in one release"
        )
    for what in ("neighbours", "unit", "counts"):
        if getattr(one, what) != getattr(other, what):
            raise OptionError(f"the releases differ in {what}")


def _doubts(releases: Sequence[Release]) -> Iterator[str]:
    """Why averages of these releases may have other errors than their laws say."""
    if not all(release.snapshot for release in releases):
        yield "not all releases name the snapshot that they are of (hush publish --snapshot)"
    if releases[0].schema.unit is not None:
        yield "each release chose by chance which rows of a person count"
    if not all(release.private for release in releases):
        yield "noise was injected, so that it may depend on that of another release"
    for release in releases:
        if not is_exact(release.reader):
            yield f"answers of {release.mechanism} have errors beside noise"
    if _may_depend(releases):
        yield "one release was planned from another, or it is not known from which ones"


def _may_depend(releases: Sequence[Release]) -> bool:
    """Whether the choice of a mechanism may have followed from the noise of another release."""
    paid = {plain(str(release.manifest["reservation"])) for release in releases}
    for release in releases:
        history = planned_from(release.manifest)
        if history is None or paid & set(history):
            return True
    return False


def planned_from(manifest: dict[str, Any]) -> list[str] | None:
    """The reservations of all releases that a plan goes back to; None where it is not known.

    A proxy that is a release was itself planned from public facts, or from a release before.
    """
    plan = manifest.get("plan")
    proxy = plan.get("proxy") if isinstance(plan, dict) else None
    if not isinstance(proxy, dict) or proxy.get("kind") != "release":
        return []
    before = proxy.get("before")
    if not isinstance(before, list):  # older ones do not say
        return None
    return [str(proxy.get("reservation")), *map(str, before)]
