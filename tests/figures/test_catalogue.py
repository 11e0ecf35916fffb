import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.drawing_checks import assert_figure_draws, assert_recomputed

import figures
from figures.catalogue import NAMES, figure
from figures.records import FULL_SCALE, NUMBERS
from toy_lm.experiments import EXPERIMENTS


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_its_modules_and_its_figures(name):
    found = figure(name)
    assert (found.name, found.kind) == (name, f"figure.{name}")
    assert set(found.needs) <= {*EXPERIMENTS, *FULL_SCALE}
    assert found.title
    assert not found.title.endswith(".")
    assert found.caption.endswith(".")
    assert type(found.quick) in (type(found.config), type(None))
    assert len(re.findall(r"\.(?=\s+[A-Z]|$)", found.caption)) <= 3


def test_every_module_with_a_figure_is_listed_once():
    modules = (Path(figures.__file__).parent / "gallery").glob("*.py")
    drawn = {path.stem for path in modules if "\nFIGURE = Figure(" in path.read_text()}
    assert drawn == set(NAMES)
    assert len(NAMES) == len(drawn)


def test_a_figure_has_stored_numbers_or_reads_those_of_experiments():
    stored = {path.stem for path in NUMBERS.glob("*.json")} - {file for file, _ in FULL_SCALE.values()}
    assert {name for name in NAMES if not figure(name).needs} == stored & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_results_are_drawn_well(name):
    assert_figure_draws(name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "what_your_kl_does"))
        for name in NAMES
        if (NUMBERS / f"{name}.json").is_file() and name not in FULL_SCALE
    ],
)
def test_the_stored_numbers_are_those_of_today(name):
    assert_recomputed(name, 1e-6 if name == "forward_reverse_fits" else 1e-7)


def test_an_unknown_name_is_told_the_others():
    with pytest.raises(ValueError, match=r"figure='mona_lisa' is not allowed: one of laws, way_back, "):
        figure("mona_lisa")


def test_stored_numbers_are_drawn_without_torch():
    words = (
        "import sys; from figures.catalogue import NAMES, figure; import figures.files, figures.report;"
        "[figure(name).stored() for name in NAMES]; print({'torch', 'automata'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
