"""The law of a penalty on every token at the prefixes sampled, the prefixes' own change left out."""

import numpy as np

from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars
from ..numeric.balls import trailing
from .response import respond
from .trees import Tables, tree


def token_law(
    base: Tables,
    valid: Array,
    beta: Scalars,
    divergence: FDivergence = REVERSE_KL,
    *,
    end: int | None = None,
) -> list[np.ndarray]:
    """The stationary policy of a token penalty, as next-token tables, by one backward pass over the tree.

    At every prefix s, pi(.|s) = argmax_p sum_t p_t Q(s,t) - beta D_f(p || a(.|s)), Q(s,t) the probability
    that pi ends valid after s, t. Reverse KL (k2, or k3 with the importance ratio, in the loss):
    pi ~ a e^{Q/beta}. Forward KL (plain k3 in the loss): pi = beta a/(l - Q), and V(s) = l - beta.
    Shapes, `end` and prefixes without mass are as in `sequence_law`; a prefix from which no valid answer
    can be reached keeps the base's law. Source: ours, theory E2.
    """
    setting = tree(base, valid, end, beta)
    value = setting.valid.astype(float)
    law: list[np.ndarray] = []
    for t in reversed(range(setting.length)):
        here = respond(setting.base[t], value, trailing(setting.beta, t), divergence).policy
        law.insert(0, here)
        value = (here * value).sum(axis=-1)
    return law
