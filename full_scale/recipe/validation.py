"""Validation of combinations of the trainer's settings, for recipes and for OnlineConfig alike."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dph_theory.divergences import named
from dph_theory.losses import ADVANTAGE_BASELINES, LEVELS, REDUCTIONS
from dph_theory.support.errors import argument_error, choice

from .rehearsal import DEFINITION, RELEASED
from .settings import SETTINGS

_CHOICES = {
    "online": ("none", "alpha_dpg", "sequence_kl", "future_kl"),
    "baseline": ADVANTAGE_BASELINES,
    "rehearsal_level": LEVELS,
    "rehearsal_reduction": REDUCTIONS,
    "rehearsal_form": ("generator", *RELEASED, DEFINITION),
}
_ROWS = ("rehearsal_rows", "generation_rows")
_REFUSED = {
    "sync_ref_model": "base rates, predictions and the collapse meter are of the initial model alone",
    "fp16": "gradients of float16 vanish unless the loss is scaled, and the weights are to stay float32",
    "use_transformers_continuous_batching": "it turns the weights that train into 16-bit ones",
}
"""TRL settings that must be off, with the reason."""


def check_settings(arguments: Mapping[str, Any], keys: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise ValueError for the first argument of OnlineConfig that is not allowed beside the others.

    Missing arguments have their defaults. `keys` maps arguments to the recipe's keys, for the error message.
    """
    given = {**SETTINGS, **arguments}
    for name, names in _CHOICES.items():
        choice(keys.get(name, name), given[name], names)
    if given["divergence"] != "alpha":
        named(given["divergence"])
    for name, (fulfilled, allowed) in _rules(given).items():
        if not fulfilled:
            raise argument_error(keys.get(name, name), given[name], allowed)


def _rules(given: Mapping[str, Any]) -> dict[str, tuple[bool, str]]:
    """For each argument: True if its value fits the others, and words for the values that would fit."""
    first, bound, online, power = (given[n] for n in ("beta_from", "excess_bound", "online", "rate_power"))
    constant, by_mean = given["baseline"] != "mean", given["divided_by_mean"]
    undivided = given["scale_rewards"] in ("none", False)
    undivided_alone = undivided and not constant and online in ("none", "future_kl")
    defined = given["eta"] > 0 and given["rehearsal_form"] == DEFINITION
    takes_alpha = "alpha" in (given["divergence"], online.removesuffix("_dpg"))
    other = "if another setting divides, or replaces the advantages"
    return {
        **{name: (not given[name], f"off: {why}") for name, why in _REFUSED.items()},
        "eta": (0 <= given["eta"] < float("inf"), "a finite number, at least 0"),
        **{name: (given[name] is None or given[name] >= 1, "at least one row") for name in _ROWS},
        "online": (online == "none" or not defined, "none for rehearsal_form=definition"),
        "beta_from": (
            first is None or (online == "sequence_kl" and first >= given["online_beta"] > 0),
            "at least beta, and only with the KL of whole answers",
        ),
        "excess_bound": (bound is None or (first is not None and bound > 0), "above 0, with beta_from"),
        "baseline": (
            not constant or (undivided and not by_mean and online != "alpha_dpg"),
            "'mean' if rewards are divided, or if alpha_dpg changes them from 0 and 1",
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
