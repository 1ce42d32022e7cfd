"""How accurate each linear mechanism would be, at its best parameters for a workload."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from hushtable.arrays import available_memory
from hushtable.errors import OptionError
from hushtable.families.forecast import Forecast, Purpose, Resources
from hushtable.families.linear.bounds import range_bound
from hushtable.families.linear.choices import choices, describe, has_trees, tree, wavelet
from hushtable.families.linear.grids import tent_height
from hushtable.families.linear.search import best_product, loss, sets_along
from hushtable.families.linear.variances import Variances
from hushtable.kernel.maps import AxisTransform, Identity, Product, Tree
from hushtable.schema import Schema

# Seconds for each coefficient and each row, on two cores of a small server.
_PER_COEFFICIENT = 25e-9
_PER_ROW = 0.25e-6
_START = 1.0

Offer = tuple[str, Product, dict[str, str]]
"""A mechanism, what it would measure, and its settings."""


def forecasts(purpose: Purpose) -> list[Forecast]:
    """Of every mechanism whose noise does not depend on the data, simple ones first.

    None where this machine lacks the memory for all cells of the domain.
    """
    if 8 * purpose.schema.cells > available_memory() * 3 // 4:
        return []
    variances = Variances(purpose)
    found = [
        _forecast(variances, *offer)
        for offer in _offers(variances)
        if loss(variances, offer[1]) < math.inf
    ]
    if not found:
        raise OptionError("epsilon is so small that noise would not fit 64-bit integers")
    return found


def _forecast(
    variances: Variances, name: str, product: Product, parameters: dict[str, str]
) -> Forecast:
    purpose, strategy = variances.purpose, variances.strategy(product)
    scale, sampled = strategy.noise(purpose.epsilon).scale, variances.sampled(product)
    return Forecast.of(
        purpose,
        strategy,
        mechanism=name,
        parameters=parameters,
        mean=variances.mean(product),
        variances=sampled,
        worst=variances.worst(product, sampled),
        resources=_resources(product, scale, purpose.people),
        bound=range_bound(purpose.schema, product, scale),
    )


def _offers(variances: Variances) -> Iterator[Offer]:
    """The mechanisms, simple ones first, each with its best parameters."""
    purpose, attributes = variances.purpose, variances.purpose.schema.attributes
    listable = all("," not in a.name for a in attributes)  # in a setting that lists attributes
    plain = Product(tuple(Identity(a.size) for a in attributes))
    wavelets = Product(tuple(wavelet(a) for a in attributes))
    yield "basic", plain, {}
    yield "privelet", wavelets, {}
    pairs = [_distinct([w, p]) for w, p in zip(wavelets.axes, plain.axes, strict=True)]
    plus = best_product(variances, pairs, [plain, wavelets])
    named = [a.name for a, axis in zip(attributes, plus.axes, strict=True) if _is_plain(axis)]
    if listable:
        yield "privelet+", plus, {"identity": ",".join(named)}
    asked = [sets_along(purpose.workload, i) for i in range(len(attributes))]
    height = tent_height(purpose.schema.shape)
    every = [
        choices(a, sets, budgets=purpose.budgets, height=height)
        for a, sets in zip(attributes, asked, strict=True)
    ]
    starts = [plain, wavelets, plus]
    if all(map(has_trees, attributes)):
        grown = [
            _distinct([tree(a, along) for along in sets] or [tree(a)])
            for a, sets in zip(attributes, asked, strict=True)
        ]
        trees = best_product(variances, grown)
        if listable:
            yield "hierarchical", trees, _branching(purpose.schema, trees)
        every = [_distinct([*some, *more]) for some, more in zip(every, grown, strict=True)]
        starts.append(trees)
    mixed = best_product(variances, every, starts)
    described = zip(attributes, mixed.axes, strict=True)
    yield "mixed", mixed, {a.name: describe(axis) for a, axis in described}


def _distinct(axes: list[AxisTransform]) -> list[AxisTransform]:
    return list(dict.fromkeys(axes))


def _is_plain(axis: AxisTransform) -> bool:
    return isinstance(axis, Identity)


def _branching(schema: Schema, product: Product) -> dict[str, str]:
    """The setting of `hierarchical` that makes these trees; own hierarchies need none."""
    parts = []
    for attribute, axis in zip(schema.attributes, product.axes, strict=True):
        if isinstance(axis, Tree) and axis.radices is not None:
            parts.append(f"{attribute.name}:{'x'.join(map(str, axis.radices))}")
        elif isinstance(axis, Identity) and axis.size > 1:
            parts.append(f"{attribute.name}:{axis.size}")
    return {"branching": ",".join(parts)} if parts else {}


def _resources(transform: Product, scale: Fraction, people: int | None) -> Resources:
    """What a dense release of a transform takes; unknown numbers of people count as a million."""
    coefficients, rows = transform.cells, people if people is not None else 10**6
    # Of 10⁸ noises the largest is about 18 times the scale; wavelets multiply counts by fan-outs.
    reach = rows + 18 * float(scale) * max(float(factor) for _, factor in transform.blocks())
    width = next(width for width in (1, 2, 4, 8) if reach < 2 ** (8 * width - 1) or width == 8)
    seconds = _START + _PER_COEFFICIENT * coefficients + _PER_ROW * rows
    return Resources(8 * coefficients, width * coefficients, seconds)
