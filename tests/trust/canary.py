"""A rare text and a rare number, tables full of them, and every way to make hushtable speak.

Run as a program (`python canary.py FOLDER`) it does everything in one process with logging at
DEBUG; whoever runs it looks for the canaries in what it printed and in every file it left, except
the tables themselves. Each attempt says its name and how it ended.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run as a program, it does not have the paths of the tests
    sys.path.append(str(Path(__file__).parents[2]))

from tests.shared_mechanisms import Recipe, recipes

TEXT = "Zyxwvut-7f3a91"
NUMBER = 424242.4242
SCHEMA = """name = "people"
budget = "{budget}"
unit = {{ column = "person", max_rows = 2 }}
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 4]
outside = "{outside}"
[[attribute]]
name = "income"
kind = "ordinal"
edges = [0, 10, 20.5, 40]
outside = "other"
[[attribute]]
name = "job"
kind = "nominal"
tree = {{ desk = ["clerk", "boss"], field = ["farmer"] }}
"""
COLUMNS = ("age", "income", "job", "person", "unused")
CHECKED = ("good.csv", "missing.csv", "nested.parquet", "nul.csv", "quoted.csv", "cut.csv.gz")
CHECKED += ("good.xlsx", "headless.xlsx", "cut.sqlite", "good.duckdb", "cut.sav")
INSIDE = "tables"  # the one folder that may hold canaries


def renderings() -> dict[str, bytes]:
    """Every way a canary might be written, by name."""
    found = {}
    for text in (TEXT, TEXT[:7], TEXT[:7].upper(), TEXT[:7].lower(), "424242.42", "424242,42"):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"):
            found[f"{text} in {encoding}"] = text.encode(encoding)
        found[f"{text} in hexadecimal"] = text.encode().hex().encode()
    for text in ("424242", "424_242", "424,242", "4.242424", NUMBER.hex()):
        found[f"{text}"] = text.encode()
    for order in "<>":
        found[f"the number as a {order} float"] = struct.pack(f"{order}d", NUMBER)
        found[f"the number as a {order} short float"] = struct.pack(f"{order}f", NUMBER)
        found[f"the integer as {order} 64 bits"] = struct.pack(f"{order}q", int(NUMBER))
    return found


RENDERINGS = renderings()


def canaries_in(content: bytes) -> list[str]:
    """Which renderings of the canaries a content has."""
    return [name for name, raw in RENDERINGS.items() if raw in content]


def files_with_canaries(folder: Path) -> list[tuple[str, list[str]]]:
    """The files below a folder, but for the tables, that hold a canary or are named like one."""
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] == INSIDE:
            continue
        content = path.read_bytes() if path.is_file() else b""
        if held := canaries_in(content + b"\n" + str(relative).encode()):
            found.append((str(relative), held))
    return found


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def rows() -> list[dict[str, Any]]:
    """Ordinary people, and one for each column and each canary in it."""
    plain = {"age": 1, "income": 15.0, "job": "clerk", "person": "p", "unused": "x"}
    table = [{**plain, "person": f"p{i}"} for i in range(20)]
    for column, canary in itertools.product(COLUMNS, (TEXT, NUMBER)):
        table.insert(3, {**plain, "person": f"{column}", column: canary})
        table.append({**plain, "person": TEXT, column: canary})
    return table


def as_text(table: list[dict[str, Any]], columns: tuple[str, ...] = COLUMNS) -> str:
    lines = [",".join(columns), *(",".join(str(row[name]) for name in columns) for row in table)]
    return "\n".join(lines) + "\n"


def write_tables(folder: Path) -> None:
    """CSV and Parquet, good and bad; every one of them is full of canaries."""
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    table = rows()
    good = as_text(table)
    typed = pa.table(
        {
            "age": pa.array([_number(row["age"]) for row in table], pa.float64()),
            "income": pa.array([_number(row["income"]) for row in table], pa.float64()),
            **{name: pa.array([str(row[name]) for row in table]) for name in COLUMNS[2:]},
        }
    )
    pq.write_table(typed, folder / "good.parquet")
    pq.write_table(typed.cast(_all_text(typed)), folder / "text.parquet")
    pq.write_table(typed.drop_columns(["job"]), folder / "missing.parquet")
    whole = (folder / "good.parquet").read_bytes()
    nested = pa.table({name: pa.array([[TEXT], [str(NUMBER)]]) for name in COLUMNS})
    pq.write_table(nested, folder / "nested.parquet")
    stamps = pa.table({name: pa.array([int(NUMBER)], pa.timestamp("us")) for name in COLUMNS})
    pq.write_table(stamps, folder / "stamps.parquet")
    packed = gzip.compress(good.encode())
    quoted = good.replace(TEXT, f'"{TEXT}\nand ""more"" {NUMBER}"')
    contents: dict[str, bytes] = {
        "good.csv": good.encode(),
        "quoted.csv": quoted.encode(),
        "unbalanced.csv": good.replace(f"{TEXT},x", f'"{TEXT},x').encode(),
        "missing.csv": as_text(table, COLUMNS[1:]).encode(),
        "headless.csv": good.partition("\n")[2].encode(),
        "canary-first.csv": f"{TEXT},{NUMBER},{TEXT}\n".encode() + good.encode(),
        "wide.csv": good.replace(",x\n", f",x,{TEXT},{NUMBER}\n").encode(),
        "narrow.csv": (good + f"{TEXT}\n{NUMBER}\n").encode(),
        "latin.csv": good.replace("clerk", "é").encode("latin-1"),
        "sixteen.csv": good.encode("utf-16"),
        "nul.csv": good.replace(TEXT, f"\0{TEXT}\0").encode(),
        "twice.csv": good.replace("unused", "age", 1).encode(),
        "empty.csv": b"",
        "packed.csv.gz": packed,
        "cut.csv.gz": packed[: len(packed) // 2],
        "plain.csv.gz": good.encode(),
        "cut.parquet": whole[: len(whole) // 2],
        "damaged.parquet": whole[:4] + b"\xff" * 200 + whole[204:],
        "csv.parquet": good.encode(),
        "odd.xlsx": good.encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    _write_other_files(folder, table)


def _write_other_files(folder: Path, table: list[dict[str, Any]]) -> None:
    """A workbook, databases and a file of SPSS: good, without names of columns, and cut."""
    import sqlite3

    import duckdb
    import openpyxl
    import pandas as pd
    import pyreadstat

    values = [list(row.values()) for row in table]
    for name, start in (("good", [list(COLUMNS)]), ("headless", [])):
        book = openpyxl.Workbook()
        for row in (*start, *values):
            book.active.append(row)
        book.save(folder / f"{name}.xlsx")
    for name, connect in (("good.sqlite", sqlite3.connect), ("good.duckdb", duckdb.connect)):
        database: Any = connect(str(folder / name))
        database.execute(f"CREATE TABLE people ({' VARCHAR, '.join(COLUMNS)} VARCHAR)")
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", values)
        database.commit()
        database.close()
    texts = pd.DataFrame([[str(value) for value in row] for row in values], columns=COLUMNS)
    pyreadstat.write_sav(texts, str(folder / "good.sav"))
    for name in ("good.xlsx", "good.sqlite", "good.duckdb", "good.sav"):
        whole = (folder / name).read_bytes()
        (folder / name.replace("good", "cut")).write_bytes(whole[: len(whole) * 2 // 3])


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None


def _all_text(table: Any) -> Any:
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in table.column_names])


def tables_in_memory() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Data frames, Arrow and Ibis tables: what can be counted, and what breaks midway."""
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    table = rows()
    texts = pa.table({name: [str(row[name]) for row in table] for name in COLUMNS})

    def failing_view() -> Any:
        engine = ibis.duckdb.connect()
        engine.con.register("texts", texts)
        engine.con.execute(
            "CREATE VIEW people AS SELECT CAST(age AS INTEGER) AS age, income, job, person, unused"
            " FROM texts"
        )
        return engine.table("people")

    def breaking_stream() -> Any:
        def batches() -> Iterator[Any]:
            yield texts.to_batches()[0]
            raise ValueError(f"{TEXT} {NUMBER}")

        return pa.RecordBatchReader.from_batches(texts.schema, batches())

    class Hostile:
        def __str__(self) -> str:
            raise ValueError(TEXT)

        __repr__ = __str__

    frame = pd.DataFrame(table)
    yield "pandas", lambda: frame
    yield "pandas categories", lambda: frame.astype("string").astype("category")
    yield "pandas with an odd object", lambda: frame.assign(age=[Hostile(), *frame["age"][1:]])
    yield "pandas of complex numbers", lambda: pd.DataFrame({n: [1 + NUMBER * 1j] for n in COLUMNS})
    yield "pandas of lists", lambda: frame.assign(age=[[TEXT]] * len(frame))
    yield "pandas without a column", lambda: frame.drop(columns="job")
    yield "pandas with canaries for names", lambda: frame.rename(columns={"job": TEXT})
    yield "polars", lambda: pl.from_arrow(texts)
    yield (
        "polars that fails",
        lambda: pl.from_arrow(texts).lazy().with_columns(age=pl.col("age").cast(pl.Int64)),
    )
    yield "arrow", lambda: texts
    yield "arrow of lists", lambda: pa.table({name: pa.array([[TEXT]]) for name in COLUMNS})
    yield "a stream that breaks", breaking_stream
    yield "ibis", lambda: ibis.memtable(texts)
    yield "ibis that fails", failing_view
    yield "a dictionary", lambda: {TEXT: [NUMBER]}
    yield "a list", lambda: [TEXT, NUMBER]


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────


class Attempts:
    """Run things, say how they ended, and print every traceback there is."""

    def __init__(self) -> None:
        self.endings: dict[str, str] = {}

    def run(self, name: str, work: Callable[[], Any]) -> None:
        try:
            result = work()
            self.endings[name] = "done"
            print(f"{name}: {result!r}")
        except SystemExit as stopped:
            self.endings[name] = f"exit {stopped.code}"
        except BaseException as problem:
            self.endings[name] = type(problem).__name__
            print(f"{name}: {problem!s} {problem!r} {getattr(problem, '__notes__', '')}")
            print(traceback.format_exc())
            _print_everything_about(problem)


def _print_everything_about(problem: BaseException | None) -> None:
    """Also what a traceback does not show: suppressed contexts are kept on the exception."""
    if problem is not None:
        for before in {problem.__cause__, problem.__context__} - {None}:
            print("before that:", repr(before), before.args)
            _print_everything_about(before)


def hush(*arguments: object) -> Callable[[], None]:
    """A command, in this process."""
    from hushtable.cli.main import run

    def call() -> None:
        sys.argv = ["hush", *map(str, arguments)]
        run()

    return call


def looking(*arguments: object) -> Callable[[], None]:
    """A command whose report is the owner's alone: only what it says when it fails is heard."""

    def call() -> None:
        report = io.StringIO()
        try:
            with redirect_stdout(report):
                hush(*arguments)()
        except SystemExit as stopped:
            print(report.getvalue() if stopped.code else len(report.getvalue()))
            raise

    return call


def attempt_everything(folder: Path) -> dict[str, str]:
    """Every command and call, on good and bad tables, with good and bad options."""
    tables, out = folder / INSIDE, folder / "out"
    out.mkdir()
    write_tables(tables)
    schemas = {}
    # Each has a budget of its own, and the shorter ledgers are, the sooner they are read.
    for name in ("clip", "drop", "other", "memory", "recipes"):
        schemas[name] = folder / f"{name}.toml"
        outside = name if name in ("clip", "drop") else "other"
        text = SCHEMA.format(budget="1000", outside=outside)
        if name != "other":
            text = text.replace('"people"', f'"people {name}"')
        schemas[name].write_text(text)
    attempts, schema = Attempts(), schemas["other"]
    for path in sorted(tables.iterdir()):
        target = out / f"{path.name}.release"
        publish = ("publish", path, "--schema", schema, "-e", "1")
        if path.name not in CHECKED:  # no table has a say in a plan: it is made for these alone
            publish = (*publish, "-m", "basic")
        attempts.run(f"hush publish {path.name}", hush(*publish, "-o", target))
        attempts.run(f"publish {path.name}", lambda p=path: _publish(p, schema, out / f"{p.name}2"))
        if path.name in CHECKED:
            attempts.run(f"hush check {path.name}", looking("check", path, "--schema", schema))
    for name, make in tables_in_memory():
        target = out / name.replace(" ", "-")
        memory = schemas["memory"]
        attempts.run(f"check {name}", lambda m=make, s=memory: _check(m(), s))
        attempts.run(f"publish {name}", lambda m=make, s=memory, t=target: _publish(m(), s, t))
    for outside in ("clip", "drop"):
        made = out / f"{outside}.release"
        options = ("--schema", schemas[outside], "-e", "1", "-o", made, "--json")
        attempts.run(f"hush publish {outside}", hush("publish", tables / "good.csv", *options))
    _attempt_network(attempts, tables / "good.csv", schema, out)
    _attempt_recipes(attempts, tables / "good.csv", schemas["recipes"], out, recipes(every=False))
    _attempt_refusals(attempts, folder, schema)
    _attempt_reading(attempts, folder, schema)
    _attempt_evaluations(attempts, folder)
    _attempt_defects(attempts, tables / "good.csv", schema, out)
    return attempts.endings


def _publish(data: Any, schema: Path, out: Path, **options: Any) -> Any:
    import hushtable

    return hushtable.publish(data, schema, epsilon="1", mechanism="basic", out=out, **options)


def _check(data: Any, schema: Path) -> Any:
    import hushtable

    return hushtable.check(data, schema)


def _attempt_network(attempts: Attempts, good: Path, schema: Path, out: Path) -> None:
    """A mechanism that holds the rows themselves: published, shown, drawn and sampled."""
    made = out / "network.release"
    publish = ("publish", good, "--schema", schema, "-e", "1", "-m", "privbayes")
    attempts.run("hush publish a network", hush(*publish, "-o", made))
    attempts.run("hush draw a network", hush("info", made, "--plot", out / "network.svg"))
    attempts.run("hush ask a network", hush("query", made, "job = 'clerk' AND age > 1"))
    rows = ("export", made, "-o", out / "network.csv", "--synthetic", "50")
    attempts.run("hush rows of a network", hush(*rows))
    attempts.run("hush a bad setting", hush(*publish, "--set", "beta=2", "-o", out / "beta"))


def _attempt_recipes(
    attempts: Attempts, good: Path, schema: Path, out: Path, asked: tuple[Recipe, ...]
) -> None:
    """Mechanisms, each with files of its own: published, shown, asked and exported."""
    for recipe in asked:
        name, *settings = recipe
        called = " ".join(recipe)
        made = out / f"{called.replace(' ', '-').replace('*', '-star')}.release"
        chosen = [word for setting in settings for word in ("--set", setting)]
        publish = ("publish", good, "--schema", schema, "-e", "1", "-m", name, *chosen)
        attempts.run(f"hush publish by {called}", hush(*publish, "-o", made))
        attempts.run(f"hush info of {called}", hush("info", made, "--verify"))
        attempts.run(f"hush ask {called}", hush("query", made, "job = 'clerk' AND age > 1"))
        attempts.run(f"hush export {called}", hush("export", made, "-o", made.with_suffix(".csv")))
        odd = ("--set", "nothing=1", "-o", out / "odd")
        attempts.run(f"hush odd setting of {called}", hush(*publish, *odd))


def more_recipes(folder: Path) -> None:
    """Every mechanism in every form, after everything else was done."""
    attempts = Attempts()
    good, schema = folder / INSIDE / "good.csv", folder / "recipes.toml"
    done = recipes(every=False)
    more = tuple(recipe for recipe in recipes(every=True) if recipe not in done)
    _attempt_recipes(attempts, good, schema, folder / "out", more)
    (folder / "more_endings.json").write_text(json.dumps(attempts.endings))


def _attempt_refusals(attempts: Attempts, folder: Path, schema: Path) -> None:
    """What goes wrong on the way for other reasons than the table."""
    good, out = folder / INSIDE / "good.csv", folder / "out"
    publish = ("publish", good, "--schema", schema)
    attempts.run("hush over budget", hush(*publish, "-e", "2000", "-o", out / "over"))
    attempts.run("hush out exists", hush(*publish, "-e", "1", "-o", out))
    attempts.run("hush no folder", hush(*publish, "-e", "1", "-o", out / "no" / "where"))
    attempts.run("hush bad mechanism", hush(*publish, "-e", "1", "-m", "magic", "-o", out / "m"))
    attempts.run("hush no schema", hush("publish", good, "-s", "none.toml", "-e", "1", "-o", "x"))
    attempts.run("hush table for a schema", hush("publish", good, "-s", good, "-e", "1", "-o", "x"))
    attempts.run("hush check the table", hush("schema", "check", good))
    attempts.run("hush budget of the table", hush("budget", good))
    for step in ("count", "pay", "draw", "write", "publish", "record", "done"):

        def stop(begun: str, chosen: str = step) -> None:
            if begun == chosen:
                raise RuntimeError("stopped on purpose")

        attempts.run(
            f"stopped at {step}",
            lambda s=step, p=stop: _publish(good, schema, out / f"stopped-{s}", progress=p),
        )


def _attempt_evaluations(attempts: Attempts, folder: Path) -> None:
    """True errors are the owner's to see, but values of the table are nobody's."""
    tables, out = folder / INSIDE, folder / "out"
    release = out / "good.csv.release"
    for name in ("good.csv", "missing.csv", "cut.parquet", "nested.parquet"):
        more = ("-w", "marginals:1", "--intervals", "5")
        attempts.run(f"hush evaluate {name}", hush("evaluate", tables / name, release, *more))
    plot = ("--plot", out / "errors.svg", "--json", "-w", "total")
    attempts.run("hush draw errors", hush("evaluate", tables / "good.csv", release, *plot))


def _attempt_reading(attempts: Attempts, folder: Path, schema: Path) -> None:
    release, out = folder / "out" / "good.csv.release", folder / "out"
    attempts.run("hush budget", hush("budget", schema))
    attempts.run("hush budget json", hush("budget", schema, "--json"))
    attempts.run("hush check", hush("schema", "check", schema))
    attempts.run("hush info", hush("info", release, "--verify"))
    attempts.run("hush info json", hush("info", release, "--json"))
    grouped = "SELECT job, income, COUNT(*) FROM people GROUP BY job, income"
    attempts.run("hush query", hush("query", release, grouped))
    attempts.run("hush query json", hush("query", release, grouped, "--json"))
    attempts.run("hush bad sql", hush("query", release, "SELECT nothing"))
    attempts.run("hush query a table", hush("query", folder / INSIDE / "good.csv", "age = 1"))
    attempts.run("hush info of a table", hush("info", folder / INSIDE / "good.csv"))
    for ending in ("csv", "parquet", "xlsx"):
        attempts.run(f"hush export {ending}", hush("export", release, "-o", out / f"c.{ending}"))
    rows = ("export", release, "-o", out / "rows.csv", "--synthetic", "100")
    attempts.run("hush export rows", hush(*rows))
    attempts.run("curate", lambda: _curate(folder / INSIDE / "good.csv", schema))


def _curate(data: Path, schema: Path) -> Any:
    import hushtable

    curator = hushtable.curate(data, schema, epsilon="1", purpose="a look")
    print(curator, repr(curator), vars(curator))
    return curator.noisy_total(epsilon="0.5").what


def _attempt_defects(attempts: Attempts, data: Path, schema: Path, out: Path) -> None:
    """A defect of ours whose exception quotes a value: the command line does not repeat it."""
    from hushtable import publishing
    from hushtable.checking import dry_run

    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError(f"no code for {TEXT} and {NUMBER}")

    count, publishing.count_table = publishing.count_table, broken
    advise, dry_run.advise = dry_run.advise, broken
    try:
        options = ("--schema", schema, "-e", "1", "-o", out / "defect")
        attempts.run("hush with a defect", hush("publish", data, *options))
        attempts.run("hush check with a defect", looking("check", data, "--schema", schema))
    finally:
        publishing.count_table, dry_run.advise = count, advise


def killed_while_counting(folder: Path) -> None:
    """Die by kill -9 while the engines' own folders hold canaries, and rows of people."""
    from hushtable import scratch
    from hushtable.kernel.counting import people

    def spill_and_die(*_: Any) -> Any:
        for spill in Path(os.environ["TMPDIR"]).glob(f"{scratch._SPILL}*"):
            (spill / "spilled").write_bytes(f"{TEXT} {NUMBER}".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    people._TOGETHER = 0
    people._told = spill_and_die
    _publish(folder / INSIDE / "good.csv", folder / "other.toml", folder / "out" / "killed")


def published_after_a_kill(folder: Path) -> None:
    """The next run, a minute later as far as it knows."""
    from hushtable import scratch

    scratch._GRACE_SECONDS = 0
    _publish(folder / INSIDE / "good.csv", folder / "other.toml", folder / "out" / "next")


def main(command: str, folder: Path) -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    logging.captureWarnings(True)
    logging.getLogger("canary").debug("listening")
    if command == "everything":
        endings = attempt_everything(folder)
        (folder / "endings.json").write_text(json.dumps(endings))
    else:
        globals()[command](folder)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
