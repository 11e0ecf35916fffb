import json
import logging
import re
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from figures.catalogue import figure
from figures.look.theme import look
from figures.results import drawings, experiments, store
from figures.results.records import Records


def read(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def record():
    return figure("mu_beta").numbers(quick=True)


def test_the_same_numbers_give_the_same_bytes(tmp_path, record):
    first = drawings.save("mu_beta", figure("mu_beta").drawing(record), ("pdf", "png", "svg"), tmp_path / "a")
    second = drawings.save(
        "mu_beta", figure("mu_beta").drawing(record), ("pdf", "png", "svg"), tmp_path / "b"
    )
    assert [p.name for p in first] == ["mu_beta.pdf", "mu_beta.png", "mu_beta.svg"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    starts = [p.read_bytes()[:5] for p in first]
    assert starts == [b"%PDF-", b"\x89PNG\r", b"<?xml"]
    # Fonts are embedded as TrueType, which editors and printers take.
    assert b"/FontFile2" in first[0].read_bytes()


def test_the_last_digit_of_the_layout_is_not_in_an_svg():
    def drawn(left):
        with look():
            drawing = Figure(layout="none")
            drawing.add_axes((left, 0.1, 0.8, 0.8)).plot([0, 1], [0, 1])
            return drawings.rendered(drawing, "svg")

    assert drawn(0.1) == drawn(0.1 + 1e-15)
    assert b'clip-path="url(#clip0)"' in drawn(0.1)


def test_an_svg_is_as_short_as_it_can_be(record):
    root = ElementTree.fromstring(drawings.rendered(figure("mu_beta").drawing(record), "svg"))
    data = [node.attrib["d"] for node in root.iter() if "d" in node.attrib]
    assert len(data) > 20
    assert not [path for path in data if "\n" in path or re.search(r"\.\d{3}", path)]


def test_saving_says_nothing(tmp_path, record, caplog):
    with caplog.at_level(logging.DEBUG):
        drawings.save("mu_beta", figure("mu_beta").drawing(record), ("pdf",), tmp_path)
    assert not [entry for entry in caplog.records if entry.levelno >= logging.WARNING]


def test_formats_are_those_there_are():
    assert drawings.formats(" svg,pdf,svg") == ("svg", "pdf")
    for wrong in ("", "gif", "svg,gif"):
        with pytest.raises(ValueError, match="one or more of pdf, png, svg, pgf"):
            drawings.formats(wrong)


def test_what_latex_has_to_measure_needs_latex(monkeypatch):
    monkeypatch.setattr(drawings.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="format='pgf' is not allowed: only where xelatex is installed"):
        drawings.formats("pdf,pgf")
    monkeypatch.setattr(drawings.shutil, "which", lambda name: name)
    assert drawings.formats("pgf") == ("pgf",)


def test_numbers_that_fail_stay_as_they_were_and_the_others_go_on(tmp_path, monkeypatch):
    store.save("mu_beta", {"kept": True}, tmp_path)

    def numbers(self, *, seed, folder):
        if self.name == "mu_beta":
            raise RuntimeError("no luck")
        return {"new": seed}

    monkeypatch.setattr(type(figure("mu_beta")), "numbers", numbers)
    failed = drawings.recompute(("mu_beta", "tilted_to_filtered"), seed=4, folder=tmp_path)
    assert failed == {"mu_beta": "RuntimeError: no luck"}
    assert read(tmp_path / "mu_beta.json") == {"kept": True}
    assert read(tmp_path / "tilted_to_filtered.json") == {"new": 4}


class Needy:
    """A figure that needs one experiment."""

    needs = ("styles",)
    kind = "figure.needy"

    def numbers(self, *, seed, folder):
        return Records.load(self.needs, folder=folder).of("styles")


def test_experiments_run_once_and_figures_read_what_they_left(tmp_path, monkeypatch):
    ran, seen = [], []

    def run(name, *, seed, folder, progress):
        ran.append(name)
        progress("a stage of it", 1, 1)
        made = {"kind": "toy.styles", "seed": seed, "config": {}, "results": {"x": 1}}
        store.save("toy_styles", made | {"findings": [], "versions": {}}, folder)

    monkeypatch.setattr(drawings, "figure", lambda name: Needy())
    monkeypatch.setattr(experiments, "run", run)
    assert drawings.recompute(("a", "b"), folder=tmp_path, progress=lambda *step: seen.append(step)) == {}
    assert ran == ["styles"]
    # What only arranges an experiment's numbers keeps no copy of them.
    assert [path.name for path in tmp_path.iterdir()] == ["toy_styles.json"]
    assert seen == [("styles", 1, 1), ("numbers", 0, 2), ("numbers", 1, 2), ("numbers", 2, 2)]


def test_a_figure_is_not_computed_without_its_experiment(tmp_path, monkeypatch):
    def run(name, **options):
        raise RuntimeError("no luck")

    monkeypatch.setattr(drawings, "figure", lambda name: Needy())
    monkeypatch.setattr(experiments, "run", run)
    failed = drawings.recompute(("a",), folder=tmp_path)
    assert failed == {"toy.styles": "RuntimeError: no luck", "a": "it needs toy.styles, which failed"}
    assert list(tmp_path.iterdir()) == []


def test_a_pgf_drawing_needs_no_preamble_of_matplotlib():
    head = rb"\def%{\%}"
    made = drawings.for_any_document(b"\\begingroup%\n" + head + b"js_low on $p_*$ a\\_b}}%\n")
    assert made.splitlines()[1] == rb"\providecommand{\mathdefault}[1]{#1}%"
    assert made.splitlines()[2] == head + rb"js\_low on $p_*$ a\_b}}%"
