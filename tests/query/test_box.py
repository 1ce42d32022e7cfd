"""Sets of codes behave as sets, in one form, and never list their codes."""

from hypothesis import given
from hypothesis import strategies as st

from hushtable.query.box import Box, CodeSet, cells

SIZE = 24
intervals = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE))
code_sets = st.lists(intervals, max_size=6).map(lambda pairs: CodeSet.of(*pairs))


def codes(code_set: CodeSet) -> set[int]:
    return {code for start, stop in code_set.intervals for code in range(start, stop)}


def is_normal(code_set: CodeSet) -> bool:
    ends = [end for interval in code_set.intervals for end in interval]
    return ends == sorted(set(ends))


@given(st.lists(intervals, max_size=6))
def test_a_set_is_the_union_of_the_intervals_it_is_made_of(pairs):
    made = CodeSet.of(*pairs)
    assert codes(made) == {code for start, stop in pairs for code in range(start, stop)}
    assert is_normal(made)


@given(code_sets, code_sets)
def test_set_algebra_agrees_with_python_sets(left, right):
    results = {
        left.union(right): codes(left) | codes(right),
        left.intersection(right): codes(left) & codes(right),
        left.complement(SIZE): set(range(SIZE)) - codes(left),
        CodeSet.union_of([left, right, left]): codes(left) | codes(right),
    }
    for result, expected in results.items():
        assert codes(result) == expected
        assert is_normal(result)
        assert result.count == len(expected)
        assert bool(result) == bool(expected)


@given(code_sets, code_sets)
def test_equal_sets_are_equal_values(left, right):
    assert (left == right) == (codes(left) == codes(right))


@given(code_sets, st.integers(0, SIZE))
def test_membership_agrees_with_python_sets(code_set, code):
    assert (code in code_set) == (code in codes(code_set))


def test_named_sets_hold_what_they_say():
    assert codes(CodeSet.single(3)) == {3}
    assert codes(CodeSet.full(4)) == {0, 1, 2, 3}
    assert not CodeSet.empty()
    assert not CodeSet.full(0)


def test_sets_of_a_trillion_codes_are_counted_exactly():
    huge = CodeSet.full(10**12)
    assert CodeSet.single(5).complement(10**12).count == 10**12 - 1
    assert Box((huge, huge)).cells == 10**24


@given(code_sets, code_sets, code_sets, code_sets)
def test_boxes_intersect_attribute_by_attribute(a, b, c, d):
    both = Box((a, b)).intersection(Box((c, d)))
    assert both.cells == len(codes(a) & codes(c)) * len(codes(b) & codes(d))


def test_the_cells_of_disjoint_boxes_add_up():
    boxes = (Box((CodeSet.of((0, 2)), CodeSet.single(1))), Box((CodeSet.single(4),) * 2))
    assert cells(boxes) == 3
    assert cells(()) == 0
    assert Box.full((3, 4)).cells == 12
