"""Methods that need the reference at hand: alpha-DPG, the definition form of DPH, the KL of whole sequences.

Each puts its own advantages in the place of TRL's, at the moment of sampling: from there on they are
shuffled, split, stored and trained on as TRL's are, and its clipped ratio applies to them likewise.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dph_theory.losses import alpha_dpg_rewards, clipped_ratio_count, group_advantages
from dph_theory.losses.terms import generator
from dph_theory.support.errors import argument_error

from .reference import OnlineReference, sequence_log_probs
from .reward_function import record_rewards
from .trainer import DPHTrainer


class OnlineTrainer(DPHTrainer):
    """A DPHTrainer whose advantages come from the log-ratios of its samples to the reference.

    args.online says which: "alpha_dpg", `alpha_dpg_rewards` of whole completions (theory B7); "sequence_kl",
    v - beta log(pi/ref) of whole completions, whose gradient is that of E v - beta KL(pi || ref) (theory A4,
    B6); both less the mean of the group's others, which leaves the expected gradient as it is. "definition":
    TRL's advantage less eta f'(u) at each token, the gradient of eta D_f(pi || ref) between the tokens'
    distributions at the prefixes visited (theory B8). `base_rates` maps example ids to base pass rates in
    (0, 1], which alpha-DPG needs. Gradients are exact where one step is taken on each sampled batch.
    """

    def __init__(self, *args: Any, base_rates: Mapping[str, float] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.online == "none":
            raise argument_error(
                "online", "none", "one of definition, alpha_dpg, sequence_kl; DPHTrainer does without"
            )
        if self.args.mask_truncated_completions:
            raise argument_error("mask_truncated_completions", True, "off: whole completions are compared")
        self.base_rates = base_rates or {}
        self.reference = OnlineReference(self)
        self.recorded = record_rewards(self, "example_id")

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples = super()._generate_and_score_completions(inputs)
        if not self.model.training:
            return samples
        samples = self.reference.with_log_probs(samples)
        advantages = {
            "alpha_dpg": self._alpha_dpg,
            "sequence_kl": self._sequence_kl,
            "definition": self._definition,
        }[self.args.online]
        return {**samples, "advantages": advantages(samples).to(samples["advantages"].dtype)}

    def _alpha_dpg(self, samples: dict[str, Any]) -> Tensor:
        keys, rewards = self.recorded.last
        log_pi, log_ref = sequence_log_probs(samples)
        log_rates = torch.tensor([self._base_rate(key) for key in keys]).to(log_pi).log()
        valid = torch.tensor(rewards, device=log_pi.device) == 1
        # One sample a row: each has its prompt's rate beside it.
        arguments = (log_pi[:, None], log_ref[:, None], valid[:, None], log_rates)
        clip = self.args.ratio_clip
        if clip is not None:
            clipped = clipped_ratio_count(*arguments, ratio_clip=clip).item()
            self._metrics["train"]["alpha_dpg/clipped"].append(clipped)
        return self._centred(alpha_dpg_rewards(*arguments, self.args.alpha, ratio_clip=clip)[:, 0])

    def _sequence_kl(self, samples: dict[str, Any]) -> Tensor:
        log_pi, log_ref = sequence_log_probs(samples)
        rewards = torch.tensor(self.recorded.last[1]).to(log_pi)
        return self._centred(rewards - self.args.online_coefficient * (log_pi - log_ref))

    def _definition(self, samples: dict[str, Any]) -> Tensor:
        mask = samples["completion_mask"].bool()
        log_u = samples["old_per_token_logps"].double() - samples["ref_per_token_logps"].double()
        log_u = torch.where(mask, log_u, 0)
        # d/dpi of E_ref f(pi/ref) is E_pi[f'(u) grad log pi], and f'(u) = e^-x d/dx f(e^x). In the normalised
        # gauge f'(1) = 0, so that there is no push where pi is ref.
        slope = generator(self.args.declared(), "normalised")(log_u)[1] * torch.exp(-log_u)
        return samples["advantages"][:, None] - self.args.online_coefficient * torch.where(mask, slope, 0)

    def _centred(self, rewards: Tensor) -> Tensor:
        """The rewards of this process less the mean of the others of their group, (batch,)."""
        everyone = self.accelerator.gather(rewards.contiguous()).unflatten(0, (-1, self.num_generations))
        centred = group_advantages(everyone, normalise=False, leave_one_out=True).flatten()
        start = self.accelerator.process_index * len(rewards)
        return centred[start : start + len(rewards)]

    def _base_rate(self, key: str) -> float:
        rate = self.base_rates.get(key)
        if rate is None or not 0 < rate <= 1:
            raise argument_error(
                f"base_rates[{key!r}]", rate, "a base pass rate in (0, 1] for every training prompt"
            )
        return rate
