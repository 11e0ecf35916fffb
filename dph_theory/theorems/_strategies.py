"""Strategies that prompts share: success sets, their objective, and merits at which shares are level."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..references import Source
from ..transfer.retention import Weighting, group_weighting, shared_objective

Values = np.ndarray
SOURCE = Source("ours", "which advantage retains strategies")
WITHIN_HALF, MAXRL = group_weighting(8, "std"), group_weighting(4, "mean")
LINES = np.eye(4)
"""Four strategies, of which each solves prompts of its own."""


def by_instance(function: Callable[..., Any], *parts: Values) -> Values:
    return np.array([function(*row) for row in zip(*parts, strict=True)])


def shared_lines(policy: Values, rho: Values, weighting: Weighting) -> Values:
    return by_instance(lambda q, weights: shared_objective(q, LINES, weights, weighting), policy, rho)


def water_merits(shares: Values, slack: Values, weighting: Weighting) -> Values:
    """Prompt weights (batch, strategies) that make `shares` stationary: 1/alpha(q), times slack at q = 0."""
    weights = weighting.weight(shares)
    merits = np.where(shares > 0, 1.0, slack) / weights
    return merits / merits.sum(axis=-1, keepdims=True)


def sets(members: Values) -> Values:
    """Success sets (batch, prompts, strategies): 1 if the coin `members` is below 1/2, and at [:, 0, 0]."""
    success = (members < 0.5).astype(float)
    success[:, 0, 0] = 1.0
    return success
