"""The published improvement bound exceeds the truth; its replacement does not.

Lower bounds on the return J of a new policy that takes one of two actions, of which one is rewarded; pi_old
is the old policy, pi_pef the reference on prompts that it already solves, and all values are exact. Left: the
true return (grey), TRPO's bound, the bound as published with a divergence to pi_pef, which is false
where it lies above the truth (shaded), and a corrected one; the table has its overshoot by divergence
and by discount, gamma = 0 among them. Right: the rehearsal guarantee equals the pass rate on the way to
the filtered model, and falls to zero on the way to a single answer.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from dph_theory import TabularMDP, filtered, pass_rate, rehearsal_guarantee
from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, FDivergence, alpha_divergence
from dph_theory.improvement import anchor_bound, stated_bound, trpo_bound
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, LIGHT, PURPLE, VERMILLION, Sheet

GAMMA, OLD, PEF = 0.9, 0.5, 0.54
P = np.linspace(0.4, 0.6, 401)
GAMMAS, LEADS = (0.0, 0.5, 0.9, 0.99), np.geomspace(1e-5, 0.4, 201)
BASE, VALID = np.array([0.15, 0.1, 0.45, 0.3]), np.array([True, True, False, False])
# The divergences that the source names.
DIVERGENCES = {"forward KL": FORWARD_KL, "alpha = 0.5": alpha_divergence(0.5), "JS": JENSEN_SHANNON}


def bandit(gamma: float) -> TabularMDP:
    """One state in which the first of two actions is always rewarded: J = p/(1-gamma)."""
    return TabularMDP(P=[[[1.0], [1.0]]], r=[[1.0, 0.0]], gamma=gamma, rho0=[1.0])


def policy(p: Any) -> np.ndarray:
    """Policy of the bandit that takes the rewarded action with probability p."""
    p = np.asarray(p, dtype=float)
    return np.stack([p, 1 - p], axis=-1)[..., None, :]


def overshoot(gamma: float, p: Any, pef: Any, divergence: FDivergence = FORWARD_KL) -> np.ndarray:
    """Published bound minus the true return: positive where the bound is false."""
    mdp, pi = bandit(gamma), policy(p)
    return np.asarray(stated_bound(mdp, pi, policy(OLD), policy(pef), divergence) - mdp.return_(pi))


def numbers(records: Records) -> dict[str, Any]:
    """Bounds along a path of policies, the overshoot as the reference nears, and two paths to certainty."""
    mdp, pi, old, pef = bandit(GAMMA), policy(P), policy(OLD), policy(PEF)
    above = overshoot(GAMMA, P, PEF) > 0
    turns = np.flatnonzero(np.diff(above))
    target, dirac = filtered(BASE, VALID), np.eye(BASE.size)[np.where(VALID, BASE, 0).argmax()]
    weight = np.linspace(0.0, 1.0, 201)[:, None]
    ends = {"to $p_*$": target, "to one answer": dirac}
    paths = {name: (1 - weight) * BASE + weight * end for name, end in ends.items()}
    return {
        "true return $J$": mdp.return_(pi),
        "TRPO": trpo_bound(mdp, pi, old),
        "as published": stated_bound(mdp, pi, old, pef, FORWARD_KL),
        "corrected": anchor_bound(mdp, pi, old, pef),
        "crossings": [brentq(lambda p: overshoot(GAMMA, p, PEF), *P[i : i + 2], xtol=1e-13) for i in turns],
        "at old": {name: float(overshoot(GAMMA, OLD, PEF, d)) for name, d in DIVERGENCES.items()},
        "leads": {gamma: (1 - gamma) * overshoot(gamma, OLD, OLD + LEADS) for gamma in GAMMAS},
        "rates": {name: pass_rate(path, VALID) for name, path in paths.items()},
        "guarantees": {name: rehearsal_guarantee(FORWARD_KL(path, target)) for name, path in paths.items()},
    }


LOOKS: dict[str, dict[str, Any]] = {
    "true return $J$": {"color": LIGHT, "linewidth": 2.5},
    "TRPO": {"color": PURPLE, "linestyle": "-."},
    "corrected": {"color": BLUE, "linestyle": "--"},
    "as published": {"color": VERMILLION},
}


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Bounds along a path; the rehearsal guarantee on two paths to certain success."""
    left, right = sheet.panels(2, height=2.6, width_ratios=(1.2, 1))
    truth, stated = numbers["true return $J$"], numbers["as published"]
    left.fill_between(P, truth, stated, where=stated > truth, color=VERMILLION, alpha=0.3, linewidth=0)
    for name, style in LOOKS.items():
        left.plot(P, numbers[name], label=name, **style)
    left.plot(numbers["crossings"], np.interp(numbers["crossings"], P, truth), "o", color=VERMILLION)
    for name, place in ((r"$\pi_{old}$", OLD), (r"$\pi_{pef}$", PEF)):
        left.vlines(place, 4.4, np.interp(place, P, truth), linestyles=":", linewidth=0.8, color=BLACK)
        left.text(place, 0.01, f" {name}", transform=left.get_xaxis_transform(), va="bottom")
    left.set(xlabel="probability $p$ of the rewarded action", ylabel=r"return $J$ and its bounds")
    left.set(ylim=(4.4, 6.4), title="False where shaded")
    left.legend(loc="upper left")
    rates = numbers["rates"]["to $p_*$"]
    right.plot(rates, rates, color=LIGHT, linewidth=2.5, label="the truth")
    styles = (("--", BLUE), ("-.", VERMILLION))
    for (name, guarantee), (line, color) in zip(numbers["guarantees"].items(), styles, strict=True):
        right.plot(numbers["rates"][name], guarantee, line, color=color, label=name)
    right.set(xlabel=r"pass rate $J(\pi)$", ylim=(0, 1.35), title="Rehearsal guarantee: true")
    right.set_ylabel(r"guarantee $e^{-\mathrm{KL}(p_*\,\|\,\pi)}$")
    right.legend(loc="upper left")


def table(numbers: dict[str, Any]) -> Table:
    """Largest excess of each bound over the true return; at pi_old, by divergence and discount."""
    largest = {name: float((numbers[name] - numbers["true return $J$"]).max()) for name in list(LOOKS)[1:]}
    rows = [(name, "largest on the path", value) for name, value in largest.items()]
    rows += [(f"as stated, {name}", "at pi_old", value) for name, value in numbers["at old"].items()]
    for gamma, over in numbers["leads"].items():
        where = "at pi_old, at most, times 1 - gamma"
        rows.append((f"as stated, gamma = {gamma:g}", where, float(over.max())))
    return Table.from_rows(("bound", "where", "bound minus J"), rows)


def claim(numbers: dict[str, Any]) -> bool:
    """The published bound exceeds the truth on the path and at every discount; its replacement never does."""
    truth = numbers["true return $J$"]
    above, corrected = ((numbers[name] - truth).max() for name in ("as published", "corrected"))
    return bool(
        above > 0.1 and corrected < 1e-9 and all(over.max() > 0 for over in numbers["leads"].values())
    )
