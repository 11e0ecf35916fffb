import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.meter import LeadTime, Warnings, certified_share, excess_kl_estimate, lead_time

STEPS = [0, 10, 20, 30, 40]


def test_the_meter_warns_at_its_rise_and_coverage_falls_from_its_peak():
    found = lead_time(STEPS, [0.01, 0.02, 0.11, 0.2, 0.3], [0.8, 0.9, 0.85, 0.81, 0.79], rise=0.1, fall=0.1)
    assert (found, found.lead) == (LeadTime(20, 40), 20)
    # Its fall is measured from the highest value so far, not from the first.
    assert lead_time(STEPS, np.zeros(5), [0.5, 0.9, 0.8, 0.7, 0.6], rise=1, fall=0.2).coverage_step == 30


def test_what_never_happens_is_none_and_so_is_the_lead():
    assert lead_time(STEPS, np.zeros(5), np.ones(5), rise=0.1, fall=0.1) == LeadTime(None, None)
    only_meter = lead_time(STEPS, [0, 1, 1, 1, 1], np.ones(5), rise=0.1, fall=0.1)
    assert (only_meter, only_meter.lead) == (LeadTime(10, None), None)
    late = lead_time(STEPS, [0, 0, 0, 0, np.inf], [1, 0, 0, 0, 0], rise=0.1, fall=0.1)
    assert (late.lead, type(late.lead)) == (-30, int)


def test_warnings_count_what_fell_and_what_was_warned_for_nothing():
    found = Warnings(0.1, (LeadTime(10, 20), LeadTime(20, 20), LeadTime(30, 20), LeadTime(10), LeadTime()))
    assert (len(found.fallen), found.warned_before, found.false_alarms) == (3, 1, 1)
    assert found.steps_ahead == [10, 0, -10]


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1)), min_size=1, max_size=20), st.floats(0.01, 0.9))
def test_smaller_thresholds_are_never_met_later(rows, threshold):
    excess, coverage = np.array(rows).T
    steps = np.arange(len(rows))
    loose = lead_time(steps, excess, coverage, rise=threshold, fall=threshold)
    strict = lead_time(steps, excess, coverage, rise=1.1 * threshold, fall=1.1 * threshold)
    pairs = ((loose.meter_step, strict.meter_step), (loose.coverage_step, strict.coverage_step))
    for early, late in pairs:
        assert late is None or (early is not None and early <= late)


def test_a_lost_strategy_has_at_most_the_share_that_its_excess_certifies():
    # The second of two correct answers, of share .4, is gone: excess -.55 log .6.
    assert certified_share(0.2809540930713, 0.55) == pytest.approx(0.4)
    assert certified_share([0.0, 0.1, np.inf], [0.5, 0.0, 0.5]).tolist() == [0.0, 1.0, 1.0]


def test_an_estimate_says_which_strategies_are_certainly_retained():
    rng = np.random.default_rng(0)
    base = np.array([0.15, 0.1, 0.45, 0.3])
    policy = np.array([0.36, 0.24, 0.24, 0.16])  # No excess: correct answers keep their proportions.
    answers = rng.choice(4, size=(6, 4000), p=policy)
    estimate = excess_kl_estimate(
        answers < 2, np.log(policy)[answers], np.log(base)[answers], np.full(6, 0.25)
    )
    assert estimate.pass_rates == pytest.approx(np.full(6, 0.6), abs=0.03)
    share = float(estimate.certificate.partition("share ")[2].partition(" is lost")[0])
    assert 0 < share < 0.01
    assert estimate.certificate.startswith("On half of the 6 solved prompts no strategy of share ")
    unsolved = excess_kl_estimate([[0, 0]], [[0.0, 0.0]], [[0.0, 0.0]], [0.25])
    assert unsolved.certificate == "No prompt is solved: the excess KL proves nothing of strategies."
