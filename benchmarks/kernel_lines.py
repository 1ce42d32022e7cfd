"""How large the house is: lines by folder, and of the trusted kernel also lines of code.

    python -m benchmarks.kernel_lines

Lines of code are those without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "hushtable"
# What is proved about noise and budgets rests on these.
CORE = (
    "kernel/noise",
    "kernel/curator",
    "kernel/maps",
    "kernel/privacy/loss.py",
    "kernel/privacy/account.py",
)

_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def files(place: Path) -> list[Path]:
    """The modules of a folder and its folders, or the one that a file is."""
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def lines(paths: Iterable[Path]) -> int:
    """How many lines there are, of any kind."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def code_lines(path: Path) -> int:
    """Lines that hold code."""
    text = path.read_text(encoding="utf-8")
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def _show(name: str, paths: list[Path]) -> None:
    print(f"{name:<28}{len(paths):>6}{lines(paths):>8}{sum(map(code_lines, paths)):>9}")


def run() -> int:
    """Print every folder and the kernel's parts; returns the size of the kernel's core in lines."""
    print(f"{'':<28}{'files':>6}{'lines':>8}{'of code':>9}")
    for folder in sorted(path for path in SOURCE.iterdir() if any(path.glob("*.py"))):
        _show(f"{folder.name}/", files(folder))
        if folder.name in ("kernel", "families"):
            for part in sorted(path for path in folder.iterdir() if any(path.glob("*.py"))):
                _show(f"  {part.name}/", files(part))
    _show("modules beside them", sorted(SOURCE.glob("*.py")))
    _show("src/hushtable", files(SOURCE))
    _show("papers (another package)", files(ROOT / "papers" / "src"))
    core = [path for place in CORE for path in files(SOURCE / place)]
    _show("the kernel's core", core)
    return lines(core)


if __name__ == "__main__":
    run()
