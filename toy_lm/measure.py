"""Retention of the base by a policy, from the probabilities of all answers."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dph_theory import FORWARD_KL, excess_kl, filtered, pass_rate, rehearsal_guarantee
from dph_theory.numeric.elementary import Values


class Retained(NamedTuple):
    """Exact values of each policy of a batch, one per prompt."""

    rate: Values  # The pass rate pi(Y1), which determines Pass@k.
    excess: Values  # KL(pi || base) above the minimum at that pass rate, in nats.
    guarantee: Values  # exp(-KL(p_* || pi)), the pass rate that the rehearsal loss guarantees.


def retained_of_base(
    policy: Float[np.ndarray, "*batch outcomes"],
    base: Float[np.ndarray, "*#batch outcomes"],
    valid: Bool[np.ndarray, "*#batch outcomes"],
) -> Retained:
    """Compare a policy with its base, given the valid outcomes; ValueError as in `dph_theory.excess_kl`."""
    return Retained(
        pass_rate(policy, valid),
        excess_kl(policy, base, valid).excess,
        rehearsal_guarantee(FORWARD_KL(policy, filtered(base, valid))),
    )
