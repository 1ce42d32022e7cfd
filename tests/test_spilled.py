"""Integers that come in pieces are one array, wherever they waited."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable import spilled
from hushtable.spilled import Spilled

PIECES = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), max_size=8)


@settings(deadline=None)
@given(PIECES, st.sampled_from([0, 5, 100]))
def test_pieces_are_one_array_in_their_order(pieces: list[list[int]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled, "_MOST", most)
        column = Spilled()
        for piece in pieces:
            column.add(np.array(piece, np.int64))
        found = column.array()
    assert found.tolist() == [value for piece in pieces for value in piece]
    assert found.dtype == np.int64


def test_pieces_with_gaps_in_memory_are_written_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spilled, "_MOST", 1)
    column = Spilled()
    column.add(np.arange(20)[::3])
    assert column.array().tolist() == [0, 3, 6, 9, 12, 15, 18]


def test_a_file_has_no_name_while_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it is gone with the process, however that ends."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spilled, "_MOST", 1)
    column = Spilled()
    column.add(np.arange(9))
    assert list(tmp_path.iterdir()) == []
    assert column.array().tolist() == list(range(9))
    assert list(tmp_path.iterdir()) == []
