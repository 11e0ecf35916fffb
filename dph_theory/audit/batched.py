"""Exact expected gradients of a loss on many one-token problems at once, for the registry's theorems."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from .exact import Loss, arguments_of


def expected_gradients(
    losses: Mapping[str, Loss], pi: np.ndarray, ref: np.ndarray, law: np.ndarray
) -> np.ndarray:
    """What PyTorch's autograd makes of each loss: E_law[grad loss] in the logits of pi, samples held fixed.

    pi, ref and law are (batch, outcomes) with full support, the old policy is the policy; gives
    (batch, losses, outcomes). The outcomes are enumerated, the instances vectorised.
    """
    logits = torch.as_tensor(np.log(pi)).requires_grad_()
    given = torch.as_tensor(np.log(ref)), torch.as_tensor(law)
    # Instances do not meet in a sum: its gradient is that of each.
    sums = [torch.vmap(_expected(loss))(logits, *given).sum() for loss in losses.values()]
    return torch.stack([torch.autograd.grad(total, logits)[0] for total in sums], dim=1).numpy()


def _expected(loss: Loss) -> Loss:
    names = arguments_of(loss)

    def expected(logits: Tensor, log_ref: Tensor, law: Tensor) -> Tensor:
        log_pi = torch.log_softmax(logits, dim=-1)
        given = {
            "log_pi": log_pi[:, None],
            "log_ref": log_ref[:, None],
            "log_old": log_pi.detach()[:, None],
            "mask": torch.ones_like(log_pi)[:, None],
        }
        each = [loss(**{name: given[name][i : i + 1] for name in names}).reshape(()) for i in range(len(law))]
        return law @ torch.stack(each)

    return expected
