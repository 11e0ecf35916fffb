from dataclasses import dataclass, replace

import matplotlib as mpl
import pytest

from dph_theory.support.table import Table
from figures import records
from figures.figure import Figure, FigureConfig
from figures.style import theme


@dataclass(frozen=True, kw_only=True)
class Settings(FigureConfig):
    end: float = 7.0
    other: int = 1


@dataclass(frozen=True)
class Line:
    y: tuple[float, ...]


def drawn(config, results):
    drawing, axes = theme.new()
    axes.plot(results.y)
    # What the style says holds while drawing.
    assert mpl.rcParams["mathtext.fontset"] == "cm"
    return drawing


FIGURE = Figure(
    name="line",
    title="A line",
    caption="It rises.",
    results=Line,
    compute=lambda config, records: Line((float(config.seed), config.end / 3)),
    draw=drawn,
    table=lambda results: Table.of(("end",), [(results.y[-1],)]),
    config=Settings(),
    quick=Settings(end=3.0),
)


def test_the_numbers_say_what_they_were_computed_from_and_are_rounded():
    record = FIGURE.numbers(seed=3)
    assert record["kind"] == "figure.line"
    assert record["seed"] == 3
    assert record["config"] == {"end": 7, "other": 1, "seed": 3, "quick": False}
    assert record["results"] == {"y": [3, 2.3333333]}
    assert {"python", "dph", "numpy", "scipy"} == set(record["versions"])
    assert FIGURE.read(record) == (Settings(seed=3), Line((3.0, 2.3333333)))


def test_a_quick_run_changes_only_what_it_says():
    record = FIGURE.numbers(quick=True)
    assert record["config"] == {"end": 3, "other": 1, "seed": 0, "quick": True}
    assert record["results"] == {"y": [0, 1]}


def test_numbers_are_kept_unless_they_are_an_experiment_s(tmp_path):
    with pytest.raises(ValueError, match=r"line\.json"):
        FIGURE.stored(tmp_path)
    records.save("line", FIGURE.numbers(seed=4), tmp_path)
    assert FIGURE.stored(tmp_path)["seed"] == 4
    records.save("toy_styles", FIGURE.numbers(seed=4) | {"kind": "toy.styles"}, tmp_path)
    needy = replace(FIGURE, needs=("styles",), compute=lambda config, records: Line((len(records.stored),)))
    assert needy.stored(tmp_path)["results"] == {"y": [1]}


def test_it_draws_its_own_numbers_only():
    before = mpl.rcParams["mathtext.fontset"]
    drawing = FIGURE.drawing(FIGURE.numbers())
    assert list(drawing.axes[0].get_lines()[0].get_ydata()) == [0, 2.3333333]
    assert mpl.rcParams["mathtext.fontset"] == before
    with pytest.raises(ValueError, match=r"only 'figure\.line'"):
        FIGURE.drawing({**FIGURE.numbers(), "kind": "figure.circle"})
