import numpy as np
import pytest
from scipy import optimize

from dph_theory import estimators
from dph_theory.binary_reward import filtered, valid_mass
from dph_theory.divergences import COMPARED, FORWARD_KL
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _tokens, b03
from dph_theory.tokens import sequences

BASE, VALID = np.array([[0.15, 0.1, 0.45, 0.3]]), np.array([[True, True, False, False]])
A1 = 0.25


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return (weights / weights.sum())[None]


@pytest.mark.parametrize("index", range(5))
def test_gradient_descent_ends_at_the_table(index):
    f, c = b03.PRINTED[index]
    loss = b03.in_gauge(f, np.array([c]))
    stated = (1, A1, A1 / np.e, A1, A1)[index]
    found = optimize.minimize(
        lambda logits: float(estimators.mean_on_filtered(loss, softmax(logits), BASE, VALID)[0]),
        np.zeros(4),
        options={"gtol": 1e-10},
    )
    policy = softmax(found.x)
    assert valid_mass(policy, VALID)[0] == pytest.approx(stated, abs=1e-4)
    np.testing.assert_allclose(filtered(policy, VALID), filtered(BASE, VALID), atol=1e-4)


@pytest.mark.parametrize("c", [-2.5, -0.5, 0.0, 0.3, 1.0, 2.5])
def test_masses_solve_their_equation_or_are_capped(c):
    masses = list(b03.target_masses(BASE, VALID, np.array([c])))
    for loss, mass in zip(COMPARED, masses, strict=True):
        slope = loss.generator_derivative(mass / A1) + c
        assert 0 < mass <= 1
        assert slope == pytest.approx([0], abs=1e-13) if mass < 1 else slope <= 1e-13


def test_the_gauge_moves_the_target_of_forward_kl():
    masses = [float(next(b03.target_masses(BASE, VALID, np.array([c])))[0]) for c in (0.0, 0.5, 1.0, 2.0)]
    assert masses == pytest.approx([1, 0.5, 0.25, 0.125], rel=1e-14)


def completed_runs():
    given = _tokens.RUNS.completed(as_floats(_tokens.RUNS_PAIR.parts))
    return {name: given[name] for name in ("pi_tokens", "base_tokens", "pi", "base", "valid")}


def test_rehearsal_on_correct_samples_is_forward_kl_to_the_filtered_model():
    token, sequence = b03.both(FORWARD_KL.generator, **completed_runs())[0]
    assert token == pytest.approx(sequence, rel=1e-14)
    # The correct strings have one symbol and three: .24 and .036 under the base, .3 and .06 under the policy.
    target = (0.24 / 0.276, 0.036 / 0.276)
    by_hand = -target[0] * np.log(0.3 / 0.24) - target[1] * np.log(0.06 / 0.036)
    assert token == pytest.approx(by_hand, rel=1e-13)


def test_token_losses_vanish_only_at_the_base():
    given = {name: part for name, part in completed_runs().items() if name not in ("pi", "base")}
    base = {name: given[name] for name in ("base_tokens", "valid")}
    np.testing.assert_allclose(b03.of_the_base(b03.TOKEN_LOSSES, **base), 0, atol=1e-15)
    assert (b03.TOKENS.lhs(**given) > 0.02).all()
    assert (b03.of_the_filtered_model(**base) > 0.05).all()
    assert (b03.TOKENS.rhs(**given) > 0.05).all()


def test_equal_token_ratios_on_one_correct_sequence_attain_the_mass_bound():
    later = np.array([[[0.3, 0.7]]]), np.array([[[0.6, 0.4]]])
    base = _tokens.string_tables(later[0][:, 0], later[0], later[0][:, None])
    pi = _tokens.string_tables(later[1][:, 0], later[1], later[1][:, None])
    valid = np.arange(8)[None] == 0
    assert valid_mass(sequences(pi), valid) / valid_mass(sequences(base), valid) == pytest.approx([8])
    token_k2 = b03.MASS.rhs(pi, base, valid)
    assert b03.off_the_base_rate(sequences(pi), sequences(base), valid) == pytest.approx(token_k2)
    assert token_k2 == pytest.approx([1.5 * np.log(2) ** 2], rel=1e-14)
