import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.verification import charts
from dph_theory.verification.charts import as_floats, chart, example, simplex

ALL = chart(
    law=simplex(4),
    table=simplex(2, 3),
    valid=charts.masks(4),
    beta=charts.log_uniform(1e-3, 1e3),
    mu=charts.rates(2),
    gamma=charts.discounts(),
    r=charts.uniform(-1, 1, 2, 2),
    k=charts.integers(1, 5),
)


def test_shapes_and_corners_of_the_cube():
    assert ALL.dimension == 4 + 6 + 2 + 1 + 2 + 1 + 4 + 1
    instance = ALL(np.stack([np.full(ALL.dimension, place) for place in (0, 1, 0.5)]))
    shapes = [(4,), (3, 2), (4,), (), (2,), (), (2, 2), ()]
    assert [value.shape[1:] for value in instance.values()] == shapes
    assert instance["beta"][:2] == pytest.approx([1e-3, 1e3])
    assert instance["mu"][0] == pytest.approx(1e-12, rel=1e-6)
    assert 1 - instance["mu"][1] == pytest.approx(1e-7, rel=1e-6)
    assert instance["gamma"][:2] == pytest.approx([1e-6, 1 - 1e-4])
    assert instance["k"].tolist() == [1, 5, 3]
    assert simplex(2).from_cube(np.array([[0.0, 1.0]])).min() < 1e-10
    # Masks have answers of both kinds.
    valid = charts.masks(5).from_cube(np.random.default_rng(0).random((100, 3)))
    assert {*valid.sum(axis=-1)} == {1, 2, 3, 4}


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_rounded_laws_still_sum_to_one_exactly(seed, digits):
    instance = ALL(np.random.default_rng(seed).random((2, ALL.dimension)))
    exact = ALL.rounded(instance, digits)
    for name in ("law", "table"):
        assert (exact[name].sum(axis=-1) == 1).all()
        assert (exact[name] > 0).all()
    np.testing.assert_allclose(as_floats(exact)["r"], instance["r"], rtol=10.0 ** (1 - digits))


def test_the_lower_faces_may_be_masses_of_exactly_zero():
    cube = np.array([[0.0, 0.5, 0.5], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]])
    law = simplex(3, zeros=True).from_cube(cube)
    np.testing.assert_allclose(law, [[0, 1 / 2, 1 / 2], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    assert (simplex(3).from_cube(cube) > 0).all()
    exact = chart(law=simplex(3, zeros=True)).rounded({"law": law}, 2)["law"]
    assert (exact.sum(axis=-1) == 1).all()
    assert (exact[0, 0], exact[1].tolist()) == (0, [0, 0, 1])


def test_examples_keep_the_values_of_their_sides_and_lose_them_when_changed():
    both, one = example(x="1", value="2.50"), example(x="1", rhs="3 4")
    assert both.lhs.tolist() == both.rhs.tolist() == ["2.50"]
    assert (one.lhs, one.rhs.tolist()) == (None, ["3", "4"])
    changed = both.but(x="2", y="3")
    assert (changed.lhs, {name: part[0] for name, part in changed.parts.items()}) == (None, {"x": 2, "y": 3})
    assert list(changed.but(x=None).parts) == ["y"]
