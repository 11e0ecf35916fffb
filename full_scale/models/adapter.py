"""The adapter that a recipe trains in place of the weights."""

from peft import LoraConfig

from dph_theory.support.errors import argument_error

from ..recipe.schema import ModelConfig


def adapter(config: ModelConfig) -> LoraConfig | None:
    """LoRA as `model.lora` asks for it, or none; ValueError for what peft's LoraConfig does not take."""
    if config.lora is None:
        return None
    try:
        return LoraConfig(task_type="CAUSAL_LM", **config.lora)
    except (TypeError, ValueError) as error:
        raise argument_error(
            "model.lora", dict(config.lora), f"arguments of peft's LoraConfig ({error})"
        ) from error
