import pytest
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.figure import record
from figures.plates.laws import FIGURE


@pytest.fixture(scope="module")
def results():
    forms = ("k3", "k3_corrected", "k2", "sequence_kl")
    stored = law_record([run(form, beta) for beta in (1.0, 0.2) for form in forms])
    return FIGURE.compute({**FIGURE.config, **FIGURE.quick}, {"laws": stored})


def test_the_limits_and_the_laws_are_those_of_the_theory(results):
    assert [law["limit"] for law in results["laws"]] == pytest.approx([0.675, 0.5, 0.9], abs=5e-4)
    for law in results["laws"]:
        assert law["first_share"][0] == pytest.approx(law["limit"], abs=0.01)
        assert law["validity"][0] > 0.98
    assert results["laws"][2]["first_share"] == pytest.approx([0.9] * 20)


def test_the_law_predicted_is_compared_with_its_rivals(results):
    rows = results["matrix"]["rows"]
    assert [(row["form"], row["own"]) for row in rows][:2] == [("k3", 0), ("k3_corrected", 1)]
    assert "nearest for 4 of 4 forms" in FIGURE.findings(results)[0]
    rows[0]["kl"][0] = 1.0
    assert "nearest for 3 of 4 forms" in FIGURE.findings(results)[0]


def test_it_draws(results):
    assert len(results["points"]) == 6
    assert_figure_draws("laws", record(FIGURE.kind, seed=0, config={}, results=results, findings=[]))
