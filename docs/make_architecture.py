"""Draws docs/figures/rooms.svg from the code's own imports; run it after moving modules.

    python docs/make_architecture.py

Each box is a room (a folder of `fsframe`, or all bundled plugins together). A room stands above
every room that it imports; an arrow to a room further down is left out where a shorter way shows
the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "figures" / "rooms.svg"

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 46, 24, 46, 20


def modules() -> Iterator[tuple[str, str, Path]]:
    """Room, dotted name and file of every module."""
    for base in (ROOT, ROOT / "plugins"):
        for path in sorted(base.glob("fsframe*/**/*.py")):
            parts = list(path.relative_to(base).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            if parts[0] != "fsframe":
                room = "plugins"
            elif len(parts) > 1 and (ROOT / "fsframe" / parts[1]).is_dir():
                room = parts[1]
            else:
                room = "fsframe"
            yield room, ".".join(parts), path


def _imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, lazily or for its annotations too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms() -> dict[str, set[str]]:
    """Which rooms every room imports.

    `fsframe` itself (errors, spelling, the names of the package) is below everything and is left
    out of the arrows.
    """
    listed = list(modules())
    home = {name: room for room, name, _ in listed}
    arrows: dict[str, set[str]] = {}
    for room, _, path in listed:
        targets = {home[name] for name in _imports(path) if name in home}
        arrows.setdefault(room, set()).update(targets - {room, "fsframe"})
    return arrows


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """The height of every room: one more than the highest that it imports.

    Raises
    ------
    ValueError
        If rooms import each other in a circle.
    """
    heights: dict[str, int] = {}

    def height(room: str, above: tuple[str, ...]) -> int:
        if room in above:
            raise ValueError("rooms in a circle: " + " -> ".join((*above, room)))
        if room not in heights:
            below = [height(other, (*above, room)) for other in sorted(arrows[room])]
            heights[room] = 1 + max(below, default=-1)
        return heights[room]

    for room in sorted(arrows):
        height(room, ())
    return heights


def _needed(arrows: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The arrows that no longer way makes superfluous."""

    def reach(room: str) -> set[str]:
        return arrows[room].union(*(reach(other) for other in arrows[room]))

    for room in sorted(arrows):
        for other in sorted(arrows[room]):
            if not any(other in reach(between) for between in arrows[room] - {other}):
                yield room, other


def picture() -> str:
    """The text of the SVG."""
    arrows = rooms()
    arrows.pop("fsframe", None)
    heights = floors(arrows)
    top = max(heights.values())
    rows = [sorted(r for r in heights if heights[r] == top - level) for level in range(top + 1)]
    widest = max(len(row) for row in rows)
    width = 2 * _MARGIN + widest * _WIDTH + (widest - 1) * _GAP_X
    height = 2 * _MARGIN + (top + 1) * _HEIGHT + top * _GAP_Y
    places = {}
    for level, row in enumerate(rows):
        left = (width - len(row) * _WIDTH - (len(row) - 1) * _GAP_X) / 2
        for column, room in enumerate(row):
            places[room] = (
                left + column * (_WIDTH + _GAP_X),
                _MARGIN + level * (_HEIGHT + _GAP_Y),
            )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>The subpackages of fsframe; arrows point to what each imports</title>",
        "<style>rect{fill:#f4f6f8;stroke:#44546a}text{font:13px sans-serif;fill:#1b2733;"
        "text-anchor:middle}path.a{stroke:#8795a5;fill:none}</style>",
        '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#8795a5"/></marker></defs>',
    ]
    for room, other in _needed(arrows):
        (x, y), (u, v) = places[room], places[other]
        x, y, u = x + _WIDTH / 2, y + _HEIGHT, u + _WIDTH / 2
        # An arrow past other rooms bends around them.
        bend = 0.0 if heights[room] - heights[other] == 1 else 0.95 * _WIDTH
        lines.append(
            f'<path class="a" d="M{x:g},{y:g} C{x + bend:g},{y + (v - y) / 3:g} '
            f'{u + bend:g},{v - (v - y) / 3:g} {u:g},{v:g}" marker-end="url(#a)"/>'
        )
    for room, (x, y) in sorted(places.items()):
        lines += [
            f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>',
            f'<text x="{x + _WIDTH / 2:g}" y="{y + 28:g}">{room}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
