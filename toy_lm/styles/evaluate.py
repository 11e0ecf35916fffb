"""Exact evaluation of an enumerated policy: Pass@k, styles, retention, the collapse meter, the guarantee."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float

from dph_theory import exact_pass_at_k
from dph_theory.coverage import entropy, expected_distinct_valid

from ..grid import Row
from ..measure import Retained, retained_of_base
from .tasks import STYLES, StylesTask
from .transformer import ResponseDistribution

KS = tuple(2**power for power in range(9))  # k of Pass@k: 1, 2, 4, ..., 256.
STYLE_SAMPLES = 32
SOLVED_K, SOLVED = 16, 0.9  # A prompt is solved if Pass@16 is at least 0.9.


class Yardstick(NamedTuple):
    """Reference for measuring policies: the base on some prompts, and their accepted outcomes."""

    base: Float[np.ndarray, "prompts outcomes"]
    valid: Bool[np.ndarray, "prompts outcomes"]
    prompts: torch.Tensor

    def probabilities(self, policy: ResponseDistribution) -> Float[np.ndarray, "prompts outcomes"]:
        """Probabilities of all outcomes under a policy, on these prompts."""
        return policy.joint()[self.prompts].exp().numpy()

    def retained(self, policy: ResponseDistribution) -> Retained:
        """Compare a policy with the base on each of these prompts."""
        return retained_of_base(self.probabilities(policy), self.base, self.valid)


def yardstick(base: ResponseDistribution, task: StylesTask, prompts: torch.Tensor) -> Yardstick:
    """Build the yardstick of the prompts with these indices."""
    return Yardstick(base.joint()[prompts].exp().numpy(), task.valid[prompts].numpy(), prompts)


def on_the_way(policy: ResponseDistribution, train: Yardstick, rehearsed: Yardstick) -> dict[str, float]:
    """Measures of one point of a training curve by name, exact means over prompts.

    Pass@8 and 16 and the excess of KL(pi || base); on the rehearsed prompts the pass rate, its guarantee
    exp(-KL(p_* || pi)) and their minimal difference. Source: ours, entries `frontier`, `rehearsal_guarantee`.
    """
    on_trained, on_rehearsed = train.retained(policy), rehearsed.retained(policy)
    numbers = {
        "pass_at_8": exact_pass_at_k(on_trained.rate, 8),
        "pass_at_16": exact_pass_at_k(on_trained.rate, 16),
        "excess": on_trained.excess,
        "guarantee": on_rehearsed.guarantee,
        "rehearsed_pass": on_rehearsed.rate,
    }
    means = {name: float(values.mean()) for name, values in numbers.items()}
    return means | {"guarantee_margin": float((on_rehearsed.rate - on_rehearsed.guarantee).min())}


def at_the_end(policy: ResponseDistribution, by: Yardstick) -> Row:
    """Pass@k for k in KS, styles over 32 samples, and the shares of prompts still solved and newly solved.

    `retention` is the share solved among the prompts that the base solves, `exploration` among the others;
    each is omitted if there are no such prompts. See SOLVED.
    """
    end, base = by.retained(policy), retained_of_base(by.base, by.base, by.valid)
    solved, before = (exact_pass_at_k(one.rate, SOLVED_K) >= SOLVED for one in (end, base))
    shares = styles(by.probabilities(policy))
    every = np.ones_like(shares, dtype=bool)
    shown = {"retention": solved[before], "exploration": solved[~before]}
    return {
        "pass_at_k": [float(exact_pass_at_k(end.rate, k).mean()) for k in KS],
        "style_entropy": float(entropy(shares).mean()),
        "distinct_styles": float(expected_distinct_valid(shares, every, STYLE_SAMPLES).mean()),
        "style_histogram": (STYLE_SAMPLES * shares.mean(axis=0)).tolist(),
        "excess": float(end.excess.mean()),
        "base_solved": int(before.sum()),
        "base_unsolved": int((~before).sum()),
        **{name: float(flags.mean()) for name, flags in shown.items() if len(flags)},
    }


def styles(policy: Float[np.ndarray, "prompts outcomes"]) -> Float[np.ndarray, "prompts styles"]:
    """Probability of each style, summed over the digits."""
    return policy.reshape(len(policy), STYLES, -1).sum(axis=2)
