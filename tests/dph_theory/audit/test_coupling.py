import pytest

from dph_theory.audit import audit
from dph_theory.audit.coupling import enumerate_batches
from dph_theory.audit.problems import random_problems

REVERSE = "reverse KL(pi||ref)"
PROBLEMS = random_problems(0)
NAMES = ("log_pi", "log_ref", "mask")


def costs(log_pi, log_ref, mask):
    return ((log_pi - log_ref).detach() * mask).sum(dim=-1)


def minus_batch_mean(log_pi, log_ref, mask):
    cost = costs(log_pi, log_ref, mask)
    return ((log_pi * mask).sum(dim=-1) * (cost - cost.mean())).mean()


def minus_the_others(log_pi, log_ref, mask):
    """Fails on a batch of one."""
    cost = costs(log_pi, log_ref, mask)
    return ((log_pi * mask).sum(dim=-1) * (cost - (cost.sum() - cost) / (len(cost) - 1))).mean()


def all_pairs(log_pi, log_ref, mask):
    x = ((log_pi - log_ref) * mask).sum(dim=-1)
    return ((x[:, None] - x[None, :]) ** 2).sum() / 4


def log_mean_exp(log_pi, log_ref, mask):
    return ((log_ref - log_pi) * mask).sum(dim=-1).exp().mean().log()


def test_a_batch_mean_baseline_is_not_zero():
    report = audit(minus_batch_mean)
    assert report.batches.constant == "1 - 1/B"
    assert "REVERSE KL(pi||ref), exactly, scaled by 1 - 1/B in a batch of B" in report.verdict
    assert "ZERO" not in report.verdict
    assert report.sequence_gradient.name == REVERSE
    assert report.selects == "filtered model"


@pytest.mark.parametrize(
    ("loss", "constant"), [(minus_the_others, "1"), (all_pairs, "B (B - 1)"), (log_mean_exp, None)]
)
def test_the_dependence_on_the_batch_size_is_recognised_or_refused(loss, constant):
    batches, pairs = enumerate_batches(loss, NAMES, PROBLEMS, "policy")
    assert batches.constant == constant
    assert {problem.length for problem, _ in pairs} == {1, 2, 3}
    exact = [match.exact for size, match in batches.gradients if size > 1]
    assert all(exact) is (constant is not None)


def test_what_is_not_recognised_is_said_with_every_size():
    verdict = audit(log_mean_exp).verdict
    assert "it couples the sequences of a batch, in no way recognised: at B = 1" in verdict
    assert "at B = 3 it descends none of the known quantities" in verdict


def kl_counted_by_the_batch(log_pi, log_ref, log_old, advantages, mask):
    """The KL term is multiplied by the number of sequences, as by a wrong broadcast."""
    policy = -(log_pi - log_old).exp() * advantages
    return ((policy + 0.02 * len(mask) * (log_pi - log_ref) ** 2) * mask).sum() / mask.sum()


def test_a_sum_whose_weights_depend_on_the_batch_size_is_told_at_every_size():
    verdict = audit(kl_counted_by_the_batch).verdict
    assert "it couples the sequences of a batch: at B = 1" in verdict
    for size, weight in ((1, "0.04"), (2, "0.08"), (3, "0.12")):
        assert f"at B = {size} it descends minus expected reward + {weight} REVERSE KL(pi||ref)" in verdict


def less_its_mean(log_pi, log_ref, mask):
    """Zero on every batch of several, but for rounding; not a number on one."""
    cost = ((log_pi - log_ref) * mask).sum(dim=-1)
    away = cost - cost.mean()
    return (away / ((away**2).sum() / (len(cost) - 1) + 1e-3)).mean()


def test_rounding_is_not_taken_for_a_gradient():
    assert audit(less_its_mean).gradient.name == "zero"


def test_groups_that_never_fit_are_refused_by_name():
    report = audit(lambda log_pi: log_pi.reshape(-1, 64, 1).mean(), name="grouped")
    assert report.gradient.name == "failed"
    assert "could not be audited" in report.verdict
