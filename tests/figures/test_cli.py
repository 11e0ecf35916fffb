"""`dph figures`, and what a paper takes of the files it writes; `dph reproduce`."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from figures import files, reproduce
from figures.catalogue import NAMES
from figures.cli import _writable, figures_command, reproduce_command
from figures.frames import Records
from figures.reproduce import StageEnd


def run(command, *words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_the_list_names_every_figure():
    result = run(figures_command, "--list")
    assert result.exit_code == 0
    assert re.findall(r"^(\w+) \([\w, ]+\): ", result.output, re.M) == list(NAMES)
    assert max(map(len, result.output.splitlines())) <= 80


def test_figures_are_drawn_from_stored_records_at_a_papers_width(tmp_path):
    places = ("--to", tmp_path / "out", "--tables", tmp_path, "--macros", tmp_path / "numbers.tex")
    words = ("--venue", "icml", "--width", "column", "--title", "none", "--format", "pdf,svg,png")
    result = run(figures_command, "causes_of_misses", *places, *words)
    assert result.exit_code == 0, result.output
    written = [tmp_path / "out" / f"causes_of_misses.{kind}" for kind in ("pdf", "svg", "png", "caption.tex")]
    written += [tmp_path / f"causes_of_misses.{kind}" for kind in ("tex", "csv")]
    assert result.output.split() == list(map(str, written))
    pdf, svg, png, caption, table, rows = (path.read_bytes() for path in written)
    assert pdf.startswith(b"%PDF-")
    # Fonts are embedded as TrueType, which editors and printers take; the record it is drawn from is named.
    assert b"/FontFile2" in pdf
    assert f"laws sha256:{files.digest(Records().record('laws'))}".encode() in pdf
    assert b'width="234pt"' in svg
    assert png.startswith(b"\x89PNG")
    assert rb"\toprule" in table
    assert len(rows.splitlines()) > 2
    told = caption.decode()
    assert told.startswith(r"\caption{\textbf{")
    assert told.count("{") == told.count("}")
    assert not re.search(r"(?<!\\)[_%#&]", told)
    assert (
        (tmp_path / "numbers.tex")
        .read_text()
        .splitlines()[1]
        .startswith(r"\newcommand{\causesOfMissesMatched}{")
    )


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions():
    found = {"config": {}, "results": {"x": 1}, "versions": {"numpy": "2"}}
    assert files.digest({**found, "versions": {}}) == files.digest(found)
    assert files.digest({**found, "results": {"x": 2}}) != files.digest(found)


def test_tables_are_printed_without_a_drawing(tmp_path):
    result = run(figures_command, "causes_of_misses", "--tables", "-", "--to", tmp_path / "out")
    assert result.exit_code == 0
    assert "| which\\_policy | 154 | 54 | 3 |" in result.output
    assert not (tmp_path / "out").exists()


def test_macros_that_hold_nothing_say_so_and_a_table_has_the_curves(tmp_path):
    places = ("--to", tmp_path, "--macros", tmp_path / "numbers.tex", "--format", "svg")
    result = run(figures_command, "mu_beta", "--venue", "acl", *places)
    assert result.exit_code == 0
    assert "numbers.tex: no macros, because none of these figures quotes a number" in result.output
    printed = run(figures_command, "mu_beta", "--tables", "-").output
    rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| pass rate from 0.25")]
    beta, rate = (float(cell.strip(" |")) for cell in rows[0][1:])
    assert rate == pytest.approx(1 / (1 + 3 * np.exp(-1 / beta)), rel=1e-3)


ARTICLE = r"""
\documentclass{article}
\usepackage{booktabs,graphicx}
\input{numbers.tex}
\begin{document}
\begin{figure}\includegraphics{mu_beta.pdf}\input{mu_beta.caption.tex}\end{figure}
\input{mu_beta.tex} \driftWithin.
\end{document}
"""


def test_latex_sets_a_figure_its_caption_table_and_commands(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here: what a paper takes was not set by LaTeX")
    places = ("--to", tmp_path, "--tables", tmp_path, "--macros", tmp_path / "numbers.tex")
    words = ("--venue", "icml", "--width", "column", "--format", "pdf")
    assert run(figures_command, "mu_beta", "drift", *places, *words).exit_code == 0
    (tmp_path / "article.tex").write_text(ARTICLE)
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "article.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log


def test_a_folder_of_numbers_is_read_and_nothing_else(tmp_path):
    """A broken or missing record is an error; the committed one is not drawn in its place."""
    (tmp_path / "laws.json").write_text("{")
    words = ("--numbers", tmp_path, "--to", tmp_path / "out", "--format", "svg")
    result = run(figures_command, "stationary_policies", "styles", "mu_beta", *words)
    assert result.exit_code == 1
    assert "valid JSON" in result.output
    assert "toy_styles.json does not exist. Run `dph toy styles --json" in " ".join(result.output.split())
    assert [path.name for path in (tmp_path / "out").glob("*.svg")] == ["mu_beta.svg"]


@pytest.mark.parametrize(
    ("command", "words", "says"),
    [
        (figures_command, ("mu_bet",), "one of sql, transfer, pass_at_k"),
        (figures_command, ("--format", "svg,gif"), "one or more of pdf, png, svg"),
        (figures_command, ("--format", ""), "one or more of pdf, png, svg"),
        (figures_command, ("--venue", "nature"), "'icml'"),
        (reproduce_command, ("--to", "/no/such/place"), "/no/such"),
    ],
)
def test_wrong_usage(command, words, says):
    result = run(command, *words)
    assert result.exit_code == 2
    assert says in result.output


@pytest.mark.parametrize(
    ("state", "words", "status", "says"),
    [
        ("done", "all [well]", 0, "2 stages in 0 s, none failed"),
        ("failed", "one too many", 1, "1 failed: verify"),
        ("interrupted", "", 130, "the same command resumes"),
    ],
)
def test_reproduce_says_how_each_stage_ended(tmp_path, monkeypatch, state, words, status, says):
    """In place of the run, one that ends so."""
    asked = []

    def fake(plan, *, fresh, progress, ended):
        asked.append((plan, fresh))
        if state == "interrupted":
            raise KeyboardInterrupt
        outcomes = [StageEnd("audit", "reused", 1.0, "well"), StageEnd("verify", state, 12.0, words)]
        for outcome in outcomes:
            progress(outcome.stage, 1, 2)
            ended(outcome)
        return outcomes

    monkeypatch.setattr(reproduce, "reproduce", fake)
    result = run(reproduce_command, "--quick", "--seed", 7, "--fresh", "--to", tmp_path / "report")
    assert result.exit_code == status, result.output
    assert says in result.output
    assert state == "interrupted" or f"12.0 s  {words}" in result.output
    assert asked == [(reproduce.Plan(7, True, tmp_path / "report"), True)]


def test_an_installed_package_writes_where_the_command_is_run(tmp_path):
    installed = tmp_path / "site-packages" / "figures" / "out"
    assert _writable(installed) == Path("out")
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert _writable(installed) == installed
