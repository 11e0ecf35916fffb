"""Short progress reports of a training's metrics; TRL's own reporting has all of them."""

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerCallback

from dph_theory.support.progress import NotedProgress

CERTIFIED = "collapse/certified_share"
_WORDS = {
    "reward": "reward",
    "loss": "loss",
    "collapse/excess_kl": "excess KL",
    "collapse/by_luck": "by sampling noise",
    CERTIFIED: "no strategy lost from share",
}
EQUAL_REWARDS = "frac_reward_zero_std"  # TRL's share of groups whose rewards are all equal.


LARGEST_LOG_U = "rehearsal/log_u_max_abs"
_LOG = logging.getLogger(__name__)


class StepReport(TrainerCallback):
    """Calls `progress` at each step, from the first one after a resume, with the last measurements.

    Only the first process reports.
    """

    def __init__(self, progress: NotedProgress) -> None:
        self.progress, self.last = progress, ""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report the step, unless its log follows."""
        if state.is_world_process_zero and not control.should_log:
            self.progress("train", state.global_step, state.max_steps, self.last)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Report a logged step with its measurements."""
        if state.is_world_process_zero and "loss" in (logs or {}):
            self.last = log_text(logs)
            self.progress("train", state.global_step, state.max_steps, self.last)


def log_text(log: Mapping[str, Any]) -> str:
    """Words with reward, loss, excess KL and share of equal-reward groups of a log entry."""
    words = [f"{words} {log[name]:.4g}" for name, words in _WORDS.items() if log.get(name) is not None]
    if log.get(EQUAL_REWARDS) is not None:
        words.append(f"groups of equal rewards {log[EQUAL_REWARDS]:.0%}")
    return ", ".join(words)


def note_rehearsal(trainer: Any, loss: Tensor, log_u: Tensor, mask: Tensor) -> None:
    """Log metrics of a part of the rehearsal, |log u| where `mask` is; at the first step u must be 1."""
    sums = torch.stack([loss.float(), log_u.sum().float(), mask.sum().float()])
    value, total, count = trainer.accelerator.reduce(sums, reduction="sum").tolist()
    largest = trainer.accelerator.gather(log_u.max().float()).max().item()
    metrics, tolerance = trainer._metrics["train"], trainer.args.log_u_tolerance
    # Once, not at every micro-step.
    if trainer.state.global_step == 0 and largest > tolerance >= max(metrics[LARGEST_LOG_U], default=0.0):
        _LOG.warning(
            "before the first step |log u| is %.3g on a rehearsal token, where u should be 1 "
            "(log_u_tolerance=%g): the precision, or dropout, or the batch's shape moves the "
            "log-probabilities by that much, and the rehearsal with them",
            largest,
            tolerance,
        )
    metrics["rehearsal/loss"].append(value)
    metrics["rehearsal/log_u_mean_abs"].append(total / count if count else 0.0)
    metrics[LARGEST_LOG_U].append(largest)
