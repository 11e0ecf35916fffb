"""Exact evaluation of an enumerated law: Pass@k, styles, retention, the collapse meter, the guarantee."""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float

from dph_theory import (
    FORWARD_KL,
    exact_pass_at_k,
    excess_kl,
    expected_distinct_valid,
    filtered,
    rehearsal_guarantee,
    valid_mass,
)
from dph_theory.coverage import entropy
from dph_theory.losses import ExcessKLEstimate, excess_kl_estimate

from .samples import Samples
from .tasks import STYLES, StylesTask
from .transformer import ResponseLaw

KS = tuple(2**power for power in range(9))
"""The k of Pass@k: 1, 2, 4, ..., 256."""
STYLE_SAMPLES = 32
SOLVED_K, SOLVED = 16, 0.9
"""A prompt counts as solved where Pass@16 is at least 0.9."""


class Yardstick(NamedTuple):
    """What policies are measured against: the base's law on some prompts, and what these accept."""

    base: Float[np.ndarray, "prompts outcomes"]
    valid: Bool[np.ndarray, "prompts outcomes"]
    prompts: torch.Tensor

    def law(self, law: ResponseLaw) -> Float[np.ndarray, "prompts outcomes"]:
        """A policy's probabilities on these prompts."""
        return law.joint()[self.prompts].exp().numpy()


def yardstick(base: ResponseLaw, task: StylesTask, prompts: torch.Tensor) -> Yardstick:
    """The yardstick of the prompts with these indices."""
    return Yardstick(base.joint()[prompts].exp().numpy(), task.valid[prompts].numpy(), prompts)


def on_the_way(
    law: ResponseLaw, samples: Samples, train: Yardstick, rehearsed: Yardstick
) -> dict[str, float]:
    """One point of a training curve; every number a mean over prompts, exact but for `excess_estimate`.

    Pass@1, 8 and 16, style entropy (nats), KL(pi || base) and the parts of its excess (theory A8), the
    meter as a run without enumeration would estimate it from its groups, and on the rehearsed prompts the
    pass rate, its guarantee exp(-KL(p_* || pi)) and their least difference (theory C4).
    """
    policy = train.law(law)
    rates, parts = valid_mass(policy, train.valid), excess_kl(policy, train.base, train.valid)
    estimate = _meter(samples, train)
    floor, passed = guarantee(law, rehearsed)
    numbers = {
        **{f"pass_at_{k}": exact_pass_at_k(rates, k) for k in (1, 8, 16)},
        "style_entropy": entropy(styles(policy)),
        "kl": parts.total,
        "excess": parts.excess,
        "excess_valid": parts.valid,
        "excess_estimate": estimate.mean.numpy(),
        "excess_estimate_error": estimate.mean_standard_error.numpy(),
        "guarantee": floor,
        "rehearsed_pass": passed,
    }
    means = {name: float(values.mean()) for name, values in numbers.items()}
    return means | {"guarantee_margin": float((passed - floor).min())}


def at_the_end(law: ResponseLaw, by: Yardstick) -> dict[str, Any]:
    """Pass@k for k in KS, styles over 32 samples, and which prompts are still solved or newly solved.

    `retention` is the share solved among the prompts that the base solves, `exploration` among the others;
    None where there are none. See SOLVED.
    """
    policy = by.law(law)
    rates, base_rates = valid_mass(policy, by.valid), valid_mass(by.base, by.valid)
    solved, before = (exact_pass_at_k(r, SOLVED_K) >= SOLVED for r in (rates, base_rates))
    shares = styles(policy)
    every = np.ones_like(shares, dtype=bool)
    return {
        "pass_at_k": [float(exact_pass_at_k(rates, k).mean()) for k in KS],
        "style_entropy": float(entropy(shares).mean()),
        "distinct_styles": float(expected_distinct_valid(shares, every, STYLE_SAMPLES).mean()),
        "style_histogram": (STYLE_SAMPLES * shares.mean(axis=0)).tolist(),
        "excess": float(excess_kl(policy, by.base, by.valid).excess.mean()),
        "base_solved": int(before.sum()),
        "base_unsolved": int((~before).sum()),
        "retention": _share(solved[before]),
        "exploration": _share(solved[~before]),
    }


def guarantee(
    law: ResponseLaw, by: Yardstick
) -> tuple[Float[np.ndarray, " prompts"], Float[np.ndarray, " prompts"]]:
    """For each prompt, exp(-KL(p_* || pi)) and the pass rate, which is at least that. Source: theory C4."""
    policy = by.law(law)
    floor = rehearsal_guarantee(FORWARD_KL(policy, filtered(by.base, by.valid)))
    return np.asarray(floor), np.asarray(valid_mass(policy, by.valid))


def styles(policy: Float[np.ndarray, "prompts outcomes"]) -> Float[np.ndarray, "prompts styles"]:
    """The law of the style alone."""
    return policy.reshape(len(policy), STYLES, -1).sum(axis=2)


def _meter(samples: Samples, by: Yardstick) -> ExcessKLEstimate:
    """The sampled meter; the samples come in groups, in an order of prompts of their own."""
    size = len(samples.valid) // len(by.prompts)
    log_pi, log_ref, valid = samples.in_groups(size)
    place = torch.empty(int(by.prompts.max()) + 1, dtype=torch.long)
    place[by.prompts] = torch.arange(len(by.prompts))
    rates = torch.from_numpy(valid_mass(by.base, by.valid))[place[samples.prompts[::size]]]
    return excess_kl_estimate(valid, log_pi, log_ref, rates)


def _share(flags: Bool[np.ndarray, " prompts"]) -> float | None:
    return float(flags.mean()) if len(flags) else None
