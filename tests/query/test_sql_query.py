"""SELECT statements become questions: groups, columns, order and limits."""

import subprocess
import sys

import pytest
from query_schemas import CENSUS, HUGE

from hushtable.errors import QueryError
from hushtable.query.box import Box, CodeSet
from hushtable.query.grouping import (
    Group,
    GroupNode,
    Query,
    cases_of,
    check_row_cap,
    group_count,
    group_nodes,
    row_boxes,
)
from hushtable.query.result import Order
from hushtable.query.sql import parse_query


def ask(rest: str, schema=CENSUS):
    return parse_query(f"SELECT {rest}", schema)


def attribute(name):
    return CENSUS.attribute(name)


def test_a_bare_count_asks_for_everything():
    query = ask("COUNT(*) FROM census;")
    assert query.boxes == (Box.full(CENSUS.shape),)
    assert (query.groups, query.count_name, query.columns) == ((), "count", ("count",))
    assert (query.order, query.limit, query.offset) == ((), None, 0)


def test_groups_are_attributes_levels_positions_or_aliases():
    expected = (Group(0, None, "age"), Group(3, 1, "m"))
    for clause in ("age, m", "1, 2", 'AGE, LEVEL("marital-status", 1)', "(age), 2"):
        query = ask(
            f'age, LEVEL("marital-status", 1) AS m, COUNT(*) n FROM census GROUP BY {clause}'
        )
        assert query.groups == expected
        assert query.count_name == "n"
        assert query.columns == (0, 1, "n")
        assert query.selected == ("age", "m")


def test_the_select_list_sets_the_columns_and_may_leave_groups_out():
    query = ask("COUNT(*), grade FROM census GROUP BY age, grade")
    assert query.columns == ("count", 1)
    assert query.selected == ("grade",)
    assert [group.axis for group in query.groups] == [0, 2]


def test_a_level_takes_the_name_of_its_attribute():
    assert ask("level(age, 0), COUNT(*) FROM census GROUP BY 1").groups == (Group(0, 0, "age"),)


@pytest.mark.parametrize(
    ("clause", "order"),
    [
        ("age", [Order(0)]),
        ("1 DESC", [Order(0, True)]),
        ("COUNT(*) DESC, age", [Order("n", True), Order(0)]),
        ("n", [Order("n")]),
        ("years DESC NULLS FIRST", [Order(0, True, True)]),
        ("age NULLS LAST, grade ASC NULLS FIRST", [Order(0), Order(1, False, True)]),
    ],
)
def test_order_by_takes_group_columns_the_count_aliases_and_positions(clause, order):
    query = ask(f"age AS years, COUNT(*) AS n FROM census GROUP BY years, grade ORDER BY {clause}")
    assert list(query.order) == order


def test_limit_and_offset_are_read():
    query = ask("COUNT(*) FROM census LIMIT 10 OFFSET 5")
    assert (query.limit, query.offset) == (10, 5)


def test_the_table_may_have_an_alias():
    query = ask("c.age, COUNT(*) FROM Census AS c WHERE c.age > 1 GROUP BY c.age")
    assert query.groups == (Group(0, None, "age"),)


def test_values_are_grouped_one_by_one_with_nulls_last():
    nodes = group_nodes(attribute("age"), None)
    assert nodes[0] == GroupNode(-1, 0, 1)
    assert nodes[-1] == GroupNode(None, 6, 7)
    assert len(nodes) == group_count(attribute("age"), None) == 7


def test_levels_group_hierarchy_nodes_with_nulls_last():
    marital = attribute("marital-status")
    root, first = marital.hierarchy.level(0)[0], marital.hierarchy.level(1)
    assert group_nodes(marital, 0) == [GroupNode(root.label, 0, 4), GroupNode(None, 4, 5)]
    assert [node.label for node in group_nodes(marital, 1)] == [*(n.label for n in first), None]
    assert group_count(marital, 1) == len(first) + 1
    covered = [code for n in group_nodes(marital, 2) for code in range(n.start, n.stop)]
    assert covered == list(range(marital.size))


def test_only_groups_that_the_where_leaves_are_listed():
    query = ask("age, COUNT(*) FROM census WHERE age BETWEEN 1 AND 2 GROUP BY age")
    assert labels_of(query) == [[1, 2]]
    query = ask("LEVEL(age, 1), COUNT(*) FROM census WHERE age < 2 GROUP BY 1")
    assert labels_of(query) == [["young"]]
    assert group_count(attribute("age"), 1, CodeSet.of((2, 4))) == 2
    assert group_count(attribute("age"), 1, CodeSet.empty()) == 0


def test_combinations_without_a_cell_are_told_apart():
    where = "(age = 1 AND grade = 'low') OR (age = 2 AND grade <> 'low')"
    query = ask(f"age, grade, COUNT(*) FROM census WHERE {where} GROUP BY age, grade")
    assert rows_of(query) == [(1, "low"), (2, "mid"), (2, "high")]
    assert rows_of(ask("COUNT(*) FROM census")) == [()]
    assert rows_of(ask("COUNT(*) FROM census WHERE FALSE")) == [()]
    assert rows_of(ask("age, COUNT(*) FROM census WHERE FALSE GROUP BY 1")) == []


def labels_of(query: Query, schema=CENSUS) -> list[list[object]]:
    groups = [cases_of(group, query.boxes, schema) for group in query.groups]
    return [[case.label for case in cases] for cases in groups]


def rows_of(query: Query) -> list[tuple[object, ...]]:
    return [tuple(case.label for case in cases) for _, cases, _ in row_boxes(query, CENSUS)]


def test_a_group_by_beyond_the_cap_is_refused_with_both_numbers():
    query = ask("COUNT(*) FROM census GROUP BY age, grade")
    check_row_cap(query, CENSUS, 21)
    with pytest.raises(QueryError, match=r"^GROUP BY would give 21 rows, the cap is 20; "):
        check_row_cap(query, CENSUS, 20)


def test_a_group_by_over_a_trillion_values_is_refused_at_once_and_narrowed_is_not():
    """Without laying them out, for which there is no memory."""
    with pytest.raises(QueryError, match="would give 1000000000001 rows"):
        check_row_cap(ask("id, COUNT(*) FROM huge GROUP BY id", HUGE), HUGE, 10**6)
    narrow = ask("id, COUNT(*) FROM huge WHERE id BETWEEN 7 AND 9 GROUP BY id", HUGE)
    check_row_cap(narrow, HUGE, 3)
    assert labels_of(narrow, HUGE) == [[7, 8, 9]]


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("hushtable.query.answer", "sqlglot"),
        ("hushtable.query.grouping", "sqlglot"),
        ("hushtable.query.sql", "numba"),
    ],
)
def test_the_analysts_side_imports_nothing_heavy(module, absent):
    heavy = [absent, "numba", "duckdb", "ibis", "scipy", "pyarrow", "pandas", "polars"]
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
