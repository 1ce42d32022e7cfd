"""GROUP BY takes expressions, grouping sets, and columns of derived tables."""

import pytest
from query_schemas import CENSUS, HUGE, NEWER_PARSER

from hushtable.errors import QueryError
from hushtable.query.aggregate import Mean
from hushtable.query.box import cells
from hushtable.query.grouping import Cases, Group, check_row_cap, row_boxes
from hushtable.query.sql import parse_query, parse_where
from hushtable.schema import Schema

DATED = Schema.from_dict(
    {
        "name": "visits",
        "budget": "1",
        "attribute": [
            {"name": "day", "kind": "ordinal", "dates": ["2020-12-27", "2021-01-04"], "by": "day"},
            {
                "name": "year",
                "kind": "ordinal",
                "dates": ["2019-01-01", "2021-01-04"],
                "by": "year",
            },
        ],
    }
)


def cases(term: str, schema=CENSUS) -> dict:
    query = parse_query(f"SELECT {term}, COUNT(*) FROM {schema.name} GROUP BY 1", schema)
    (group,) = query.groups
    assert isinstance(group, Cases)
    assert sum(cells(case.boxes) for case in group.cases) == schema.cells
    return {case.label: case.boxes for case in group.cases}


def test_a_case_holds_where_its_condition_is_the_first_that_is_true():
    found = cases("CASE WHEN age < 1 THEN 'b' WHEN age < 3 OR grade = 'low' THEN 'a' END")
    assert list(found) == ["a", "b", None]
    assert found["b"] == parse_where("age < 1", CENSUS)
    rest = "(age >= 1 OR age IS NULL)"
    assert found["a"] == parse_where(f"(age < 3 OR grade = 'low') AND {rest}", CENSUS)
    assert found[None] == parse_where(
        f"{rest} AND (age >= 3 OR age IS NULL) AND grade <> 'low'", CENSUS
    )


def test_steps_of_numbers_have_whole_numbers_as_labels_if_all_are():
    assert list(cases("FLOOR(age / 2)")) == [-1, 0, 1, 2, None]
    assert list(cases("age // 2")) == [0, 1, 2, None]
    assert list(cases("age / 2")) == [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, None]
    assert list(cases("age > 1")) == [False, True, None]
    assert list(cases("age IS NULL")) == [False, True]
    assert list(cases("FLOOR(income / 20.5)")) == [0, 1, None]


@pytest.mark.parametrize(
    ("function", "labels"),
    [
        ("FLOOR({} / 2)", [-1, 0, 1, 2]),
        ("CEIL({} / 2)", [0, 1, 2]),
        ("ROUND({} / 2)", [-1, 0, 1, 2]),
        ("CAST({} / 2 AS INTEGER)", [0, 1, 2]),
        ("-({} // 2)", [-2, -1, 0]),
    ],
)
def test_rounding_goes_the_way_of_its_function(function, labels):
    assert list(cases(function.format("age"))) == [*labels, None]


def test_a_function_of_bins_must_be_the_same_on_each():
    assert list(cases("FLOOR(income / 20.5) * 2")) == [0, 2, None]
    for other in ("CEIL(income / 20.5)", "FLOOR(income / 40)", "FLOOR(-income / 20.5)"):
        with pytest.raises(QueryError, match="would fall into several groups"):
            cases(other)
    assert list(cases("CEIL(-income / 41)")) == [0, None]


def test_dates_are_taken_apart():
    assert list(cases("DATE_TRUNC('week', day)", DATED)) == [
        "2020-12-21",
        "2020-12-28",
        "2021-01-04",
    ]
    assert list(cases("EXTRACT(YEAR FROM day) * 100", DATED)) == [202000, 202100]
    assert list(cases("YEAR(year)", DATED)) == [2019, 2020, 2021]
    for finer in ("MONTH(year)", "DATE_TRUNC('quarter', year)", "EXTRACT(DOW FROM year)"):
        with pytest.raises(QueryError, match=r"year is by year: a (month|day) cannot be told"):
            cases(finer, DATED)
    with pytest.raises(QueryError, match=r"EXTRACT takes year, .*, not 'hour'"):
        cases("EXTRACT(HOUR FROM day)", DATED)


def test_parts_of_labels_are_grouped_by():
    assert list(cases("LEFT(grade, 1)")) == ["h", "l", "m"]
    assert list(cases("SUBSTRING(grade, 2)")) == ["id", "igh", "ow"]
    assert list(cases("RIGHT(grade, 0)")) == [""]


def test_a_trillion_values_fall_into_a_few_ranges_at_once():
    found = cases("FLOOR(id / 1e11)", HUGE)
    assert list(found) == [*range(11), None]
    assert cells(found[0]) * 10**11 == (10**11 - 1) * cells(found[1])
    with pytest.raises(QueryError, match="more than 100,000 values"):
        cases("FLOOR(id / 3)", HUGE)


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("ROLLUP (age, grade)", ((0, 1), (0,), ())),
        ("CUBE (age, grade)", ((0, 1), (0,), (1,), ())),
        ("GROUPING SETS ((age, grade), grade, ())", ((0, 1), (1,), ())),
        ("age, ROLLUP (grade)", ((0, 1), (0,))),
        ("age, ROLLUP (age, grade)", ((0, 1), (0,), (0,))),
        ("ROLLUP ((age, grade))", ((0, 1), ())),
        ("ROLLUP (1), CUBE (2)", ((0, 1), (0,), (1,), ())),
        pytest.param("GROUPING SETS (ROLLUP (age), grade)", ((0,), (), (1,)), marks=NEWER_PARSER),
    ],
)
def test_grouping_sets_are_written_out(clause, sets):
    query = parse_query(f"SELECT age, grade, COUNT(*) FROM census GROUP BY {clause}", CENSUS)
    assert query.grouping_sets == sets
    assert [group.column for group in query.groups] == ["age", "grade"]


def test_each_grouping_set_has_rows_of_its_own():
    query = parse_query("SELECT grade, COUNT(*) FROM census GROUP BY ROLLUP (grade)", CENSUS)
    rows = [
        ([case.label for case in held], cells(boxes)) for _, held, boxes in row_boxes(query, CENSUS)
    ]
    third = CENSUS.cells // 3
    assert rows == [(["low"], third), (["mid"], third), (["high"], third), ([], 3 * third)]
    check_row_cap(query, CENSUS, 4)
    with pytest.raises(QueryError, match="would give 4 rows"):
        check_row_cap(query, CENSUS, 3)


def test_sets_that_would_be_too_many_are_refused():
    for clause in (f"CUBE ({'1, ' * 12} 1)", ", ".join(["CUBE (1, 2)"] * 6)):
        with pytest.raises(QueryError, match=r"at most 12 columns|more than 1000 grouping sets"):
            parse_query(f"SELECT age, grade, COUNT(*) FROM census GROUP BY {clause}", CENSUS)


def test_a_derived_table_has_the_rows_and_columns_that_it_says():
    inner = "SELECT *, age // 2 AS half, grade AS g FROM census WHERE age > 0"
    plain = parse_query(
        "SELECT age // 2 AS half, AVG(age) FROM census WHERE age > 0 AND (grade = 'low')"
        " GROUP BY age // 2 ORDER BY 1",
        CENSUS,
    )
    for text in (
        f"SELECT half, AVG(age) FROM ({inner}) AS t WHERE g = 'low' GROUP BY half ORDER BY half",
        f"SELECT t.half, AVG(t.age) FROM ({inner}) t WHERE t.g = 'low' GROUP BY 1 ORDER BY t.half",
        f"WITH t AS ({inner})"
        " SELECT half, AVG(AGE) FROM T WHERE G = 'low' GROUP BY HALF ORDER BY 1",
        f"WITH census AS ({inner}), u AS (SELECT half, age, g FROM census WHERE g = 'low')"
        " SELECT half, AVG(age) FROM u GROUP BY half ORDER BY half",
    ):
        query = parse_query(text, CENSUS)
        assert query.boxes == plain.boxes, text
        assert (query.groups, query.order) == (plain.groups, plain.order), text
        assert [named.aggregate for named in query.aggregates] == [Mean(0)], text


def test_what_a_derived_table_renames_goes_by_its_new_name():
    query = parse_query(
        "SELECT grade, AVG(years) FROM (SELECT age AS years, grade FROM census) GROUP BY grade",
        CENSUS,
    )
    assert query.groups == (Group(2, None, "grade"),)
    assert query.columns == (0, "avg(years)")
    with pytest.raises(QueryError, match="no column 'age' in the derived table; it has years"):
        parse_query("SELECT AVG(age) FROM (SELECT age AS years FROM census) AS t", CENSUS)


def test_derived_tables_that_multiply_are_refused_before_they_are_written_out():
    tables = ["t0 AS (SELECT age AS x FROM census)"]
    tables += [f"t{k} AS (SELECT {'x + ' * 9}x AS x FROM t{k - 1})" for k in range(1, 19)]
    with pytest.raises(QueryError, match="too long when its derived tables are written out"):
        parse_query(f"WITH {', '.join(tables)} SELECT SUM(x) FROM t18", CENSUS)
    deep = "census"
    for k in range(25):
        deep = f"(SELECT * FROM {deep}) AS t{k}"
    with pytest.raises(QueryError, match="nested deeper than 20 levels"):
        parse_query(f"SELECT COUNT(*) FROM {deep}", CENSUS)


@pytest.mark.parametrize(
    ("pattern", "codes"),
    [
        ("LIKE 'm%'", [1]),
        ("LIKE '%i%'", [1, 2]),
        ("LIKE '___'", [0, 1]),
        ("NOT LIKE '___'", [2]),
        ("ILIKE 'LO_'", [0]),
        ("LIKE 'LO_'", []),
        ("LIKE '%'", [0, 1, 2]),
        ("LIKE '%h'", [2]),
        ("LIKE 'h%h'", [2]),
        ("LIKE 'l!_w' ESCAPE '!'", []),
        ("LIKE '" + "%i" * 2000 + "'", []),
    ],
)
def test_like_matches_labels(pattern, codes):
    boxes = parse_where(f"grade {pattern}", CENSUS)
    assert [code for box in boxes for code in range(3) if code in box.sets[2]] == codes
