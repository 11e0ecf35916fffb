from copy import deepcopy
from pathlib import Path

import pytest
from support.drawing_checks import assert_close, assert_figure_draws, assert_recomputed, stored

from figures.plates.what_your_kl_does import FIGURE

PAGE = Path(__file__).parents[3] / "docs" / "what-does-your-kl-do.md"


@pytest.fixture(scope="module")
def quick():
    return FIGURE.numbers(quick=True)


def by_form(rows):
    return {(row["loss"], row["samples"]): row for row in rows}


def test_the_estimators_of_the_theory(quick):
    rows = by_form(quick["results"]["rows"])
    k1, k2, k3 = (rows[name, "policy"] for name in ("k1", "k2", "k3"))
    reverse, forward = "reverse KL(pi||ref)", "forward KL(ref||pi)"
    assert [k["value"]["exact"] for k in (k1, k2, k3)] == [True, False, True]
    assert [k["gradient"]["name"] for k in (k1, k2, k3)] == ["zero", reverse, forward]
    assert rows["corrected k3", "old_policy"]["gradient"]["name"] == reverse
    assert rows["forward KL, printed", "filtered"]["minimiser"]["target"] == "p_*"
    assert rows["forward KL, normalised", "filtered"]["minimiser"]["target"] == "base rate"


def test_the_findings_follow_the_numbers(quick):
    first, second, third = FIGURE.findings(quick["results"])
    assert first.startswith("Of 7 forms")
    assert first.endswith(" k1.")
    assert second.endswith(" k3.")
    assert third.endswith(": 1.")
    changed = deepcopy(quick["results"])
    by_form(changed["rows"])["k2", "policy"]["gradient"]["name"] = "zero"
    assert FIGURE.findings(changed)[0].endswith(" k1, k2.")


def test_the_committed_numbers_are_those_of_the_page_and_of_today(quick):
    rows = by_form(stored("what_your_kl_does")["results"]["rows"])
    page = PAGE.read_text(encoding="utf-8").replace("\\", "")
    assert all(row["verdict"] in page for row in rows.values())
    assert page.count("\n> ") == len(rows) == 32
    for row in quick["results"]["rows"]:
        assert_close(rows[row["loss"], row["samples"]], row, 1e-7)


def test_it_draws(quick):
    assert_figure_draws("what_your_kl_does")
    assert_figure_draws("what_your_kl_does", quick)


@pytest.mark.slow
def test_all_committed_numbers_are_those_of_today():
    assert_recomputed("what_your_kl_does")
