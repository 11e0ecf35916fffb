import json
from functools import cache

import pytest
from support.losses_with_known_answers import k1, k2, k3, minus_log_u, policy_gradient, rehearsed_k3

from dph_theory.audit import audit
from dph_theory.audit.report import SAMPLES

audited = cache(audit)


@pytest.mark.parametrize(
    ("loss", "samples", "words"),
    [
        (k1, "policy", "value estimates reverse KL(pi||ref); its gradient is ZERO in expectation"),
        (k2, "policy", "value is biased, nearest reverse KL(pi||ref)"),
        (k2, "policy", "its gradient descends REVERSE KL(pi||ref), exactly"),
        (
            k3,
            "policy",
            "k3 on policy samples: value estimates reverse KL(pi||ref); "
            "its gradient descends FORWARD KL(ref||pi), exactly",
        ),
        (k3, "policy", "on sequences it descends token sum of FORWARD KL(ref||pi)"),
        (
            minus_log_u,
            "reference",
            "value estimates forward KL(ref||pi); its gradient descends FORWARD KL(ref||pi)",
        ),
        (minus_log_u, "filtered", "its minimiser is the filtered model p_*"),
        (rehearsed_k3, "filtered", "its minimiser keeps the base's own pass rate"),
        (policy_gradient, "policy", "its gradient descends minus expected reward, exactly"),
    ],
)
def test_the_verdict_says_it(loss, samples, words):
    assert words in audited(loss, samples=samples).verdict


@pytest.mark.parametrize("seed", [1, 2])
def test_the_verdict_does_not_depend_on_the_seed(seed):
    found, again = audited(k3, samples="policy").gradient, audit(k3, seed=seed).gradient
    assert (again.name, again.exact) == (found.name, found.exact)
    assert again.constant == pytest.approx(found.constant)


def test_the_same_seed_gives_the_same_report_as_plain_data():
    first, second = audit(k2, seed=5).as_json(), audit(k2, seed=5).as_json()
    assert json.dumps(first) == json.dumps(second)
    assert {"verdict", "value", "gradient", "minimiser", "variance", "extremes", "failures"} <= set(first)


def test_a_failure_on_some_problems_leaves_the_others():
    def only_outcomes(log_pi, log_ref):
        if log_pi.shape[1] > 1:
            raise RuntimeError("one token only")
        return k3(log_pi, log_ref)

    report = audit(only_outcomes)
    assert report.gradient.name == "forward KL(ref||pi)"
    assert len(report.failures) == 4
    assert "failed on 4 of the problems (it raised RuntimeError: one token only)" in report.verdict


def test_a_loss_that_always_fails_says_why():
    report = audit(lambda log_pi: log_pi, name="raw")
    assert report.verdict.startswith(
        "raw on policy samples: could not be audited: it returned a tensor of shape (1, 1)"
    )
    assert report.variance is None
    assert report.extremes == ()


def test_unknown_samples_are_named():
    with pytest.raises(ValueError, match=r"samples='teacher' .*policy, old_policy, reference, filtered"):
        audit(k1, samples="teacher")
    assert len(SAMPLES) == 4
