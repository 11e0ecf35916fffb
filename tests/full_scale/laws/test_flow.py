import pytest

from dph_theory.laws import filtered_law, law_divergence
from full_scale.evaluation.exact import exact
from full_scale.laws.flow import flow
from full_scale.laws.predictions import laws_of
from full_scale.laws.run import Run
from full_scale.tasks.glass_box.boxes import box

TASK = box("selection-2")
BASE = list(TASK.base)


@pytest.mark.parametrize("form", ["k2", "k3_corrected", "sequence_kl", "future_kl"])
def test_on_policy_flows_end_at_their_law(form):
    # A large group, whose mean leaves the reward its weight.
    run = Run("a", TASK.name, form, 0.5, group_size=10_000)
    (end,) = flow(run, TASK, BASE, BASE, [300.0])
    law = laws_of(run, TASK, BASE)[run.law]
    assert law_divergence(end, law, end=TASK.end) == pytest.approx([0], abs=1e-3)


def test_rehearsal_and_kl_dpg_end_at_the_filtered_model():
    wanted = filtered_law(BASE, TASK.valid, end=TASK.end)
    for run in (
        Run("a", TASK.name, "rehearsal", 1.0, rehearsed="log_u", reward=False),
        Run("a", TASK.name, "alpha_dpg", alpha=1.0),
    ):
        (end,) = flow(run, TASK, BASE, BASE, [300.0])
        assert law_divergence(wanted, end, end=TASK.end) == pytest.approx([0], abs=2e-2)


def test_lost_answers_come_back_at_once_by_rehearsal_and_late_on_policy():
    start = [BASE[0] * [[1.0, 1e-3, 1.0]], BASE[1]]
    start[0] /= start[0].sum()
    lost = {}
    for form, extra in (("rehearsal", {"rehearsed": "log_u"}), ("sequence_kl", {})):
        course = flow(Run("a", TASK.name, form, 0.2, **extra), TASK, BASE, start, [100.0, 300.0])
        lost[form] = [1 - exact(TASK, tables, BASE).first_share for tables in course]
    assert lost["rehearsal"][-1] > 0.05
    assert lost["sequence_kl"][-1] < 0.01


def test_other_boxes_and_forms_are_refused():
    with pytest.raises(ValueError, match="box='sums' is not allowed: a box of one text"):
        flow(Run("a", "sums", "none"), box("sums"), BASE, BASE, [1.0])
    with pytest.raises(ValueError, match="form='k3' is not allowed"):
        flow(Run("a", TASK.name, "k3", 0.2), TASK, BASE, BASE, [1.0])
