"""The most probable valid words, and the expected number of distinct valid words among many samples."""

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from dph_theory import exact_pass_at_k
from dph_theory.support.errors import argument_error

from . import semiring
from .automaton import ValidityAutomaton
from .log_weights import Powers
from .markov import MarkovLM, agreed_length, next_contexts, single

NEGLIGIBLE = 1e-17
"""A term this small beside its sum no longer changes it."""


class Word(NamedTuple):
    """A word as symbols (length,), with its log-probability."""

    symbols: np.ndarray
    log_prob: float


def most_probable(policy: MarkovLM, automaton: ValidityAutomaton, length: int) -> Iterator[Word]:
    """The valid words of positive probability, the most probable first (equal to rounding: in some order).

    Best-first search under the exact bound of max-product messages (Viterbi), so a word costs its length
    times the vocabulary and nothing that is not asked for is built. Raises ValueError for batches.
    """
    length = agreed_length(length, single("policy", policy))
    best = semiring.messages(policy, automaton, length, semiring.log_accepting(automaton), semiring.maximum)
    return _best_first(
        [table.detach().numpy() for table in best],
        [policy.log_step(t).detach().numpy() for t in range(length)],
        automaton,
    )


def top_valid(policy: MarkovLM, automaton: ValidityAutomaton, length: int, k: int = 1) -> list[Word]:
    """The k most probable valid words, fewer if there are fewer; ValueError for k below 1."""
    if k < 1:
        raise argument_error("k", k, "a whole number, at least 1")
    return list(itertools.islice(most_probable(policy, automaton, length), k))


def _best_first(
    best: list[np.ndarray], steps: list[np.ndarray], automaton: ValidityAutomaton
) -> Iterator[Word]:
    V, length, order = automaton.symbols, len(steps), itertools.count()
    Node = tuple[float, int, tuple[int, ...], int, int, float]
    heap: list[Node] = [(-best[0][automaton.initial, 0], next(order), (), automaton.initial, 0, 0.0)]
    while heap and heap[0][0] < math.inf:
        _, _, prefix, state, context, log_prob = heapq.heappop(heap)
        # The best child has its parent's bound, so it may be followed at once; its siblings wait.
        while len(prefix) < length:
            t = len(prefix)
            reached = log_prob + steps[t][context]
            states = automaton.transitions[state]
            contexts = next_contexts(context, V, best[t + 1].shape[-1])
            bounds = reached + best[t + 1][states, contexts]
            choice = int(bounds.argmax())
            for x in np.flatnonzero(bounds > -np.inf):
                if x != choice:
                    child = (*prefix, int(x)), int(states[x]), int(contexts[x]), float(reached[x])
                    heapq.heappush(heap, (-float(bounds[x]), next(order), *child))
            prefix, state, context = (*prefix, choice), int(states[choice]), int(contexts[choice])
            log_prob = float(reached[choice])
        yield Word(np.array(prefix, dtype=np.int64), log_prob)


def distinct_valid(policy: MarkovLM, automaton: ValidityAutomaton, length: int, k: int) -> float:
    """The expected number of distinct valid words in k draws, sum_{Y1} 1 - (1-q)^k, exactly for any k.

    The at most 2k words with q >= 1/(2k) are summed one by one. For the rest, where kq < 1/2, the alternating
    series sum_j (-1)^{j+1} C(k,j) sum q^j converges at once, its power sums being masses of the weights q^j.
    Raises ValueError for k below 1, or batches. Source: ours, theory D2.
    """
    if k < 1:
        raise argument_error("k", k, "a whole number, at least 1")
    least = -math.log(2 * k)
    likely = list(
        itertools.takewhile(lambda w: w.log_prob >= least, most_probable(policy, automaton, length))
    )
    frequent = (
        exact_pass_at_k(np.exp([min(word.log_prob, 0.0) for word in likely]), k).sum() if likely else 0.0
    )
    words = np.array([word.symbols for word in likely], dtype=np.int64).reshape(-1, length)
    edges = _leaving(policy, automaton, words)
    rare, log_choose = 0.0, 0.0
    for j in range(1, k + 1):
        log_choose += math.log((k - j + 1) / j)
        term = math.exp(log_choose + _log_power_sum(policy, automaton, length, edges, j))
        rare += term if j % 2 else -term
        if term <= NEGLIGIBLE * (rare + frequent):
            break
    return float(frequent + rare)


class _Edges(NamedTuple):
    """The ways to leave the trie of some words at step t: where to, and the log-probability of the prefix."""

    t: int
    state: np.ndarray
    context: np.ndarray
    log_prefix: np.ndarray


def _leaving(policy: MarkovLM, automaton: ValidityAutomaton, words: np.ndarray) -> list[_Edges]:
    """Every word outside `words` leaves their trie once, by one of these edges."""
    V, found = automaton.symbols, []
    node = np.zeros(len(words), dtype=np.int64)
    state, context, log_prefix = np.array([automaton.initial]), np.array([0]), np.zeros(1)
    for t in range(words.shape[1]):
        reached = log_prefix[:, None] + policy.log_step(t).detach().numpy()[context]
        states = automaton.transitions[state]
        contexts = next_contexts(context, V, V ** min(t + 1, policy.order))
        inside, node = np.unique(node * V + words[:, t], return_inverse=True)
        outside = np.ones(reached.size, dtype=bool)
        outside[inside] = False
        ends = states.ravel(), contexts.ravel(), reached.ravel()
        found.append(_Edges(t + 1, *(x[outside] for x in ends)))
        state, context, log_prefix = (x[inside] for x in ends)
    return found


def _log_power_sum(
    policy: MarkovLM, automaton: ValidityAutomaton, length: int, edges: list[_Edges], j: int
) -> float:
    """Log of the sum of q^j over the valid words that leave by these edges."""
    weights = Powers((policy,), (float(j),))
    h = semiring.messages(weights, automaton, length, semiring.log_accepting(automaton))
    ways = [j * e.log_prefix + h[e.t].detach().numpy()[e.state, e.context] for e in edges]
    return float(logsumexp(np.concatenate(ways)))
