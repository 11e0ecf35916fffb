"""Lower bounds on the return of a new policy against the truth: one is false, two are tight (C1-C4)."""

from dataclasses import dataclass
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
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme


@dataclass(frozen=True, kw_only=True)
class BoundsConfig(FigureConfig):
    """The bandit with its policies, and the four answers of the rehearsal guarantee."""

    gamma: float = 0.9
    old: float = 0.5
    pef: float = 0.54
    path: tuple[float, float] = (0.4, 0.6)
    shown: tuple[float, float] = (4.4, 6.4)
    points: int = 401
    gammas: tuple[float, ...] = (0.5, 0.9, 0.99, 0.999)
    steps: tuple[float, float] = (1e-5, 0.4)
    base: tuple[float, ...] = (0.15, 0.1, 0.45, 0.3)
    valid: tuple[bool, ...] = (True, True, False, False)
    example: tuple[float, ...] = (0.3, 0.25, 0.25, 0.2)


@dataclass(frozen=True, kw_only=True)
class BoundsPath:
    """The true return and its bounds along p, and where the stated bound crosses the truth."""

    p: Array
    truth: Array
    trpo: Array
    stated: Array
    anchor: Array
    crossings: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class BoundsRehearsal:
    """Two ways to certain success at the same pass rates: guarantees to p_* and to its likeliest answer."""

    rate: Array
    filtered: Array
    collapsed: Array
    example_rate: float
    example_guarantee: float


@dataclass(frozen=True, kw_only=True)
class BoundsNumbers:
    """The path; the overshoot at the old policy by divergence, and along steps by discount; rehearsal."""

    path: BoundsPath
    at_old: dict[str, float]
    steps: Array
    overshoot: Array
    rehearsal: BoundsRehearsal


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


def compute(config: BoundsConfig, records: Records) -> BoundsNumbers:
    """The bounds along a path of policies, the overshoot as the reference nears, and the guarantee."""
    gamma, old, pef = config.gamma, config.old, config.pef
    p, steps = np.linspace(*config.path, config.points), np.geomspace(*config.steps, config.points)
    mdp, pi, near, anchor = bandit(gamma), policy(p), policy(old), policy(pef)
    divergences = (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON)
    return BoundsNumbers(
        path=BoundsPath(
            p=p,
            truth=mdp.return_(pi),
            trpo=trpo_bound(mdp, pi, near),
            stated=stated_bound(mdp, pi, near, anchor, FORWARD_KL),
            anchor=anchor_bound(mdp, pi, near, anchor),
            crossings=_crossings(p, lambda q: float(overshoot(gamma, q, old, pef))),
        ),
        at_old={d.name: float(overshoot(gamma, old, old, pef, d)) for d in divergences},
        steps=steps,
        overshoot=np.array([(1 - g) * overshoot(g, old, old, old + steps) for g in config.gammas]),
        rehearsal=_rehearsal(config),
    )


def _crossings(p: np.ndarray, above: Any) -> tuple[float, ...]:
    """Where a function of one variable changes sign, between the points of a grid."""
    signs = [(point, above(point) > 0) for point in p]
    pairs = [(a, b) for (a, left), (b, right) in pairwise(signs) if left != right]
    return tuple(float(brentq(above, a, b, xtol=1e-13)) for a, b in pairs)


def _rehearsal(config: BoundsConfig) -> BoundsRehearsal:
    base, valid, example = np.array(config.base), np.array(config.valid), np.array(config.example)
    target = filtered(base, valid)
    weight = np.linspace(0.0, 1.0, config.points)[:, None]
    dirac = np.eye(base.size)[np.where(valid, base, 0).argmax()]
    to_target, to_dirac = ((1 - weight) * base + weight * end for end in (target, dirac))
    return BoundsRehearsal(
        rate=valid_mass(to_target, valid),
        filtered=rehearsal_guarantee(FORWARD_KL(to_target, target)),
        collapsed=rehearsal_guarantee(FORWARD_KL(to_dirac, target)),
        example_rate=float(valid_mass(example, valid)),
        example_guarantee=float(rehearsal_guarantee(FORWARD_KL(example, target))),
    )


def table(results: BoundsNumbers) -> Table:
    """How far each bound lies above the true return at most; at the old policy, by divergence."""
    path = results.path
    bounds = {"as stated (C2)": path.stated, "TRPO (C1)": path.trpo, "its replacement (C3)": path.anchor}
    rows = [(name, "largest on the path", (bound - path.truth).max()) for name, bound in bounds.items()]
    rows += [(f"as stated, {name.replace('_', ' ')}", "at pi_old", v) for name, v in results.at_old.items()]
    return Table.of(("bound", "where", "bound minus J"), rows)


def draw(config: BoundsConfig, results: BoundsNumbers) -> Drawing:
    """Bounds along a path, the overshoot against the reference's lead, and the rehearsal guarantee."""
    drawing, (left, middle, right) = theme.new(ncols=3, height=2.5, width_ratios=(1.2, 1, 1))
    _draw_path(left, results.path, config)
    lines = ("-", "--", "-.", ":")
    for gamma, over, line in zip(config.gammas, results.overshoot, lines, strict=False):
        middle.plot(results.steps, np.where(over > 0, over, np.nan), line, label=rf"$\gamma = {gamma:g}$")
    middle.set(xscale="log", yscale="log", xlabel=r"lead $t$ of $\pi_{pef}$ over $\pi = \pi_{old}$")
    middle.set(ylabel=r"$(1-\gamma)\,$(stated bound $-\,J$)", title="False for every discount")
    middle.set(ylim=(None, 3))
    middle.legend(loc="upper left")
    rehearsal = results.rehearsal
    rates = rehearsal.rate
    right.plot(rates, rates, "-", color=theme.GREY, linewidth=2.5, label="the truth")
    right.plot(rates, rehearsal.filtered, "--", color=theme.BLUE, label=r"to $p_*$")
    right.plot(rates, rehearsal.collapsed, "-.", color=theme.VERMILLION, label="to one answer")
    point = (rehearsal.example_rate, rehearsal.example_guarantee)
    right.plot(*point, "o", color=theme.BLACK, label="an example")
    right.set(xlabel=r"pass rate $J(\pi)$", ylabel=r"guarantee $e^{-\mathrm{KL}(p_*\,\|\,\pi)}$")
    right.set(ylim=(0, 1.35), title="Rehearsal guarantee: true")
    right.legend(loc="upper left")
    return drawing


def _draw_path(axes: Axes, path: BoundsPath, config: BoundsConfig) -> None:
    p, truth, stated = path.p, path.truth, path.stated
    over = stated > truth
    axes.fill_between(p, truth, stated, where=over.tolist(), color=theme.VERMILLION, alpha=0.3, linewidth=0)
    axes.plot(p, truth, color=theme.GREY, linewidth=2.5, label="true return $J$")
    axes.plot(p, path.trpo, "-.", color=theme.PURPLE, label="TRPO (C1)")
    axes.plot(p, path.anchor, "--", color=theme.BLUE, label="its replacement (C3)")
    axes.plot(p, stated, color=theme.VERMILLION, label="as stated (C2)")
    for crossing in path.crossings:
        axes.plot(crossing, np.interp(crossing, p, truth), "o", color=theme.VERMILLION)
    for name, place in ((r"$\pi_{old}$", config.old), (r"$\pi_{pef}$", config.pef)):
        axes.vlines(place, config.shown[0], np.interp(place, p, truth), ls=":", lw=0.8, color=theme.BLACK)
        axes.text(place, 0.01, f" {name}", transform=axes.get_xaxis_transform(), va="bottom")
    axes.set(xlabel="probability $p$ of the rewarded action", ylabel=r"return $J$ and its bounds")
    axes.set(ylim=config.shown, title="False where shaded")
    axes.legend(loc="upper left")


FIGURE = Figure(
    name="bounds",
    title="The published improvement bound exceeds the truth; its replacement does not",
    caption=(
        "Lower bounds on the return J of a new policy that takes one of two actions, of which one is "
        "rewarded; pi_old is the old policy, pi_pef the reference on prompts that it already solves, and all "
        "values are exact. Left: the true return (grey), TRPO's bound (C1), the bound as published with a "
        "divergence to pi_pef (C2), which is false where it lies above the truth (shaded), and a corrected "
        "one (C3); middle: by how much the published bound is too high at pi = pi_old, against the lead t of "
        "pi_pef over pi_old, at every discount gamma, because what it adds is of first order in t and what "
        "it subtracts of second. Right: the rehearsal guarantee (C4) equals the pass rate on the way to the "
        "filtered model (the base restricted to its correct answers), and falls to zero on the way to a "
        "single answer."
    ),
    results=BoundsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=BoundsConfig(),
    quick=BoundsConfig(points=41),
)
