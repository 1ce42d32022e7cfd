"""`python -O` drops assertions: what is refused must not hang on one."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "hushtable"

# A cell has too many adjacent ones at distance 12, and a few at distance 1.
SCHEMA = 'name = "grid"\nbudget = "3"\n' + "".join(
    f'[[attribute]]\nname = "{name}"\nkind = "ordinal"\nrange = [0, 12]\n' for name in "abcd"
)

PROGRAM = """
import json, os, sys
import hushtable
from hushtable.errors import HushError

assert not __debug__ or sys.exit("not optimised")
told = []
try:
    far = {"d": "12"}
    hushtable.publish("t.csv", "s.toml", epsilon="1", mechanism="ispe", settings=far, out="r")
except HushError as problem:
    told.append(str(problem))
told.append(os.path.exists("s.toml.ledger"))
hushtable.publish("t.csv", "s.toml", epsilon="1", mechanism="ispe", out="r")
manifest = json.load(open("r/manifest.json"))
manifest["parameters"]["d"] = 12
json.dump(manifest, open("r/manifest.json", "w"))
try:
    hushtable.open("r").count("a = 1")
except HushError as problem:
    told.append(str(problem))
print(json.dumps(told))
"""


def test_too_many_adjacent_cells_are_refused_before_paying_and_on_opening(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "t.csv").write_text("a,b,c,d\n1,2,3,4\n5,6,7,8\n")
    done = subprocess.run(
        [sys.executable, "-O", "-c", PROGRAM],
        cwd=tmp_path,
        env=os.environ | {"HUSHTABLE_STATE": str(tmp_path / "state")},
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    refused, paid, opened = json.loads(done.stdout)
    assert "take a smaller d" in refused and "was spent" not in refused and not paid
    assert "take a smaller d" in opened


def test_assertions_only_tell_the_type_checker() -> None:
    """On the paying side an assertion names a type; whatever it calls would not run under -O."""
    for path in SOURCE.rglob("*.py"):
        if "evaluation" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                calls = [call for call in ast.walk(node.test) if isinstance(call, ast.Call)]
                called = {ast.unparse(call.func) for call in calls}
                assert called <= {"isinstance"}, f"{path.name}: {ast.unparse(node)}"
