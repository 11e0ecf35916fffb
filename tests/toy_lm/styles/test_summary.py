import pytest
from scipy.special import expit, logit
from support.tiny_styles_base import end, made_up, results_of

from toy_lm.styles.summary import scores, warnings


def test_means_and_intervals_over_seeds():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)})
    results["runs"].append(
        results["runs"][0] | {"seed": 1, "train": end(0.7, 0.9, 1.0), "held_out": end(0.7, 0.9, 1.0)}
    )
    found = scores(results_of(results), "train")["A"]
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1, on the logit scale 0.1/0.24.
    assert found.pass_at_1.mean == pytest.approx(0.6)
    assert found.pass_at_1.high == pytest.approx(expit(logit(0.6) + 12.7062047 * 0.1 / 0.24), rel=1e-7)
    assert tuple(map(float, found.pass_at_16)) == (0.9, 0.9, 0.9)


def test_one_seed_says_nothing_of_the_spread():
    found = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0)})), "train")["A"].pass_at_1
    assert (found.low, found.high) == (-float("inf"), float("inf"))


def test_the_base_is_summarised_beside_the_methods_and_what_is_unknown_stays_so():
    found = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0)})), "held_out")
    assert list(found) == ["base", "A"]
    assert found["base"].pass_at_256.mean == 1.0
    assert found["A"].exploration is None
    known = scores(results_of(made_up(A={"end": end(0.5, 0.9, 1.0, exploration=0.5)})), "train")
    assert known["A"].exploration.mean == 0.5


def test_warnings_are_counted_as_before_at_once_late_and_for_nothing():
    score = end(0.5, 0.8, 1.0)
    curves = {
        "before": ([0.0, 0.2, 0.6], [0.9, 0.9, 0.8]),
        "at once": ([0.0, 0.1, 0.6], [0.9, 0.9, 0.8]),
        "late": ([0.0, 0.1, 0.6], [0.9, 0.8, 0.8]),
        "false": ([0.0, 0.1, 0.3], [0.9, 0.9, 0.9]),
        "quiet": ([0.0, 0.0, 0.0], [0.9, 0.9, 0.9]),
    }
    runs = {
        name: {"end": score, "curve": {"excess": excess, "pass_at_16": passed}}
        for name, (excess, passed) in curves.items()
    }
    early, found, _ = warnings(results_of(made_up(**runs)))
    assert (early.rise, found.rise) == (0.1, 0.25)
    assert dict(zip(runs, (lead.lead for lead in found.leads), strict=True)) == {
        "before": 0, "at once": 0, "late": -10, "false": None, "quiet": None,
    }  # fmt: skip
    assert (len(found.fallen), found.warned_before, found.false_alarms) == (3, 0, 1)
    assert (early.warned_before, early.false_alarms) == (2, 1)
