from inspect import unwrap

import pytest
import torch

from dph_theory.losses import generator_loss
from dph_theory.losses.inputs import booleans, floats, number, same_shape, token_batch

X, MASK = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    "mask", [MASK, MASK.int(), MASK.float(), MASK.bfloat16()], ids=lambda m: str(m.dtype)
)
def test_a_mask_may_be_booleans_or_zeros_and_ones(mask):
    assert generator_loss("forward_kl", X + 1, mask) == -1
    assert booleans("mask", mask).dtype == torch.bool


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: token_batch(MASK, x=X.long()),
            r"x\.dtype=torch\.int64.*float64, float32, bfloat16 or float16",
        ),
        (lambda: token_batch(MASK, x=X[0]), r"x\.shape=\(3,\).*\(batch, tokens\)"),
        (lambda: token_batch(MASK[:1], x=X), r"x \(2, 3\), mask \(1, 3\); they must be equal"),
        (lambda: token_batch(MASK & False, x=X), r"mask='all 6 tokens masked'.*at least one token"),
        (lambda: token_batch(2.0 * MASK, x=X), r"mask=2\.0.*booleans, or zeros and ones"),
        (lambda: number("clip", 1.0, above=0, below=1), r"clip=1\.0.*a number in \(0, 1\)"),
        (lambda: number("clip", float("nan"), above=0), r"clip=nan"),
        (lambda: same_shape(a=X, b=X[:1]), r"a \(2, 3\), b \(1, 3\)"),
    ],
)
def test_errors_name_argument_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("check", "rest"), [(booleans, ()), (floats, (("batch",),))])
def test_what_is_no_tensor_is_named(check, rest):
    # Without the check of annotations, which is not there where the package is used.
    with pytest.raises(ValueError, match=r"mask='list'.*tensor"):
        unwrap(check)("mask", [True], *rest)
