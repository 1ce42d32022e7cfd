"""A small release that the tests share."""

import copy

import numpy as np
import pytest
from release_folders import CENSUS, make_release

import hushtable
from hushtable.schema import Schema


@pytest.fixture
def census_schema() -> Schema:
    return Schema.from_dict(copy.deepcopy(CENSUS))


@pytest.fixture
def census_cells(census_schema):
    return np.random.default_rng(1).integers(-50, 1000, census_schema.shape)


@pytest.fixture
def census(tmp_path, census_schema, census_cells) -> hushtable.Release:
    return make_release(tmp_path / "census.release", census_schema, census_cells)
