import numpy as np
import pytest
import torch

from dph_theory.audit.candidates import quantities
from dph_theory.audit.problems import random_problems

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
    known = quantities(problem, "policy")[name]
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
