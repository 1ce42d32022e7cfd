"""Tables with a known network behind them, and how to publish them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable
from hushtable.auditing.transcript import NoNoise
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.network.ask.privbayes import PrivBayes
from hushtable.families.network.network import Network
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.curator import Curator
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.release import Release
from hushtable.release.store import Content
from hushtable.schema import Hierarchy, IntegerRange, Schema, Unit, nominal, ordinal


def binary_schema(attributes: int, **options: Any) -> Schema:
    names = (f"x{i}" for i in range(attributes))
    columns = tuple(nominal(name, Hierarchy.flat(["no", "yes"])) for name in names)
    return Schema("bits", Fraction(10**9), columns, **options)


def chain(rows: int, attributes: int, seed: int = 1) -> CodedColumns:
    """Each attribute mostly repeats the one before it."""
    random = np.random.default_rng(seed)
    columns = [random.integers(0, 2, rows)]
    for _ in range(attributes - 1):
        columns.append(columns[-1] ^ (random.random(rows) < 0.1))
    return CodedColumns((2,) * attributes, tuple(c.astype(np.uint8) for c in columns))


def mixed_schema(**options: Any) -> Schema:
    tree = {"office": ["clerk", "boss"], "field": ["farmer", "driver", "miner"]}
    return Schema(
        "people",
        Fraction(10**9),
        (
            ordinal("age", IntegerRange(0, 39)),
            nominal("job", Hierarchy.from_tree(tree), outside="other"),
            nominal("sex", Hierarchy.flat(["F", "M"])),
            ordinal("grade", IntegerRange(1, 4)),
        ),
        **options,
    )


def mixed(rows: int, seed: int = 1) -> CodedColumns:
    """The job depends on the decade of the age, the grade on job and sex."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 40, rows)
    job = (age // 10 + (random.random(rows) < 0.3)) % 6
    sex = random.integers(0, 2, rows)
    grade = (job + 2 * sex + (random.random(rows) < 0.2)) % 4
    return CodedColumns((40, 6, 2, 4), tuple(c.astype(np.uint8) for c in (age, job, sex, grade)))


def curator_of(data: CodedColumns, schema: Schema, epsilon: Any, noise: Any = None) -> Curator:
    return Curator(
        data,
        exposure=schema.exposure,
        account=Account(Fraction(epsilon)),
        noise=NoNoise() if noise is None else noise,
    )


def measured(
    data: CodedColumns, schema: Schema, epsilon: Any, *, seed: int | None = None, **settings: Any
) -> tuple[Content, Network, Curator]:
    """What the mechanism makes of a table: without noise, or with a seed's."""
    noise = None if seed is None else EntropyNoise(SeededEntropy(seed))
    curator = curator_of(data, schema, epsilon, noise)
    chosen = {key: str(value) for key, value in settings.items()}
    PrivBayes().check(schema, epsilon=Fraction(epsilon), settings=chosen)
    content = PrivBayes().measure(curator, schema, epsilon=Fraction(epsilon), settings=chosen)
    return content, Network.from_dict(schema, content.parameters["network"]), curator


def as_table(data: CodedColumns, schema: Schema) -> pa.Table:
    """Codes as the values that the schema reads."""
    return pa.table(
        {
            attribute.name: pa.array([str(attribute.label(int(c)) or "?") for c in column])
            for attribute, column in zip(schema.attributes, data.columns, strict=True)
        }
    )


def publish(
    folder: Path, data: Any, schema: Schema, epsilon: Any, name: str = "r", **options: Any
) -> Release:
    return hushtable.publish(
        as_table(data, schema) if isinstance(data, CodedColumns) else data,
        schema,
        epsilon=epsilon,
        out=folder / f"{name}.release",
        ledger=folder / "ledger",
        mechanism="privbayes",
        **options,
    )


__all__ = ["Unit", "as_table", "binary_schema", "chain", "curator_of", "measured", "mixed"]
