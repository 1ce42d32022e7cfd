"""The network of a release as a picture: parents above their children."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hushtable.errors import OptionError
from hushtable.families.network.network import Network
from hushtable.release.release import Release
from hushtable.text import figure_text

ENDINGS = (".svg", ".png")


def draw_network(release: Release, path: Path) -> None:
    """Draw who depends on whom; an edge that sees its parent coarsely says in how many groups."""
    network = release.network
    if network is None:
        raise OptionError(f"{release.mechanism} releases have no network to draw")
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(f"{path.name} must end in {' or '.join(ENDINGS)}")
    if path.exists():
        raise OptionError(f"{path} is there already; choose another name or remove it")
    if not path.parent.is_dir():
        raise OptionError(f"there is no folder {path.parent}")
    figure = _figure(network, f"{release.schema.name}: {release.mechanism}, ε = {release.epsilon}")
    try:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as problem:
        path.unlink(missing_ok=True)
        raise OptionError(f"{path} could not be written: {problem.strerror}") from None


def _figure(network: Network, title: str) -> Any:
    from matplotlib.figure import Figure  # draws without a screen

    places = layout(network)
    width = max(x for x, _ in places.values()) - min(x for x, _ in places.values())
    depth = max(-y for _, y in places.values())
    figure = Figure(figsize=(max(5.0, 1.7 * width + 3), max(2.5, 1.1 * depth + 2)))
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.9))
    axes.set_axis_off()
    axes.set_title(figure_text(title))
    for link in network.links:
        for axis, level in link.parents:
            _draw_edge(axes, network, places, (axis, level), link.axis)
    for axis, (x, y) in places.items():
        name = network.schema.attributes[axis].name
        box = {"boxstyle": "round,pad=0.4", "facecolor": "#eef3fb", "edgecolor": "#4a6fa5"}
        axes.text(x, y, _short(name), ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    axes.set_xlim(
        min(x for x, _ in places.values()) - 0.8, max(x for x, _ in places.values()) + 0.8
    )
    axes.set_ylim(-depth - 0.6, 0.6)
    return figure


def _draw_edge(
    axes: Any, network: Network, places: dict[int, tuple[float, float]], seen: Any, child: int
) -> None:
    start, end = places[seen[0]], places[child]
    arrow = {"arrowstyle": "-|>", "color": "#888888", "shrinkA": 12, "shrinkB": 14, "lw": 1}
    if start[1] - end[1] > 1.5:  # bend around the boxes between them
        arrow["connectionstyle"] = "arc3,rad=0.15"
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=1)
    if seen[1]:
        middle = (0.4 * start[0] + 0.6 * end[0], 0.4 * start[1] + 0.6 * end[1])
        groups = f"{network.size(seen)} groups"
        axes.text(*middle, groups, fontsize=7, color="#777777", ha="center", zorder=2)


def layout(network: Network) -> dict[int, tuple[float, float]]:
    """Where each attribute stands: below its lowest parent, near the middle of its parents."""
    depths: dict[int, int] = {}
    for link in network.links:
        depths[link.axis] = 1 + max((depths[axis] for axis, _ in link.parents), default=-1)
    places: dict[int, tuple[float, float]] = {}
    for depth in range(max(depths.values()) + 1):
        row = [link for link in network.links if depths[link.axis] == depth]
        wished = {link.axis: _mean([places[axis][0] for axis, _ in link.parents]) for link in row}
        row.sort(key=lambda link: (wished[link.axis], link.axis))
        for i, link in enumerate(row):
            places[link.axis] = (i - (len(row) - 1) / 2, -float(depth))
    return places


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _short(name: str) -> str:
    """A name as it is, but not endless."""
    return figure_text(name if len(name) <= 24 else f"{name[:22]}…")
