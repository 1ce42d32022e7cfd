"""Synthetic rows: as many as there seem to be people, spread as the release says."""

import itertools
import warnings

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_folders import make_release, ranges

import hushtable
from hushtable.errors import NoisyRowsWarning, OptionError
from hushtable.release import synthesize as synthesize_module
from hushtable.release.decode import decoder, decoder_within_bins
from hushtable.release.synthesize import nearest_counts, noise_share
from hushtable.schema import Attribute, Edges


def brute_force_projection(cells, total: float):
    """The nearest point of {x ≥ 0, Σx = total}: try every set of cells that stay positive."""
    best = None
    for size in range(1, len(cells) + 1):
        for kept in itertools.combinations(range(len(cells)), size):
            x = np.zeros(len(cells))
            chosen = list(kept)
            x[chosen] = cells[chosen] + (total - cells[chosen].sum()) / size
            distance = float(np.sum((x - cells) ** 2))
            if x.min() >= -1e-9 and (best is None or distance < best[0]):
                best = distance, x
    return best[1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=6),
    st.integers(1, 60),
    st.sampled_from([0, 2**20]),
)
def test_nearest_counts_equal_a_brute_force_projection(cells, total, narrow):
    cells = np.array(cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesize_module, "_NARROW", narrow)  # tally by value, or by sorting
        nearest = nearest_counts(cells, total)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(total)
    assert nearest == pytest.approx(brute_force_projection(cells.astype(float), total), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_nearest_counts_of_any_integers_are_counts(cells):
    nearest = nearest_counts(np.array(cells, np.int64), 1.0)
    assert np.isfinite(nearest).all() and nearest.min() >= 0 and nearest.max() > 0


def test_true_counts_are_their_own_nearest():
    cells = np.array([0, 3, 5, 0, 2], np.int16)
    assert nearest_counts(cells, 10.0).tolist() == [0, 3, 5, 0, 2]


def test_by_default_there_are_as_many_rows_as_the_noisy_total(census, census_cells):
    assert census.synthesize().num_rows == census_cells.sum()
    assert census.synthesize(0).num_rows == 0
    assert census.synthesize(17).num_rows == 17


@pytest.mark.parametrize("cells", [[-5, -3, -9], [-5, 3, -9], [0, 0, 0]])
def test_a_noisy_total_below_one_makes_no_rows_but_any_number_on_request(tmp_path, cells):
    release = make_release(tmp_path / "r", ranges(3), cells)
    assert release.synthesize().num_rows == 0
    with pytest.warns(NoisyRowsWarning, match="100 % of these rows are noise"):
        assert release.synthesize(100).num_rows == 100


def test_only_cells_that_seem_to_have_people_get_rows(tmp_path):
    release = make_release(tmp_path / "r", ranges(6), [-4, 50, -3, 49, -9, -1])
    values = release.synthesize(1000)["a"].to_numpy()
    assert set(values) == {1, 3}


def test_marginals_follow_the_release(tmp_path):
    random = np.random.default_rng(0)
    cells = random.integers(500, 3000, (6, 5, 4)) + random.integers(-5, 6, (6, 5, 4))
    release = make_release(tmp_path / "r", ranges(6, 5, 4), cells)
    rows = release.synthesize(seed=1)
    for axis, name in enumerate("abc"):
        drawn = np.bincount(rows[name].to_numpy(), minlength=cells.shape[axis])
        wanted = cells.sum(axis=tuple(i for i in range(3) if i != axis))
        assert np.abs(drawn - wanted).max() < 200  # far closer than chance alone would be
    codes = np.ravel_multi_index([rows[name].to_numpy() for name in "abc"], cells.shape)
    assert np.abs(np.bincount(codes, minlength=cells.size) - cells.reshape(-1)).max() <= 2


def test_small_counts_do_not_line_up_with_the_codes(tmp_path):
    """Every tenth of a person in every cell: all values of the last attribute must occur."""
    release = make_release(tmp_path / "r", ranges(1000, 10), np.ones((1000, 10), np.int64))
    drawn = np.bincount(release.synthesize(1000, seed=3)["b"].to_numpy(), minlength=10)
    assert drawn.min() > 50 and drawn.max() < 160


def test_rows_come_in_no_order(tmp_path):
    release = make_release(tmp_path / "r", ranges(1000), np.full(1000, 3))
    values = release.synthesize()["a"].to_numpy()
    assert abs(np.corrcoef(values, np.arange(len(values)))[0, 1]) < 0.15


def test_a_seed_repeats_the_rows(census):
    assert census.synthesize(500, seed=5).equals(census.synthesize(500, seed=5))
    assert not census.synthesize(500, seed=5).equals(census.synthesize(500, seed=6))
    assert not census.synthesize(500).equals(census.synthesize(500))


@pytest.mark.parametrize("rows", [-1, True, 1.5, float("nan"), float("inf"), 10**9, 10**30])
def test_impossible_numbers_of_rows_are_refused(census, rows):
    with pytest.raises(OptionError, match="rows"):
        census.synthesize(rows)


@pytest.mark.parametrize("seed", [-1, True])
def test_impossible_seeds_are_refused(census, seed):
    with pytest.raises(OptionError, match="seed"):
        census.synthesize(5, seed=seed)


def test_values_lie_in_their_bins_and_undeclared_ones_are_null(census, census_cells):
    rows = census.synthesize(seed=2)
    assert rows.column_names == ["age", "income", "grade", "occupation"]
    income = rows["income"]
    positive = census_cells.clip(0)
    share = positive[:, 3].sum() / positive.sum()
    assert income.null_count / rows.num_rows == pytest.approx(share, abs=0.05)
    assert pc.min(income).as_py() >= 0 and pc.max(income).as_py() <= 40
    assert rows["age"].null_count > 0 and pc.max(rows["age"]).as_py() == 4
    assert rows["grade"].null_count == 0
    assert set(rows["occupation"].to_pylist()) <= {"clerk", "boss", "farmer", "=cmd", "#N/A"}


def bins(*edges, outside="drop") -> Attribute:
    return Attribute("x", "ordinal", Edges(edges), outside)


@pytest.mark.parametrize(
    "edges", [(0, 1, 5, 100), (-3, 0), (0.5, 0.75, 2), (1.0, np.nextafter(1.0, 2), 2.0)]
)
def test_a_drawn_value_falls_back_into_its_own_bin(edges):
    attribute = bins(*(e if isinstance(e, int) else float(e) for e in edges), outside="other")
    codes = np.repeat(np.arange(attribute.size), 200)
    values = decoder_within_bins(attribute, np.random.default_rng(0))(codes).to_pylist()
    whole = all(isinstance(edge, int) for edge in edges)
    for code, value in zip(codes.tolist(), values, strict=True):
        if code == attribute.other:
            assert value is None
        else:
            low, high = edges[code : code + 2]
            assert low <= value and (value < high or value == high == edges[-1])
            assert isinstance(value, int) is whole


def test_decoding_gives_the_labels_of_the_codes(census_schema):
    for attribute in census_schema.attributes:
        codes = np.arange(attribute.size, dtype=np.int8)
        expected = [attribute.label(code) for code in range(attribute.size)]
        assert decoder(attribute)(codes).to_pylist() == expected


# ── rows that are mostly noise ───────────────────────────────────────────────────────────────────


def noisy(people: int, cells: int, occupied: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """True counts of so many people in some of many cells, and the same with noise of scale 2."""
    random = np.random.default_rng(seed)
    truth = np.zeros(cells, np.int64)
    np.add.at(truth, random.integers(0, occupied, people), 1)
    chance = 1 - np.exp(-1 / 2)
    return truth, truth + random.geometric(chance, cells) - random.geometric(chance, cells)


@pytest.mark.parametrize(
    ("people", "cells", "occupied"),
    [(3000, 50_000, 3000), (50_000, 50_000, 1000), (20_000, 4000, 4000), (10**6, 50_000, 50)],
)
@pytest.mark.parametrize("unit", [1, 0.5])
def test_the_noise_in_rows_is_known_from_noisy_cells_alone(people, cells, occupied, unit):
    truth, with_noise = noisy(people, cells, occupied)
    shown = with_noise * unit
    nearest = nearest_counts(shown, float(shown.sum()))
    found = nearest[truth == 0].sum() / shown.sum()
    share = noise_share(shown, nearest, float(shown.sum()))
    assert share == pytest.approx(found, rel=0.1, abs=0.03)


def test_rows_that_are_mostly_noise_are_called_so(tmp_path):
    """A thousand times as many cells as the people live in: nine rows of ten are nowhere."""
    truth, cells = noisy(3000, 50_000, 3000)
    release = make_release(tmp_path / "r", ranges(50, 1000), cells)
    with pytest.warns(NoisyRowsWarning, match=r"about \d\d % .* publish by marginals or privbayes"):
        rows = release.synthesize(seed=1)
    places = np.ravel_multi_index([rows[name].to_numpy() for name in "ab"], (50, 1000))
    assert (truth[places] == 0).mean() > 0.5
    with pytest.warns(NoisyRowsWarning):
        release.synthetic_batches(5)
    assert release.synthesize(0).num_rows == 0  # of no rows, none are noise


@pytest.mark.parametrize(
    ("people", "cells", "occupied"), [(10**6, 50_000, 50), (10**5, 1000, 1000), (300, 10, 10)]
)
def test_rows_of_people_are_not_called_noise(tmp_path, people, cells, occupied):
    """However many cells there are, if the people stand out, no warning: here it would fail."""
    _, with_noise = noisy(people, cells, occupied)
    release = make_release(tmp_path / "r", ranges(cells), with_noise)
    assert release.synthesize(100, seed=1).num_rows == 100


def test_a_total_that_may_be_zero_makes_rows_of_noise(tmp_path):
    """The largest of many cells is noise too, even where no other is as far below zero."""
    cells = np.array([42, *[36, -36] * 100, -41])
    release = make_release(tmp_path / "r", ranges(202), cells)
    with pytest.warns(NoisyRowsWarning, match="100 %"):
        release.synthesize(10)


def test_the_warning_can_be_silenced_by_its_name(tmp_path):
    release = make_release(tmp_path / "r", ranges(3), [-5, 3, -9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hushtable.NoisyRowsWarning)
        assert release.synthesize(5).num_rows == 5
