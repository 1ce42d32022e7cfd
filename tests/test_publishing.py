"""From a table to a release: validate, count, pay, draw, publish, in that order.

Run as a program it publishes and is killed at a step: `python test_publishing.py FOLDER`.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable import publishing, scratch
from hushtable.errors import BudgetError, DataError, HushError, LedgerError, OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS
from hushtable.families.linear.ask.basic import Basic
from hushtable.kernel.curator import Curator
from hushtable.kernel.noise.entropy import KEY_BYTES, Keystream, SystemEntropy
from hushtable.kernel.privacy.ledger import Ledger, LedgerState
from hushtable.progress import heard
from hushtable.publishing import LedgerWarning, curate, publish
from hushtable.schema import Schema

STEPS = ["plan", "count", "pay", "draw", "write", "publish", "record", "done"]
PAID = STEPS[3:]  # steps at whose beginning ε is spent
STATUS = {"draw": "reserved", "write": "drawing", "publish": "drawing", "record": "publishing"}

SCHEMA = """name = "people"
budget = "3"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 4]
"""


class World:
    """A table, its schema, and where its release goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "people.csv"
        self.schema = folder / "people.toml"
        self.out = folder / "people.release"
        self.ledger = folder / "people.toml.ledger"
        self.data.write_text("age\n0\n1\n1\n9\nold\n")
        self.schema.write_text(SCHEMA)

    def publish(self, **options: Any) -> Any:
        call = {"data": self.data, "schema": self.schema, "epsilon": "1", "out": self.out}
        return publish(**{**call, **options})

    def state(self) -> LedgerState:
        return Ledger.read(self.ledger)

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def partials(self) -> list[Path]:
        return sorted(self.folder.glob(".*.partial"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class Stop(Exception):
    """Something nobody expected."""


def stop_at(chosen: str) -> Any:
    def progress(step: str) -> None:
        if step == chosen:
            raise Stop

    return progress


def test_whoever_listens_cannot_make_a_run_fail(world: World) -> None:
    """A terminal that is gone, say: once ε is spent, a failure would cost it."""
    heard_of: list[int] = []

    def fail(done: int, total: int) -> None:
        heard_of.append(total)
        raise OSError

    world.schema.write_text(SCHEMA.replace("4]", f"{2**22}]"))
    with heard(fail):
        world.publish(mechanism="basic")
    assert world.data.stat().st_size in heard_of and len(set(heard_of)) > 1  # counting and drawing
    assert [entry.status for entry in world.state().entries] == ["published"]


class TestRefusals:
    """What can be refused before paying spends nothing and leaves nothing, not even a ledger."""

    @pytest.mark.parametrize(
        ("options", "kind", "words"),
        [
            ({"epsilon": "0"}, OptionError, "above zero"),
            ({"epsilon": "-1"}, OptionError, "above zero"),
            ({"epsilon": "nan"}, OptionError, "finite"),
            ({"epsilon": "much"}, OptionError, "decimal"),
            ({"epsilon": "3.0000000000000000000001"}, BudgetError, "budget of 3"),
            ({"out": "people.csv"}, OptionError, "never overwritten"),
            ({"out": "link"}, OptionError, "never overwritten"),
            ({"out": "."}, OptionError, "never overwritten"),
            ({"out": "nowhere/x.release"}, OptionError, "no folder"),
            ({"out": "x" * 250}, OptionError, "cannot be written"),
            ({"out": "x\0y"}, OptionError, "cannot be written"),
            ({"mechanism": "magic"}, OptionError, "no mechanism"),
            ({"settings": {"levels": 3}}, OptionError, "chooses the settings itself"),
            ({"mechanism": "basic", "settings": {"levels": 3}}, OptionError, "no setting"),
            ({"mechanism": "basic", "workload": "ranges"}, OptionError, "does not use it"),
            ({"workload": "everything"}, OptionError, "there is no workload"),
            ({"ledger": "nowhere/ledger"}, HushError, "folder"),
            ({"data": "nothing.csv"}, DataError, "no file"),
            ({"data": "other.csv"}, DataError, "no column 'age'"),
        ],
    )
    def test_bad_options(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        options: dict[str, Any],
        kind: type[HushError],
        words: str,
    ) -> None:
        monkeypatch.chdir(world.folder)
        (world.folder / "other.csv").write_text("height\n3\n")
        (world.folder / "link").symlink_to("nowhere")
        before = world.names()
        with pytest.raises(kind, match=words) as caught:
            world.publish(**options)
        assert "\n" not in str(caught.value)
        assert world.names() == before

    @pytest.mark.parametrize(
        ("old", "new", "kind", "words"),
        [
            ('budget = "3"', 'budget = "3"\nreviewed = false', OptionError, "review it"),
            ("range = [0, 4]", 'range = [0, 1]\nlabels = ["a"]', HushError, "range"),
            ("range = [0, 4]", "range = [4, 0]", HushError, "range"),
        ],
    )
    def test_bad_schemas(
        self, world: World, old: str, new: str, kind: type[HushError], words: str
    ) -> None:
        world.schema.write_text(SCHEMA.replace(old, new))
        before = world.names()
        with pytest.raises(kind, match=words):
            world.publish()
        assert world.names() == before

    def test_more_than_is_left_is_refused_before_counting(self, world: World) -> None:
        world.publish(epsilon="2.5")
        steps: list[str] = []
        with pytest.raises(BudgetError, match=r"0\.6 does not fit: 0\.5 is left"):
            world.publish(epsilon="0.6", out=world.folder / "b", progress=steps.append)
        assert not steps and world.state().spent == Fraction(5, 2)

    def test_a_folder_that_cannot_be_written_is_noticed_before_counting(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "mkdir", full)
        with pytest.raises(OptionError, match="No space left"):
            world.publish()
        assert not world.ledger.exists()

    def test_a_schema_that_is_no_file_needs_a_ledger(self, world: World) -> None:
        loaded = Schema.load(world.schema)
        schema = Schema(loaded.name, loaded.budget, loaded.attributes)
        with pytest.raises(OptionError, match="ledger="):
            world.publish(schema=schema)
        world.publish(schema=schema, ledger=world.folder / "elsewhere")
        assert Ledger.read(world.folder / "elsewhere").spent == 1
        assert not world.ledger.exists()

    def test_a_first_try_that_fails_pins_nothing(self, world: World) -> None:
        world.schema.write_text(SCHEMA.replace('"age"', '"aeg"'))
        with pytest.raises(DataError):
            world.publish()
        world.schema.write_text(SCHEMA.replace('"3"', '"2"'))
        world.publish()
        assert world.state().budget == 2


class TestOrder:
    def test_the_steps_are_told_as_they_begin(self, world: World) -> None:
        steps: list[tuple[str, bool, bool]] = []

        def progress(step: str) -> None:
            paid = world.ledger.exists() and world.state().spent == 1
            steps.append((step, paid, world.out.exists()))

        world.publish(progress=progress)
        expected = [(step, step in PAID, step in ("record", "done")) for step in STEPS]
        assert steps == expected

    def test_noise_is_drawn_only_after_the_ledger_has_it(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask, seen = Curator.noisy_coefficients, []

        def watched(self: Curator, *arguments: Any, **options: Any) -> Any:
            seen.append([(entry.epsilon, entry.status) for entry in world.state().entries])
            return ask(self, *arguments, **options)

        monkeypatch.setattr(Curator, "noisy_coefficients", watched)
        world.publish()
        assert seen == [[(1, "drawing")]]

    @pytest.mark.parametrize("unit", ["", 'unit = { column = "id", max_rows = 1 }\n'])
    def test_the_key_of_the_noise_is_drawn_after_paying_and_is_no_other_secret(
        self, world: World, monkeypatch: pytest.MonkeyPatch, unit: str
    ) -> None:
        """Before it there is nothing to look at for whoever kills the run; the salt is another."""
        keys, drawn, urandom = [], [], os.urandom

        def watched(size: int) -> bytes:
            made = urandom(size)
            drawn.append(made)
            if size == KEY_BYTES:
                paid = world.ledger.exists() and [e.status for e in world.state().entries]
                keys.append((made, paid))
            return made

        world.schema.write_text(unit + SCHEMA)
        world.data.write_text("id,age\na,1\na,2\nb,3\n")
        monkeypatch.setattr(os, "urandom", watched)
        world.publish()
        ((key, paid),) = keys
        assert paid == ["drawing"] and drawn.count(key) == 1
        curate(world.data, world.schema, epsilon="1", purpose="a look")
        assert keys[1][1] == ["published", "published"]

    def test_the_ledger_ends_with_the_manifest_of_the_release(self, world: World) -> None:
        release = world.publish()
        (entry,) = world.state().entries
        assert (entry.id, entry.status) == (release.manifest["reservation"], "published")
        assert (entry.mechanism, entry.out) == ("basic", str(world.out))
        books = publishing.open_ledger(Schema.load(world.schema))
        assert books.verify_anchor(release.manifest["ledger"])
        assert release.manifest["ledger"].keys() == {"ledger", "hash"}  # not how often was tried

    def test_the_default_ledger_is_beside_the_schema(self, world: World, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        world.publish(out=elsewhere / "r")
        assert world.names() == ["elsewhere", "people.csv", "people.toml", "people.toml.ledger"]
        assert os.listdir(elsewhere) == ["r"]

    @pytest.mark.parametrize("epsilon", ["0.1", "0.30", 0.1, "1e-3", Fraction(1, 3)])
    def test_epsilon_is_exact_from_end_to_end(self, world: World, epsilon: Any) -> None:
        amount = Fraction(str(epsilon))
        release = world.publish(epsilon=epsilon)
        assert release.epsilon == world.state().spent == amount
        assert Fraction(release.manifest["noise"]["scale"]) == 1 / amount

    def test_thirty_tenths_are_the_whole_budget(self, world: World) -> None:
        loaded = Schema.load(world.schema)
        books = publishing.open_ledger(loaded)
        for _ in range(29):
            books.spend(Fraction("0.1"), mechanism="test")
        world.publish(epsilon=0.1)
        assert world.state().left == 0
        with pytest.raises(BudgetError):
            world.publish(epsilon="1e-12", out=world.folder / "b")


class TestWhatIsReturned:
    @pytest.mark.parametrize("mechanism", MECHANISMS)
    def test_it_is_what_opening_the_folder_gives(self, world: World, mechanism: str) -> None:
        release = world.publish(mechanism=mechanism)
        opened = hushtable.open(world.out)
        assert release.manifest == opened.manifest and release.schema == opened.schema
        assert release.epsilon == opened.epsilon == 1 and release.private and opened.private
        assert release.count("age < 3").value == opened.count("age < 3").value

    def test_publishing_imports_no_reader_and_no_other_mechanism(self, world: World) -> None:
        """Nor pandas, which is there while these tests run, but takes as long as a small table."""
        call = f"{str(world.data)!r}, {str(world.schema)!r}, epsilon='1', out={str(world.out)!r}"
        script = f"""
import sys, hushtable
hushtable.publish({call}, mechanism='basic')
named = ('hushtable.families', 'hushtable.plan')
print(*(name for name in sys.modules if name.startswith(named) or name == 'pandas'))
"""
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        shared = {"hushtable.families", "hushtable.families.about", "hushtable.families.mechanism"}
        linear = {"hushtable.families.linear"} | {
            f"hushtable.families.linear.{part}" for part in ("about", "ask", "ask.basic")
        }
        assert set(done.stdout.split()) == shared | linear


class TestInjectedRandomness:
    def test_an_injected_source_is_not_private_whatever_it_says(self, world: World) -> None:
        class Pretender:
            private = True

            def __init__(self) -> None:
                self._source = SeededEntropy(1)
                self.fill, self.bits, self.spawn = (
                    self._source.fill,
                    self._source.bits,
                    self._source.spawn,
                )

        assert not world.publish(entropy=Pretender()).private

    def test_an_injected_source_of_the_system_is_not_private_either(self, world: World) -> None:
        known = SystemEntropy()
        known._stream = Keystream(bytes(KEY_BYTES))
        assert not world.publish(entropy=known).private
        curator = curate(world.data, world.schema, epsilon="1", purpose="x", entropy=known)
        assert not curator.private

    def test_what_is_no_source_is_refused_unpaid(self, world: World) -> None:
        with pytest.raises(OptionError, match="source of random bits"):
            world.publish(entropy=42)
        assert not world.ledger.exists()


class TestPrecision:
    """What the manifest says of δ: the precision that the release's own draws met."""

    def stated(self, world: World, name: str, **options: Any) -> dict[str, Any]:
        told = world.publish(out=world.folder / name, **options).manifest["privacy"]
        bits = round(-math.log2(told["eta"]))
        assert told["eta"] == 2.0**-bits
        assert f"δ ≤ (1+e^{told['epsilon']})·2^-{bits} for" in told["guarantee"]
        assert told["delta"] >= (1 + math.exp(float(told["epsilon"]))) * told["eta"]
        return dict(told)

    def test_delta_is_small_even_where_epsilon_is_large(self, world: World) -> None:
        world.schema.write_text(SCHEMA.replace('"3"', '"50"'))
        assert self.stated(world, "one", epsilon="1")["delta"] < 1e-29
        assert self.stated(world, "many", epsilon="42")["delta"] < 1e-11

    def test_eta_is_at_least_what_the_curator_added_up(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for bits, stated in ((101, 100), (99, 95), (87, 85), (60, 60)):
            eta = Fraction(1, 2**bits)
            monkeypatch.setattr(Curator, "eta", property(lambda _, eta=eta: eta))
            told = self.stated(world, f"{bits}", epsilon="0.1")
            assert told["eta"] == 2.0**-stated

    @pytest.mark.parametrize("mechanism", ["basic", "filter", "priority", "sketch", "kdtree"])
    def test_delta_is_the_same_for_neighbours_and_for_other_noise(
        self, world: World, mechanism: str
    ) -> None:
        told = []
        for number, more in enumerate(["", "4\n", "4\n4\n", "2\n3\n4\n" * 30]):
            data = world.folder / f"{number}.csv"
            data.write_text(world.data.read_text() + more)
            options = {"data": data, "mechanism": mechanism, "epsilon": "0.5"}
            told.append(self.stated(world, f"{number}.release", **options))
        assert all(one == told[0] for one in told)


class TestFailuresOnTheWay:
    @pytest.mark.parametrize("step", STEPS)
    def test_an_exception_at_any_step(self, world: World, step: str) -> None:
        with pytest.raises(Stop) as caught:
            world.publish(progress=stop_at(step))
        notes = getattr(caught.value, "__notes__", [])
        assert not world.partials()
        assert world.out.exists() == (step in ("record", "done"))
        if step not in PAID:
            assert not world.ledger.exists() and not notes
            return
        (entry,) = world.state().entries
        assert world.state().spent == 1
        assert entry.status == STATUS.get(step, "published")
        if step == "done":
            assert not notes
        else:
            (note,) = notes
            assert f"ε = 1 was spent on reservation {entry.id}" in note
            assert ("--void" in note) == (entry.status == "reserved")

    @pytest.mark.parametrize("step", STATUS)
    def test_only_what_was_not_drawn_for_can_be_voided(self, world: World, step: str) -> None:
        with pytest.raises(Stop):
            world.publish(progress=stop_at(step))
        books = publishing.open_ledger(Schema.load(world.schema))
        (entry,) = world.state().entries
        if entry.status == "reserved":
            books.void(entry.id)
            assert world.state().spent == 0
            world.publish()
        else:
            with pytest.raises(LedgerError, match="stays spent"):
                books.void(entry.id)
        assert world.state().spent == 1

    @pytest.mark.parametrize(
        ("problem", "words"),
        [
            (OptionError("the setting does not fit"), "the setting does not fit"),
            (OSError(28, "No space left on device"), "No space left on device"),
            (MemoryError(), "not enough memory"),
            (OSError("secret detail"), "could not be written"),
        ],
    )
    def test_a_problem_after_paying_is_one_line_that_says_what_was_spent(
        self, world: World, monkeypatch: pytest.MonkeyPatch, problem: Exception, words: str
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise problem

        monkeypatch.setattr(Basic, "measure", fail)
        with pytest.raises(HushError, match=words) as caught:
            world.publish(epsilon="0.5")
        (entry,) = world.state().entries
        message = str(caught.value)
        assert f"ε = 0.5 was spent on reservation {entry.id}" in message
        assert "stays spent: noise was drawn" in message and "--void" not in message
        assert "\n" not in message and "secret" not in message

    @pytest.mark.parametrize("problem", [ZeroDivisionError("secret"), KeyboardInterrupt()])
    def test_a_defect_or_an_interruption_stays_what_it_is_and_says_what_was_spent(
        self, world: World, monkeypatch: pytest.MonkeyPatch, problem: BaseException
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise problem

        monkeypatch.setattr(publishing, "write_content", fail)
        with pytest.raises(type(problem)) as caught:
            world.publish()
        assert caught.value is problem
        assert "ε = 1 was spent" in problem.__notes__[0]
        assert "stays spent" in problem.__notes__[0]
        assert not world.partials() and not world.out.exists()

    @pytest.mark.parametrize("step", ["pay", "publish"])
    def test_a_name_taken_meanwhile_is_left_alone(self, world: World, step: str) -> None:
        def progress(begun: str) -> None:
            if begun == step:
                world.out.mkdir()
                (world.out / "precious").touch()

        with pytest.raises(OptionError, match="never overwritten") as caught:
            world.publish(progress=progress)
        assert os.listdir(world.out) == ["precious"] and not world.partials()
        assert world.ledger.exists() == ("stays spent" in str(caught.value)) == (step == "publish")

    def test_a_disk_that_is_too_small_for_the_noise_gives_no_second_look(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Files are as wide as their noise, so a full disk tells about it: it must be paid for."""
        looks = []

        def full(folder: Path, schema: Schema, content: Any) -> Any:
            looks.append(content.arrays["cells"].tolist())
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(publishing, "write_content", full)
        for number in range(3):
            with pytest.raises(OptionError, match="stays spent"):
                world.publish(out=world.folder / str(number))
            books = publishing.open_ledger(Schema.load(world.schema))
            for entry in books.state().entries:
                with pytest.raises(LedgerError, match="stays spent"):
                    books.void(entry.id)
        assert world.state().spent == len(looks) == 3
        with pytest.raises(BudgetError):
            world.publish()
        assert len(looks) == 3

    def test_a_run_whose_reservation_was_voided_meanwhile_draws_nothing(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def void(step: str) -> None:
            if step == "draw":
                (entry,) = world.state().entries
                publishing.open_ledger(Schema.load(world.schema)).void(entry.id)

        monkeypatch.setattr(publishing, "Curator", None)  # there must not be one
        with pytest.raises(LedgerError, match="was voided") as caught:
            world.publish(progress=void)
        assert world.state().spent == 0 and not world.out.exists()
        (entry,) = world.state().entries
        assert f"reservation {entry.id} was voided: its ε = 1 is given back" in str(caught.value)
        assert "spent" not in str(caught.value)

    def test_a_run_whose_ledger_was_exchanged_meanwhile_says_so(self, world: World) -> None:
        def exchange(step: str) -> None:
            if step == "draw":
                world.ledger.unlink()
                publishing.open_ledger(Schema.load(world.schema), why="for a change")

        with pytest.raises(LedgerError, match="another ledger was put in its place") as caught:
            world.publish(progress=exchange)
        assert "the ledger that is there now does not know it" in str(caught.value)
        assert "release may exist" not in str(caught.value)

    def test_a_ledger_that_vanished_does_not_start_at_zero_again(self, world: World) -> None:
        world.publish()
        world.ledger.unlink()
        steps: list[str] = []
        with pytest.raises(LedgerError, match="is gone"):
            world.publish(out=world.folder / "b", progress=steps.append)
        assert not steps and not world.ledger.exists()

    def test_a_warning_that_stops_the_program_spends_nothing(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HUSHTABLE_STATE", str(world.data / "no folder"))
        with pytest.raises(LedgerWarning, match="state folder"):
            world.publish()
        assert world.state().spent == 0 and not world.out.exists()


class TestKills:
    """kill -9 at the beginning of every step: what exists was paid for, and nothing is half."""

    @pytest.mark.thorough
    def test_spent_covers_every_release_that_exists(self, tmp_path: Path) -> None:
        command = [sys.executable, __file__, str(tmp_path)]
        subprocess.run(command, check=True, timeout=900)
        for step in STEPS:
            self.check(World(tmp_path / step), step)

    def check(self, world: World, step: str) -> None:
        assert (world.folder / "reached").read_text() == step
        spent = world.state().spent if world.ledger.exists() else 0
        assert spent == (1 if step in PAID else 0)
        assert world.out.exists() == (step in ("record", "done"))
        if world.out.exists():
            release = hushtable.open(world.out)
            release.verify()
            assert release.epsilon <= spent
        assert len(world.partials()) == (step == "publish")
        if step in PAID:
            (entry,) = world.state().entries
            assert entry.status == STATUS.get(step, "published")


def test_what_a_killed_run_left_is_removed_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.out = world.folder / "odd [1].release"
    left = world.folder / ".odd [1].release.0123abcd.partial"
    young = world.folder / ".odd [1].release.4567cdef.partial"
    others = world.folder / ".other.release.0123abcd.partial"
    for folder in (left, young, others):
        folder.mkdir()
        (folder / "cells.npy").touch()
    now = time.time()
    world.publish()
    assert len(world.partials()) == 3  # they may belong to a run that has just begun
    monkeypatch.setattr(scratch.time, "time", lambda: now + 3600)
    with scratch.held_folder(young):
        world.out.rename(world.folder / "first")
        world.publish()
        assert world.partials() == sorted([young, others])


class TestSecrecy:
    def test_two_releases_of_one_table_differ(self, world: World) -> None:
        one, two = (world.publish(out=world.folder / name) for name in "ab")
        files = [(release.folder / "cells.npy").read_bytes() for release in (one, two)]
        assert files[0] != files[1]

    def test_the_manifest_is_the_same_for_neighbours(self, world: World) -> None:
        """Same noise, one row more: only the noisy cells and their checksums may differ."""
        manifests = []
        for name, rows in (("a", "0\n1\n"), ("b", "0\n1\n1\n"), ("c", ""), ("d", "junk\n" * 99)):
            world.data.write_text("age\n" + rows)
            release = world.publish(
                out=world.folder / name, epsilon="0.5", entropy=SeededEntropy(3)
            )
            assert not release.private
            manifest = json.loads((release.folder / "manifest.json").read_bytes())
            for key in ("created", "reservation", "ledger"):
                del manifest[key]
            hashes = [array.pop("sha256") for array in manifest["arrays"].values()]
            manifests.append((manifest, hashes))
        assert manifests[0][0] == manifests[1][0] == manifests[2][0] == manifests[3][0]
        assert manifests[0][1] != manifests[1][1]
        assert manifests[2][1] == manifests[3][1]  # dropped rows are no rows

    def test_sizes_and_modes_of_files_tell_nothing(self, world: World) -> None:
        releases = []
        for name, rows in (("a", "0\n"), ("b", "0\n0\n3\n")):
            world.data.write_text("age\n" + rows)
            releases.append(world.publish(out=world.folder / name, entropy=SeededEntropy(3)))
        listings = [
            [(f.name, f.stat().st_mode, f.stat().st_size) for f in sorted(r.folder.iterdir())]
            for r in releases
        ]
        assert listings[0] == listings[1]

    def test_errors_tell_no_data(self, world: World) -> None:
        world.data.write_text("age\n271828\n")
        with pytest.raises(Stop) as caught:
            world.publish(progress=stop_at("write"))
        assert "271828" not in "".join(caught.value.__notes__)


class TestCurate:
    def test_it_spends_at_once_and_for_good(self, world: World) -> None:
        curator = curate(world.data, world.schema, epsilon="0.5", purpose="a look")
        (entry,) = world.state().entries
        assert (entry.epsilon, entry.status) == (Fraction(1, 2), "published")
        assert entry.mechanism == "curator: a look"
        assert curator.left == Fraction(1, 2)
        with pytest.raises(LedgerError):
            publishing.open_ledger(Schema.load(world.schema)).void(entry.id)

    def test_it_answers_within_its_allotment(self, world: World) -> None:
        curator = curate(
            world.data, world.schema, epsilon="3", purpose="test", entropy=SeededEntropy(1)
        )
        assert curator.noisy_total(epsilon="2").values.shape == (1,)
        with pytest.raises(BudgetError):
            curator.noisy_total(epsilon="1.5")
        assert world.state().spent == 3

    @pytest.mark.parametrize(
        "options", [{"epsilon": "4"}, {"epsilon": "0"}, {"data": "nothing.csv"}]
    )
    def test_what_it_refuses_spends_nothing(self, world: World, options: dict[str, Any]) -> None:
        call = {"data": world.data, "schema": world.schema, "epsilon": "1", "purpose": "test"}
        with pytest.raises(HushError):
            curate(**{**call, **options})
        assert not world.ledger.exists()


def killed_at(chosen: str, world: World) -> None:
    """Publish in a child that kills itself when the step begins."""

    def progress(step: str) -> None:
        if step == chosen:
            (world.folder / "reached").write_text(step)
            os.kill(os.getpid(), signal.SIGKILL)

    child = forked(lambda: world.publish(progress=progress))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


if __name__ == "__main__":
    from shared_forks import forked, import_what_publishing_needs

    import_what_publishing_needs(lambda folder: World(folder).publish())
    for name in STEPS:
        place = Path(sys.argv[1], name)
        place.mkdir()
        os.environ["HUSHTABLE_STATE"] = str(place / "state")
        killed_at(name, World(place))
