"""`hush demo`: a generated census is published, queried and drawn beside the truth."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hushtable.errors import OptionError
from hushtable.generators import census, census_schema, own_dataset
from hushtable.query.answer import Answer
from hushtable.release import Release

EPSILON = "1"
_MARK = ".made-by-hush-demo"

QUESTIONS = (
    ("everyone", ""),
    ("women under 30", "sex = 'F' AND age < 30"),
    ("managers in their forties", "occupation = 'Managers' AND age BETWEEN 40 AND 49"),
    ("nurses earning 60 or more", "occupation = 'Nurses' AND income >= 60"),
    ("retired men over 80", "occupation = 'Retired' AND sex = 'M' AND age > 80"),
)


@dataclass(frozen=True)
class Story:
    """What the demo made and saw."""

    folder: Path
    release: Release
    answers: tuple[tuple[str, str, int, Answer], ...]
    picture: Path
    epsilon: str = EPSILON

    def to_dict(self) -> dict[str, Any]:
        """The story for machines."""
        return {
            "folder": str(self.folder),
            "release": str(self.release.folder),
            "picture": str(self.picture),
            "answers": [
                {"question": question, "where": where, "true": true, **answer.to_dict(0.95)}
                for question, where, true, answer in self.answers
            ],
        }


def run_demo(folder: Path, rows: int, progress: Callable[[str], None]) -> Story:
    """Generate, publish, ask and draw."""
    from hushtable.publishing import publish

    if rows < 1:
        raise OptionError("--rows must be at least 1")
    _make_folder(folder)
    progress("generate")
    table = census(rows)
    data = folder / "census.parquet"
    _save(table, data)
    own_dataset(census_schema()).save(folder / "census.toml")
    release = publish(
        str(data),
        folder / "census.toml",
        epsilon=EPSILON,
        out=folder / "census.release",
        progress=progress,
    )
    answers = tuple(
        (question, where, _true_count(data, where), release.count(where))
        for question, where in QUESTIONS
    )
    picture = folder / "census.png"
    draw(release, table, picture)
    return Story(folder, release, answers, picture)


def _make_folder(folder: Path) -> None:
    if (folder / _MARK).is_file():  # a demo of ours: start again
        shutil.rmtree(folder)
    if folder.exists():
        raise OptionError(f"{folder} is there already; choose another folder with -o")
    if not folder.parent.is_dir():
        raise OptionError(f"there is no folder {folder.parent}")
    folder.mkdir()
    (folder / _MARK).touch()


def _save(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _true_count(data: Path, where: str) -> int:
    """The truth, from the data itself: a plain SQL count, with groups spelled out."""
    import duckdb

    occupation = census_schema().attribute("occupation")
    for node in occupation.hierarchy.level(1) if occupation.hierarchy else ():
        jobs = ", ".join(f"'{occupation.label(code)}'" for code in range(node.start, node.stop))
        where = where.replace(f"occupation = '{node.label}'", f"occupation IN ({jobs})")
    query = "SELECT COUNT(*) FROM read_parquet(?)" + (f" WHERE {where}" if where else "")
    with duckdb.connect() as connection:
        row = connection.execute(query, [str(data)]).fetchone()
    assert row is not None
    return int(row[0])


def draw(release: Release, table: pa.Table, path: Path) -> None:
    """Counts by age: what the data says, what the release says, and its error bars."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    ages = table["age"].to_numpy()
    nurses = np.asarray(table["occupation"].to_pylist()) == "Nurses"
    panels = (
        (left, "Everyone", "", ages),
        (right, "Nurses", "occupation = 'Nurses'", ages[nurses]),
    )
    for axes, title, where, people in panels:
        result = release.table("age", where=where)
        low, high = result.bounds
        truth = np.bincount(people, minlength=100)[:100]
        axes.fill_between(range(100), low, high, color="#f4a259", alpha=0.45, lw=0, label="95 %")
        axes.plot(range(100), result.values, color="#bc4b51", lw=1.2, label="released")
        axes.plot(range(100), truth, color="#1d3557", lw=1.0, ls="--", label="true (owner only)")
        axes.set_title(f"{title}, by age", loc="left", fontsize=11)
        axes.set_xlabel("age")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, 99)
    left.set_ylabel("people")
    left.legend(frameon=False)
    figure.suptitle(
        f"A census of {table.num_rows:,} published with ε = {EPSILON}", x=0.01, ha="left"
    )
    figure.savefig(path, dpi=150)
