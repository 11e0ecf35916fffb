from dataclasses import replace

import matplotlib as mpl
import pytest

from figures.figure import Figure
from figures.look import theme
from figures.results import store


def drawn(record):
    drawing, axes = theme.new()
    axes.plot(record["results"]["y"])
    # What the style says holds while drawing.
    assert mpl.rcParams["mathtext.fontset"] == "cm"
    return drawing


FIGURE = Figure(
    name="line",
    title="A line",
    caption="It rises.",
    compute=lambda config, records: {"y": [config["seed"], config["end"]]},
    draw=drawn,
    config={"end": 7, "other": 1},
    quick={"end": 2},
    findings=lambda results: [f"It ends at {results['y'][-1]}."],
)


def test_the_numbers_say_what_they_were_computed_from():
    record = FIGURE.numbers(seed=3)
    assert record["kind"] == "figure.line"
    assert record["seed"] == 3
    assert record["config"] == {"end": 7, "other": 1, "quick": False}
    assert record["results"] == {"y": [3, 7]}
    assert record["findings"] == ["It ends at 7."]
    assert {"python", "dph", "numpy", "scipy"} == set(record["versions"])


def test_a_quick_run_changes_only_what_it_says():
    record = FIGURE.numbers(quick=True)
    assert record["config"] == {"end": 2, "other": 1, "quick": True}
    assert record["findings"] == ["It ends at 2."]


def test_numbers_are_kept_unless_they_are_an_experiment_s(tmp_path):
    with pytest.raises(ValueError, match=r"line\.json"):
        FIGURE.stored(tmp_path)
    store.save("line", FIGURE.numbers(seed=4), tmp_path)
    assert FIGURE.stored(tmp_path)["seed"] == 4
    store.save("toy_styles", FIGURE.numbers(seed=4) | {"kind": "toy.styles"}, tmp_path)
    needy = replace(FIGURE, needs=("styles",), compute=lambda config, records: {"y": [len(records)]})
    assert needy.stored(tmp_path)["results"] == {"y": [1]}


def test_it_draws_its_own_numbers_only():
    before = mpl.rcParams["mathtext.fontset"]
    drawing = FIGURE.drawing(FIGURE.numbers())
    assert list(drawing.axes[0].get_lines()[0].get_ydata()) == [0, 7]
    assert mpl.rcParams["mathtext.fontset"] == before
    with pytest.raises(ValueError, match=r"only 'figure\.line'"):
        FIGURE.drawing({**FIGURE.numbers(), "kind": "figure.circle"})
