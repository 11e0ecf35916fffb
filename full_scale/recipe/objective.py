"""The objective of a training, derived from its trainer's arguments (TRL's and those of OnlineConfig)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dph_theory.losses.kl_terms import KL_FORMS, KLTerm, term
from dph_theory.losses.objective import (
    BY_MEAN,
    BY_RATE,
    CENTRED,
    DIVIDED,
    DIVIDED_BY_BATCH,
    LEFT_OUT,
    REASONS,
    TRL_LOSS_TYPES,
    Objective,
)
from dph_theory.support.errors import argument_error, choice

from .rehearsal import DEFINITION, declared
from .settings import SETTINGS

_DECIDING = """beta use_bias_correction_kl scale_rewards loss_type num_generations entropy_coef baseline
    top_entropy_quantile reward_weights divided_by_mean rate_power online online_beta
    divergence alpha eta gauge rehearsal_form rehearsal_level rehearsal_reduction"""
DEFAULTS: Mapping[str, Any] = MappingProxyType({name: SETTINGS[name] for name in _DECIDING.split()})
"""Defaults of the arguments on which the objective depends."""
UNREAD = (
    "delta",
    "off_policy_mask_threshold",
    "use_liger_kernel",
    "repetition_penalty",
    "generation_kwargs",
    "use_adaptive_entropy",
    "multi_objective_aggregation",
    "router_aux_loss_coef",
    "label_smoothing_factor",
    "neftune_noise_alpha",
    "max_tool_calling_iterations",
    "vllm_structured_outputs_regex",
)
"""TRL settings whose objective is known only for the default value."""
_SCALES = {"group": DIVIDED, "true": DIVIDED, "batch": DIVIDED_BY_BATCH, "none": CENTRED, "false": CENTRED}


def objective_of(arguments: Mapping[str, Any]) -> Objective:
    """Derive the objective of a training from its trainer's arguments; missing arguments have their defaults.

    A KL in the reward, and every baseline other than the group's mean, give correct answers the weight 1. The
    definition form penalises its own divergence. Entries: `kl_estimators`, `forms_and_curvature`,
    `group_advantages`, `sampling_noise`.

    Raises:
        ValueError: If a value is not one of TRL's.
    """
    given = {**SETTINGS, **{name: value for name, value in arguments.items() if value is not None}}
    objective = _of_trl(given)
    if given["rate_power"]:
        objective = replace(objective, advantage=BY_RATE)
    elif given["baseline"] != "mean" or given["divided_by_mean"]:
        objective = replace(objective, advantage=BY_MEAN if given["divided_by_mean"] else LEFT_OUT)
    kl: KLTerm | None = None
    if given["online"] == "sequence_kl" and given["online_beta"]:
        kl, coefficient = KL_FORMS["sequence_kl"], given["online_beta"]
        objective = replace(objective, advantage=LEFT_OUT)
    elif given["rehearsal_form"] == DEFINITION and given["eta"]:
        kl, coefficient = replace(term("definition"), declared=declared(given)), given["eta"]
    elif given["online"] == "future_kl" and given["beta"]:
        kl, coefficient = KL_FORMS["future_kl"], given["beta"]
    return objective if kl is None else replace(objective, term=kl, coefficient=float(coefficient))


def _of_trl(given: Mapping[str, Any]) -> Objective:
    """Derive the objective of TRL's own settings."""
    scale = str(given["scale_rewards"]).lower()
    choice("scale_rewards", scale, _SCALES)
    choice("loss_type", given["loss_type"], TRL_LOSS_TYPES)
    if not given["beta"] >= 0:
        raise argument_error("beta", given["beta"], "a number, at least 0")
    corrected = "answer ratio" if given["importance_sampling_level"] == "sequence" else "ratio"
    kl = term(corrected if given["use_bias_correction_kl"] else "loss")
    undecided = [f"{name}={given[name]} (not read)" for name in UNREAD if given[name] != SETTINGS[name]]
    reasons = [f"nothing is predicted: {', '.join(undecided)}"] if undecided else _reasons(given, kl)
    accumulated, rows = given["gradient_accumulation_steps"], given["per_device_train_batch_size"]
    answers = given["steps_per_generation"] or (given["generation_batch_size"] or 0) / rows or accumulated
    mode = given["vllm_importance_sampling_mode"]
    corrected_by = mode if given["vllm_importance_sampling_correction"] else "nothing"
    return Objective(
        _SCALES[scale],
        group_size=given["num_generations"],
        term=kl,
        coefficient=float(given["beta"]),
        reduction=TRL_LOSS_TYPES[given["loss_type"]],
        updates=given["num_iterations"] * max(1.0, answers / accumulated),
        sampler=f"vLLM, corrected by {corrected_by}" if given["use_vllm"] else "the policy itself",
        unpredicted=next(iter(reasons), ""),
        undecided=tuple(undecided),
    )


def _reasons(given: Mapping[str, Any], kl: KLTerm) -> Iterator[str]:
    """Yield the reasons why the stationary policy is unknown, the decisive ones first."""
    penalised = given["beta"] > 0
    truncated = given["top_p"] < 1 or 0 < given["top_k"] < 1e5 or given["min_p"]
    weights = [weight for weight in given["reward_weights"] or () if weight]
    advantage = _SCALES[str(given["scale_rewards"]).lower()]
    reasons = {
        REASONS["quantile"].format(given["top_entropy_quantile"]): given["top_entropy_quantile"] < 1,
        kl.unknown: penalised,
        advantage.unknown: True,
        REASONS["truncation"]: penalised and truncated,
        REASONS["reference"]: penalised and given["sync_ref_model"],
        REASONS["masks"]: penalised and given["mask_truncated_completions"],
        REASONS["rewards"]: weights not in ([], [1.0]),
        REASONS["entropy"]: given["entropy_coef"],
    }
    return (reason for reason, holds in reasons.items() if reason and holds)
