import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from dph_theory import restricted
from dph_theory.divergences import alpha_divergence
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a10

Q, BASE = np.array([[0.3, 0.3, 0.2, 0.2]]), np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, False, False]])
DIRAC = [1, 0, 0, 0]


def test_the_minimiser_on_both_sides_of_the_jump():
    assert a10.minimiser(Q[:, None], BASE, VALID, np.array([0.369571]))[0].tolist() == DIRAC
    assert a10.minimiser(Q[:, None], BASE, VALID, np.array([0.369572]))[0].tolist() == Q[0].tolist()


def test_where_an_invalid_dirac_is_the_first_rival_the_jump_goes_there():
    # The invalid mode of mass .62 wins at 1/beta = log(.62/.2), before the poor law (.1, .1, .7, .1) does.
    q, base = np.array([[[0.1, 0.1, 0.7, 0.1]]]), np.array([[0.2, 0.1, 0.08, 0.62]])
    assert restricted.jump(q, base, VALID) == pytest.approx(1 / np.log(3.1), rel=1e-13)
    assert a10.before_and_after(q, base, VALID)[0].tolist() == [DIRAC, [0, 0, 0, 1]]


def test_of_several_laws_the_first_to_win_is_jumped_to():
    nearer = np.array([[0.4, 0.3, 0.1, 0.2]])
    both = np.stack([Q, nearer], axis=1)
    alone = [restricted.jump(law[:, None], BASE, VALID).item() for law in (Q, nearer)]
    assert restricted.jump(both, BASE, VALID).item() == alone[1] < alone[0]
    assert a10.before_and_after(both, BASE, VALID)[0].tolist() == [DIRAC, nearer[0].tolist()]


def test_the_limit_is_the_dirac_on_the_mode_of_the_base():
    instance = as_floats(a10.COLLAPSE.examples[0].parts)
    assert a10.projected_law(**instance)[0].tolist() == DIRAC
    assert restricted.critical_beta(restricted.with_diracs(Q[:, None]), BASE, VALID) == pytest.approx(
        0.369571933514, rel=1e-12
    )


def test_forward_kl_chooses_the_law_that_covers():
    assert a10.m_projection(Q[:, None], BASE, VALID)[0].tolist() == Q[0].tolist()


def test_alpha_one_half_prefers_the_dirac_and_larger_alphas_the_law():
    half = alpha_divergence(0.5)
    assert a10.dirac_to_filtered(BASE, half) == pytest.approx(4 * (1 - np.sqrt(0.6)), rel=1e-13)
    assert a10.law_to_filtered(Q, BASE, half) == pytest.approx(0.917303079097, rel=1e-12)
    assert a10.dirac_to_filtered(BASE, half) == pytest.approx(0.901613323034, rel=1e-12)
    threshold = brentq(lambda alpha: a10.scaled_lead(Q, BASE, alpha)[0], 0.4, 0.6, xtol=1e-14)
    assert threshold == pytest.approx(0.504968296298, rel=1e-11)
    # The same from the closed form, sum_{Y1} p^alpha q^(1-alpha) = max(p)^alpha.
    assert 0.3 ** (1 - threshold) * (0.6**threshold + 0.4**threshold) == pytest.approx(0.6**threshold)


def test_from_alpha_one_on_every_dirac_is_infinitely_far():
    assert np.isinf(a10.dirac_distances(BASE)).all()
    assert np.isfinite(a10.law_distances(Q, BASE)).all()


def test_the_best_product_by_a_grid_over_both_bits():
    # The tokens must agree: nothing but Diracs is fully valid, and at beta = .2 the best is near one.
    base, valid = np.array([[0.3, 0.15, 0.35, 0.2]]), np.array([[True, False, False, True]])
    grid = (np.arange(2000) + 0.5) / 2000
    p, q = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    laws = np.stack([p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)], axis=-1)
    costs = (laws * np.log(laws / base)).sum(axis=-1) + laws[:, 1:3].sum(axis=-1) / 0.2
    found = a10.best_product(base, valid, 0.2)[0]
    assert found == pytest.approx(laws[np.argmin(costs)], abs=1e-3)
    assert a10.likeliest_rectangle(base, valid)[0].tolist() == [1, 0, 0, 0]


def test_a_line_of_valid_answers_is_kept_whole():
    base, valid = np.array([[0.3, 0.15, 0.35, 0.2]]), np.array([[True, True, True, False]])
    assert a10.likeliest_rectangle(base, valid)[0] == pytest.approx([0.3 / 0.65, 0, 0.35 / 0.65, 0])
    assert a10.best_product(base, valid, 1e-3)[0] == pytest.approx([0.3 / 0.65, 0, 0.35 / 0.65, 0])


def test_the_member_of_a_segment_that_a_search_chooses():
    given = {name: value for name, value in as_floats(a10.SEGMENT.examples[0].parts).items() if name != "s"}
    far = a10.with_far_end(given["base"], given["other"], given["valid"], given["gain"])["far"]
    rest = (given["base"], far, given["valid"], given["t"])
    found = minimize_scalar(
        lambda s: a10.cost_of(*rest, np.array([s])).item(),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert found.x == pytest.approx(0.4, abs=1e-6)


@pytest.mark.parametrize(("odds", "pulls"), [(np.e**2 * 1.01, True), (np.e**2 * 0.99, False)])
def test_reverse_kl_leaves_the_balance_from_odds_of_e_squared_on(odds, pulls):
    lean, step = np.array([1e-3]), 1e-7
    speed = a10.added_speeds(lean, np.array([odds]))[0]
    assert (speed[0] > 0) == pulls
    assert speed[1] == pytest.approx(-1e-3, rel=1e-12)
    # In the shared logit theta, lean = tanh(theta/2): the slope of -KL(pi||a).
    base = a10.agreeing(np.array([odds]))
    leans = np.tanh(np.arctanh(lean) + np.array([-step, step]) / 2)
    laws = a10.two_token_answers(leans)
    minus_kl = -(laws * np.log(laws / base)).sum(axis=-1)
    assert (minus_kl[1] - minus_kl[0]) / (2 * step) == pytest.approx(speed[0], abs=1e-7)
