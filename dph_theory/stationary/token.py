"""The stationary policy of a penalty on every token at the prefixes sampled; next-token tables on a tree."""

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

Tables = Sequence[Array]
"""Next-token probabilities given each prefix, one table a position."""
PolicySolver = Callable[..., list[np.ndarray]]
"""`sequence_policy`, `token_policy`, or one of them with keywords filled in."""


class AnswerTree(NamedTuple):
    """Tables, verifier and beta, checked and broadcast to one batch shape."""

    base: list[np.ndarray]
    valid: np.ndarray
    beta: np.ndarray

    @property
    def length(self) -> int:
        """The number of tokens of an answer."""
        return len(self.base)


def tree(base: Tables, valid: Array, end: int | None, beta: Scalars = 1.0, name: str = "base") -> AnswerTree:
    """The arguments shared by all stationary policies, checked; after the end symbol only it follows.

    Raises ValueError for tables that are no distributions, or for shapes that do not fit.
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
    """The tables as float arrays, checked; after the end symbol only the end symbol follows."""
    checked = checked_tables(name, tables)
    tokens = checked[0].shape[-1]
    if end is not None and not 0 <= end < tokens:
        raise argument_error("end", end, f"one of the {tokens} tokens, or None")
    for t, table in enumerate(checked):
        if end is not None:
            checked[t] = np.where(_ended(tokens, t, end)[..., None], np.arange(tokens) == end, table)
    return checked


def _ended(tokens: int, length: int, end: int) -> np.ndarray:
    """Which prefixes of that length hold the end symbol."""
    ended = np.zeros((tokens,) * length, dtype=bool)
    for axis in range(length):
        ended[(slice(None),) * axis + (end,)] = True
    return ended


def verifier(valid: Array, tables: list[np.ndarray]) -> np.ndarray:
    """Whether each answer is correct, checked, (..., V, ..., V)."""
    valid = booleans("valid", valid)
    tokens, length = tables[0].shape[-1], len(tables)
    if valid.ndim < length or valid.shape[valid.ndim - length :] != (tokens,) * length:
        raise argument_error("valid.shape", valid.shape, f"must end in {length} axes of {tokens}")
    return valid


def conditionals(answers: np.ndarray, length: int, otherwise: list[np.ndarray]) -> list[np.ndarray]:
    """The next-token tables of a distribution of answers; at prefixes without mass those of `otherwise`."""
    masses = [answers]
    for _ in range(length):
        masses.insert(0, masses[0].sum(axis=-1))
    return [
        np.where(mass[..., None] > 0, after / np.where(mass > 0, mass, 1.0)[..., None], other)
        for mass, after, other in zip(masses, masses[1:], otherwise, strict=False)
    ]


def answer_probabilities(tables: Tables, end: int | None = None) -> np.ndarray:
    """The probability of every answer, shape (*batch, V, ..., V); ended answers stand at their padded entry.

    Raises ValueError for tables that are no next-token distributions.
    """
    return joint(next_token_tables("tables", tables, end))


def policy_divergence(
    policy: Tables, reference: Tables, divergence: FDivergence = REVERSE_KL, end: int | None = None
) -> Values:
    """D_f of `policy` from `reference`, of whole answers, (*batch): by default KL; inf where it is."""
    return divergence(_flat("policy", policy, end), _flat("reference", reference, end))


def table_pass_rate(policy: Tables, valid: Array, end: int | None = None) -> Values:
    """The probability of a valid answer, (*batch)."""
    checked = tree(policy, valid, end, name="policy")
    axes = tuple(range(-checked.length, 0))
    return np.where(checked.valid, joint(checked.base), 0.0).sum(axis=axes)


def valid_answer_shares(policy: Tables, valid: Array, end: int | None = None) -> np.ndarray:
    """P(answer | valid), shape (*batch, V, ..., V). Raises ValueError where no valid answer has mass."""
    checked = tree(policy, valid, end, name="policy")
    answers = joint(checked.base)
    return filtered(*(flat(a, checked.length) for a in (answers, checked.valid))).reshape(answers.shape)


def policy_excess_kl(policy: Tables, base: Tables, valid: Array, end: int | None = None) -> ExcessKL:
    """KL of `policy` from the base in its parts, each (*batch): the least at its pass rate, and the excess.

    Source: ours, entries `frontier`.
    """
    checked = tree(base, valid, end)
    flat_base, flat_valid = (flat(a, checked.length) for a in (joint(checked.base), checked.valid))
    return excess_kl(_flat("policy", policy, end), flat_base, flat_valid)


def _flat(name: str, tables: Tables, end: int | None) -> np.ndarray:
    return flat(joint(next_token_tables(name, tables, end)), len(tables))


def answer_lengths(tokens: int, length: int, end: int | None) -> np.ndarray:
    """How many tokens each answer has, its end symbol counted, (V, ..., V)."""
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
    """The stationary policy of a token penalty, as next-token tables, by one backward pass over the tree.

    At every prefix s, pi(.|s) = argmax_p sum_t p_t Q(s,t) - beta D_f(p || a(.|s)), Q(s,t) the probability
    that pi's answer is correct after s, t. Reverse KL (k2, or k3 with the importance weight, in the loss):
    pi ~ a e^{Q/beta}. Forward KL (plain k3 in the loss): pi = beta a/(l - Q), and V(s) = l - beta.
    Shapes, `end` and prefixes without mass are as in `sequence_policy`; a prefix from which no valid answer
    can be reached keeps the base's distribution.

    With per_answer_mean an answer's tokens are weighed by 1/length (TRL's loss_type grpo), which converges
    elsewhere, see `answer_mean_policy`; `lengths`: those of the answers, (V, ..., V), if `end` is not given.
    Source: ours, entries `token_penalties`.
    """
    setting = tree(base, valid, end, beta)
    if lengths is not None and not per_answer_mean:
        raise argument_error("lengths", lengths, "none without per_answer_mean: sums weigh answers alike")
    if per_answer_mean:
        return answer_mean_policy(setting, divergence, end, lengths)
    # What is carried backwards is -(1 - Q): failures of the size of beta keep their digits, where Q, near
    # one, would lose those beyond eps/beta.
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
    """The stationary policy of a token penalty in a loss that averages over each answer's tokens.

    At each prefix R(s,t) - b W(s,t) h(u_t) is one number, with R = E[w (v - V)|s,t], W = E[w|s,t], w =
    1/length, h = log u (reverse KL) or 1 - 1/u (forward), and V its own pass rate. Raises ValueError
    for another divergence, and for lengths that do not fit. Source: ours, entries `updates_and_means`.
    """
    if divergence not in (REVERSE_KL, FORWARD_KL):
        raise argument_error("divergence", divergence.name, "REVERSE_KL or FORWARD_KL, with per_answer_mean")
    weight = 1 / lengths_of(lengths, setting, end)
    batch = setting.beta.shape
    parts = [*setting.base, setting.valid.astype(float)]
    flats = [flat(part, part.ndim - len(batch)) for part in parts]

    def policy_at(pass_rate: np.ndarray, rows: Sequence[np.ndarray], beta: np.ndarray) -> list[np.ndarray]:
        """The stationary policy if the baseline were that pass rate, for (k, ...) trees."""
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
        """By how much its pass rate falls short of the baseline; it rises in the baseline."""
        policy = policy_at(pass_rate, rows[:-1], rows[-1][..., 0])
        return pass_rate - (flat(joint(policy), setting.length) * rows[-2]).sum(axis=-1)

    pass_rate = rising_root(shortfall, np.zeros(batch), np.ones(batch), *flats, setting.beta[..., None])
    rows = [part.reshape(-1, part.shape[-1]) for part in flats]
    policy = policy_at(pass_rate.ravel(), rows, setting.beta.ravel())
    return [masses.reshape(table.shape) for masses, table in zip(policy, setting.base, strict=True)]


def lengths_of(lengths: Array | None, setting: AnswerTree, end: int | None) -> np.ndarray:
    """How many tokens each answer has, as given or by the end symbol."""
    shape = setting.valid.shape[setting.valid.ndim - setting.length :]
    if lengths is None:
        return answer_lengths(shape[0], setting.length, end)
    checked = np.asarray(real("lengths", lengths, above=0, below=np.inf))
    if checked.shape != shape:
        raise argument_error("lengths.shape", checked.shape, f"one length an answer, {shape}")
    return checked


def weighed_response(
    base: np.ndarray, values: np.ndarray, cost: np.ndarray, divergence: FDivergence
) -> np.ndarray:
    """The policy at which values - cost h(u) is one number C at each prefix, (..., tokens)."""
    supported = base > 0
    high = np.where(supported, values, -np.inf).max(axis=-1)
    least = values if divergence is REVERSE_KL else values - cost
    # A base that has lost mass, as in a limit, is made up for by a C below all values.
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
