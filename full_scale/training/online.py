"""Further baselines, and advantages computed with the reference, which replace TRL's advantages."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from dph_theory.losses import PassRates, alpha_dpg_rewards, clipped_ratio_count, group_advantages
from dph_theory.losses.generator import generator
from dph_theory.support.errors import argument_error
from dph_theory.support.user_code import imported

from ..recipe.rehearsal import DEFINITION, declared, rehearses
from ..tasks.protocol import own_modules, source_of
from .collapse_meter import excess_of, measured_groups
from .judging import Verdicts, require_verdict_alone
from .reference import OnlineReference, in_groups, sequence_log_probs
from .resume import ExactResume
from .trainer import DPHConfig, DPHTrainer


@dataclass
class OnlineConfig(DPHConfig):
    """DPHConfig with a baseline, `online` advantages and the collapse meter."""

    generation_rows: int | None = None
    """Rows that transformers generates at once per device, with their keys and values; None for all."""
    online: str = "none"
    """Replacement of TRL's advantages: "none", "alpha_dpg", "sequence_kl" or "future_kl"."""
    online_beta: float = 0.0  # Of the sequence KL.
    beta_from: float | None = None
    """Sequence KL: initial beta, which falls geometrically to `online_beta` by the middle of the training.
    Each beta's stationary policy has the base's proportions. Entries: `updates_and_means`.
    """
    excess_bound: float | None = None
    """Stop lowering beta while the mean excess KL of recent batches exceeds this many nats."""
    baseline: str = "mean"
    """Baseline of rewards: "mean", the group's by TRL; "leave_one_out", that of the others; "one", so that
    only incorrect answers have a gradient, or "none", only correct ones. All have one expected gradient, up
    to a factor; sampling noise drives correct answers apart least with "one". Entries: `sampling_noise`.
    """
    divided_by_mean: bool = False
    """Divide advantages, the reward minus the group's mean, by that mean (MaxRL). Entries: `retention`."""
    rate_power: float = 0.0
    """Weigh undivided advantages by V^-rate_power, V from counts of the base, of the prompt's earlier groups
    and its own (`PassRates`): as MaxRL does in larger groups. Entries: `retention`.
    """
    ratio_clip: float | None = None  # Of alpha-DPG's ratio p_*/pi; off unless given, and counted.
    collapse_every: int = 0  # The collapse meter reads every so many generated batches; 0 is off.
    step_in_logits: bool = False
    """Also estimate the effective logit step and the drift by sampling noise. Costs one more forward pass."""
    keep_moments: bool = False  # Does a finished run keep its last checkpoint, to be extended?
    forms = (*DPHConfig.forms, DEFINITION)


def divergence_code(name: str) -> dict[str, str]:
    """Hashes of the modules of a user's own divergence module:OBJECT, by name; none for a named one."""
    module, colon, _ = name.partition(":")
    return source_of(*own_modules(imported(module).__name__)) if colon else {}


class OnlineTrainer(ExactResume, DPHTrainer):
    """A DPHTrainer with exact resume, whose advantages may come from log-ratios to the reference.

    args.online selects them: "alpha_dpg", `alpha_dpg_rewards` of whole completions; "sequence_kl", v - beta
    log(pi/ref) of whole completions, with the gradient of E v - beta KL(pi || ref); both minus the mean of
    the group's others, which preserves the expected gradient (with baseline "one" or "none" the rewards minus
    that constant, the penalty minus its mean). With rehearsal_form "definition": TRL's advantage minus eta
    f'(u) at each token, the gradient of eta D_f(pi || ref) between the tokens' distributions at the visited
    prefixes. "future_kl": minus beta times the log-ratios of the later tokens, so that together with TRL's k3
    with importance weight of the token itself the gradient is that of the KL of the whole answer (arXiv
    2601.10201). `base_rates` maps example ids to base pass rates in (0, 1], which alpha-DPG and
    `excess_bound` need; `rate_samples`: number of samples behind each, None for known rates. Gradients are
    exact if one step is taken on each sampled batch. Entries: `kl_control`, `kl_estimators`, `alpha_dpg`,
    `forms_and_curvature`, `sampling_noise`.
    """

    def __init__(
        self,
        *args: Any,
        base_rates: Mapping[str, float] | None = None,
        rate_samples: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        # FSDP and DeepSpeed keep float32 weights beside the ones that they compute with.
        sharded = self.is_fsdp_enabled or self.is_deepspeed_enabled
        for name, weight in () if sharded else self.model.named_parameters():
            if weight.requires_grad and weight.dtype != torch.float32:
                # In 16 bits a step of 1e-6 of its size would be rounded away.
                allowed = "float32 for a weight that trains; bf16=True computes in 16 bits all the same"
                raise argument_error(f"dtype of {name}", weight.dtype, allowed)
        self.notes: tuple[str, ...] = ()
        self.arguments: Mapping[str, Any] = {}
        self.base_rates, self.rate_samples = base_rates or {}, rate_samples
        online = self.args.online
        self._advantage_method = f"_{online}" if online != "none" else None
        if self.args.eta > 0 and self.args.rehearsal_form == DEFINITION:
            self._advantage_method = "_definition"
        if online not in ("none", "future_kl"):
            require_verdict_alone(self, f"online={online!r}")
        defaults = {field.name: field.default for field in fields(OnlineConfig)}
        values = {name: getattr(self.args, name) for name in ("baseline", "divided_by_mean", "rate_power")}
        own = [f"{name}={value!r}" for name, value in values.items() if value != defaults[name]]
        self._own_advantage = bool(own)
        if own:
            require_verdict_alone(self, own[0])
        key = "example_id" if self._advantage_method or self.args.rate_power else "prompt"
        # None if TRL's own advantages are used unchanged.
        self.verdicts: Any = Verdicts(self, key) if self._advantage_method or own else None
        self.reference: Any = OnlineReference(self) if self._advantage_method else None

    def course(self) -> dict[str, Any]:
        """Settings that must be equal to resume, with the rehearsal's buffer and its divergence's code."""
        digest = self.rehearsal.digest if self.rehearsal and rehearses(vars(self.args)) else None
        code = divergence_code(self.args.divergence)
        return {**super().course(), "rehearsal": digest, "divergence code": code}

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, fields: Any, *args: Any, **named: Any
    ) -> Any:
        """TRL's generation by transformers, of at most `generation_rows` rows at once."""
        rows, generate = self.args.generation_rows, super()._generate_single_turn
        if self.use_vllm or rows is None or images or fields or len(prompt_ids) <= rows:
            return generate(prompt_ids, images, fields, *args, **named)
        starts = range(0, len(prompt_ids), rows)
        parts = [generate(prompt_ids[at : at + rows], images, fields, *args, **named) for at in starts]
        return [row for ids, _ in parts for row in ids], None

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples = super()._generate_and_score_completions(inputs)
        if not self.model.training or self.verdicts is None:
            return samples
        advantages = samples["advantages"]
        if self._own_advantage:
            rewards = self.verdicts.last[1].to(advantages)
            divisor = "mean" if self.args.divided_by_mean else "none"
            own = self._less_baseline(rewards, self.args.baseline, divisor)
            if self.args.rate_power:
                own = own * self._rate_weights(rewards)
            samples = {**samples, "advantages": own}
        if self._advantage_method is None:
            return samples
        samples = self.reference.with_log_probs(samples)
        online_advantages = getattr(self, self._advantage_method)(samples)
        return {**samples, "advantages": online_advantages.to(advantages.dtype)}

    def _less_baseline(
        self, rewards: Tensor, baseline: str = "leave_one_out", divisor: str = "none"
    ) -> Tensor:
        """Rewards of this process minus a baseline, divided by `divisor`, shape (batch,)."""
        everyone = in_groups(self, rewards)[..., 0]
        advantages = group_advantages(everyone, divided_by=divisor, baseline=baseline).flatten()
        start = self.accelerator.process_index * len(rewards)
        return advantages[start : start + len(rewards)]

    def _rate_weights(self, rewards: Tensor) -> Tensor:
        """Weights V^-rate_power by each answer's prompt, (batch,), once its group is counted."""
        rows_of, keys = {name: row for row, name in enumerate(self.base_rates)}, self.verdicts.last[0]
        for key in keys:
            self._base_rate(key)
        counts, samples = self.carried, float(self.rate_samples or 1)
        answers = [counts.get(f"answers {name}", samples) for name in rows_of]
        correct = [counts.get(f"correct {name}", rate * samples) for name, rate in self.base_rates.items()]
        rates = PassRates(correct, answers)
        own_rows = torch.tensor([rows_of[key] for key in keys]).to(rewards)
        groups = in_groups(self, rewards, own_rows).cpu()
        rows, names = groups[:, 0, 1].long(), [*rows_of]
        rates.count(rows, groups[..., 0])
        for row in rows.tolist():
            counts[f"answers {names[row]}"] = rates.answers[row].item()
            counts[f"correct {names[row]}"] = rates.correct[row].item()
        weights = rates.weights(rows, power=self.args.rate_power).to(rewards)
        start = self.accelerator.process_index * len(rewards)
        return weights.repeat_interleave(self.num_generations)[start : start + len(rewards)]

    def _alpha_dpg(self, samples: dict[str, Any]) -> Tensor:
        keys, rewards = self.verdicts.last
        log_pi, log_ref = sequence_log_probs(samples)
        log_rates = torch.tensor([self._base_rate(key) for key in keys]).to(log_pi).log()
        # One sample per row, each beside its prompt's rate.
        arguments = (log_pi[:, None], log_ref[:, None], (rewards == 1)[:, None], log_rates)
        clip = self.args.ratio_clip
        if clip is not None:
            clipped = clipped_ratio_count(*arguments, ratio_clip=clip).to(log_pi)
            everywhere = self.accelerator.reduce(clipped, reduction="sum").item()
            self._metrics["train"]["alpha_dpg/clipped"].append(everywhere)
        return self._less_baseline(alpha_dpg_rewards(*arguments, self.args.alpha, ratio_clip=clip)[:, 0])

    def _sequence_kl(self, samples: dict[str, Any]) -> Tensor:
        log_pi, log_ref = sequence_log_probs(samples)
        rewards = self.verdicts.last[1].to(log_pi)
        penalty = self._coefficient(samples) * (log_pi - log_ref)
        if self.args.baseline in ("one", "none"):
            return self._less_baseline(rewards, self.args.baseline) - self._less_baseline(penalty)
        return self._less_baseline(rewards - penalty)

    def _coefficient(self, samples: dict[str, Any]) -> float:
        """KL coefficient beta of this batch: one step lower unless the mean excess KL exceeds its bound."""
        last, first, bound = self.args.online_beta, self.args.beta_from, self.args.excess_bound
        if first is None:
            return last
        fallen = self.carried.get("fallen", 0.0)
        beta = last * (first / last) ** max(1 - 2 * fallen / self.state.max_steps, 0.0)
        if bound is None or self._excess(samples) < bound:
            # In optimiser steps: a batch may have several.
            passes = self.args.steps_per_generation * self.num_iterations
            self.carried["fallen"] = fallen + passes / self.args.gradient_accumulation_steps
        self._metrics["train"]["online/beta"].append(beta)
        return beta

    def _excess(self, samples: dict[str, Any]) -> float:
        """Mean excess KL of about the last ten batches, from noisy estimates (entries `frontier`)."""
        groups, _ = measured_groups(self, self.verdicts, self.base_rates, samples)
        last = self.carried.get("excess", 0.0)
        if len(groups):
            excess = excess_of(groups, self.rate_samples).mean
            last = self.carried["excess"] = 0.9 * last + 0.1 * excess
        return last

    def _definition(self, samples: dict[str, Any]) -> Tensor:
        mask = samples["completion_mask"].bool()
        log_u = samples["old_per_token_logps"].double() - samples["ref_per_token_logps"].double()
        log_u = torch.where(mask, log_u, 0)
        # d/dpi of E_ref f(pi/ref) is E_pi[f'(u) grad log pi], and f'(u) = e^-x d/dx f(e^x). In the normalised
        # gauge f'(1) = 0, so the gradient vanishes where pi equals ref.
        slope = generator(declared(vars(self.args)), "normalised")(log_u)[1] * torch.exp(-log_u)
        return samples["advantages"][:, None] - self.args.eta * torch.where(mask, slope, 0)

    def _future_kl(self, samples: dict[str, Any]) -> Tensor:
        log_u = samples["old_per_token_logps"] - samples["ref_per_token_logps"]
        log_u = log_u * samples["completion_mask"]
        later = log_u.flip(1).cumsum(1).flip(1) - log_u
        return samples["advantages"][:, None] - self.beta * later

    def _base_rate(self, key: str) -> float:
        rate = self.base_rates.get(key)
        if rate is None or not 0 < rate <= 1:
            raise argument_error(
                f"base_rates[{key!r}]", rate, "a base pass rate in (0, 1] for every training prompt"
            )
        return rate
