import inspect
import math

import pytest
import torch

from dph_theory.audit.published import CATALOGUE
from dph_theory.losses import kl_term
from dph_theory.losses.penalty import PLACES

PI, REF = torch.tensor([[-1.0, -9.0]], requires_grad=True), torch.tensor([[-2.0, -1.0]])
MASK = torch.ones(1, 2)


@pytest.mark.parametrize(
    ("estimator", "inner", "outer", "found"),
    [
        ("k1", None, None, [1, -8]),
        ("k1", 3.0, None, [1, -3]),
        ("k2", 4.0, 5.0, [0.5, 5]),
        ("k3", None, 10.0, [1 / math.e, 10]),
        ("abs", None, None, [1, 8]),
    ],
)
def test_estimates_and_their_clamps(estimator, inner, outer, found):
    term = kl_term("loss", estimator, inner=inner, outer=outer)
    assert [float(term(PI.detach(), REF, mask)) for mask in torch.eye(2)[:, None]] == pytest.approx(found)


def tensors(seed=0, tokens=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    draw = [-torch.rand(2, tokens, generator=generator, dtype=dtype) * 2 for _ in range(3)]
    return dict(zip(("log_pi", "log_ref", "log_old"), draw, strict=True))


@pytest.mark.parametrize("form", CATALOGUE, ids=lambda form: f"{form.title}, {form.samples}")
def test_masked_tokens_may_hold_anything(form):
    names = inspect.signature(form.loss).parameters
    given = {name: tensor for name, tensor in tensors().items() if name in names}
    full = form.loss(**given, mask=torch.ones(2, 3, dtype=torch.float64))
    padded = {name: torch.cat([t, torch.full((2, 1), -7.0)], dim=1) for name, t in given.items()}
    mask = torch.tensor([[1.0, 1.0, 1.0, 0.0]] * 2, dtype=torch.float64)
    assert float(form.loss(**padded, mask=mask)) == pytest.approx(float(full), rel=1e-12)


def test_the_straight_through_form_has_the_value_of_one_and_the_gradient_of_the_other():
    given = tensors()
    mask = torch.ones(2, 3, dtype=torch.float64)
    leaf = given["log_pi"].clone().requires_grad_()
    both = kl_term("straight through", "k3")(leaf, given["log_ref"], mask)
    (slope,) = torch.autograd.grad(both, leaf)
    (wanted,) = torch.autograd.grad(kl_term("loss", "k2")(leaf, given["log_ref"], mask), leaf)
    torch.testing.assert_close(slope, wanted)
    torch.testing.assert_close(both, kl_term("loss", "k3")(given["log_pi"], given["log_ref"], mask))


def test_a_reward_is_summed_over_the_sequence_and_averaged_over_sequences():
    log_pi, log_ref = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-2.0, -4.0]])
    mask = torch.ones(1, 2)
    assert float(kl_term("reward", "k1")(log_pi, log_ref, mask)) == -9.0  # (-1 - 2) times 1 + 2
    assert float(kl_term("reward to go", "k1")(log_pi, log_ref, mask)) == -7.0  # -1 times 3, -2 times 2
    assert float(kl_term("own reward", "k1")(log_pi, log_ref, mask)) == -5.0
    both = [t.repeat(2, 1) for t in (log_pi, log_ref, mask)]
    assert float(kl_term("reward", "k1")(*both)) == -9.0


@pytest.mark.parametrize(("argument", "value"), [("place", "rewards"), ("estimator", "k4")])
def test_unknown_names_are_refused_with_what_is_allowed(argument, value):
    with pytest.raises(ValueError, match=f"{argument}='{value}' is not allowed"):
        kl_term(**{"place": "loss", argument: value})


@pytest.mark.parametrize("place", PLACES)
def test_every_place_has_a_gradient_where_pi_is_not_the_reference(place):
    given = tensors()
    given["log_pi"].requires_grad_()
    loss = kl_term(place, "k3")
    named = {name: given[name] for name in inspect.signature(loss).parameters if name != "mask"}
    loss(**named, mask=torch.ones(2, 3, dtype=torch.float64)).backward()
    assert given["log_pi"].grad.abs().min() > 0
