"""The settings of DPH's trainer beside TRL's own, and which settings a training's course depends on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from trl import GRPOConfig

from dph_theory import DIVERGENCES
from dph_theory.losses import ADVANTAGE_BASELINES, LEVELS, REDUCTIONS
from dph_theory.support.errors import argument_error, choice

from ..recipe.law import RELEASED

ONLINE = ("none", "definition", "alpha_dpg", "sequence_kl", "scaled_kl", "future_kl")
_REFUSED = {
    "sync_ref_model": "base rates, laws and the collapse meter belong to the initial model, not a moving one",
    "fp16": "gradients of float16 vanish unless the loss is scaled, and the weights are to stay float32",
    "use_transformers_continuous_batching": "it turns the weights that train into 16-bit ones",
}
"""Settings of TRL that do not go with this trainer, and why."""


@dataclass
class DPHConfig(GRPOConfig):
    """GRPOConfig with the rehearsal: `eta` times `generator_loss` on `rehearsal_rows` rows a step.

    divergence is a name of `dph_theory.DIVERGENCES`, or "alpha" with alpha; gauge, level and reduction are
    those of `generator_loss`. ValueError for what these do not allow. Source: li2025choice.
    """

    eta: float = 0.0
    divergence: str = "forward_kl"
    alpha: float | None = None
    gauge: str | float = "printed"
    rehearsal_level: str = "token"
    rehearsal_reduction: str = "token_mean"
    rehearsal_rows: int = 512
    generation_rows: int | None = None
    """Rows that transformers generates at once on a device, with their keys and values; all unless given."""
    rehearsal_form: str = "generator"
    """`generator`, or one of RELEASED: the loss as the authors' code computes it."""
    two_backward: bool = False
    """The rehearsal's backward pass by itself, before the exploration's forward: less memory at the peak."""
    log_u_tolerance: float = 0.02
    """Above this, the largest |log u| before the first step is warned of: there u should be 1."""
    online: str = "none"
    """What `full_scale.training.trainer` puts in place of the advantages, from the reference at hand."""
    online_coefficient: float = 0.0
    """Of the penalty: eta of the definition form, beta of the sequence KL."""
    online_from: float | None = None
    """Of the sequence KL: beta at the first step, from which it falls geometrically to `online_coefficient`
    by the middle of the training. Each beta's law holds the base's proportions (theory G10)."""
    excess_bound: float | None = None
    """It falls on only while the excess KL (theory A8) of the last batches is under that, in nats."""
    baseline: str = "mean"
    """What is subtracted from rewards: "mean", the group's by TRL; "leave_one_out", that of the others;
    "one", so that only wrong answers are pushed, or "none", only right ones. One expected gradient, up to a
    factor; luck drives right answers apart least with "one" (theory G4)."""
    ratio_clip: float | None = None
    """Of alpha-DPG's ratio p_*/pi; off unless given, and counted."""
    collapse_every: int = 0
    """The collapse meter reads every so many generated batches; 0 is off."""
    step_in_logits: bool = False
    """Whether it measures the size of a step in logits too, and what luck explains: one more forward pass."""
    keep_moments: bool = False
    """Whether a finished run keeps its last checkpoint, from which it can be extended."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.eta < math.inf:
            raise argument_error("eta", self.eta, "a finite number, at least 0")
        self._check_rows_and_refused()
        for name, allowed in (
            ("rehearsal_level", LEVELS),
            ("rehearsal_reduction", REDUCTIONS),
            ("online", ONLINE),
            ("baseline", ADVANTAGE_BASELINES),
            ("rehearsal_form", ("generator", *RELEASED)),
            ("divergence", (*DIVERGENCES, "alpha")),
        ):
            choice(name, getattr(self, name), allowed)
        if self.online_from is not None and (
            self.online != "sequence_kl" or not self.online_from >= self.online_coefficient > 0
        ):
            raise argument_error(
                "online_from", self.online_from, "at least online_coefficient, with online=sequence_kl alone"
            )
        if self.excess_bound is not None and (self.online_from is None or not self.excess_bound > 0):
            raise argument_error("excess_bound", self.excess_bound, "above 0, with online_from")
        if self.baseline != "mean" and self.scale_rewards not in ("none", False):
            raise argument_error("baseline", self.baseline, "'mean' where scale_rewards divides the rewards")
        if self.baseline != "mean" and self.online == "alpha_dpg":
            raise argument_error(
                "baseline", self.baseline, "'mean' with alpha_dpg, whose rewards are no verdicts"
            )
        if (self.alpha is None) == (self.divergence == "alpha" or self.online == "alpha_dpg"):
            raise argument_error(
                "alpha", self.alpha, "a number for divergence='alpha' and alpha-DPG, none otherwise"
            )

    def _check_rows_and_refused(self) -> None:
        for name in ("rehearsal_rows", "generation_rows"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise argument_error(name, getattr(self, name), "at least one row")
        for name, why in _REFUSED.items():
            if getattr(self, name):
                raise argument_error(name, getattr(self, name), f"off: {why}")


_LEFT_OUT: Mapping[str, str] = {
    "where things lie, and what is sent where": """output_dir report_to run_name project trackio_space_id
    trackio_bucket_id trackio_static_space_id push_to_hub hub_token hub_private_repo hub_model_id hub_strategy
    hub_always_push hub_revision resume_from_checkpoint vllm_server_base_url vllm_server_host vllm_server_port
    vllm_server_timeout vllm_group_port vllm_gpu_memory_utilization vllm_enable_sleep_mode""",
    "what is said": """logging_strategy logging_steps logging_first_step log_on_each_node
    logging_nan_inf_filter include_num_input_tokens_seen log_level log_level_replica disable_tqdm debug
    skip_memory_metrics log_completions log_multimodal num_completions_to_print log_unique_prompts
    log_completions_hub_repo log_u_tolerance collapse_every step_in_logits""",
    "what is stored": """save_only_model save_strategy save_steps save_on_each_node save_total_limit
    enable_jit_checkpoint load_best_model_at_end metric_for_best_model greater_is_better keep_moments
    restore_callback_states_from_checkpoint""",
    "evaluation, whose random numbers are its own": """eval_strategy eval_steps eval_delay eval_on_start
    per_device_eval_batch_size prediction_loss_only eval_do_concat_batches eval_use_gather_object
    eval_accumulation_steps include_for_metrics batch_eval_metrics bf16_full_eval fp16_full_eval
    num_generations_eval do_train do_eval do_predict""",
    "how rows are brought, not which": """dataloader_num_workers dataloader_pin_memory
    dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
    remove_unused_columns label_names ignore_data_skip""",
    "the machine; numbers of processes and threads are compared by themselves": """use_cpu local_rank
    ddp_backend ddp_timeout ddp_bucket_cap_mb ddp_broadcast_buffers ddp_find_unused_parameters
    ddp_static_graph torch_empty_cache_steps ds3_gather_for_generation""",
    "the same values are computed again instead of kept": """gradient_checkpointing activation_checkpointing
    gradient_checkpointing_kwargs activation_checkpointing_kwargs two_backward use_cache""",
    "the length, compared by itself": "max_steps num_train_epochs",
}
"""Why fields of DPHConfig may differ between a run and its resumption."""

FREE = frozenset(name for names in _LEFT_OUT.values() for name in names.split())

_WITHOUT_END = ("constant", "constant_with_warmup")


def course(arguments: Any) -> dict[str, str]:
    """The settings that must be the same to resume, as text.

    The number of steps is among them where the learning rate depends on it; under a constant one a run may
    be made longer.
    """
    settings = {f.name: str(getattr(arguments, f.name)) for f in fields(arguments) if f.name not in FREE}
    settings["world_size"] = str(arguments.world_size)
    schedule = str(getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type))
    if schedule not in _WITHOUT_END or 0 < arguments.warmup_steps < 1:
        settings |= {name: str(getattr(arguments, name)) for name in ("max_steps", "num_train_epochs")}
    return settings


def threads() -> int:
    """How many threads torch computes with: sums in another number of parts end in other last bits."""
    return torch.get_num_threads()
