"""What a paper takes: a figure with its caption, table and numbers to quote, and what the digest is of."""

import shutil
import subprocess

import pytest

from figures import files
from figures.catalogue import figure
from figures.frames import Records
from figures.style import VENUES, Sheet


def test_the_digest_changes_with_the_numbers_and_not_with_the_versions():
    found = {"config": {}, "results": {"x": 1}, "versions": {"numpy": "2"}}
    assert files.digest({**found, "versions": {}}) == files.digest(found)
    assert files.digest({**found, "results": {"x": 2}}) != files.digest(found)


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
