import pytest
import torch

from dph_theory.losses import generator_loss
from dph_theory.losses.reductions import weighted_sum, weights, working_dtype

MASK = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
X = torch.tensor([[1.0, 3.0, 7.0, 7.0], [2.0, 2.0, 4.0, 8.0], [7.0, 7.0, 7.0, 7.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("level", "reduction", "mean"),
    [
        ("token", "sum", 20),
        ("token", "token_mean", 20 / 6),
        ("token", "sequence_mean", (2 + 4) / 2),
        ("sequence", "sum", 20),
        ("sequence", "token_mean", 20 / 6),
        ("sequence", "sequence_mean", (4 + 16) / 2),
    ],
)
def test_reductions_by_hand(level, reduction, mean):
    x = X.clone().requires_grad_()
    loss = generator_loss("forward_kl", x, MASK, level=level, reduction=reduction)
    assert loss.item() == pytest.approx(-mean, rel=1e-15)
    loss.backward()
    assert (x.grad[~MASK] == 0).all()
    assert (x.grad * X).sum().item() == pytest.approx(-mean, rel=1e-15)


def test_only_the_first_tensor_is_differentiated_and_never_twice():
    def product(a, b):
        return a * b, b.clone()

    a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
    total = weighted_sum(product, MASK, weights(MASK, "token", "sum", torch.float64), a, b)
    assert torch.autograd.grad(total, b, retain_graph=True, allow_unused=True) == (None,)
    (gradient,) = torch.autograd.grad(total.square(), a, create_graph=True)
    torch.testing.assert_close(gradient, 2 * total * X * MASK)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_a_mean_is_finite_where_the_sum_overflows():
    x = torch.full((4, 8), -3e38, requires_grad=True)
    loss = generator_loss("forward_kl", x, torch.ones_like(x, dtype=torch.bool))
    assert loss.item() == pytest.approx(3e38, rel=1e-6)


def test_a_float16_gradient_waits_for_the_loss_scale():
    # 1/4096 of a slope of 1e-3 vanishes in float16, 2^16 times that does not.
    x = torch.full((1, 4096), -1e-3, dtype=torch.float16, requires_grad=True)
    loss = generator_loss("forward_kl", x, torch.ones_like(x, dtype=torch.bool), gauge="normalised")
    (loss * 2**16).backward()
    assert x.grad.dtype == torch.float16
    torch.testing.assert_close(x.grad.float(), torch.expm1(x.detach().float()) * 16, rtol=1e-3, atol=0)


def test_the_working_dtype_and_the_gradients():
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        x = X.to(dtype).requires_grad_()
        for level in ("token", "sequence"):
            loss = generator_loss("forward_kl", x, MASK, level=level)
            assert loss.dtype == working_dtype(x) == (dtype if dtype == torch.float64 else torch.float32)
            assert torch.autograd.grad(loss, x)[0].dtype == dtype
