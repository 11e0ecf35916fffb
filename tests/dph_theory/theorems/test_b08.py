import numpy as np
import pytest

from dph_theory import divergences
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import b08

GIVEN = as_floats(b08.MEAN.examples[0].parts)


def test_neither_form_dominates():
    gained, lost = np.array([[0.5, 0.5]]), np.array([[0.1, 0.9]])
    generator, definition = b08.stored_variance, b08.fresh_variance
    assert (generator(gained, lost) > 1.1 * definition(gained, lost)).all()
    assert (generator(lost, gained) < definition(lost, gained) / 1.1).all()


def test_forward_variances_by_hand():
    pi, ref = np.array([[0.5, 0.5]]), np.array([[0.1, 0.9]])
    u = np.array([5, 5 / 9])
    f = u - 1 - np.log(u)
    mean = (ref[0] * f).sum()
    assert b08.stored_variance(pi, ref)[0, 0] == pytest.approx((ref[0] * f**2).sum() - mean**2, rel=1e-12)
    second = (pi[0] * (f / u) ** 2).sum()
    assert b08.fresh_variance(pi, ref)[0, 0] == pytest.approx(second - mean**2, rel=1e-12)


def test_the_gap_explains_the_sign():
    pi, ref = np.array([[0.5, 0.5]]), np.array([[0.1, 0.9]])
    gap = b08.generator_variance(pi, ref) - b08.definition_variance(pi, ref)
    one, weight = 1 + 0 * pi, ref / pi
    expected = [(b08.squares(d, pi, ref, one - weight)).item() for d in divergences.COMPARED]
    assert gap[0] == pytest.approx(expected, rel=1e-11)


def test_the_costs_by_a_count_of_passes():
    # To a standard error of .1: so many answers each; 8 updates, and drawing an answer costs 20 passes.
    example = as_floats(b08.COST.examples[0].parts)
    laws = example["pi"], example["ref"]
    stored, fresh = (form(*laws)[0] / 0.01 for form in (b08.generator_variance, b08.definition_variance))
    ratio = b08.generator_cost(**example) / (
        b08.definition_cost(*laws, example["updates"], b08.definition_variance(*laws))
    )
    assert ratio[0] == pytest.approx(stored * (20 + 1 + 8) / (fresh * 16), rel=1e-12)
