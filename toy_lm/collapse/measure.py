"""What a policy of a family does, and how often a way of fitting collapses."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import kl_div
from torch import Tensor

from dph_theory.coverage import effective_number

from .family import Bigrams
from .problem import CollapseProblem
from .results import ENOUGH, CollapseRate, FittedPolicy, PolicyMeasures, Target

DUE = 0.5
"""A word is covered from this share of its mass under p_* on."""
COLLAPSED = 0.9
"""A policy has collapsed if one word has more than this share of its valid mass, and of p_* has not."""


def measure(
    problem: CollapseProblem,
    family: Bigrams,
    theta: Float[Tensor, "rows size"],
    case: Int[np.ndarray, " rows"],
) -> list[PolicyMeasures]:
    """The measures of each policy, given its row of theta and the number of its base."""
    rows, base = family.rows(theta.detach()), problem.rows(family)[case]
    log_words = family.log_prob(rows, torch.from_numpy(problem.valid_words)).numpy()
    target, rates = problem.targets[case], problem.base_rates[case]
    mass = np.exp(log_words)
    validity = mass.sum(-1)
    shares = mass / validity[:, None]
    likeliest = shares.argmax(-1)
    kl = family.kl(theta.detach(), base).numpy()
    cost = kl_div(validity, rates) + kl_div(1 - validity, 1 - rates)
    valid = validity * np.maximum(kl_div(shares, target).sum(-1), 0.0)
    # What is left, to rounding (theory A8).
    invalid = np.maximum(kl - cost - valid, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(target > 0, target * (np.log(target) - log_words), 0.0)
    columns = {
        "validity": validity,
        "top": np.exp(log_words.max(-1)),
        "top_share": shares.max(-1),
        "effective": effective_number(shares),
        "coverage": np.where(shares >= DUE * target, target, 0.0).sum(-1),
        "overlap": np.minimum(shares, target).sum(-1),
        "forward_kl": lost.sum(-1),
        "kl": kl,
        "excess_kl": valid + invalid,
        "excess_valid": valid,
        "excess_invalid": invalid,
        "collapsed": (shares.max(-1) > COLLAPSED) & (target.max(-1) <= COLLAPSED),
    }
    words = [problem.automaton.decode(problem.valid_words[word]) for word in likeliest]
    return [
        PolicyMeasures(
            case=int(number),
            family=family.name,
            top_word=word,
            **{name: column[row].item() for name, column in columns.items()},
        )
        for row, (number, word) in enumerate(zip(case, words, strict=True))
    ]


def targets(problem: CollapseProblem) -> list[Target]:
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
            initial=tuple(problem.bases.initial[number].tolist()),
            transition=tuple(map(tuple, problem.bases.transition[number].tolist())),
        )
        for number, target in enumerate(problem.targets)
    ]


def rates(fits: Sequence[FittedPolicy], targets: Sequence[Target]) -> tuple[CollapseRate, ...]:
    """How many bases collapsed, by family, objective and method; not counted: bases whose p_* is one word."""
    effective = {target.case: target.effective for target in targets if target.top_share <= COLLAPSED}
    groups: dict[tuple[object, ...], list[FittedPolicy]] = {}
    for fit in fits:
        if fit.case in effective:
            key = (fit.family, fit.objective, fit.method, fit.mu, fit.alpha)
            groups.setdefault(key, []).append(fit)
    return tuple(_rate(lines, effective) for lines in groups.values())


def _rate(fits: Sequence[FittedPolicy], effective: dict[int, float]) -> CollapseRate:
    first = fits[0]
    certificates = [fit.certificate for fit in fits if fit.certificate is not None]
    reached = [fit.is_global for fit in fits if fit.is_global is not None]
    return CollapseRate(
        family=first.family,
        objective=first.objective,
        method=first.method,
        mu=first.mu,
        alpha=first.alpha,
        bases=len(fits),
        collapsed=sum(fit.collapsed for fit in fits),
        effective_kept=float(np.mean([fit.effective / effective[fit.case] for fit in fits])),
        validity=float(np.mean([fit.validity for fit in fits])),
        coverage=float(np.mean([fit.coverage for fit in fits])),
        excess_kl=float(np.mean([fit.excess_kl for fit in fits])),
        is_global=sum(reached) if reached else None,
        confirmed=sum(c.agree >= ENOUGH for c in certificates) if certificates else None,
    )
