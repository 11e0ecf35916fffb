"""What is summed is the expectation over every answer, a divergence's value and gradient the textbook's."""

import pytest
import torch

from dph_theory.audit import SAMPLES, audit
from dph_theory.audit.argument_names import ARGUMENTS, arguments_of
from dph_theory.audit.called_loss import Audited
from dph_theory.audit.problem import random_problems


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x).mean()


def policy_gradient(log_pi, advantages):
    return -(log_pi * advantages).sum(dim=-1).mean()


PROBLEMS = (*random_problems(0), *random_problems(0, ends=True))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_every_answer_is_enumerated_once_with_a_proper_distribution(problem):
    answers = {tuple(row[mask > 0].tolist()) for row, mask in zip(problem.token, problem.mask, strict=True)}
    assert len(answers) == len(problem.token)
    distributions = {source: problem.sample_distribution(source) for source in SAMPLES}
    for source, distribution in distributions.items():
        assert float(distribution.sum()) == pytest.approx(1, abs=1e-12)
        visits = problem.prefix_visits(source)
        assert float(visits[0]) == pytest.approx(1)
        assert float(visits.sum()) == pytest.approx(float((distribution * problem.lengths).sum()))
    assert torch.equal(distributions["filtered"] > 0, problem.valid > 0)
    ratio = (distributions["filtered"] / distributions["reference"])[problem.valid > 0]
    assert float(ratio.max() / ratio.min()) == pytest.approx(1, rel=1e-12)
    assert problem.valid.sum() >= 2
    assert problem.valid.min() == 0


def test_a_seed_gives_the_same_problems():
    one, again, other = (random_problems.__wrapped__(seed)[2].policy for seed in (3, 3, 4))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_expectation_is_the_limit_of_sampling():
    problem, loss = random_problems(1)[1], Audited.from_function(k3)
    exact, errors = loss.measure(problem), []
    generator = torch.Generator().manual_seed(0)
    for count in (400, 40_000):
        logits = problem.policy.clone().requires_grad_()
        chances = problem.sample_distribution("policy")
        drawn = torch.multinomial(chances, count, replacement=True, generator=generator)
        loss.value(loss.rows(loss.batch(problem, logits), drawn.tolist(), problem)).backward()
        errors.append(float((logits.grad.flatten() - exact.gradient).norm()))
        # The largest gradient of one sample bounds the error of the mean of many.
        assert errors[-1] < 4 * exact.scale / count**0.5
    assert errors[1] < errors[0] / 3


def test_the_gradient_is_that_of_finite_differences():
    problem = random_problems(1)[3]
    exact = Audited.from_function(policy_gradient).measure(problem).gradient
    for i in range(problem.policy.numel()):
        sides = []
        for step in (1e-5, -1e-5):
            logits = problem.policy.clone()
            logits.view(-1)[i] += step
            sides.append(float((problem.probabilities(logits) * problem.valid).sum()))
        assert -(sides[0] - sides[1]) / 2e-5 == pytest.approx(float(exact[i]), abs=1e-9)


def test_randomness_in_a_tenth_of_the_calls_is_noticed():
    generator = torch.Generator().manual_seed(0)

    def rarely(log_pi):
        return log_pi.mean() * (2 if torch.rand((), generator=generator) < 0.1 else 1)

    assert all(audit(rarely).failed for _ in range(5))


def test_arguments_are_those_it_names_and_others_are_refused():
    assert arguments_of(lambda log_pi, mask, eps=0.1: 0) == ("log_pi", "mask")
    assert arguments_of(lambda **given: 0) == ARGUMENTS
    for loss, message in (
        (lambda log_pi, logits: 0, r"loss parameter='logits' .*log_pi, log_ref"),
        (lambda log_ref: 0, "log_pi must be among them"),
        # Nor would a divergence of next-token laws with its directions exchanged show in sampled tokens.
        (lambda log_pi, student_logits: 0, "no divergence summed over the vocabulary, as in distillation"),
    ):
        with pytest.raises(ValueError, match=message):
            audit(loss)
