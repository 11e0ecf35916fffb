import pytest
from scipy.special import expit, logit
from support.tiny_styles_base import end, made_up

from toy_lm.styles.summary import of_group, pass_at, summary


def warning(results, rise):
    return next(w for w in summary(results)["meter"] if w["rise"] == rise)


def test_means_and_intervals_over_seeds():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)})
    results["runs"].append(
        results["runs"][0] | {"seed": 1, "end": {s: end(0.7, 0.9, 1.0) for s in ("train", "held_out")}}
    )
    found = summary(results)["methods"]["A"]["train"]
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1, on the logit scale 0.1/0.24.
    assert found["pass@1"]["mean"] == pytest.approx(0.6)
    assert found["pass@1"]["high"] == pytest.approx(expit(logit(0.6) + 12.7062047 * 0.1 / 0.24), rel=1e-7)
    assert found["pass@16"] == {"mean": 0.9, "low": 0.9, "high": 0.9}


def test_one_seed_says_nothing_of_the_spread():
    found = summary(made_up(A={"end": end(0.5, 0.9, 1.0)}))["methods"]["A"]["train"]["pass@1"]
    assert (found["low"], found["high"]) == (-float("inf"), float("inf"))


def test_the_base_is_summarised_beside_the_methods_and_what_is_unknown_stays_so():
    methods = summary(made_up(A={"end": end(0.5, 0.9, 1.0)}))["methods"]
    assert list(methods) == ["base", "A"]
    assert methods["base"]["held_out"]["pass@256"]["mean"] == 1.0
    assert methods["A"]["train"]["exploration"] is None
    assert summary(made_up(A={"end": end(0.5, 0.9, 1.0, exploration=0.5)}))["methods"]["A"]["train"][
        "exploration"
    ]["mean"] == pytest.approx(0.5)


def test_only_runs_of_the_comparison_are_summarised():
    results = made_up(A={"end": end(0.5, 0.9, 1.0)}, B={"end": end(0.5, 0.9, 1.0), "groups": ["long"]})
    assert list(summary(results)["methods"]) == ["base", "A"]
    assert [run["label"] for run in of_group(results, "long")] == ["B"]


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
        name: {"end": score, "curve": {"excess": excess, "pass@16": passed}}
        for name, (excess, passed) in curves.items()
    }
    found = warning(made_up(**runs), 0.25)
    assert {run["label"]: run["lead"] for run in found["runs"]} == {
        "before": 0, "at once": 0, "late": -10, "false": None, "quiet": None,
    }  # fmt: skip
    assert [found[key] for key in ("fallen", "warned_before", "warned_at_once", "stood", "false_alarms")] == [
        3, 0, 2, 2, 1,
    ]  # fmt: skip
    early = warning(made_up(**runs), 0.1)
    assert [early[key] for key in ("warned_before", "warned_at_once", "false_alarms")] == [2, 1, 1]


def test_pass_at_reads_by_k():
    results = made_up(A={"end": end(0.5, 0.9, 0.99)})
    assert [pass_at(results, end(0.5, 0.9, 0.99), k) for k in (1, 16, 256)] == [0.5, 0.9, 0.99]
    with pytest.raises(ValueError, match="3 is not in list"):
        pass_at(results, end(0.5, 0.9, 0.99), 3)
