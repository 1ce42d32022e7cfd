"""The folder tree is the architecture: who may import whom, anywhere in a file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from hushtable.families import FAMILIES

SOURCE = Path(__file__).parent.parent / "src" / "hushtable"
PAPERS = Path(__file__).parent.parent / "papers" / "src" / "hushtable_papers"

# The files of kernel/maps that others may use, readers of releases among them: descriptions of
# transforms, shapes, the numbering of nodes, hashes, laws. They need numpy only; a file that is not
# listed is for these alone.
PUBLIC_MAPS = {
    "axis",
    "haar",
    "hashing",
    "identity",
    "laws",
    "nominal",
    "product",
    "rules",
    "slabs",
    "splits",
    "squared",
    "structure",
    "tents",
    "thresholds",
    "topology",
    "tree",
}

# What each part may import of the others; its own files are always allowed.
SHARED = {"arrays", "compiled", "errors", "kernel.privacy.noises", "progress", "scratch"}
SHARED |= {"spilled", "text"}
READING = {"arrays", "errors", "kernel.maps.public", "kernel.privacy.noises", "schema", "text"}
READING |= {"markup"}
# What a loss is and means; nothing of how it is spent.
LOSSES = {"kernel.privacy.conversion", "kernel.privacy.loss", "kernel.privacy.measures"}
ANALYST = READING | LOSSES | {"forms", "query"}
ALLOWED: dict[str, set[str]] = {
    "arrays": set(),
    "compiled": set(),
    "opening": set(),
    "progress": set(),
    "scratch": set(),
    "spilled": {"arrays"},
    "text": set(),
    "markup": {"text"},
    "errors": {"text"},
    "forms": set(),
    "schema": LOSSES | {"errors", "forms", "markup", "opening", "scratch"},
    # What a mistake in would break privacy: nothing of what is built on it.
    "kernel": set(),
    "kernel.posix": {"errors"},
    "kernel.processes": set(),
    "kernel.privacy.noises": {"arrays"},
    "kernel.privacy.loss": {"errors", "kernel.privacy.noises"},
    "kernel.privacy.measures": {"errors", "kernel.privacy.loss"},
    "kernel.privacy.conversion": {"errors", "kernel.privacy.loss", "kernel.privacy.measures"},
    "kernel.privacy": LOSSES | {"errors", "kernel.posix", "kernel.processes", "schema", "scratch"},
    "kernel.counting": SHARED | {"kernel.posix", "schema"},
    "kernel.maps": {"arrays", "compiled", "kernel.maps.public"},
    "kernel.maps.public": {"arrays", "errors", "kernel.maps"},
    "kernel.noise": SHARED | {"kernel.maps.public", "kernel.privacy.loss", "kernel.processes"},
    "kernel.curator": SHARED
    | {"kernel.counting", "kernel.maps.public", "kernel.noise"}
    | LOSSES
    | {"kernel.privacy"},
    # Ways to publish: who asks the curator sees no more of the kernel; who reads, nothing.
    "families": {"errors", "families.about", "families.mechanism"},
    "families.about": {"errors", "kernel.privacy.loss", "schema"},
    "families.mechanism": ANALYST | {"families.about"} | {"kernel.curator", "release"},
    "families.forecast": ANALYST | {"workload"},
    "families.ask": ANALYST
    | {"families.about", "families.mechanism", "families.read", "kernel.curator", "progress"}
    | {"release"},
    "families.read": ANALYST
    | {"families.about", "families.forecast", "families.kernels", "release", "workload"},
    "families.kernels": {"arrays", "compiled", "kernel.maps.public"},
    "query": READING | {"query.haar_kernels"},
    "query.haar_kernels": {"arrays", "compiled", "kernel.maps.public"},
    "release": ANALYST
    | {"__version__", "families", "opening", "progress", "scratch"}
    | {"web.report"},
    # What will be asked, and how accurate the answers would be: every family forecasts by itself.
    "workload": {"arrays", "errors", "query", "schema"},
    "planner": ANALYST | {"families", "families.forecast", "workload"},
    # Pages of releases: as much as an analyst sees. A release draws its report by one of them.
    "web": ANALYST | {"__version__", "release", "scratch"},
    # The owner's page sees the ledger; `hush explore --schema` alone imports it.
    "web.owner": ANALYST | {"families.forecast", "kernel.privacy", "planner", "web", "workload"},
    "web.report": ANALYST | {"release", "scratch", "web"},
    "cli.signals": set(),
    "cli.show": {"cli.signals", "errors", "progress", "query", "release", "text"},
    "cli.completing": {"cli.show", "families", "workload"},
    "cli.analyst": {"cli.completing", "cli.show", "errors", "families.read", "query", "release"},
}
# The end of the line: these may use everything.
FREE = {
    "__init__",
    "__main__",
    "publishing",
    "checking",
    "synthesizer",
    "drafting",
    "auditing",
    "evaluation",
    "generators",
    "cli.budgeting",
    "cli.checking",
    "cli.options",
    "cli.publishing",
    "cli.schemas",
    "cli.planning",
    "cli.reporting",
    "cli.reproducing",
    "cli.serving",
    "cli.listing",
    "cli.evaluating",
    "cli.auditing",
    "cli.trying",
    "cli.main",
    "cli.__main__",
    "cli",
}
COMMANDS = (
    "main",
    "budgeting",
    "checking",
    "completing",
    "options",
    "publishing",
    "schemas",
    "planning",
    "analyst",
    "trying",
    "reporting",
    "reproducing",
    "serving",
    "evaluating",
    "listing",
    "auditing",
)

# Names of other libraries that begin with an underscore: one is public, a sheet's temporary file is
# removed in no other way, Spark's log can be turned off in Java alone, and a catalog has no other
# place where tables are kept from naming the program that reads them.
NOT_OURS = {"os._exit", "sheet._writer", "context._jvm", "frame._jdf", "catalog._load_file_io"}

# Families that are built on others: each small table is measured through a product of transforms,
# and the model of all of them is a network.
STANDS_ON = {"marginals": ("linear", "network")}

FILES = sorted(SOURCE.rglob("*.py"))
# What starts the command line, and the command that is installed beside it.
STARTS_COMMANDS = {SOURCE / "__main__.py", PAPERS / "command.py"}


def part_of(module: str) -> str:
    """The most specific part that a module of hushtable belongs to.

    In the folder of a family, `ask` is the owner's side, and everything else the analyst's. What a
    package passes on is as public as the package.
    """
    names = module.split(".")
    if family_of(module):
        sides = {"ask": "families.ask", "kernels": "families.kernels"}
        return sides.get(names[2] if names[2:] else "", "families.read")
    if names[:2] == ["kernel", "maps"]:
        a_file = (SOURCE / "kernel" / "maps" / f"{''.join(names[2:3])}.py").is_file()
        hidden = a_file and names[2] not in PUBLIC_MAPS | {"__init__"}
        return "kernel.maps" if hidden else "kernel.maps.public"
    return next(
        (".".join(names[:k]) for k in (3, 2, 1) if ".".join(names[:k]) in ALLOWED.keys() | FREE),
        names[0],
    )


def family_of(module: str) -> str | None:
    """The family in whose folder a module is."""
    names = module.split(".")
    return names[1] if names[0] == "families" and names[1:2] and names[1] in FAMILIES else None


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


Imports = ast.Import | ast.ImportFrom


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> set[str]:
    return imports_in(ast.walk(parsed(path)))


def imports_in(statements: Iterable[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_imports_go_one_way() -> None:
    for path in FILES:
        module = module_of(path)
        part, family = part_of(module), family_of(module)
        families = (family, None, *STANDS_ON.get(family or "", ()))
        inside = {name.removeprefix("hushtable.") for name in imports_of(path) if is_ours(name)}
        for name in inside if part not in FREE else ():
            other = part_of(name)
            assert other == part or other in ALLOWED[part], f"{module} must not import {name}"
            assert not family or family_of(name) in families, f"{module} must not import {name}"


def test_no_server_for_others_imports_the_page_of_an_owner() -> None:
    users = {module_of(p) for p in FILES if "hushtable.web.owner" in imports_of(p)}
    assert users == {"cli.serving"}
    (owner,) = [
        node
        for node in parsed(SOURCE / "cli" / "serving.py").body
        if isinstance(node, ast.FunctionDef) and "hushtable.web.owner" in imports_in(ast.walk(node))
    ]
    callers = {
        node.name
        for node in parsed(SOURCE / "cli" / "serving.py").body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(n, ast.Name) and n.id == owner.name for n in ast.walk(node))
    }
    assert callers == {"explore"}


def is_ours(name: str) -> bool:
    return name.startswith("hushtable.")


def test_nothing_imports_the_command_line() -> None:
    for path in (*FILES, *PAPERS.rglob("*.py")):
        if SOURCE / "cli" not in path.parents and path not in STARTS_COMMANDS:
            found = {name for name in imports_of(path) if name.startswith("hushtable.cli")}
            assert not found, path


def test_nothing_reaches_into_what_another_file_keeps_private() -> None:
    for path in (*FILES, *PAPERS.rglob("*.py")):
        tree = parsed(path)
        private = {name for name in imports_of(path) if is_private(name.rpartition(".")[2])}
        reached = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and is_private(node.attr)
        ]
        own = kept_private(tree) if reached else set()
        private |= {ast.unparse(node) for node in reached if node.attr not in own} - NOT_OURS
        assert not private, path


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def kept_private(tree: ast.Module) -> set[str]:
    """The private names that the classes of a file give to their objects."""
    found: set[str] = set()
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in kind.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
        for inner in ast.walk(kind):
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                found.add(inner.target.id)
            own = isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
            if own and ast.unparse(inner.value) == "self":
                found.add(inner.attr)
    return {name for name in found if is_private(name)}


def test_every_part_is_known() -> None:
    assert {part_of(module_of(path)) for path in FILES} <= ALLOWED.keys() | FREE


@pytest.mark.parametrize("home", FAMILIES)
def test_every_family_has_the_same_parts(home: str) -> None:
    folder = SOURCE / "families" / home
    parts = {path.stem for path in folder.iterdir()}
    assert parts >= {"about", "ask", "store", "read"} and (folder / "store.py").is_file()
    assert (folder / "forecast.py").is_file() == (FAMILIES[home].forecasts is not None)


def test_public_maps_are_files() -> None:
    assert {path.stem for path in (SOURCE / "kernel" / "maps").glob("*.py")} >= PUBLIC_MAPS


# Parts that an analyst's machine imports when it opens a release and answers.
LIGHT = ANALYST | {"families.forecast", "families.read", "release", "workload", "planner"}
LIGHT |= {"cli.analyst", "cli.show"}


def test_compiled_code_is_loaded_by_readers_only_when_it_is_called() -> None:
    light = [path for path in FILES if part_of(module_of(path)) in LIGHT]
    assert light
    for path in light:
        at_once = (node for node in parsed(path).body if isinstance(node, Imports))
        for name in filter(is_ours, imports_in(at_once)):
            file = SOURCE.parent.joinpath(*name.split(".")).with_suffix(".py")
            loads = file.is_file() and "hushtable.compiled" in imports_of(file)
            assert not loads, f"{path} loads {name}"


def test_randomness_comes_through_one_door() -> None:
    """Only post-processing and experiments may use ordinary randomness; nothing unpickles."""
    for path in FILES:
        part, text = part_of(module_of(path)), path.read_text(encoding="utf-8")
        roots = {name.split(".")[0] for name in imports_of(path)}
        assert not roots & {"pickle", "random", "marshal", "shelve"}, path
        if part not in {"families.read", "release", "evaluation", "auditing", "generators"}:
            assert "np.random" not in text and "numpy.random" not in text, path
        if path.name != "entropy.py":
            assert "urandom" not in text or part == "kernel.noise", path


def test_heavy_engines_stay_in_their_rooms() -> None:
    homes = {
        "ibis": {"checking", "kernel.counting"},
        "duckdb": {"kernel.counting", "evaluation"},
        "numba": {"compiled"},
        "sqlite3": {"kernel.counting", "kernel.privacy"},
        "openpyxl": {"kernel.counting", "release"},
        "pyreadstat": {"kernel.counting"},
        "pyspark": {"kernel.counting"},
        "obstore": {"kernel.counting"},
        "deltalake": {"kernel.counting"},
        "pyiceberg": {"kernel.counting"},
        "cryptography": {"kernel.noise", "evaluation"},
        "sqlglot": {"query", "web"},
        "matplotlib": {"evaluation", "families.read", "planner", "query"},
        "altair": {"query"},
        "msgspec": {"families.read", "forms", "release", "schema", "web"},
        "starlette": {"web", "web.owner", "cli.serving"},
        "uvicorn": {"web", "cli.serving"},
        "jinja2": {"web", "web.report", "cli.serving"},
        "click": {f"cli.{name}" for name in COMMANDS},
    }
    for path in FILES:
        roots = {name.split(".")[0] for name in imports_of(path)}
        for library, rooms in homes.items():
            assert library not in roots or part_of(module_of(path)) in rooms, (path, library)
