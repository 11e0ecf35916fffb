import json
import logging
import re
import shutil
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from support.drawing_checks import assert_drawn

from dph_theory.intervals import Estimate
from dph_theory.support.record import record
from dph_theory.support.table import Table
from figures import files, records
from figures.catalogue import figure
from figures.files import run_experiment
from figures.records import Records, stored_name
from figures.report import guide
from figures.style.theme import look
from figures.style.venues import VENUES


@pytest.fixture
def packages(monkeypatch):
    """Toy packages that note what they are asked for."""
    asked = []

    def imported(name):
        class Config:
            size = "full"

            @classmethod
            def quick(cls):
                return SimpleNamespace(size="quick")

        def made(config, *, seed, progress, **options):
            asked.append(options)
            results = {"size": config.size, "third": 1 / 3}
            return record(f"toy.{name}", seed=seed, config={}, results=results, findings=[])

        return SimpleNamespace(Config=Config, run=made)

    monkeypatch.setattr(files, "experiment", imported)
    return asked


def test_a_run_is_stored_and_read(packages, tmp_path):
    run_experiment("collapse", seed=5, folder=tmp_path)
    found = Records.load(["collapse"], folder=tmp_path).of("collapse")
    assert (found["seed"], found["results"]) == (5, {"size": "full", "third": 0.3333333333})
    assert (tmp_path / "toy_collapse.json").is_file()


def test_quick_and_full_runs_are_kept_apart(packages, tmp_path):
    run_experiment("collapse", folder=tmp_path)
    run_experiment("collapse", folder=tmp_path, quick=True)
    for quick, size in ((True, "quick"), (False, "full")):
        assert (
            Records.load(["collapse"], quick=quick, folder=tmp_path).of("collapse")["results"]["size"] == size
        )
    assert stored_name("collapse", True) != stored_name("collapse", False)


def test_a_new_run_is_what_is_read_next(packages, tmp_path):
    run_experiment("collapse", seed=1, folder=tmp_path)
    assert Records.load(["collapse"], folder=tmp_path).of("collapse")["seed"] == 1
    run_experiment("collapse", seed=2, folder=tmp_path)
    assert Records.load(["collapse"], folder=tmp_path).of("collapse")["seed"] == 2


def test_only_what_can_resume_is_given_a_folder_for_it(packages, tmp_path):
    run_experiment("collapse", folder=tmp_path, resume=tmp_path / "runs")
    run_experiment("styles", folder=tmp_path, resume=tmp_path / "runs")
    run_experiment("styles", folder=tmp_path)
    assert packages == [{}, {"folder": tmp_path / "runs"}, {}]


def test_what_was_not_run_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"toy_styles\.json.*--recompute"):
        Records.load(["styles"], folder=tmp_path)


def read(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def drawn_record():
    return figure("mu_beta").numbers(quick=True)


def test_the_same_numbers_give_the_same_bytes(tmp_path, drawn_record):
    first = files.save_drawing(
        "mu_beta", figure("mu_beta").drawing(drawn_record), ("pdf", "png", "svg"), tmp_path / "a"
    )
    second = files.save_drawing(
        "mu_beta", figure("mu_beta").drawing(drawn_record), ("pdf", "png", "svg"), tmp_path / "b"
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
            return files.rendered(drawing, "svg")

    assert drawn(0.1) == drawn(0.1 + 1e-15)
    assert b'clip-path="url(#clip0)"' in drawn(0.1)


def test_an_svg_is_as_short_as_it_can_be(drawn_record):
    root = ElementTree.fromstring(files.rendered(figure("mu_beta").drawing(drawn_record), "svg"))
    data = [node.attrib["d"] for node in root.iter() if "d" in node.attrib]
    assert len(data) > 20
    assert not [path for path in data if "\n" in path or re.search(r"\.\d{3}", path)]


def test_saving_says_nothing(tmp_path, drawn_record, caplog):
    with caplog.at_level(logging.DEBUG):
        files.save_drawing("mu_beta", figure("mu_beta").drawing(drawn_record), ("pdf",), tmp_path)
    assert not [entry for entry in caplog.records if entry.levelno >= logging.WARNING]


def test_formats_are_those_there_are():
    assert files.formats(" svg,pdf,svg") == ("svg", "pdf")
    for wrong in ("", "gif", "svg,gif"):
        with pytest.raises(ValueError, match="one or more of pdf, png, svg, pgf"):
            files.formats(wrong)


def test_what_latex_has_to_measure_needs_latex(monkeypatch):
    monkeypatch.setattr(files.shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match="format='pgf' is not allowed: only where xelatex is installed"):
        files.formats("pdf,pgf")
    monkeypatch.setattr(files.shutil, "which", lambda name: name)
    assert files.formats("pgf") == ("pgf",)


def test_numbers_that_fail_stay_as_they_were_and_the_others_go_on(tmp_path, monkeypatch):
    records.save("mu_beta", {"kept": True}, tmp_path)

    def numbers(self, *, seed, folder):
        if self.name == "mu_beta":
            raise RuntimeError("no luck")
        return {"new": seed}

    monkeypatch.setattr(type(figure("mu_beta")), "numbers", numbers)
    failed = files.recompute(("mu_beta", "tilted_to_filtered"), seed=4, folder=tmp_path)
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
        records.save("toy_styles", made | {"findings": [], "versions": {}}, folder)

    monkeypatch.setattr(files, "figure", lambda name: Needy())
    monkeypatch.setattr(files, "run_experiment", run)
    assert files.recompute(("a", "b"), folder=tmp_path, progress=lambda *step: seen.append(step)) == {}
    assert ran == ["styles"]
    # What only arranges an experiment's numbers keeps no copy of them.
    assert [path.name for path in tmp_path.iterdir()] == ["toy_styles.json"]
    assert seen == [("styles", 1, 1), ("numbers", 0, 2), ("numbers", 1, 2), ("numbers", 2, 2)]


def test_a_figure_is_not_computed_without_its_experiment(tmp_path, monkeypatch):
    def run(name, **options):
        raise RuntimeError("no luck")

    monkeypatch.setattr(files, "figure", lambda name: Needy())
    monkeypatch.setattr(files, "run_experiment", run)
    failed = files.recompute(("a",), folder=tmp_path)
    assert failed == {"toy.styles": "RuntimeError: no luck", "a": "it needs toy.styles, which failed"}
    assert list(tmp_path.iterdir()) == []


def test_a_pgf_drawing_needs_no_preamble_of_matplotlib():
    head = rb"\def%{\%}"
    made = files.for_any_document(b"\\begingroup%\n" + head + b"js_low on $p_*$ a\\_b}}%\n")
    assert made.splitlines()[1] == rb"\providecommand{\mathdefault}[1]{#1}%"
    assert made.splitlines()[2] == head + rb"js\_low on $p_*$ a\_b}}%"


@pytest.fixture(scope="module")
def numbers():
    return figure("mu_beta").numbers(quick=True)


def test_a_pdf_names_the_numbers_that_it_is_drawn_from(numbers, tmp_path):
    wanted = files.Wanted(formats=("pdf",), folder=tmp_path)
    pdf, caption = files.write_piece(files.piece(figure("mu_beta"), numbers), wanted)
    assert f"sha256:{files.digest(numbers)}".encode() in pdf.read_bytes()
    assert caption.read_text().count("{") == caption.read_text().count("}")
    assert not re.search(r"(?<!\\)[_%#&]", caption.read_text())


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions(numbers):
    assert files.digest({**numbers, "versions": {}}) == files.digest(numbers)
    assert files.digest({**numbers, "config": {}}) != files.digest(numbers)


@pytest.mark.parametrize("venue", VENUES.values(), ids=VENUES)
def test_words_stay_apart_at_every_venue(numbers, venue):
    with look(venue):
        assert_drawn(figure("mu_beta").drawing(numbers, venue))


def test_the_numbers_of_a_page_are_named_after_row_and_column_or_line():
    table = "| by | base | Pass@16 / k3 |\n| --- | --- | --- |\n| k2 | 1 / 0.046 | .02 |"
    page = f"Of 96 runs\n{table}\n\nBelow -0.5."
    assert files.commands_of_page("x", page).splitlines()[1:] == [
        r"\newcommand{\dphXLineOne}{96}",
        r"\newcommand{\dphXKTwoBaseOne}{1}",
        r"\newcommand{\dphXKTwoBaseTwo}{0.046}",
        r"\newcommand{\dphXKTwoPassOneSixKThree}{.02}",
        r"\newcommand{\dphXLineSix}{-0.5}",
    ]


def test_every_number_of_the_readme_has_a_name_of_its_own():
    made = files.commands_of_page("readme", guide.in_short(guide.stored_records()))
    names = re.findall(r"newcommand{(.*?)}", made)
    assert len(names) == len(set(names)) > 30
    assert r"\dphReadmeDphToyStrategiesBaseTwo" in names


ARTICLE = r"""
\documentclass{article}
\usepackage{booktabs,pgf}
\input{numbers.tex}
\begin{document}
\begin{figure}\input{mu_beta.pgf}\input{mu_beta.caption.tex}\end{figure}
\input{mu_beta.tex} \input{uncertain.tex}
\dphMuBetaRandomPolicies, \dphReadmeDphToyStrategiesBaseTwo, \dphXABLow.
\end{document}
"""


@pytest.mark.parametrize("tex", ["pdflatex", "xelatex"])
def test_latex_sets_a_figure_its_caption_tables_and_commands(numbers, tmp_path, tex):
    if shutil.which("xelatex") is None or shutil.which(tex) is None:
        pytest.skip(f"no xelatex and {tex} here: what a paper takes was not set by LaTeX")
    made = files.piece(figure("mu_beta"), numbers, VENUES["icml"])
    list(files.write_piece(made, files.Wanted(("pgf",), tmp_path, VENUES["icml"], tmp_path)))
    uncertain = Table.of(("x & y", "b_%"), [("A", Estimate(0.5, 0.25, float("inf"))), ("{\\}", 1e-9)])
    list(files.write_table("uncertain", uncertain, tmp_path))
    readme = files.commands_of_page("readme", guide.in_short(guide.stored_records()))
    tables = (files.commands("mu_beta", made.table, "a"), files.commands("x", uncertain, "b"))
    (tmp_path / "numbers.tex").write_text("\n".join([*tables, readme]))
    (tmp_path / "article.tex").write_text(ARTICLE)
    words = [tex, "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "article.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in log
    assert (tmp_path / "article.pdf").stat().st_size > 10_000
