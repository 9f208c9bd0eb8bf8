"""Pictures as SVG, drawn by matplotlib in colours that the page's theme sets.

Every colour is drawn as a stand-in and becomes a variable of the page's style sheet, so that one
picture serves the light and the dark theme. Texts stay texts.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Bar", "Dot", "bars", "dots", "phase"]

_INK: Final = "#010203"
_SOFT: Final = "#010204"
_LINE: Final = "#010205"
_PAPER: Final = "#010206"
_SERIES: Final = ("#010211", "#010212", "#010213", "#010214", "#010215", "#010216", "#010217")
_VARIABLES: Final = {
    _INK: "var(--ink)",
    _SOFT: "var(--soft)",
    _LINE: "var(--line)",
    _PAPER: "var(--paper)",
    **{colour: f"var(--series-{place})" for place, colour in enumerate(_SERIES, start=1)},
}
_WIDTH: Final = 4.4
"""Inches, of 72 units each: narrow, so that texts stay readable on a phone."""
_ROW: Final = 0.27
_LEGEND_COLUMNS: Final = 2
_MOST_CHARS: Final = 30
_PHASE_WIDTH: Final = 280
_PHASE_HEIGHT: Final = 240
"""Points inside the axes of a phase diagram, about: enough to keep names apart."""
_SVG_START = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_FONT = re.compile(r"font: ([\d.]+px) [^;\"]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    """A value with its interval, or a range; without either, the row says why."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    series: int = 0
    """Which colour, from 0."""
    missing: str = "not at risk"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One bar of parts."""

    label: str
    parts: tuple[int, ...]


class _Box(NamedTuple):
    """Where a name would stand, in points."""

    left: float
    right: float
    low: float
    high: float


def dots(
    rows: Sequence[Dot],
    *,
    x_label: str,
    series: Sequence[str] = (),
    reference: float | None = None,
    x_range: tuple[float, float] | None = (0.0, 1.0),
) -> str:
    """Draw values with their intervals, a row each, from the top.

    Args:
        rows: The rows.
        x_label: What the values are.
        series: Names of the colours, for the legend.
        reference: A value to compare with, as a line.
        x_range: Ends of the axis; `None` = as the values need.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _figure(len(rows), has_legend=bool(series))
    for place, row in enumerate(rows):
        colour = _SERIES[row.series % len(_SERIES)]
        if row.low is not None and row.high is not None:
            width = 7 if row.value is None else 2
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=width)
        elif row.value is None:
            axes.text(
                0.01, place, row.missing, transform=axes.get_yaxis_transform(), va="center",
                color=_SOFT, fontsize=8, style="italic",
            )  # fmt: skip
        if row.value is not None:
            axes.plot([row.value], [place], "o", color=colour, markersize=6)
    if reference is not None:
        axes.axvline(reference, color=_SOFT, linewidth=1, linestyle=(0, (4, 3)))
    _label_rows(axes, [_named(row.label, row.n) for row in rows])
    if x_range is not None:
        axes.set_xlim(x_range[0] - 0.02, x_range[1] + 0.02)
    axes.set_xlabel(x_label)
    for place, name in enumerate(series):
        axes.plot([], [], "o", color=_SERIES[place], label=name)
    if series:
        _legend(figure, len(series))
    return _svg(figure)


def bars(
    rows: Sequence[Bar], *, parts: Sequence[str], x_label: str, colours: Sequence[int] = ()
) -> str:
    """Draw bars of parts, as shares of each bar, with counts where they fit.

    Args:
        rows: The bars.
        parts: Names of the parts.
        x_label: What the whole of a bar is.
        colours: Which colour each part has, from 0; by default in their order.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _figure(len(rows), has_legend=True, n_legend=len(parts))
    painted = [_SERIES[c % len(_SERIES)] for c in colours or range(len(parts))]
    for place, row in enumerate(rows):
        total = sum(row.parts)
        left = 0.0
        for number, count in enumerate(row.parts):
            if not count:
                continue
            width = count / total
            axes.barh(
                place, width, left=left, height=0.62, color=painted[number],
                edgecolor=_PAPER, linewidth=1.5,
            )  # fmt: skip
            if width > 0.07:
                axes.text(
                    left + width / 2, place, f"{count:,}", ha="center", va="center", color=_PAPER,
                    fontsize=8,
                )  # fmt: skip
            left += width
    _label_rows(axes, [_named(row.label, sum(row.parts)) for row in rows])
    axes.set_xlim(0, 1)
    axes.set_xlabel(x_label)
    for number, name in enumerate(parts):
        axes.barh([0], [0], color=painted[number], label=name)
    _legend(figure, len(parts))
    return _svg(figure)


def phase(rows: Sequence[tuple[Dot, float]], *, x_label: str, y_label: str) -> str:
    """Draw points against a diagonal: above it a step helps, below it harms.

    Args:
        rows: Points: the value on the vertical axis with its interval, and the horizontal value.
        x_label: The horizontal axis.
        y_label: The vertical axis.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _figure(12, has_legend=False)
    highest = max([dot.high or dot.value or 0.0 for dot, _ in rows], default=1.0)
    top = min(1.0, max(0.1, highest * 1.1))
    right = max(0.1, max((x for _, x in rows), default=1.0) * 1.3)
    end = max(top, right)
    axes.fill_between([0, end], [0, end], [end, end], color=_SERIES[0], alpha=0.10, linewidth=0)
    axes.plot([0, end], [0, end], color=_SOFT, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(0.02, 0.98, "helps", color=_SOFT, fontsize=8, va="top", transform=axes.transAxes)
    axes.text(0.98, 0.02, "harms", color=_SOFT, fontsize=8, ha="right", transform=axes.transAxes)
    for dot, x in rows:
        colour = _SERIES[dot.series % len(_SERIES)]
        if dot.value is None:
            continue
        if dot.low is not None and dot.high is not None:
            axes.plot([x, x], [dot.low, dot.high], color=colour, linewidth=2, clip_on=False)
        axes.plot([x], [dot.value], "o", color=colour, markersize=6, clip_on=False)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    _label_points(axes, rows, per_x=_PHASE_WIDTH / right, per_y=_PHASE_HEIGHT / top)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return _svg(figure)


def _label_points(
    axes: Axes, rows: Sequence[tuple[Dot, float]], *, per_x: float, per_y: float
) -> None:
    """Name each point beside it, clear of other names, points and intervals if it can be."""
    drawn = [(dot, x * per_x, dot.value * per_y) for dot, x in rows if dot.value is not None]
    taken = [_Box(x - 4, x + 4, y - 4, y + 4) for _, x, y in drawn]
    taken += [
        _Box(x - 1, x + 1, dot.low * per_y, dot.high * per_y)
        for dot, x, _ in drawn
        if dot.low is not None and dot.high is not None
    ]
    for dot, x, y in drawn:
        label = _short(dot.label)
        width = 5 * len(label)
        boxes: list[tuple[int, int, int, int, _Box]] = []
        for up in (4, -11, 15, -22, 26, -33):
            for side in (1, -1):
                left = x + 6 if side > 0 else x - 6 - width
                box = _Box(left, left + width, y + up, y + up + 9)
                n_covered = sum(_covers(box, other) for other in taken)
                is_out = left < 0 or box.right > _PHASE_WIDTH or not 0 < box.low < _PHASE_HEIGHT
                boxes.append((n_covered + 2 * is_out, len(boxes), side, up, box))
        _, _, side, up, box = min(boxes)
        taken.append(box)
        axes.annotate(
            label, (x / per_x, y / per_y), xytext=(6 * side, up), textcoords="offset points",
            color=_SERIES[dot.series % len(_SERIES)], fontsize=8,
            ha="right" if side < 0 else "left", parse_math=False,
        )  # fmt: skip


def _covers(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]


def _figure(n_rows: int, *, has_legend: bool, n_legend: int = 0) -> tuple[Figure, Axes]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", extra="measure") from None
    n_lines = -(-n_legend // _LEGEND_COLUMNS) if n_legend else int(has_legend)
    height = 0.75 + _ROW * max(n_rows, 2) + 0.26 * n_lines
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(_LINE)
    axes.tick_params(colors=_SOFT, labelsize=8, length=0)
    axes.grid(visible=True, axis="x", color=_LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_color(_SOFT)
    axes.yaxis.label.set_color(_SOFT)
    axes.xaxis.label.set_fontsize(8.5)
    axes.yaxis.label.set_fontsize(8.5)
    return figure, axes


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    for tick in axes.get_yticklabels():
        tick.set_color(_INK)


def _legend(figure: Figure, n: int) -> None:
    figure.legend(
        loc="outside upper left", ncols=min(n, _LEGEND_COLUMNS), frameon=False, fontsize=8,
        labelcolor=_INK, handlelength=1.2, borderaxespad=0,
    )  # fmt: skip


def _named(label: str, n: int | None) -> str:
    return _short(label) if n is None else f"{_short(label)} (n={n:,})"


def _short(label: str) -> str:
    # What is not printable moves or hides text; a name comes from a table of somebody's.
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in label)
    return shown if len(shown) <= _MOST_CHARS else f"{shown[: _MOST_CHARS - 1]}…"


def _svg(figure: Figure) -> str:
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "spanwitness"}):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = _METADATA.sub("", _SVG_START.sub("", buffer.getvalue()))
    text = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", text, count=1)
    text = _FONT.sub(r"font-size: \1", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text
