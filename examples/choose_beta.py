"""Which beta of KL control reaches the pass rate you want, and what does it cost?

Run: python examples/choose_beta.py [TARGET]
"""

import sys

import numpy as np

from dph_theory import kappa, mu_from_beta
from dph_theory.binary_reward import beta_for_mean_pass_rate

BASE_RATES = np.array([0.02, 0.1, 0.3, 0.6, 0.9])
"""The base model's pass rate on each prompt, as sampling it a few times tells."""


def main(target: float = 0.8) -> None:
    """One beta for all prompts; each prompt's pass rate and minimum KL (`many_prompts`, `kl_control`)."""
    beta = float(beta_for_mean_pass_rate(BASE_RATES, target))
    reached = mu_from_beta(BASE_RATES, beta)
    cost = kappa(reached, BASE_RATES)
    print(f"beta = {beta:.4f} gives a mean pass rate of {reached.mean():.4f}")
    for before, after, nats in zip(BASE_RATES, reached, cost, strict=True):
        print(f"  base {before:.2f} -> {after:.4f} for at least {nats:.4f} nats")
    # The same target on every prompt costs more: one beta spends where a nat buys most.
    below = target > BASE_RATES
    each = np.where(below, kappa(np.where(below, target, BASE_RATES), BASE_RATES), 0.0)
    even = np.where(below, target, BASE_RATES).mean()
    same = kappa(mu_from_beta(BASE_RATES, beta_for_mean_pass_rate(BASE_RATES, even)), BASE_RATES)
    print(f"lifting every prompt to {target:g} costs {each.mean():.4f} nats on average;")
    print(f"one beta with the same mean pass rate of {even:.4f} costs {same.mean():.4f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
