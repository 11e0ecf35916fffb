import numpy as np
import pytest
import torch
from support.losses_with_known_answers import k1, k2, k3, minus_log_u, policy_gradient

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.audit.exact import (
    ARGUMENTS,
    SHAPES,
    LossError,
    arguments_of,
    batch,
    call,
    expected_gradients,
    is_random,
    measure,
    random_problems,
)

PROBLEMS = random_problems(0)
every = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)


@every
def test_every_sequence_is_enumerated_once_with_a_proper_law(problem):
    assert len(problem.token) == problem.vocabulary**problem.length
    assert len({tuple(row) for row in problem.token.tolist()}) == len(problem.token)
    for source in ("policy", "old_policy", "reference", "filtered"):
        assert float(problem.samples(source).sum()) == pytest.approx(1, abs=1e-12)


@every
def test_filtered_samples_are_the_correct_ones_of_the_reference(problem):
    filtered, reference = problem.samples("filtered"), problem.samples("reference")
    assert torch.equal(filtered > 0, problem.valid > 0)
    ratio = (filtered / reference)[problem.valid > 0]
    assert float(ratio.max() / ratio.min()) == pytest.approx(1, rel=1e-12)


@every
def test_prefix_visits_add_up_to_the_length(problem):
    visits = problem.prefix_law(problem.samples("policy"))
    assert float(visits[0]) == pytest.approx(1)
    assert float(visits.sum()) == pytest.approx(problem.length)


@every
def test_there_is_something_to_lose_within_the_valid_set(problem):
    assert problem.valid.sum() >= 2
    assert problem.valid.min() == 0


def test_shapes_and_determinism():
    assert [(p.vocabulary, p.length) for p in PROBLEMS] == list(SHAPES)
    assert torch.equal(random_problems(3)[2].policy, random_problems(3)[2].policy)
    assert not torch.equal(random_problems(3)[2].policy, random_problems(4)[2].policy)


SMALL_ONES = random_problems(1)


def test_expectation_is_the_limit_of_sampling():
    problem = SMALL_ONES[1]
    exact = measure(k3, ("log_pi", "log_ref"), problem, "policy")
    generator = torch.Generator().manual_seed(0)
    errors = []
    for count in (400, 40_000):
        logits = problem.policy.clone().requires_grad_()
        given = batch(problem, logits, "policy", ("log_pi", "log_ref"))
        drawn = torch.multinomial(problem.samples("policy"), count, replacement=True, generator=generator)
        k3(given["log_pi"][drawn], given["log_ref"][drawn]).backward()
        errors.append(float((logits.grad.flatten() - exact.gradient).norm()))
        # The variance of one sample predicts the error of the mean of many.
        assert errors[-1] < 4 * (exact.variance / count) ** 0.5
    assert errors[1] < errors[0] / 3


def test_the_gradient_is_that_of_finite_differences():
    problem = SMALL_ONES[3]
    found = measure(policy_gradient, ("log_pi", "advantages"), problem, "policy").gradient
    law = problem.samples("policy")
    for i in range(problem.policy.numel()):
        sides = []
        for step in (1e-5, -1e-5):
            logits = problem.policy.clone()
            logits.view(-1)[i] += step
            sides.append(float((problem.law(logits) * problem.valid).sum()))
        assert -(sides[0] - sides[1]) / 2e-5 == pytest.approx(float(found[i]), abs=1e-9)
    assert law.requires_grad is False


def test_only_log_pi_carries_a_gradient():
    given = batch(SMALL_ONES[0], SMALL_ONES[0].policy.clone().requires_grad_(), "old_policy", ARGUMENTS)
    assert [name for name in ARGUMENTS if given[name].requires_grad] == ["log_pi"]
    assert len({tensor.shape for tensor in given.values()}) == 1


@pytest.mark.parametrize(
    ("loss", "what"),
    [
        (lambda log_pi: log_pi, "not a scalar tensor"),
        (lambda log_pi: log_pi[:1, :1], "shape \\(1, 1\\), not a scalar"),
        (lambda log_pi: 1.0, "returned float, not a scalar tensor"),
        (lambda log_pi: log_pi.sum() * float("nan"), "returned nan"),
        (lambda log_pi: log_pi.detach().sum(), "does not depend on log_pi"),
        (lambda log_pi: 1 / 0, "raised ZeroDivisionError"),
        (lambda log_pi: log_pi.mul_(2).sum(), "changes its argument log_pi in place"),
    ],
)
def test_what_is_wrong_with_a_loss_is_said(loss, what):
    given = batch(SMALL_ONES[0], SMALL_ONES[0].policy.clone().requires_grad_(), "policy", ("log_pi",))
    with pytest.raises(LossError, match=what):
        call(loss, given)


def test_a_gradient_that_is_nan_is_said():
    with pytest.raises(LossError, match=r"gradient is nan at token 1 of \(0\), where log_pi = -"):
        measure(lambda log_pi: (log_pi * 0).sqrt().sum(), ("log_pi",), SMALL_ONES[0], "policy")


def test_a_gradient_that_is_infinite_on_one_sequence_says_which():
    def loss(log_pi, log_ref):
        return (log_pi - log_ref - worst).abs().sqrt().sum()

    problem = SMALL_ONES[1]
    worst = (problem.log_probs(problem.policy) - problem.log_probs(problem.reference))[2]
    with pytest.raises(LossError, match=r"gradient is (nan|infinite) at token 1 of \(2\), where log_pi = "):
        measure(loss, ("log_pi", "log_ref"), problem, "policy")


def test_arguments_are_those_it_names():
    assert arguments_of(lambda log_pi, mask, eps=0.1: 0) == ("log_pi", "mask")
    assert arguments_of(lambda **given: 0) == ARGUMENTS
    with pytest.raises(ValueError, match=r"loss parameter='logits' .*log_pi, log_ref"):
        arguments_of(lambda log_pi, logits: 0)
    with pytest.raises(ValueError, match="log_pi must be among them"):
        arguments_of(lambda log_ref: 0)


def test_randomness_is_noticed():
    assert is_random(lambda log_pi: log_pi.mean() * torch.rand(()), ("log_pi",), SMALL_ONES[0], "policy")
    assert not is_random(k3, ("log_pi", "log_ref"), SMALL_ONES[0], "policy")


def test_randomness_in_a_tenth_of_the_calls_is_noticed():
    generator = torch.Generator().manual_seed(0)

    def rarely(log_pi):
        return log_pi.mean() * (2 if torch.rand((), generator=generator) < 0.1 else 1)

    assert all(is_random(rarely, ("log_pi",), SMALL_ONES[0], "policy") for _ in range(20))


def test_what_stands_under_the_mask_must_not_matter():
    def careful(log_pi, mask):
        return (log_pi**2 * mask).sum() / mask.sum()

    def careless(log_pi, mask):
        return (log_pi**2 * mask).sum() / mask.numel()

    def without(log_pi):
        return (log_pi**2).mean()

    for problem in SMALL_ONES:
        plain = measure(without, ("log_pi",), problem, "policy").gradient
        masked = [
            measure(loss, ("log_pi", "mask"), problem, "policy").gradient for loss in (careful, careless)
        ]
        assert torch.allclose(masked[0], plain, atol=1e-14)
        assert not torch.allclose(masked[1], plain, rtol=1e-3)


def test_many_problems_at_once_agree_with_one_by_one():
    problem = random_problems(0)[1]
    pi, ref = (torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))
    found = expected_gradients({"k2": k2, "k3": k3}, pi, ref, pi)
    for i, loss in enumerate((k2, k3)):
        alone = measure(loss, ("log_pi", "log_ref"), problem, "policy").gradient
        np.testing.assert_allclose(found[0, i], alone.numpy(), atol=1e-13)


@pytest.mark.parametrize(
    ("loss", "law", "gradient"),
    [
        (k1, "pi", lambda pi, ref: 0 * pi),
        (k2, "pi", REVERSE_KL.gradient),
        (k3, "pi", FORWARD_KL.gradient),
        (minus_log_u, "ref", FORWARD_KL.gradient),
    ],
)
def test_known_answers(loss, law, gradient):
    rng = np.random.default_rng(0)
    given = {"pi": rng.dirichlet(np.ones(4), 50), "ref": rng.dirichlet(np.ones(4), 50)}
    found = expected_gradients({"it": loss}, given["pi"], given["ref"], given[law])
    assert found.shape == (50, 1, 4)
    np.testing.assert_allclose(found[:, 0], gradient(**given), atol=1e-9)


def test_a_loss_of_the_whole_vocabulary_is_refused_by_what_is_taken():
    # Nor would a divergence of next-token laws with its directions exchanged show in sampled tokens.
    with pytest.raises(ValueError, match="no divergence summed over the vocabulary, as in distillation"):
        arguments_of(lambda log_pi, student_logits, teacher_logits: 0)
