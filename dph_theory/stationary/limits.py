"""Limits of the stationary policies as beta -> 0: filtered, locally filtered, or a third policy."""

import numpy as np

from ..divergences import FORWARD_KL
from ..numeric.arrays import Array
from ..support.errors import argument_error
from ..tokens import joint
from .response import respond
from .token import Tables, conditionals, tree


def filtered_policy(base: Tables, valid: Array, *, end: int | None = None) -> list[np.ndarray]:
    """Filtered policy p_* = a(.|Y1) as next-token tables: the limit of every sequence penalty.

    Arguments and shapes are those of `sequence_policy`. Raises ValueError if the base gives the correct
    answers no mass. Source: dymetman2026binary; entries `sequence_penalties`, `token_penalties`.
    """
    setting = tree(base, valid, end)
    correct = np.where(setting.valid, joint(setting.base), 0.0)
    mass = correct.sum(axis=tuple(range(-setting.length, 0)))
    if (mass == 0).any():
        raise argument_error(
            "base",
            f"no mass on valid answers at batch index {tuple(map(int, np.argwhere(mass == 0)[0]))}",
            "must give some valid answer mass",
        )
    return conditionals(correct, setting.length, setting.base)


def locally_filtered(base: Tables, valid: Array, *, end: int | None = None) -> list[np.ndarray]:
    """Locally filtered policy: at each prefix only the tokens from which a correct answer is still reachable.

    loc(t|s) = a(t|s) alive(s,t) / sum_t' a(t'|s) alive(s,t'). This is the limit of the token reverse KL and
    the distribution of grammar-constrained decoding. Shapes are those of `sequence_policy`; a prefix without
    a reachable correct answer has the base's distribution. Source: park2024grammar for decoding; ours,
    entries `token_penalties`.
    """
    setting = tree(base, valid, end)
    policy: list[np.ndarray] = []
    for table, alive in zip(setting.base, _alive(setting.base, setting.valid), strict=True):
        retained = np.where(alive, table, 0.0)
        mass = retained.sum(axis=-1, keepdims=True)
        policy.append(np.where(mass > 0, retained / np.where(mass > 0, mass, 1.0), table))
    return policy


def token_forward_limit(base: Tables, valid: Array, *, end: int | None = None) -> list[np.ndarray]:
    """Limit of the token forward KL as beta -> 0 (k3 in the loss, without importance weight).

    pi(t|s) = a(t|s)/(1 + w(s,t) - w(s)) on the tokens from which a correct answer is reachable; w = 0 at the
    leaves, and w(s) is the root that normalises pi. To first order V(s) = 1 + beta w(s). Shapes and dead
    prefixes are as in `locally_filtered`. Source: ours, entries `token_penalties`.
    """
    setting = tree(base, valid, end)
    alive = _alive(setting.base, setting.valid)
    policy: list[np.ndarray] = []
    deficit = np.zeros(setting.valid.shape)
    for t in reversed(range(setting.length)):
        retained = np.where(alive[t], setting.base[t], 0.0)
        dead = np.logical_not(alive[t].any(axis=-1, keepdims=True))
        # The best response at beta = 1 to values -w, from the base's mass on the reachable tokens.
        response = respond(np.where(dead, setting.base[t], retained), -deficit, np.ones(()), FORWARD_KL)
        policy.insert(0, np.where(dead, setting.base[t], response.policy))
        lowest = np.where(alive[t], deficit, np.inf).min(axis=-1)
        deficit = np.where(dead[..., 0], 0.0, lowest + 1 - np.exp(-response.top))
    return policy


def _alive(base: list[np.ndarray], valid: Array) -> list[np.ndarray]:
    """Masks, shaped as the tables, of possible tokens from which a correct answer is reachable."""
    alive: list[np.ndarray] = []
    reached = valid
    for table in reversed(base):
        reached = reached & (table > 0)
        alive.insert(0, reached)
        reached = reached.any(axis=-1)
    return alive
