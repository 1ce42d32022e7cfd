"""No neighbour loses more than ε, selections included; and each known mistake of others is caught.

The mistakes are those of published implementations of this mechanism; each test names one.
"""

from __future__ import annotations

import ast
import inspect
import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import binary_schema, chain, curator_of, measured, mixed, mixed_schema, publish

from hushtable.auditing.privacy_check import check_mechanism
from hushtable.auditing.small_tables import Holdings, Row
from hushtable.auditing.transcript import ChoiceDraw, LaplaceDraw, NoNoise, Recorder, Replay
from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.network import network as networks
from hushtable.families.network.about import PRIVBAYES
from hushtable.families.network.ask import privbayes
from hushtable.families.network.ask.privbayes import PrivBayes
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.curator import network_scores
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import NEIGHBOURS
from hushtable.schema import Labels, Schema, Unit, ordinal

relations = pytest.mark.parametrize("neighbours", NEIGHBOURS)

PAIR = (ordinal("x", Labels(("a", "b"))), ordinal("y", Labels(("0", "1", "2")), outside="other"))
BITS = tuple(ordinal(name, Labels(("0", "1"))) for name in "xyz")
ROWS: list[Row] = [("a", "0"), ("b", "2"), ("b", "?"), ("?", "1")]
BIT_ROWS: list[Row] = [("0", "0", "1"), ("1", "1", "0"), ("0", "1", "1"), ("?", "1", "1")]


@cache
def holdings(attributes: Any, unit: Any) -> Holdings:
    """Counting knows neither the relation nor the settings: every table is coded once."""
    return Holdings(Schema("small", Fraction(100), attributes, unit=unit))


def check(
    attributes: Any, neighbours: Any, people: list[Row], unit: Any = None, **settings: str
) -> Any:
    schema = Schema("small", Fraction(100), attributes, neighbours=neighbours, unit=unit)
    return check_mechanism(
        PrivBayes(),
        schema,
        epsilon="0.6",
        settings=settings,
        rows=people,
        holdings=holdings(attributes, unit),
    )


@relations
@pytest.mark.parametrize("score", ["R", "I", "F"])
def test_no_neighbour_loses_more_than_epsilon(neighbours: Any, score: str) -> None:
    """With a declared number of rows, so that there is something to choose even in tiny tables."""
    report = check(BITS, neighbours, BIT_ROWS, rows="100", score=score, beta="0.5")
    assert report.holds, (report.problem, report.example)
    assert report.worst > Fraction("0.3")


@relations
def test_nor_with_several_rows_for_a_person(neighbours: Any) -> None:
    report = check(PAIR, neighbours, ROWS[2:], unit=Unit("id", 2), rows="100", beta="0.5")
    assert report.holds, (report.problem, report.example)


@pytest.mark.parametrize("neighbours", ["add-remove"])
def test_nor_when_the_number_of_rows_is_asked_for(neighbours: Any) -> None:
    report = check(PAIR, neighbours, ROWS, theta="0.001")
    assert report.holds, (report.problem, report.example)


def replayed(one: CodedColumns, other: CodedColumns, schema: Schema, **settings: Any) -> Any:
    """The loss of what one table led to, against another; by the same noisy answers."""
    recorder = Recorder(NoNoise())
    chosen = {key: str(value) for key, value in settings.items()}
    ask = {"epsilon": Fraction(2), "settings": chosen}
    first = PrivBayes().measure(curator_of(one, schema, 2, recorder), schema, **ask)
    replay = Replay(recorder.draws, Account(Fraction(2)))
    second = PrivBayes().measure(curator_of(other, schema, 2, replay), schema, **ask)
    replay.finish()
    assert first.parameters == second.parameters
    assert all(np.array_equal(first.arrays[k], second.arrays[k]) for k in first.arrays)
    choices = [draw for draw in recorder.draws if isinstance(draw, ChoiceDraw)]
    return replay.loss, len(choices)


@relations
@pytest.mark.parametrize("score", ["R", "I"])
def test_nor_on_tables_of_real_size(neighbours: Any, score: str) -> None:
    """Hundreds of candidates, four attributes with levels: a row more, less, or another."""
    data, schema = mixed(400), mixed_schema(neighbours=neighbours)
    columns = data.columns
    for place, row in ((0, (39, 5, 1, 3)), (7, (0, 0, 0, 0)), (9, (12, 4, 1, 0))):
        kept = slice(None) if neighbours == "add-remove" else np.arange(400) != place
        changed = tuple(np.append(c[kept], np.uint8(v)) for c, v in zip(columns, row, strict=True))
        other = CodedColumns(data.shape, changed)
        for one, two in ((data, other), (other, data)):
            loss, choices = replayed(one, two, schema, score=score, theta="0.2")
            assert choices == 3 and 0 < loss <= 2


# ── the mistakes of others ───────────────────────────────────────────────────────────────────────


def laplace_draws(schema: Schema, data: CodedColumns, **settings: Any) -> list[LaplaceDraw]:
    recorder = Recorder(NoNoise())
    chosen = {key: str(value) for key, value in settings.items()}
    PrivBayes().measure(
        curator_of(data, schema, 1, recorder), schema, epsilon=Fraction(1), settings=chosen
    )
    return [draw for draw in recorder.draws if isinstance(draw, LaplaceDraw)]


def test_1_noise_for_probabilities_is_not_put_on_counts() -> None:
    """Scales are free of n: a table of counts with a hundred times the rows has the same noise."""
    schema = binary_schema(5)
    few, many = (
        laplace_draws(schema, chain(rows, 5), rows=3000, degree=1) for rows in (300, 30_000)
    )
    assert [draw.scale for draw in few] == [draw.scale for draw in many]
    assert all(draw.scale > 1 for draw in few)
    assert many[0].exact.sum() == 30_000


def test_2_empty_cells_have_noise_too() -> None:
    schema = mixed_schema()
    constant = CodedColumns(schema.shape, tuple(np.zeros(2000, np.uint8) for _ in range(4)))
    content, network, _ = measured(constant, schema, "1", seed=1)
    for i, table in enumerate(network.measured):
        noisy = content.arrays[f"marginal_{i}"]
        assert noisy.shape == network.shape(table)
        assert np.mean(noisy != 0) > 0.5


def test_3_nothing_but_codes_is_taken_from_the_data() -> None:
    """Domain, levels and search are those of the schema, whatever values occur."""
    schema = mixed_schema()
    constant = CodedColumns(schema.shape, tuple(np.zeros(2000, np.uint8) for _ in range(4)))
    for data in (constant, mixed(2000), mixed(20)):
        content, network, _ = measured(data, schema, "1", seed=1, rows=2000, theta=1)
        assert content.parameters["rows"] == 2000
        assert content.parameters["useful_cells"] == 2000 * 17 // 20 // 4
        assert {table[-1][0] for table in network.measured} <= {0, 1, 2, 3}
    assert content.parameters["degree"] == 3


def test_4_no_part_of_the_budget_is_spent_twice() -> None:
    for settings in ({}, {"rows": 900}, {"degree": 0}, {"beta": "0.9"}):
        _, _, curator = measured(mixed(900), mixed_schema(), "1", **settings)
        assert curator.spent == 1 and curator.left == 0


def test_5_no_score_overflows() -> None:
    """Seven hundred is where exp does; these exponents are in the millions."""
    _, network, _ = measured(chain(30_000, 4), binary_schema(4), "10000", seed=1, degree=1)
    assert len(network.links) == 4


def test_6_there_is_no_normalised_information() -> None:
    assert (
        network_scores.Distance,
        network_scores.Information,
        network_scores.Assignment,
    ) == network_scores.MEASURES
    with pytest.raises(OptionError, match="score must be R, I or F"):
        PrivBayes().check(mixed_schema(), epsilon=Fraction(1), settings={"score": "NMI"})


def test_7_there_is_no_default_seed(tmp_path: Path) -> None:
    one, two = (publish(tmp_path, mixed(200), mixed_schema(), "1", name) for name in "ab")
    assert one.private and two.private
    assert (
        any(
            not np.array_equal(one.arrays[name].read(), two.arrays[name].read())
            for name in one.arrays.keys() & two.arrays.keys()
        )
        or one.manifest["parameters"] != two.manifest["parameters"]
    )
    assert "seed" not in {setting.name for setting in PRIVBAYES.settings}


def test_8_only_integers_leave() -> None:
    content, _, _ = measured(mixed(500), mixed_schema(), "1", seed=1)
    assert all(array.dtype == np.int64 for array in content.arrays.values())
    assert isinstance(content.parameters["rows"], int)


def test_9_k_comes_from_what_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true number of rows is reached through one noisy answer only."""
    asked = []
    original = privbayes.number_of_rows
    monkeypatch.setattr(
        privbayes, "number_of_rows", lambda *args: (asked.append(original(*args)), (50, None))[1]
    )
    small, _, _ = measured(mixed(100), mixed_schema(), "1")
    large, _, _ = measured(mixed(100_000), mixed_schema(), "1")
    assert small.parameters["useful_cells"] == large.parameters["useful_cells"]
    assert [rows for rows, _ in asked] == [100, 100_000]


def test_10_an_attribute_without_bounds_is_refused() -> None:
    """There is no attribute without declared values; one with too many is refused, not clamped."""
    from hushtable.schema import IntegerRange

    huge = Schema("huge", Fraction(1), (ordinal("x", IntegerRange(0, 10**6)),))
    with pytest.raises(OptionError, match=f"at most {networks.MOST_CODES:,} codes"):
        PrivBayes().check(huge, epsilon=Fraction(1), settings={})


def test_11_budgets_add_up_exactly() -> None:
    content, _, curator = measured(mixed(500), mixed_schema(), Fraction(3, 10))
    parts = [Fraction(content.parameters[f"epsilon_{p}"]) for p in ("rows", "network", "marginals")]
    assert sum(parts) == Fraction(3, 10) == curator.spent
    scales = [Fraction(scale) for scale in content.noise["scales"]]
    assert sum(1 / scale for scale in scales) == parts[2]


def test_12_nothing_is_pickled_and_the_code_has_no_floats_of_its_own() -> None:
    """The mechanism works in whole numbers and fractions; scores' floats are bounded in theirs."""
    tree = ast.parse(inspect.getsource(privbayes))
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert not any(isinstance(constant, float) for constant in constants)


def test_the_network_of_a_release_is_plain_text(tmp_path: Path) -> None:
    release = publish(tmp_path, mixed(500), mixed_schema(), "1")
    names = {path.suffix for path in release.folder.iterdir()}
    assert names == {".json", ".npy"}
    for path in release.folder.glob("*.npy"):
        np.load(path, allow_pickle=False)


@relations
def test_a_neighbour_changes_no_byte_that_has_no_noise(tmp_path: Path, neighbours: Any) -> None:
    """With the same noise and nothing to choose, the manifests of neighbours are the same."""
    schema, data = mixed_schema(neighbours=neighbours), mixed(60)
    changed = tuple(np.append(column[1:], [np.uint8(1), np.uint8(0)]) for column in data.columns)
    manifests, truths = [], []
    for name, held in (("one", data), ("two", CodedColumns(data.shape, changed))):
        settings = {"rows": 60, "degree": 0}
        entropy = SeededEntropy(5)
        made = publish(tmp_path, held, schema, "1", name, settings=settings, entropy=entropy)
        manifest = json.loads((made.folder / "manifest.json").read_bytes())
        for key in ("created", "reservation", "ledger"):
            del manifest[key]
        for array in manifest["arrays"].values():
            del array["sha256"], array["dtype"]
        manifests.append(manifest)
        truths.append({name: array.read().astype(int) for name, array in made.arrays.items()})
    assert manifests[0] == manifests[1]
    apart = [np.abs(truths[0][key] - truths[1][key]).sum() for key in truths[0]]
    assert 0 < max(apart) <= 3  # the noise was the same: this is the truth
