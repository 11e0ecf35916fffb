"""DPH in verl: stored rows joined to a step's batch, and a policy loss that tells them from rollouts.

The stored rows are `presample/buffer/buffer.arrow` of `dph presample`. In a subclass of verl's trainer,
after the advantages and outside of verl's metrics of data:

    def _update_actor(self, batch):
        tensors = joined(batch.batch, stored_rows(self.rows, len(batch) // 2, batch.batch, pad))
        return super()._update_actor(DataProto.from_dict(tensors, meta_info=batch.meta_info))

With `actor.policy_loss.loss_mode=dph-forward_kl` (or another divergence) and eta as
`actor.policy_loss.ppo_kl_coef`. The sum of both kinds of rows must be whole mini-batches.

Run: python examples/verl_policy_loss.py (needs torch; where verl is installed, it registers the losses)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dph_theory import DIVERGENCES
from dph_theory.losses import dph_loss, generator_loss, ppo_clip_loss

Row = Mapping[str, Any]


def read_buffer(path: Path) -> list[Row]:
    """The rows of a rehearsal buffer: prompt_ids, completion_ids, ref_logps."""
    from pyarrow import ipc

    return ipc.open_file(path).read_all().to_pylist()


def stored_rows(rows: Sequence[Row], number: int, like: Mapping[str, Tensor], pad: int) -> dict[str, Tensor]:
    """So many rows drawn by torch's generator, as tensors of verl's names and of the widths of a batch.

    Prompts are padded on the left, responses on the right; ValueError for a row that is wider.
    """
    before, after = like["prompts"].shape[1], like["responses"].shape[1]
    found: dict[str, list[Tensor]] = {}
    for place in torch.randint(len(rows), (number,)).tolist():
        row = {
            name: torch.as_tensor(rows[place][name]) for name in ("prompt_ids", "completion_ids", "ref_logps")
        }
        left, right = before - len(row["prompt_ids"]), after - len(row["completion_ids"])
        if min(left, right) < 0:
            raise ValueError(f"row {place}: more than {before} tokens of a prompt or {after} of an answer")
        pads = {"prompts": (row["prompt_ids"], left, 0), "responses": (row["completion_ids"], 0, right)}
        fill = torch.nn.functional.pad
        padded = {name: fill(ids, sides, value=pad) for name, (ids, *sides) in pads.items()}
        seen = torch.ones(before + after, dtype=torch.long)
        seen[:left], seen[before + after - right :] = 0, 0
        padded |= {"input_ids": torch.cat([*padded.values()]), "attention_mask": seen}
        padded |= {"position_ids": (seen.cumsum(0) - 1).clamp(min=0), "response_mask": seen[before:]}
        padded["old_log_probs"] = fill(row["ref_logps"].float(), (0, right))
        for name, value in padded.items():
            found.setdefault(name, []).append(value)
    return {name: torch.stack(values) for name, values in found.items()}


def joined(batch: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Both kinds of rows, shuffled; `rollout_is_weights` says the kind by its sign, and its share of tokens.

    With it either kind is a mean over its own tokens of the whole batch, however verl cuts that.
    """
    if "rollout_is_weights" in batch:
        raise ValueError("rollout_is_weights: none of verl's own (algorithm.rollout_correction) beside these")
    names = [name for name in stored if name in batch]
    both = {name: torch.cat([batch[name], stored[name].to(batch[name])]) for name in names}
    explored, rehearsed = (float(each["response_mask"].sum()) for each in (batch, stored))
    total, shape = explored + rehearsed, both["response_mask"].shape
    weights = torch.full(shape, total / explored, device=both["old_log_probs"].device)
    weights[len(batch["response_mask"]) :] = -total / rehearsed
    advantages = torch.nn.functional.pad(batch["advantages"], (0, 0, 0, len(stored["response_mask"])))
    both |= {"advantages": advantages, "rollout_is_weights": weights}
    order = torch.randperm(shape[0])
    return {name: values[order] for name, values in both.items()}


def dph_policy_loss(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Tensor | None = None,
    *,
    divergence: str = "forward_kl",
) -> tuple[Tensor, dict[str, float]]:
    """The loss of a micro-batch of `joined`; ValueError for other means, or rows that were not joined."""
    if loss_agg_mode != "token-mean" or rollout_is_weights is None:
        raise ValueError(f"{loss_agg_mode=}: token-mean, of rows that `joined` has weighed")
    mask, stored = response_mask.bool(), (rollout_is_weights < 0).any(dim=1)
    counted = config.global_batch_info
    tokens = counted.get("batch_num_tokens") or float(mask.sum())
    low, high = (config.get(f"clip_ratio_{side}") or config.clip_ratio for side in ("low", "high"))

    def share(rows: Tensor, mean: Any) -> Tensor:
        if not mask[rows].any():
            return 0 * log_prob.sum()
        weight = rollout_is_weights[rows].abs().max() * float(mask[rows].sum()) / float(tokens)
        return weight * counted.get("dp_size", 1) * mean(log_prob[rows], old_log_prob[rows], mask[rows])

    clips = {"clip_low": low, "clip_high": high}
    own = advantages[~stored]
    explored = share(~stored, lambda pi, old, on: ppo_clip_loss(pi, old, own, on, **clips))
    rehearsed = share(stored, lambda pi, ref, on: generator_loss(divergence, pi - ref, on))
    loss = dph_loss(explored, rehearsed, config.policy_loss.ppo_kl_coef)
    return loss, {"actor/rehearsal": rehearsed.item()}


if __name__ == "__main__" and find_spec("verl") is not None:
    from verl.trainer.ppo.core_algos import register_policy_loss

    for each in DIVERGENCES:
        register_policy_loss(f"dph-{each}")(partial(dph_policy_loss, divergence=each))
