import pytest
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.gallery.budget_and_family import EXPERIMENT, FIGURE
from figures.records import Records

STEPS = [0, 50, 100]
NEAR, FAR = [0.5, 0.9, 0.9], [0.5, 0.6, 0.6]
"""Validity along a run that reaches its law's .9, and along one that does not."""


def ended(name, validity, **facts):
    """A run with its course; its excess KL is zero, so that pass rates alone tell it from its law."""
    made = {"experiment": EXPERIMENT, "task": "wide", "digest": name, "steps": 100, "effective_answers": 5.0}
    law = {"law_effective_answers": 5.5} if facts.get("form", "sequence_kl") == "sequence_kl" else {}
    form = facts.pop("form", "sequence_kl")
    course = {"digest": name, "step": STEPS, "validity": validity, "lost_share": [0.5] * 3}
    return run(form, **made | law | facts), course | {"excess_kl": [0.0] * 3}


@pytest.fixture(scope="module")
def results():
    made = [
        ended(f"{rank} {beta} {steps}", NEAR if rank is None else FAR, rank=rank, beta=beta, steps=steps)
        for rank in (1, None)
        for beta in (0.5, 0.1)
        for steps in (100, 400)
    ]
    made.append(ended("other seed", FAR, rank=None, beta=0.1, seed=1, effective_answers=4.0))
    aim = {"law": "filtered model", "law_validity": 1.0, "beta": 0.0}
    made.append(ended("forward", NEAR, form="alpha_dpg", rank=1, steps=400, effective_answers=5.4, **aim))
    runs, courses = zip(*made, strict=True)
    return FIGURE.compute(FIGURE.config, Records({"laws": law_record(runs, courses)}))


def test_a_run_has_reached_its_law_where_it_stays_below_the_bar(results):
    ends = {(end.objective, end.rank, end.beta, end.steps): end for end in results.ends}
    assert ends["sequence_kl", None, 0.5, 100].reached == 50
    assert ends["sequence_kl", 1, 0.5, 100].reached is None
    both = ends["sequence_kl", None, 0.1, 100]
    assert (both.seeds, both.reached, both.kl) == (2, None, pytest.approx(0.001))
    assert both.kl_range == pytest.approx((0.001, 0.001))
    assert (both.effective, both.effective_range) == (4.5, (4.0, 5.0))
    assert ends["alpha_dpg", 1, 0.0, 400].kl is None


def test_the_runs_are_counted_against_those_planned(results):
    assert (results.runs, results.planned, results.target) == (10, 84, 5.5)
    assert len(FIGURE.table(results).rows) == 1 + 9


def test_it_draws(results):
    assert_figure_draws("budget_and_family", results)


def test_annealed_runs_stand_apart():
    record = law_record(
        [ended("x", NEAR, annealed_from=1.0)[0], ended("y", FAR)[0]],
        [ended("x", NEAR)[1], ended("y", FAR)[1]],
    )
    found = FIGURE.compute(FIGURE.config, Records({"laws": record}))
    assert [(end.objective, end.reached) for end in found.ends] == [("annealed", 50), ("sequence_kl", None)]
