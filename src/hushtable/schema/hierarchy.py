"""A hierarchy: a tree whose leaves are an attribute's values.

Leaves are coded in tree order, so that every node is a contiguous range of codes. Nodes with a
single child carry no information (their coefficient is always zero and their weight infinite), so
such chains become one node; the labels that vanish stay usable as other names of that node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hushtable.errors import SchemaError

ROOT = "*"
MAX_HEIGHT = 100  # no real classification comes near; a hostile one would


class PathError(SchemaError):
    """A path that does not fit the others: which one, by its position, without its labels."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"path {position + 1} of the hierarchy: {reason}")
        self.position = position
        self.reason = reason


@dataclass(frozen=True)
class Node:
    """A group of values: the codes start ≤ code < stop."""

    label: str
    depth: int
    start: int
    stop: int
    aliases: tuple[str, ...] = ()

    @property
    def is_leaf(self) -> bool:
        return self.stop - self.start == 1


@dataclass(frozen=True)
class Hierarchy:
    """A tree of labels, as its nodes in depth-first order, the root first."""

    nodes: tuple[Node, ...]

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> Hierarchy:
        """Build from lines leaf, parent, …, root, as ARX writes them; lines may differ in length.

        >>> h = Hierarchy.from_paths([["cat", "mammal", "*"], ["dog", "mammal", "*"], ["ant", "*"]])
        >>> h.leaves, h.find("mammal")
        (('cat', 'dog', 'ant'), Node(label='mammal', depth=1, start=0, stop=2, aliases=()))
        """
        parents: dict[str, str | None] = {}
        leaves: dict[str, int] = {}
        for position, path in enumerate(paths):
            steps = _without_repeats(position, path)
            if steps[0] in leaves:
                raise PathError(position, "its value stands twice")
            leaves[steps[0]] = position
            for label, parent in zip(steps, [*steps[1:], None], strict=True):
                if parents.setdefault(label, parent) != parent:
                    raise PathError(position, "one of its labels has two parents")
        if not leaves:
            raise SchemaError("the hierarchy has no values")
        children: dict[str | None, list[str]] = {}
        for label, parent in parents.items():
            children.setdefault(parent, []).append(label)
        for value, position in leaves.items():
            if value in children:
                raise PathError(position, "its value is also a group of values")
        return _from_children(children)

    @classmethod
    def from_tree(cls, tree: Any) -> Hierarchy:
        """Build from nested tables and lists: `{ group = ["value", …], … }`."""
        children: dict[str | None, list[str]] = {None: []}
        seen: set[str] = set()
        values: set[str] = set()
        pending: list[tuple[str | None, Any, int]] = [(None, tree, 0)]
        while pending:
            parent, below, depth = pending.pop()
            if depth > MAX_HEIGHT:
                raise SchemaError(f"the tree is deeper than {MAX_HEIGHT} levels")
            for label, rest in _tree_items(below):
                if label != parent:  # a label that is its own parent is one node
                    if label in seen:
                        raise SchemaError(f"{label!r} stands twice in the tree")
                    seen.add(label)
                    children.setdefault(parent, []).append(label)
                if rest:
                    pending.append((label, rest, depth + 1))
                else:
                    values.add(label)
        if not children[None]:
            raise SchemaError("the tree has no values")
        for value in values:
            if value in children:
                raise SchemaError(f"{value!r} is both a value and a group of values")
        return _from_children(children)

    @classmethod
    def flat(cls, values: Sequence[str]) -> Hierarchy:
        """Build from a plain list: every value directly below the root."""
        return cls.from_paths([(value,) for value in values])

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values, in code order."""
        return tuple(node.label for node in self.nodes if node.is_leaf)

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.nodes[0].stop

    @cached_property
    def height(self) -> int:
        """The depth of the deepest value; a flat list has height 1."""
        return max(node.depth for node in self.nodes)

    def find(self, label: str) -> Node | None:
        """The node of that name; names are unique over the whole tree."""
        return self._by_label.get(label)

    def level(self, depth: int) -> tuple[Node, ...]:
        """The nodes at a depth, a value above it standing for itself: all codes, in order."""
        return tuple(
            node
            for node in self.nodes
            if node.depth == depth or (node.is_leaf and node.depth < depth)
        )

    @cached_property
    def _by_label(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in (node.label, *node.aliases)}

    def restricted(self, values: Sequence[str]) -> Hierarchy:
        """The same tree with only these leaves, which must then stand in this order."""
        wanted = set(values)
        missing = next((value for value in values if value not in self._leaf_codes), None)
        if missing is not None:
            raise SchemaError(f"the hierarchy has no leaf {missing!r}")
        kept = Hierarchy.from_paths(path for path in self._paths() if path[0] in wanted)
        if kept.leaves != tuple(values):
            raise SchemaError("the hierarchy's groups do not follow the order of the values")
        return kept

    @cached_property
    def _leaf_codes(self) -> dict[str, int]:
        return {leaf: code for code, leaf in enumerate(self.leaves)}

    def _paths(self) -> Iterable[list[str]]:
        above: list[str] = []
        widths: list[int] = []
        for node in self.nodes:
            while len(widths) > node.depth:
                del above[len(above) - widths.pop() :]
            names = [*node.aliases, node.label] if node.is_leaf else [node.label, *node.aliases]
            above.extend(names)
            widths.append(len(names))
            if node.is_leaf:
                yield above[::-1]

    def to_tree(self) -> Any:
        """Write as nested tables and lists; `from_tree` reads it back to an equal hierarchy."""
        holders: list[list[Any]] = [[]]
        for node in self.nodes:
            del holders[node.depth + 1 :]
            below: list[Any] = []
            written: Any = node.label if node.is_leaf else None
            chain = node.aliases if node.is_leaf else (node.label, *node.aliases)
            for name in reversed(chain):
                written = {name: below if written is None else [written]}
            holders[node.depth].append(written)
            holders.append(below)
        top = holders[0][0]
        return top if isinstance(top, dict) else [top]


def _without_repeats(position: int, path: Sequence[str]) -> list[str]:
    """A label that is its own parent (ARX pads short branches so) is one node."""
    steps: list[str] = []
    for label in path:
        if not steps or label != steps[-1]:
            steps.append(label)
    if not steps:
        raise PathError(position, "it is empty")
    if len(steps) > MAX_HEIGHT:
        raise PathError(position, f"it is deeper than {MAX_HEIGHT} levels")
    if len(set(steps)) < len(steps):
        raise PathError(position, "a label is above itself")
    return steps


def _tree_items(below: Any) -> list[tuple[str, Any]]:
    if isinstance(below, dict) and all(isinstance(rest, dict | list) for rest in below.values()):
        return [(check_label(label), rest) for label, rest in below.items()]
    if isinstance(below, list):
        return [
            item
            for entry in below
            for item in (
                _tree_items(entry) if isinstance(entry, dict) else [(check_label(entry), None)]
            )
        ]
    raise SchemaError("a tree is made of tables and lists of labels")


def _from_children(children: dict[str | None, list[str]]) -> Hierarchy:
    """Number the leaves in depth-first order and merge chains of only children."""
    tops = children[None]
    if len(tops) > 1:
        taken = {label for group in children.values() for label in group}
        root, spare = ROOT, "(all)"
        while root in taken:
            root, spare = spare, f"({spare})"
        children = {**children, root: tops}
        tops = [root]
    nodes: list[Node | None] = []
    opened: list[tuple[int, str, int, tuple[str, ...], int]] = []
    leaf_count = 0
    pending: list[tuple[str, int] | None] = [(tops[0], 0)]
    while pending:
        entry = pending.pop()
        if entry is None:  # all leaves below the innermost open node have been numbered
            slot, label, depth, aliases, start = opened.pop()
            nodes[slot] = Node(label, depth, start, leaf_count, aliases)
            continue
        label, depth = entry
        chain = [label]
        while len(children.get(chain[-1], ())) == 1:
            chain.append(children[chain[-1]][0])
        below = children.get(chain[-1])
        if below is None:
            nodes.append(Node(chain[-1], depth, leaf_count, leaf_count + 1, tuple(chain[:-1])))
            leaf_count += 1
        else:
            opened.append((len(nodes), chain[0], depth, tuple(chain[1:]), leaf_count))
            nodes.append(None)
            pending.append(None)
            pending.extend((child, depth + 1) for child in reversed(below))
    return Hierarchy(tuple(node for node in nodes if node is not None))


def check_label(value: Any) -> str:
    """The text that a value of a table must have to be this label."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 2**64:
        raise SchemaError("a label that is a number must have less than 64 bits; write it as text")
    if isinstance(value, int | float):
        return repr(value)
    if not isinstance(value, str):
        raise SchemaError("labels must be text, numbers or booleans")
    if not value or value != value.strip():
        raise SchemaError(
            f"label {value!r} is empty or has blanks around it; values are read without them"
        )
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise SchemaError(f"label {value!r} has characters that no text may have")
    return value
