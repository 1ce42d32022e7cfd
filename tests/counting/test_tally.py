"""Codes that come in pieces are counted as if they had come at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hushtable.kernel.counting import runs
from hushtable.kernel.counting.tally import Tally

CODES = st.one_of(st.integers(0, 5), st.integers(2**62 - 3, 2**62 - 1))


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are cut, and merged, as soon as there are a few codes, or a few files."""
    monkeypatch.setattr(runs, "_STEP", 2)
    monkeypatch.setattr(runs, "_TOGETHER", 3)


MOST = st.sampled_from([0, 3, 10**6])
"""Distinct codes in memory: the others are in files."""
ANY_TIME = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY_TIME
@given(st.lists(st.lists(CODES, max_size=9), max_size=9), st.integers(1, 12), MOST)
def test_any_pieces_merged_at_any_time_count_every_code(
    pieces: list[list[int]], at_once: int, most: int
) -> None:
    tally = Tally(at_once, most)
    for piece in pieces:
        tally.add(np.array(piece, np.int64))
    codes, counts = tally.result()
    expected = Counter(code for piece in pieces for code in piece)
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == expected
    assert (np.diff(codes) > 0).all()


PEOPLE = st.integers(1, 2**40)


@ANY_TIME
@given(
    st.lists(st.lists(st.tuples(CODES, PEOPLE), max_size=9), max_size=9), st.integers(1, 12), MOST
)
def test_any_pieces_add_up_their_people(
    pieces: list[list[tuple[int, int]]], at_once: int, most: int
) -> None:
    tally, expected = Tally(at_once, most), Counter[int]()
    for piece in pieces:
        codes = np.array([code for code, _ in piece], np.int64)
        tally.add(codes, np.array([people for _, people in piece], np.int64))
        for code, people in piece:
            expected[code] += people
    codes, counts = tally.result()
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == expected
    assert (np.diff(codes) > 0).all()


def test_many_files_are_merged_whatever_they_hold() -> None:
    random = np.random.default_rng(1)
    pieces = [random.integers(0, 3 * size, 50) for size in (2, 30, 900) for _ in range(20)]
    tally = Tally(1, 0)
    for piece in pieces:
        tally.add(piece.copy())
    codes, counts = tally.result()
    expected = np.unique(np.concatenate(pieces), return_counts=True)
    assert np.array_equal(codes, expected[0]) and np.array_equal(counts, expected[1])


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_codes_of_any_width_become_wide_ones(kind: type) -> None:
    tally = Tally()
    given_codes = np.array([2**31 - 1, 0, 2**31 - 1], kind)
    tally.add(given_codes)
    codes, counts = tally.result()
    assert codes.tolist() == [0, 2**31 - 1]
    assert counts.tolist() == [1, 2]
    assert codes.dtype == counts.dtype == np.int64
    assert given_codes.tolist() == [2**31 - 1, 0, 2**31 - 1]  # a batch is the engine's memory


def test_nothing_is_counted_as_nothing() -> None:
    codes, counts = Tally().result()
    assert len(codes) == len(counts) == 0
