"""Releases are read on Windows too; what publishes says in one line why not. Two script names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from hushtable.cli.completing import NAMES, SHELLS
from hushtable.cli.main import app
from hushtable.errors import PlatformError
from tests.shared_sizes import some_of

from .conftest import Hush
from .test_help import COMMANDS

HERE = Path(__file__).parent
Done = subprocess.CompletedProcess[str]
Windows = Callable[..., Done]

COUNT = "SELECT sex, COUNT(*) FROM census GROUP BY sex"
# With what they are called, in a folder that has a census, its schema and a release.
READING: dict[tuple[str, ...], list[Sequence[str]]] = {
    ("query",): [["census.release", COUNT, "-o", "answer.csv"], ["census.release", "age < 30"]],
    ("info",): [["census.release", "--verify"]],
    ("export",): [
        ["census.release", "-o", "cells.parquet"],
        ["census.release", "-o", "tables", "--table", "age", "--table", "sex"],
        ["census.release", "-o", "tables.xlsx", "--table", "age+sex"],
        ["census.release", "-o", "rows.csv", "--synthetic", "100"],
    ],
    ("report",): [["census.release", "-o", "report.html"]],
    ("plan",): [["census.toml", "--epsilon", "1"]],
    ("mechanisms",): [[], ["filter"]],
    ("schema", "check"): [["census.toml"], ["hierarchy.toml"]],
    ("completion",): [["fish"]],
}
OWNING: dict[tuple[str, ...], Sequence[str]] = {
    ("check",): ["census.parquet", "-s", "census.toml"],
    ("publish",): ["census.parquet", "-s", "census.toml", "-e", "1", "-o", "new.release"],
    ("budget",): ["census.toml"],
    ("evaluate",): ["census.parquet", "census.release"],
    ("audit",): ["basic"],
    ("demo",): ["-o", "demo"],
    ("generate",): ["census", "-o", "new.parquet"],
    ("schema", "draft"): ["census.parquet", "-o", "draft.toml"],
    ("schema", "import"): ["domain.json", "-o", "draft.toml"],
}
HIERARCHY = """
name = "jobs"
budget = "1"
[[attribute]]
name = "job"
kind = "nominal"
hierarchy = "jobs/jobs.csv"
"""


@pytest.fixture
def folder(shared: Path, tmp_path: Path) -> Path:
    """A folder with a census, its schema and a release, and a schema that names a file."""
    for name in ("census.parquet", "census.toml"):
        shutil.copy(shared / name, tmp_path / name)
    shutil.copytree(shared / "census.release", tmp_path / "census.release")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "jobs.csv").write_text("clerk;office;*\r\nminer;field;*\r\n")
    (tmp_path / "hierarchy.toml").write_text(HIERARCHY, encoding="utf-8")
    (tmp_path / "domain.json").write_text('{"age": 10}', encoding="utf-8")
    return tmp_path


@pytest.fixture
def windows(folder: Path) -> Windows:
    """Run `hush` as on Windows."""

    def call(*arguments: str) -> Done:
        command = [sys.executable, str(HERE / "as_on_windows.py"), *arguments]
        state = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
        return subprocess.run(
            command, cwd=folder, env=state, text=True, capture_output=True, encoding="utf-8"
        )

    return call


def test_every_command_is_of_one_kind() -> None:
    by_themselves = {("reproduce",), ("explore",), ("serve",)}  # the latter do not end
    assert READING.keys() | OWNING.keys() == {*COMMANDS} - by_themselves


@pytest.mark.parametrize("command", some_of(READING, [("query",)]), ids=" ".join)
def test_an_analyst_s_commands_work_on_windows(
    windows: Windows, command: tuple[str, ...], folder: Path
) -> None:
    for arguments in READING[command]:
        done = windows(*command, *arguments)
        assert done.returncode == 0 and done.stdout, done.stderr
        if "-o" in arguments:
            assert (folder / arguments[list(arguments).index("-o") + 1]).exists()
    assert not [path for path in folder.iterdir() if path.name.endswith(".partial")]


@pytest.mark.parametrize("command", some_of(OWNING, [("publish",)]), ids=" ".join)
def test_an_owner_s_commands_say_why_not_and_touch_nothing(
    windows: Windows, command: tuple[str, ...], folder: Path
) -> None:
    before = sorted(folder.rglob("*"))
    done = windows(*command, *OWNING[command])
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("hush: this needs Linux or macOS") and "WSL" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    assert "Example:" in windows(*command, "--help").stdout


def test_what_looks_at_a_proxy_is_the_owner_s_too(windows: Windows) -> None:
    done = windows("plan", "census.toml", "-e", "1", "--proxy", "census.release")
    assert done.returncode == 2 and "WSL" in done.stderr and done.stderr.count("\n") == 1


def test_hostile_folders_are_refused_without_the_flags_of_posix(
    windows: Windows, folder: Path
) -> None:
    cells = next((folder / "census.release").glob("*.npy"))
    cells.rename(folder / "elsewhere.npy")
    cells.symlink_to(folder / "elsewhere.npy")
    done = windows("info", "census.release", "--verify")
    assert done.returncode == 2 and "cannot be read as a plain file" in done.stderr
    jobs = folder / "jobs" / "jobs.csv"
    jobs.rename(folder / "outside.csv")
    jobs.symlink_to(HERE / "conftest.py")
    assert "outside the schema's folder" in windows("schema", "check", "hierarchy.toml").stderr
    assert "a release is a folder" in windows("info", "census.toml").stderr
    assert "no such folder" in windows("info", "nowhere").stderr


def test_the_library_says_it_too() -> None:
    code = (
        "import as_on_windows, hushtable\n"
        "as_on_windows.hide()\n"
        "for name in ('open', 'plan', 'mechanisms', 'Schema'): getattr(hushtable, name)\n"
        "for name in ('publish', 'curate', 'check', 'audit', 'evaluate'):\n"
        "    try: getattr(hushtable, name)\n"
        "    except hushtable.HushError as problem: print(type(problem).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, text=True, capture_output=True)
    assert done.stdout.split() == [PlatformError.__name__] * 5, done.stderr


def test_the_imitation_takes_away_what_it_says() -> None:
    """Else nothing would be shown: what imports or opens as POSIX does must fail in it."""
    code = (
        "import as_on_windows, os, signal, sys, tempfile\n"
        "as_on_windows.hide(); as_on_windows.forbid()\n"
        "def refused(call):\n"
        "    try: call()\n"
        "    except Exception as problem: print(type(problem).__name__)\n"
        "    else: print('done')\n"
        "refused(lambda: __import__('fcntl'))\n"
        "refused(lambda: (signal.SIGHUP, os.O_NOFOLLOW))\n"
        "refused(os.getuid if hasattr(os, 'getuid') else lambda: os.getuid)\n"
        "refused(lambda: os.open('.', os.O_RDONLY))\n"
        "folder = tempfile.mkdtemp(); path = os.path.join(folder, 'a')\n"
        "file = open(path, 'w')\n"
        "refused(lambda: os.unlink(path)); refused(lambda: os.rename(folder, folder + 'b'))\n"
        "file.close(); refused(lambda: os.unlink(path))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, text=True, capture_output=True)
    missing, denied = "AttributeError", "PermissionError"
    assert done.stdout.split() == [
        *("ModuleNotFoundError", missing, missing, denied, denied, denied, "done")
    ], done.stderr


SAYING_EPSILON = [
    ("query", "census.release", COUNT),
    ("info", "census.release"),
    ("plan", "census.toml", "-e", "1"),
    ("plan", "--help"),
    ("query", "census.release", "ε = 1"),
    ("mechanisms", "marginals"),
]


class TestOutputThatHasNoEpsilon:
    """A pipe on Windows is often cp1252, which has no ε."""

    @staticmethod
    def call(folder: Path, encoding: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "hushtable", *arguments]
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True)

    @pytest.mark.parametrize("encoding", some_of(["cp1252", "latin-1"], ["cp1252"]))
    @pytest.mark.parametrize(
        "arguments",
        some_of(SAYING_EPSILON, SAYING_EPSILON[::2]),
        ids=" ".join,
    )
    def test_it_is_escaped(self, folder: Path, encoding: str, arguments: tuple[str, ...]) -> None:
        done = self.call(folder, encoding, *arguments)
        assert done.returncode == (2 if "ε = 1" in arguments else 0), done.stderr
        assert b"Traceback" not in done.stderr and b"internal" not in done.stderr
        assert done.stdout.decode(encoding) or done.stderr.decode(encoding)

    def test_it_is_seen(self, folder: Path) -> None:
        assert rb"\u03b5 = 1" in self.call(folder, "cp1252", "info", "census.release").stdout
        assert "ε = 1" in self.call(folder, "utf-8", "info", "census.release").stdout.decode()

    def test_json_stays_json(self, folder: Path) -> None:
        asked = ("mechanisms", "marginals", "--json")
        plain, escaped = (self.call(folder, code, *asked).stdout for code in ("utf-8", "cp1252"))
        assert "ε" in plain.decode() and "ε" not in escaped.decode("cp1252")
        assert json.loads(plain) == json.loads(escaped.decode("cp1252"))


def test_both_scripts_are_installed_and_call_themselves_what_they_are_called() -> None:
    for name in NAMES:
        script = Path(sys.executable).parent / name
        shown = subprocess.run([script, "query", "--help"], text=True, capture_output=True).stdout
        assert shown.startswith(f"Usage: {name} query [OPTIONS]")


class TestCompletion:
    @pytest.mark.parametrize("shell", SHELLS)
    def test_the_script_is_that_of_both_names(self, hush: Hush, shell: str) -> None:
        printed, kind = hush("completion", shell), get_completion_class(shell)
        assert kind is not None and printed.code == 0
        for name in NAMES:
            told = kind(app, {}, name, f"_{name.upper()}_COMPLETE").source()
            assert told.strip() in printed.out
        assert hush("completion", shell, "--json").json["script"] in printed.out

    def test_other_shells_are_refused_in_one_line(self, hush: Hush) -> None:
        refused = hush("completion", "cmd")
        assert refused.code == 2 and refused.err.count("\n") == 1

    @staticmethod
    def completed(words: str, name: str = "hush", begun: str = "") -> list[str]:
        """What bash would be told to offer."""
        told = {
            f"_{name.upper()}_COMPLETE": "bash_complete",
            "COMP_WORDS": f"{name} {words}{begun}",
            "COMP_CWORD": str(len(words.split()) + 1),
        }
        script = Path(sys.executable).parent / name
        done = subprocess.run(
            [script], env={**os.environ, **told}, text=True, capture_output=True, check=True
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    @pytest.mark.parametrize("name", NAMES)
    def test_commands_and_options(self, name: str) -> None:
        assert self.completed("", name, "que") == ["plain,query"]
        assert "plain,--simultaneous" in self.completed("query x y ", name, "--s")

    @pytest.mark.parametrize(
        ("words", "begun", "offered"),
        [
            ("mechanisms ", "fil", ["filter", "filter-threshold", "filter-priority"]),
            ("publish t.csv -m ", "au", ["auto"]),
            ("publish t.csv -m filter --set ", "", ["on", "size", "theta", "consistent", "sides"]),
            ("audit ", "bas", ["basic"]),
            ("plan s.toml -w ", "ma", ["marginals:"]),
            ("schema ", "dr", ["draft"]),
            ("completion ", "z", ["zsh"]),
        ],
    )
    def test_names(self, words: str, begun: str, offered: list[str]) -> None:
        found = self.completed(words, begun=begun)
        assert [item.removeprefix("plain,").removesuffix("=") for item in found] == offered

    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            ("query ", "dir"),
            ("schema check ", "file"),
            ("check ", "file"),
            ("publish t.csv -s ", "file"),
            ("plan s.toml -w ", "file"),
        ],
    )
    def test_files_and_folders(self, words: str, kind: str) -> None:
        assert self.completed(words, begun="a") == [f"{kind},a"]

    @pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
    def test_bash_understands_it(self, hush: Hush, tmp_path: Path) -> None:
        (tmp_path / "script").write_text(hush("completion", "bash").out, encoding="utf-8")
        code = (
            f"source {tmp_path / 'script'}; complete -p hush hushtable\n"
            "COMP_WORDS=(hush mechanisms privb); COMP_CWORD=2; _hush_completion hush\n"
            'echo "${COMPREPLY[@]}"'
        )
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", code], env={**os.environ, "PATH": path}, text=True, capture_output=True
        )
        lines = done.stdout.splitlines()
        assert lines[-1] == "privbayes" and len(lines) == 3, done.stderr


def test_a_drive_is_no_address_and_no_workload(tmp_path: Path) -> None:
    """C:\\ask.sql is a file, although a colon also follows the names of workloads."""
    from hushtable.errors import HushError, OptionError
    from hushtable.generators import census_schema
    from hushtable.kernel.counting.readers.paths import find_files
    from hushtable.workload.parsing import read_workload

    with pytest.raises(OptionError, match=r"ask\.sql cannot be read as a text file of queries"):
        read_workload(r"C:\data\ask.sql", census_schema())
    for path in (r"C:\data\table.csv", "C:/data/table.csv"):
        with pytest.raises(HushError) as refused:
            find_files(path)
        assert "elsewhere" not in str(refused.value)
