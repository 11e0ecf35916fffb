"""What a fitted policy is worth: validity, diversity among the valid words, and what was paid for it."""

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.coverage import effective_number

from ..engine.exact import excess_kl, kl
from ..engine.markov import MarkovLM
from ..engine.product import filtered_lm
from .family import Bigrams
from .problem import Problem

Row: TypeAlias = dict[str, Any]
"""One line of results, ready for JSON."""
DUE = 0.5
"""The share of its due from which on a word counts as covered, as in `toy_lm.engine.reach.coverage`."""
COLLAPSED = 0.9
"""A policy has collapsed if one word has more than this share of its valid mass, and of p_* has not."""


def measure(
    problem: Problem, family: Bigrams, theta: Float[Tensor, "rows size"], case: Int[np.ndarray, " rows"]
) -> list[Row]:
    """One line for each policy (row of theta, number of its base).

    validity pi(Y1); top, the mass of its likeliest valid word, and top_share, that mass over the validity;
    effective, e^entropy of pi(.|Y1); coverage, p_*{y : pi(y|Y1) >= p_*(y)/2}, the mass that p_* has on words
    which the policy, once valid, says at least half as often; overlap, 1 - TV(pi(.|Y1), p_*);
    forward_kl, KL(p_*||pi), inf where a valid word has been lost; kl, KL(pi||a), and its excess (theory A8)
    with the parts from valid and invalid words; collapsed, see COLLAPSED. Nats throughout.
    """
    live, base = family.policy(theta.detach()), problem.base(case)
    policy = MarkovLM(live.log_initial, live.log_transition)
    log_words = policy.log_prob(problem.valid_words)
    target = problem.targets[case]
    validity = np.exp(log_words).sum(-1)
    shares = np.exp(log_words) / validity[:, None]
    likeliest = shares.argmax(-1)
    parts = excess_kl(policy, base, problem.automaton, problem.length)
    columns = {
        "validity": validity,
        "top": np.exp(log_words.max(-1)),
        "top_share": shares.max(-1),
        "effective": effective_number(shares),
        "coverage": np.where(shares >= DUE * target, target, 0.0).sum(-1),
        "overlap": np.minimum(shares, target).sum(-1),
        "forward_kl": kl(filtered_lm(base, problem.automaton, problem.length), policy),
        "kl": parts.total,
        "excess_kl": parts.excess,
        "excess_valid": parts.valid,
        "excess_invalid": parts.invalid,
        "collapsed": (shares.max(-1) > COLLAPSED) & (target.max(-1) <= COLLAPSED),
    }
    words = [problem.automaton.decode(problem.valid_words[word]) for word in likeliest]
    return [
        {"case": int(number), "family": family.name, "top_word": word}
        | {name: column[row].item() for name, column in columns.items()}
        for row, (number, word) in enumerate(zip(case, words, strict=True))
    ]


def target_lines(problem: Problem) -> list[Row]:
    """What there is to keep: each base's pass rate; entropy, effective number and top word of its p_*."""
    effective = effective_number(problem.targets)
    return [
        {
            "case": number,
            "base_rate": float(problem.base_rates[number]),
            "entropy": float(np.log(effective[number])),
            "effective": float(effective[number]),
            "top_share": float(target.max()),
            "top_word": problem.automaton.decode(problem.valid_words[target.argmax()]),
            "initial": problem.bases.log_initial[0][number, 0].exp().tolist(),
            "transition": problem.bases.log_transition[number].exp().tolist(),
        }
        for number, target in enumerate(problem.targets)
    ]
