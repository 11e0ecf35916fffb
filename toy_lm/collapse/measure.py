"""Measures of a family's policies, and rates of collapse by method of fitting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.special import kl_div
from torch import Tensor

from dph_theory.coverage import effective_number

from ..grid import Row
from .family import Bigrams
from .problem import CollapseProblem
from .results import ENOUGH

DUE = 0.5  # A word is covered from this share of its mass under p_* on.
COLLAPSED = 0.9
"""A policy has collapsed if one word has more than this share of its pass rate, unlike under p_*."""


def measure(
    problem: CollapseProblem,
    family: Bigrams,
    theta: Float[Tensor, "rows size"],
    case: Int[np.ndarray, " rows"],
) -> list[Row]:
    """Measure each policy, given by its row of theta and the index `case` of its base; KLs in nats.

    `pass_rate`, the pass rate pi(Y1); top, the mass of the likeliest valid word, and top_share, top/pi(Y1);
    effective, e^entropy of pi(.|Y1); coverage, p_*{y : pi(y|Y1) >= p_*(y)/2}, the p_*-mass of words that the
    valid part of pi emits at least half as often; forward_kl, KL(p_*||pi), inf if a valid word is lost; kl,
    KL(pi||a), and its excess above the minimum at that pass rate; collapsed: one word has more than the share
    COLLAPSED of the pass rate, and no word has under p_*.
    """
    rows, base = family.rows(theta.detach()), problem.rows(family)[case]
    log_words = family.log_prob(rows, torch.from_numpy(problem.valid_words)).numpy()
    target, rates = problem.targets[case], problem.base_rates[case]
    mass = np.exp(log_words)
    pass_rate = mass.sum(-1)
    shares = mass / pass_rate[:, None]
    likeliest = shares.argmax(-1)
    kl = family.kl(theta.detach(), base).numpy()
    cost = kl_div(pass_rate, rates) + kl_div(1 - pass_rate, 1 - rates)
    valid = pass_rate * np.maximum(kl_div(shares, target).sum(-1), 0.0)
    # The remaining part of the KL, up to rounding.
    invalid = np.maximum(kl - cost - valid, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(target > 0, target * (np.log(target) - log_words), 0.0)
    columns = {
        "pass_rate": pass_rate,
        "top": np.exp(log_words.max(-1)),
        "top_share": shares.max(-1),
        "effective": effective_number(shares),
        "coverage": np.where(shares >= DUE * target, target, 0.0).sum(-1),
        "forward_kl": lost.sum(-1),
        "kl": kl,
        "excess_kl": valid + invalid,
        "collapsed": (shares.max(-1) > COLLAPSED) & (target.max(-1) <= COLLAPSED),
    }
    words = [problem.automaton.decode(problem.valid_words[word]) for word in likeliest]
    return _rows({"case": case, "family": family.name, "top_word": words, **columns})


def targets(problem: CollapseProblem) -> list[Row]:
    """One row per base: its number, pass rate and next-symbol rows, and the diversity of its p_*."""
    effective, words = effective_number(problem.targets), problem.valid_words
    return _rows(
        {
            "case": np.arange(problem.cases),
            "base_rate": problem.base_rates,
            "entropy": np.log(effective),
            "effective": effective,
            "top_share": problem.targets.max(-1),
            "top_word": [problem.automaton.decode(words[best]) for best in problem.targets.argmax(-1)],
            "initial": problem.bases.initial.tolist(),
            "transition": problem.bases.transition.tolist(),
        }
    )


def _rows(columns: dict[str, Any]) -> list[Row]:
    return pd.DataFrame(columns).to_dict("records")


def rates(fits: Sequence[Row], targets: Sequence[Row]) -> list[Row]:
    """Rows that count collapsed bases by family, objective and method; bases whose p_* is one word are out.

    Means are over the `bases`; effective_kept is exp(entropy) relative to p_*'s. For the reverse KL,
    `is_global` counts fits at the global minimum, and `confirmed` the global minima that enough starts
    reached.
    """
    spread = [target for target in targets if target["top_share"] <= COLLAPSED]
    effective = {target["case"]: target["effective"] for target in spread}
    groups: dict[tuple[object, ...], list[Row]] = {}
    for fit in fits:
        if fit["case"] in effective:
            key = tuple(fit.get(name) for name in _GROUPED)
            groups.setdefault(key, []).append(fit)
    rows = []
    for key, lines in groups.items():
        frame = pd.DataFrame(lines)
        frame["effective_kept"] = frame.effective / frame.case.map(effective)
        means = frame[["effective_kept", "pass_rate", "coverage", "excess_kl"]].mean().to_dict()
        row = dict(zip(_GROUPED, key, strict=True)) | {"bases": len(lines)} | means
        row["collapsed"] = sum(fit["collapsed"] for fit in lines)
        if "is_global" in lines[0]:
            row["is_global"] = sum(fit["is_global"] for fit in lines)
        if "certificate" in lines[0]:
            row["confirmed"] = sum(fit["certificate"]["agree"] >= ENOUGH for fit in lines)
        rows.append(row)
    return rows


_GROUPED = ("family", "objective", "method", "mu", "alpha")
