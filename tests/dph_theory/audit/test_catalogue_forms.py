import inspect

import pytest
import torch

from dph_theory.audit import catalogue_forms as forms
from dph_theory.audit.catalogue import CATALOGUE
from dph_theory.estimators import K1, K2, K3


def tensors(seed=0, tokens=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    draw = [-torch.rand(2, tokens, generator=generator, dtype=dtype) * 2 for _ in range(3)]
    return dict(zip(("log_pi", "log_ref", "log_old"), draw, strict=True))


@pytest.mark.parametrize(
    ("loss", "estimator"), [(forms.k1, K1), (forms.k2, K2), (forms.k3, K3), (forms.clamped_k3, K3)]
)
def test_estimators_agree_with_the_theory(loss, estimator):
    given = tensors()
    x = (given["log_pi"] - given["log_ref"]).numpy()
    found = loss(given["log_pi"], given["log_ref"], torch.ones(2, 3, dtype=torch.float64))
    assert float(found) == pytest.approx(estimator.on_samples(x).mean())


@pytest.mark.parametrize("form", CATALOGUE, ids=lambda form: f"{form.name}, {form.samples}")
def test_masked_tokens_may_hold_anything(form):
    names = inspect.signature(form.loss).parameters
    given = {name: tensor for name, tensor in tensors().items() if name in names}
    full = form.loss(**given, mask=torch.ones(2, 3, dtype=torch.float64))
    padded = {name: torch.cat([t, torch.full((2, 1), -7.0)], dim=1) for name, t in given.items()}
    mask = torch.tensor([[1.0, 1.0, 1.0, 0.0]] * 2, dtype=torch.float64)
    assert float(form.loss(**padded, mask=mask)) == pytest.approx(float(full), rel=1e-12)


def test_the_clamps_act_where_they_say():
    mask = torch.ones(1, 1)
    far = torch.tensor([[-30.0]])
    assert float(forms.clamped_k3(far, torch.zeros(1, 1), mask)) == 10.0
    assert float(forms.released_forward(torch.zeros(1, 1), far, mask)) == 10.0


def test_the_straight_through_form_has_the_value_of_one_and_the_gradient_of_the_other():
    given = tensors()
    mask = torch.ones(2, 3, dtype=torch.float64)
    leaf = given["log_pi"].clone().requires_grad_()
    both = forms.straight_through_k3(leaf, given["log_ref"], mask)
    (slope,) = torch.autograd.grad(both, leaf)
    (wanted,) = torch.autograd.grad(forms.k2(leaf, given["log_ref"], mask), leaf)
    torch.testing.assert_close(slope, wanted)
    torch.testing.assert_close(both, forms.k3(given["log_pi"], given["log_ref"], mask))


def test_a_reward_is_summed_over_the_sequence_and_averaged_over_sequences():
    log_pi, log_ref = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-2.0, -4.0]])
    mask = torch.ones(1, 2)
    assert float(forms.k1_in_return(log_pi, log_ref, mask)) == -9.0  # (-1 - 2) times 1 + 2
    assert float(forms.k1_to_go(log_pi, log_ref, mask)) == -7.0  # -1 times 3, -2 times 2
    assert float(forms.k1_own_token(log_pi, log_ref, mask)) == -5.0
    both = [t.repeat(2, 1) for t in (log_pi, log_ref, mask)]
    assert float(forms.k1_in_return(*both)) == -9.0
