"""From a recipe to the arguments of its trainer: what `training.json` stores, and the trainer gets."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, get_type_hints

from dph_theory.support.checking import arguments as checked
from dph_theory.support.errors import argument_error

from ..recipe.folders import Folders
from ..recipe.methods import Setup, setup
from ..recipe.objective import DEFAULTS
from ..recipe.schema import Recipe
from .online import OnlineConfig, check_settings

_USUAL = {
    "save_strategy": "steps",
    # A share of the training: what a killed run loses at most.
    "save_steps": 0.1,
    "save_total_limit": 2,
    "logging_steps": 1,
    "report_to": "none",
    "disable_tqdm": True,
}
_OF_RECIPE = {
    **{name: f"sampling.{name}" for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")},
    "max_completion_length": "sampling.max_new_tokens",
    "generation_rows": "sampling.batch_size",
    "chat_template_kwargs": "model.template",
    "bf16": "model.dtype",
    "use_vllm": "sampling.backend",
    "vllm_gpu_memory_utilization": "sampling.vllm_memory_training",
    "vllm_max_model_length": "sampling.vllm_length",
    "vllm_tensor_parallel_size": "sampling.vllm_tensor_parallel",
    "seed": "seed",
}
"""Fields of OnlineConfig, and the key of a recipe that each comes from."""
_ELSEWHERE = {
    **_OF_RECIPE,
    "output_dir": "output",
    "fp16": "model.dtype",
    # They would sample in training alone what no other stage samples.
    **dict.fromkeys(("generation_kwargs", "vllm_structured_outputs_regex"), "the keys of sampling"),
    "reward_weights": "task.options.rewards",
}


def arguments(
    recipe: Recipe, base_rates: Sequence[float] = (), rewards: Mapping[str, float] = MappingProxyType({})
) -> Setup:
    """The arguments of OnlineConfig: the method's, the recipe's `train`, and what other parts of it decide.

    `base_rates` as in `methods.setup`; `rewards` are the weights of those beside correctness, by name.
    ValueError for a key of `train` that OnlineConfig does not know, with the nearest it does, or that another
    part of the recipe decides, for a value that is not of its type, and for a model in float16.
    """
    if recipe.model.dtype == "float16":
        allowed = "bfloat16 or float32 to train: gradients of float16 vanish unless the loss is scaled"
        raise argument_error("model.dtype", recipe.model.dtype, allowed)
    for key in recipe.train:
        if key in _ELSEWHERE:
            raise argument_error("train key", key, f"set {_ELSEWHERE[key]} instead")
    method = setup(recipe.method, base_rates, recipe.train)
    checked(get_type_hints(OnlineConfig), recipe.train, "train.", owner="GRPOConfig")
    vllm = recipe.sampling.backend == "vllm"
    merged = {
        **DEFAULTS,
        **_USUAL,
        **{name: attrgetter(key)(recipe) for name, key in _OF_RECIPE.items()},
        "min_p": recipe.sampling.min_p or None,
        "chat_template_kwargs": dict(recipe.model.template),
        "bf16": recipe.model.dtype == "bfloat16",
        **dict.fromkeys(("use_vllm", "vllm_enable_sleep_mode"), vllm),
        **method.arguments,
        "output_dir": str(Folders.of_recipe(recipe).checkpoints),
    }
    if rewards:
        merged["reward_weights"] = [1.0, *rewards.values()]
    check_settings(merged)
    return Setup(MappingProxyType(merged), (*method.notes, *_sampler_notes(merged)))


def _sampler_notes(given: Mapping[str, Any]) -> tuple[str, ...]:
    """What stands between the sampler's probabilities and the trainer's."""
    if not given["use_vllm"]:
        return ()
    names = [f"vllm_importance_sampling_{setting}" for setting in ("mode", "clip_max", "correction")]
    mode, largest, corrected = (given.get(name, getattr(OnlineConfig, name)) for name in names)
    if not corrected:
        return ("vLLM's samples count as the trainer's: the run converges to one between the two.",)
    done = "left out" if mode.endswith("mask") else "counted as if it were that"
    return (
        "vLLM's samples are weighed by the trainer's probability over vLLM's (importance sampling, "
        f"{mode}); a ratio above {largest} is {done}: predictions hold as far as that favours no answer.",
    )
