"""The check that all other tests lean on: wrong types and shapes that disagree are refused at the call."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from jaxtyping import Float

from dph_theory.losses import generator_loss
from support.shape_checks import once


@once(typechecker=None)
def paired(
    a: Float[np.ndarray, "rows columns"], b: Float[np.ndarray, " rows"]
) -> Float[np.ndarray, " columns"]:
    return a.sum(axis=0) if b[0] else a.sum(axis=1)


def test_shapes_agree_within_a_call():
    a = np.ones((2, 3))
    assert paired(a, np.ones(2)).shape == (3,)
    with pytest.raises(Exception, match="violates type hint"):
        paired(a, np.ones(3))
    with pytest.raises(Exception, match="violates type hint"):
        paired(np.ones(2), np.ones(2))
    with pytest.raises(Exception, match="return"):
        paired(a, np.zeros(2))
    # Each call has a scope of its own.
    assert paired(np.ones((4, 5)), np.ones(4)).shape == (5,)


def test_plain_types_are_checked_and_whole_numbers_are_floats():
    @once(typechecker=None)
    def half(x: float, later: "NotYetThere" = None) -> float:  # noqa: F821
        return x / 2

    assert half(3) == 1.5
    with pytest.raises(Exception, match="violates type hint"):
        half("3")


def test_fields_of_dataclasses_are_checked():
    @once(typechecker=None)
    @dataclass
    class Pair:
        x: int

    assert Pair(3).x == 3
    with pytest.raises(Exception, match="violates type hint"):
        Pair("3")


def test_it_is_on_in_our_packages():
    with pytest.raises(Exception, match="violates type hint"):
        generator_loss(torch.zeros(2, 3), torch.zeros(2, 3), "no mask", None)
