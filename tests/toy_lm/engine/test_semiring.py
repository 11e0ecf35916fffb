"""The two recursions against enumeration; underflow; gradients; scale."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy.special import logsumexp
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH, cases

from toy_lm import MarkovLM
from toy_lm.engine import tilting
from toy_lm.engine.enumeration import all_words
from toy_lm.engine.exact import conditioned, entropy_and_kl
from toy_lm.engine.log_weights import Powers
from toy_lm.engine.semiring import (
    _log_matmul,
    _log_matmul_exactly,
    log_accepting,
    log_mass,
    maximum,
    messages,
)
from toy_lm.engine.step_costs import average
from toy_lm.engine.tilting import ProductLM


def final_states(automaton, words):
    state = np.full(len(words), automaton.initial)
    for symbol in words.T:
        state = automaton.transitions[state, symbol]
    return state


@given(cases(policies=1))
@settings(max_examples=20)
def test_masses_are_those_of_enumeration(case):
    length, automaton, policy = case
    words = all_words(automaton.symbols, length)
    log_p, state = policy.log_prob(words), final_states(automaton, words)
    finals = np.linspace(-3.0, 2.0, automaton.states), log_accepting(automaton).numpy()
    for exponent in (1.0, 0.5, 2.0):
        weights = Powers((policy,), (exponent,))
        for final in finals:
            expected = logsumexp(np.append(exponent * log_p + final[state], -np.inf))
            found = log_mass(weights, automaton, length, torch.from_numpy(final)).item()
            assert found == pytest.approx(expected, abs=1e-12)
            best = messages(weights, automaton, length, torch.from_numpy(final), maximum)
            top = (exponent * log_p + final[state]).max()
            assert best[0][automaton.initial, 0].item() == pytest.approx(top, abs=1e-12)


@given(cases(policies=1))
@settings(max_examples=15)
def test_means_are_those_of_enumeration(case):
    length, automaton, policy = case
    words, V = all_words(automaton.symbols, length), automaton.symbols
    cost = np.random.default_rng(0).normal(size=(length, V))
    chain = ProductLM.of(policy, automaton, length, log_accepting(automaton))
    table = [torch.from_numpy(row) for row in cost]
    found = chain.mean(lambda t, states, log_p, p: average(log_p, p, table[t])).item()
    p = np.where(automaton.accepts(words), np.exp(policy.log_prob(words)), 0.0)
    if p.sum() == 0:
        assert np.isnan(found)
    else:
        expected = p @ cost[np.arange(length), words].sum(axis=1) / p.sum()
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("block", [1, 5, 12])
@given(case=cases(policies=2))
@settings(max_examples=10)
def test_the_states_taken_in_blocks_give_the_same_means(block, case):
    length, automaton, policy, base = case
    pair = conditioned(policy, base, automaton, length)
    whole = entropy_and_kl(*pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tilting, "BLOCK", block)
        parts = entropy_and_kl(*pair)
    np.testing.assert_allclose(parts, whole, rtol=1e-13, atol=0)


def test_an_infinite_cost_counts_only_where_the_chain_can_go():
    model = MarkovLM.from_probabilities([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]])
    chain = ProductLM.of(model, DYCK, 3)
    for costs, expected in (([2.0, torch.inf], 6.0), ([torch.inf, 0.0], torch.inf)):
        cost = torch.tensor(costs, dtype=torch.float64)
        assert chain.mean(lambda t, states, log_p, p: average(log_p, p, cost)).item() == expected  # noqa: B023


def test_an_infinite_cost_of_underflowing_probability_is_infinite():
    log_p = torch.tensor([[0.0, -800.0]], dtype=torch.float64)
    cost = torch.tensor([[1.0, torch.inf]], dtype=torch.float64)
    assert average(log_p, log_p.exp(), cost).item() == torch.inf


def test_sums_that_underflow_are_taken_again():
    # The factors are large at different symbols: their products, e^-800 and less, are beneath float64.
    w = torch.tensor([[0.0, -800.0], [-400.0, -800.0]], dtype=torch.float64).unsqueeze(-2)
    future = torch.tensor([[-900.0, 0.0], [0.0, -400.0]], dtype=torch.float64).unsqueeze(-2)
    fast, exact = _log_matmul(w, future), _log_matmul_exactly(w, future)
    torch.testing.assert_close(fast, exact, rtol=1e-14, atol=0)
    assert fast[0, :, 0].tolist() == [-800.0, -800.0]
    naive = (future.exp().squeeze(-2) @ w.exp().squeeze(-2).T).log()
    assert naive[0].tolist() == [-torch.inf, -torch.inf]


def test_a_long_rare_word_keeps_its_probability():
    steps = np.array([[1 - 1e-200, 1e-200], [1e-200, 1 - 1e-200]])
    model = MarkovLM.from_probabilities([0.5, 0.5], steps)
    # Of the balanced words only "(((())))" changes its symbol but once; three changes have e^-1381 each.
    mass = log_mass(model, DYCK, 8, log_accepting(DYCK)).item()
    assert mass == pytest.approx(np.log(0.5) - 200 * np.log(10), rel=1e-14)
    # Length 10 does without it, at depth four: three changes at least, 10^-600 is beneath float64.
    words = all_words(2, 10)
    rare = logsumexp(model.log_prob(words[DYCK.accepts(words)]))
    assert rare < -1379
    assert log_mass(model, DYCK, 10, log_accepting(DYCK)).item() == pytest.approx(rare, rel=1e-14)


def test_both_products_of_matrices_agree():
    numpy_model = MarkovLM.random(2, 2, batch=(4,), concentration=0.05, seed=0)
    tensor_model = MarkovLM(numpy_model.log_initial, numpy_model.log_transition, differentiable=True)
    values = [log_mass(model, DYCK, 12, log_accepting(DYCK)) for model in (numpy_model, tensor_model)]
    torch.testing.assert_close(*values, rtol=1e-13, atol=0)


def mass_of(theta):
    model = MarkovLM.from_logits(theta[0], theta[1:])
    return log_mass(model, DYCK, DYCK_LENGTH, log_accepting(DYCK))


def test_gradients_are_central_differences_to_second_order():
    theta = torch.from_numpy(np.log([[0.7, 0.3], [0.55, 0.45], [0.85, 0.15]]))
    gradient, hessian = torch.func.grad(mass_of)(theta), torch.autograd.functional.hessian(mass_of, theta)
    for index in np.ndindex(3, 2):
        step = torch.zeros(3, 2, dtype=torch.float64)
        step[index] = 1e-5
        difference = (mass_of(theta + step) - mass_of(theta - step)) / 2e-5
        assert gradient[index].item() == pytest.approx(difference.item(), abs=1e-9)
        second = (torch.func.grad(mass_of)(theta + step) - torch.func.grad(mass_of)(theta - step)) / 2e-5
        torch.testing.assert_close(hessian[index], second, rtol=0, atol=1e-8)
    assert mass_of(theta).item() == pytest.approx(
        log_mass(DYCK_BASE, DYCK, DYCK_LENGTH, log_accepting(DYCK)).item(), abs=1e-13
    )


def test_impossible_symbols_have_no_nan_in_their_gradients():
    theta = torch.tensor([[0.0, -torch.inf], [0.0, 0.0], [0.0, -torch.inf]], dtype=torch.float64)
    gradient, hessian = torch.func.grad(mass_of)(theta), torch.autograd.functional.hessian(mass_of, theta)
    assert torch.isfinite(gradient).all()
    assert torch.isfinite(hessian).all()


def test_vocabularies_must_agree():
    with pytest.raises(ValueError, match="the model's vocabulary has 3 symbols"):
        log_mass(MarkovLM.random(3, seed=0), DYCK, 4, log_accepting(DYCK))
