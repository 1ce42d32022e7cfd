"""Formulas become disjoint boxes that hold exactly the cells where three-valued logic says TRUE."""

from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import QueryError
from hushtable.query import predicate
from hushtable.query.box import Box, CodeSet
from hushtable.query.predicate import All, Any, Atom, Constant, Not, boxes_of

SHAPE = (5, 3, 4)
SCHEMA = SimpleNamespace(shape=SHAPE)


def evaluate(formula, cell):
    """Kleene's tables, written out: the slow obvious version."""
    match formula:
        case Constant(value):
            return value
        case Atom(axis, true, unknown):
            return True if cell[axis] in true else None if cell[axis] in unknown else False
        case Not(operand):
            value = evaluate(operand, cell)
            return None if value is None else not value
        case All(operands):
            values = [evaluate(operand, cell) for operand in operands]
            return False if False in values else None if None in values else True
        case Any(operands):
            values = [evaluate(operand, cell) for operand in operands]
            return True if True in values else None if None in values else False


def holds(box, cell):
    return all(code in codes for code, codes in zip(cell, box.sets, strict=True))


@st.composite
def atoms(draw):
    axis = draw(st.integers(0, len(SHAPE) - 1))
    kinds = [draw(st.sampled_from("TFU")) for _ in range(SHAPE[axis])]
    chosen = {k: [(i, i + 1) for i, kind in enumerate(kinds) if kind == k] for k in "TU"}
    return Atom(axis, CodeSet.of(*chosen["T"]), CodeSet.of(*chosen["U"]))


formulas = st.recursive(
    atoms() | st.sampled_from([Constant(True), Constant(False), Constant(None)]),
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, max_size=4).map(lambda parts: All(tuple(parts)))
        | st.lists(inner, max_size=4).map(lambda parts: Any(tuple(parts)))
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(formulas)
def test_each_cell_is_in_one_box_if_the_formula_is_true_there_and_in_none_if_not(formula):
    boxes = boxes_of(formula, SCHEMA)
    for cell in product(*map(range, SHAPE)):
        expected = 1 if evaluate(formula, cell) is True else 0
        assert sum(holds(box, cell) for box in boxes) == expected


@given(formulas)
def test_no_box_is_empty(formula):
    assert all(box.cells > 0 for box in boxes_of(formula, SCHEMA))


def test_not_of_unknown_is_unknown():
    unknown = Atom(0, CodeSet.single(0), CodeSet.single(4))
    assert boxes_of(Any((unknown, Not(unknown))), SCHEMA) == (
        Box((CodeSet.of((0, 4)), CodeSet.full(3), CodeSet.full(4))),
    )


def test_a_tautology_is_the_whole_domain_in_one_box():
    part = Atom(1, CodeSet.single(1))
    assert boxes_of(Any((part, Not(part))), SCHEMA) == (Box.full(SHAPE),)
    assert boxes_of(All(()), SCHEMA) == (Box.full(SHAPE),)
    assert boxes_of(Any(()), SCHEMA) == ()


def test_thousands_of_operands_on_a_trillion_codes_are_quick():
    schema = SimpleNamespace(shape=(10**12, 10**12))
    parts = tuple(
        All((Atom(0, CodeSet.single(10**8 * i)), Atom(1, CodeSet.of((i, 10**12 - i)))))
        for i in range(1, 3000)
    )
    boxes = boxes_of(Any(parts), schema)
    assert sum(box.cells for box in boxes) == sum(10**12 - 2 * i for i in range(1, 3000))


def test_more_boxes_than_the_cap_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(predicate, "MAX_BOXES", 3)
    parity = Any(
        (
            All((Atom(0, CodeSet.single(1)), Atom(1, CodeSet.single(1)))),
            All((Atom(0, CodeSet.single(2)), Atom(1, CodeSet.single(2)))),
            All((Atom(0, CodeSet.single(3)), Atom(1, CodeSet.single(0)))),
            All((Atom(0, CodeSet.single(4)), Atom(1, CodeSet.of((0, 2))))),
        )
    )
    with pytest.raises(QueryError, match=r"^the condition falls into 4 separate boxes, .* is 3;"):
        boxes_of(parity, SCHEMA)


def test_a_condition_that_explodes_is_refused_and_not_waited_for(monkeypatch):
    monkeypatch.setattr(predicate, "MAX_WORK", 50_000)
    axes = 24
    schema = SimpleNamespace(shape=(100,) * axes)
    half = axes // 2
    pairs = tuple(
        Any(
            tuple(
                All((Atom(i, CodeSet.single(v)), Atom(i + half, CodeSet.single(v))))
                for v in range(9)
            )
        )
        for i in range(half)
    )
    with pytest.raises(QueryError, match="too complex"):
        boxes_of(All(pairs), schema)


def test_a_hundred_thousand_nots_are_refused_cleanly():
    formula = Atom(0, CodeSet.single(1))
    for _ in range(100_000):
        formula = Not(formula)
    with pytest.raises(QueryError, match="nested deeper than"):
        boxes_of(formula, SCHEMA)
