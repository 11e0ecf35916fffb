import numpy as np
import pytest
from scipy.optimize import brentq

from dph_theory import restricted
from dph_theory.divergences import alpha_divergence
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import (
    _lemmas,
    a10_above,
    a10_collapse,
    a10_coverage,
    a10_jump,
    a10_threshold,
)

Q, BASE = np.array([[0.3, 0.3, 0.2, 0.2]]), np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, False, False]])
DIRAC = [1, 0, 0, 0]


def test_the_minimiser_on_both_sides_of_the_jump():
    assert a10_jump.minimiser(Q, BASE, VALID, np.array([0.369571]))[0].tolist() == DIRAC
    assert a10_jump.minimiser(Q, BASE, VALID, np.array([0.369572]))[0].tolist() == Q[0].tolist()


def test_where_an_invalid_dirac_is_the_first_rival_the_jump_goes_there():
    # The invalid mode of mass .62 wins at 1/beta = log(.62/.2), before the poor law (.1, .1, .7, .1) does.
    q, base = np.array([[0.1, 0.1, 0.7, 0.1]]), np.array([[0.2, 0.1, 0.08, 0.62]])
    assert restricted.jump(q, base, VALID) == pytest.approx(1 / np.log(3.1), rel=1e-13)
    assert a10_jump.before_and_after(q, base, VALID)[0].tolist() == [DIRAC, [0, 0, 0, 1]]


def test_the_limit_is_the_dirac_on_the_mode_of_the_base():
    instance = as_floats(a10_collapse.THEOREM.examples[0])
    assert a10_collapse.projected_law(**instance)[0].tolist() == DIRAC
    assert restricted.critical_beta(restricted.with_diracs(Q[:, None]), BASE, VALID) == pytest.approx(
        0.369571933514, rel=1e-12
    )


def test_forward_kl_chooses_the_law_that_covers():
    assert a10_coverage.m_projection(Q[:, None], BASE, VALID)[0].tolist() == Q[0].tolist()


def test_alpha_one_half_prefers_the_dirac_and_larger_alphas_the_law():
    half = alpha_divergence(0.5)
    assert _lemmas.dirac_to_filtered(BASE, half) == pytest.approx(4 * (1 - np.sqrt(0.6)), rel=1e-13)
    assert _lemmas.law_to_filtered(Q, BASE, half) == pytest.approx(0.917303079097, rel=1e-12)
    assert _lemmas.dirac_to_filtered(BASE, half) == pytest.approx(0.901613323034, rel=1e-12)
    threshold = brentq(lambda alpha: a10_threshold.scaled_lead(Q, BASE, alpha)[0], 0.4, 0.6, xtol=1e-14)
    assert threshold == pytest.approx(0.504968296298, rel=1e-11)
    # The same from the closed form, sum_{Y1} p^alpha q^(1-alpha) = max(p)^alpha.
    assert 0.3 ** (1 - threshold) * (0.6**threshold + 0.4**threshold) == pytest.approx(0.6**threshold)


def test_from_alpha_one_on_every_dirac_is_infinitely_far():
    assert np.isinf(a10_above.dirac_distances(BASE)).all()
    assert np.isfinite(a10_above.law_distances(Q, BASE)).all()
