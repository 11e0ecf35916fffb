"""From a recipe to the arguments of its trainer: what `training.json` stores, and the trainer gets."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from dph_theory.losses import ADVANTAGE_BASELINES
from dph_theory.support.checking import typed_arguments
from dph_theory.support.errors import RefusedError, argument_error, choice

from ..presampling.result import Presampling
from ..recipe.folders import Folders
from ..recipe.methods import Setup, setup
from ..recipe.objective import DEFAULTS
from ..recipe.rehearsal import DEFINITION
from ..recipe.schema import Recipe
from ..recipe.settings import KINDS, SETTINGS

ONLINE = ("none", "alpha_dpg", "sequence_kl", "scaled_kl", "future_kl")
_REFUSED = {
    "sync_ref_model": "base rates, predictions and the collapse meter are of the initial model alone",
    "fp16": "gradients of float16 vanish unless the loss is scaled, and the weights are to stay float32",
    "use_transformers_continuous_batching": "it turns the weights that train into 16-bit ones",
}
"""Settings of TRL that do not go with this trainer, and why."""
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
    typed_arguments(KINDS, recipe.train, "train.", owner="GRPOConfig")
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
    mode, largest, corrected = ({**SETTINGS, **given}[name] for name in names)
    if not corrected:
        return ("vLLM's samples count as the trainer's: the run converges to one between the two.",)
    done = "left out" if mode.endswith("mask") else "counted as if it were that"
    return (
        "vLLM's samples are weighed by the trainer's probability over vLLM's (importance sampling, "
        f"{mode}); a ratio above {largest} is {done}: predictions hold as far as that favours no answer.",
    )


def check_settings(arguments: Mapping[str, Any]) -> None:
    """ValueError for what OnlineConfig refuses, of its arguments or those of them that are given."""
    given = {**SETTINGS, **arguments}
    choice("online", given["online"], ONLINE)
    choice("baseline", given["baseline"], ADVANTAGE_BASELINES)
    first, bound, rows, online = (
        given[name] for name in ("beta_from", "excess_bound", "generation_rows", "online")
    )
    by_mean, power, constant = given["divided_by_mean"], given["rate_power"], given["baseline"] != "mean"
    defined = given["eta"] > 0 and given["rehearsal_form"] == DEFINITION
    takes_alpha = "alpha" in (given["divergence"], online.removesuffix("_dpg"))
    undivided = given["scale_rewards"] in ("none", False)
    undivided_alone = undivided and not constant and online in ("none", "future_kl")
    other = "where another setting divides, or something else stands for the advantages"
    rules = {
        **{name: (not given[name], f"off: {why}") for name, why in _REFUSED.items()},
        "generation_rows": (rows is None or rows >= 1, "at least one row"),
        "online": (online == "none" or not defined, "none for rehearsal_form=definition"),
        "beta_from": (
            first is None or (online == "sequence_kl" and first >= given["online_beta"] > 0),
            "at least the beta that it falls to, of the KL of whole answers alone",
        ),
        "excess_bound": (bound is None or (first is not None and bound > 0), "above 0, with beta_from"),
        "baseline": (
            not constant or (undivided and online != "alpha_dpg"),
            "'mean' where scale_rewards divides the rewards, or alpha_dpg makes them other than 0 and 1",
        ),
        "divided_by_mean": (not by_mean or undivided_alone, f"False {other}"),
        "rate_power": (
            power == 0 or (0 < power <= 2 and undivided_alone and not by_mean),
            f"from 0 to 2, and 0 {other}",
        ),
        "alpha": (
            (given["alpha"] is not None) == takes_alpha,
            "a number for divergence='alpha' and alpha-DPG, none otherwise",
        ),
        "mask_truncated_completions": (
            (online == "none" and not defined) or not given["mask_truncated_completions"],
            "off: whole completions are compared",
        ),
    }
    for name, (fulfilled, allowed) in rules.items():
        if not fulfilled:
            raise argument_error(name, given[name], allowed)


_SPLIT_ANEW = "run dph presample --config ... with a {} presample.threshold"


def check_sets(recipe: Recipe, method: Setup, prompts: int, presampling: Presampling) -> None:
    """RefusedError unless D_exp fills a generated batch of `prompts`, and D_pef a rehearsal."""
    explored = presampling.trained(recipe.method.prompts)
    if not explored:
        raise RefusedError(f"nothing to explore, every prompt is in D_pef: {_SPLIT_ANEW.format('higher')}")
    if method.rehearses and not len(presampling.buffer):
        empty = f"D_pef is empty: {_SPLIT_ANEW.format('lower')}"
        raise RefusedError(f"nothing to rehearse: {presampling.no_rows if presampling.pef else empty}")
    if len(explored) < prompts:
        raise RefusedError(
            f"{len(explored)} prompts to explore are fewer than the {prompts} of one generated batch, and "
            "TRL drops the rest: lower train.generation_batch_size, or take more prompts"
        )


def few_prompts(a_step: float) -> list[str]:
    """What to say where a step explores so many prompts: of fewer than 4 many have no unequal rewards."""
    if a_step >= 4:
        return []
    return [
        f"A step explores {a_step:.2g} prompt{'s' if a_step > 1 else ''}, and teaches nothing where their "
        "answers are all right or all wrong: raise train.gradient_accumulation_steps."
    ]
