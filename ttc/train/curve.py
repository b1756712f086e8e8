"""Loss curves as SVG, or with matplotlib as PNG: training and validation loss over updates."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from ttc.dialects.core.errors import Error
from ttc.train.log import LogLine

Place = Callable[[float, float], str]
"""Converts update and loss to `x,y` in the picture."""
WIDTH, HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 44
_MOST_POINTS = 600
"""Points of a line; more updates than that are averaged."""
_TRAINING, _VALIDATION = "#2a6fbb", "#d1651a"
SUFFIXES = (".svg", ".png")


def check_curve(path: Path) -> None:
    """Raise E0101 for a picture of another suffix, and E0104 for a PNG where matplotlib, which draws it, is not installed."""
    if path.suffix not in SUFFIXES:
        raise Error("E0101", f"a curve is a .svg or .png file, not {path}")
    if path.suffix == ".png" and find_spec("matplotlib") is None:
        hint = "pip install 'ttc[curve]', or take .svg"
        raise Error("E0104", "a curve as PNG needs the library matplotlib, which is not installed", hint=hint)


def curve(path: Path, lines: Sequence[LogLine], title: str) -> bytes:
    """Return the picture as the file's suffix says.  Raises as `check_curve` does."""
    check_curve(path)
    return curve_png(lines, title) if path.suffix == ".png" else curve_svg(lines, title).encode()


def curve_png(lines: Sequence[LogLine], title: str) -> bytes:
    """Return the picture as a PNG, of the size and with the lines of `curve_svg`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # pyright: ignore[reportMissingModuleSource] - an extra
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingModuleSource] - an extra

    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, layout="tight")
    axes = figure.add_subplot(title=title.replace("$", r"\$"), xlabel="updates")
    for name, points, colour in zip(("training loss", "validation loss"), _points(lines), (_TRAINING, _VALIDATION), strict=True):
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=name, linewidth=1.5, marker="." if len(points) < 60 else None)
    if axes.lines:
        axes.legend()
    axes.grid(axis="y")
    found = io.BytesIO()
    FigureCanvasAgg(figure).print_png(found, metadata={"Software": None})
    return found.getvalue()


def _points(lines: Sequence[LogLine]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return updates and losses of training and of validation; those that are not finite are left out."""
    training = _thinned([(line.update, line.loss) for line in lines if math.isfinite(line.loss)])
    return training, [(line.update, v) for line in lines if (v := line.validation_loss) is not None and math.isfinite(v)]


def curve_svg(lines: Sequence[LogLine], title: str) -> str:
    """Return the picture, as the text of an SVG file; equal lines give equal text.

    Args:
        lines: of the log; losses that are not finite are left out.
        title: over the picture.
    """
    training, validation = _points(lines)
    points = [*training, *validation]
    last = max((x for x, _ in points), default=1.0)
    low, high = min((y for _, y in points), default=0.0), max((y for _, y in points), default=1.0)
    ticks = _ticks(low, high if high > low else low + 1)
    bottom, top = ticks[0], ticks[-1]

    def place(x: float, y: float) -> str:
        across = _LEFT + x / last * (WIDTH - _LEFT - _RIGHT)
        down = HEIGHT - _BOTTOM - (y - bottom) / (top - bottom) * (HEIGHT - _TOP - _BOTTOM)
        return f"{across:.1f},{down:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2:g}" y="22" text-anchor="middle" font-size="14">{_escaped(title)}</text>',
    ]
    for tick in ticks:
        left, height = place(0, tick).split(",")
        parts.append(f'<line x1="{left}" y1="{height}" x2="{WIDTH - _RIGHT}" y2="{height}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{height}" dy="4" text-anchor="end">{tick:g}</text>')
    for tick in _ticks(0, last):
        if tick <= last:
            across = place(tick, bottom).split(",")[0]
            parts.append(f'<text x="{across}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{(WIDTH + _LEFT - _RIGHT) / 2:g}" y="{HEIGHT - 8}" text-anchor="middle">updates</text>')
    parts += _drawn("training loss", training, _TRAINING, 0, place)
    parts += _drawn("validation loss", validation, _VALIDATION, 1, place)
    return "\n".join([*parts, "</svg>", ""])


def _drawn(name: str, points: Sequence[tuple[float, float]], colour: str, row: int, place: Place) -> list[str]:
    """Return a line with its name; single points are dots."""
    if not points:
        return []
    height = _TOP + 6 + 16 * row
    path = " ".join(place(x, y) for x, y in points)
    named = f'<text x="{WIDTH - _RIGHT - 8}" y="{height}" text-anchor="end" fill="{colour}">{name}</text>'
    dots = [
        f'<circle cx="{at.split(",")[0]}" cy="{at.split(",")[1]}" r="2.5" fill="{colour}"/>'
        for at in (path.split() if len(points) < 60 else ())
    ]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>', *dots, named]


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Means of neighbouring points, so that there are not too many."""
    size = -(-len(points) // _MOST_POINTS)
    groups = [points[i : i + size] for i in range(0, len(points), size)] if size > 1 else [[point] for point in points]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from one not above `low` to one not below `high`, four to nine of them."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def _escaped(text: str) -> str:
    return "".join({"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(letter, letter) for letter in text if letter.isprintable())
