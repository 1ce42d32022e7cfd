"""Print the lowest versions that pyproject.toml allows, as exact requirements for pip.

Every direct dependency, and those of the extras named as arguments: `python .ci/lowest.py test`.
One without a lower bound is an error: it would claim that every version works.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+(?:\[[a-z,]+\])?)>=(?P<lowest>[0-9.]+)(,<[0-9.]+)?"
)


def lowest(requirement: str) -> str:
    """`name>=1.2` as `name==1.2`, and so where there is a highest version too."""
    found = _REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} must read name>=version[,<version]")
    return f"{found['name']}=={found['lowest']}"


def main(extras: list[str]) -> None:
    """Print one requirement per line."""
    path = Path(__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    print("\n".join(map(lowest, wanted)))


if __name__ == "__main__":
    main(sys.argv[1:])
