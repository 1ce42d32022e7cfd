"""A caller of its own kind: numbers, names and types that change their mind get nothing by it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushtable.errors import OptionError
from hushtable.evaluation.entropy import SeededEntropy
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import Curator, Regions, Whole
from hushtable.kernel.curator.network_scores import Distance, Family, FamilyScores, Information
from hushtable.kernel.curator.partition import Marginal, View
from hushtable.kernel.maps import Haar, Identity, Product
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.laws import chance_of_filter
from hushtable.kernel.maps.rules import Filter, Priority, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.tables import gap_tables, geometric_tables, laplace_tables
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure, parse_epsilon


def curator(occupied: int = 5, data: Any = None) -> Curator:
    counts = Counts((64,), np.arange(occupied), np.ones(occupied, np.int64))
    return Curator(
        counts if data is None else data,
        exposure=Exposure("add-remove"),
        account=Account(Fraction(1)),
        noise=EntropyNoise(SeededEntropy(1)),
    )


def public(asked: Curator) -> dict[str, Any]:
    names = [name for name in dir(asked) if not name.startswith("_")]
    values = {name: getattr(asked, name) for name in names}
    return {name: value for name, value in values.items() if not callable(value)} | {
        "repr": repr(asked)
    }


def test_nothing_public_tells_how_many_places_were_occupied() -> None:
    """Draws depend on that number; how far they are from the ideal is told, and must not."""
    told = []
    for occupied in (5, 6):
        asked = curator(occupied)
        for rule in (Filter(2**40), Filter(2), Threshold(9), Priority(3)):
            asked.noisy_summary(Structure("cells", (64,)), rule, epsilon="0.1")
        told.append(public(asked))
    assert told[0] == told[1] and told[0]["spent"] and told[0]["eta"]


class Changing(int):
    """An integer that is nothing when it is multiplied."""

    def __mul__(self, other: Any) -> int:
        return 0

    __rmul__ = __mul__

    @property
    def numerator(self) -> int:
        return self


class ChangingRatio(Fraction):
    @property
    def numerator(self) -> int:
        return Changing(super().numerator)


@pytest.mark.parametrize("epsilon", [Changing(10**6), ChangingRatio(10**6)])
def test_an_epsilon_of_its_own_kind_costs_what_it_is(epsilon: Any) -> None:
    exact = parse_epsilon(epsilon)
    assert type(exact) is Fraction and type(exact.numerator) is int and exact == 10**6
    asked = curator()
    with pytest.raises(Exception, match="left"):
        asked.noisy_total(epsilon=epsilon)
    assert asked.spent == 0


@pytest.mark.parametrize(("kind", "size"), [(Identity, 61), (Haar, 59)])
def test_a_price_is_not_remembered_for_a_transform_of_somebody_s_making(
    kind: Any, size: int
) -> None:
    """Sizes that nobody else asks for, so that it is the forged one that would be remembered."""
    forged = kind(size)
    object.__setattr__(forged, "matrix", lambda: np.zeros((size, size), np.int64))
    assert Product((forged,)).moving == 0
    honest = kind(size)
    factors = [float(c.factor) for c in honest.classes for _ in range(c.start, c.stop)]
    columns = (honest.matrix() / np.array(factors)[:, None]).T
    largest = max(float(abs(a - b).sum()) for a in columns for b in columns)
    assert Product((honest,)).moving == math.ceil(largest - 1e-9) >= 2


class Shrunk(Fraction):
    """Equal to a scale, and a thousandth of it where its parts are used."""

    @property
    def denominator(self) -> int:
        return 1000 * super().denominator


SCALE = Fraction(10) + Fraction(1, 977)  # which nobody else asks for


@pytest.mark.parametrize("law", [laplace_tables, geometric_tables, gap_tables])
def test_tables_are_not_remembered_for_a_scale_of_its_own_kind(law: Any) -> None:
    forged, honest = law(Shrunk(SCALE)), law(SCALE)
    assert not np.array_equal(forged.thresholds, honest.thresholds)
    assert law(SCALE) is honest


def test_chances_are_not_remembered_for_a_scale_of_its_own_kind() -> None:
    forged = chance_of_filter(Shrunk(SCALE), 5, two_sided=True)
    honest = chance_of_filter(SCALE, 5, two_sided=True)
    assert float(forged) < 1e-9 < float(honest)


class TwoFaced(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def test_a_structure_has_a_plain_name() -> None:
    with pytest.raises(OptionError, match="on must be one of"):
        Structure(TwoFaced("dyadic"), (64,))  # type: ignore[arg-type]
    structure = Structure("cells", (64,))
    object.__setattr__(structure, "on", TwoFaced("dyadic"))
    asked = curator()
    with pytest.raises(OptionError, match="on must be one of"):
        asked.noisy_summary(structure, Filter(1), epsilon="0.1")
    assert asked.spent == 0


class Alike(type):
    """A type that calls itself equal to every other."""

    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = type.__hash__


class Foreign(metaclass=Alike):
    shape = (64,)
    parts = 1

    def part_of(self, codes: Any) -> Any:
        raise AssertionError("a foreign partition saw true codes")


def test_a_type_that_calls_itself_equal_is_still_another() -> None:
    asked = curator()
    foreign: Any = Foreign()
    for ask in (
        lambda: asked.noisy_counts(foreign, epsilon="0.1"),
        lambda: asked.split(foreign),
        lambda: asked.select(foreign, epsilon="0.1"),
        lambda: asked.noisy_summary(Structure("cells", (64,)), foreign, epsilon="0.1"),
    ):
        with pytest.raises(OptionError):
            ask()
    assert asked.spent == 0
    assert asked.noisy_counts(Whole((64,)), epsilon="0.1").epsilon == Fraction(1, 10)


def test_what_needs_counts_of_cells_is_refused_before_it_is_paid() -> None:
    asked = curator(data=CodedColumns((64,), (np.zeros(3, np.uint8),)))
    with pytest.raises(OptionError, match="counts of cells"):
        asked.noisy_summary(Structure("cells", (64,)), Filter(1), epsilon="0.1")
    with pytest.raises(OptionError, match="counts of cells"):
        asked.noisy_sketch(Sketch(2, 8, (64,)), epsilon="0.1")
    assert asked.spent == 0


# ── scores of families, and what changes after it was checked ────────────────────────────────────

ROWS = np.array([[0, 0], [1, 1], [2, 0], [2, 1], [1, 0]])


def of_columns() -> Curator:
    columns = tuple(ROWS[:, i].astype(np.uint8) for i in range(2))
    return curator(data=CodedColumns((3, 2), columns))


def families(measure: Any = None) -> FamilyScores:
    views = [View(0, np.arange(3)), View(1, np.arange(2))]
    pairs = [Family(0, (1,)), Family(1, (0,))]
    return FamilyScores((3, 2), views, pairs, measure or Distance())


class Curious(metaclass=Alike):
    """A measure that would tell the tables it sees."""

    name, entering, moving = "R", 1, 1

    def of(self, table: Any) -> int:
        raise AssertionError("a foreign measure saw a true table")


class Nosy(int):
    def __rsub__(self, other: Any) -> Any:
        raise AssertionError("a foreign handicap saw a true score")


def test_measures_are_ours_also_when_they_come_later() -> None:
    with pytest.raises(OptionError, match="measures"):
        families(Curious())
    asked, later = of_columns(), families()
    later.measure = Curious()
    with pytest.raises(OptionError, match="measures"):
        asked.select(later, epsilon="0.1")
    assert asked.spent == 0


def test_handicaps_that_look_at_scores_see_none() -> None:
    asked, nosy = of_columns(), families()
    nosy.handicaps = (Nosy(1), Nosy(2))
    assert asked.select(nosy, epsilon="0.1").choice in (0, 1)


def test_a_limit_of_its_own_kind_pays_the_honest_price() -> None:
    class Small(int):
        def __mul__(self, other: Any) -> Any:
            return 2.0

        def __sub__(self, other: Any) -> Any:
            return 2

    asked = of_columns()
    with pytest.raises(OptionError, match="so small"):
        # What it really costs is more than such an ε can scale.
        asked.select(families(Information(Small(2**30), True)), epsilon=Fraction(1, 10**13))
    assert asked.spent == 0


def test_a_promise_broken_after_it_was_checked_is_checked_again() -> None:
    views = [View(0, np.arange(3)), View(1, np.arange(3))]
    information = Information(100, False)
    scores = FamilyScores((3, 3), views, [Family(0, (1,))], information)
    object.__setattr__(information, "binary", True)
    columns = tuple(np.zeros(3, np.uint8) for _ in range(2))
    asked = curator(data=CodedColumns((3, 3), columns))
    with pytest.raises(OptionError, match="not binary"):
        asked.select(scores, epsilon="0.1")
    assert asked.spent == 0


def test_groups_changed_after_they_were_checked_cannot_lead_astray() -> None:
    view = View(0, np.arange(3))
    view.groups.setflags(write=True)
    view.groups[:] = 10**8
    asked = of_columns()
    with pytest.raises(OptionError, match="at most"):
        asked.noisy_counts(Marginal((3, 2), [view, View(1, np.arange(2))]), epsilon="0.1")
    other = families()
    other.views[0].groups.setflags(write=True)
    other.views[0].groups[:] = -1
    with pytest.raises(OptionError, match="a group for every code"):
        asked.select(other, epsilon="0.1")
    assert asked.spent == 0


def test_parts_put_in_front_of_a_partition_are_refused() -> None:
    class Telling:
        def __getitem__(self, codes: Any) -> Any:
            raise AssertionError("a foreign array saw true codes")

    asked = of_columns()
    regions, marginal = Regions([[0, 1], [1, 0], [0, 0]]), Marginal((3, 2), [View(0, np.arange(3))])
    regions._labels = Telling()  # type: ignore[assignment]
    marginal._views = (Foreign(),)  # type: ignore[assignment]
    for partition in (regions, marginal):
        with pytest.raises((OptionError, TypeError)):
            asked.noisy_counts(partition, epsilon="0.1")
        with pytest.raises((OptionError, TypeError)):
            asked.split(partition)
    assert asked.spent == 0


@pytest.mark.parametrize("number", [1.5, "3", None])
def test_what_is_no_whole_number_is_refused(number: Any) -> None:
    asked, odd = of_columns(), families()
    odd.handicaps = (number, 0)
    with pytest.raises(OptionError, match="whole numbers"):
        asked.select(odd, epsilon="0.1")
    assert asked.spent == 0
