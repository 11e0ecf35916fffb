"""What entries compute, by means that they do not use: solvers of high order, searches, counts by hand."""

import numpy as np
import pytest
from scipy import optimize
from scipy.integrate import solve_ivp
from support.plain_flow import exact_flow

from dph_theory import estimators, excess_kl, filtered, tilted
from dph_theory.coverage import pass_at_k
from dph_theory.dynamics import decision
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _laws, a02, a03, a10, b03, b08, e06, f06

BASE, VALID = np.array([[0.3, 0.2, 0.1, 0.4]]), np.array([[True, True, True, False]])


def softmax(logits):
    weight = np.exp(logits - logits.max())
    return weight / weight.sum()


def test_the_ratio_of_two_poorer_answers_tends_to_its_limit_and_that_to_the_richest_vanishes():
    ratios = a02.limit_of_ratio(np.array([[3.0, 2.0, 1.0, 4.0]]), VALID)[0]
    assert (ratios[1, 2], ratios[0, 1], ratios[0, 2]) == (pytest.approx(0.25), 0, 0)
    policy = decision.softmax(exact_flow(1e6))[0]
    assert policy[2] / policy[1] == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_natural_flow_is_the_tilted_model_and_with_a_penalty_only_later(beta):
    log_base, time = np.log(BASE[0]), np.array([2.0])

    def field(_, log_policy):  # d log q/dt = r - E_q r, r = v - beta log(q/a).
        gain = VALID[0] - beta * (log_policy - log_base)
        return gain - (np.exp(log_policy) * gain).sum()

    ends = solve_ivp(field, (0, 2), log_base, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    found = a03.delayed(BASE, VALID, time, np.array([beta])) if beta else a03.tilted_model(BASE, VALID, time)
    assert np.exp(ends) == pytest.approx(found[0], rel=1e-9)


def test_the_best_product_by_a_grid_over_both_bits():
    # The tokens must agree: nothing but Diracs is fully valid, and at beta = .2 the best is near one.
    base, valid = np.array([[0.3, 0.15, 0.35, 0.2]]), np.array([[True, False, False, True]])
    grid = (np.arange(800) + 0.5) / 800
    p, q = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    laws = np.stack([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=-1)
    costs = (laws * np.log(laws / base)).sum(axis=-1) + laws[:, 1:3].sum(axis=-1) / 0.2
    assert a10.best_product(base, valid, 0.2)[0] == pytest.approx(laws[np.argmin(costs)], abs=2e-3)


def test_the_member_of_a_segment_that_a_search_chooses():
    given = {name: value for name, value in as_floats(a10.SEGMENT.examples[0].parts).items() if name != "s"}
    far = a10.with_far_end(given["base"], given["other"], given["valid"], given["gain"])["far"]
    rest = (given["base"], far, given["valid"], given["t"])
    found = optimize.minimize_scalar(
        lambda s: a10.cost_of(*rest, np.array([s])).item(), bounds=(0, 1), method="bounded"
    )
    assert found.x == pytest.approx(0.4, abs=1e-5)


@pytest.mark.parametrize(("index", "stated"), [*enumerate((1, 0.25, 0.25 / np.e, 0.25, 0.25))])
def test_gradient_descent_ends_at_the_mass_of_the_table_and_inside_at_the_filtered_model(index, stated):
    base, valid = np.array([[0.15, 0.1, 0.45, 0.3]]), np.array([[True, True, False, False]])
    f, c = b03.PRINTED[index]
    loss = b03.in_gauge(f, np.array([c]))
    found = optimize.minimize(
        lambda logits: float(estimators.mean_on_filtered(loss, softmax(logits)[None], base, valid)[0]),
        np.zeros(4),
        options={"gtol": 1e-10},
    )
    policy = softmax(found.x)
    assert policy[:2].sum() == pytest.approx(stated, abs=1e-4)
    np.testing.assert_allclose(filtered(policy, valid[0]), filtered(base, valid)[0], atol=1e-4)


def test_the_cost_of_a_form_by_a_count_of_passes():
    # To a standard error of .1: so many answers each; 8 updates, and drawing an answer costs 20 passes.
    example = as_floats(b08.COST.examples[0].parts)
    laws = example["pi"], example["ref"]
    stored, fresh = (form(*laws)[0] / 0.01 for form in (b08.generator_variance, b08.definition_variance))
    ratio = b08.generator_cost(**example) / b08.definition_cost(
        *laws, example["updates"], b08.definition_variance(*laws)
    )
    assert ratio[0] == pytest.approx(stored * (20 + 1 + 8) / (fresh * 16), rel=1e-12)


def test_a_string_that_has_ended_stays_ended_and_is_judged_once():
    whole = _laws.STRINGS.completed(as_floats(_laws.STRING.parts))
    answers = _laws.answers_of(whole["base"]).reshape(3, 3, 3)
    assert answers.sum() == pytest.approx(1)
    assert (answers[2, 2, 2], answers[0, 2, 2]) == (pytest.approx(0.1), pytest.approx(0.5 * 0.2))
    after_end = [(2, 0), (2, 1), (0, 2, 0), (1, 2, 1)]
    assert all((answers[place] == 0).all() and not whole["verdicts"][0][place].any() for place in after_end)


@pytest.mark.parametrize(("beta", "least"), [(1, 0.150352), (0.5, 0.097763), (0.3, 0.030075)])
def test_the_least_eigenvalue_times_beta_is_the_slowest_rate(beta, least):
    law = tilted(BASE[0], VALID[0], beta)
    spectrum, modes = np.linalg.eigh(np.diag(law) - np.outer(law, law))
    assert spectrum[1] == pytest.approx(least, abs=5e-7)
    slowest = modes[:, 1][None]
    change = e06.flow_near_the_law(BASE, VALID, np.array([beta]), slowest, 1e-6)
    assert change == pytest.approx(-spectrum[1] * slowest, abs=1e-5)


@pytest.mark.parametrize(("beta", "peak", "halved"), [(0.5, 0.0026, 16.9), (0.05, 0.0371, 131.1)])
def test_valid_answers_are_pulled_apart_on_the_way(beta, peak, halved):
    def velocity(_, theta):
        policy = softmax(theta)
        gain = VALID[0] - beta * np.log(policy / BASE[0])
        return policy * (gain - policy @ gain)

    times, start = np.linspace(0, 1.5 * halved, 3001), np.log(BASE[0])
    run = solve_ivp(velocity, (0, times[-1]), start, "LSODA", rtol=1e-9, atol=1e-11, t_eval=times)
    policies = np.stack([softmax(theta) for theta in run.y.T])
    inside = excess_kl(policies, BASE[0], VALID[0]).valid / policies[:, :3].sum(axis=-1)
    top = int(np.argmax(inside))
    assert inside[top] == pytest.approx(peak, abs=5e-5)
    assert times[top:][inside[top:] <= inside[top] / 2][0] == pytest.approx(halved, rel=0.01)


@pytest.mark.parametrize("counted", [(10, 3, 4), (5, 0, 2), (5, 5, 5)])
def test_rho_is_the_unbiased_estimate_of_pass_at_k(counted):
    top, bottom = f06.rho(*counted)
    assert top / bottom == pytest.approx(pass_at_k(*counted), rel=1e-12)
