import numpy as np
import pytest
from scipy.special import expit
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.gallery.luck_or_time import DIVIDED, FIGURE
from figures.records import Records

SHARES = expit(np.concatenate([np.full(20, 3.0), 0.05 * np.tile([-1, 1], 10)]))
"""Along a run that shakes in its second half alone."""


def along(name, **values):
    count = len(next(iter(values.values())))
    return {"digest": name, "step": list(range(count)), **{k: list(v) for k, v in values.items()}}


@pytest.fixture(scope="module")
def results():
    rows, courses = [], []
    for groups in (1, 8, 64):
        for form, scale in (
            ("k2", "none"),
            ("k3", "none"),
            ("k3_corrected", "none"),
            ("sequence_kl", "group"),
        ):
            name = f"{form} {scale} {groups}"
            facts = {"experiment": "noise_floor", "judged": False, "group_size": 8, "groups": groups}
            rows.append(run(form, scale=scale, digest=name, twin_favourite_odds_deviation=0.04, **facts))
            courses.append(along(name, favourite_share=SHARES))
    for i, why in enumerate((None, None, "time", "luck", "unexplained", "luck beyond first order")):
        verdict = "held" if why is None else "missed: answers"
        rows.append(run("k3", verdict=verdict, why_missed=why, digest=f"w{i}"))
    rows.append(run("k3", experiment="planned", digest="planned"))
    for steps in (100, 250):
        for begun, bound in ((None, None), (1.0, None), (1.0, 0.05)):
            name = f"{steps} {begun} {bound}"
            facts = {"experiment": "annealing", "judged": False, "steps": steps, "digest": name}
            rows.append(run("sequence_kl", annealed_from=begun, lowered_under=bound, **facts))
            courses.append(
                along(name, excess_kl=[0.0, 0.3 if begun is None else 0.1, 0.05], validity=[0.9] * 3)
            )
    return FIGURE.compute(FIGURE.config, Records({"laws": law_record(rows, courses)}))


def test_the_noise_is_that_of_the_second_half(results):
    point = results.floor[0]
    assert (point.form, point.answers) == ("k2", 8)
    assert point.measured == pytest.approx(0.05 * np.sqrt(20 / 19))
    assert {point.form for point in results.floor} == {"k2", "k3", "k3_corrected", DIVIDED}


def test_misses_are_counted_by_what_they_come_from(results):
    which, planned = results.misses
    assert which.counts == {
        "held": 2,
        "time": 1,
        "luck": 1,
        "luck beyond first order": 1,
        "unexplained": 1,
        "no twin": 0,
    }
    assert planned.counts["held"] == 1
    assert [row[0] for row in FIGURE.table(results).rows] == ["which_law", "planned"]


def test_a_schedule_is_told_by_how_beta_falls(results):
    ends = {(end.schedule, end.steps): end for end in results.schedules}
    assert ends["constant", 100].peak == pytest.approx(0.3)
    assert ends["falling", 250].peak == ends["falling under a bound", 250].peak == pytest.approx(0.1)
    assert ends["falling", 250].last == pytest.approx(0.05)


def test_it_draws(results):
    assert_figure_draws("luck_or_time", results)
