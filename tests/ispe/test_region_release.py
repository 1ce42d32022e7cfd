"""Releases of cells and regions: made, opened, asked; and folders that lie."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_sizes import some_of

import hushtable
from hushtable.auditing.transcript import NoNoise, Recorder
from hushtable.errors import OptionError, QueryError, ReleaseError
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import random_ranges
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.families.regions.ask.growing import Split
from hushtable.families.regions.ask.ispe import SHARE, IspeParameters
from hushtable.families.regions.ask.kdtree import kd_boxes, numbered
from hushtable.families.regions.posterior import PosteriorLaw
from hushtable.generators import continuous
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.batch import range_boxes
from hushtable.release import Release
from hushtable.release.store import write_arrays
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

JOBS = Hierarchy.from_tree({"office": ["clerk", "boss"], "field": ["a", "b", "c"]})
SCHEMA = Schema(
    "mixed",
    Fraction(100),
    attributes=(
        ordinal("age", IntegerRange(0, 11)),
        nominal("job", JOBS, outside="other"),
        ordinal("pay", IntegerRange(0, 4)),
    ),
)
MECHANISMS = ["ispe", "kdtree"]
both = pytest.mark.parametrize("mechanism", MECHANISMS)


def some_counts(schema: Schema = SCHEMA, seed: int = 1) -> Counts:
    random = np.random.default_rng(seed)
    cells = random.poisson(random.choice([0.2, 5, 40], schema.shape)).reshape(-1)
    codes = np.flatnonzero(cells)
    return Counts(schema.shape, codes, cells[codes])


def release_of(
    folder: Path, mechanism: str = "ispe", epsilon: str = "1", **settings: str
) -> Release:
    return experiment_release(
        some_counts(),
        SCHEMA,
        folder / f"{mechanism}{len(list(folder.iterdir()))}",
        mechanism=mechanism,
        settings=settings,
        epsilon=epsilon,
        entropy=SeededEntropy(3),
    )


# ── what is paid and measured ────────────────────────────────────────────────────────────────────


@both
@pytest.mark.parametrize("alpha1", [None, "0.1", "0.29"])
def test_both_histograms_cost_epsilon_together(mechanism: str, alpha1: str | None) -> None:
    epsilon = Fraction(3, 10)
    account, recorder = Account(epsilon), Recorder(NoNoise())
    curator = Curator(some_counts(), exposure=SCHEMA.exposure, account=account, noise=recorder)
    settings = {} if alpha1 is None else {"alpha1": alpha1}
    content = find_mechanism(mechanism).measure(curator, SCHEMA, epsilon=epsilon, settings=settings)
    assert account.spent == epsilon
    first, second = recorder.draws
    assert 1 / first.scale + 1 / second.scale == epsilon
    assert first.exact.size == math.prod(SCHEMA.shape)
    assert second.exact.size == len(content.arrays["counts"])
    assert second.exact.sum() == first.exact.sum()
    if alpha1 is not None:
        assert 1 / first.scale == Fraction(alpha1)
    told = content.parameters
    assert Fraction(told["alpha1"]) + Fraction(told["alpha2"]) == epsilon
    assert content.noise["scale"] == str(first.scale)
    assert content.noise["region_scale"] == str(second.scale)


@both
def test_the_ledger_is_charged_once_for_all_of_it(tmp_path: Path, mechanism: str) -> None:
    schema = tmp_path / "s.toml"
    Schema("small", Fraction(2), attributes=(ordinal("x", IntegerRange(0, 9)),)).save(schema)
    table = tmp_path / "t.csv"
    table.write_text("x\n" + "\n".join(str(i % 7) for i in range(90)) + "\n")
    hushtable.publish(table, schema, epsilon="0.75", mechanism=mechanism, out=tmp_path / "r")
    from hushtable.publishing import open_ledger

    assert open_ledger(Schema.load(schema), None).state().spent == Fraction(3, 4)


@both
def test_regions_follow_from_the_noisy_cells_alone(mechanism: str) -> None:
    """Two tables that were answered alike have the same regions."""
    noise, contents = SeededEntropy(5), []
    from hushtable.kernel.noise.bulk import EntropyNoise

    recorder = Recorder(EntropyNoise(noise))
    epsilon = Fraction(1)
    from hushtable.auditing.transcript import Replay

    for seed, source in ((1, recorder), (2, None)):
        account = Account(epsilon)
        used = source or Replay(recorder.draws, account)
        curator = Curator(
            some_counts(seed=seed), exposure=SCHEMA.exposure, account=account, noise=used
        )
        contents.append(
            find_mechanism(mechanism).measure(curator, SCHEMA, epsilon=epsilon, settings={})
        )
    one, two = contents
    assert np.array_equal(one.arrays["regions"], two.arrays["regions"])
    assert one.parameters == two.parameters


def test_alpha1_is_less_than_epsilon() -> None:
    assert Split.of({}, Fraction(2), SHARE) == Split(2 * SHARE, 2 - 2 * SHARE)
    for bad in ("1", "2", "0", "-1", "x"):
        with pytest.raises(OptionError):
            Split.of({"alpha1": bad}, Fraction(1), SHARE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("xi", "-1"),
        ("xi", "nan"),
        ("d", "1001"),
        ("sigma", "0"),
        ("iterations", "1.5"),
        ("iterations", "x"),
        ("smoothing", "none"),
        ("prior", "normal"),
        ("likelihood", "x"),
        ("reference", "yes"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_spent(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=name):
        find_mechanism("ispe").check(SCHEMA, epsilon=Fraction(1), settings={name: value})


def test_defaults_follow_the_noise() -> None:
    """Twice the noise, twice ξ; without noise no smoothing, and only equal cells are alike."""
    one, two = (IspeParameters.of(SCHEMA, {}, DiscreteLaplace(Fraction(s))) for s in (40, 80))
    assert two.xi / one.xi == pytest.approx(2, rel=1e-3)
    quiet = IspeParameters.of(SCHEMA, {}, DiscreteLaplace(Fraction(1, 1000)))
    assert (quiet.iterations, quiet.xi) == (0, 0.5)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


@both
@pytest.mark.parametrize("intervals", ["promised", "posterior"])
@pytest.mark.parametrize(
    "options", some_of([{}, {"reference": False}, {"prior": "non-negative"}], [{}])
)
def test_many_ranges_agree_with_each_by_itself(
    tmp_path: Path, mechanism: str, options: dict[str, Any], intervals: str
) -> None:
    release = release_of(tmp_path, mechanism, "0.5").reading(intervals=intervals, **options)
    ranges = random_ranges(SCHEMA, 60, seed=4)
    starts, stops = ranges.starts.copy(), ranges.stops.copy()
    starts[:20] = np.random.default_rng(1).integers(0, SCHEMA.shape, (20, 3))
    stops[:20] = starts[:20] + 1  # cells
    stops[20] = starts[20]  # nothing at all
    starts[21:24], stops[21:24] = 0, SCHEMA.shape
    starts[21, 0] = 1  # nearly everything, and everything
    values, errors = release.count_ranges(starts, stops)
    _, low, high = release.range_intervals(starts, stops, confidence=0.9)
    for i, box in enumerate(range_boxes(starts, stops)):
        value, law = release.reader.count((box,))
        assert values[i] == pytest.approx(value, abs=1e-6 + 0.02 * errors[i])
        assert law.estimate == release.estimate == (intervals == "posterior")
        assert errors[i] == pytest.approx(math.sqrt(law.variance), rel=0.02, abs=1e-6)
        below, above = law.margins(0.9)
        assert low[i] == pytest.approx(value - below, abs=1.1 + 0.05 * errors[i])
        assert high[i] == pytest.approx(value + above, abs=1.1 + 0.05 * errors[i])


def test_parts_that_cross_are_found_by_lists_and_by_tables(tmp_path: Path) -> None:
    """Many boxes over few regions are answered from tables; few by comparing cells."""
    release = release_of(tmp_path, "ispe", "0.2", xi="30", reference="off", alpha1="0.1")
    ranges = random_ranges(SCHEMA, 4000, seed=5)
    reader = release.reading(intervals="posterior").reader
    many = reader.ranges(ranges.starts, ranges.stops)
    for i in range(0, 200, 10):
        few = reader.ranges(ranges.starts[i : i + 10], ranges.stops[i : i + 10])
        assert many[0][i : i + 10] == pytest.approx(few[0], rel=1e-9)
        assert many[1][i : i + 10] == pytest.approx(few[1], rel=1e-9)


@both
def test_grouped_answers_are_those_of_each_group(tmp_path: Path, mechanism: str) -> None:
    release = release_of(tmp_path, mechanism)
    table = release.sql("SELECT job, COUNT(*) FROM mixed WHERE age < 7 OR pay = 2 GROUP BY job")
    lower, upper = table.bounds
    for i, (job, value) in enumerate(zip(table.groups["job"], table.values, strict=True)):
        where = "job IS NULL" if job is None else f"job = '{job}'"
        answer = release.count(f"({where}) AND (age < 7 OR pay = 2)")
        assert value == pytest.approx(answer.value)
        assert (lower[i], upper[i]) == pytest.approx(answer.interval(0.95))


@both
def test_cells_are_the_answers_for_each_cell(tmp_path: Path, mechanism: str) -> None:
    for options in ({}, {"reference": False}, {"likelihood": "plain", "intervals": "posterior"}):
        release = release_of(tmp_path, mechanism).reading(**options)
        cells = release.cells()
        assert cells.shape == SCHEMA.shape
        for age, pay in ((0, 0), (5, 2), (11, 4)):
            answer = release.count(f"age = {age} AND pay = {pay} AND job = 'boss'")
            code = JOBS.leaves.index("boss")
            assert cells[age, code, pay] == pytest.approx(answer.value, abs=0.01 * answer.stderr)
            errors = release.cell_stderrs([np.array([age]), np.array([code]), np.array([pay])])
            assert errors[0] == pytest.approx(answer.stderr, rel=0.01)


def test_the_assumption_of_equal_cells_is_said_with_the_answer(tmp_path: Path) -> None:
    release = release_of(tmp_path, "ispe", "0.004", xi="100000")
    cell = "age = 3 AND pay = 2 AND job = 'a'"
    assert "equal to adjacent cells" in release.count(cell).note
    table = release.sql(f"SELECT age, COUNT(*) FROM mixed WHERE {cell} GROUP BY age")
    assert "equal to adjacent cells" in table.note
    assert "equal" not in release.count("age = 3").note
    plain = release.reading(reference=False)
    assert "equal" not in plain.count(cell).note
    close, far = (reading.reading(intervals="posterior") for reading in (release, plain))
    assert close.count(cell).stderr < far.count(cell).stderr / 1.3
    assert "none negative" in release.reading(prior="non-negative").count("age = 3").note


def test_a_skewed_posterior_has_a_skewed_interval(tmp_path: Path) -> None:
    release = release_of(tmp_path, "ispe", "0.05", reference="off", prior="non-negative")
    release = release.reading(intervals="posterior")
    cells = [f"age = {a} AND pay = {p} AND job = 'b'" for a in range(12) for p in range(5)]
    answers = [release.count(cell) for cell in cells]
    assert all(answer.interval()[0] >= 0 for answer in answers)
    skewed = [a for a in answers if a.interval()[1] - a.value > 1.5 * (a.value - a.interval()[0])]
    assert len(skewed) > 10
    for answer in skewed:
        assert isinstance(answer.law, PosteriorLaw)
        above = answer.interval()[1] - answer.value
        assert answer.law.half_width(0.95) == pytest.approx(above, abs=2e-4)  # but for rounding


@pytest.mark.parametrize("mechanism", some_of(MECHANISMS, ["ispe"]))
def test_intervals_cover_over_many_releases(tmp_path: Path, mechanism: str) -> None:
    """Also by the posterior, at the default settings, without reference to adjacent cells."""
    counts = some_counts()
    dense = np.zeros(math.prod(SCHEMA.shape))
    dense[counts.codes] = counts.counts
    ranges = random_ranges(SCHEMA, 25, seed=8)
    from hushtable.evaluation.range_queries import true_counts

    truth, tries = true_counts(counts, ranges), 25
    covered = {"promised": 0.0, "posterior": 0.0}
    for seed in range(tries):
        release = experiment_release(
            counts,
            SCHEMA,
            tmp_path / f"{seed}",
            mechanism=mechanism,
            settings={"reference": "off"},
            epsilon="0.4",
            entropy=SeededEntropy(seed),
        )
        for kind in covered:
            reading = release.reading(intervals=kind)
            _, low, high = reading.range_intervals(ranges.starts, ranges.stops, confidence=0.8)
            covered[kind] += int(((low <= truth) & (truth <= high)).sum()) / (tries * 25)
    assert 0.72 < covered["posterior"] < 0.9
    assert 0.8 < covered["promised"] < 0.95


def test_exports_and_synthetic_rows_work(tmp_path: Path) -> None:
    release = release_of(tmp_path, "ispe")
    assert release.synthesize(50, seed=1).num_rows == 50
    assert release.number_of_rows() == pytest.approx(int(some_counts().counts.sum()), rel=0.2)
    release.verify()


def test_other_releases_have_one_way_to_be_read(tmp_path: Path) -> None:
    release = release_of(tmp_path, "basic")
    with pytest.raises(QueryError, match="only one way"):
        release.reading(prior="non-negative")
    with pytest.raises(QueryError, match="no 'seed'"):
        release_of(tmp_path, "ispe").reading(seed=1)
    with pytest.raises(QueryError, match="prior must be"):
        release_of(tmp_path, "ispe").reading(prior="x")
    ranges = random_ranges(SCHEMA, 5, seed=1)
    values, low, high = release.range_intervals(ranges.starts, ranges.stops)
    for i, box in enumerate(range_boxes(ranges.starts, ranges.stops)):
        value, law = release.reader.count((box,))
        assert (values[i], high[i] - low[i]) == (value, 2 * law.half_width(0.95))


# ── the kd-tree ──────────────────────────────────────────────────────────────────────────────────


def test_a_kd_tree_cuts_where_the_counts_change() -> None:
    cells = np.zeros((8, 10), np.int64)
    cells[:3, 4:] = 50
    boxes = list(kd_boxes(cells, 1.0))
    assert len(boxes) <= 4
    labels = numbered(iter(boxes), cells.shape)
    for number in range(labels.max() + 1):
        assert len(np.unique(cells[labels == number])) == 1
    assert len(list(kd_boxes(cells, 1e9))) == 1


def test_the_gain_of_a_cut_is_what_the_two_means_explain() -> None:
    from hushtable.families.regions.ask.kdtree import _best_cut

    values = np.random.default_rng(1).integers(0, 50, (5, 4, 3))
    axis, place, gain = _best_cut(values)
    total = ((values - values.mean()) ** 2).sum()
    explained = {}
    for i, size in enumerate(values.shape):
        for cut in range(1, size):
            left, right = np.split(values, [cut], axis=i)
            rest = sum(((half - half.mean()) ** 2).sum() for half in (left, right))
            explained[i, cut] = total - rest
    best = max(explained, key=explained.__getitem__)
    assert (axis, place) == best and gain == pytest.approx(explained[best])


def test_equal_cells_are_hardly_ever_cut(tmp_path: Path) -> None:
    made = continuous(10, side=32)
    empty = Counts(made.schema.shape, np.zeros(0, np.int64), np.zeros(0, np.int64))
    pieces = []
    for seed in range(10):
        release = experiment_release(
            empty,
            made.schema,
            tmp_path / str(seed),
            mechanism="kdtree",
            epsilon="1",
            entropy=SeededEntropy(seed),
        )
        pieces.append(release.arrays["counts"].shape[0])
    assert sorted(pieces)[7] == 1


# ── folders that lie ─────────────────────────────────────────────────────────────────────────────


def _broken(folder: Path, change: Any) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["arrays"].pop("counts"),
        lambda m: m["noise"].pop("region_scale"),
        lambda m: m["noise"].update(region_scale="0"),
        lambda m: m["noise"].update(scale=3),
        lambda m: m["parameters"].pop("prior"),
        lambda m: m["parameters"].update(prior=["uniform"]),
        lambda m: m["parameters"].update(likelihood="none"),
        lambda m: m["parameters"].update(reference=True),
        lambda m: m["parameters"].update(neighbours="x"),
        lambda m: m["parameters"].update(d=-1),
        lambda m: m["parameters"].update(d="1"),
        lambda m: m["parameters"].update(d=1e9),
        lambda m: m["parameters"].update(d=True),
        lambda m: m["arrays"]["counts"].update(shape=[0]),
        lambda m: m["arrays"]["counts"].update(shape=[10**9]),
        lambda m: m["arrays"]["counts"].update(shape=[1, 1]),
        lambda m: m["arrays"]["counts"].update(shape=None),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path, change: Any) -> None:
    folder = release_of(tmp_path).folder
    _broken(folder, change)
    with pytest.raises(ReleaseError):
        hushtable.open(folder)


def _with_regions(folder: Path, labels: np.ndarray) -> Release:
    (folder / "regions.npy").unlink()
    entry = write_arrays(folder, {"regions": labels.astype(np.int64)})
    _broken(folder, lambda manifest: manifest["arrays"].update(entry))
    return hushtable.open(folder)


def test_region_numbers_are_checked(tmp_path: Path) -> None:
    release = release_of(tmp_path)
    labels = np.array(release.arrays["regions"].read())
    top = int(labels.max())
    for wrong, what in (
        (np.where(labels == top, -1, labels), "not counted"),
        (np.where(labels == 0, top + 1, labels), "not counted"),
        (np.where(labels == 1, 0, labels), "has no cell"),
    ):
        with pytest.raises(ReleaseError, match=what):
            _with_regions(release.folder, wrong).count()


def test_regions_of_several_pieces_are_noticed_where_it_matters(tmp_path: Path) -> None:
    release = release_of(tmp_path)
    labels = np.array(release.arrays["regions"].read())
    random = np.random.default_rng(1)
    mixed = random.permutation(labels.reshape(-1)).reshape(labels.shape)
    broken = _with_regions(release.folder, mixed)
    assert math.isfinite(
        broken.count("age < 5").value
    )  # looked at cell by cell: right all the same
    ranges = random_ranges(SCHEMA, 600, seed=1)
    with pytest.raises(ReleaseError, match="hang together"):
        broken.count_ranges(ranges.starts, ranges.stops)


def test_absurd_values_give_finite_answers(tmp_path: Path) -> None:
    release = release_of(tmp_path)
    folder = release.folder
    for name in ("cells", "counts"):
        values = np.array(release.arrays[name].read(), np.int64)
        values.reshape(-1)[0] = 2**62
        (folder / f"{name}.npy").unlink()
        entry = write_arrays(folder, {name: values})
        _broken(folder, lambda manifest, entry=entry: manifest["arrays"].update(entry))
    answer = hushtable.open(folder).count("age < 3")
    assert math.isfinite(answer.value) and all(map(math.isfinite, answer.interval()))


# ── whether adjacent cells may be equal ──────────────────────────────────────────────────────────


def test_adjacent_cells_that_differ_by_more_than_noise_are_not_referred_to() -> None:
    from hushtable.families.regions.adjacency import Adjacency
    from hushtable.families.regions.crossing import RegionLayout
    from hushtable.families.regions.posterior import Estimator
    from hushtable.families.regions.reference import Alike, credible_cells

    random = np.random.default_rng(1)
    cells = random.laplace(0, 5, (40, 40)).round()
    cells[:, 20:] += 20 * (np.indices((40, 20)).sum(axis=0) % 2)  # a chessboard of ±10
    labels = np.zeros((40, 40), np.int64)
    labels[:, 20:] = 1
    layout = RegionLayout(cells, labels, np.array([0, 8000]))
    adjacency = Adjacency.in_order((40, 40))
    credible = credible_cells(
        layout, adjacency, Estimator(DiscreteLaplace(Fraction(5)), DiscreteLaplace(Fraction(5)))
    )
    credible = credible.reshape(40, 40)
    assert credible[:, :16].mean() > 0.9 and not credible[:, 24:].any()
    alike = Alike.of(layout, adjacency, np.array([45, 0, 75, 70]), credible.reshape(-1))
    assert alike.count.tolist() == [5, 3, 1, 1]
    assert alike.siblings.tolist() == [795, 797, 799, 799]
    assert alike.rest[0] == pytest.approx(
        -cells[:, :20].sum() + cells[1, 4:7].sum() + cells[0, 5] + cells[2, 5]
    )
    quiet = Estimator(DiscreteLaplace(Fraction(1, 2)), DiscreteLaplace(Fraction(5)))
    assert not credible_cells(layout, adjacency, quiet).any()


def test_hundreds_of_siblings_are_not_looked_at(tmp_path: Path) -> None:
    values = Hierarchy.flat([f"v{i}" for i in range(90)])
    schema = Schema("flat", Fraction(1), attributes=(nominal("v", values),))
    release = experiment_release(
        some_counts(schema),
        schema,
        tmp_path / "r",
        mechanism="ispe",
        epsilon="0.01",
        settings={"xi": "100000"},
        entropy=SeededEntropy(1),
    )
    assert release.arrays["counts"].shape == (1,)
    assert "equal" not in release.count("v = 'v3'").note
    assert np.array_equal(release.cells(), release.reading(reference=False).cells())


def test_cells_in_lots_are_the_same_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hushtable.families.regions import read as regions
    from hushtable.families.regions import reference

    release = release_of(tmp_path, "ispe", "0.02", xi="10000")
    whole = release.cells()
    monkeypatch.setattr(regions, "_SEEN", 200)
    monkeypatch.setattr(reference, "_LOT", 1)
    assert release.cells() == pytest.approx(whole)
