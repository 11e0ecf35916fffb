from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.numeric.balls import precision
from dph_theory.statement.charts import (
    as_balls,
    as_floats,
    chart,
    discounts,
    example,
    integers,
    log_uniform,
    masks,
    rates,
    simplex,
    uniform,
)

ALL = chart(
    law=simplex(4),
    table=simplex(2, 3),
    valid=masks(4),
    beta=log_uniform(1e-3, 1e3),
    mu=rates(2),
    gamma=discounts(),
    r=uniform(-1, 1, 2, 2),
    k=integers(1, 5),
)


def corners(dimension: int) -> np.ndarray:
    return np.array([np.zeros(dimension), np.ones(dimension), np.full(dimension, 0.5)])


def test_shapes_and_dimension():
    instance = ALL(np.random.default_rng(0).random((7, ALL.dimension)))
    shapes = {name: value.shape for name, value in instance.items()}
    assert shapes == {
        "law": (7, 4),
        "table": (7, 3, 2),
        "valid": (7, 4),
        "beta": (7,),
        "mu": (7, 2),
        "gamma": (7,),
        "r": (7, 2, 2),
        "k": (7,),
    }
    assert ALL.dimension == 4 + 6 + 2 + 1 + 2 + 1 + 4 + 1


def test_corners_of_the_cube_are_the_extremes():
    instance = ALL(corners(ALL.dimension))
    assert instance["beta"][:2] == pytest.approx([1e-3, 1e3])
    assert instance["mu"][0] == pytest.approx(1e-12, rel=1e-6)
    assert 1 - instance["mu"][1] == pytest.approx(1e-7, rel=1e-6)
    assert instance["gamma"][:2] == pytest.approx([1e-6, 1 - 1e-4])
    assert instance["k"].tolist() == [1, 5, 3]
    assert simplex(2).from_cube(np.array([[0.0, 1.0]])).min() < 1e-10


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


def test_masks_always_have_both_kinds():
    valid = masks(5).from_cube(np.random.default_rng(0).random((100, 3)))
    assert valid.any(axis=-1).all()
    assert not valid.all(axis=-1).any()


def test_examples_are_exact():
    instance = example(
        base=".15 .1 .45 .3", beta=".5", one="1 ", k=3, valid=[True, False], m=[".5 .5", "1 0"]
    ).parts
    tenths = [Fraction(n, 20) for n in (3, 2, 9, 6)]
    assert instance["base"][0].tolist() == tenths
    assert instance["beta"].shape == (1,)
    assert instance["one"].shape == (1, 1)
    assert instance["m"].shape == (1, 2, 2)
    assert instance["valid"].dtype == bool
    with precision(200):
        ball = as_balls(instance)["base"][0, 0]
    assert ball.rad() < 1e-55
    assert as_floats(instance)["k"].tolist() == [3.0]


def test_examples_keep_the_values_of_their_sides_and_lose_them_when_changed():
    both, one = example(x="1", value="2.50"), example(x="1", rhs="3 4")
    assert both.lhs.tolist() == both.rhs.tolist() == ["2.50"]
    assert (one.lhs, one.rhs.tolist()) == (None, ["3", "4"])
    changed = both.but(x="2", y="3")
    assert (changed.lhs, {name: part[0] for name, part in changed.parts.items()}) == (None, {"x": 2, "y": 3})
    assert list(changed.but(x=None).parts) == ["y"]


def test_derived_parts_follow_from_the_others_and_are_no_coordinates():
    plain = chart(p=rates(), k=integers(1, 3))
    derived = plain.deriving(lambda p: {"failure": 1 - p})
    instance = derived(np.full((2, derived.dimension), 0.2))
    assert derived.dimension == plain.dimension
    assert set(instance) == {"p", "k"}
    assert derived.completed(instance)["failure"] == pytest.approx(1 - instance["p"])
    assert plain.completed(instance) is instance
