"""Answers and result tables show, order and convert without losing or clipping anything."""

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.answer import Answer, show_bar, show_number
from hushtable.query.law import NoiseSum
from hushtable.query.result import Measure, Order, ResultTable

NARROW = NoiseSum.of(DiscreteLaplace(Fraction(2)), 1)
WIDE = NoiseSum.of(DiscreteLaplace(Fraction(40)), 3)


@dataclass(frozen=True)
class Guess:
    """The law of an error that is only estimated."""

    variance: float
    estimate: bool = True

    def half_width(self, confidence: float) -> float:
        return 3 * self.variance**0.5


GUESS = Guess(4.0)


def table(**changes) -> ResultTable:
    columns = {
        "groups": {"age": [10, 10, 20, 20, None, None], "sex": ["F", "M", "F", "M", "F", "M"]},
        "values": np.array([5, -3, 7, 5, 0, 12]),
        "laws": (NARROW, WIDE),
        "law_of_row": np.array([0, 0, 0, 0, 1, 1]),
    } | changes
    measure = Measure(*(columns.pop(name) for name in ("values", "laws", "law_of_row")))
    return ResultTable(measures={columns.pop("count_name", "count"): measure}, **columns)


def counts(groups, values, laws, law_of_row, **given) -> ResultTable:
    return ResultTable(groups, {"count": Measure(values, laws, law_of_row)}, **given)


def test_an_answer_shows_its_value_and_bar():
    answer = Answer(-3, NARROW, "basic")
    assert str(answer) == repr(answer) == "-3 ± 6 (95 %)"
    assert float(answer) == -3.0
    assert answer.stderr == pytest.approx(NARROW.variance**0.5)


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [(-3, 6.0, "6"), (5.049, 1.04, "1.1"), (7.4, 16.2, "17"), (0.5049, 0.0334, "0.034")],
)
def test_a_bar_that_is_shown_reaches_both_ends(value, half, shown):
    """Rounded to the nearest, the interval that is shown would be narrower than the true one."""
    assert show_bar(value, half) == shown
    middle = float(show_number(value, half))
    assert middle - float(shown) <= value - half and value + half <= middle + float(shown)


def test_ends_are_rounded_outwards_and_open_ones_stay_open():
    assert show_number(1234.56, 100, rounding="ROUND_FLOOR") == "1,234"
    assert show_number(-1234.56, 100, rounding="ROUND_FLOOR") == "-1,235"
    assert show_number(1234.56, 100, rounding="ROUND_CEILING") == "1,235"
    assert show_number(float("inf"), 1) == "∞" and show_bar(3.5, float("inf")) == "∞"
    assert show_number(float("nan"), 1) == "?" and show_bar(float("nan"), float("inf")) == "∞"


def test_an_interval_is_centred_and_never_clipped():
    answer = Answer(-3, NARROW)
    assert answer.interval(0.95) == (-9, 3)
    assert answer.interval() == answer.interval(0.95)
    assert Answer(0.5, NARROW).interval(0.95) == (-5.5, 6.5)


def test_an_answer_is_plain_json():
    content = json.loads(json.dumps(Answer(1234, NARROW, "n").to_dict(0.95)))
    assert content["value"] == 1234
    assert content["interval"] == [1228, 1240]
    assert content["confidence"] == 0.95
    assert content["note"] == "n"
    assert content["stderr"] == NARROW.variance**0.5


def test_a_bad_confidence_is_refused_at_once():
    with pytest.raises(QueryError, match="confidence"):
        Answer(1, NARROW).interval(1.5)
    with pytest.raises(QueryError, match="confidence"):
        table(confidence=2)


def test_rows_carry_labels_values_and_the_bar_of_their_own_law():
    rows = table().rows()
    assert rows == list(table())
    assert rows[1] == {
        "age": 10,
        "sex": "M",
        "value": -3,
        "stderr": NARROW.variance**0.5,
        "interval": [-9, 3],
        "estimate": False,
    }
    assert rows[5]["age"] is None
    half = WIDE.half_width(0.95)
    assert rows[5]["interval"] == [12 - half, 12 + half]


def test_a_table_is_plain_json():
    content = json.loads(json.dumps(table(note="n").to_dict()))
    assert content["columns"] == ["age", "sex", "count"]
    assert len(content["rows"]) == 6
    assert (content["confidence"], content["simultaneous"], content["note"]) == (0.95, False, "n")


def test_a_table_without_groups_still_has_its_row():
    single = counts({}, np.array([4]), (NARROW,), np.array([0]))
    assert [row["value"] for row in single] == [4]


def test_an_attribute_called_value_does_not_hide_the_value():
    odd = table(groups={"value": list("abcdef"), "stderr": list("uvwxyz")}, count_name="value")
    assert odd.rows()[0]["value"] == 5
    assert odd.rows()[0]["value_"] == "a"
    assert odd.to_arrow().column_names == ["value_", "stderr_", "value", "stderr", "lower", "upper"]


def test_simultaneous_bars_are_wider_and_cover_all_rows():
    together = table(simultaneous=True)
    assert together.half_widths[0] == NARROW.half_width(1 - 0.05 / 6)
    assert together.half_widths[0] > table().half_widths[0]


def test_rows_that_were_chosen_by_their_counts_have_bars_for_all_of_them():
    """The largest of many noisy counts is large because of its noise."""
    top = table().ordered([Order("count", descending=True)], limit=1)
    assert top.simultaneous and top.covered == 6
    assert top.half_widths[0] == table(simultaneous=True).half_widths[5] > table().half_widths[5]
    assert top.to_dict()["simultaneous"] and "all at once" in repr(top)
    for shown in (
        table().ordered([Order("count", descending=True)], limit=6),  # all of them
        table().ordered([Order(0, descending=True)], limit=1),  # by a label, which has no noise
    ):
        assert not shown.simultaneous
    assert table().ordered([Order(0), Order("count")], offset=1).simultaneous


def test_all_measures_of_all_rows_hold_at_once():
    """Also those of rows that were left out, by whatever measure they were chosen."""
    plain = table()
    two = ResultTable(plain.groups, {"a": plain.only, "b": plain.only, "c": plain.only})
    for chosen in (
        two.chosen(two.values > 4),
        two.ordered([Order("b", True)], limit=2),
        two.ordered([Order("b", True)], offset=1),
        two.chosen(two.values > 4).ordered([Order(0)], limit=1),
    ):
        assert chosen.simultaneous and chosen.to_dict()["simultaneous"]
        assert 1 - chosen.row_confidence == pytest.approx(0.05 / 18)
        assert "all at once" in repr(chosen)
        assert chosen.to_arrow().schema.metadata[b"simultaneous"] == b"true"
        assert chosen.to_pandas().attrs == {"confidence": 0.95, "simultaneous": True}
        assert 1 - chosen.select(["age"], ["a"]).row_confidence == pytest.approx(0.05 / 6)


def test_a_limit_does_not_narrow_simultaneous_bars():
    together = table(simultaneous=True)
    assert together.ordered([Order("count", True)], limit=1).half_widths[0] == max(
        together.half_widths
    )


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([], [0, 1, 2, 3, 4, 5]),
        ([Order("count")], [1, 4, 0, 3, 2, 5]),
        ([Order("count", True)], [5, 2, 0, 3, 4, 1]),
        ([Order(0, True)], [2, 3, 0, 1, 4, 5]),
        ([Order(0, True, True)], [4, 5, 2, 3, 0, 1]),
        ([Order(0, False, True)], [4, 5, 0, 1, 2, 3]),
        ([Order(1, True), Order("count")], [1, 3, 5, 4, 0, 2]),
        ([("count", True, False), (1, True, False)], [5, 2, 3, 0, 4, 1]),
    ],
)
def test_rows_are_ordered_stably_with_nulls_where_asked(order, expected):
    rows = table().rows()
    assert table().ordered(order).rows() == [rows[i] for i in expected]


def test_limit_and_offset_cut_after_ordering():
    values = [row["value"] for row in table().ordered([Order("count", True)], 2, 1)]
    assert values == [7, 5]
    assert len(table().ordered([], 0)) == 0
    assert len(table().ordered([], None, 4)) == 2
    assert len(table().ordered([], 10, 10)) == 0


def test_group_columns_sort_in_the_schemas_order_and_not_by_their_text():
    bins = ["[0, 5)", "[5, 10)", "[10, 20)", "[100, 200]"]
    result = counts({"x": bins}, np.arange(4), (NARROW,), np.zeros(4, dtype=np.intp))
    assert list(result.ordered([Order(0)]).groups["x"]) == bins
    assert list(result.ordered([Order(0, True)]).groups["x"]) == bins[::-1]


def test_select_keeps_the_columns_asked_for_in_that_order():
    assert list(table().select(["sex", "age"]).groups) == ["sex", "age"]
    assert list(table().select([]).groups) == []


def test_arrow_has_integers_texts_and_nulls():
    arrow = table(count_name="n").to_arrow()
    types = {name: str(arrow.schema.field(name).type) for name in arrow.column_names}
    assert types == {
        "age": "int64",
        "sex": "string",
        "n": "int64",
        "stderr": "double",
        "lower": "int64",
        "upper": "int64",
    }
    assert arrow.column("age").to_pylist() == [10, 10, 20, 20, None, None]
    assert arrow.column("lower").to_pylist()[:2] == [-1, -9]


def test_fractional_values_stay_floats():
    arrow = table(values=np.arange(6) + 0.5).to_arrow()
    assert str(arrow.schema.field("count").type) == "double"
    assert str(arrow.schema.field("lower").type) == "double"


def test_pandas_polars_and_duckdb_read_the_same_table():
    duckdb, pandas, polars = map(pytest.importorskip, ("duckdb", "pandas", "polars"))
    result = table()
    expected = result.to_arrow().to_pydict()
    assert result.to_polars().to_dict(as_series=False) == expected
    assert polars.DataFrame(result).to_dict(as_series=False) == expected
    assert isinstance(result.to_pandas(), pandas.DataFrame)
    assert result.to_pandas()["count"].tolist() == expected["count"]
    sums = duckdb.sql("SELECT sum(count), min(lower) FROM result").fetchall()
    assert sums == [(26, min(expected["lower"]))]


def test_labels_may_be_numpy_arrays():
    result = table(groups={"age": np.arange(6)})
    assert [row["age"] for row in result.ordered([Order(0, True)])] == [5, 4, 3, 2, 1, 0]
    assert type(result.rows()[0]["age"]) is int


def test_a_table_prints_aligned_and_short():
    assert repr(table()).splitlines()[:3] == [
        "age   sex  count  ± (95 %)",
        "10    F        5         6",
        "10    M       -3         6",
    ]
    long = counts({"x": range(50)}, np.arange(50), (NARROW,), np.zeros(50, dtype=np.intp))
    assert repr(long).splitlines()[-1] == "… 30 more rows"
    assert len(repr(long).splitlines()) == 22


def test_columns_of_different_lengths_are_a_mistake():
    with pytest.raises(ValueError, match="one length"):
        table(values=np.arange(5))


def test_an_end_is_not_missed_because_the_value_was_rounded():
    """A truth of 131071 and noise of 4/3: the end lies at the truth, but for rounding."""
    noise = NoiseSum.weighted({(1 / 3, DiscreteLaplace(Fraction(1))): 3})
    half = noise.half_width(0.92)
    truths = np.arange(2**17 - 40, 2**17 + 40)
    for sign in (-1, 1):
        values = truths + sign * round(3 * half) / 3
        rows = np.zeros(len(values), np.intp)
        low, high = counts({}, values, (noise,), rows, confidence=0.92).bounds
        assert ((low <= truths) & (truths <= high)).all()
        for value, truth in zip(values.tolist(), truths.tolist(), strict=True):
            low, high = Answer(value, noise).interval(0.92)
            assert low <= truth <= high
    assert (np.abs(values - half * sign - truths) > 0).any()  # so there is something to see


def test_the_difference_of_large_numbers_is_as_rounded_as_they_are():
    """A truth of 0 in a table of many rows, without noise: the value is off by their rounding."""
    rows = 10**11 + 3
    value = rows / 7 * 7 - (rows / 3 + rows / 3 + rows / 3)
    for off in (value, 1e-5, -5.82e-12):
        low, high = Answer(off, Guess(0.0)).interval(0.5)
        assert low <= 0 <= high


def test_an_end_above_zero_does_not_move_below():
    low, _ = Answer(1 / 3, Guess(1e-30)).interval()
    assert 0 <= low < 1 / 3
    assert Answer(1 / 3, Guess(1 / 81)).interval()[0] == 0


class TestEstimates:
    """An interval that is no promise says so wherever it is shown."""

    def mixed(self) -> ResultTable:
        return table(laws=(NARROW, GUESS))

    def test_an_answer_says_it(self) -> None:
        promised, estimated = Answer(5, NARROW), Answer(5, GUESS)
        assert (promised.estimate, estimated.estimate) == (False, True)
        assert promised.to_dict()["estimate"] is False and estimated.to_dict()["estimate"] is True
        assert "estimate" in str(estimated) and "estimate" not in str(promised)

    def test_every_row_of_a_table_says_it(self) -> None:
        mixed = self.mixed()
        which = [bool(law) for law in mixed.law_of_row]
        assert mixed.estimates.tolist() == which == [row["estimate"] for row in mixed.rows()]
        assert mixed.to_dict()["estimate"] is True and "estimate" in repr(mixed)
        assert mixed.to_pandas()["estimate"].tolist() == which
        assert mixed.to_polars()["estimate"].to_list() == which

    def test_promises_carry_no_such_column(self) -> None:
        promised = table()
        assert not promised.estimate and "estimate" not in repr(promised)
        assert "estimate" not in promised.to_arrow().column_names

    def test_an_attribute_of_that_name_keeps_its_own_column(self) -> None:
        groups = {"estimate": ["a", "b"]}
        odd = counts(groups, np.array([1, 2]), (GUESS,), np.zeros(2, np.intp))
        columns = ["estimate_", "count", "stderr", "lower", "upper", "estimate"]
        assert odd.to_arrow().column_names == columns
        assert odd.rows()[0]["estimate_"] == "a" and odd.rows()[0]["estimate"] is True
