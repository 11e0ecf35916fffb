"""Stationary policies of a penalty on every token at the sampled prefixes, as next-token tables on a tree."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..binary_reward import ExcessKL, excess_kl, filtered
from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars, booleans, positive, real
from ..numeric.elementary import Values, add_axes, normalised
from ..numeric.roots import rising_root
from ..support.errors import argument_error
from ..tokens import checked_tables, flat, joint
from .response import respond

Tables = Sequence[Array]  # Next-token probabilities given each prefix, one table per position.
PolicySolver = Callable[..., list[np.ndarray]]
"""A solver is `sequence_policy`, `token_policy`, or one of them with keywords filled in."""


class AnswerTree(NamedTuple):
    """Tables, verifier and beta, checked and broadcast to one batch shape."""

    base: list[np.ndarray]
    valid: np.ndarray
    beta: np.ndarray

    @property
    def length(self) -> int:
        """Number of tokens of an answer."""
        return len(self.base)


def tree(base: Tables, valid: Array, end: int | None, beta: Scalars = 1.0, name: str = "base") -> AnswerTree:
    """Check the arguments shared by all stationary policies; the end symbol is followed only by itself.

    Raises ValueError for tables that are not distributions, or for shapes that do not fit.
    """
    tables = next_token_tables(name, base, end)
    valid = verifier(valid, tables)
    beta = positive("beta", beta)
    length = len(tables)
    shapes = [table.shape[: table.ndim - t - 1] for t, table in enumerate(tables)]
    try:
        batch = np.broadcast_shapes(*shapes, valid.shape[: valid.ndim - length], beta.shape)
    except ValueError:
        raise argument_error(
            "batch shapes", (*shapes, valid.shape, beta.shape), f"{name}, valid and beta must broadcast"
        ) from None
    tokens = tables[0].shape[-1:]
    return AnswerTree(
        [np.broadcast_to(table, batch + tokens * (t + 1)) for t, table in enumerate(tables)],
        np.broadcast_to(valid, batch + tokens * length),
        np.broadcast_to(beta, batch),
    )


def next_token_tables(name: str, tables: Tables, end: int | None) -> list[np.ndarray]:
    """Check `tables` and return them as float arrays in which the end symbol is followed only by itself."""
    checked = checked_tables(name, tables)
    tokens = checked[0].shape[-1]
    if end is not None and not 0 <= end < tokens:
        raise argument_error("end", end, f"one of the {tokens} tokens, or None")
    for t, table in enumerate(checked):
        if end is not None:
            checked[t] = np.where(_ended(tokens, t, end)[..., None], np.arange(tokens) == end, table)
    return checked


def _ended(tokens: int, length: int, end: int) -> np.ndarray:
    ended = np.zeros((tokens,) * length, dtype=bool)
    for axis in range(length):
        ended[(slice(None),) * axis + (end,)] = True
    return ended


def verifier(valid: Array, tables: list[np.ndarray]) -> np.ndarray:
    """Check `valid`, the correctness of each answer, and return it as booleans (..., V, ..., V)."""
    valid = booleans("valid", valid)
    tokens, length = tables[0].shape[-1], len(tables)
    if valid.ndim < length or valid.shape[valid.ndim - length :] != (tokens,) * length:
        raise argument_error("valid.shape", valid.shape, f"must end in {length} axes of {tokens}")
    return valid


def conditionals(answers: np.ndarray, length: int, otherwise: list[np.ndarray]) -> list[np.ndarray]:
    """Next-token tables of answer probabilities (..., V, ..., V); `otherwise` after prefixes without mass."""
    masses = [answers]
    for _ in range(length):
        masses.insert(0, masses[0].sum(axis=-1))
    return [
        np.where(mass[..., None] > 0, after / np.where(mass > 0, mass, 1.0)[..., None], other)
        for mass, after, other in zip(masses, masses[1:], otherwise, strict=False)
    ]


def answer_probabilities(tables: Tables, end: int | None = None) -> np.ndarray:
    """Probability of every answer, shape (*batch, V, ..., V); an ended answer stands at its padded entry.

    Raises ValueError for tables that are not next-token distributions.
    """
    return joint(next_token_tables("tables", tables, end))


def policy_divergence(
    policy: Tables, reference: Tables, divergence: FDivergence = REVERSE_KL, end: int | None = None
) -> Values:
    """D_f of `policy` from `reference` over whole answers, (*batch): by default KL; may be inf."""
    return divergence(_flat("policy", policy, end), _flat("reference", reference, end))


def table_pass_rate(policy: Tables, valid: Array, end: int | None = None) -> Values:
    """Pass rate (*batch) of a policy's next-token tables; `valid` has shape (*batch, V, ..., V)."""
    checked = tree(policy, valid, end, name="policy")
    axes = tuple(range(-checked.length, 0))
    return np.where(checked.valid, joint(checked.base), 0.0).sum(axis=axes)


def valid_answer_shares(policy: Tables, valid: Array, end: int | None = None) -> np.ndarray:
    """P(answer | correct) of a policy's tables, (*batch, V, ..., V); ValueError without correct mass."""
    checked = tree(policy, valid, end, name="policy")
    answers = joint(checked.base)
    return filtered(*(flat(a, checked.length) for a in (answers, checked.valid))).reshape(answers.shape)


def policy_excess_kl(policy: Tables, base: Tables, valid: Array, end: int | None = None) -> ExcessKL:
    """KL of `policy` from the base in nats, split as by `excess_kl`; each part has shape (*batch).

    Source: ours, entries `frontier`.
    """
    checked = tree(base, valid, end)
    flat_base, flat_valid = (flat(a, checked.length) for a in (joint(checked.base), checked.valid))
    return excess_kl(_flat("policy", policy, end), flat_base, flat_valid)


def _flat(name: str, tables: Tables, end: int | None) -> np.ndarray:
    return flat(joint(next_token_tables(name, tables, end)), len(tables))


def answer_lengths(tokens: int, length: int, end: int | None) -> np.ndarray:
    """Number of tokens of each answer including its end symbol, (V, ..., V)."""
    lengths = np.full((tokens,) * length, length)
    if end is not None:
        for shorter in range(length - 1, 0, -1):
            ended = _ended(tokens, shorter, end).reshape((tokens,) * shorter + (1,) * (length - shorter))
            lengths = np.where(ended, shorter, lengths)
    return lengths


def token_policy(
    base: Tables,
    valid: Array,
    beta: Scalars,
    divergence: FDivergence = REVERSE_KL,
    *,
    end: int | None = None,
    per_answer_mean: bool = False,
    lengths: Array | None = None,
) -> list[np.ndarray]:
    """Stationary policy of a penalty on each token, by one backward pass over the tree.

    At prefix s, pi(.|s) = argmax_p sum_t p_t Q(s,t) - beta D_f(p || a(.|s)), Q(s,t) the pass rate after s, t.
    Reverse KL (k2, or k3 with importance weight, in the loss): pi ~ a e^{Q/beta}. Forward KL (k3 in the loss,
    without importance weight): pi = beta a/(l - Q), and V(s) = l - beta.

    Args:
        base: Next-token tables; entry t has shape (*batch, V, ..., V) with t+1 trailing axes.
        valid: 1 where an answer is correct, shape (*batch, V, ..., V).
        beta: Coefficient of the penalty in units of reward, positive, shape (*batch).
        divergence: The penalty's divergence.
        end: The end symbol, if answers may be shorter than the tree.
        per_answer_mean: Weigh an answer's tokens by 1/length (TRL's loss_type grpo); the stationary policy
            differs, see `answer_mean_policy`.
        lengths: Lengths of the answers, (V, ..., V), if `end` is not given.

    Returns:
        Tables of the base's shapes; prefixes without mass, or without a reachable correct answer, have the
        base's distribution.

    Source: ours, entries `token_penalties`.
    """
    setting = tree(base, valid, end, beta)
    if lengths is not None and not per_answer_mean:
        raise argument_error("lengths", lengths, "none without per_answer_mean: sums weigh answers alike")
    if per_answer_mean:
        return answer_mean_policy(setting, divergence, end, lengths)
    # The recursion carries -(1 - Q): failures of the size of beta keep their digits, whereas Q near one would
    # lose the digits beyond eps/beta.
    lacking = setting.valid.astype(float) - 1.0
    policy: list[np.ndarray] = []
    for t in reversed(range(setting.length)):
        table = respond(setting.base[t], lacking, add_axes(setting.beta, t), divergence).policy
        policy.insert(0, table)
        lacking = (table * lacking).sum(axis=-1)
    return policy


def answer_mean_policy(
    setting: AnswerTree, divergence: FDivergence, end: int | None, lengths: Array | None
) -> list[np.ndarray]:
    """Stationary policy of a token penalty in a loss that averages over each answer's tokens.

    At each prefix R(s,t) - b W(s,t) h(u_t) is constant in t, with R = E[w (v - V)|s,t], W = E[w|s,t], w =
    1/length, h = log u (reverse KL) or 1 - 1/u (forward), and V the policy's own pass rate. Raises ValueError
    for another divergence, and for lengths that do not fit. Source: ours, entries `updates_and_means`.
    """
    if divergence not in (REVERSE_KL, FORWARD_KL):
        raise argument_error("divergence", divergence.name, "REVERSE_KL or FORWARD_KL, with per_answer_mean")
    weight = 1 / lengths_of(lengths, setting, end)
    batch = setting.beta.shape
    parts = [*setting.base, setting.valid.astype(float)]
    flats = [flat(part, part.ndim - len(batch)) for part in parts]

    def policy_at(pass_rate: np.ndarray, rows: Sequence[np.ndarray], beta: np.ndarray) -> list[np.ndarray]:
        """Stationary tables of (k, ...) trees if the baseline were `pass_rate`, shape (k,)."""
        *tables, verdicts = (
            row.reshape(-1, *part.shape[len(batch) :]) for row, part in zip(rows, parts, strict=True)
        )
        weights = np.broadcast_to(weight, verdicts.shape)
        values = weights * (verdicts - add_axes(pass_rate, setting.length))
        policy: list[np.ndarray] = []
        for base in reversed(tables):
            response = weighed_response(base, values, add_axes(beta, base.ndim - 1) * weights, divergence)
            policy.insert(0, response)
            values, weights = ((response * part).sum(axis=-1) for part in (values, weights))
        return policy

    def shortfall(pass_rate: np.ndarray, *rows: np.ndarray) -> np.ndarray:
        """Baseline minus the pass rate of its stationary policy, (k,); it increases in the baseline."""
        policy = policy_at(pass_rate, rows[:-1], rows[-1][..., 0])
        return pass_rate - (flat(joint(policy), setting.length) * rows[-2]).sum(axis=-1)

    pass_rate = rising_root(shortfall, np.zeros(batch), np.ones(batch), *flats, setting.beta[..., None])
    rows = [part.reshape(-1, part.shape[-1]) for part in flats]
    policy = policy_at(pass_rate.ravel(), rows, setting.beta.ravel())
    return [masses.reshape(table.shape) for masses, table in zip(policy, setting.base, strict=True)]


def lengths_of(lengths: Array | None, setting: AnswerTree, end: int | None) -> np.ndarray:
    """Number of tokens of each answer, (V, ..., V): `lengths` if given, else by the end symbol."""
    shape = setting.valid.shape[setting.valid.ndim - setting.length :]
    if lengths is None:
        return answer_lengths(shape[0], setting.length, end)
    checked = np.asarray(real("lengths", lengths, above=0, below=np.inf))
    if checked.shape != shape:
        raise argument_error("lengths.shape", checked.shape, f"one length per answer, {shape}")
    return checked


def weighed_response(
    base: np.ndarray, values: np.ndarray, cost: np.ndarray, divergence: FDivergence
) -> np.ndarray:
    """Policy (..., tokens) at which values - cost h(pi/base) is constant at each prefix; `cost` positive."""
    supported = base > 0
    high = np.where(supported, values, -np.inf).max(axis=-1)
    least = values if divergence is REVERSE_KL else values - cost
    # A base that has lost mass, as in a limit, is compensated by a C below all values.
    lost = np.log(np.minimum(base.sum(axis=-1), 1.0)) * np.where(supported, cost, 0.0).max(axis=-1)
    low = np.where(supported, least, np.inf).min(axis=-1) + lost
    if divergence is FORWARD_KL:
        low = np.where(supported, least, -np.inf).max(axis=-1)

    def ratio(c: np.ndarray, values: np.ndarray, cost: np.ndarray) -> np.ndarray:
        gain = (values - c[..., None]) / cost
        return np.exp(gain) if divergence is REVERSE_KL else 1 / (1 - np.minimum(gain, 1.0))

    def lacking(c: np.ndarray, base: np.ndarray, values: np.ndarray, cost: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            mass = np.where(base > 0, base * ratio(c, values, cost), 0.0).sum(axis=-1)
        return 1 - np.minimum(mass, 1e300)

    c = rising_root(lacking, low, high, base, values, cost)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return normalised(np.where(supported, base * ratio(c, values, cost), 0.0))
