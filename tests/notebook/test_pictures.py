"""Pictures and charts of tables and plans: their error bars end where the table says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import hushtable
from hushtable.errors import OptionError
from hushtable.generators import census_schema
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.planner.chart import plan_spec
from hushtable.query.aggregate import Arithmetic, Count, Mean, Overall, Quantile, Spread, Sum
from hushtable.query.answer import Answer
from hushtable.query.chart import table_spec
from hushtable.query.drawing import MOST_BARS, drawing_of
from hushtable.query.extent import extent_of
from hushtable.query.law import NoiseSum
from hushtable.query.result import Measure, ResultTable

NARROW = NoiseSum.of(DiscreteLaplace(Fraction(2)), 1)
WIDE = NoiseSum.of(DiscreteLaplace(Fraction(40)), 1)


@dataclass(frozen=True)
class Endless:
    """The law of a statistic about which nothing is known above."""

    variance: float = 1.0
    estimate: bool = True

    def half_width(self, confidence: float) -> float:
        return float("inf")

    def ends(self, confidence: float) -> tuple[float, float]:
        return 1.5, float("inf")


@dataclass(frozen=True)
class Between:
    """The law of a statistic whose interval is this one."""

    low: float
    high: float
    variance: float = 1.0
    estimate: bool = False

    def half_width(self, confidence: float) -> float:
        return (self.high - self.low) / 2

    def ends(self, confidence: float) -> tuple[float, float]:
        return self.low, self.high


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def table_of(values: list[float], laws: list[Any], **groups: list[Any]) -> ResultTable:
    answers = [Answer(value, law) for value, law in zip(values, laws, strict=True)]
    return ResultTable(groups, {"count": Measure.of(answers)})


def ages(count: int = 60) -> ResultTable:
    values = [100 + 10 * age for age in range(count)]
    return table_of(values, [NARROW] * count, age=list(range(count)))


JOBS = table_of([500, 30, -4], [NARROW, WIDE, WIDE], job=["clerk", "<b>$x$", None])


def bars(axes: Axes) -> list[tuple[float, float]]:
    """The ends of the error bars of horizontal bars."""
    (lines,) = axes.collections
    return [(float(a[0]), float(b[0])) for a, b in lines.get_segments()]  # type: ignore[attr-defined]


def ends(table: ResultTable) -> list[tuple[float, float]]:
    return [(float(low), float(high)) for low, high in zip(*table.bounds, strict=True)]


def in_spec(spec: dict[str, Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in spec["data"]["values"]]


def test_bars_end_where_the_table_says() -> None:
    axes = JOBS.plot()
    assert bars(axes) == ends(JOBS) == in_spec(table_spec(JOBS), "lower", "upper")
    assert [bar.get_width() for bar in axes.patches] == [500, 30, -4]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["clerk", r"<b>\$x\$", "NULL"]
    assert axes.get_title("left") == "count by job (95 %)"
    axes.figure.canvas.draw()  # dollars are no mathematics


def test_simultaneous_bars_are_as_wide_as_the_table_says() -> None:
    together = replace(JOBS, simultaneous=True)
    assert bars(together.plot()) == ends(together) != ends(JOBS)
    assert "all at once" in table_spec(together)["title"]["text"]


def test_numbers_become_a_line_with_a_band() -> None:
    table = ages()
    axes = table.plot()
    (line, _zero) = axes.lines
    assert line.get_xydata().tolist() == [[age, 100 + 10 * age] for age in range(60)]
    corners = axes.collections[0].get_paths()[0].vertices
    assert {tuple(corner) for corner in corners.tolist()} >= {
        (age, end) for age, both in enumerate(ends(table)) for end in both
    }
    spec = table_spec(table)
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["errorband", "line"]
    assert in_spec(spec, "group", "lower", "upper") == [
        (age, low, high) for age, (low, high) in enumerate(ends(table))
    ]
    assert spec["layer"][0]["encoding"]["y2"] == {"field": "lower"}


def test_what_is_noise_of_a_line_is_pale() -> None:
    table = table_of([50, 60, 1, 70, 80], [NARROW, NARROW, WIDE, NARROW, NARROW], age=[*range(5)])
    pale, sure, _, _, _ = table.plot().lines
    assert pale.get_alpha() and sure.get_alpha() is None
    drawn = [(float(x), float(y)) for x, y in sure.get_xydata() if np.isfinite(y)]
    assert drawn == [(0, 50), (1, 60), (3, 70), (4, 80)]
    _, pale, sure, _ = table_spec(table)["layer"]
    assert pale["mark"]["opacity"] == pale["mark"]["point"]["opacity"] < 1
    assert sure["encoding"]["y"]["field"] == "sure" and "noise" in str(sure["transform"])


def test_bars_that_are_noise_are_pale() -> None:
    alphas = [bar.get_alpha() for bar in JOBS.plot().patches]
    assert alphas[0] is None and None not in alphas[1:]
    assert [noise for (noise,) in in_spec(table_spec(JOBS), "noise")] == [False, True, True]


@pytest.mark.parametrize(
    ("extent", "value", "low", "high", "noise"),
    [
        (None, 10, 1, 19, False),
        (None, 10, -1, 21, True),
        (None, 10, 1, 23, True),  # the bar is larger than the value
        (None, -5, -9, -1, False),
        (None, 5, 1, float("inf"), True),
        ((0, 99), 74, 17, 131, True),
        ((0, 99), 74, 30, 79, False),
        ((0, 99), 74, 30, 80, True),
        ((-20, 40), 0, -5, 5, False),  # zero is a value like others
        ((0, 99), 74, 73, float("inf"), True),
        ((0, 99), 74, float("-inf"), 75, True),
        ((0, 99), float("nan"), 73, 75, True),
        ((0, 99), 120, 110, 130, True),  # no mean is there
    ],
)
def test_noise_is_judged_by_what_is_asked(
    extent: tuple[float, float] | None, value: float, low: float, high: float, noise: bool
) -> None:
    table = table_of([value], [Between(low, high)], job=["clerk"])
    table = replace(table, measures={"x": replace(table.only, extent=extent)})
    assert drawing_of(table).panels[0].is_noise.tolist() == [noise]


def test_means_quantiles_and_spreads_have_the_range_that_is_declared() -> None:
    schema = hushtable.Schema.from_dict(
        {
            "name": "t",
            "budget": "1",
            "attribute": [
                {"name": "age", "kind": "ordinal", "range": [10, 90]},
                {"name": "pay", "kind": "ordinal", "edges": [0, 10, 50]},
                {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
            ],
        }
    )
    for asked, extent in (
        (Mean(0), (10.0, 90.0)),
        (Quantile(1, 0.5), (0.0, 50.0)),
        (Spread(0, root=True), (0.0, 40.0)),
        (Spread(0), (0.0, 1600.0)),
        (Overall(Mean(0)), (10.0, 90.0)),
        (Count(), None),
        (Sum(0), None),
        (Arithmetic("-", Mean(0), Mean(1)), None),
    ):
        assert extent_of(asked, schema) == extent


def test_few_points_have_bars_too() -> None:
    table = ages(5)
    axes = table.plot()
    segments = axes.collections[1].get_segments()
    assert [(low[1], high[1]) for low, high in segments] == ends(table)
    assert table_spec(table)["layer"][-1]["mark"]["type"] == "errorbar"


def test_a_line_goes_in_order_whatever_the_rows_do() -> None:
    table = table_of([3, 1, 2, 9], [NARROW] * 4, month=["2024-03", "2024-01", "2024-02", None])
    drawing = drawing_of(table)
    assert drawing.form == "line" and drawing.panels[0].values.tolist() == [1, 2, 3]
    assert drawing.note.startswith("without NULL: count 9 ± ")
    spec = table_spec(table)
    days = ["2024-01-01", "2024-02-01", "2024-03-01"]
    assert [day for (day,) in in_spec(spec, "group")] == days
    assert spec["layer"][0]["encoding"]["x"]["scale"] == {"type": "utc"}
    assert spec["title"]["subtitle"] == drawing.note
    assert drawing.note in table.plot().get_xlabel()


@pytest.mark.parametrize(
    ("labels", "form"),
    [
        ([1, 2, 3], "line"),
        pytest.param([1.5, 2.5, 3.5], "line", marks=pytest.mark.thorough),
        (["[0, 5)", "[5, 10)", "[10, 1000]"], "line"),
        pytest.param(["2019", "2020", "2021"], "line", marks=pytest.mark.thorough),
        (["1010", "1020", "8000"], "bars"),  # codes
        (["2024-02-01", "2024-02-29", "2024-02-30"], "bars"),  # one is no day
        (["low", "middle", "high"], "bars"),
        pytest.param([1, 2], "bars", marks=pytest.mark.thorough),
        ([1, 2, 2], "bars"),  # subtotals
        pytest.param([None, None, None], "bars", marks=pytest.mark.thorough),
    ],
)
def test_labels_decide_the_form(labels: list[Any], form: str) -> None:
    table = table_of([1.0] * len(labels), [NARROW] * len(labels), x=labels)
    assert drawing_of(table).form == form
    table.plot()
    table.chart()


def test_labels_that_look_alike_stay_apart() -> None:
    table = table_of([1, 2, 3], [NARROW] * 3, x=["a\n", r"a\n", "b"])
    assert [label for (label,) in in_spec(table_spec(table), "group")] == [r"a\n", r"a\n (2)", "b"]


def grid() -> ResultTable:
    places = [(sex, age) for sex in "FM" for age in (*range(4), None)]
    values = [40, 50, 60, 70, 30, 45, 0, 55, 65, 35]
    laws = [NARROW, WIDE, *[NARROW] * 8]
    groups = {"sex": [sex for sex, _ in places], "age": [age for _, age in places]}
    return table_of(values, laws, **groups)


def test_two_columns_become_a_heat_map_in_which_noise_is_pale() -> None:
    table = grid()
    low, high = table.bounds
    noise = ((low <= 0) & (high >= 0)).tolist()
    assert noise.count(True) == 2
    axes = table.plot()
    (image,) = axes.images
    assert image.get_array().ravel().tolist() == table.values.tolist()
    assert (image.get_alpha().ravel() < 1).tolist() == noise
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1", "2", "3", "NULL"]
    spec = table_spec(table)
    assert [pale for (pale,) in in_spec(spec, "noise")] == noise
    assert in_spec(spec, "lower", "upper") == ends(table)
    assert spec["encoding"]["x"]["sort"] == ["0", "1", "2", "3", "NULL"]
    axes.figure.canvas.draw()


def test_a_few_large_cells_do_not_make_all_others_dark() -> None:
    table = grid()
    assert not drawing_of(table).panels[0].uneven
    values = table.values.copy()
    values[0], values[5] = 5000, -20  # noise can do that
    uneven = replace(table, measures={"count": replace(table.only, values=values)})
    assert drawing_of(uneven).panels[0].uneven
    assert table_spec(uneven)["encoding"]["color"]["scale"]["type"] == "sqrt"
    assert uneven.plot().images[0].norm.vmin == 0


def test_three_columns_become_bars_named_by_all_labels() -> None:
    table = table_of([1, 2], [NARROW] * 2, a=["x", "y"], b=[1, 2], c=[None, "z"])
    assert drawing_of(table).scales[0].labels == ["x · 1 · NULL", "y · 2 · z"]


def test_many_bars_are_cut_and_counted() -> None:
    names = [f"town {i}" for i in range(MOST_BARS + 7)]
    table = table_of([1.0] * len(names), [NARROW] * len(names), town=names)
    assert len(table.plot().patches) == MOST_BARS
    assert table_spec(table)["title"]["subtitle"] == "7 more rows"


def test_several_aggregates_stand_side_by_side() -> None:
    both = replace(JOBS, measures={"people": JOBS.only, "mean": JOBS.only})
    first, second = both.plot()
    assert [axes.get_title("left") for axes in (first, second)] == [
        "people by job (95 %)",
        "mean by job (95 %)",
    ]
    panels = table_spec(both)["hconcat"]
    assert [panel["title"]["text"] for panel in panels] == [
        "people by job (95 %)",
        "mean by job (95 %)",
    ]


def test_one_may_give_the_axes() -> None:
    _, axes = pyplot.subplots(1, 2)
    assert JOBS.plot(axes[0]) is axes[0] and not axes[1].patches
    both = replace(JOBS, measures={"people": JOBS.only, "mean": JOBS.only})
    assert list(both.plot(axes)) == list(axes)
    with pytest.raises(OptionError, match="2 aggregates"):
        both.plot(axes[0])


def test_an_interval_without_an_end_goes_to_the_edge() -> None:
    table = table_of([2.0, 30.0], [Endless(), NARROW], job=["a", "b"])
    highest = ends(table)[1][1]
    assert bars(table.plot()) == [(1.5, highest), ends(table)[1]]
    spec = table_spec(table)
    json.dumps(spec, allow_nan=False)
    assert in_spec(spec, "interval")[0] == ("1.50 to ∞",)


def test_what_is_no_number_is_left_out() -> None:
    table = table_of([float("nan"), 30.0], [NARROW, NARROW], job=["a", "b"])
    assert in_spec(table_spec(table), "value", "lower") == [(None, None), (30.0, ends(table)[1][0])]
    table.plot().figure.canvas.draw()


def test_an_estimate_is_in_every_title() -> None:
    table = table_of([2.0, 30.0], [Endless(), NARROW], job=["a", "b"])
    assert table.plot().get_title("left") == "count by job (95 %, estimate)"
    assert table_spec(table)["title"]["text"] == "count by job (95 %, estimate)"


def test_a_single_number_is_drawn_too() -> None:
    table = table_of([30], [NARROW])
    assert bars(table.plot()) == ends(table)
    assert table.plot().get_title("left") == "count (95 %)"


@pytest.mark.parametrize(
    "table",
    [JOBS, ages(), pytest.param(ages(5), marks=pytest.mark.thorough), grid()],
    ids=["bars", "band", "few", "grid"],
)
def test_altair_takes_the_specification_and_draws_it(table: ResultTable) -> None:
    spec = table_spec(table)
    assert spec == table_spec(table)
    told = table.chart().to_dict()
    assert told == table.chart().to_dict()
    (rows,) = told["datasets"].values() if "datasets" in told else [told["data"]["values"]]
    assert rows == spec["data"]["values"]
    import vl_convert

    assert "<svg" in vl_convert.vegalite_to_svg(told)


def test_several_aggregates_are_a_chart_too() -> None:
    both = replace(JOBS, measures={"people": JOBS.only, "mean": JOBS.only})
    assert len(both.chart().to_dict()["hconcat"]) == 2


def test_without_altair_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(OptionError, match=r"pip install 'hushtable\[notebook\]'$"):
        JOBS.chart()


def test_a_plan_draws_the_errors_that_it_tells() -> None:
    plan = hushtable.plan(census_schema(), epsilon="1", people=10_000)
    listed = sorted([*plan.forecasts, *plan.summaries], key=lambda one: one.error)
    spread = [[one.error, *one.by_attributes.values()] for one in listed]
    axes = plan.plot()
    assert bars(axes) == [(min(errors), max(errors)) for errors in spread]
    spec = plan_spec(plan)
    assert in_spec(spec, "value", "lower", "upper") == [
        (errors[0], min(errors), max(errors)) for errors in spread
    ]
    recommended = [row["group"] for row in spec["data"]["values"] if row["recommended"]]
    assert plan.recommended is not None
    assert recommended == [f"{plan.recommended.mechanism} (recommended)"]
    assert recommended[0] in [tick.get_text() for tick in axes.get_yticklabels()]
    assert plan.chart().to_dict()["title"]["text"] == "Plan for census: everyday at ε = 1"
    assert np.all(np.diff([errors[0] for errors in spread]) >= 0)
