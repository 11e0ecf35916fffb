"""What a user may type by mistake: every public function answers, or names the argument at fault.

`CALLS` has the arguments with which each function answers. Each argument in turn is any of `HOSTILE`, and what
comes is an answer or an error that names an argument; `REFUSED` says of single mistakes what the error says:
the argument, its value, and what is allowed.
"""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from inspect import signature

import numpy as np
import pytest

import dph_theory
from dph_theory import FORWARD_KL, HELLINGER, JENSEN_SHANNON, TOTAL_VARIATION, TabularMDP, dynamics, laws
from dph_theory.binary_reward import mu_by_forward_kl, with_validity
from dph_theory.coverage import exact_pass_at_k, expected_distinct_valid
from dph_theory.divergences import alpha_divergence
from dph_theory.dynamics.decision import natural_gradient, orbit, plain_gradient, uniform_on_likeliest
from dph_theory.estimators import K1, K3, alpha_dpg_reward
from dph_theory.grpo import grpo_round, next_log_odds
from dph_theory.improvement import pinsker_constant, rehearsal_guarantee, stated_bound
from dph_theory.intervals import mean_interval, probability_interval
from dph_theory.meter import lead_time
from dph_theory.numeric.arrays import distribution, mask, positive, probability, rate, real, together, whole
from dph_theory.references import Source
from dph_theory.restricted import critical_beta, projection
from dph_theory.strategies import shared_pass_at_k, trained_pass_at_k
from dph_theory.tokens import sequence_divergence, token_divergence
from dph_theory.verification.reports import Settings
from dph_theory.verification.run import select

LAW, BASE, VALID = [0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [1, 0, 0]
TREE = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
ANSWERS = np.array([[True, False], [True, False]])
IN_TREE = {"base": TREE, "valid": ANSWERS}
TYPES = {"q": [0.4, 0.6], "rho": [0.5, 0.5], "success": [[1, 0], [0, 1]], "k": 3}
WITH_DIVERGENCE = {"beta": 0.5, "divergence": FORWARD_KL}
DRIFT = {"base_rate": 0.3, "reached": 0.9, "valid": 2, "invalid": 8, "step": 0.02, "answers": 64}
MDP = {"P": np.full((2, 2, 2), 0.5), "r": np.zeros((2, 2)), "gamma": 0.5, "rho0": [0.5, 0.5]}
UNIFORM = np.full((2, 2), 0.5)
"""A policy of that decision process."""
TRAINING = {"steps": [0, 10, 20], "excess": [0.0, 1.0, 2.0], "coverage": [1.0, 0.9, 0.8], "rise": 0.1, "fall": 0.1}
CALLS = {
    dph_theory.tilted: {"base": BASE, "valid": VALID, "beta": 0.5},
    dph_theory.filtered: {"base": BASE, "valid": VALID},
    dph_theory.with_validity: {"mu": 0.5, "base": BASE, "valid": VALID},
    dph_theory.valid_mass: {"policy": LAW, "valid": VALID},
    dph_theory.mu_from_beta: {"base_rate": 0.25, "beta": 0.5},
    dph_theory.beta_from_mu: {"base_rate": 0.25, "mu": 0.5},
    dph_theory.log_partition: {"base_rate": 0.25, "beta": 0.5},
    dph_theory.kappa: {"mu": 0.5, "base_rate": 0.25},
    dph_theory.mean_validity: {"base_rates": [0.2, 0.4], "beta": 0.5},
    dph_theory.beta_for_mean_validity: {"base_rates": [0.2, 0.4], "mu": 0.5},
    dph_theory.excess_kl: {"policy": LAW, "base": BASE, "valid": VALID},
    dph_theory.pass_at_k: {"n": 10, "c": 3, "k": 4},
    dph_theory.exact_pass_at_k: {"p": 0.3, "k": 4},
    dph_theory.expected_distinct_valid: {"q": LAW, "valid": VALID, "k": 4},
    dph_theory.mu_by_forward_kl: {"base_rate": 0.25, "eta": 0.5},
    dph_theory.alpha_divergence: {"alpha": 0.5},
    dph_theory.rehearsal_guarantee: {"kl": 0.5, "reference_return": 0.9},
    FORWARD_KL: {"pi": LAW, "ref": BASE},
    FORWARD_KL.gradient: {"pi": LAW, "ref": BASE},
    sequence_divergence: {"divergence": FORWARD_KL, "pi_tokens": TREE, "ref_tokens": TREE},
    token_divergence: {"divergence": FORWARD_KL, "pi_tokens": TREE, "ref_tokens": TREE},
    alpha_dpg_reward: {"pi": LAW, "base": BASE, "valid": VALID, "alpha": 0.5},
    plain_gradient: {"theta": [1.0, 0.0, 2.0], "valid": VALID},
    natural_gradient: {"theta": [1.0, 0.0, 2.0], "valid": VALID},
    orbit: {"base": BASE, "valid": VALID, "left": 0.5},
    uniform_on_likeliest: {"base": BASE, "valid": VALID},
    projection: {"family": [LAW, BASE], "base": BASE, "valid": VALID, "beta": 0.5},
    critical_beta: {"family": [LAW, BASE], "base": BASE, "valid": VALID},
    grpo_round: {"policy": LAW, "base": BASE, "valid": VALID, "beta": 0.5},
    next_log_odds: {"start": -1.0, "beta": 0.5, "log_odds": 0.0},
    shared_pass_at_k: TYPES,
    trained_pass_at_k: {**TYPES, "gain": 2.0},
    mean_interval: {"values": [0.1, 0.3], "confidence": 0.9},
    probability_interval: {"values": [0.1, 0.3], "confidence": 0.9},
    lead_time: TRAINING,
    laws.validity_at: {"base_rate": 0.25, **WITH_DIVERGENCE},
    laws.beta_at: {"base_rate": 0.25, "validity": 0.5, "divergence": FORWARD_KL},
    laws.group_weight: {"group_size": 8, "validity": 0.3, "scale": "std"},
    laws.group_objective: {"group_size": 8, "validity": 0.3, "scale": "std"},
    laws.best_response: {"reference": LAW, "value": [1.0, 0.0, 0.5], "beta": 0.5},
    laws.token_law: IN_TREE | WITH_DIVERGENCE,
    laws.sequence_law: IN_TREE | WITH_DIVERGENCE,
    laws.filtered_law: IN_TREE,
    laws.locally_filtered: IN_TREE,
    laws.token_forward_limit: IN_TREE,
    laws.answer_mean_limit: {**IN_TREE, "lengths": [[1, 2], [2, 2]]},
    laws.law_validity: {"law": TREE, "valid": ANSWERS},
    laws.valid_answer_shares: {"law": TREE, "valid": ANSWERS},
    laws.law_divergence: {"law": TREE, "reference": TREE},
    laws.effective_beta: {"beta": 0.5, "false_positive": 0.05, "false_negative": 0.2},
    laws.normalised_validities: {"base_rate": 0.25, "beta": 0.5, "group_size": 8},
    laws.normalised_validity_at: {"base_rate": 0.25, "beta": 0.5, "group_size": 8},
    dynamics.drift_deviation: DRIFT,
    dynamics.excess_by_luck: DRIFT,
    dynamics.spread_at_law: {"base_rate": 0.7, "beta": 0.5, "form": "k2", "step": 0.2, "answers": 8},
    dynamics.flow: {**IN_TREE, "times": [1.0], "form": "k2", "beta": 0.5},
    dynamics.saturation: {"deviation": 0.5},
}
HOSTILE = (
    "a", "", None, float("nan"), float("inf"), -float("inf"), -1.0, -1, 0, 0.0, 1, 2.5, 1e308, 10**30, True,
    1j, [], [[]], {}, [1.0], [0.5, 0.6], [0.5, float("nan")], ["a", "b"], [[0.5, 0.5], [0.5]],
    np.zeros((2, 0)), object(), len,
)  # fmt: skip


def told(function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def unnamed() -> Iterator[str]:
    """The calls with one bad value that end with neither an answer nor a ValueError naming an argument."""
    warnings.simplefilter("ignore")
    for function, good in CALLS.items():
        function(**good)
        names = tuple(signature(function).parameters)
        for name in good:
            for value in HOSTILE:
                try:
                    function(**{**good, name: value})
                except ValueError as error:
                    if not any(other in str(error) for other in names):
                        yield f"{told(function)}({name}={value!r}): {error}"
                except Exception as error:
                    yield f"{told(function)}({name}={value!r}): {error!r:.120}"


def test_hostile_values_are_answered_or_named():
    # In a process of its own: the shape checks of these tests would stop the calls before the functions do.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == []


if __name__ == "__main__":
    sys.stdout.write("\n".join(unnamed()))
