"""DPH's loss as a policy loss of verl: rollouts as verl clips them, plus eta times the rehearsal.

The stored rows, `presample/buffer/buffer.parquet` of `dph presample`, join verl's batches with their
`ref_logps` as `old_log_prob` and NaN as advantages, by which they are told from rollouts. Written against
verl's registry of policy losses; verl itself has not been run with it.

Run: python examples/verl_policy_loss.py (needs torch; where verl is installed, it registers the loss "dph")
"""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from dph_theory.losses import dph_loss, generator_loss, ppo_clip_loss

ETA, DIVERGENCE, CLIP_LOW, CLIP_HIGH = 0.05, "forward_kl", 0.2, 0.28


def dph_policy_loss(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of rollouts and stored rows, each (rows, tokens); ValueError for other means, or weights."""
    if loss_agg_mode != "token-mean" or rollout_is_weights is not None:
        raise ValueError(f"{loss_agg_mode=}: token-mean, and without rollout weights")
    stored, mask, nothing = advantages.isnan().any(dim=1), response_mask.bool(), 0 * log_prob.sum()
    explored = rehearsed = nothing
    if not stored.all():
        own = (log_prob[~stored], old_log_prob[~stored], advantages[~stored], mask[~stored])
        explored = ppo_clip_loss(*own, clip_low=CLIP_LOW, clip_high=CLIP_HIGH)
    if stored.any():
        rehearsed = generator_loss(DIVERGENCE, (log_prob - old_log_prob)[stored], mask[stored])
    return dph_loss(explored, rehearsed, ETA), {"actor/rehearsal": rehearsed.item()}


if __name__ == "__main__":
    if find_spec("verl") is not None:
        from verl.trainer.ppo.core_algos import register_policy_loss

        register_policy_loss("dph")(dph_policy_loss)
    marked = torch.tensor([1.0, -1.0, torch.nan])[:, None].expand(3, 5)
    print(dph_policy_loss(torch.full((3, 5), -1.0), torch.full((3, 5), -1.2), marked, torch.ones(3, 5)))
