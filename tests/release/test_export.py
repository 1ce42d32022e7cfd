"""Exports hold every cell as any tool reads it, or leave nothing behind."""

import copy

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_folders import CENSUS, make_release, ranges

from hushtable.errors import OptionError, ReleaseError
from hushtable.release import export
from hushtable.release.export import export_cells, export_table
from hushtable.release.rounding import whole_counts
from hushtable.release.synthesize import nearest_counts


def read_back(path) -> pa.Table:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".csv":
        options = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
        return pa.csv.read_csv(path, convert_options=options)
    book = openpyxl.load_workbook(path, read_only=True)
    header, *rows = book.active.iter_rows(values_only=True)
    book.close()
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(header, map(list, columns), strict=True)))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".xlsx"])
@pytest.mark.parametrize("batch", [7, 2**20])
def test_every_cell_comes_back(tmp_path, census, census_cells, monkeypatch, ending, batch):
    monkeypatch.setattr(export, "_BATCH", batch)
    seen = []
    path = tmp_path / f"cells{ending}"
    rows = export_cells(census, path, lambda done, total: seen.append((done, total)))
    assert rows == census_cells.size
    assert seen[-1] == (rows, rows) and len(seen) == -(-rows // batch)
    table = read_back(path)
    assert table.column_names == ["age", "income", "grade", "occupation", "count", "stderr"]
    assert table["count"].to_pylist() == census_cells.reshape(-1).tolist()
    assert table["stderr"].to_pylist() == [pytest.approx(census.cell_stderr)] * rows
    for axis, attribute in enumerate(census.schema.attributes):
        labels = np.array([attribute.label(c) for c in range(attribute.size)], object)
        expected = labels[np.indices(census_cells.shape)[axis].reshape(-1)]
        assert table[attribute.name].to_pylist() == expected.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, "census.release"]


def test_whole_counts_keep_the_total_and_have_no_error(tmp_path, census, census_cells):
    path = tmp_path / "whole.parquet"
    export_cells(census, path, whole=True)
    table = read_back(path)
    assert "stderr" not in table.column_names and table["count"].type == pa.int64()
    counts = table["count"].to_numpy()
    assert counts.min() >= 0 and counts.sum() == max(census_cells.sum(), 0)


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.integers(-50, 50), st.integers(-(10**12), 10**12)), min_size=1),
    st.sampled_from([1.0, 0.3, 1 / 3]),
)
def test_whole_counts_are_the_nearest_ones_rounded(numbers, unit):
    """Never further than one from the nearest real ones, and of their total exactly."""
    cells = np.array(numbers) if unit == 1 else np.array(numbers, np.float64) * unit
    whole, total = whole_counts(cells), max(round(float(cells.sum())), 0)
    assert whole.dtype == np.int64 and whole.min() >= 0 and whole.sum() == total
    if total:
        assert np.abs(whole - nearest_counts(cells, float(total))).max() < 1 + 1e-3


def test_whole_counts_of_counts_are_themselves():
    assert whole_counts(np.array([[0, 3], [7, 0]])).tolist() == [[0, 3], [7, 0]]
    assert whole_counts(np.array([-5, 2])).tolist() == [0, 0]


def test_labels_that_look_like_formulas_or_errors_stay_text(tmp_path, census):
    path = tmp_path / "cells.xlsx"
    export_cells(census, path)
    sheet = openpyxl.load_workbook(path).active
    kinds = {cell.value: cell.data_type for cell in sheet["D"]}
    assert kinds["=cmd"] == kinds["#N/A"] == kinds["clerk"] == "s"


def test_column_names_that_look_like_formulas_stay_text(tmp_path):
    export_table(pa.table({"=1+1": [1]}), tmp_path / "t.xlsx")
    header = openpyxl.load_workbook(tmp_path / "t.xlsx").active["A1"]
    assert (header.value, header.data_type) == ("=1+1", "s")


def test_attributes_named_like_the_measures_keep_their_names(tmp_path):
    schema = copy.deepcopy(CENSUS)
    for attribute, name in zip(schema["attribute"], ["count", "count_", "stderr"], strict=False):
        attribute["name"] = name
    shape = make_release(tmp_path / "a", schema, np.zeros(7 * 4 * 3 * 5, np.int64)).schema.shape
    release = make_release(tmp_path / "r", schema, np.arange(np.prod(shape)))
    export_cells(release, tmp_path / "cells.parquet")
    table = read_back(tmp_path / "cells.parquet")
    assert table.column_names == ["count", "count_", "stderr", "occupation", "count__", "stderr_"]
    assert table["count__"].to_pylist() == list(range(420))


def test_tables_in_memory_are_written_too(tmp_path, census):
    export_table(census.table("age"), tmp_path / "ages.csv")
    assert read_back(tmp_path / "ages.csv")["age"].to_pylist() == [-1, 0, 1, 2, 3, 4, None]
    export_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert read_back(tmp_path / "none.parquet").num_rows == 0
    export_table(census.synthesize(10), tmp_path / "ten.xlsx")
    assert read_back(tmp_path / "ten.xlsx").num_rows == 10


def test_an_existing_file_is_refused_and_kept(tmp_path, census):
    path = tmp_path / "cells.csv"
    path.write_text("precious")
    with pytest.raises(OptionError, match="there already"):
        export_cells(census, path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["cells", "cells.txt", "cells.csv.gz", "nowhere/cells.csv"])
def test_files_that_cannot_be_written_are_refused_first(tmp_path, census, name):
    with pytest.raises(OptionError):
        export_cells(census, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["census.release"]


def test_more_rows_than_a_spreadsheet_has_are_refused(tmp_path):
    release = make_release(tmp_path / "r", ranges(2**20), np.zeros(2**20, np.int64))
    with pytest.raises(OptionError, match="do not fit"):
        export_cells(release, tmp_path / "cells.xlsx")


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".xlsx"])
def test_a_failure_leaves_no_file(tmp_path, census, monkeypatch, ending):
    monkeypatch.setattr(export, "_BATCH", 100)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    def stop(done, total):
        if done >= 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_cells(census, tmp_path / f"cells{ending}", stop)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["census.release", "scratch"]
    assert not list(scratch.iterdir())


def test_a_full_disk_is_one_clear_line(tmp_path, census, monkeypatch):
    def full(batches, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "_write_csv", full)
    with pytest.raises(OptionError, match=r"cells\.csv could not be written: No space left"):
        export_cells(census, tmp_path / "cells.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["census.release"]


def test_a_damaged_release_is_not_exported(tmp_path, census):
    path = census.folder / "cells.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(ReleaseError, match="damaged"):
        export_cells(census, tmp_path / "cells.csv")
    assert not (tmp_path / "cells.csv").exists()


@pytest.mark.parametrize("label", ["bell\x07", "x" * 40_000])
def test_labels_a_spreadsheet_cannot_hold_are_refused(tmp_path, label):
    with pytest.raises(OptionError, match=r"use \.parquet"):
        export_table(pa.table({"x": [label]}), tmp_path / "t.xlsx")
    export_table(pa.table({"x": [label]}), tmp_path / "t.parquet")
    assert not (tmp_path / "t.xlsx").exists()
