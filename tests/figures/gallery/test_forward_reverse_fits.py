import numpy as np
import pytest
from support.drawing_checks import stored

from figures.gallery.forward_reverse_fits import FIGURE, gaussian, minima, target_on
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def test_forward_kl_matches_the_moments(results):
    x, target, fit = results.x, results.target, results.fits["forward"].law
    for moment in (x, x**2):
        assert moment @ fit == pytest.approx(moment @ target, abs=1e-5)


def test_reverse_kl_takes_one_mode_at_the_price_of_the_others(results):
    fit = results.fits["reverse"]
    assert fit.mean == pytest.approx(-5, abs=0.02)
    assert fit.shares[0] > 0.998
    # All but the mode of weight w given up, KL(pi || target) is about -log w.
    prices = [fit.value for fit in results.reverse_minima if fit.deviation < 1]
    assert prices == pytest.approx(-np.log([0.5, 0.3, 0.2]), abs=0.01)


def test_the_ends_of_the_alpha_family_are_the_two_kls(results):
    assert (results.alphas[0], results.alphas[-1]) == (0, 1)
    assert (results.shares[0] == results.fits["reverse"].shares).all()
    assert (results.shares[-1] == results.fits["forward"].shares).all()


def test_no_law_of_the_family_beats_a_fit(results):
    from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL

    x, target = results.x, results.target
    means, deviations = np.meshgrid(np.linspace(-8, 8, 33), np.linspace(0.7, 6, 20))
    rivals = gaussian(x, means.ravel(), deviations.ravel())
    for name, divergence in (("forward", FORWARD_KL), ("JS", JENSEN_SHANNON), ("reverse", REVERSE_KL)):
        assert (divergence(rivals, target) >= results.fits[name].value - 1e-12).all()


def test_a_target_within_the_family_is_found_by_all():
    from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL

    x = np.linspace(-8, 8, 81)
    target = target_on(x, ((1.0, 1.5, 1.2),))
    for divergence in (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON):
        ((value, mean, deviation),) = minima(divergence, x, target, np.array([[0.0, 2.0]]))
        assert value == pytest.approx(0, abs=1e-10)
        assert (mean, deviation) == pytest.approx((1.5, 1.2), abs=1e-4)


def test_the_table_has_every_fit_and_the_other_minima_of_reverse_kl(results):
    rows = FIGURE.table(results).rows
    assert [row[0] for row in rows[-3:]] == [f"reverse, minimum {number}" for number in (2, 3, 4)]
    assert rows[0][1] == results.reverse_minima[0].value
    assert rows[0][2] < 1e-10 < 0.5 < rows[3][2]


def test_the_committed_numbers():
    assert len(stored("forward_reverse_fits").alphas) == 21
