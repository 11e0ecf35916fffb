"""The initial model beside the trained one: log-probabilities of samples under both."""

from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer
from trl.models import prepare_deepspeed, prepare_fsdp
from trl.trainer.utils import add_fused_lm_head, use_adapter

from ..models.generation import evaluating
from ..models.load import load_model
from ..recipe.schema import ModelConfig


class OnlineReference:
    """The reference of a TRL trainer: its own if it has one, the base under the adapter, or a second model.

    The second model is loaded from the source of the trained one, in the same dtype.
    """

    def __init__(self, trainer: GRPOTrainer) -> None:
        self.trainer = trainer
        self.adapter = trainer.ref_model is None and hasattr(trainer.model, "disable_adapter")
        self.model = trainer.ref_model
        if self.model is None and not self.adapter:
            self.model = _second_model(trainer)

    def with_log_probs(self, samples: dict[str, Any]) -> dict[str, Any]:
        """Add `old_per_token_logps` and `ref_per_token_logps`, each (batch, tokens), to TRL's samples.

        The first are those of the current model, which has just generated them; existing values stay.
        """
        scored = under_policy(self.trainer, samples)
        if "ref_per_token_logps" not in scored:
            with evaluating(self.trainer.model):
                scored["ref_per_token_logps"] = self._reference(samples)
        return scored

    def _reference(self, samples: dict[str, Any]) -> Tensor:
        if not self.adapter:
            return log_probs(self.trainer, self.model, samples)
        peft = self.trainer.accelerator.unwrap_model(self.trainer.model)
        with use_adapter(peft, adapter_name="ref" if "ref" in peft.peft_config else None):
            return log_probs(self.trainer, self.trainer.model, samples)


def under_policy(trainer: GRPOTrainer, samples: dict[str, Any]) -> dict[str, Any]:
    """Add the current model's `old_per_token_logps` (batch, tokens) to TRL's samples, if missing."""
    if "old_per_token_logps" in samples:
        return dict(samples)
    with evaluating(trainer.model):
        return {**samples, "old_per_token_logps": log_probs(trainer, trainer.model, samples)}


def log_probs(trainer: GRPOTrainer, model: Any, samples: dict[str, Any]) -> Tensor:
    """Token log-probabilities of TRL's samples, whose prompts are padded left and completions right.

    `samples` has prompt_ids, prompt_mask (batch, prompt_tokens), completion_ids, completion_mask (batch,
    tokens); the rest is as in `last_log_probs`.
    """
    ids = torch.cat([samples["prompt_ids"], samples["completion_ids"]], dim=1)
    mask = torch.cat([samples["prompt_mask"], samples["completion_mask"]], dim=1)
    return last_log_probs(trainer, model, ids, mask, samples["completion_ids"].shape[1])


def last_log_probs(trainer: GRPOTrainer, model: Any, ids: Tensor, mask: Tensor, last: int) -> Tensor:
    """Log-probabilities of the `last` tokens of each row at the sampling temperature, (batch, last).

    The trainer's own helper computes them; `ids` and the attention `mask` are (batch, width). Without
    gradient the rows go in batches of the training's size.
    """
    size = None if torch.is_grad_enabled() else trainer.args.per_device_train_batch_size
    return trainer._get_per_token_logps_and_entropies(model, ids, mask, last, batch_size=size)[0]


def sequence_log_probs(samples: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Sequence log-probabilities (batch,) under the policy and the reference, float64."""
    mask = samples["completion_mask"] * samples.get("tool_mask", 1)
    policy, reference = (samples[f"{name}_per_token_logps"].double() for name in ("old", "ref"))
    return (policy * mask).sum(dim=1), (reference * mask).sum(dim=1)


def in_groups(trainer: GRPOTrainer, *columns: Tensor) -> Tensor:
    """Gather columns (batch,) of all processes as (groups, size, columns): a group may span processes."""
    rows = torch.stack(columns, dim=1).contiguous()
    return trainer.accelerator.gather(rows).unflatten(0, (-1, trainer.num_generations))


def _second_model(trainer: GRPOTrainer) -> Any:
    trained = trainer.model.config
    dtype: Any = str(trainer.model.dtype).removeprefix("torch.")
    model = load_model(ModelConfig(trained._name_or_path, dtype, trained._attn_implementation))
    model.config.pad_token_id = trained.pad_token_id
    cast = trainer.args.cast_lm_head_to_fp32
    add_fused_lm_head(model, temperature=trainer.temperature, cast_lm_head_to_fp32=cast)
    if trainer.is_deepspeed_enabled:
        return prepare_deepspeed(model, trainer.accelerator)
    if trainer.is_fsdp_enabled:
        return prepare_fsdp(model, trainer.accelerator)
    return trainer.accelerator.prepare_model(model, evaluation_mode=True)
