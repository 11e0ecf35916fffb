"""KL control: its pass rate by beta, the least KL that a pass rate costs, and policies above it (A5, A8)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory import excess_kl, kappa, mu_from_beta, valid_mass

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """mu(beta) and kappa(mu) by base rate, and random policies against the frontier of theory A8."""
    low, high = config["betas"]
    betas = np.geomspace(low, high, config["points"])
    rates = np.asarray(config["base_rates"])
    mu = mu_from_beta(rates[:, None], betas)
    grid = [np.linspace(rate, config["highest_mu"], config["points"]) for rate in rates]
    base, valid = np.asarray(config["base"]), np.asarray(config["valid"], dtype=bool)
    rng = np.random.default_rng(config["seed"])
    policies = rng.dirichlet(np.full(base.size, config["concentration"]), size=config["policies"])
    parts = excess_kl(policies, base, valid)
    rate = float(valid_mass(base, valid))
    frontier = np.linspace(1 - config["highest_mu"], config["highest_mu"], config["points"])
    return {
        "betas": betas.tolist(),
        "curves": [
            {"base_rate": float(r), "mu": m.tolist(), "grid": g.tolist(), "kappa": kappa(g, r).tolist()}
            for r, m, g in zip(rates, mu, grid, strict=True)
        ],
        "frontier": {"base_rate": rate, "mu": frontier.tolist(), "kl": kappa(frontier, rate).tolist()},
        "policies": {
            "mu": valid_mass(policies, valid).tolist(),
            "kl": parts.total.tolist(),
            "excess": parts.excess.tolist(),
        },
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """How far the random policies stay above the frontier."""
    excess = np.asarray(results["policies"]["excess"])
    return [
        f"The excess KL of {excess.size} random policies is at least {excess.min():.2g} nats, "
        f"{np.median(excess):.2g} in the median."
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Three panels: mu against beta, kappa against mu, random policies above the frontier."""
    results = record["results"]
    drawing, (left, middle, right) = theme.new(ncols=3)
    lines = ("-", "--", "-.", ":")
    for curve, line in zip(results["curves"], lines, strict=False):
        name = f"$A_1 = {curve['base_rate']:g}$"
        (drawn,) = left.plot(results["betas"], curve["mu"], line)
        end, color = (results["betas"][-1], curve["mu"][-1]), drawn.get_color()
        left.annotate(name, end, (0, -3), textcoords="offset points", ha="right", va="top", color=color)
        middle.plot(curve["grid"], curve["kappa"], line, color=color)
        end = (curve["grid"][-1], curve["kappa"][-1])
        middle.annotate(name, end, (3, 0), textcoords="offset points", va="center", color=color)
    left.set(xscale="log", xlabel=r"$\beta$", ylabel=r"pass rate $\mu(\beta)$", title=r"Pass rate by $\beta$")
    left.set(ylim=(-0.1, 1.05))
    middle.set(xlabel=r"pass rate $\mu$", ylabel=r"$\kappa(\mu) = \mathrm{kl}(\mu\,\|\,A_1)$ in nats")
    middle.set_title("What a pass rate costs at least")
    policies, frontier = results["policies"], results["frontier"]
    right.scatter(policies["mu"], policies["kl"], s=3, color=theme.GREY, alpha=0.5)
    for line, part in (("-", 1), ("--", -1)):
        kept = [(m, kl) for m, kl in _pairs(frontier) if part * (m - frontier["base_rate"]) >= 0]
        right.plot(*zip(*kept, strict=True), line, color=theme.BLUE)
    top = 1.2 * max(policies["kl"])
    right.text(0.02, 0.99, r"random policies $\pi$", transform=right.transAxes, va="top", color=theme.GREY)
    right.text(
        0.99, 0.16, "tilted\nmodels $p_\\beta$", transform=right.transAxes, ha="right", color=theme.BLUE
    )
    right.set(xlabel=r"pass rate $\mu$", ylabel=r"$\mathrm{KL}(\pi\,\|\,a)$ in nats", ylim=(0, top))
    right.set_title("The frontier")
    return drawing


def _pairs(frontier: Mapping[str, Any]) -> list[tuple[float, float]]:
    return list(zip(frontier["mu"], frontier["kl"], strict=True))


FIGURE = Figure(
    name="mu_beta",
    title="Pass rate and cost of KL control",
    caption=(
        "KL control maximises the pass rate minus beta KL(pi || a), where a is the base model; its optimum "
        "is the tilted model p_beta. Left: the pass rate mu of the tilted model, logit mu = logit A1 + "
        "1/beta, for four pass rates A1 of the base (A5). Middle: the smallest KL from the base that a "
        "policy with pass rate mu can have (A5). Right: random policies over eight answers, and that "
        "smallest KL, which only the tilted models have (dashed: at negative beta). A policy's height above "
        "the curve is its excess KL: the diversity it lost beyond what its pass rate had to cost (A8). All "
        "values are exact."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={
        "betas": (0.05, 10.0),
        "points": 200,
        "base_rates": (0.01, 0.1, 0.25, 0.5),
        "highest_mu": 0.999,
        "base": (0.05, 0.1, 0.1, 0.05, 0.2, 0.15, 0.25, 0.1),
        "valid": (1, 1, 1, 0, 0, 0, 0, 0),
        "policies": 400,
        "concentration": 1.0,
    },
    quick={"points": 20, "policies": 20},
)
