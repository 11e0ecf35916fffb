"""KL control: its pass rate by beta, the least KL that a pass rate costs, and policies above it (A5, A8)."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory import excess_kl, kappa, mu_from_beta, valid_mass
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme


@dataclass(frozen=True, kw_only=True)
class MuBetaConfig(FigureConfig):
    """Base rates of the curves; the base of the random policies, which a Dirichlet law draws."""

    betas: tuple[float, float] = (0.05, 10.0)
    points: int = 200
    base_rates: tuple[float, ...] = (0.01, 0.1, 0.25, 0.5)
    highest_mu: float = 0.999
    base: tuple[float, ...] = (0.05, 0.1, 0.1, 0.05, 0.2, 0.15, 0.25, 0.1)
    valid: tuple[bool, ...] = (True, True, True, False, False, False, False, False)
    policies: int = 400
    concentration: float = 1.0


@dataclass(frozen=True, kw_only=True)
class MuBetaCurve:
    """Of one base rate: the pass rate by beta, and the least KL along a grid of pass rates."""

    base_rate: float
    mu: Array
    grid: Array
    kappa: Array


@dataclass(frozen=True, kw_only=True)
class Policies:
    """Pass rate, KL to the base and excess KL of each policy."""

    mu: Array
    kl: Array
    excess: Array


@dataclass(frozen=True, kw_only=True)
class MuBetaNumbers:
    """The curves along betas; the frontier at the base rate of the random policies, and these."""

    betas: Array
    curves: tuple[MuBetaCurve, ...]
    base_rate: float
    frontier_mu: Array
    frontier_kl: Array
    policies: Policies


def compute(config: MuBetaConfig, records: Records) -> MuBetaNumbers:
    """mu(beta) and kappa(mu) by base rate, and random policies against the frontier of theory A8."""
    betas, rates = np.geomspace(*config.betas, config.points), np.array(config.base_rates)
    mu = mu_from_beta(rates[:, None], betas)
    grids = [np.linspace(rate, config.highest_mu, config.points) for rate in rates]
    base, valid = np.array(config.base), np.array(config.valid)
    rng = np.random.default_rng(config.seed)
    policies = rng.dirichlet(np.full(base.size, config.concentration), size=config.policies)
    parts = excess_kl(policies, base, valid)
    rate = float(valid_mass(base, valid))
    frontier = np.linspace(1 - config.highest_mu, config.highest_mu, config.points)
    return MuBetaNumbers(
        betas=betas,
        curves=tuple(
            MuBetaCurve(base_rate=float(r), mu=m, grid=g, kappa=kappa(g, r))
            for r, m, g in zip(rates, mu, grids, strict=True)
        ),
        base_rate=rate,
        frontier_mu=frontier,
        frontier_kl=kappa(frontier, rate),
        policies=Policies(mu=valid_mass(policies, valid), kl=parts.total, excess=parts.excess),
    )


def table(results: MuBetaNumbers) -> Table:
    """How far the random policies stay above the frontier."""
    excess = results.policies.excess
    row = (float(excess.size), excess.min(), float(np.median(excess)))
    return Table.of(("random policies", "least excess KL", "median excess KL"), [row])


def draw(config: MuBetaConfig, results: MuBetaNumbers) -> Drawing:
    """Three panels: mu against beta, kappa against mu, random policies above the frontier."""
    drawing, (left, middle, right) = theme.new(ncols=3)
    lines = ("-", "--", "-.", ":")
    for curve, line in zip(results.curves, lines, strict=False):
        name = f"$A_1 = {curve.base_rate:g}$"
        (drawn,) = left.plot(results.betas, curve.mu, line)
        end, color = (results.betas[-1], curve.mu[-1]), drawn.get_color()
        left.annotate(name, end, (0, -3), textcoords="offset points", ha="right", va="top", color=color)
        middle.plot(curve.grid, curve.kappa, line, color=color)
        end = (curve.grid[-1], curve.kappa[-1])
        middle.annotate(name, end, (3, 0), textcoords="offset points", va="center", color=color)
    left.set(xscale="log", xlabel=r"$\beta$", ylabel=r"pass rate $\mu(\beta)$", title=r"Pass rate by $\beta$")
    left.set(ylim=(-0.1, 1.05))
    middle.set(xlabel=r"pass rate $\mu$", ylabel=r"$\kappa(\mu) = \mathrm{kl}(\mu\,\|\,A_1)$ in nats")
    middle.set_title("What a pass rate costs at least")
    policies, mu = results.policies, results.frontier_mu
    right.scatter(policies.mu, policies.kl, s=3, color=theme.GREY, alpha=0.5)
    for line, part in (("-", mu >= results.base_rate), ("--", mu <= results.base_rate)):
        right.plot(mu[part], results.frontier_kl[part], line, color=theme.BLUE)
    right.text(0.02, 0.99, r"random policies $\pi$", transform=right.transAxes, va="top", color=theme.GREY)
    right.text(
        0.99, 0.16, "tilted\nmodels $p_\\beta$", transform=right.transAxes, ha="right", color=theme.BLUE
    )
    right.set(xlabel=r"pass rate $\mu$", ylabel=r"$\mathrm{KL}(\pi\,\|\,a)$ in nats")
    right.set(ylim=(0, 1.2 * policies.kl.max()), title="The frontier")
    return drawing


FIGURE = Figure(
    name="mu_beta",
    title="Each pass rate has a least KL, and only tilted models attain it",
    caption=(
        "KL control maximises the pass rate minus beta KL(pi || a), where a is the base model; its optimum "
        "is the tilted model p_beta. Left: the tilted model's pass rate mu, logit mu = logit A1 + 1/beta, "
        "for four pass rates A1 of the base; middle: the smallest KL from the base at which a policy can "
        "have the pass rate mu (A5). Right: random policies over eight answers above that smallest KL, which "
        "only tilted models attain (dashed: at negative beta); a policy's height above the curve is its "
        "excess KL, the diversity it lost beyond what its pass rate had to cost (A8)."
    ),
    results=MuBetaNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=MuBetaConfig(),
    quick=MuBetaConfig(points=20, policies=20),
)
