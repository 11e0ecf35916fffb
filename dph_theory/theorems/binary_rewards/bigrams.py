"""Misspecification of bigrams: which words a table of next symbols keeps as beta falls.

A layered graph is a choice of first symbols, and of next symbols at every position after every symbol. Tables
with a row for each position and symbol can give all their mass to a graph of correct words, and tend to the
base given such a graph. One table for all positions need not reach the base given a graph.
"""

from functools import cache, partial

import numpy as np
from scipy import optimize

from ...divergences import REVERSE_KL
from ...numeric.elementary import Values, normalised
from ...references import Source
from ...verification.charts import chart, example, integers, simplex
from ...verification.statement import neighbour, theorem

SOURCE = Source("ours", "misspecification, bigrams")
CHOICES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
"""The symbols that a graph may allow."""


@cache
def words(length: int) -> Values:
    """All words of `length` bits in order, shape (2^length, length)."""
    return np.array([*np.ndindex(*(2,) * length)])


def on_words(first: Values, later: Values) -> Values:
    """Words' probabilities (..., 2^length) by tables first (..., 2), later (..., length - 1, 2, 2)."""
    positions, bits = np.arange(later.shape[-3]), words(later.shape[-3] + 1)
    return first[..., bits[:, 0]] * later[..., positions, bits[:, :-1], bits[:, 1:]].prod(axis=-1)


def allowed(graph: Values, length: int) -> tuple[Values, Values]:
    """0/1 tables (of the first symbol; of later ones) that mark what graphs (..., 2 length - 1) allow."""
    rows = CHOICES[graph.astype(int)]
    return rows[..., 0, :], rows[..., 1:, :].reshape(*graph.shape[:-1], length - 1, 2, 2)


@cache
def graphs(length: int) -> Values:
    """Word sets of all layered graphs, a mask of shape (graphs, 2^length)."""
    return (
        np.unique(on_words(*allowed(np.array([*np.ndindex(*(3,) * (2 * length - 1))]), length)), axis=0) > 0
    )


def only_diracs(verifier: Values) -> Values:
    """1 if each layered graph of correct words has one word, else 0; `verifier` (batch,) is a bit mask."""
    correct = (verifier[:, None].astype(int) >> np.arange(8) & 1).astype(bool)
    valid = ~(graphs(3) & ~correct[:, None]).any(axis=-1)
    return (~(valid & (graphs(3).sum(axis=-1) > 1)).any(axis=-1)).astype(float)


def no_single_block(verifier: Values, symbols: bool = False) -> Values:
    """1 if no two correct words differ in exactly one contiguous block (or symbol), else 0; (batch,)."""
    differ = words(3)[:, None] != words(3)
    number = differ.sum(axis=-1)
    apart = differ[..., 0] & ~differ[..., 1] & differ[..., 2]
    near = (number == 1) if symbols else (number > 0) & ~apart
    correct = (verifier[:, None].astype(int) >> np.arange(8) & 1).astype(bool)
    return (~(correct[:, :, None] & correct[:, None] & near).any(axis=(-1, -2))).astype(float)


DIRACS = theorem(
    "Position-dependent bigrams: only Diracs are fully valid iff no two words differ in one block",
    statement=r"\text{every fully valid table is a Dirac} \iff \text{no } y, y' \in Y_1 \text{ differ in"
    r" exactly one contiguous block of positions}",
    source=SOURCE,
    on=chart(verifier=integers(1, 254)),
    equal=(only_diracs, no_single_block),
    examples=(example(verifier="105", value="0"), example(verifier="33", value="0"), example(verifier="36")),
    note="A single word is a graph, so some table is always fully valid. Where Diracs alone are, beta -> 0"
    " gives the Dirac on the likeliest correct word, for every base.",
    false=(neighbour("in exactly one symbol", at=example(verifier="129"),
        rhs=partial(no_single_block, symbols=True)),),
)  # fmt: skip


def given_graph(first: Values, later: Values, graph: Values) -> tuple[Values, Values]:
    """Tables of the base given the graph's words, in the shapes of `first` (..., 2) and `later`.

    `later` has shape (..., length - 1, 2, 2); `graph` (..., 2 length - 1) has indices into CHOICES, one per
    table row.
    """
    first_ones, ones = allowed(graph, later.shape[-3] + 1)
    mass, rows = np.ones(first.shape), list[Values]()
    for position in reversed(range(later.shape[-3])):
        weighted = later[..., position, :, :] * ones[..., position, :, :] * mass[..., None, :]
        mass = weighted.sum(axis=-1)
        rows.insert(0, weighted / mass[..., None])
    return normalised(first * first_ones * mass), np.stack(rows, axis=-3)


def least_of_one_table(first: Values, later: Values, graph: Values) -> Values:
    """Minimum KL to the base (nats, shape (batch,)) of bigram tables within the graph, one for all positions.

    `first` has shape (batch, symbols), `later` the base's tables by position, `graph` the allowed successors.
    """
    first_ones, ones = allowed(graph, later.shape[-3] + 1)

    def loss(odds: Values, row: int) -> float:
        rows = normalised(
            np.exp(np.stack([odds, -odds], axis=-1)) * np.vstack([first_ones[row], ones[row, 0]])
        )
        table = np.broadcast_to(rows[1:], later.shape[1:])
        return float(REVERSE_KL(on_words(rows[0], table), on_words(first[row], later[row])))

    return np.array([optimize.minimize(loss, np.zeros(3), args=(row,)).fun for row in range(len(first))])


def costs_within(first: Values, later: Values, graph: Values, q_first: Values, q_later: Values) -> Values:
    """KL to the base of q's tables cut to the graph, and -log of the graph's base mass; (batch, 2).

    Arguments are as in `given_graph`; q_first and q_later have the shapes of first and later.
    """
    first_ones, ones = allowed(graph, later.shape[-3] + 1)
    q = on_words(normalised(q_first * first_ones), normalised(q_later * ones))
    return np.stack([REVERSE_KL(q, on_words(first, later)), graph_cost(first, later, graph)], axis=-1)


def graph_cost(first: Values, later: Values, graph: Values) -> Values:
    """Minus log of the base mass of the graph's words, (batch,), the least KL within the graph."""
    return -np.log((on_words(first, later) * on_words(*allowed(graph, later.shape[-3] + 1))).sum(axis=-1))


def least_cost(first: Values, later: Values, graph: Values, one_table: bool = False) -> Values:
    """-log of the graph's base mass, and the KL of the base given the graph to the base; (batch, 2)."""
    given = on_words(*given_graph(first, later, graph))
    cost = least_of_one_table(first, later, graph) if one_table else REVERSE_KL(given, on_words(first, later))
    return np.stack([graph_cost(first, later, graph), cost], axis=-1)


BASE = example(first=".6 .4", later=[[".7 .3", ".45 .55"]] * 3)
"""A bigram with the same table at every position, on words of four bits."""
EVEN = BASE.but(graph="2 0 1 2 2 0 1", q_first=".5 .5", q_later=[[".5 .5", ".5 .5"]] * 3)
NO_ELEVEN = example(first=".5 .5", later=[[".5 .5", ".5 .5"]] * 2, graph="2 2 0 2 0",
    q_first=".5 .5", q_later=[[".5 .5", ".5 .5"]] * 2)  # fmt: skip

LAYERED = theorem(
    "Within a layered graph the base given the graph is nearest to the base, and is such a table",
    statement=r"q(D) = 1 \;\Rightarrow\; \mathrm{KL}(q\|a) \ge -\log a(D) = \mathrm{KL}(a(\cdot|D)\,\|\,a)",
    source=SOURCE,
    on=chart(first=simplex(2, spread=3), later=simplex(2, 3, 2, spread=3), graph=integers(0, 2, 7),
        q_first=simplex(2, spread=3), q_later=simplex(2, 3, 2, spread=3)),
    at_most=(least_cost, costs_within),
    examples=(EVEN.giving(lhs=".889283726387628 .889283726387628"),),
    note="So the least KL of fully valid position-dependent tables is -log of the most base mass that a graph"
    " of correct words has, and the limits are the base given such graphs. Parity of four bits with this base"
    " keeps 0000, 0011, 1100, 1111 (entropy 1.2415). A table for all positions costs more where the base"
    " given the graph needs one for each: no 11 in three fair bits takes .48931, and log(8/5) is .47000.",
    false=(neighbour("by one table for all positions too", at=NO_ELEVEN,
        lhs=partial(least_cost, one_table=True)),),
)  # fmt: skip


@cache
def largest_even(length: int) -> Values:
    """Maximal layered graphs of words with even parity, as a mask (graphs, 2^length)."""
    even = graphs(length)[~graphs(length)[:, words(length).sum(axis=-1) % 2 == 1].any(axis=-1)]
    larger = (even[:, None] <= even).all(axis=-1) & (even[:, None] != even).any(axis=-1)
    return even[~larger.any(axis=1)]


def starts(later: Values, graph: Values, single: bool) -> tuple[Values, Values]:
    """Mask (words,) of correct words; 0/1 set (batch, words) of the graph (or word) numbered `graph`."""
    valid = words(later.shape[-3] + 1).sum(axis=-1) % 2 == 0
    sets = np.eye(len(valid))[valid] if single else largest_even(later.shape[-3] + 1)
    return valid, sets[np.minimum(graph.astype(int), len(sets) - 1)].astype(float)


def best_near(base: Values, start: Values, beta: float) -> Values:
    """Words' probabilities (batch, words) at the maximum of V - beta KL by coordinate ascent from `start`."""
    bits, q = words(int(np.log2(base.shape[-1]))), start
    valid = bits.sum(axis=-1) % 2 == 0
    for _ in range(30):
        for position in range(bits.shape[1]):
            before, now = bits[:, position - 1] if position else 0 * bits[:, 0], bits[:, position]
            for symbol in range(2 if position else 1):
                at = [(before == symbol) & (now == bit) for bit in range(2)]
                # Given the row and its next symbol, the mean of what the other rows leave to gain.
                masses = np.stack([q[:, rows].sum(axis=-1) for rows in at], axis=-1)
                gain = valid / beta - np.log(q / base)
                means = [(q * gain)[:, rows].sum(axis=-1) for rows in at]
                log_row = np.stack(means, axis=-1) / masses + np.log(masses)
                row = np.exp(log_row - log_row.max(axis=-1, keepdims=True))
                row *= masses.sum(axis=-1, keepdims=True) / row.sum(axis=-1, keepdims=True)
                for bit, rows in enumerate(at):
                    q = np.where(rows, q * (row / masses)[:, bit : bit + 1], q)
    return q


def as_bigram(policy: Values) -> Values:
    """Words' probabilities (batch, words) by the position-dependent bigram with the policy's transitions."""
    bits = words(int(np.log2(policy.shape[-1])))
    result = np.ones_like(policy)
    for position, symbol in enumerate(bits.T):
        before = bits[:, position - 1] if position else 0 * symbol
        same = before[:, None] == before
        both = policy @ (same & (symbol[:, None] == symbol))
        result = result * both / (policy @ same)
    return result


def near_graph(first: Values, later: Values, graph: Values, eps: float, single: bool = False) -> Values:
    """KL to the base and failure rate, (batch, 2), of the best table at beta = eps near a graph (or word).

    `first` and `later` are the base's tables; `graph` (batch,) numbers the graphs of `largest_even`.
    """
    base, (valid, inside) = on_words(first, later), starts(later, graph, single)
    q = best_near(base, as_bigram(0.999 * normalised(base * inside) + 0.001 * base), eps)
    return np.stack([REVERSE_KL(q, base), q[:, ~valid].sum(axis=-1)], axis=-1)


def at_graph(first: Values, later: Values, graph: Values, single: bool = False) -> Values:
    cost = -np.log((on_words(first, later) * starts(later, graph, single)[1]).sum(axis=-1))
    return np.stack([cost, 0 * cost], axis=-1)


PARITY = theorem(
    "Parity of four bits, beta -> 0: near each maximal graph of correct words the best table tends to it",
    statement=r"Y_1 = \{y: \textstyle\sum_t y_t \text{ even}\},\; D \subset Y_1 \text{ maximal}:\quad"
    r" \mathrm{KL}(q_\beta\|a) \to -\log a(D),\; 1 - V(q_\beta) \to 0 \quad (\beta \to 0)",
    source=SOURCE,
    on=chart(first=simplex(2, spread=1), later=simplex(2, 3, 2, spread=1), graph=integers(0, 15)),
    tends=(near_graph, at_graph),
    examples=(
        BASE.but(graph="5").giving(lhs=".8892836783 .0000000023", rhs=".889283726387628 0"),
        BASE.but(graph="4").giving(rhs="1.384895340206184 0"),
    ),
    tolerance=1e-4,
    floor=1.0,
    ladder=(0.2, 0.1, 0.05),
    share=0.003,
    note="Exponentially fast: with this base 1 - V is .0218645 at beta = .25, 5.0633e-5 at .1. The best of"
    " the limits is the graph of most base mass; training may rest at any of the six.",
    false=(neighbour("near each correct word it tends to that word", lhs=partial(near_graph, single=True),
        rhs=partial(at_graph, single=True)),),
)  # fmt: skip
