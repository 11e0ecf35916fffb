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


@once(typechecker=None)
def half(x: float, later: "NotYetThere" = None) -> float:  # noqa: F821
    return x / 2


@once(typechecker=None)
@dataclass
class Kept:
    x: int


def test_shapes_agree_within_a_call_and_whole_numbers_are_floats():
    a = np.ones((2, 3))
    assert paired(a, np.ones(2)).shape == (3,)
    # Each call has a scope of its own.
    assert paired(np.ones((4, 5)), np.ones(4)).shape == (5,)
    assert (half(3), Kept(3).x) == (1.5, 3)


@pytest.mark.parametrize(("call", "given", "says"), [
    (paired, (np.ones((2, 3)), np.ones(3)), "violates type hint"),
    (paired, (np.ones(2), np.ones(2)), "violates type hint"),
    (paired, (np.ones((2, 3)), np.zeros(2)), "return"), (half, ("3",), "violates type hint"),
    (Kept, ("3",), "violates type hint"),
    # It is on in our packages.
    (generator_loss, (torch.zeros(2, 3), torch.zeros(2, 3), "no mask", None), "violates type hint"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_at_the_call(call, given, says):
    with pytest.raises(Exception, match=says):
        call(*given)
