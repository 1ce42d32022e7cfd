"""A network as a release: questions, rows, files, pictures, and more cells than numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tables import as_table, binary_schema, chain, mixed, mixed_schema, publish

import hushtable
from hushtable.cli.main import run
from hushtable.errors import NoisyRowsWarning, OptionError, QueryError, ReleaseError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.network.inference import weights_of
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box
from hushtable.query.cutting import cells_by_group, held_by_group
from hushtable.release import Release
from hushtable.schema import Edges, Hierarchy, Schema, Unit, nominal, ordinal


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("people")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHTABLE_STATE", str(folder))
        return publish(folder, mixed(5000), mixed_schema(), "4", entropy=SeededEntropy(3))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Seventy attributes: 2⁷⁰ cells."""
    folder = tmp_path_factory.mktemp("wide")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHTABLE_STATE", str(folder))
        return publish(
            folder, chain(2000, 70), binary_schema(70), "200", entropy=SeededEntropy(3),
            settings={"degree": 1},
        )  # fmt: skip


def test_counts_come_with_errors_that_say_they_are_estimates(people: Release) -> None:
    data = mixed(5000)
    true = np.sum((data.columns[1] < 2) & (data.columns[2] == 0))
    answer = people.count("job = 'office' AND sex = 'F'")
    assert abs(answer.value - true) < 6 * answer.stderr + 100
    assert "estimate" in answer.note and answer.stderr > 0
    assert people.estimate and not people.count("sex = 'F'").estimate
    assert people.count("age < 10 AND age > 20").value == 0


def test_groups_add_up_to_the_total(people: Release) -> None:
    total = people.count().value
    for query in ("age", "job, sex", "LEVEL(job, 1), grade"):
        table = people.sql(f"SELECT {query}, COUNT(*) FROM people GROUP BY {query}")
        assert table.values.sum() == pytest.approx(total)
        assert (table.stderr > 0).all()


def test_errors_cover_the_noise(tmp_path: Path) -> None:
    """Over many seeds the spread of answers is about what the delta method says."""
    schema, data = mixed_schema(), mixed(4000)
    from tables import measured

    from hushtable.families.network.fit import fit
    from hushtable.families.network.network import Network
    from hushtable.families.network.read import NetworkReader
    from hushtable.query.sql import parse_where

    fixed = {"degree": 0, "rows": 4000}  # always the same network
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(60):
        content, network, _ = measured(data, schema, "1", seed=seed, **fixed)
        assert isinstance(network, Network)
        noises = [DiscreteLaplace(Fraction(scale)) for scale in content.noise["scales"]]
        tables = [content.arrays[f"marginal_{i}"] for i in range(4)]
        fitted = fit(network, tables, noises=noises, rows=4000, rows_noise=None)
        reader = NetworkReader(network, lambda fitted=fitted: fitted)
        for where in ("age < 20", "job = 'field'", "sex = 'F' AND grade > 2"):
            boxes = parse_where(where, schema)
            weights = [weights_of(reader.network.schema.shape, box, (), ()) for box in boxes]
            found.setdefault(where, []).append(
                (reader.count(boxes)[0], reader._estimate(weights, 1)[1][0])
            )
    for where, pairs in found.items():
        values, variances = np.array(pairs).T
        ratio = values.std() / np.sqrt(variances.mean())
        assert 0.4 < ratio < 1.6, (where, ratio)  # 60 draws: the spread is known to a tenth


def test_two_to_the_seventy_cells(wide: Release) -> None:
    assert wide.schema.cells == 2**70 > 2**63
    total = wide.count().value
    assert total == pytest.approx(2000, rel=0.05)
    both = wide.count("x0 = 'yes' AND x1 = 'yes'").value
    assert both == pytest.approx(2000 * 0.45, rel=0.2)
    every = " AND ".join(f"x{i} = 'yes'" for i in range(70))
    assert 0 <= wide.count(every).value < 20
    table = wide.sql("SELECT x3, x4, COUNT(*) FROM bits GROUP BY x3, x4")
    assert len(table) == 4 and table.values.sum() == pytest.approx(total)
    values, errors = wide.count_ranges(np.zeros((200, 70), int), np.full((200, 70), 2))
    assert np.allclose(values, total) and (errors > 0).all()
    with pytest.raises(QueryError, match=r"10\^21 cells"):
        wide.cells()
    assert wide.cell_stderr >= 0
    rows = wide.synthesize(1000, seed=1)
    assert rows.shape == (1000, 70)


def test_far_attributes_of_a_chain_are_still_answered(wide: Release) -> None:
    """x0 and x69 are linked by 69 links: all of them are summed out."""
    assert wide.count("x0 = 'yes' AND x69 = 'no'").value == pytest.approx(500, rel=0.4)


def test_held_groups_are_those_with_cells() -> None:
    boxes = (Box.full((3, 4)),)
    groups = [(0, [(0, 1), (1, 1)]), (1, [(0, 2), (2, 4)])]
    assert (held_by_group(boxes, groups) == (cells_by_group(boxes, groups) > 0)).all()
    huge = (Box.full((2,) * 100),)
    assert held_by_group(huge, [(0, [(0, 1), (1, 2)])]).tolist() == [True, True]


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def test_rows_have_the_schema_s_values(tmp_path: Path) -> None:
    schema = Schema(
        "few",
        Fraction(100),
        (
            ordinal("income", Edges((0, 10, 25, 100)), outside="other"),
            nominal("sex", Hierarchy.flat(["F", "M"])),
        ),
    )
    codes = (np.array([0, 1, 2, 3] * 50, np.uint8), np.array([0, 1] * 100, np.uint8))
    release = publish(tmp_path, _binned(CodedColumns((4, 2), codes)), schema, "50")
    rows = release.synthesize(4000, seed=4)
    income = rows["income"].to_numpy(zero_copy_only=False)
    known = income[~np.isnan(income)]
    assert known.min() >= 0 and known.max() < 100 and len(set(known.tolist())) > 50
    assert np.isnan(income).mean() == pytest.approx(0.25, abs=0.08)
    shares = np.histogram(known, [0, 10, 25, 100])[0] / 4000
    assert np.allclose(shares, 0.25, atol=0.08)
    assert set(rows["sex"].to_pylist()) == {"F", "M"}


def _binned(data: CodedColumns) -> Any:
    import pyarrow as pa

    values = ["5", "12.5", "99", "none"]
    return pa.table(
        {
            "income": [values[code] for code in data.columns[0]],
            "sex": ["FM"[code] for code in data.columns[1]],
        }
    )


def test_rows_follow_the_marginals(people: Release) -> None:
    rows = people.synthesize(50_000, seed=9)
    table = people.table("job", "grade")
    pairs = list(zip(rows["job"].to_pylist(), rows["grade"].to_pylist(), strict=True))
    total = people.count().value
    for job, grade, value in zip(*table.groups.values(), table.values, strict=True):
        expected = value / total * 50_000
        assert abs(pairs.count((job, grade)) - expected) < 6 * np.sqrt(expected) + 6


def test_the_same_seed_draws_the_same_rows(people: Release) -> None:
    one, two, other = (people.synthesize(300_000, seed=seed) for seed in (1, 1, 2))
    assert one.equals(two) and not one.equals(other)
    assert people.synthesize(0).num_rows == 0
    assert people.synthesize().num_rows == people.number_of_rows() == round(people.count().value)


def test_rows_are_streamed(people: Release, tmp_path: Path) -> None:
    from hushtable.release.export import export_rows

    batches = people.synthetic_batches(400_000, seed=1)
    sizes = [batch.num_rows for batch in batches]
    assert sum(sizes) == 400_000 and max(sizes) <= 2**17 and len(sizes) > 3
    seen = []
    for name in ("rows.parquet", "rows.csv"):
        assert export_rows(
            people, tmp_path / name, 200_000, seed=5, progress=lambda *at: seen.append(at)
        )
    assert pq.read_table(tmp_path / "rows.parquet").equals(people.synthesize(200_000, seed=5))
    assert pc.read_csv(tmp_path / "rows.csv").num_rows == 200_000
    assert seen[-1] == (200_000, 200_000)
    with pytest.raises(OptionError, match="there already"):
        export_rows(people, tmp_path / "rows.csv", 1)
    with pytest.raises(OptionError, match="whole number"):
        people.synthetic_batches(-1)


def test_other_releases_stream_too(tmp_path: Path) -> None:
    release = hushtable.publish(
        as_table(mixed(50), mixed_schema()), mixed_schema(), epsilon="1", mechanism="basic",
        out=tmp_path / "b.release", ledger=tmp_path / "ledger", entropy=SeededEntropy(3),
    )  # fmt: skip
    with pytest.warns(NoisyRowsWarning):
        assert sum(b.num_rows for b in release.synthetic_batches(70, seed=1)) == 70
    assert [b.num_rows for b in release.synthetic_batches(0)] == [0]
    assert release.network is None


# ── the synthesizer ──────────────────────────────────────────────────────────────────────────────


def test_a_synthesizer_fits_and_samples(tmp_path: Path) -> None:
    schema = mixed_schema()
    model = hushtable.Synthesizer(schema, epsilon="1", ledger=tmp_path / "ledger")
    with pytest.raises(OptionError, match="fit a table first"):
        model.sample(1)
    assert model.fit(as_table(mixed(300), schema)) is model
    assert model.sample(20, seed=1).num_rows == 20
    assert model.release.private and model.release.mechanism == "privbayes"
    kept = hushtable.Synthesizer(
        schema, epsilon="1", out=tmp_path / "kept.release", ledger=tmp_path / "ledger"
    )
    kept.fit(as_table(mixed(300), schema))
    assert hushtable.open(tmp_path / "kept.release").synthesize(5).num_rows == 5
    from hushtable.publishing import open_ledger

    assert open_ledger(schema, tmp_path / "ledger").state().spent == 2


# ── commands ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def hush(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hush", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            run()
        return int(stopped.value.code or 0), *capsys.readouterr()

    return call


def test_info_shows_and_draws_the_network(people: Release, hush: Any, tmp_path: Path) -> None:
    for name, start in (("net.svg", b"<?xml"), ("net.png", b"\x89PNG")):
        code, out, _ = hush("info", people.folder, "--plot", tmp_path / name)
        assert code == 0 and (tmp_path / name).read_bytes().startswith(start)
    assert "age ← (nothing)" in out
    assert b"grade" in (tmp_path / "net.svg").read_bytes()
    code, out, _ = hush("info", people.folder, "--json")
    facts = json.loads(out)
    assert facts["parameters"]["network"][0] == {"attribute": "age", "parents": []}
    for target, words in (
        (tmp_path / "net.svg", "there already"),
        (tmp_path / "net.pdf", "must end in"),
        (tmp_path / "no" / "net.svg", "no folder"),
    ):
        code, _, err = hush("info", people.folder, "--plot", target)
        assert code == 2 and words in err


def test_a_wide_release_can_be_asked_from_the_command_line(
    wide: Release, hush: Any, tmp_path: Path
) -> None:
    code, out, _ = hush("info", wide.folder)
    assert code == 0 and "10^21.1" in out
    code, out, _ = hush(
        "query", wide.folder, "SELECT COUNT(*) FROM bits WHERE x5 = 'yes'", "--json"
    )
    assert code == 0 and json.loads(out)["value"] == pytest.approx(1000, rel=0.2)
    code, _, _ = hush("export", wide.folder, "-o", tmp_path / "r.csv", "--synthetic", 50)
    assert code == 0 and pc.read_csv(tmp_path / "r.csv").num_rows == 50
    code, _, err = hush("export", wide.folder, "-o", tmp_path / "cells.csv")
    assert code == 2 and "too many" in err


def test_only_networks_are_drawn(tmp_path: Path, hush: Any) -> None:
    release = hushtable.publish(
        as_table(mixed(50), mixed_schema()), mixed_schema(), epsilon="1", mechanism="basic",
        out=tmp_path / "b.release", ledger=tmp_path / "ledger",
    )  # fmt: skip
    code, _, err = hush("info", release.folder, "--plot", tmp_path / "x.svg")
    assert code == 2 and "no network" in err


def test_a_name_with_dollars_is_no_formula(tmp_path: Path) -> None:
    from hushtable.families.network.picture import draw_network

    schema = Schema("odd", Fraction(9), (nominal("$x^{", Hierarchy.flat(["a", "b"])),))
    data = CodedColumns((2,), (np.zeros(9, np.uint8),))
    draw_network(publish(tmp_path, data, schema, "1"), tmp_path / "odd.svg")


# ── folders from anyone ──────────────────────────────────────────────────────────────────────────


def change(path: str, value: Any) -> Callable[[Any], None]:
    def edit(manifest: Any) -> None:
        *above, last = path.split("/")
        place = manifest
        for key in above:
            place = place[int(key) if key.isdigit() else key]
        place[int(last) if last.isdigit() else last] = value

    return edit


HOSTILE = {
    "no network": change("parameters/network", None),
    "half a network": change("parameters/network", []),
    "an attribute twice": change("parameters/network/1/attribute", "age"),
    "an unknown attribute": change("parameters/network/1/attribute", "shoe"),
    "a parent to come": change(
        "parameters/network/0/parents", [{"attribute": "grade", "level": 0}]
    ),
    "a parent twice": change(
        "parameters/network/3/parents", [{"attribute": "age", "level": 0}] * 2
    ),
    "itself as a parent": change(
        "parameters/network/0/parents", [{"attribute": "age", "level": 0}]
    ),
    "a level too high": change("parameters/network/3/parents", [{"attribute": "age", "level": 99}]),
    "a level below zero": change(
        "parameters/network/3/parents", [{"attribute": "age", "level": -1}]
    ),
    "a level of another type": change(
        "parameters/network/3/parents", [{"attribute": "age", "level": True}]
    ),
    "parents of another type": change("parameters/network/3/parents", "age"),
    "no rows": change("parameters/rows", 0),
    "rows of another type": change("parameters/rows", "many"),
    "noise of no law": change("parameters/rows_noise", {"law": "none", "scale": "1"}),
    "noise of another type": change("parameters/rows_noise", 7),
    "no scales": change("noise/scales", None),
    "too few scales": change("noise/scales", ["1"]),
    "a scale of zero": change("noise/scales/0", "0"),
    "another array": change("arrays/other", {}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_network_that_is_none_is_refused(people: Release, tmp_path: Path, name: str) -> None:
    import shutil

    folder = tmp_path / "hostile"
    shutil.copytree(people.folder, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    HOSTILE[name](manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError) as refused:
        hushtable.open(folder).count("age > 1")
    assert str(folder) in str(refused.value) and "\n" not in str(refused.value)


def test_a_table_larger_than_memory_is_refused(people: Release) -> None:
    from hushtable.families.network.network import Network

    schema = binary_schema(40)
    names = [f"x{i}" for i in range(40)]
    content = [
        {"attribute": name, "parents": [{"attribute": other, "level": 0} for other in names[:i]]}
        for i, name in enumerate(names)
    ]
    with pytest.raises(ReleaseError, match="too large"):
        Network.from_dict(schema, content)


def test_a_changed_table_is_noticed(people: Release, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "changed"
    shutil.copytree(people.folder, folder)
    path = folder / "marginal_0.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ReleaseError, match="damaged"):
        hushtable.open(folder).count("age > 1")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_people_with_several_rows(tmp_path: Path, neighbours: Any) -> None:
    import pyarrow as pa

    schema = mixed_schema(neighbours=neighbours, unit=Unit("id", 3))
    table = as_table(mixed(900), schema)
    table = table.append_column("id", pa.array([str(i // 3) for i in range(900)]))
    release = publish(tmp_path, table, schema, "30", entropy=SeededEntropy(3))
    assert release.count().value == pytest.approx(900, abs=60)
