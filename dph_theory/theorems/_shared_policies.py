"""Four strategies, of which each solves prompts of its own, and the objectives of policies over them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..numeric.elementary import Values
from ..transfer.retention import Weighting, shared_objective

LINES = np.eye(4)


def by_instance(function: Callable[..., Any], *parts: Values) -> Values:
    return np.array([function(*row) for row in zip(*parts, strict=True)])


def shared_lines(policy: Values, rho: Values, weighting: Weighting) -> Values:
    return by_instance(lambda q, weights: shared_objective(q, LINES, weights, weighting), policy, rho)


def water_merits(shares: Values, slack: Values, weighting: Weighting) -> Values:
    """The merits at which these shares meet the condition: 1/alpha(q), less by the slack where q = 0."""
    weights = weighting.weight(shares)
    merits = np.where(shares > 0, 1.0, slack) / weights
    return merits / merits.sum(axis=-1, keepdims=True)
