"""The linearised model's training, held to automatic differentiation of the losses in closed form."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.special import expit
from support.linear_answers import linear_answers, log_odds

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.stationary import group_objective
from dph_theory.transfer import Hold, LinearisedMethod, linearised_training

SGD = {"optimiser": "sgd", "seeds": 1}
ONE_STEP = {"steps": 1, "step": 0.05, **SGD}
LEAVE_ONE_OUT = LinearisedMethod("leave_one_out")


def rates_after(objective, seed=0, step=0.05):
    """Pass rates of a step along the gradient of an objective of the policy (prompts, answers)."""
    _, slopes, logits, correct = linear_answers(seed)
    weights = torch.zeros(slopes.shape[2], dtype=torch.float64, requires_grad=True)

    def policy(at):
        return (torch.tensor(logits) + torch.tensor(slopes) @ at).softmax(-1)

    base, verdicts = policy(weights).detach(), torch.tensor(correct)
    objective(policy(weights), base, verdicts.double()).backward()
    # The logits of the answers are linear: all the step does is exact.
    return (policy(step * weights.grad) * verdicts).sum(-1)


def pass_rates(pi, correct):
    return (pi * correct).sum(-1)


def kl(p, q):
    return (p * (p / q).log()).sum(-1)


def group(rate, size):
    """J_G(V), of which GRPO's expected gradient is the slope, as a polynomial in V."""
    points = np.linspace(0, 1, 60)
    fitted = np.polynomial.Polynomial.fit(points, group_objective(size, points), 30)
    return sum(float(c) * (2 * rate - 1) ** i for i, c in enumerate(fitted.coef))


def filtered(base, correct):
    return base * correct / (base * correct).sum(-1, keepdim=True)


def penalised(cost, **settings):
    """A method with a penalty of 0.3 times a cost of policy and base, and what it ascends."""
    method = replace(LEAVE_ONE_OUT, beta=0.3, **settings)
    return method, lambda pi, a, v: (pass_rates(pi, v) - 0.3 * cost(pi, a))[:3].mean()


def held(prompts, divergence, strength, *rest):
    """A method that holds prompts at the base, by all answers."""
    return replace(LEAVE_ONE_OUT, holds=(Hold(prompts, divergence, strength, *rest, answers=None),))


EXPECTED = {
    "plain": (LEAVE_ONE_OUT, lambda pi, a, v: pass_rates(pi, v)[:3].mean()),
    "group": (LinearisedMethod("std", 4), lambda pi, a, v: group(pass_rates(pi, v)[:3], 4).mean()),
    "mixed groups": (
        LinearisedMethod("std", 4, mean_over_mixed=True),
        lambda pi, a, v: (beside(pass_rates(a, v)[:3]) * group(pass_rates(pi, v)[:3], 4)).sum(),
    ),
    "reverse": penalised(kl, divergence=REVERSE_KL),
    "reverse in the reward": penalised(kl, divergence=REVERSE_KL, in_reward=True, group_size=2),
    "forward": penalised(lambda pi, a: kl(a, pi), divergence=FORWARD_KL),
    "DPH-F": (
        held((1, 2), FORWARD_KL, 0.7),
        lambda pi, a, v: pass_rates(pi, v)[0] + 0.7 * (filtered(a, v) * (pi / a).log()).sum(-1)[1:3].mean(),
    ),
    "DPH-JS": (
        held((1, 2), JENSEN_SHANNON, 2.0),
        lambda pi, a, v: pass_rates(pi, v)[0] - 2 * (filtered(a, v) * js(pi / a)).sum(-1)[1:3].mean(),
    ),
    "anchors": (
        held((4,), alpha_divergence(0.5), 0.7, False),
        lambda pi, a, v: pass_rates(pi, v)[:3].mean() + 0.7 * 4 * ((pi / a).sqrt() * a).sum(-1)[4],
    ),
    "KL-DPG": (
        LinearisedMethod("none", 2**16, alpha=1.0),
        lambda pi, a, v: (filtered(a, v) * pi.log())[:3].sum(-1).mean(),
    ),
}


def beside(rates, size=4):
    """The mean of one over the number of mixed groups, of three, when this one is."""
    mixed = 1 - rates**size - (1 - rates) ** size
    second, third = mixed.roll(1), mixed.roll(2)
    return (1 - second) * (1 - third) + (second + third - 2 * second * third) / 2 + second * third / 3


def js(u):
    return u * u.log() - (u + 1) * ((u + 1) / 2).log()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_expected_step_is_the_gradient_of_what_the_method_descends(name):
    method, objective = EXPECTED[name]
    kernel, *_ = linear_answers()
    found = linearised_training(kernel, method, [0, 1, 2], noise=False, **ONE_STEP)
    assert found.rates[0, 1] == pytest.approx(rates_after(objective).numpy(), abs=2e-5)
    assert found.rates[0, 0] == pytest.approx(kernel.log_odds.rates)


@pytest.mark.parametrize("name", ["reverse", "forward", "reverse in the reward", "anchors"])
def test_a_divergence_drives_back_what_has_moved(name):
    """At the base itself it has no slope; at the second step it has one."""
    method, ascended = EXPECTED[name]
    kernel, slopes, logits, correct = linear_answers()
    weights = torch.zeros(slopes.shape[2], dtype=torch.float64, requires_grad=True)
    base = torch.tensor(logits).softmax(-1)
    for _ in range(2):
        pi = (torch.tensor(logits) + torch.tensor(slopes) @ weights).softmax(-1)
        (gradient,) = torch.autograd.grad(ascended(pi, base, torch.tensor(correct).double()), weights)
        weights = (weights + 2.0 * gradient).detach().requires_grad_()
    pi = (torch.tensor(logits) + torch.tensor(slopes) @ weights).softmax(-1)
    found = linearised_training(kernel, method, [0, 1, 2], noise=False, steps=2, step=2.0, **SGD)
    assert found.rates[0, 2] == pytest.approx((pi * torch.tensor(correct)).sum(-1).detach().numpy(), abs=1e-6)


@pytest.mark.parametrize(
    "name", ["plain", "group", "mixed groups", "forward", "reverse in the reward", "DPH-F"]
)
def test_samples_ask_the_same_on_average(name):
    method, _ = EXPECTED[name]
    kernel, *_ = linear_answers()
    how = ONE_STEP | {"step": 1e-3, "seeds": 20_000}
    drawn = linearised_training(kernel, method, [0, 1, 2], **how).rates
    expected = linearised_training(kernel, method, [0, 1, 2], noise=False, **how | {"seeds": 1}).rates
    change, error = (drawn[:, 1] - drawn[:, 0]), drawn[:, 1].std(axis=0) / np.sqrt(20_000)
    assert (np.abs(change.mean(axis=0) - (expected[0, 1] - expected[0, 0])) < 5 * error + 1e-8).all()


def test_many_small_steps_of_two_answers_are_the_flow_of_log_odds():
    kernel, *_ = linear_answers(2, answers=2)
    K, rates = kernel.log_odds
    course = {"noise": False, "steps": 3000, "step": 0.01}
    found = linearised_training(kernel, LEAVE_ONE_OUT, [0, 1, 2], **course, **SGD)

    def slope(_, z):
        return K[:, :3] @ (expit(z) * expit(-z))[:3]

    flow = solve_ivp(slope, (0, 10), log_odds(rates), rtol=1e-9, atol=1e-9).y[:, -1]
    assert log_odds(found.rates[0, -1]) == pytest.approx(flow, abs=2e-3)


def test_adams_first_step_is_as_long_as_its_step_size():
    kernel, *_ = linear_answers()
    found = linearised_training(kernel, LEAVE_ONE_OUT, [0, 1, 2], noise=False, steps=1, step=1e-4, seeds=1)
    K, rates = kernel.log_odds
    drive = np.where(np.arange(5) < 3, rates * (1 - rates), 0.0) / 3
    length = np.sqrt(drive @ K @ drive)
    moved = log_odds(found.rates[0, 1]) - log_odds(rates)
    assert moved == pytest.approx(1e-4 * K @ drive / length, rel=1e-3, abs=1e-9)


def test_seeds_are_trainings_of_their_own_and_come_back():
    kernel, *_ = linear_answers()
    how = {"steps": 5, "step": 0.5, "seeds": 3}
    one, two = (linearised_training(kernel, LinearisedMethod(), [0, 1], **how) for _ in range(2))
    assert (one.rates == two.rates).all()
    assert len(np.unique(one.rates[:, -1, 0])) == 3
    other = linearised_training(kernel, LinearisedMethod(), [0, 1], seed=1, **how)
    assert (one.rates[:, -1] != other.rates[:, -1]).any()
    assert one.pass_at_k([2, 3], [1, 4]).shape == (3, 6, 2)
    expected = (1 - (1 - one.rates[..., [2, 3]]) ** 4).mean(-1)
    assert one.pass_at_k([2, 3], 4) == pytest.approx(expected)


def test_a_group_that_agrees_asks_nothing_and_may_be_left_out():
    kernel, *_ = linear_answers(4, spread=9.0)

    def rates(mixed, optimiser):
        method = LinearisedMethod(group_size=2, mean_over_mixed=mixed)
        how = {"steps": 3, "step": 0.3, "seeds": 50, "optimiser": optimiser}
        return linearised_training(kernel, method, [0, 1, 2], **how).rates

    # The mean of fewer groups is larger: under Adam the same, but for what else is asked.
    assert all(np.isfinite(rates(mixed, "adam")).all() for mixed in (False, True))
    slow, fast = (rates(mixed, "sgd") for mixed in (False, True))
    assert np.abs(fast - fast[:, :1]).mean() > 1.2 * np.abs(slow - slow[:, :1]).mean()


OF_MIXED = LinearisedMethod(alpha=0.5, mean_over_mixed=True)


@pytest.mark.parametrize(("changes", "said"), [
    ({"steps": 0}, "steps=0"), ({"step": 0.0}, "step=0.0"), ({"optimiser": "lion"}, "optimiser='lion'"),
    ({"trained": [9]}, "different indices of 5 prompts"), ({"seeds": 0}, "seeds=0"),
    ({"method": OF_MIXED, "noise": False}, "noise=False is not allowed: True for mixed groups"),
    ({"method": replace(OF_MIXED, alpha=1e300), **ONE_STEP}, "step=0.05 .*: smaller, or beta, alpha"),
    ({"method": held((0, 1), FORWARD_KL, 1.0)}, "at least one prompt that is not held"),
])  # fmt: skip
def test_errors(changes, said):
    how = {"method": LinearisedMethod(), "trained": [0, 1], "steps": 1, "step": 0.1, "seeds": 1} | changes
    with pytest.raises(ValueError, match=said):
        linearised_training(linear_answers()[0], **how)


def test_an_answer_that_the_base_never_gives_stays_away():
    kernel, *_ = linear_answers()
    p = np.exp(kernel.log_p)
    p[kernel.starts + 1], p[kernel.starts] = 0.0, p[kernel.starts] + p[kernel.starts + 1]
    with np.errstate(divide="ignore"):
        kernel = replace(kernel, log_p=np.log(p))
    method = LinearisedMethod(beta=0.1, divergence=REVERSE_KL)
    assert np.isfinite(linearised_training(kernel, method, [0, 1], steps=3, step=0.1).rates).all()
