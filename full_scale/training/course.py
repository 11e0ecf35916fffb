"""Which settings a training's course depends on: what must be the same to resume it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch

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
    export_float32 restore_callback_states_from_checkpoint""",
    "evaluation, whose random numbers are its own": """eval_strategy eval_steps eval_delay eval_on_start
    per_device_eval_batch_size prediction_loss_only eval_do_concat_batches eval_use_gather_object
    eval_accumulation_steps include_for_metrics batch_eval_metrics bf16_full_eval fp16_full_eval
    num_generations_eval do_train do_eval do_predict""",
    "how rows are brought, not which": """dataloader_num_workers dataloader_pin_memory
    dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
    remove_unused_columns label_names ignore_data_skip""",
    "the machine; the number of threads is compared by itself": """use_cpu local_rank
    ddp_backend ddp_timeout ddp_bucket_cap_mb ddp_broadcast_buffers ddp_find_unused_parameters
    ddp_static_graph torch_empty_cache_steps ds3_gather_for_generation""",
    "the same values are computed again instead of kept": """gradient_checkpointing activation_checkpointing
    gradient_checkpointing_kwargs activation_checkpointing_kwargs two_backward use_cache""",
    "the length, compared by itself": "max_steps num_train_epochs",
    "how an optimizer step is cut; its rollouts are compared": """per_device_train_batch_size
    gradient_accumulation_steps steps_per_generation""",
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
    # How many processes and micro-steps an optimizer step is cut into moves it by rounding alone.
    cut = arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps
    settings["rollouts a step"] = str(cut * arguments.world_size)
    schedule = str(getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type))
    if schedule not in _WITHOUT_END or 0 < arguments.warmup_steps < 1:
        settings |= {name: str(getattr(arguments, name)) for name in ("max_steps", "num_train_epochs")}
    return settings


def threads() -> int:
    """How many threads torch computes with: sums in another number of parts end in other last bits."""
    return torch.get_num_threads()
