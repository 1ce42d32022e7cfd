"""A WHERE clause selects the cells SQL would: checked value by value against a plain evaluator."""

import operator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_schemas import CENSUS, HUGE

from hushtable.query.box import Box, CodeSet, cells
from hushtable.query.sql import parse_query, parse_where
from hushtable.schema import Schema

# Values that fall on each code; for bins also their ends, so that a cut bin would be noticed.
AGES = [[-1], [0], [1], [2], [3], [4], [None]]
INCOMES = [[0, 5, 9.99], [10, 20.4], [20.5, 30, 40], [None]]
GRADES = [["low"], ["mid"], ["high"]]
STATUSES = [["single"], ["widowed"], ["married"], ["other"], [None]]
GROUPS = {
    "young": {-1, 0, 1},
    "old": {2, 3, 4},
    "alone": {"single", "widowed"},
    "together": {"married"},
}
SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"=": "=", "<>": "<>", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
RANK = {"low": 0, "mid": 1, "high": 2}


def compare(position, sign, value, rank=lambda value: value):
    """A comparison as a function of a row: None for nulls."""

    def evaluate(row):
        if row[position] is None or value is None:
            return None
        return SIGNS[sign](rank(row[position]), rank(value))

    return evaluate


def any_of(parts):
    def evaluate(row):
        values = [part(row) for part in parts]
        return True if True in values else None if None in values else False

    return evaluate


def negated(part):
    return lambda row: None if part(row) is None else not part(row)


def all_of(parts):
    return negated(any_of([negated(part) for part in parts]))


def belongs(position, name):
    """Equality with a label or with a hierarchy node."""
    members = GROUPS.get(name, {name})
    return lambda row: None if row[position] is None else row[position] in members


@st.composite
def age_conditions(draw):
    sign = draw(st.sampled_from(list(SIGNS)))
    if sign in ("=", "<>", "!="):
        value = draw(st.integers(-1, 4) | st.none())
    else:
        value = draw(st.integers(-9, 9) | st.sampled_from([-0.5, 2.5, 1e3]) | st.none())
    text = "NULL" if value is None else str(value)
    if draw(st.booleans()):
        return f"{text} {MIRRORED[sign]} AGE", compare(0, sign, value)
    return f"age {sign} {text}", compare(0, sign, value)


@st.composite
def between_conditions(draw):
    low, high = draw(st.integers(-3, 6)), draw(st.integers(-3, 6) | st.none())
    inside = all_of([compare(0, ">=", low), compare(0, "<=", high)])
    text = f"BETWEEN {low} AND {'NULL' if high is None else high}"
    if draw(st.booleans()):
        return f"age NOT {text}", negated(inside)
    return f"age {text}", inside


@st.composite
def in_conditions(draw):
    position, name, values = draw(
        st.sampled_from(
            [
                (0, "age", ["-1", "0", "3", "'2'", "'young'", "'old'", "NULL"]),
                (2, "grade", ["'low'", "'mid'", "'high'"]),
                (3, '"marital-status"', ["'single'", "'alone'", "'together'", "'other'", "NULL"]),
            ]
        )
    )
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    parts = []
    for value in chosen:
        plain = value.strip("'")
        key = int(plain) if position == 0 and plain.lstrip("-").isdigit() else plain
        parts.append(compare(position, "=", None) if value == "NULL" else belongs(position, key))
    listed = any_of(parts)
    if draw(st.booleans()):
        return f"{name} NOT IN ({', '.join(chosen)})", negated(listed)
    return f"{name} IN ({', '.join(chosen)})", listed


@st.composite
def bin_conditions(draw):
    sign, edge = draw(
        st.tuples(st.sampled_from(["<", ">="]), st.sampled_from([-5, 0, 10, 20.5, 50]))
        | st.tuples(st.sampled_from(["<=", ">"]), st.sampled_from([-5, 40, 99]))
    )
    if draw(st.booleans()):
        return f"{edge} {MIRRORED[sign]} income", compare(1, sign, edge)
    return f"income {sign} {edge}", compare(1, sign, edge)


@st.composite
def grade_conditions(draw):
    sign, label = draw(st.sampled_from(list(SIGNS))), draw(st.sampled_from(list(RANK)))
    return f"grade {sign} '{label}'", compare(2, sign, label, RANK.get)


def belongs_to_bin(low, high):
    return lambda row: None if row[1] is None else low <= row[1] <= high


fixed_conditions = st.sampled_from(
    [
        ("income = '[10, 20.5)'", belongs_to_bin(10, 20.4)),
        ("income BETWEEN 10 AND 40", all_of([compare(1, ">=", 10), compare(1, "<=", 40)])),
        ("grade BETWEEN 'mid' AND 'high'", compare(2, ">=", "mid", RANK.get)),
        ("income IS NULL", lambda row: row[1] is None),
        ('"Marital-Status" IS NOT NULL', lambda row: row[3] is not None),
        ("grade IS NULL", lambda row: False),
        ("TRUE", lambda row: True),
        ("FALSE", lambda row: False),
        ("NULL", lambda row: None),
    ]
)
conditions = st.recursive(
    age_conditions()
    | between_conditions()
    | in_conditions()
    | bin_conditions()
    | grade_conditions()
    | fixed_conditions,
    lambda inner: (
        inner.map(lambda part: (f"NOT ({part[0]})", negated(part[1])))
        | st.lists(inner, min_size=2, max_size=4).map(
            lambda parts: (" AND ".join(f"({p[0]})" for p in parts), all_of([p[1] for p in parts]))
        )
        | st.lists(inner, min_size=2, max_size=4).map(
            lambda parts: (" OR ".join(f"({p[0]})" for p in parts), any_of([p[1] for p in parts]))
        )
    ),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(conditions)
def test_a_condition_selects_the_values_on_which_it_is_true(condition):
    text, evaluate = condition
    boxes = parse_where(text, CENSUS)
    for cell in product(*(range(size) for size in CENSUS.shape)):
        inside = [
            all(code in codes for code, codes in zip(cell, box.sets, strict=True)) for box in boxes
        ]
        assert sum(inside) <= 1, text
        samples = [AGES[cell[0]], INCOMES[cell[1]], GRADES[cell[2]], STATUSES[cell[3]]]
        for row in product(*samples):
            assert (evaluate(row) is True) == any(inside), (text, row)


def codes_of(text, attribute=0, schema=CENSUS):
    boxes = parse_where(text, schema)
    assert len(boxes) == 1
    return boxes[0].sets[attribute]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("NOT age = 1 AND grade = 'low'", "(age <> 1) AND grade = 'low'"),
        ("age = 1 OR age = 2 AND grade = 'low'", "age = 1 OR (age = 2 AND grade = 'low')"),
        ("age < 2.5", "age <= 2"),
        ("age > -1e400", "age IS NOT NULL"),
        ("age >= 1e-400", "age >= 1"),
        ("age = '2'", "age = 2"),
        ("age = 2.0", "age = 2"),
        ("census.age = 1 -- a comment", "age = 1"),
        ("age /* here */ = 1", "(((age))) = (((1)))"),
        ("-(1) <= age", "age >= -1"),
        ("\"marital-status\" = 'together'", "\"marital-status\" = 'married'"),
        ("'alone' <> \"marital-status\"", "\"marital-status\" IN ('other', 'married')"),
        ("income < 20.5", "income < 20.50"),
        ("income <= 40", "income >= 0"),
        ("TRUE", ""),
    ],
)
def test_two_ways_to_say_the_same_select_the_same(text, same):
    assert parse_where(text, CENSUS) == parse_where(same, CENSUS)


def test_no_condition_selects_everything():
    for nothing in (None, "", "  \n"):
        assert parse_where(nothing, CENSUS) == (Box.full(CENSUS.shape),)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "=", "<>"])
@pytest.mark.parametrize("label", ["low", "mid", "high"])
def test_ordered_labels_compare_by_their_place(sign, label):
    held = [code for code, name in enumerate(RANK) if SIGNS[sign](RANK[name], RANK[label])]
    boxes = parse_where(f"grade {sign} '{label}'", CENSUS)
    assert [code for box in boxes for code in range(3) if code in box.sets[2]] == held


def test_a_decimal_edge_is_met_by_its_decimal_literal():
    # As binary fractions 0.1 and 0.3 are other numbers than the literals.
    rate = {"name": "rate", "kind": "ordinal", "edges": [0, 0.1, 0.3, 1]}
    schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": [rate]})
    assert codes_of("rate >= 0.1 AND rate < 0.30", schema=schema) == CodeSet.single(1)


def test_ranges_of_a_trillion_codes_are_answered_without_listing_them():
    text = "(id > 5e11 OR NOT x BETWEEN 7 AND 999999999999999) AND sex = 'F'"
    boxes = parse_where(text, HUGE)
    above, outside = 5 * 10**11, 8
    total, values = 10**12 + 1, 10**15 + 1
    assert cells(boxes) == above * values + (total - above) * outside


def test_thousands_of_operands_and_values_are_read():
    chain = " OR ".join(f"id = {i} AND sex = 'M'" for i in range(1, 2001))
    assert cells(parse_where(chain, HUGE)) == 2000 * (10**15 + 1)
    assert codes_of(" AND ".join(f"id <> {2 * i}" for i in range(1, 2001)), schema=HUGE).count == (
        10**12 - 2000
    )
    listed = f"id IN ({', '.join(str(3 * i) for i in range(1, 5001))})"
    assert codes_of(listed, schema=HUGE).count == 5000


def test_a_query_reads_its_where_as_a_bare_condition_is_read():
    text = "age < 2 OR grade = 'mid'"
    query = parse_query(f"SELECT COUNT(*) FROM census WHERE {text}", CENSUS)
    assert query.boxes == parse_where(text, CENSUS)
