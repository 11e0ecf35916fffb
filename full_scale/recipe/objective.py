"""What a trainer's arguments optimise: TRL's, as `dph predict` reads them, and what OnlineConfig adds."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dph_theory.losses.kl_terms import KL_FORMS, KLTerm, term
from dph_theory.losses.objective import BY_MEAN, BY_RATE, DIVIDED, LEFT_OUT, Objective
from dph_theory.predict import configuration_of

from .rehearsal import DEFINITION, REHEARSAL, declared
from .settings import OWN, SETTINGS

_DECIDING = """beta use_bias_correction_kl scale_rewards loss_type num_generations entropy_coef baseline
    top_entropy_quantile reward_weights divided_by_mean rate_power online online_beta"""
DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {name: SETTINGS[name] for name in (*_DECIDING.split(), *REHEARSAL)}
)
"""What a trainer takes where it is given nothing else: the arguments that what it optimises depends on."""
_DIVIDED_KL = "penalised rewards are divided by a std that vanishes at the stationary policy"


def objective_of(arguments: Mapping[str, Any]) -> Objective:
    """What a training optimises, by its trainer's arguments (`DEFAULTS` where they lack one).

    TRL's own settings mean what `dph predict trl` says of them. A KL in the reward, and every baseline but
    the group's mean, weighs a correct answer by 1; the definition form penalises its own divergence. Raises
    ValueError for values that TRL does not have. Entries: `kl_estimators`, `forms_and_curvature`,
    `group_advantages`, `sampling_noise`.
    """
    given = {**DEFAULTS, **arguments}
    of_trl = {name: value for name, value in given.items() if name not in OWN}
    objective = configuration_of(of_trl, "trl").objective
    if given["rate_power"]:
        objective = replace(objective, advantage=BY_RATE)
    elif given["baseline"] != "mean" or given["divided_by_mean"]:
        objective = replace(objective, advantage=BY_MEAN if given["divided_by_mean"] else LEFT_OUT)
    kl: KLTerm | None = None
    if given["online"] in ("sequence_kl", "scaled_kl") and given["online_beta"]:
        kl, coefficient = KL_FORMS["sequence_kl"], given["online_beta"]
        divided = given["online"] == "scaled_kl"
        why = _DIVIDED_KL if divided else objective.unpredicted
        objective = replace(objective, advantage=DIVIDED if divided else LEFT_OUT, unpredicted=why)
    elif given["rehearsal_form"] == DEFINITION and given["eta"]:
        kl, coefficient = replace(term("definition"), declared=declared(given)), given["eta"]
    elif given["online"] == "future_kl" and given["beta"]:
        kl, coefficient = KL_FORMS["future_kl"], given["beta"]
    return objective if kl is None else replace(objective, term=kl, coefficient=float(coefficient))
