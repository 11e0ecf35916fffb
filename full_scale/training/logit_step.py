"""How large an update is in logits: what a learning rate is to a model, measured while it trains."""

import math
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerCallback
from trl import GRPOTrainer

from ..models.versions import check_versions
from .reference import log_probs

METRIC = "dynamics/step_in_logits"


def logit_step(change: Tensor, log_p: Tensor, advantages: Tensor, same: Tensor) -> float:
    """The eta whose step of independent logits changes log-probabilities most nearly as they did.

    On logits of its own, an answer y moves by eta/N (n_y A_y - sum_z p_z n_z A_z): n_y of the N answers of
    the step are y. change and log_p, after and before the step, advantages: (groups, size), less their
    group's mean; same (groups, size, size): which answers are the same. Least squares; nan where advantages
    are all zero. Source: ours, theory G3.
    """
    summed = (same * advantages[:, None, :]).sum(dim=2)
    # Each answer once: a sum over samples counts y n_y times.
    mean = (log_p.exp() * advantages).sum(dim=1, keepdim=True)
    unit = (summed - mean) / advantages.numel()
    return ((change * unit).sum() / unit.square().sum()).item() if unit.any() else float("nan")


class LogitStep(TrainerCallback):
    """Logs `dynamics/step_in_logits`, the `logit_step` of every so many steps, for `dph predict --step`.

    Takes one forward pass on the samples of those steps; neither weights nor random numbers are touched.
    Of the first update on a batch; nothing is logged of one whose advantages are all zero.
    """

    def __init__(self, every: int = 10) -> None:
        self.every = every
        self._trainer: GRPOTrainer | None = None
        self._samples: dict[str, Any] | None = None
        self.last: float | None = None
        """The step measured last."""

    def attach(self, trainer: GRPOTrainer) -> None:
        """From now on, measure this trainer's steps. RuntimeError under another TRL than the pinned one."""
        check_versions()
        self._trainer = trainer
        trainer.add_callback(self)
        generate = trainer._generate_and_score_completions

        def generate_and_keep(inputs: Any) -> dict[str, Any]:
            samples = generate(inputs)
            if trainer.model.training and trainer.state.global_step % self.every == 0:
                self._samples = {**samples, "before": _sums(trainer, samples)}
            return samples

        trainer._generate_and_score_completions = generate_and_keep

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Measure the step that has just been taken, if it is the first one on kept samples."""
        if self._samples is None or self._trainer is None:
            return
        samples, self._samples = self._samples, None
        size = self._trainer.num_generations
        advantages = samples["advantages"]
        advantages = (advantages if advantages.ndim == 1 else advantages[:, 0]).unflatten(0, (-1, size))
        sums = samples["before"], _sums(self._trainer, samples)
        before, after = (value.unflatten(0, (-1, size)) for value in sums)
        ids = (samples["completion_ids"] * samples["completion_mask"]).unflatten(0, (-1, size))
        same = (ids[:, :, None] == ids[:, None, :]).all(dim=-1)
        centred = advantages.double() - advantages.double().mean(dim=1, keepdim=True)
        found = logit_step(after - before, before, centred, same)
        if math.isfinite(found):
            self.last = found
            self._trainer._metrics["train"][METRIC].append(found)


def _sums(trainer: GRPOTrainer, samples: dict[str, Any]) -> Tensor:
    """The log-probability of each answer, (batch,)."""
    training = trainer.model.training
    trainer.model.eval()
    with torch.no_grad():
        found = log_probs(trainer, trainer.model, samples)
    trainer.model.train(training)
    return (found.double() * samples["completion_mask"]).sum(dim=1)
