"""The collapse meter for any TRL GRPO run: the KL of the policy above the minimum at its pass rate.

    meter = CollapseMeter(base_rates={prompt: base pass rate, ...})
    meter.attach(trainer)

`collapse/*` are then logged beside TRL's own metrics, to every target of `report_to`; with `step=True` also
`dynamics/step_in_logits`, a learning rate as an effective logit step.
"""

import logging
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import TrainerCallback
from trl import GRPOTrainer

from dph_theory.finite_training import SmallNoiseWarning, excess_by_noise
from dph_theory.meter import ExcessKLEstimate, excess_kl_estimate
from dph_theory.support.errors import argument_error

from ..models.versions import check_versions
from .judging import Verdicts
from .reference import OnlineReference, in_groups, sequence_log_probs, under_policy

_LOG = logging.getLogger(__name__)
RIGHT, WRONG = 2, 8
"""Answers of the prompt whose drift represents all prompts: few are enough to see one lost."""
STEP = "dynamics/step_in_logits"


class CollapseMeter(TrainerCallback):
    """Measures KL(pi || ref) - kl(V || A1), the excess KL, on the samples TRL has just drawn.

    `base_rates` maps a prompt's key to its base pass rate A1 in (0, 1); `key` is the dataset column with the
    keys, or "prompt" for the prompts themselves. With several reward functions `verdict` names the binary one
    that is measured. Completions that TRL masks as truncated are measured too. Groups whose prompt has no
    base rate are left out and counted. `rate_samples`: number of samples of which each base rate is the
    posterior mean (c + 1/2)/(n + 1), or None for known rates; without it the excess of rates from few samples
    is underestimated by about 1/(2n). Every `every`-th generated batch is measured, at one forward pass under
    the policy and one under the reference. Neither weights nor random numbers are touched.

    `collapse/certified_share` is the share of a prompt's correct answers from which on the excess KL proves
    that no strategy is lost, at the median solved prompt and with two standard errors allowed; 1 proves
    nothing.

    With `step`, at one more pass, the `logit_step` of the first update on such a batch is logged, for `dph
    predict --step`, unless all its advantages are zero; without base rates only this is logged.
    `collapse/by_luck` is the excess that sampling noise alone brings a run without a KL, for a prompt with
    RIGHT equal correct answers and WRONG incorrect ones (`excess_by_noise`): a mean over seeds, for
    advantages that are not std-normalised; at most one correct answer is lost for good, V log RIGHT. An
    excess several times as large over many steps is more than noise; a smaller one is no evidence. Source:
    ours, entries `frontier`, `losing_a_strategy`, `sampling_noise`.
    """

    def __init__(
        self,
        base_rates: Mapping[Any, float],
        *,
        key: str = "prompt",
        every: int = 1,
        step: bool = False,
        verdict: str | None = None,
        rate_samples: int | None = None,
    ) -> None:
        for name, rate in base_rates.items():
            if not 0 < rate < 1:
                raise argument_error(f"base_rates[{name!r}]", rate, "a base pass rate in (0, 1)")
        if every < 1:
            raise argument_error("every", every, "a whole number, at least 1")
        self.base_rates, self.key, self.every, self.step = dict(base_rates), key, every, step
        self.verdict, self._warned, self.rate_samples = verdict, False, rate_samples
        self.last: float | None = None  # The step in logits that was measured last.
        self._trainer: GRPOTrainer | None = None
        self._first_samples: dict[str, Any] | None = None

    def attach(self, trainer: GRPOTrainer, reference: OnlineReference | None = None) -> None:
        """Measure the trainer's samples from now on.

        The reference is the trainer's own (beta > 0, or an adapter's base); otherwise a second model is
        loaded from the source of the trained one. RuntimeError under another TRL than the pinned one;
        ValueError if the reward function of correctness is not known.
        """
        check_versions()
        verdicts = Verdicts(trainer, self.key, self.verdict) if self.base_rates else None
        online = (reference or OnlineReference(trainer)) if self.base_rates else None
        generate, self._trainer = trainer._generate_and_score_completions, trainer
        if self.step:
            trainer.add_callback(self)

        def generate_and_measure(inputs: Any) -> dict[str, Any]:
            samples = generate(inputs)
            # Counted by TRL's own steps, which a resumed run takes up where they were.
            batch = trainer._step // (trainer.args.steps_per_generation * trainer.num_iterations)
            if trainer.model.training and batch % self.every == 0:
                unmasked = under_policy(trainer, _unmasked(trainer, samples))
                if online is not None and verdicts is not None:
                    self._measure(trainer, verdicts, online.with_log_probs(unmasked))
                self._first_samples = {**samples, "old_per_token_logps": unmasked["old_per_token_logps"]}
            return samples

        trainer._generate_and_score_completions = generate_and_measure

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the step just taken, if it is the first one on measured samples."""
        trainer, samples, self._first_samples = self._trainer, self._first_samples, None
        if samples is None or trainer is None:
            return
        after = under_policy(trainer, {k: v for k, v in samples.items() if k != "old_per_token_logps"})
        advantages = samples["advantages"]
        advantages = advantages if advantages.ndim == 1 else advantages[:, 0]
        sums = [_sums(one) for one in (samples, after)]
        columns = in_groups(trainer, advantages.to(sums[0]), *sums)
        # Answers of other processes have other widths.
        everyone = trainer.accelerator
        ids = everyone.pad_across_processes(samples["completion_ids"] * samples["completion_mask"], dim=1)
        ids = everyone.gather(ids.contiguous()).unflatten(0, (-1, trainer.num_generations))
        step = _step_of(columns.cpu(), ids.cpu())
        if math.isfinite(step):
            self.last = step
            trainer._metrics["train"][STEP].append(step)

    def _measure(self, trainer: GRPOTrainer, verdicts: Verdicts, samples: dict[str, Any]) -> None:
        groups, left_out = measured_groups(trainer, verdicts, self.base_rates, samples)
        metrics = trainer._metrics["train"]
        metrics["collapse/groups_left_out"].append(left_out)
        if len(groups):
            estimate = excess_of(groups, self.rate_samples)
            kl, excess = (groups[..., 1] - groups[..., 2]).mean().item(), estimate.mean
            means = {
                "excess_kl": excess,
                "excess_kl_se": estimate.mean_standard_error,
                "certified_share": estimate.certified,
                "pass_rate": groups[..., 0].mean().item(),
                "kl": kl,
                "cost": kl - excess,
            }
            if self.last is not None and self.last > 0:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always", SmallNoiseWarning)
                    answers = (len(groups) + left_out) * groups.shape[1]
                    means["by_luck"] = _excess_by_noise(groups, self.last, answers)
                if warned and not self._warned:  # Once, and not with every batch's own number.
                    self._warned = True
                    _LOG.warning("collapse/by_luck is an upper bound: %s", warned[0].message)
            for name, value in means.items():
                metrics[f"collapse/{name}"].append(value)


def logit_step(change: Tensor, log_p: Tensor, advantages: Tensor, same: Tensor) -> float:
    """Fit the eta whose step on independent logits changes log-probabilities most nearly as observed.

    With its own logit, an answer y moves by eta/N (n_y A_y - sum_z p_z n_z A_z), where n_y of the N answers
    of the step are y. change and log_p (after minus before the step, and before), advantages: (groups, size),
    minus their group's mean; same (groups, size, size): mask of equal answers. Least squares; nan if all
    advantages are zero. Source: ours, entries `sampling_noise`.
    """
    summed = (same * advantages[:, None, :]).sum(dim=2)
    # Each answer once: a sum over samples counts y n_y times.
    mean = (log_p.exp() * advantages).sum(dim=1, keepdim=True)
    unit = (summed - mean) / advantages.numel()
    return ((change * unit).sum() / unit.square().sum()).item() if unit.any() else float("nan")


def _step_of(columns: Tensor, ids: Tensor) -> float:
    """`logit_step` from (advantage, log p before, log p after), (groups, size, 3), and padded token ids."""
    advantages, before, after = columns.unbind(dim=2)
    same = (ids[:, :, None] == ids[:, None, :]).all(dim=-1)
    # What all answers of a group gain alike, as under a baseline of one, is no step.
    centred = advantages - advantages.mean(dim=1, keepdim=True)
    return logit_step(after - before, before, centred, same)


def _sums(samples: dict[str, Any]) -> Tensor:
    return (samples["old_per_token_logps"].double() * samples["completion_mask"]).sum(dim=1)


def _unmasked(trainer: GRPOTrainer, samples: dict[str, Any]) -> dict[str, Any]:
    """Samples in which truncated completions count in full; log-probabilities without them are dropped."""
    mask = samples["completion_mask"]
    cut_off = ~mask.any(dim=1, keepdim=True)
    if not cut_off.any():
        return samples
    # TRL masks those that end with neither an end nor padding: padding comes after their last word.
    words = (samples["completion_ids"] != trainer._tokenizer.pad_token_id).to(mask)
    full_mask = torch.where(cut_off, words.flip(1).cummax(dim=1).values.flip(1), mask)
    stale = ("old_per_token_logps", "ref_per_token_logps", "tool_mask")
    return {name: value for name, value in samples.items() if name not in stale} | {
        "completion_mask": full_mask
    }


def measured_groups(
    trainer: GRPOTrainer, verdicts: Verdicts, base_rates: Mapping[Any, float], samples: dict[str, Any]
) -> tuple[Tensor, int]:
    """(groups, samples, 4) of reward, log pi, log ref and base rate, and the number of skipped groups.

    A group is skipped if its prompt has no known rate between 0 and 1, because the measure needs one.
    """
    keys, rewards = verdicts.last
    log_pi, log_ref = sequence_log_probs(samples)
    rates = torch.tensor([base_rates.get(key, math.nan) for key in keys]).to(log_pi)
    groups = in_groups(trainer, rewards.to(log_pi), log_pi, log_ref, rates).cpu()
    has_rate = (groups[:, 0, 3] > 0) & (groups[:, 0, 3] < 1)
    return groups[has_rate], int((~has_rate).sum())


def _excess_by_noise(groups: Tensor, step: float, answers: int) -> float:
    """Mean excess KL in nats that sampling noise alone explains, from groups (groups, samples, 4)."""
    rewards, rates = groups[..., 0].mean(dim=1).numpy(), groups[:, 0, 3].numpy()
    reached = np.clip(rewards, rates, 1 - 1 / (2 * groups.shape[1]))
    excess = excess_by_noise(
        np.minimum(rates, reached), reached, valid=RIGHT, invalid=WRONG, step=step, answers=answers
    )
    return float(excess.mean())


def excess_of(groups: Tensor, rate_samples: int | None = None) -> ExcessKLEstimate:
    """Excess KL with standard errors, from groups (groups, samples, 4) as of `measured_groups`."""
    rewards, log_pi, log_ref, rates = groups.double().numpy().transpose(2, 0, 1)
    return excess_kl_estimate(rewards, log_pi, log_ref, rates[:, 0], rate_samples=rate_samples)
