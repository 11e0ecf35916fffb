"""Lower bounds on the return of a new policy against the truth: one is false, two are tight (C1-C4)."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.optimize import brentq

from dph_theory import (
    FORWARD_KL,
    JENSEN_SHANNON,
    REVERSE_KL,
    FDivergence,
    TabularMDP,
    filtered,
    rehearsal_guarantee,
    valid_mass,
)
from dph_theory.improvement import anchor_bound, stated_bound, trpo_bound

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record


def bandit(gamma: Any) -> TabularMDP:
    """One state in which the first of two actions is rewarded, forever: J = p/(1-gamma)."""
    return TabularMDP(P=[[[1.0], [1.0]]], r=[[1.0, 0.0]], gamma=gamma, rho0=[1.0])


def policy(p: Any) -> np.ndarray:
    """The policy of the bandit that takes the rewarded action with probability p."""
    p = np.asarray(p, dtype=float)
    return np.stack([p, 1 - p], axis=-1)[..., None, :]


def overshoot(gamma: Any, p: Any, old: float, pef: Any, divergence: FDivergence = FORWARD_KL) -> np.ndarray:
    """How far the stated bound lies above the true return: positive where it is false."""
    mdp, pi = bandit(gamma), policy(p)
    stated = stated_bound(mdp, pi, policy(old), policy(pef), divergence)
    return np.asarray(stated - mdp.return_(pi))


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The bounds along a path of policies, the overshoot as the reference nears, and the guarantee."""
    gamma, old, pef = config["gamma"], config["old"], config["pef"]
    (first, last), (least, most) = config["path"], config["steps"]
    p, steps = np.linspace(first, last, config["points"]), np.geomspace(least, most, config["points"])
    mdp, pi, near, anchor = bandit(gamma), policy(p), policy(old), policy(pef)
    return {
        "path": {
            "p": p.tolist(),
            "return": mdp.return_(pi).tolist(),
            "trpo": trpo_bound(mdp, pi, near).tolist(),
            "stated": stated_bound(mdp, pi, near, anchor, FORWARD_KL).tolist(),
            "anchor": anchor_bound(mdp, pi, near, anchor).tolist(),
            "crossings": _crossings(p, lambda q: float(overshoot(gamma, q, old, pef))),
        },
        "at_old": {
            divergence.name: float(overshoot(gamma, old, old, pef, divergence))
            for divergence in (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON)
        },
        "nearing": {
            "steps": steps.tolist(),
            "overshoot": [((1 - g) * overshoot(g, old, old, old + steps)).tolist() for g in config["gammas"]],
        },
        "rehearsal": _rehearsal(config),
    }


def _crossings(p: np.ndarray, above: Any) -> list[float]:
    """Where a function of one variable changes sign, between the points of a grid."""
    signs = [(point, above(point) > 0) for point in p]
    pairs = [(a, b) for (a, left), (b, right) in pairwise(signs) if left != right]
    return [float(brentq(above, a, b, xtol=1e-13)) for a, b in pairs]


def _rehearsal(config: Mapping[str, Any]) -> dict[str, Any]:
    """Two ways from the base to certain success, at the same pass rates: to p_*, and to its likeliest."""
    base, valid = np.asarray(config["base"]), np.asarray(config["valid"], dtype=bool)
    target = filtered(base, valid)
    weight = np.linspace(0.0, 1.0, config["points"])[:, None]
    dirac = np.eye(base.size)[np.where(valid, base, 0).argmax()]
    ways = {"filtered": target, "collapsed": dirac}
    mixed = {name: (1 - weight) * base + weight * end for name, end in ways.items()}
    floors = {name: rehearsal_guarantee(FORWARD_KL(pi, target)) for name, pi in mixed.items()}
    example = np.asarray(config["example"])
    return {
        "return": valid_mass(mixed["filtered"], valid).tolist(),
        **{name: floor.tolist() for name, floor in floors.items()},
        "example": {
            "return": float(valid_mass(example, valid)),
            "guarantee": float(rehearsal_guarantee(FORWARD_KL(example, target))),
        },
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where the stated bound is false and by how much; how tight the others are."""
    path, rehearsal = results["path"], results["rehearsal"]
    truth = np.array(path["return"])
    over = (np.array(path["stated"]) - truth).max()
    below = {name: round((truth - np.array(path[name])).min(), 12) + 0.0 for name in ("trpo", "anchor")}
    at_old = ", ".join(f"{value:.4f} ({name.replace('_', ' ')})" for name, value in results["at_old"].items())
    return [
        f"Along the path the stated bound exceeds the true return by up to {over:.4f}; where the policy is "
        f"still the old one, by {at_old}.",
        f"The smallest distance from a bound up to the true return is {below['trpo']:.2g} for TRPO's bound "
        f"and {below['anchor']:.2g} for the bound C3.",
        f"A policy that ends on one correct answer reaches the pass rate {rehearsal['return'][-1]:.2g} with "
        f"a rehearsal guarantee of {rehearsal['collapsed'][-1]:.2g}.",
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Bounds along a path, the overshoot against the reference's lead, and the rehearsal guarantee."""
    results, config = record["results"], record["config"]
    drawing, (left, middle, right) = theme.new(ncols=3, height=2.5, width_ratios=(1.2, 1, 1))
    _draw_path(left, results["path"], config)
    lines = ("-", "--", "-.", ":")
    steps, curves = results["nearing"]["steps"], np.array(results["nearing"]["overshoot"])
    for gamma, over, line in zip(config["gammas"], curves, lines, strict=False):
        middle.plot(steps, np.where(over > 0, over, np.nan), line, label=rf"$\gamma = {gamma:g}$")
    middle.set(xscale="log", yscale="log", xlabel=r"lead $t$ of $\pi_{pef}$ over $\pi = \pi_{old}$")
    middle.set(ylabel=r"$(1-\gamma)\,$(stated bound $-\,J$)", title="False for every discount")
    middle.set(ylim=(None, 3))
    middle.legend(loc="upper left")
    rehearsal = results["rehearsal"]
    rates, example = rehearsal["return"], rehearsal["example"]
    right.plot(rates, rates, "-", color=theme.GREY, linewidth=2.5, label="the truth")
    right.plot(rates, rehearsal["filtered"], "--", color=theme.BLUE, label=r"to $p_*$")
    right.plot(rates, rehearsal["collapsed"], "-.", color=theme.VERMILLION, label="to one answer")
    right.plot(example["return"], example["guarantee"], "o", color=theme.BLACK, label="an example")
    right.set(xlabel=r"pass rate $J(\pi)$", ylabel=r"guarantee $e^{-\mathrm{KL}(p_*\,\|\,\pi)}$")
    right.set(ylim=(0, 1.35), title="Rehearsal guarantee")
    right.legend(loc="upper left")
    return drawing


def _draw_path(axes: Axes, path: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    p, truth, stated = (np.array(path[name]) for name in ("p", "return", "stated"))
    axes.fill_between(p, truth, stated, where=stated > truth, color=theme.VERMILLION, alpha=0.3, linewidth=0)
    axes.plot(p, truth, color=theme.GREY, linewidth=2.5, label="true return $J$")
    axes.plot(p, path["trpo"], "-.", color=theme.PURPLE, label="TRPO (C1)")
    axes.plot(p, path["anchor"], "--", color=theme.BLUE, label="its replacement (C3)")
    axes.plot(p, stated, color=theme.VERMILLION, label="as stated (C2)")
    for crossing in path["crossings"]:
        axes.plot(crossing, np.interp(crossing, p, truth), "o", color=theme.VERMILLION)
    for name, place in ((r"$\pi_{old}$", config["old"]), (r"$\pi_{pef}$", config["pef"])):
        axes.vlines(place, config["shown"][0], np.interp(place, p, truth), ls=":", lw=0.8, color=theme.BLACK)
        axes.text(place, 0.01, f" {name}", transform=axes.get_xaxis_transform(), va="bottom")
    axes.set(xlabel="probability $p$ of the rewarded action", ylabel=r"return $J$ and its bounds")
    axes.set(ylim=config["shown"], title="Along a path of policies")
    axes.legend(loc="upper left")


FIGURE = Figure(
    name="bounds",
    title="Improvement bounds against the truth",
    caption=(
        "Lower bounds on the return J of a new policy, in an example with one state and two actions, of "
        "which one is rewarded; pi_old is the old policy, pi_pef the reference on prompts that it already "
        "solves. Left: the true return (grey), TRPO's bound (C1), the bound as published with a divergence "
        "to pi_pef (C2), and a corrected one (C3). Where a bound lies above the truth (shaded) it is false. "
        "Middle: by how much the published bound is too high at pi = pi_old, against the lead t of pi_pef "
        "over pi_old: it is false at every discount gamma for all small t, because what it adds is of first "
        "order in t and what it subtracts of second. Right: two ways to the same pass rate. The rehearsal "
        "guarantee (C4) equals the pass rate on the way to the filtered model (the base restricted to its "
        "correct answers), and falls to zero on the way to a single answer. All values are exact."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={
        "gamma": 0.9,
        "old": 0.5,
        "pef": 0.54,
        "path": (0.4, 0.6),
        "shown": (4.4, 6.4),
        "points": 401,
        "gammas": (0.5, 0.9, 0.99, 0.999),
        "steps": (1e-5, 0.4),
        "base": (0.15, 0.1, 0.45, 0.3),
        "valid": (1, 1, 0, 0),
        "example": (0.3, 0.25, 0.25, 0.2),
    },
    quick={"points": 41},
)
