"""What manifests say of transforms: read back as it was, and nothing else accepted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.linear.describe import product_from_dict
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Product


def from_dict(described: Any) -> AxisTransform:
    return product_from_dict([described]).axes[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(cases.transforms(), max_size=3))
def test_descriptions_survive_json(axes: list[AxisTransform]) -> None:
    product = Product(tuple(axes))
    assert product_from_dict(json.loads(json.dumps(product.to_dict()))) == product


@pytest.mark.parametrize("transform", list(cases.all_transforms()), ids=repr)
def test_every_transform_is_described(transform: AxisTransform) -> None:
    described = transform.to_dict()
    assert from_dict(json.loads(json.dumps(described))) == transform
    for key in described:
        with pytest.raises(ReleaseError):
            from_dict({k: v for k, v in described.items() if k != key})
    with pytest.raises(ReleaseError):
        from_dict({**described, "more": 1})


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_hostile_descriptions_are_refused_in_one_line(data: Any) -> None:
    """Any part of a description replaced by any other value is read as a transform or refused."""
    described = data.draw(cases.transforms()).to_dict()
    described[data.draw(st.sampled_from(sorted(described)))] = data.draw(JSON)
    try:
        transform = from_dict(described)
    except ReleaseError as error:
        assert "\n" not in str(error)
    else:
        assert transform.to_dict() == described or transform.kind == "tree"


@pytest.mark.parametrize(
    "described",
    [
        None,
        [],
        {"kind": "dyadic", "size": 4},
        {"kind": ["haar"], "size": 4},
        {"kind": "haar", "size": 4.0},
        {"kind": "haar", "size": "4"},
        {"kind": "haar", "size": True},
        {"kind": "haar", "size": 10**30},
        {"kind": "nominal", "size": 4, "groups": [[0, 4, 5]]},
        {"kind": "nominal", "size": 4, "groups": {"0": 4}},
        {"kind": "nominal", "size": 10**9, "groups": [[0, 10**9]]},
        {"kind": "tree", "size": 4, "root": True, "radices": [4]},
        {"kind": "tree", "size": 4, "root": True, "shares": None},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "groups": [[0, 4]]},
        {"kind": "tree", "size": 4, "root": 1, "radices": [4], "shares": None},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "shares": ["1/2", "0.5"]},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "shares": ["1/0", "1"]},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "shares": ["٣/6", "1/2"]},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "shares": [0.5, 0.5]},
        {"kind": "tree", "size": 4, "root": True, "radices": [4], "shares": ["1" * 5000, "1"]},
    ],
)
def test_these_are_refused(described: Any) -> None:
    with pytest.raises(ReleaseError):
        from_dict(described)
    with pytest.raises(ReleaseError):
        product_from_dict([{"kind": "haar", "size": 4}, described])


@pytest.mark.parametrize("described", [None, {"kind": "haar", "size": 4}, "haar"])
def test_a_product_is_a_list(described: Any) -> None:
    with pytest.raises(ReleaseError):
        product_from_dict(described)


@pytest.mark.parametrize("size", [True, 2.0, np.int64(2), "2", 0, -1, 2**41, None])
@pytest.mark.parametrize("make", [Identity, Haar])
def test_a_size_is_a_plain_positive_integer(make: Any, size: Any) -> None:
    """One of a kind of its own could count otherwise when it is asked again."""
    with pytest.raises(OptionError):
        make(size)
