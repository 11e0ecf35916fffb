"""Every exact quantity against enumeration, orders mixed, zeros included; gradients; the Dyck words."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH, cases

import dph_theory
from dph_theory import CHI_SQUARED, FORWARD_KL, REVERSE_KL
from toy_lm import Enumerated, MarkovLM, filtered_lm, tilted_lm
from toy_lm.engine import exact


def close(found, expected):
    """Equal to 1e-12, relative where large; infinities and nothing else equal to infinities."""
    return found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(cases())
@settings(max_examples=30)
def test_markov_models_are_as_enumerated(case):
    length, automaton, p, q = case
    P, Q = (Enumerated.of(law, automaton, length) for law in (p, q))
    assert close(exact.validity(p, automaton, length), P.validity())
    assert close(np.exp(exact.log_validity(p, automaton, length)), P.validity())
    assert close(exact.entropy(p, length), P.entropy())
    assert close(exact.effective_number(p, length), np.exp(P.entropy()))
    assert close(exact.kl(p, q, length), P.divergence(REVERSE_KL, Q))
    assert close(exact.cross_entropy(p, q, length), P.entropy() + P.divergence(REVERSE_KL, Q))
    assert close(exact.chi_squared(p, q, length), P.divergence(CHI_SQUARED, Q))


@given(cases(), st.sampled_from([-1.5, -0.5, 0.1, 0.5, 0.9, 1.5, 3.0]))
@settings(max_examples=30)
def test_alpha_divergences_are_as_enumerated(case, alpha):
    length, automaton, p, q = case
    P, Q = (Enumerated.of(law, automaton, length) for law in (p, q))
    divergence = dph_theory.alpha_divergence(alpha)
    assert exact.alpha_divergence(p, q, alpha, length) == pytest.approx(
        P.divergence(divergence, Q), rel=1e-10, abs=1e-12
    )
    if Q.validity() > 0 and not Q.valid.all():
        target = filtered_lm(q, automaton, length)
        assert exact.alpha_divergence(p, target, alpha) == pytest.approx(
            P.divergence(divergence, Q.filtered()), rel=1e-10, abs=1e-12
        )


@given(cases(), st.floats(0.1, 5))
@settings(max_examples=20)
def test_filtered_and_tilted_models_are_as_enumerated(case, beta):
    length, automaton, p, q = case
    P, Q = (Enumerated.of(law, automaton, length) for law in (p, q))
    assume(not Q.valid.all())
    assume(P.validity() > 0)
    assume(Q.validity() > 0)
    valid, target = (filtered_lm(law, automaton, length) for law in (p, q))
    assert close(exact.entropy(valid), P.filtered().entropy())
    assert close(exact.kl(valid, target), P.filtered().divergence(REVERSE_KL, Q.filtered()))
    assert close(exact.kl(target, p), P.divergence(FORWARD_KL, Q.filtered()))
    assert close(exact.kl(p, target), P.divergence(REVERSE_KL, Q.filtered()))
    tilted = tilted_lm(q, automaton, length, beta)
    assert close(exact.kl(p, tilted), P.divergence(REVERSE_KL, Q.tilted(beta)))
    assert close(exact.kl(tilted, p), P.divergence(FORWARD_KL, Q.tilted(beta)))


@given(cases())
@settings(max_examples=20)
def test_the_decomposition_of_kl_is_as_enumerated(case):
    length, automaton, p, q = case
    P, Q = (Enumerated.of(law, automaton, length) for law in (p, q))
    assume(0 < Q.validity() < 1 - 1e-12)
    found, expected = exact.excess_kl(p, q, automaton, length), P.excess_kl(Q)
    assert [close(*pair) for pair in zip(found, expected, strict=True)] == [True] * 4
    assert close(found.validity + found.excess, found.total)


def test_the_excess_of_a_tilted_model_is_nothing():
    # The least KL at its validity, theory A8: to rounding squared, since near 0 the terms are squares.
    base = MarkovLM.random(3, length=6, seed=1)
    weak = MarkovLM.from_probabilities(
        base.log_initial[0].exp()[0].numpy()
        * (1 + 1e-9 * np.array([1, -1, 0]))
        / (1 + 1e-9 * (base.log_initial[0].exp()[0].numpy() @ [1, -1, 0])),
        base.log_transition.exp().numpy(),
    )
    assert exact.kl(base, base, 6) < 1e-28
    small = exact.kl(weak, base, 6)
    first = base.log_initial[0].exp()[0].numpy()
    variance = first @ np.array([1, 1, 0]) - (first @ [1, -1, 0]) ** 2
    assert small == pytest.approx(0.5e-18 * variance, rel=1e-6)


def test_the_dyck_words_of_the_reference_case():
    target = filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH)
    assert exact.validity(DYCK_BASE, DYCK, DYCK_LENGTH) == pytest.approx(0.0455381620312, rel=1e-10)
    assert exact.entropy(target) == pytest.approx(2.0668529395151, rel=1e-12)
    assert exact.effective_number(target) == pytest.approx(7.899922422714, rel=1e-11)


def test_batches_broadcast():
    p, q = MarkovLM.random(2, batch=(5,), seed=0), MarkovLM.random(2, 2, length=6, seed=1)
    together = exact.kl(p, q, 6)
    assert together.shape == (5,)
    assert together[3] == pytest.approx(exact.kl(p.member(3), q, 6), rel=1e-14)
    assert exact.excess_kl(p, q, DYCK, 6).excess.shape == (5,)


QUANTITIES = {
    "kl": lambda p: exact.kl(p, DYCK_BASE, 6),
    "forward": lambda p: exact.kl(filtered_lm(DYCK_BASE, DYCK, 6), p),
    "excess": lambda p: exact.excess_kl(p, DYCK_BASE, DYCK, 6).excess,
    "entropy": lambda p: exact.entropy(filtered_lm(p, DYCK, 6)),
    "alpha": lambda p: exact.alpha_divergence(p, filtered_lm(DYCK_BASE, DYCK, 6), 0.5),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_gradients_are_central_differences(name):
    def value(theta):
        return QUANTITIES[name](MarkovLM.from_logits(theta[0], theta[1:]))

    theta = torch.tensor([[0.3, -0.2], [1.0, 0.1], [-0.5, 0.4]], dtype=torch.float64)
    gradient = torch.func.grad(value)(theta)
    for index in np.ndindex(3, 2):
        step = torch.zeros(3, 2, dtype=torch.float64)
        step[index] = 1e-5
        difference = (value(theta + step) - value(theta - step)) / 2e-5
        assert gradient[index].item() == pytest.approx(difference.item(), abs=1e-8)


def test_the_gradient_is_that_of_enumeration():
    from toy_lm.engine.enumeration import all_words, word_log_probs

    theta = torch.tensor([[0.3, -0.2], [1.0, 0.1], [-0.5, 0.4]], dtype=torch.float64)
    base = torch.from_numpy(DYCK_BASE.log_prob(all_words(2, 6)))

    def enumerated(theta):
        log_p = word_log_probs(MarkovLM.from_logits(theta[0], theta[1:]), 2, 6)
        return (log_p.exp() * (log_p - base)).sum()

    def by_recursion(theta):
        return exact.kl(MarkovLM.from_logits(theta[0], theta[1:]), DYCK_BASE, 6)

    for derivative in (torch.func.grad, lambda f: lambda x: torch.autograd.functional.hessian(f, x)):
        torch.testing.assert_close(
            derivative(by_recursion)(theta), derivative(enumerated)(theta), rtol=0, atol=1e-12
        )


def test_a_model_at_its_base_has_the_right_curvature():
    theta = torch.from_numpy(np.log([[0.7, 0.3], [0.55, 0.45], [0.85, 0.15]]))

    def divergence(theta):
        return exact.kl(MarkovLM.from_logits(theta[0], theta[1:]), DYCK_BASE, 2)

    curvature = torch.autograd.functional.hessian(divergence, theta)[0, :, 0]
    assert curvature[0].tolist() == pytest.approx([0.21, -0.21], abs=1e-12)


def test_errors():
    with pytest.raises(ValueError, match="alpha=1"):
        exact.alpha_divergence(DYCK_BASE, DYCK_BASE, 1.0, 4)
    with pytest.raises(ValueError, match="length=4"):
        exact.kl(MarkovLM.random(2, length=5, seed=0), DYCK_BASE, 4)
    with pytest.raises(ValueError, match="vocabulary"):
        exact.kl(MarkovLM.random(3, seed=0), DYCK_BASE, 4)
    with pytest.raises(ValueError, match="length=0"):
        exact.entropy(DYCK_BASE, 0)
    for automaton, what in ((DYCK, "none"), (~DYCK, "all")):
        with pytest.raises(ValueError, match=f"length=5 .* accepts {what}"):
            exact.excess_kl(DYCK_BASE, DYCK_BASE, automaton, 5)
