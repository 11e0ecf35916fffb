import re
import shutil
import subprocess

import pytest
from support.drawing_checks import assert_drawn

from dph_theory.counts.estimate import Estimate
from figures.catalogue import figure
from figures.look.tables import Table
from figures.look.theme import look
from figures.look.venues import VENUES
from figures.report import guide
from figures.results import paper


@pytest.fixture(scope="module")
def numbers():
    return figure("mu_beta").numbers(quick=True)


def test_a_pdf_names_the_numbers_that_it_is_drawn_from(numbers, tmp_path):
    wanted = paper.Wanted(formats=("pdf",), folder=tmp_path)
    pdf, caption = paper.write(paper.piece(figure("mu_beta"), numbers), wanted)
    assert f"sha256:{paper.digest(numbers)}".encode() in pdf.read_bytes()
    assert caption.read_text().count("{") == caption.read_text().count("}")
    assert not re.search(r"(?<!\\)[_%#&]", caption.read_text())


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions(numbers):
    assert paper.digest({**numbers, "versions": {}}) == paper.digest(numbers)
    assert paper.digest({**numbers, "config": {}}) != paper.digest(numbers)


@pytest.mark.parametrize("venue", VENUES.values(), ids=VENUES)
def test_words_stay_apart_at_every_venue(numbers, venue):
    with look(venue):
        assert_drawn(figure("mu_beta").drawing(numbers, venue))


def test_the_numbers_of_a_page_are_named_after_row_and_column_or_line():
    table = "| by | base | Pass@16 / k3 |\n| --- | --- | --- |\n| k2 | 1 / 0.046 | .02 |"
    page = f"Of 96 runs\n{table}\n\nBelow -0.5."
    assert paper.commands_of_page("x", page).splitlines()[1:] == [
        r"\newcommand{\dphXLineOne}{96}",
        r"\newcommand{\dphXKTwoBaseOne}{1}",
        r"\newcommand{\dphXKTwoBaseTwo}{0.046}",
        r"\newcommand{\dphXKTwoPassOneSixKThree}{.02}",
        r"\newcommand{\dphXLineSix}{-0.5}",
    ]


def test_every_number_of_the_readme_has_a_name_of_its_own():
    made = paper.commands_of_page("readme", guide.in_short(guide.records()))
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
    made = paper.piece(figure("mu_beta"), numbers, VENUES["icml"])
    list(paper.write(made, paper.Wanted(("pgf",), tmp_path, VENUES["icml"], tmp_path)))
    uncertain = Table.of(("x & y", "b_%"), [("A", Estimate(0.5, 0.25, float("inf"))), ("{\\}", 1e-9)])
    list(paper.write_table("uncertain", uncertain, tmp_path))
    readme = paper.commands_of_page("readme", guide.in_short(guide.records()))
    tables = (paper.commands("mu_beta", made.table, "a"), paper.commands("x", uncertain, "b"))
    (tmp_path / "numbers.tex").write_text("\n".join([*tables, readme]))
    (tmp_path / "article.tex").write_text(ARTICLE)
    words = [tex, "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    log = (tmp_path / "article.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in log
    assert (tmp_path / "article.pdf").stat().st_size > 10_000
