import numpy as np
import pytest

from dph_theory.numeric.arrays import distribution, mask, positive, probability, rate, real, together, whole


def test_a_distribution_passes_unchanged():
    law = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert distribution("pi", law) is law


def test_the_sum_may_be_off_by_rounding_only():
    distribution("pi", [0.5, 0.5 + 9e-9])
    with pytest.raises(ValueError, match=r"pi sums to 1\.0000000.* at batch index \(1,\), off by \+2e-08"):
        distribution("pi", [[0.5, 0.5], [0.5, 0.5 + 2e-8]])


def test_masks_may_be_zeros_and_ones():
    like = np.ones(3) / 3
    assert mask("valid", [1, 0, 1], like).tolist() == [True, False, True]


def test_whole_numbers_come_as_integers():
    assert whole("k", 3.0, at_least=1).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distribution("pi", 0.5), r"pi=0\.5 .*last axis of outcomes"),
        (lambda: distribution("pi", [[0.5, 0.6]]), r"pi sums to 1\.1"),
        (lambda: distribution("pi", ["a", "b"]), r"pi=.*an array of numbers"),
        (lambda: mask("valid", [0.5, 1], np.ones(2) / 2), r"valid=.*zeros and ones"),
        (lambda: mask("valid", [1, 1], np.ones(2) / 2, both=True), r"at least one outcome must be invalid"),
        (lambda: positive("beta", np.inf), r"beta=inf .*\(0, inf\)"),
        (lambda: rate("mu", [0.5, 1.0]), r"mu=1\.0 .*\(0, 1\)"),
        (lambda: probability("p", -0.1), r"p=-0\.1 .*\[0, 1\]"),
        (lambda: real("x", [1.0, np.nan]), r"x=nan .*no nan"),
        (lambda: whole("k", 0, at_least=1), r"k=0.*\[1, inf\)"),
        (lambda: together(a=np.ones(2), b=np.ones(3)), r"shapes do not fit: a \(2,\), b \(3,\)"),
    ],
)
def test_errors_name_the_argument_its_value_and_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
