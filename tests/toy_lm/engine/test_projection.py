"""Expected counts are derivatives; the M-projection is the optimum, and nothing else is."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from support.toy_model_strategies import DYCK, DYCK_BASE, DYCK_LENGTH, cases

from toy_lm import MarkovLM, expected_counts, filtered_lm, kl, m_projection
from toy_lm.engine import exact
from toy_lm.engine.automaton import ValidityAutomaton
from toy_lm.engine.semiring import log_accepting, log_mass

TARGET = filtered_lm(DYCK_BASE, DYCK, DYCK_LENGTH)


@given(cases(policies=1))
@settings(max_examples=20)
def test_counts_are_the_derivative_of_the_log_mass(case):
    length, automaton, model = case
    assume(exact.validity(model, automaton, length) > 0)
    tables = [t.clone().requires_grad_() for t in (*model.log_initial, model.log_transition)]
    weights = MarkovLM(tuple(tables[:-1]), tables[-1], differentiable=True)
    log_mass(weights, automaton, length, log_accepting(automaton)).backward()
    counts = expected_counts(model, automaton, length, log_accepting(automaton))
    for t, table in enumerate(tables[:-1]):
        torch.testing.assert_close(counts[t], table.grad, rtol=0, atol=1e-12)
    later = counts[model.order :]
    if later:
        steps = torch.stack(later)
        found = steps.sum(0) if model.homogeneous else steps
        torch.testing.assert_close(found, tables[-1].grad, rtol=0, atol=1e-12)


def test_the_dyck_projection():
    projection = m_projection(TARGET)
    assert exact.validity(projection, DYCK, DYCK_LENGTH) == pytest.approx(0.283393285806, rel=1e-10)
    assert projection.log_initial[0].exp().tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("homogeneous", [True, False])
def test_every_neighbour_is_farther(order, homogeneous):
    best = m_projection(TARGET, order, homogeneous=homogeneous)
    assert (best.homogeneous, best.order) == (homogeneous, order)
    least = kl(TARGET, best)
    rng = np.random.default_rng(0)
    tables = [table.numpy() for table in (*best.log_initial, best.log_transition)]
    for _ in range(10):
        moved = [table + 0.05 * rng.normal(size=table.shape) for table in tables]
        other = MarkovLM.from_logits(tuple(moved[:-1]), moved[-1])
        assert kl(TARGET, other) > least


def test_one_table_of_the_steps_is_not_the_projection():
    # A false neighbour: the filtered model's transition at one step, instead of all steps' counts together.
    counts = expected_counts(DYCK_BASE, DYCK, DYCK_LENGTH, log_accepting(DYCK))
    best = m_projection(TARGET)
    for table in counts[2:5]:
        rows = (table / table.sum(-1, keepdim=True)).log()
        assert kl(TARGET, MarkovLM(best.log_initial, rows)) > kl(TARGET, best) + 0.01


def test_a_model_of_the_family_is_its_own_projection():
    for order, length in ((1, None), (2, 5)):
        model = MarkovLM.random(3, order, length=length, seed=0)
        again = m_projection(model, order, homogeneous=length is None, length=5)
        assert kl(model, again, 5) < 1e-28


def test_a_larger_family_is_nearer():
    distances = [kl(TARGET, m_projection(TARGET, order)) for order in (1, 2, 3)]
    free = [kl(TARGET, m_projection(TARGET, order, homogeneous=False)) for order in (1, 2, 3)]
    assert distances == sorted(distances, reverse=True)
    assert all(f < d for f, d in zip(free, distances, strict=True))
    assert kl(TARGET, m_projection(TARGET, 8)) == pytest.approx(0, abs=1e-14)


def test_contexts_never_visited_get_the_uniform_row():
    only_a = ValidityAutomaton(np.array([[0, 1], [1, 1]]), 0, np.array([True, False]), ("a", "b"))
    projection = m_projection(filtered_lm(DYCK_BASE, only_a, 4))
    assert projection.log_transition.exp().tolist() == [[1, 0], [0.5, 0.5]]


def test_batches_go_through():
    base = MarkovLM.random(2, batch=(3,), seed=0)
    together = m_projection(filtered_lm(base, DYCK, 6), 2)
    alone = m_projection(filtered_lm(base.member(1), DYCK, 6), 2)
    torch.testing.assert_close(together.member(1).log_transition, alone.log_transition)


def test_errors():
    with pytest.raises(ValueError, match="order=9"):
        m_projection(TARGET, 9)
    with pytest.raises(ValueError, match="order=0"):
        m_projection(TARGET, 0)
    with pytest.raises(ValueError, match="length=None"):
        m_projection(DYCK_BASE)
