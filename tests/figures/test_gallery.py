"""Every figure: it is drawn well at every width, its title is so in its numbers, and would fail on others."""

import copy
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from support.drawing_checks import assert_drawn
from support.shown_text import assert_shown_alike
from support.vocabulary import hits

import figures
from figures.catalogue import NAMES, figure
from figures.frames import KINDS, NUMBERS, Records
from figures.gallery import transfer
from figures.latex import command, sentence
from figures.style import Sheet
from figures.venues import VENUES

DOCS = Path(figures.__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def numbers():
    """The numbers of a figure by name, computed once."""
    records = Records()
    return cache(lambda name: figure(name).numbers(records))


def test_every_module_with_a_figure_is_listed_once():
    modules = (Path(figures.__file__).parent / "gallery").glob("[a-z]*.py")
    assert sorted(path.stem for path in modules) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_title_three_sentences_a_table_and_numbers_to_quote(numbers, name):
    found = figure(name)
    assert set(found.needs) <= set(KINDS)
    assert not found.title.endswith(".")
    assert found.caption.endswith(".")
    assert len(re.findall(r"\.(?=\s+[A-Z]|$)", found.caption)) <= 5
    for formula in re.findall(r"\$[^$]*\$", sentence(f"{found.title} {found.caption}")):
        MathTextParser("agg").parse(formula)
    table = found.table(numbers(name))
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.head)}
    assert hits(" | ".join((found.title, found.caption, *table.head))) == []
    assert all(np.isfinite(value) for value in found.quotes(numbers(name)).values())


@pytest.fixture(scope="module")
def pages():
    """What `docs/generate.py` defines."""
    return run_path(str(DOCS / "generate.py"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_drawn_well_at_every_width_and_stored_as_wide_as_a_telephone(numbers, pages, name):
    """Two panels side by side across the text are as wide as a column's: that decides, but for three."""
    for sheet in (Sheet(VENUES["icml"]), Sheet(pages["PHONE"])):
        drawing = figure(name).drawing(numbers(name), sheet)
        assert hits(" | ".join(text.get_text() for text in drawing.findobj(Text))) == []
        if sheet.narrow:
            stored = (DOCS / "img" / f"{name}.svg").read_text()
            assert_shown_alike(pages["svg"](drawing), stored, "run: python docs/generate.py")
        if sheet.narrow or drawing.axes[0].get_subplotspec().get_gridspec().ncols > 2:
            with sheet.look():
                assert_drawn(drawing)


def swapped(frame, column, one, other):
    """A frame with two names of a column exchanged."""
    return frame.assign(**{column: frame[column].replace({one: other, other: one})})


def exchanged(frame, one, other):
    """A frame with two columns exchanged."""
    return frame.rename(columns={one: other, other: one})


FALSE = {
    "transfer": lambda n: n | {"settings": exchanged(n["settings"], "base 256", "forecast 256")},
    "pretrained": lambda n: (
        n | {"at_equal_first": {task: (a, c, b) for task, (a, b, c) in n["at_equal_first"].items()}}
    ),
    "real_runs": lambda n: n | {"left": np.sort(n["left"], axis=0)},
    "real_runs, one strategy in all runs": lambda n: n | {"left": np.minimum(n["left"], 0)},
    "stationary_policies": lambda n: (n[0], exchanged(n[1], "kl token forward KL", "kl token reverse KL")),
    "budget_and_family": lambda n: n.assign(beta=-n.beta),
    "budget_and_family, all weights": lambda n: n.assign(kl=n.kl.where(n["rank"] < np.inf, 9.0)),
    "drift": lambda n: n.assign(predicted=2.5 * n.predicted),
    "causes_of_misses": lambda n: n.assign(unexplained=n.unexplained + 5),
    "sql": lambda n: swapped(n, "method", "GRPO", "MaxRL"),
    "mu_beta": lambda n: n | {"excess": n["excess"] - 1},
    "tilted_to_filtered": lambda n: n | {"KL(p_beta || p_*)": np.ones(3)},
    "implicit_bias": lambda n: (
        n | {"shares": {"plain": n["shares"]["natural"], "natural": n["shares"]["plain"]}}
    ),
    "forward_reverse_fits": lambda n: swapped(n, "name", "forward KL", "reverse KL"),
    "collapse": lambda n: n | {"fits": swapped(n["fits"], "objective", "forward_kl", "reward")},
    "pass_at_k": lambda n: n | {"strategies": exchanged(n["strategies"], "base", "GRPO")},
    "styles": lambda n: swapped(n, "label", "DAPO", "base"),
    "sweeps": lambda n: n | {"points": swapped(n["points"], "place", "D_pef", "all prompts")},
    "keep_and_explore": lambda n: swapped(n, "label", "DAPO", "RKL 0.3"),
    "training_curves": lambda n: n | {"styles": {**n["styles"], "DAPO": n["styles"]["RKL"]}},
    "kl_both_ways": lambda n: n | {"GRPO": n["DPH-F"]},
    "kl_both_ways, unsettled": lambda n: (
        n | {"GRPO": n["GRPO"] | {"reverse_kl_curve": n["GRPO"]["forward_kl_curve"]}}
    ),
    "kl_both_ways, no anchor holds": lambda n: n | {"DPH-JS": n["GRPO"]},
    "bounds": lambda n: n | {"corrected": n["as published"]},
    "losing_a_strategy": lambda n: n | {"reverse KL": n["forward KL"]},
    "published": lambda n: n | {"Spider, Pass@8": n["BIRD, Pass@8"]},
    "distance": lambda n: swapped(n, "method", "GRPO", "forward KL"),
    "what_your_kl_does": lambda n: n.assign(value=n.gradient),
    "what_your_advantage_weighs": lambda n: exchanged(n, "MaxRL", "leave-one-out"),
}
"""Numbers of which each title would be false."""


@pytest.mark.parametrize("false", FALSE)
def test_its_numbers_bear_out_its_title_and_others_do_not(numbers, false):
    name = false.split(",")[0]
    assert figure(name).claim(numbers(name)) is True
    assert figure(name).claim(FALSE[false](numbers(name))) is False


def test_a_picture_says_what_it_finds_or_that_its_numbers_do_not_bear_it_out(numbers):
    def title(own, **options):
        drawing = figure("drift").drawing(own, Sheet(**options))
        return drawing.get_suptitle().replace("\n", " ")

    found = numbers("drift")
    assert title(found) == figure("drift").title
    assert title(FALSE["drift"](found)) == f"Not so in these numbers: {figure('drift').title}"
    assert title(found, title="panels") == ""


def test_every_title_has_numbers_of_which_it_would_be_false():
    assert {false.split(",")[0] for false in FALSE} == set(NAMES)


def test_a_paper_is_offered_at_most_forty_numbers_with_short_names_of_their_own(numbers):
    named = [command(f"{name} {words}") for name in NAMES for words in figure(name).quotes(numbers(name))]
    assert 5 < len(named) == len(set(named)) <= 40
    assert max(map(len, named)) <= 40


def limits(found):
    """The limits of the stationary policies as beta falls."""
    return found[0][found[0].beta == 0].set_index("form").first_share.to_dict()


VALUES = {
    # Limits of token penalties; Theorem 1's counterexample at t = .04; the pass rate at A1 = .25, beta = .5.
    "stationary_policies": (limits, {"k3": 0.675390529679, "k3_corrected": 0.5, "sequence_kl": 0.9}, 1e-9),
    "bounds": (lambda n: n["at old"], {"forward KL": 0.0886, "alpha = 0.5": 0.0883, "JS": 0.0884}, 5e-5),
    "mu_beta": (lambda n: np.interp(0.5, np.geomspace(0.05, 10, 200), n["mu"][0.25]), 0.711234594, 1e-3),
    "losing_a_strategy": (
        lambda n: n["JS generator"]["table"],
        [0.006957, 0.035298, 0.071948, 0.191205, 0.431523],
        1e-6,
    ),
    "published": (lambda n: n["BIRD, Pass@16"]["GRPO - base"][:2], (-7.3, 3.189), 1e-3),
    "what_your_advantage_weighs": (lambda n: n["Dr. GRPO, mean of all"].to_numpy(), np.full(41, 7 / 8), 1e-9),
}
"""A number of a figure's, what the theory says, and to how much."""


@pytest.mark.parametrize("name", VALUES)
def test_its_numbers_are_those_of_the_theory(numbers, name):
    found, wanted, tolerance = VALUES[name]
    assert found(numbers(name)) == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("budget_and_family", 0, ["KL-DPG", 0.0, "1", 150]),
        ("training_curves", 0, ["strategies, k = 16", "GRPO", 0.815, 0.506, 0.903]),
        ("sweeps", 13, ["tiny transformer, one seed", 0.03, 0.0211]),
        ("what_your_kl_does", 3, ["no gradient at some log ratios", 5]),
    ],
)
def test_its_table_says_what_the_record_holds(numbers, name, row, said):
    for cell, wanted in zip(figure(name).table(numbers(name)).rows[row], said, strict=False):
        assert cell == (wanted if isinstance(wanted, str) else pytest.approx(wanted, rel=0.02))


def test_an_unknown_name_is_told_the_others():
    match = r"figure='mona_lisa' is not allowed: one of sql, transfer, pass_at_k, styles, "
    with pytest.raises(ValueError, match=match):
        figure("mona_lisa")


def test_stored_records_are_drawn_without_torch():
    words = (
        "import sys, figures.files; from figures.catalogue import NAMES, figure; from figures import frames;"
        "stored = frames.Records(); [figure(name).numbers(stored) for name in NAMES if figure(name).needs];"
        "print({'torch', 'automata'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_what_the_papers_draw_has_a_figure_here():
    text = (DOCS / "appendix" / "papers.md").read_text()
    section = text.partition("## The papers' figures and ours")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[-1])}
    assert len(rows) > 8
    assert named <= set(NAMES)


@pytest.mark.parametrize(
    "other", [{"optimiser": "lion"}, {"learning_rate": 1e-4}, {"rank": 8}, {"steps": 40}]
)
def test_a_run_with_other_settings_is_no_published_method_and_moves_no_correlation(other, tmp_path):
    """GRPO as it is published, but for one field: its numbers, which would be far off, stand apart."""
    record = json.loads((NUMBERS / "pretrained.json").read_text())
    published = transfer.numbers(Records())
    row = copy.deepcopy(record["results"]["forecasts"][0])
    row["setting"] |= other
    row["forecast"][-1] = 0.99
    record["results"]["forecasts"].append(row)
    (tmp_path / "pretrained.json").write_text(json.dumps(record))
    numbers = transfer.numbers(Records(tmp_path))
    assert len(numbers["settings"]) == len(published["settings"]) + 1
    assert len(transfer.methods(numbers)) == len(transfer.methods(published)) == 22
    assert transfer.agreement(numbers) == transfer.agreement(published)
    assert transfer.agreement(published)["correlation"] == pytest.approx(0.971, abs=5e-4)
