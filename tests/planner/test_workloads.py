"""Workloads as they are written: what they ask, how they weigh, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from plan_cases import AGE, GRADE, JOB, SEX, all_questions, schema_of

from hushtable import workload as workloads
from hushtable.errors import HushError, OptionError
from hushtable.families.linear.choices import choices, describe, parse
from hushtable.families.linear.grids import best_tents
from hushtable.families.linear.trees import best_tree
from hushtable.kernel.maps import Haar, Identity, Nominal, Tents, Tree
from hushtable.workload.intervals import AllRanges, Either, Listed
from hushtable.workload.parsing import from_sql, read_workload

SCHEMA = schema_of(AGE, JOB, SEX, GRADE)


def boxes(text: str) -> int:
    return sum(boxes.count for boxes in read_workload(text, SCHEMA).box_sets)


def test_box_sets_have_as_many_boxes_as_there_are_combinations() -> None:
    ranges, nodes, sexes, grades = (
        28,
        8,
        3,
        6,
    )  # of sex the root too; of grades no null is in a range
    assert boxes("ranges") == ranges * nodes * sexes * grades
    assert boxes("prefixes") == 7 * nodes * sexes * 3
    assert boxes("identity") == boxes("cells") == SCHEMA.cells
    assert boxes("nodes") == nodes * sexes
    assert boxes("total") == 1
    assert boxes("marginals:1") == sum(SCHEMA.shape)
    assert boxes("marginals:4") == SCHEMA.cells
    assert boxes("level:job=1") == 2 and boxes("level:job=2,sex=1") == 5 * 2
    one, two = (28, 7, 2, 6), 28 * 7 + 28 * 2 + 28 * 6 + 7 * 2 + 7 * 6 + 2 * 6
    three = 28 * 7 * 2 + 28 * 7 * 6 + 28 * 2 * 6 + 7 * 2 * 6
    assert boxes("paper") == sum(one) + two + three + 28 * 7 * 2 * 6


def test_sets_of_the_same_intervals_are_equal_and_share_what_is_found_for_them() -> None:
    """A tree is searched once for all attributes and plans that ask alike of as many codes."""
    for text in ("ranges", "prefixes", "cells", "everyday", "total"):
        one, other = (read_workload(text, SCHEMA).box_sets[0].along for _ in range(2))
        assert one == other and list(map(hash, one)) == list(map(hash, other))
        assert all(best_tree(7, one[0]) is best_tree(7, other[0]) for _ in range(2))


def test_sets_of_other_intervals_differ() -> None:
    sets = [
        AllRanges(7),
        AllRanges(8),
        Listed.of([(0, 1), (1, 2)]),
        Listed.of([(0, 1), (1, 3)]),
        Listed.of([(0, 2), (1, 2)]),
        Listed(np.array([0, 1]), np.array([1, 2]), 3),
        Either((AllRanges(7), Listed.of([(0, 1)]))),
        Either((Listed.of([(0, 1)]), AllRanges(7))),
    ]
    assert len(set(sets)) == len(sets)


def test_numbers_of_conditions_weigh_the_same_in_the_paper_s_workload() -> None:
    box_sets = read_workload("paper", SCHEMA).box_sets
    by_size: dict[int, float] = {}
    for boxes in box_sets:
        asked = sum(along.count > 1 for along in boxes.along)
        by_size[asked] = by_size.get(asked, 0) + boxes.weight
    assert by_size == pytest.approx(dict.fromkeys((1, 2, 3, 4), 0.25))


def test_sums_and_weights() -> None:
    whole = read_workload("2*ranges + 0.5 * marginals:1 + total", SCHEMA)
    assert whole.weight == pytest.approx(3.5)
    assert whole.name == "2*ranges + 0.5*marginals:1 + total"
    again = read_workload(whole.name, SCHEMA)
    assert [f.weight for f in again.box_sets] == [f.weight for f in whole.box_sets]
    doubled = 2 * (workloads.ranges(SCHEMA) + workloads.total(SCHEMA))
    assert doubled.weight == 4 and doubled.name == "2*(ranges + total)"


def test_files_of_questions(tmp_path: Path) -> None:
    path = tmp_path / "questions.sql"
    path.write_text(
        """-- what the ministry asks every year
        -- weight 3
        SELECT COUNT(*) FROM people WHERE age < 3 AND job = 'office';
        SELECT sex, COUNT(*) FROM people WHERE job <> 'miner' GROUP BY sex; -- weight: 2
        age BETWEEN 2 AND 4 OR grade IS NULL;
        SELECT LEVEL(job, 1), COUNT(*) FROM people GROUP BY LEVEL(job, 1)
        """
    )
    asked = read_workload(f"ranges + 2*{path}", SCHEMA)
    assert asked.weight == pytest.approx(1 + 2 * (3 + 1 + 2 + 1))
    assert len(asked.questions) == 1 + 3 + 1 + 2
    cells = [(int(q.sum()), weight) for q, weight in all_questions(asked)][-2:]
    assert cells == [(3 * 84, 1.0), (2 * 84, 1.0)]


def test_aggregates_are_asked_for_by_the_rows_that_they_are_of() -> None:
    asked = from_sql(
        "WITH t AS (SELECT * FROM people WHERE job <> 'miner' AND sex IS NOT NULL)"
        " SELECT sex, AVG(age), COUNT(*) FILTER (WHERE age > 1) / COUNT(*) FROM t GROUP BY sex",
        SCHEMA,
    )
    each = from_sql(
        "job <> 'miner' AND sex = 'f'; job <> 'miner' AND sex = 'f' AND age > 1;"
        "job <> 'miner' AND sex = 'm'; job <> 'miner' AND sex = 'm' AND age > 1",
        SCHEMA,
    )
    assert {q.boxes for q in asked.questions} == {q.boxes for q in each.questions}
    assert [q.weight for q in asked.questions] == [0.25] * 4


def test_semicolons_and_dashes_in_labels_end_nothing() -> None:
    odd = {"name": "o", "kind": "nominal", "values": ["a;b", "c--d", "e"]}
    asked = from_sql("o = 'a;b'; o IN ('c--d', 'e') -- weight 2\n", schema_of(odd))
    assert [int(q.sum()) for q, _ in all_questions(asked)] == [1, 2]
    assert [q.weight for q in asked.questions] == [1.0, 2.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "everything",
        "ranges:2",
        "marginals",
        "marginals:0",
        "marginals:5",
        "marginals:-1",
        "level:job",
        "level:job=3",
        "level:age=1",
        "level:nobody=1",
        "level:",
        "0*ranges",
        "1e999*ranges",
        "1..2*ranges",
        "ranges + ",
        "nowhere.sql",
    ],
)
def test_other_workloads_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_workload(text, SCHEMA)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";;",
        "-- weight 0\nage = 1",
        "-- weight nan\nage = 1",
        "-- weight many\nage = 1",
        "DROP TABLE people",
        "SELECT age FROM people",
        "height > 3",
    ],
)
def test_other_questions_are_refused_in_one_line(sql: str) -> None:
    with pytest.raises(HushError) as caught:
        from_sql(sql, SCHEMA)
    assert "\n" not in str(caught.value)


def test_what_can_be_chosen_along_an_axis_can_be_written_and_read() -> None:
    for attribute in SCHEMA.attributes:
        asked = AllRanges(attribute.declared)
        for axis in choices(attribute, [asked], budgets=True):
            assert parse(describe(axis), attribute) == axis


def test_transforms_by_their_text() -> None:
    age, job, _, _ = SCHEMA.attributes
    assert parse("identity", age) == Identity(7) and parse(" haar ", age) == Haar(7)
    assert parse("tree:2x4", age) == Tree.mixed(7, (2, 4), root=False)
    shares = (Fraction(1, 4), Fraction(3, 4))
    assert parse("tree:2x4@1/4,3/4", age) == Tree.mixed(7, (2, 4), root=False, shares=shares)
    assert parse("tents:2", age) == Tents(7, 2) and parse("tents:2x3", age) == Tents(7, 2, 3)
    assert parse("tents:2x3@64", age) == Tents(7, 2, 3, 64) and describe(Tents(7, 2)) == "tents:2"
    assert parse("tents:2:peaks:7", age) == Tents(7, 2, peaks=(7, 16))
    lower = Tents(7, 2, 3, 64, (14, 12), 1)
    assert parse("tents:2x3:left:1:peaks:14x12@64", age) == lower
    assert describe(lower) == "tents:2x3:peaks:14x12:left:1@64"
    assert describe(Tents(7, 2, peaks=(7, 16), left=0)) == "tents:2:peaks:7:left:0"
    assert parse("tents@128", age) == best_tents(7, None, 128)
    assert parse("nominal", job) == Nominal.of(job)
    assert parse("rooted", job) == Tree.of(job) and parse("tree", job) == Tree.of(job, root=False)


@pytest.mark.parametrize(
    "text",
    [
        *("", "magic", "tree", "nominal", "tree:", "tree:1", "tree:2x2", "tree:9x9", "tree:2xx4"),
        *("haar:2", "identity@1", "tree:2x4@1/2", "tree:2x4@1/0,1", "tree:2x4@2,-1", "tree:٢x4"),
        *("tents:0", "tents:2x3x4", "tents:2@9", "tents:2@1/2", "tents:x", "tents:2000"),
        *("tents:2:left", "tents:2:left:6", "tents:2:left:-1", "tents:2:left:1:left:1"),
        *("tents:2:peaks:41", "tents:2:peaks:0", "tents:2:peaks:2x2x2", "tents:2:odd:1"),
        *("tents::left:1", "tents:2:left:1x2"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(text, SCHEMA.attribute("age"))
    assert "\n" not in str(caught.value)
