"""Measures of a fitted policy: its validity, its diversity among the valid words, and its KL to the base."""

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dph_theory.coverage import effective_number

from ..engine.exact import excess_kl, kl
from ..engine.markov import MarkovLM
from ..engine.tilting import filtered_lm
from .family import Bigrams
from .problem import Problem
from .results import Measured, Target

DUE = 0.5
"""A word is covered from this share of its mass under p_* on, as in `toy_lm.engine.coverage.coverage`."""
COLLAPSED = 0.9
"""A policy has collapsed if one word has more than this share of its valid mass, and of p_* has not."""


def measure(
    problem: Problem, family: Bigrams, theta: Float[Tensor, "rows size"], case: Int[np.ndarray, " rows"]
) -> list[Measured]:
    """The measures of each policy, given its row of theta and the number of its base."""
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
        Measured(
            case=int(number),
            family=family.name,
            top_word=word,
            **{name: column[row].item() for name, column in columns.items()},
        )
        for row, (number, word) in enumerate(zip(case, words, strict=True))
    ]


def targets(problem: Problem) -> list[Target]:
    """Each base with measures of its filtered model."""
    effective = effective_number(problem.targets)
    return [
        Target(
            case=number,
            base_rate=float(problem.base_rates[number]),
            entropy=float(np.log(effective[number])),
            effective=float(effective[number]),
            top_share=float(target.max()),
            top_word=problem.automaton.decode(problem.valid_words[target.argmax()]),
            initial=tuple(problem.bases.log_initial[0][number, 0].exp().tolist()),
            transition=tuple(map(tuple, problem.bases.log_transition[number].exp().tolist())),
        )
        for number, target in enumerate(problem.targets)
    ]
