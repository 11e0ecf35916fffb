"""Trainer arguments of a recipe, which `training.json` stores and the trainer gets."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from dph_theory.support.checking import typed_arguments
from dph_theory.support.errors import RefusedError, argument_error

from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import OF_RECIPE, Setup, setup
from ..recipe.objective import DEFAULTS
from ..recipe.schema import Recipe
from ..recipe.settings import KINDS, SETTINGS

_USUAL = {
    "save_strategy": "steps",
    # A fraction of the training: the most that a killed run loses.
    "save_steps": 0.1,
    "save_total_limit": 2,
    "logging_steps": 1,
    "report_to": "none",
    "disable_tqdm": True,
}


def arguments(
    recipe: Recipe, base_rates: Sequence[float] = (), rewards: Mapping[str, float] = MappingProxyType({})
) -> Setup:
    """Arguments of OnlineConfig: the method's, the recipe's `train`, and those that other parts of it decide.

    `base_rates` as in `methods.setup`; `rewards` are the weights of those beside correctness, by name. Raises
    ValueError for a key of `train` that OnlineConfig lacks (with the nearest one) or that another part of the
    recipe decides, for a value of another type, and for a model in float16.
    """
    if recipe.model.dtype == "float16":
        allowed = "bfloat16 or float32 to train: gradients of float16 vanish unless the loss is scaled"
        raise argument_error("model.dtype", recipe.model.dtype, allowed)
    method = setup(recipe.method, base_rates, recipe.train)
    typed_arguments(KINDS, recipe.train, "train.", owner="GRPOConfig")
    vllm = recipe.sampling.backend == "vllm"
    merged = {
        **DEFAULTS,
        **_USUAL,
        **{name: attrgetter(key)(recipe) for name, key in OF_RECIPE.items()},
        "min_p": recipe.sampling.min_p or None,
        "chat_template_kwargs": dict(recipe.model.template),
        "bf16": recipe.model.dtype == "bfloat16",
        **dict.fromkeys(("use_vllm", "vllm_enable_sleep_mode"), vllm),
        **method.arguments,
        "output_dir": str(Folders.of_recipe(recipe).checkpoints),
    }
    if rewards:
        merged["reward_weights"] = [1.0, *rewards.values()]
    return Setup(MappingProxyType(merged), (*method.notes, *_sampler_notes(merged)))


def _sampler_notes(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Notes on differences between the sampler's probabilities and the trainer's."""
    if not given["use_vllm"]:
        return ()
    names = [f"vllm_importance_sampling_{setting}" for setting in ("mode", "clip_max", "correction")]
    mode, largest, corrected = ({**SETTINGS, **given}[name] for name in names)
    if not corrected:
        return ("vLLM's samples count as the trainer's: the run converges to one between the two.",)
    done = "left out" if mode.endswith("mask") else "counted as if it were that"
    return (
        "vLLM's samples are weighed by the trainer's probability over vLLM's (importance sampling, "
        f"{mode}); a ratio above {largest} is {done}: predictions hold as far as that favours no answer.",
    )


_SPLIT_ANEW = "run dph presample --config ... with a {} presample.threshold"


def check_sets(recipe: Recipe, method: Setup, prompts: int, presampling: Presampling) -> None:
    """Raise RefusedError unless unsolved prompts fill a batch of `prompts`, and solved ones a rehearsal."""
    explored = presampling.trained(recipe.method.prompts)
    if not explored:
        raise RefusedError(f"nothing to train, every prompt is solved: {_SPLIT_ANEW.format('higher')}")
    if method.rehearses and not len(presampling.buffer):
        empty = f"no solved prompts: {_SPLIT_ANEW.format('lower')}"
        raise RefusedError(f"nothing to rehearse: {presampling.no_rows if presampling.pef else empty}")
    if len(explored) < prompts:
        raise RefusedError(
            f"{len(explored)} unsolved prompts are fewer than the {prompts} of one generated batch, and "
            "TRL drops the rest: lower train.generation_batch_size, or take more prompts"
        )


def few_prompts(a_step: float) -> list[str]:
    """Warnings if a step trains fewer than 4 prompts (`a_step`): often no group has unequal rewards."""
    if a_step >= 4:
        return []
    return [
        f"A step trains {a_step:.2g} prompt{'s' if a_step > 1 else ''}, and teaches nothing where their "
        "answers are all correct or all incorrect: raise train.gradient_accumulation_steps."
    ]
