"""What a user may type by mistake: every public function answers, or names the argument at fault."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from inspect import signature

import numpy as np

import dph_theory
from dph_theory import FORWARD_KL, dynamics, laws
from dph_theory.binary_reward import mu_by_forward_kl
from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import alpha_divergence
from dph_theory.dynamics.decision import natural_gradient, orbit, plain_gradient, uniform_on_likeliest
from dph_theory.grpo import grpo_round, next_log_odds
from dph_theory.restricted import critical_beta, projection
from dph_theory.strategies import shared_pass_at_k, trained_pass_at_k
from dph_theory.tokens import sequence_divergence, token_divergence

LAW, BASE, VALID = [0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [1, 0, 0]
TREE = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
ANSWERS = [[True, False], [True, False]]
TYPES = {"q": [0.4, 0.6], "rho": [0.5, 0.5], "success": [[1, 0], [0, 1]], "k": 3}
CALLS = [
    (dph_theory.tilted, {"base": BASE, "valid": VALID, "beta": 0.5}),
    (dph_theory.filtered, {"base": BASE, "valid": VALID}),
    (dph_theory.mu_from_beta, {"base_rate": 0.25, "beta": 0.5}),
    (dph_theory.beta_from_mu, {"base_rate": 0.25, "mu": 0.5}),
    (dph_theory.kappa, {"mu": 0.5, "base_rate": 0.25}),
    (dph_theory.excess_kl, {"policy": LAW, "base": BASE, "valid": VALID}),
    (dph_theory.pass_at_k, {"n": 10, "c": 3, "k": 4}),
    (exact_pass_at_k, {"p": 0.3, "k": 4}),
    (mu_by_forward_kl, {"base_rate": 0.25, "eta": 0.5}),
    (alpha_divergence, {"alpha": 0.5}),
    (sequence_divergence, {"divergence": FORWARD_KL, "pi_tokens": TREE, "ref_tokens": TREE}),
    (token_divergence, {"divergence": FORWARD_KL, "pi_tokens": TREE, "ref_tokens": TREE}),
    (plain_gradient, {"theta": [1.0, 0.0, 2.0], "valid": VALID}),
    (natural_gradient, {"theta": [1.0, 0.0, 2.0], "valid": VALID}),
    (orbit, {"base": BASE, "valid": VALID, "left": 0.5}),
    (uniform_on_likeliest, {"base": BASE, "valid": VALID}),
    (projection, {"family": [LAW, BASE], "base": BASE, "valid": VALID, "beta": 0.5}),
    (critical_beta, {"family": [LAW, BASE], "base": BASE, "valid": VALID}),
    (grpo_round, {"policy": LAW, "base": BASE, "valid": VALID, "beta": 0.5}),
    (next_log_odds, {"start": -1.0, "beta": 0.5, "log_odds": 0.0}),
    (shared_pass_at_k, TYPES),
    (trained_pass_at_k, {**TYPES, "gain": 2.0}),
    (laws.validity_at, {"base_rate": 0.25, "beta": 0.5, "divergence": FORWARD_KL}),
    (laws.beta_at, {"base_rate": 0.25, "validity": 0.5, "divergence": FORWARD_KL}),
    (laws.group_weight, {"group_size": 8, "validity": 0.3, "scale": "std"}),
    (laws.best_response, {"reference": LAW, "value": [1.0, 0.0, 0.5], "beta": 0.5}),
    (laws.token_law, {"base": TREE, "valid": ANSWERS, "beta": 0.5, "divergence": FORWARD_KL}),
    (laws.sequence_law, {"base": TREE, "valid": ANSWERS, "beta": 0.5, "divergence": FORWARD_KL}),
    (laws.filtered_law, {"base": TREE, "valid": ANSWERS}),
    (laws.locally_filtered, {"base": TREE, "valid": ANSWERS}),
    (laws.effective_beta, {"beta": 0.5, "false_positive": 0.05, "false_negative": 0.2}),
    (laws.answer_mean_limit, {"base": TREE, "valid": ANSWERS, "lengths": [[1, 2], [2, 2]]}),
    (
        dynamics.drift_deviation,
        {"base_rate": 0.3, "reached": 0.9, "valid": 2, "invalid": 8, "step": 0.02, "answers": 64},
    ),
    (dynamics.spread_at_law, {"base_rate": 0.7, "beta": 0.5, "form": "k2", "step": 0.2, "answers": 8}),
    (dynamics.flow, {"base": TREE, "valid": ANSWERS, "times": [1.0], "form": "k2", "beta": 0.5}),
    (dynamics.saturation, {"deviation": 0.5}),
    (laws.tempered, {"tables": TREE, "temperature": 0.7}),
    (laws.truncated, {"tables": TREE, "top_p": 0.9, "top_k": 1, "min_p": 0.1}),
    (laws.law_at_temperature, {"base": TREE, "valid": ANSWERS, "beta": 0.5, "temperature": 0.7}),
    (laws.law_after_resets, {"base": TREE, "valid": ANSWERS, "beta": 0.5, "rounds": 2, "mixup": 0.5}),
    (laws.rewarded_law, {"base": TREE, "rewards": [[1.0, 0.5], [1.5, 0.0]], "beta": 0.5}),
    (laws.masked_law, {"base": BASE, "valid": VALID, "finished": [1, 1, 0], "beta": 0.5}),
    (laws.best_beta, {"base_rate": 0.2, "hacks": 0.01, "false_positive": 0.05, "false_negative": 0.1}),
    (dynamics.largest_stable_step, {"base": BASE, "valid": VALID, "beta": 0.5, "stale": 4}),
    (dynamics.flow, {"base": TREE, "valid": ANSWERS, "times": [1.0], "step": 0.5}),
    (dynamics.Rollouts, {"correction": "token", "cap": 2.0, "stale": 1}),
    (laws.normalised_validities, {"base_rate": 0.25, "beta": 0.5, "group_size": 8}),
]
HOSTILE = (
    "a", "", None, float("nan"), float("inf"), -float("inf"), -1.0, -1, 0, 0.0, 1, 2.5, 1e308, 10**30, True,
    1j, [], [[]], {}, [1.0], [0.5, 0.6], [0.5, float("nan")], ["a", "b"], [[0.5, 0.5], [0.5]],
    np.zeros((2, 0)), object(), len,
)  # fmt: skip


def unnamed() -> Iterator[str]:
    """The calls with one bad value that end with neither an answer nor a ValueError naming an argument."""
    warnings.simplefilter("ignore")
    for function, good in CALLS:
        function(**good)
        names = tuple(signature(function).parameters)
        for name in good:
            for value in HOSTILE:
                try:
                    function(**{**good, name: value})
                except ValueError as error:
                    if not any(other in str(error) for other in names):
                        yield f"{function.__name__}({name}={value!r}): {error}"
                except Exception as error:
                    yield f"{function.__name__}({name}={value!r}): {error!r:.120}"


def test_hostile_values_are_answered_or_named():
    # In a process of its own: the shape checks of these tests would stop the calls before the functions do.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == []


if __name__ == "__main__":
    sys.stdout.write("\n".join(unnamed()))
