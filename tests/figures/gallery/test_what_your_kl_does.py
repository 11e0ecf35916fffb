from dataclasses import replace
from pathlib import Path

import pytest
from support.drawing_checks import assert_close, assert_figure_draws, stored

from dph_theory.support.record import as_json
from figures.gallery.what_your_kl_does import FIGURE
from figures.records import Records

# The whole catalogue is audited.
pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "what-does-your-kl-do.md"


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def by_form(results):
    return {(row.loss, row.samples): row for row in results.rows}


def test_the_estimators_of_the_theory(results):
    rows = by_form(results)
    k1, k2, k3 = (rows[name, "policy"] for name in ("k1", "k2", "k3"))
    reverse, forward = "reverse KL(pi||ref)", "forward KL(ref||pi)"
    assert [k.value.exact for k in (k1, k2, k3)] == [True, False, True]
    assert [k.gradient.name for k in (k1, k2, k3)] == ["zero", reverse, forward]
    assert rows["corrected k3", "old_policy"].gradient.name == reverse
    assert rows["forward KL, printed", "filtered"].minimiser.target == "p_*"
    assert rows["forward KL, normalised", "filtered"].minimiser.target == "base rate"


def test_the_table_follows_the_rows(results):
    audited, zero, other, dead = FIGURE.table(results).rows
    assert [row[1] for row in (audited, zero, other, dead)] == [7, 1, 1, 1]
    assert (zero[2], other[2]) == ("k1", "k3")
    k1, k2, *others = results.rows
    changed = replace(results, rows=(k1, replace(k2, gradient=k1.gradient), *others))
    assert FIGURE.table(changed).rows[1][2] == "k1, k2"


def test_the_committed_numbers_are_those_of_the_page_and_of_today(results):
    rows = by_form(stored("what_your_kl_does"))
    page = PAGE.read_text(encoding="utf-8").replace("\\", "")
    assert all(row.verdict in page for row in rows.values())
    assert page.count("\n> ") == len(rows) == 32
    for key, row in by_form(results).items():
        assert_close(as_json(rows[key]), as_json(row), 1e-7)


def test_it_draws(results):
    assert_figure_draws("what_your_kl_does", results)
