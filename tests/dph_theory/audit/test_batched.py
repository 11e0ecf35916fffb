import numpy as np
import pytest
import torch
from support.losses_with_known_answers import k1, k2, k3, minus_log_u

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.audit.batched import expected_gradients
from dph_theory.audit.exact import measure
from dph_theory.audit.problems import random_problems


def test_many_problems_at_once_agree_with_one_by_one():
    problem = random_problems(0)[1]
    pi, ref = (torch.softmax(logits, -1).numpy() for logits in (problem.policy, problem.reference))
    found = expected_gradients({"k2": k2, "k3": k3}, pi, ref, pi)
    for i, loss in enumerate((k2, k3)):
        alone = measure(loss, ("log_pi", "log_ref"), problem, "policy").gradient
        np.testing.assert_allclose(found[0, i], alone.numpy(), atol=1e-13)


@pytest.mark.parametrize(
    ("loss", "law", "gradient"),
    [
        (k1, "pi", lambda pi, ref: 0 * pi),
        (k2, "pi", REVERSE_KL.gradient),
        (k3, "pi", FORWARD_KL.gradient),
        (minus_log_u, "ref", FORWARD_KL.gradient),
    ],
)
def test_known_answers(loss, law, gradient):
    rng = np.random.default_rng(0)
    given = {"pi": rng.dirichlet(np.ones(4), 50), "ref": rng.dirichlet(np.ones(4), 50)}
    found = expected_gradients({"it": loss}, given["pi"], given["ref"], given[law])
    assert found.shape == (50, 1, 4)
    np.testing.assert_allclose(found[:, 0], gradient(**given), atol=1e-9)
