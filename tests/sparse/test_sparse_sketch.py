"""Count sketches: public hash functions, one bucket per row, unbiased estimates."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_laws import fits

from hushtable.errors import OptionError, QueryError
from hushtable.query.box import Box, CodeSet
from hushtable.query.sketch import MOST_CELLS, SketchReader
from hushtable.summaries.sketch import PRIME, Sketch, _coefficients, _reduced, _times


@settings(deadline=None, max_examples=200)
@given(st.integers(0, PRIME - 1), st.integers(0, PRIME - 1))
def test_products_modulo_the_prime(a: int, b: int) -> None:
    product = _reduced(_times(np.array([a], np.uint64), np.array([b], np.uint64)))
    assert int(product[0]) == a * b % PRIME


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 10**18 - 1), min_size=1, max_size=5), st.integers(0, 4))
def test_hashes_are_the_polynomial_that_is_written_down(codes: list[int], row: int) -> None:
    sketch = Sketch(5, 1000, (10**18,))
    buckets, signs = sketch.hashed(row, np.array(codes))
    a, b, c, d = _coefficients(row)
    for code, bucket, sign in zip(codes, buckets, signs, strict=True):
        value = (a * code**3 + b * code**2 + c * code + d) % PRIME
        assert bucket == (value >> 1) % 1000 and sign == 1 - 2 * (value & 1)


def test_rows_hash_differently_and_evenly() -> None:
    sketch, codes = Sketch(3, 16, (10**6,)), np.arange(20_000)
    hashed = [sketch.hashed(row, codes) for row in range(3)]
    for buckets, signs in hashed:
        pairs = Counter(zip(buckets.tolist(), signs.tolist(), strict=True))
        assert fits(pairs, {(b, s): 1 / 32 for b in range(16) for s in (-1, 1)})
    both = Counter(zip(hashed[0][0].tolist(), hashed[1][0].tolist(), strict=True))
    assert fits(both, {(a, b): 1 / 256 for a in range(16) for b in range(16)})


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("width", [4, 100])
def test_what_one_row_of_the_table_changes(rows: int, width: int) -> None:
    sketch = Sketch(rows, width, (6, 4))
    one = np.ones(1, np.int64)
    alone = [sketch.forward(np.array([code]), one) for code in range(24)]
    assert {int(np.abs(change).sum()) for change in alone} == {sketch.entering} == {rows}
    moves = [int(np.abs(a - b).sum()) for a in alone for b in alone]
    assert max(moves) == sketch.moving == 2 * rows


def reader(sketch: Sketch, counts: dict[int, int], estimate: str = "mean") -> SketchReader:
    codes = np.array(list(counts), np.int64)
    buckets = sketch.forward(codes, np.array(list(counts.values()), np.int64))
    return SketchReader(sketch, lambda: buckets, Fraction(1, 100), estimate)  # type: ignore[arg-type]


def test_without_collisions_every_cell_is_exact() -> None:
    counts = {3: 5, 17: 2, 23: 90}
    for estimate in ("mean", "median"):
        read = reader(Sketch(2, 24, (6, 4)), counts, estimate)
        wanted = np.zeros(24)
        wanted[list(counts)] = list(counts.values())
        assert np.array_equal(read.cells(), wanted.reshape(6, 4))
        box = Box((CodeSet.of((0, 1), (4, 6)), CodeSet.of((1, 4))))
        assert read.count((box,))[0] == wanted.reshape(6, 4)[[0, 4, 5], 1:].sum()
        grouped = read.group((Box.full((6, 4)),), [(1, [(0, 2), (3, 4)])])
        assert grouped.values.tolist() == [
            wanted.reshape(6, 4)[:, :2].sum(),
            wanted.reshape(6, 4)[:, 3].sum(),
        ]


def test_with_collisions_estimates_are_unbiased_and_their_error_is_known() -> None:
    """Over many cells of one sketch: as many others share a bucket as the variance says."""
    random = np.random.default_rng(1)
    counts = dict.fromkeys(random.choice(10**5, 2000, replace=False).tolist(), 10)
    read = reader(Sketch(1, 512, (10**5,)), counts)
    empty = np.setdiff1d(np.arange(10**5), list(counts))
    found = read._combined(read._looked_up(0, empty)[None])
    squares = 2000 * 100 / 512
    assert abs(found.mean()) < 6 * np.sqrt(squares / 512)
    assert found.var() == pytest.approx(squares, rel=0.25)
    assert read.cell_variance == pytest.approx(squares, rel=0.25)
    several = reader(Sketch(5, 512, (10**5,)), counts, "median")
    assert several.cell_variance == pytest.approx(squares * np.pi / 10, rel=0.25)


def test_too_much_at_once_is_refused() -> None:
    read = reader(Sketch(1, 64, (10**18,)), {5: 1})
    with pytest.raises(QueryError, match=f"at most {MOST_CELLS:,} at once"):
        read.count((Box.full((10**18,)),))
    assert read.count((Box((CodeSet.single(5),)),))[0] == 1
    with pytest.raises(OptionError, match="at most 2\\^61"):
        Sketch(1, 64, (2**61,))
    for rows, width in ((0, 1), (65, 1), (1, 0), (1, 2**29), (True, 4), (1.0, 4)):
        with pytest.raises(OptionError, match="must be a whole number"):
            Sketch(rows, width, (5,))  # type: ignore[arg-type]
