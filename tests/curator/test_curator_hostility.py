"""A caller of its own kind: numbers, names and types that change their mind get nothing by it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushtable.counting import CodedColumns, Counts
from hushtable.curator import Curator, Whole
from hushtable.errors import OptionError
from hushtable.evaluation.entropy import SeededEntropy
from hushtable.noise.bulk import EntropyNoise
from hushtable.privacy.account import Account
from hushtable.privacy.loss import Exposure, parse_epsilon
from hushtable.summaries import Filter, Structure
from hushtable.summaries.sketch import Sketch


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
    """Draws depend on that number, so their tally is nobody's business."""
    told = []
    for occupied in (5, 6):
        asked = curator(occupied)
        asked.noisy_summary(Structure("cells", (64,)), Filter(2**40), epsilon="0.1")
        told.append(public(asked))
    assert told[0] == told[1] and "spent" in told[0] and "eta" not in told[0]


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
