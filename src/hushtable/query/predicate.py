"""Conditions over attributes, and the disjoint boxes of cells on which they hold.

SQL's logic has three values. A condition selects the cells where it is TRUE, and NOT turns "is
true" into "is false", so carrying both questions down to the single comparisons leaves ordinary
logic: every comparison becomes a set of codes, and the condition a reduced ordered decision diagram
over the attributes, whose nodes cut one attribute's codes into intervals. Its paths to TRUE are the
boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes, CodeSet

if TYPE_CHECKING:
    from hushtable.schema import Schema

MAX_BOXES = 10_000
MAX_WORK = 1_000_000
"""Intervals a diagram may visit while it is built: a few seconds."""
MAX_DEPTH = 100
NO_CODES = CodeSet.empty()


@dataclass(frozen=True, slots=True)
class Atom:
    """A comparison of one attribute: true on some codes, unknown on others, false on the rest."""

    axis: int
    true: CodeSet
    unknown: CodeSet = NO_CODES


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE, or NULL as None."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    """NOT operand."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class Holds:
    """Whether the operand is true: false where that is unknown, as in WHERE and CASE."""

    operand: Formula


@dataclass(frozen=True, slots=True)
class All:
    """The operands joined by AND; TRUE when there are none."""

    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """The operands joined by OR; FALSE when there are none."""

    operands: tuple[Formula, ...]


Formula = Atom | Constant | Not | Holds | All | Any


def boxes_of(formula: Formula, schema: Schema) -> Boxes:
    """The disjoint boxes of cells on which a formula is true."""
    diagrams = _Diagrams(schema.shape)
    root = _where(diagrams, formula, True, 0)
    found = diagrams.count_boxes(root, {_FALSE: 0, _TRUE: 1})
    if found > MAX_BOXES:
        raise QueryError(
            f"the condition falls into {found} separate boxes, the most allowed is {MAX_BOXES}; "
            "ask simpler parts of it and add their answers"
        )
    return tuple(diagrams.boxes(root, 0))


_FALSE, _TRUE = 0, 1


def _where(
    diagrams: _Diagrams, formula: Formula, wanted: bool, depth: int, *, sure: bool = True
) -> int:
    """The diagram of the cells where a formula has the wanted value, TRUE or FALSE.

    Unless it must be `sure`, also of those where the value is unknown.
    """
    if depth > MAX_DEPTH:
        raise QueryError(f"the condition is nested deeper than {MAX_DEPTH} levels")
    match formula:
        case Constant(value):
            return _TRUE if value is wanted or (value is None and not sure) else _FALSE
        case Atom(axis, true, unknown):
            other = true.union(unknown).complement(diagrams.shape[axis])
            codes = true if wanted else other
            return diagrams.atom(axis, codes if sure else codes.union(unknown))
        case Not(operand):
            return _where(diagrams, operand, not wanted, depth + 1, sure=sure)
        case Holds(operand):
            return _where(diagrams, operand, wanted, depth + 1, sure=wanted)
        case All(operands) | Any(operands):
            parts = [_where(diagrams, part, wanted, depth + 1, sure=sure) for part in operands]
            # An AND is false where any operand is false, and so on: De Morgan.
            return diagrams.fold(parts, conjunction=isinstance(formula, All) == wanted)


@dataclass(frozen=True, slots=True)
class _Node:
    """A choice on one attribute: codes below stops[0] go to children[0], and so on."""

    axis: int
    stops: tuple[int, ...]
    children: tuple[int, ...]


@dataclass
class _Diagrams:
    """Decision diagrams with shared nodes: equal functions have equal numbers."""

    shape: tuple[int, ...]
    nodes: list[_Node] = field(default_factory=list)
    numbers: dict[_Node, int] = field(default_factory=dict)
    combined: dict[tuple[bool, int, int], int] = field(default_factory=dict)
    work: int = 0

    def __post_init__(self) -> None:
        leaf = _Node(len(self.shape), (), ())
        self.nodes = [leaf, leaf]

    def atom(self, axis: int, codes: CodeSet) -> int:
        """The diagram of one attribute's code lying in a set."""
        stops: list[int] = []
        children: list[int] = []
        for start, stop in codes.intervals:
            if start > 0:
                stops.append(start)
                children.append(_FALSE)
            stops.append(stop)
            children.append(_TRUE)
        if not stops or stops[-1] < self.shape[axis]:
            stops.append(self.shape[axis])
            children.append(_FALSE)
        return self._number(axis, stops, children)

    def fold(self, parts: Sequence[int], *, conjunction: bool) -> int:
        """All the diagrams joined by AND or OR, in pairs of pairs so that none is walked often."""
        level = list(parts) or [_TRUE if conjunction else _FALSE]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            odd = level[len(level) - len(level) % 2 :]
            level = [self._combine(conjunction, left, right) for left, right in pairs] + odd
        return level[0]

    def _combine(self, conjunction: bool, left: int, right: int) -> int:
        """Two diagrams joined by AND or OR."""
        neutral, final = (_TRUE, _FALSE) if conjunction else (_FALSE, _TRUE)
        if left == right or right == neutral:
            return left
        if left == neutral:
            return right
        if final in (left, right):
            return final
        key = (conjunction, min(left, right), max(left, right))
        if key not in self.combined:
            self.combined[key] = self._merge(
                self.nodes[left],
                self.nodes[right],
                left,
                right,
                lambda one, two: self._combine(conjunction, one, two),
            )
        return self.combined[key]

    def _merge(
        self, one: _Node, two: _Node, left: int, right: int, join: Callable[[int, int], int]
    ) -> int:
        """Join two different inner nodes interval by interval on the earlier attribute."""
        axis = min(one.axis, two.axis)
        end = (self.shape[axis],)
        stops_1, below_1 = (one.stops, one.children) if one.axis == axis else (end, (left,))
        stops_2, below_2 = (two.stops, two.children) if two.axis == axis else (end, (right,))
        self._charge(len(stops_1) + len(stops_2))
        stops: list[int] = []
        children: list[int] = []
        i = j = 0
        while i < len(stops_1):
            stop = min(stops_1[i], stops_2[j])
            stops.append(stop)
            children.append(join(below_1[i], below_2[j]))
            i, j = i + (stops_1[i] == stop), j + (stops_2[j] == stop)
        return self._number(axis, stops, children)

    def _number(self, axis: int, stops: list[int], children: list[int]) -> int:
        """The number of a node, in its one reduced form: adjacent children differ."""
        ends = [
            i for i in range(len(stops)) if i + 1 == len(stops) or children[i] != children[i + 1]
        ]
        if len(ends) == 1:
            return children[0]
        node = _Node(axis, tuple(stops[i] for i in ends), tuple(children[i] for i in ends))
        if node not in self.numbers:
            self.numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self.numbers[node]

    def _charge(self, work: int) -> None:
        self.work += work
        if self.work > MAX_WORK:
            raise QueryError("the condition is too complex; ask simpler parts of it")

    def _branches(self, number: int) -> dict[int, CodeSet]:
        """Where a node leads, FALSE left out: the codes for each child."""
        node = self.nodes[number]
        intervals: dict[int, list[tuple[int, int]]] = {}
        starts = (0, *node.stops[:-1])
        for start, stop, child in zip(starts, node.stops, node.children, strict=True):
            if child != _FALSE:
                intervals.setdefault(child, []).append((start, stop))
        return {child: CodeSet.of(*found) for child, found in intervals.items()}

    def count_boxes(self, number: int, known: dict[int, int]) -> int:
        """How many paths lead from a node to TRUE; `known` starts with the two leaves."""
        if number not in known:
            below = {child for child in self.nodes[number].children if child != _FALSE}
            known[number] = sum(self.count_boxes(child, known) for child in below)
        return known[number]

    def boxes(self, number: int, axis: int) -> Iterator[Box]:
        """The boxes of the paths to TRUE; attributes a path does not ask about are whole."""
        for sets in self._paths(number, axis):
            yield Box(sets)

    def _paths(self, number: int, axis: int) -> Iterator[tuple[CodeSet, ...]]:
        if number == _FALSE:
            return
        node = self.nodes[number]
        free = tuple(CodeSet.full(size) for size in self.shape[axis : node.axis])
        if number == _TRUE:
            yield free
            return
        for child, codes in self._branches(number).items():
            for rest in self._paths(child, node.axis + 1):
                yield (*free, codes, *rest)
