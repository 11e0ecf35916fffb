import pytest
import torch

from dph_theory.audit.candidates import Quantity
from dph_theory.audit.exact import Measured
from dph_theory.audit.match import match_gradient, match_value

A, B = torch.tensor([1.0, 2.0, -3.0]).double(), torch.tensor([2.0, -1.0, -1.0]).double()
KNOWN = [
    {"forward KL(ref||pi)": Quantity(0.5, A), "reverse KL(pi||ref)": Quantity(0.25, B)},
    {"forward KL(ref||pi)": Quantity(0.7, B), "reverse KL(pi||ref)": Quantity(0.9, A)},
]


def measured(*pairs):
    return [Measured(value, gradient, 1.0, 1.0) for value, gradient in pairs]


def test_a_constant_multiple_is_exact():
    found = match_gradient(measured((0, 0.5 * A), (0, 0.5 * B)), KNOWN, [1, 1])
    assert (found.name, found.exact) == ("forward KL(ref||pi)", True)
    assert found.constant == pytest.approx(0.5)
    assert not found.per_token


def test_a_constant_per_token_is_told_apart():
    found = match_gradient(measured((0, A / 2), (0, B / 3)), KNOWN, [2, 3])
    assert found.per_token
    assert found.constant == pytest.approx(1)


def test_the_opposite_direction_ascends():
    assert match_gradient(measured((0, -A), (0, -B)), KNOWN, [1, 1]).constant == pytest.approx(-1)


def test_changing_constants_or_signs_are_no_match():
    assert not match_gradient(measured((0, A), (0, 2 * B)), KNOWN, [1, 1]).exact
    assert not match_gradient(measured((0, A), (0, -B)), KNOWN, [1, 1]).exact


def test_zero_and_the_nearest():
    assert match_gradient(measured((0, 0 * A), (0, 0 * B)), KNOWN, [1, 1]).name == "zero"
    near = match_gradient(measured((0, A + 0.1 * B), (0, B)), KNOWN, [1, 1])
    assert (near.name, near.exact) == ("forward KL(ref||pi)", False)
    assert 1 < near.angle < 10


def test_values():
    assert match_value(measured((1.0, A), (1.4, A)), KNOWN, [1, 1]).constant == pytest.approx(2)
    biased = match_value(measured((0.3, A), (0.85, A)), KNOWN, [1, 1])
    assert (biased.name, biased.exact) == ("reverse KL(pi||ref)", False)
    assert biased.bias == pytest.approx((-1 / 18, 0.2))
    assert match_value(measured((-5.0, A), (9.0, A)), KNOWN, [1, 1]).name == "none"
    assert match_value(measured((0.0, A), (0.0, A)), KNOWN, [1, 1]).name == "zero"


def test_nothing_measured_is_a_failure():
    assert match_gradient([], [], []).name == match_value([], [], []).name == "failed"
