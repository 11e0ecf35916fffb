import numpy as np
import pytest
from hypothesis import given
from support.hypothesis_strategies import laws

from dph_theory import (
    CHI_SQUARED,
    DIVERGENCES,
    FORWARD_KL,
    HELLINGER,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    TOTAL_VARIATION,
    alpha_divergence,
)
from dph_theory.divergences import ALPHAS

PI, REF = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])


@given(pi=laws(), ref=laws())
def test_each_is_what_its_name_says(pi, ref):
    middle = (pi + ref) / 2
    textbook = {
        FORWARD_KL: (ref * np.log(ref / pi)).sum(),
        REVERSE_KL: (pi * np.log(pi / ref)).sum(),
        JENSEN_SHANNON: (pi * np.log(pi / middle)).sum() + (ref * np.log(ref / middle)).sum(),
        HELLINGER: ((np.sqrt(pi) - np.sqrt(ref)) ** 2).sum(),
        CHI_SQUARED: ((pi - ref) ** 2 / ref).sum(),
        NEYMAN_CHI_SQUARED: ((pi - ref) ** 2 / pi).sum(),
        TOTAL_VARIATION: np.abs(pi - ref).sum() / 2,
    }
    assert set(textbook) == set(DIVERGENCES.values())
    for divergence, value in textbook.items():
        assert divergence(pi, ref) == pytest.approx(value, rel=1e-9, abs=1e-12)


@given(pi=laws(zeros=True), ref=laws(zeros=True))
def test_jensen_shannon_is_symmetric_and_at_most_two_log_two(pi, ref):
    value = JENSEN_SHANNON(pi, ref)
    assert value == pytest.approx(JENSEN_SHANNON(ref, pi), rel=1e-12)
    assert value <= 2 * np.log(2) + 1e-12


def test_curvatures():
    curvature = {name: d.curvature for name, d in DIVERGENCES.items()}
    assert curvature == {
        "forward_kl": 1.0,
        "reverse_kl": 1.0,
        "jensen_shannon": 0.5,
        "hellinger": 0.5,
        "chi_squared": 2.0,
        "neyman_chi_squared": 2.0,
        "total_variation": np.inf,
    }
    assert all(alpha_divergence(a).curvature == pytest.approx(1.0) for a in (-1, 0.2, 0.5, 0.9, 2))


def test_the_alphas_of_the_entries_cover_mass_and_are_exact_in_balls():
    assert all(0 < alpha < 1 and (2**10 * alpha).is_integer() for alpha in ALPHAS)


def test_alpha_one_half_is_twice_hellinger_and_minus_one_half_chi_squared():
    assert alpha_divergence(0.5)(PI, REF) == pytest.approx(2 * HELLINGER(PI, REF), rel=1e-13)
    assert alpha_divergence(-1)(PI, REF) == pytest.approx(CHI_SQUARED(PI, REF) / 2, rel=1e-13)
