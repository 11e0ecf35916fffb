"""What a drawing must have: data, labels, legends, and no words cut off, overlapping or in the way."""

import math
from itertools import combinations
from unittest.mock import patch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import BarContainer
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text

SLACK = 1.5
"""Pixels, at the drawing's own 100 dots an inch, by which words may touch what they should not."""


def assert_drawn(drawing: Drawing) -> None:
    """Something drawn, labelled and explained; all words inside the canvas and apart."""
    words = painted(drawing)
    for axes in visible(drawing):
        assert axes.has_data(), f"{name_of(axes)}: nothing drawn"
        for which in "xy":
            assert labelled(axes, which), f"{name_of(axes)}: no {which} label"
        assert explained(axes, drawing), f"{name_of(axes)}: several series, no legend, no direct labels"
        covered = under_legend(axes)
        assert covered <= 1, f"{name_of(axes)}: the legend lies on {covered} points"
    for text, box in words:
        assert within(box, drawing.bbox), f"cut off: {text!r}"
    for (one, first), (other, second) in combinations(words, 2):
        assert apart(first, second), f"overlapping: {one!r} and {other!r}"


def visible(drawing: Drawing) -> list[Axes]:
    """The axes that show a frame of their own; pictures without axes (such as a simplex) are left out."""
    return [axes for axes in drawing.axes if axes.get_visible() and axes.axison]


def name_of(axes: Axes) -> str:
    return axes.get_title() or axes.get_title("left") or axes.get_xlabel() or "axes"


def labelled(axes: Axes, which: str) -> bool:
    """A label of its own or one shared with its siblings, or ticks whose words say what they are, or none."""
    siblings = getattr(axes, f"get_shared_{which}_axes")().get_siblings(axes)
    if any(getattr(sibling, f"get_{which}label")() for sibling in siblings):
        return True
    words = [tick.get_text() for tick in getattr(axes, f"get_{which}ticklabels")()]
    worded = any(sum(map(str.isalpha, word)) > 2 for word in words if "mathdefault" not in word)
    return worded or not any(words) or bool(getattr(axes.figure, f"get_sup{which}label")())


def explained(axes: Axes, drawing: Drawing) -> bool:
    """A legend here or for all axes, words beside the lines, or but one line or set of bars."""
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
    if max(len(lines), len(bars_of(axes))) <= 1:
        return True
    legends = [other.get_legend() for other in drawing.axes] + list(drawing.legends)
    return bool(axes.texts) or any(legends)


def under_legend(axes: Axes) -> int:
    """How many points of this axes' lines, marks and bars its legend covers."""
    legend = axes.get_legend()
    if legend is None:
        return 0
    box = legend.get_window_extent()
    bars = [bar for group in bars_of(axes) for bar in group.patches]
    points = [lattice(bar.get_window_extent().get_points()) for bar in bars]
    for line in axes.get_lines():
        path = line.get_transform().transform_path(line.get_path())
        smooth = line.get_linestyle() != "None"
        points.append(np.atleast_2d(path.interpolated(20).vertices if smooth else path.vertices))
    for marks in axes.collections:
        offsets = marks.get_offsets()
        if len(offsets) > 1:
            points.append(marks.get_offset_transform().transform(np.asarray(offsets)))
    kept = np.concatenate([np.empty((0, 2)), *points])
    inside = (kept > np.array(box.min) + SLACK) & (kept < np.array(box.max) - SLACK)
    return int(inside.all(axis=1).sum())


def bars_of(axes: Axes) -> list[BarContainer]:
    return [group for group in axes.containers if isinstance(group, BarContainer)]


def lattice(corners: np.ndarray) -> np.ndarray:
    """A lattice of points on a rectangle given by two opposite corners."""
    sides = [np.linspace(*corners[:, axis], 12) for axis in (0, 1)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def painted(drawing: Drawing) -> list[tuple[str, np.ndarray]]:
    """Every text that is really painted, with the corners of the (turned) rectangle that it fills."""
    found: list[tuple[str, np.ndarray]] = []
    paint = Text.draw

    def noted(text, renderer):
        paint(text, renderer)
        if text.get_visible() and text.get_text().strip():
            found.append((text.get_text(), corners(text, renderer)))

    with patch.object(Text, "draw", noted):
        FigureCanvasAgg(drawing).draw()
    return found


def corners(text: Text, renderer) -> np.ndarray:
    """The four corners of a text in pixels, its rotation taken into account."""
    box = straight = text.get_window_extent(renderer)
    angle = text.get_rotation()
    if angle:
        text.set_rotation(0)
        straight = text.get_window_extent(renderer)
        text.set_rotation(angle)
    across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    half = np.array([straight.width, straight.height]) / 2 - SLACK / 2
    turned = (half * [[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ np.array([[across, up], [-up, across]])
    return (box.min + box.max) / 2 + turned


def within(box: np.ndarray, canvas) -> bool:
    return bool((box > np.subtract(canvas.min, SLACK)).all() and (box < np.add(canvas.max, SLACK)).all())


def apart(one: np.ndarray, other: np.ndarray) -> bool:
    """Two rectangles do not meet: along some side's normal their shadows are apart."""
    for box in (one, other):
        for side in (box[1] - box[0], box[3] - box[0]):
            first, second = one @ side, other @ side
            if first.max() <= second.min() or second.max() <= first.min():
                return True
    return False
