"""From a table to a release: validate, count, pay, draw, publish, in that order.

Everything that can fail by what is public is checked first. ε is spent durably, and the ledger says
durably that noise is about to be drawn, before the key of the noise exists. Nothing is given back
by itself, and by hand only what never came to drawing: whether a run fails after that may depend on
its noise. The secret by which rows of a person are chosen is another one, drawn when counting.
"""

from __future__ import annotations

import glob
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import BudgetError, HushError, OptionError
from hushtable.families import AUTO, find_mechanism
from hushtable.families.mechanism import Mechanism, foreseen
from hushtable.kernel.counting import CsvFormat, count_table, held_rows
from hushtable.kernel.counting.engines.spark import is_spark
from hushtable.kernel.counting.readers.paths import files_of, settled, table_in
from hushtable.kernel.counting.readers.server import identities_of, noting_read
from hushtable.kernel.curator import Curator
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.dataset_ledger import (
    change_lines,
    check_first,
    ledger_path,
    open_ledger,
)
from hushtable.kernel.privacy.ledger import Ledger, Reservation
from hushtable.kernel.privacy.loss import (
    EpsilonLike,
    Loss,
    format_epsilon,
    format_eta,
    parse_epsilon,
    stated_eta,
)
from hushtable.kernel.privacy.sources import Source, note_sources
from hushtable.progress import heard, listener, nobody
from hushtable.release.form import Snapshot
from hushtable.release.manifest import Manifest
from hushtable.release.release import Release
from hushtable.release.store import Content, write_content, write_manifest
from hushtable.release.writing import describe
from hushtable.schema import Schema
from hushtable.scratch import held_folder, partial_folder, remove_abandoned, sync_folder

if TYPE_CHECKING:
    from hushtable.kernel.noise.bulk import EntropyNoise
    from hushtable.kernel.noise.entropy import Entropy
    from hushtable.workload import Workload


class LedgerWarning(UserWarning):
    """The ledger works, but guards less than it should."""


class ChangedSchemaWarning(UserWarning):
    """An attribute has other values than when it was released before."""


Progress = Callable[[str], None]
"""Told the name of each step as it begins: plan, count, pay, draw, write, publish, record, done.

With a proxy, the first one is try.
"""


def publish(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: EpsilonLike,
    out: str | Path,
    mechanism: str = AUTO,
    workload: str | Workload | None = None,
    people: int | None = None,
    typical: float | None = None,
    proxy: Any = None,
    public: bool = False,
    settings: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    table: str | None = None,
    proxy_table: str | None = None,
    csv: CsvFormat | None = None,
    snapshot: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """Publish a table: spend ε and write a release folder.

    `data` is a path, glob or list of paths (CSV, Parquet), the path of an Excel workbook, of a
    DuckDB or SQLite database or of a SAS, SPSS or Stata file, the address of a Postgres database or
    of a Spark cluster, or a pandas, Polars, Arrow, Ibis or Spark table; CSV and Parquet files may
    lie elsewhere (s3://, gs://, az://, https://), and Delta and Iceberg tables too. `table` says
    which table of a workbook, database, catalog or cluster, if there are several. `auto` publishes
    what `plan` recommends for the workload, by default everyday questions, and for a declared
    number of people, by default the schema's; it refuses what would be mostly noise for so many.
    With a `proxy`, an earlier release or a table that is `public`, it publishes what is best there
    (see `plan_on_proxy`); `proxy_table` is to it what `table` is to the data. The ledger is by
    default beside the schema's file: the dataset's name, or else the file's, with `.ledger` added.
    A dataset that has a ledger elsewhere is refused. `csv` says how CSV files are written where
    their first line does not tell. A `snapshot` is a word for the state that the table is in, such
    as "2026-10", by which releases of one state are known (see `combine`); it is published, so it
    must not be computed from the rows. An `entropy` source, whichever it is, is for tests and
    experiments: the release is then marked as not private.
    """
    step = progress or _ignore
    _check_snapshot(snapshot)
    data, proxy = table_in(data, table), table_in(proxy, proxy_table)
    schema, amount, target = check_beforehand(schema, epsilon, out, ledger)
    declared = {"workload": workload, "people": people, "typical": typical, "proxy": proxy}
    if public and proxy is None:
        raise OptionError("public says that a proxy is: there is no proxy")
    if proxy is not None:
        declared |= {"private": data, "public": public, "csv": csv}
    if mechanism == AUTO:
        step("plan" if proxy is None else "try")
    with _unpaid():
        name, chosen, planned = _recipe(schema, amount, mechanism, settings or {}, declared)
    recipe = find_mechanism(name)
    recipe.check(schema, epsilon=amount, settings=chosen)
    make_noise = _noise_maker(entropy)
    step("count")
    with _unpaid():
        data = settled(data)
    sources = _sources(data)
    with ExitStack() as held:
        with _unpaid(), noting_read() as read:
            counted = _counted(data, schema, csv, recipe, chosen)
            holding = held.enter_context(counted)
        step("pay")
        _check_target(target)  # counting may have taken hours; from drawing on, a failure costs ε
        books = _open_to_spend(schema, ledger)
        note_sources(schema.dataset_name, {*sources, *map(Source.of_table, read)})
        reservation = books.reserve(amount, mechanism=recipe.name, out=str(target))
        try:
            step("draw")
            books.drawing(reservation.id)
            noise, account = make_noise(), Account(amount)
            curator = Curator(holding, exposure=schema.exposure, account=account, noise=noise)
            content = recipe.measure(curator, schema, epsilon=amount, settings=chosen)
            manifest = _manifest(schema, recipe, content, reservation, mechanism, curator)
            manifest |= {"plan": planned} if planned else {}
            manifest |= {} if snapshot is None else {"snapshot": snapshot}
            _write(target, manifest, schema, content, books, reservation, step)
        except (HushError, OSError, MemoryError) as problem:
            raise _after_paying(problem, _what_was_spent(books, reservation)) from None
        except BaseException as problem:  # a defect or an interruption: it stays what it is
            problem.add_note(_what_was_spent(books, reservation))
            raise
    step("done")
    return Release(target, Manifest.of(manifest, schema, amount))


@contextmanager
def _counted(
    data: Any, schema: Schema, csv: CsvFormat | None, recipe: Mechanism, settings: Mapping[str, Any]
) -> Iterator[Holding]:
    """What the curator of a mechanism holds."""
    if recipe.needs == "counts":
        yield count_table(data, schema, csv)
        return
    known = foreseen(recipe, schema, settings) if is_spark(data) else None
    with held_rows(data, schema, csv, foreseen=known) as rows:
        yield rows


def check_beforehand(
    schema: Schema | str | Path,
    epsilon: EpsilonLike,
    out: str | Path,
    ledger: str | Path | None = None,
) -> tuple[Schema, Fraction, Path]:
    """Refuse what can be refused at once: a draft, a name that is taken, an ε that is not left.

    What follows, planning or looking at the table, may take minutes.
    """
    schema, amount, target = _loaded(schema), parse_epsilon(epsilon), Path(out)
    _check_schema(schema)
    _check_target(target)
    _check_budget(schema, ledger, amount)
    return schema, amount, target


def curate(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: EpsilonLike,
    purpose: str,
    ledger: str | Path | None = None,
    table: str | None = None,
    csv: CsvFormat | None = None,
    entropy: Entropy | None = None,
) -> Curator:
    """A curator to ask directly, with an allotment of ε that counts as spent from now on.

    Its answers leave at once, so there is nothing to void; `purpose` says in the ledger what for.
    """
    data = table_in(data, table)
    schema, amount = _loaded(schema), parse_epsilon(epsilon)
    _check_schema(schema)
    _check_budget(schema, ledger, amount)
    make_noise = _noise_maker(entropy)
    data = settled(data)
    sources = _sources(data)
    with noting_read() as read:
        holding = count_table(data, schema, csv)
    books = _open_to_spend(schema, ledger)
    note_sources(schema.dataset_name, {*sources, *map(Source.of_table, read)})
    books.spend(amount, mechanism=f"curator: {purpose}")
    return Curator(holding, exposure=schema.exposure, account=Account(amount), noise=make_noise())


@contextmanager
def _unpaid() -> Iterator[None]:
    """Let whoever stops the run hear that it cost nothing."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        stopped.add_note("nothing was spent; run it again when you like")
        raise


def _ignore(step: str) -> None:
    pass


def _loaded(schema: Schema | str | Path) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.load(schema)


def _noise_maker(entropy: Entropy | None) -> Callable[[], EntropyNoise]:
    """What makes the noise, and its key, once it is paid for; a source that is none is refused."""
    from hushtable.kernel.noise.bulk import (
        EntropyNoise,  # compiles kernels: only when they are needed
    )

    if entropy is not None:
        EntropyNoise(entropy)
    return lambda: EntropyNoise(entropy)


def _check_schema(schema: Schema) -> None:
    if not schema.reviewed:
        raise OptionError(
            "the schema is a draft made by looking at the data: review it, then set reviewed = true"
        )


def _check_snapshot(snapshot: Any) -> None:
    if snapshot is None:
        return
    try:
        Snapshot.read(snapshot)
    except ValueError:
        raise OptionError(f"a snapshot is {Snapshot.words}") from None


def _check_target(target: Path) -> None:
    with suppress(OSError, ValueError):  # names that are not possible are refused below
        _check_free(target)
        if not target.parent.is_dir():
            raise OptionError(f"there is no folder {target.parent}: make it first")
    probe = partial_folder(target, secrets.token_hex(8))  # a longer name than an id makes
    try:  # only trying tells: permissions, read-only disks, names that are too long
        probe.mkdir(mode=0o700)
        probe.rmdir()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "its name is not possible"
        raise OptionError(f"{str(target)!r} cannot be written: {reason}") from None


def _recipe(
    schema: Schema,
    epsilon: Fraction,
    mechanism: str,
    settings: Mapping[str, Any],
    declared: Mapping[str, Any],
) -> tuple[str, dict[str, str], dict[str, Any] | None]:
    """A mechanism and its settings: as asked, or as planned, and then the plan.

    A plan follows from public facts alone, so it may be told.
    """
    given = {key: value for key, value in declared.items() if value is not None}
    if mechanism != AUTO:
        for key in given:
            raise OptionError(f"{key} is for {AUTO!r}; {mechanism!r} does not use it")
        return mechanism, {key: str(value) for key, value in settings.items()}, None
    if settings:
        raise OptionError(f"{AUTO!r} chooses the settings itself; to give some, name a mechanism")
    found = _planned(schema, epsilon, given)
    best = found.recommended
    if best is None:
        raise OptionError(found.why_not())
    return best.mechanism, dict(best.parameters), found.record(best)


def _planned(schema: Schema, epsilon: Fraction, given: Mapping[str, Any]) -> Any:
    """A plan, by trial where there is a proxy."""
    if "proxy" in given:
        from hushtable.evaluation.proxy import plan_on_proxy

        tell = listener()
        with heard(nobody):  # how far a trial is would be heard among how many are done
            return plan_on_proxy(schema, epsilon=epsilon, **given, progress=tell)
    from hushtable.planner import plan  # only for this: it imports every family's forecasts

    return plan(schema, epsilon=epsilon, **given)


def _check_free(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise OptionError(
            f"{target} is there already; releases are never overwritten: choose another name"
        )


def _check_budget(schema: Schema, ledger: str | Path | None, amount: Fraction) -> None:
    """Refuse what cannot be paid. A ledger is made, and pinned to its schema, only to be spent."""
    path = ledger_path(schema, ledger)
    check_first(schema, path)
    if path.exists():
        books = open_ledger(schema, path)
        books.check(amount)
        for line in change_lines(schema, books.state()):
            warnings.warn(line, ChangedSchemaWarning, stacklevel=2)
    elif amount > schema.budget:
        asked, budget = format_epsilon(amount), format_epsilon(schema.budget)
        raise BudgetError(
            f"epsilon {asked} is more than the schema's whole budget of {budget}: spend at most"
            " that, or write a larger budget into the schema"
        )


def _sources(data: Any) -> list[Source]:
    """What is spent on: files, or a table of a server."""
    return [*map(Source.of, files_of(data)), *map(Source.of_table, identities_of(data))]


def _open_to_spend(schema: Schema, ledger: str | Path | None) -> Ledger:
    books = open_ledger(schema, ledger)
    for warning in books.warnings:
        warnings.warn(warning, LedgerWarning, stacklevel=3)
    return books


def _manifest(
    schema: Schema,
    recipe: Mechanism,
    content: Content,
    reservation: Reservation,
    asked: str,
    curator: Curator,
) -> dict[str, Any]:
    loss = Loss(reservation.epsilon, stated_eta(curator.eta))
    return describe(
        schema,
        content,
        loss,
        private=curator.private,
        guarantee=_guarantee(schema, loss),
        mechanism=recipe.name,
        asked=asked,
        created=datetime.now(UTC).date().isoformat(),
        reservation=reservation.id,
        ledger=reservation.anchor,
    )


def _guarantee(schema: Schema, loss: Loss) -> str:
    shown = format_epsilon(loss.epsilon)
    return (
        f"{shown}-differential privacy under {schema.neighbours} neighbours, plus"
        f" δ ≤ (1+e^{shown})·{format_eta(loss.eta)} for the finite precision of the sampler,"
        " AES-CTR taken as ideal"
    )


def _write(
    target: Path,
    manifest: dict[str, Any],
    schema: Schema,
    content: Content,
    books: Ledger,
    reservation: Reservation,
    step: Progress,
) -> None:
    """Write beside the target, announce, rename into place, record: visible only when whole."""
    step("write")
    remove_abandoned(target.parent, f".{glob.escape(target.name)}.*.partial")
    partial = partial_folder(target, reservation.id)
    partial.mkdir(mode=0o700)
    with held_folder(partial):
        manifest |= write_content(partial, schema, content)
        step("publish")
        _check_free(target)  # another may have taken the name
        # Announced before the manifest is there: without one, no reader opens the folder.
        books.publishing(reservation.id)
        checksum = write_manifest(partial, manifest)
        partial.chmod(0o755)
        partial.rename(target)
        sync_folder(target.parent)
    step("record")
    books.published(reservation.id, checksum)


def _what_was_spent(books: Ledger, reservation: Reservation) -> str:
    """What to tell a user whose release did not come about, or may not have."""
    paid = f"ε = {format_epsilon(reservation.epsilon)} was spent on reservation {reservation.id}"
    try:
        states = {entry.id: entry.status for entry in books.state().entries}
    except HushError:
        return f"{paid}; the ledger knows how far it got"
    match states.get(reservation.id):
        case "reserved":
            return f"{paid}; no noise was drawn: `hush budget SCHEMA --void {reservation.id}`"
        case "drawing":
            return f"{paid} and stays spent: noise was drawn for it"
        case "void":
            given = format_epsilon(reservation.epsilon)
            return f"reservation {reservation.id} was voided: its ε = {given} is given back"
        case None:
            return f"{paid}; the ledger that is there now does not know it"
    return f"{paid} and stays spent: its release may exist"


def _after_paying(problem: Exception, spent: str) -> HushError:
    if isinstance(problem, HushError):
        return type(problem)(f"{problem} ({spent})")
    if isinstance(problem, MemoryError):
        return OptionError(f"there was not enough memory ({spent})")
    reason = getattr(problem, "strerror", None) or "the release could not be written"
    return OptionError(f"{reason} ({spent})")
