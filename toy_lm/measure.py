"""What a policy retains of its base, where the probabilities of all answers are known."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dph_theory import FORWARD_KL, excess_kl, filtered, pass_rate, rehearsal_guarantee
from dph_theory.numeric.elementary import Values


class Retained(NamedTuple):
    """Of each policy of a batch, a prompt each; every number is exact."""

    rate: Values
    """The pass rate pi(Y1), from which Pass@k follows."""
    excess: Values
    """KL(pi || base) beyond what the pass rate needs, in nats: the collapse meter."""
    guarantee: Values
    """exp(-KL(p_* || pi)), the least pass rate that the rehearsal loss vouches for."""


def retained_of_base(
    policy: Float[np.ndarray, "*batch outcomes"],
    base: Float[np.ndarray, "*#batch outcomes"],
    valid: Bool[np.ndarray, "*#batch outcomes"],
) -> Retained:
    """What the policy retains of the base, given what is valid; ValueError as `dph_theory.excess_kl`."""
    return Retained(
        pass_rate(policy, valid),
        excess_kl(policy, base, valid).excess,
        rehearsal_guarantee(FORWARD_KL(policy, filtered(base, valid))),
    )
