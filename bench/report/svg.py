"""Plots as SVG text: bars about a ratio of one, stacked bars, lines. On white, so that they read on any page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLORS = ("#0b6e99", "#d9730d", "#6f7c85", "#448361", "#9065b0", "#c14c8a", "#a27763")
INK, FAINT, FONT = "#222222", "#dddddd", "font-family='sans-serif'"


class Canvas:
    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height = width, height
        self.items = [
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img'>",
            f"<title>{escape(title)}</title>",
            f"<rect width='{width}' height='{height}' fill='white'/>",
        ]
        self.text(12, 22, title, size=15, bold=True)

    def rect(self, x: float, y: float, width: float, height: float, fill: str, hint: str = "") -> None:
        tip = f"<title>{escape(hint)}</title>" if hint else ""
        self.items.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0.5):.1f}' height='{height:.1f}' fill='{fill}'>{tip}</rect>")

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str = FAINT, width: float = 1) -> None:
        self.items.append(f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}' stroke-width='{width}'/>")

    def text(self, x: float, y: float, text: str, size: int = 11, anchor: str = "start", bold: bool = False, color: str = INK) -> None:
        weight = " font-weight='bold'" if bold else ""
        self.items.append(f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' fill='{color}' {FONT}{weight}>{escape(text)}</text>")

    def legend(self, names: Sequence[str], y: float, x: float = 12) -> None:
        for n, name in enumerate(names):
            self.rect(x, y - 9, 10, 10, COLORS[n % len(COLORS)])
            self.text(x + 15, y, name)
            x += 30 + 6.5 * len(name)

    def done(self) -> str:
        return "\n".join([*self.items, "</svg>"]) + "\n"


def short(value: float) -> str:
    """Three digits, without exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def times(value: float) -> str:
    return f"{short(value)}×"


def round_step(most: float) -> float:
    """A step of 1, 2 or 5 times a power of ten, four to ten of which reach `most`."""
    power: float = 10.0 ** math.floor(math.log10(most / 4))
    return next(power * n for n in (10, 5, 2, 1) if power * n * 4 <= most)


def ratio_bars(title: str, series: Sequence[str], rows: Sequence[tuple[str, Mapping[str, float | None]]], less: str, more: str) -> str:
    """One bar of each series per row, from 1 to its ratio, on a logarithmic scale. A missing ratio is written out, not drawn."""
    bar, left, right, top = 9, 290, 62, 70
    step = bar * len(series) + 7
    width, height = 940, top + step * len(rows) + 26
    values = [value for _, row in rows for value in row.values() if value]
    low = math.floor(math.log10(min([*values, 0.5])))
    high = math.ceil(math.log10(max([*values, 2.0])))
    canvas = Canvas(width, height, title)
    canvas.legend(series, 42)

    def x(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * (width - left - right)

    for power in range(low, high + 1):
        canvas.line(x(10**power), top - 6, x(10**power), height - 20, INK if power == 0 else FAINT)
        canvas.text(x(10**power), height - 6, times(10.0**power), 10, "middle")
    canvas.text(x(1) - 8, top - 12, f"← {less}", 10, "end", color="#666666")
    canvas.text(x(1) + 8, top - 12, f"{more} →", 10, color="#666666")
    for n, (label, row) in enumerate(rows):
        y = top + n * step
        canvas.text(left - 8, y + step / 2, label if len(label) <= 46 else label[:45] + "…", 10, "end")
        for m, name in enumerate(series):
            value, at = row.get(name), y + m * bar
            if value is None:
                canvas.text(x(1) + 4, at + bar - 1, "no result", 8, color=COLORS[m % len(COLORS)])
                continue
            a, b = sorted((x(1), x(value)))
            canvas.rect(a, at, b - a, bar - 1, COLORS[m % len(COLORS)], f"{label}, {name}: {times(value)}")
            canvas.text(b + 3 if value >= 1 else a - 3, at + bar - 1.5, times(value), 8, "start" if value >= 1 else "end", color="#555555")
    return canvas.done()


def stacked_bars(title: str, parts: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], unit: str) -> str:
    """A bar per row, from zero, of one or more parts."""
    bar, left, right, top = 18, 250, 90, 40 + 20 * (len(parts) > 1)
    width, height = 860, top + (bar + 8) * len(rows) + 14
    most = max([sum(values) for _, values in rows] + [1e-9])
    canvas = Canvas(width, height, title)
    if len(parts) > 1:
        canvas.legend(parts, 42)
    for n, (label, values) in enumerate(rows):
        y, x = top + n * (bar + 8), float(left)
        canvas.text(left - 8, y + 13, label, 11, "end")
        for m, value in enumerate(values):
            length = value / most * (width - left - right)
            if value:
                canvas.rect(x, y, length, bar, COLORS[m % len(COLORS)], f"{label}, {parts[m]}: {short(value)} {unit}")
            x += length
        canvas.text(x + 5, y + 13, f"{short(sum(values))} {unit}", 10)
    return canvas.done()


def lines(title: str, series: Mapping[str, Sequence[tuple[int, float]]], unit: str, axis: str) -> str:
    """Points joined, both axes from zero."""
    width, height, left, top = 620, 340, 90, 60
    right, bottom = width - 30, height - 46
    across = max(x for points in series.values() for x, _ in points)
    most = max(y for points in series.values() for _, y in points)
    canvas = Canvas(width, height, title)
    canvas.legend(list(series), 42)

    def place(x: float, y: float) -> tuple[float, float]:
        return left + x / across * (right - left), bottom - y / most * (bottom - top)

    step = round_step(most)
    for n in range(int(most / step) + 1):
        y = place(0, step * n)[1]
        canvas.line(left, y, right, y)
        canvas.text(left - 6, y + 4, short(step * n), 10, "end")
    for x in sorted({x for points in series.values() for x, _ in points}):
        canvas.text(place(x, 0)[0], bottom + 16, str(x), 10, "middle")
    canvas.text((left + right) / 2, height - 10, axis, 11, "middle")
    for n, points in enumerate(series.values()):
        color = COLORS[n % len(COLORS)]
        placed = [place(x, y) for x, y in sorted(points)]
        for a, b in zip(placed, placed[1:]):
            canvas.line(*a, *b, color, 2)
        for (px, py), (x, y) in zip(placed, sorted(points)):
            canvas.rect(px - 3, py - 3, 6, 6, color, f"{x}: {short(y)} {unit}")
    return canvas.done()
