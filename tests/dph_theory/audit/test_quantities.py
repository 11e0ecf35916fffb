import numpy as np
import pytest
import torch

from dph_theory.audit.exact import MeasuredLoss, random_problems
from dph_theory.audit.quantities import Quantity, find_sum, match_gradient, match_value, quantities

PROBLEMS = random_problems(2)


def value_by_torch(problem, logits, name):
    """The quantity by its textbook formula on the enumerated law, differentiable."""
    pi = problem.log_probs(logits).sum(-1).exp()
    ref = problem.law(problem.reference)
    target = ref * problem.valid / (ref * problem.valid).sum()
    middle, ok = (pi + ref) / 2, problem.valid > 0
    return {
        "forward KL(ref||pi)": lambda: (ref * (ref / pi).log()).sum(),
        "reverse KL(pi||ref)": lambda: (pi * (pi / ref).log()).sum(),
        "JS generator (twice the JS divergence)": lambda: (
            (pi * (pi / middle).log()).sum() + (ref * (ref / middle).log()).sum()
        ),
        "alpha-divergence 0.5": lambda: 2 * ((pi.sqrt() - ref.sqrt()) ** 2).sum(),
        "forward KL(p_*||pi)": lambda: (target[ok] * (target[ok] / pi[ok]).log()).sum(),
        "entropy(pi)": lambda: -(pi * pi.log()).sum(),
        "minus expected reward": lambda: -(pi * problem.valid).sum(),
    }[name]()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize(
    "name",
    [
        "forward KL(ref||pi)",
        "reverse KL(pi||ref)",
        "JS generator (twice the JS divergence)",
        "alpha-divergence 0.5",
        "forward KL(p_*||pi)",
        "entropy(pi)",
        "minus expected reward",
    ],
)
def test_values_and_gradients_are_the_textbook_ones(problem, name):
    known = quantities(problem, "filtered" if "p_*" in name else "policy")[name]
    logits = problem.policy.clone().requires_grad_()
    value = value_by_torch(problem, logits, name)
    (gradient,) = torch.autograd.grad(value, logits)
    assert known.value == pytest.approx(value.item(), rel=1e-12)
    np.testing.assert_allclose(known.gradient.numpy(), gradient.flatten().numpy(), atol=1e-12)


def test_the_chain_rule_joins_token_and_sequence_forward_kl():
    for problem in PROBLEMS:
        if problem.length > 1:
            known = quantities(problem, "reference")
            tokens = known["token sum of forward KL(ref||pi) on the samples' prefixes"]
            sequence = known["forward KL(ref||pi)"]
            assert tokens.value == pytest.approx(sequence.value, rel=1e-12)
            assert torch.allclose(tokens.gradient, sequence.gradient, atol=1e-12)
            js = known["JS generator (twice the JS divergence)"]
            token_js = known["token sum of JS generator (twice the JS divergence) on the samples' prefixes"]
            assert abs(token_js.value / js.value - 1) > 1e-3


A, B = torch.tensor([1.0, 2.0, -3.0]).double(), torch.tensor([2.0, -1.0, -1.0]).double()
KNOWN = [
    {"forward KL(ref||pi)": Quantity(0.5, A), "reverse KL(pi||ref)": Quantity(0.25, B)},
    {"forward KL(ref||pi)": Quantity(0.7, B), "reverse KL(pi||ref)": Quantity(0.9, A)},
]


def measured(*pairs):
    return [MeasuredLoss(value, gradient, 1.0, 1.0) for value, gradient in pairs]


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


RNG = np.random.default_rng(0)
COLUMNS = {name: RNG.normal(size=12) for name in ("reward", "kl", "entropy", "tv", "chi")}


@pytest.mark.parametrize(
    "terms", [{"kl": 2.0}, {"reward": 1.0, "kl": 0.04}, {"reward": 1.0, "entropy": -0.01, "chi": 0.3}]
)
def test_a_planted_sum_is_found_with_its_coefficients(terms):
    found = find_sum(sum(c * COLUMNS[name] for name, c in terms.items()), COLUMNS, 1e-9)
    assert {name: c for c, name in found.terms} == pytest.approx(terms)


def test_noise_and_four_terms_are_no_sum():
    assert find_sum(RNG.normal(size=12), COLUMNS, 1e-9) is None
    assert find_sum(sum(list(COLUMNS.values())[:4]), COLUMNS, 1e-9) is None


def test_equal_columns_and_two_scales_of_one_are_not_summed():
    columns = {"kl": COLUMNS["kl"], "twice": 2 * COLUMNS["kl"], "tv": COLUMNS["tv"]}
    columns["tv, per token"] = COLUMNS["tv"] * np.repeat([1.0, 0.5], 6)
    assert find_sum(2 * COLUMNS["kl"], columns, 1e-9).terms == ((pytest.approx(2), "kl"),)
    assert find_sum(columns["tv"] + columns["tv, per token"], columns, 1e-9) is None


def test_a_difference_of_two_all_but_equal_columns_is_no_finding():
    near = {**COLUMNS, "kl, moved": COLUMNS["kl"] + 1e-6 * COLUMNS["chi"]}
    assert find_sum(near["kl, moved"] - near["kl"], {k: near[k] for k in ("kl", "kl, moved")}, 1e-9) is None
