"""What entries compute, by means that they do not use: a grid, a descent, counts by hand."""

import numpy as np
import pytest
from scipy import integrate, optimize

from dph_theory import CHI_SQUARED, filtered
from dph_theory.theorems import _estimators as estimators
from dph_theory.theorems._token_trees import STRING, STRINGS
from dph_theory.theorems.divergences import rehearsal_gauge
from dph_theory.tokens import joint
from dph_theory.verification.charts import as_floats


def softmax(logits):
    weight = np.exp(logits - logits.max())
    return weight / weight.sum()


@pytest.mark.parametrize(("index", "stated"), [*enumerate((1, 0.25, 0.25 / np.e, 0.25, 0.25))])
def test_gradient_descent_ends_at_the_mass_of_the_table_and_inside_at_the_filtered_model(index, stated):
    base, valid = np.array([[0.15, 0.1, 0.45, 0.3]]), np.array([[True, True, False, False]])
    f, c = rehearsal_gauge.PRINTED[index]
    loss = rehearsal_gauge.in_gauge(f, np.array([c]))
    minimum = optimize.minimize(
        lambda logits: float(estimators.mean_on_filtered(loss, softmax(logits)[None], base, valid)[0]),
        np.zeros(4),
        options={"gtol": 1e-10},
    )
    policy = softmax(minimum.x)
    assert policy[:2].sum() == pytest.approx(stated, abs=1e-4)
    np.testing.assert_allclose(filtered(policy, valid[0]), filtered(base, valid)[0], atol=1e-4)


def test_a_string_that_has_ended_stays_ended_and_is_judged_once():
    instance = STRINGS.completed(as_floats(STRING.parts))
    answers = joint(instance["base"])[0]
    assert answers.sum() == pytest.approx(1)
    assert (answers[2, 2, 2], answers[0, 2, 2]) == (pytest.approx(0.1), pytest.approx(0.5 * 0.2))
    after_end = [(2, 0), (2, 1), (0, 2, 0), (1, 2, 1)]
    assert all((answers[place] == 0).all() for place in after_end)
    assert not any(instance["verdicts"][0][place].any() for place in after_end)


@pytest.mark.parametrize(
    ("sampler", "ends"), [((0.4, 0, 0.1, 0.3, 0.1, 0.1), 0.9326), ((0.4, 0.1, 0.1, 0.2, 0.1, 0.1), 0.9492)]
)
def test_a_sampler_that_leaves_an_answer_out_ends_elsewhere_than_at_the_tilted_policy(sampler, ends):
    base, valid = np.array([0.22, 0.12, 0.06, 0.3, 0.2, 0.1]), np.arange(6) < 3

    def ascent(_, logits):
        penalised = valid - 0.3 * np.log(softmax(logits) / base)
        return sampler * (penalised - np.dot(sampler, penalised))

    path = integrate.solve_ivp(ascent, (0, 2000), np.log(base), method="LSODA", rtol=1e-9, atol=1e-9)
    assert softmax(path.y[:, -1])[valid].sum() == pytest.approx(ends, abs=5e-5)


def test_of_a_slope_finite_at_the_end_the_best_pass_rate_may_be_the_end_itself():
    best = np.linspace(0, 1, 100_001)
    cost = CHI_SQUARED(np.stack([best, 1 - best], axis=-1), [0.25, 0.75])
    assert best[np.argmax(best - 0.1 * cost)] == 1
    at_the_end = CHI_SQUARED.generator_derivative(np.array([1 / 0.25, 0.0]))
    assert at_the_end[0] - at_the_end[1] == pytest.approx(8)
