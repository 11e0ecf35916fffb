"""What is written: drawings, captions, tables and numbers to quote."""

import logging
import re
import shutil
import subprocess

import pytest

from figures import files
from figures.catalogue import figure
from figures.frames import Records
from figures.style import VENUES, Sheet


@pytest.mark.parametrize("wrong", ["", "gif", "svg,gif", "pgf"])
def test_formats_are_those_there_are(wrong):
    assert files.formats(" svg,pdf,svg") == ("svg", "pdf")
    with pytest.raises(ValueError, match="one or more of pdf, png, svg"):
        files.formats(wrong)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    wanted = files.Wanted(("pdf", "png", "svg"), folder, folder)
    return [
        path
        for name in ("mu_beta", "luck_or_time")
        for path in files.write_figure(figure(name), Records(), wanted, Sheet())
    ]


def test_a_figure_is_written_with_its_caption_and_table(written):
    kinds = ("pdf", "png", "svg", "caption.tex", "tex", "csv")
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in ("mu_beta", "luck_or_time") for kind in kinds
    ]
    by_name = {path.name: path.read_bytes() for path in written}
    assert by_name["mu_beta.pdf"][:5] == b"%PDF-"
    # Fonts are embedded as TrueType, which editors and printers take.
    assert b"/FontFile2" in by_name["mu_beta.pdf"]
    caption = by_name["mu_beta.caption.tex"].decode()
    assert caption.startswith(r"\caption{\textbf{Each pass rate")
    assert caption.count("{") == caption.count("}")
    assert not re.search(r"(?<!\\)[_%#&]", caption)
    assert by_name["mu_beta.csv"].decode().startswith("random policies,least excess KL")


def test_a_pdf_names_the_record_that_it_is_drawn_from(written):
    made = next(path for path in written if path.name == "luck_or_time.pdf").read_bytes()
    assert f"laws sha256:{files.digest(Records().of('laws'))}".encode() in made


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions():
    found = {"config": {}, "results": {"x": 1}, "versions": {"numpy": "2"}}
    assert files.digest({**found, "versions": {}}) == files.digest(found)
    assert files.digest({**found, "results": {"x": 2}}) != files.digest(found)


def test_writing_says_nothing(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG):
        files.rendered(Sheet().drawing, "pdf")
    assert not [entry for entry in caplog.records if entry.levelno >= logging.WARNING]


ARTICLE = r"""
\documentclass{article}
\usepackage{booktabs,graphicx}
\input{numbers.tex}
\begin{document}
\begin{figure}\includegraphics{mu_beta.pdf}\input{mu_beta.caption.tex}\end{figure}
\input{mu_beta.tex} \lotteryWithin.
\end{document}
"""


def test_latex_sets_a_figure_its_caption_table_and_commands(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here: what a paper takes was not set by LaTeX")
    wanted = files.Wanted(("pdf",), tmp_path, tmp_path)
    list(files.write_figure(figure("mu_beta"), Records(), wanted, Sheet(VENUES["icml"], "column")))
    (tmp_path / "numbers.tex").write_text(files.macros(["lottery"], Records()))
    (tmp_path / "article.tex").write_text(ARTICLE)
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "article.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "article.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull" not in log
