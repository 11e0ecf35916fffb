"""Each pass rate has a minimum KL, and only tilted models attain it.

KL control maximises the pass rate minus beta KL(pi || a), where a is the base model; its optimum is the
tilted model p_beta. Left: its pass rate mu, logit mu = logit A1 + 1/beta, for four pass rates A1 of the base.
Right: random policies over eight answers, above the smallest KL at their pass rate, which only tilted models
attain (dashed: at negative beta). A policy's height above the curve is its excess KL, the diversity lost
beyond the cost of its pass rate.
"""

from typing import Any

import numpy as np

from dph_theory import excess_kl, kappa, mu_from_beta, pass_rate
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLUE, GREY, Sheet

BASE_RATES, BETAS, HIGHEST = (0.01, 0.1, 0.25, 0.5), np.geomspace(0.05, 10.0, 200), 0.999
BASE = np.array([0.05, 0.1, 0.1, 0.05, 0.2, 0.15, 0.25, 0.1])
VALID = np.arange(8) < 3
POLICIES = 400


def numbers(records: Records) -> dict[str, Any]:
    """mu(beta) by base rate; the frontier kappa(mu) at BASE's rate, and random policies against it."""
    rate = float(pass_rate(BASE, VALID))
    policies = np.random.default_rng(0).dirichlet(np.ones(BASE.size), size=POLICIES)
    parts, frontier = excess_kl(policies, BASE, VALID), np.linspace(1 - HIGHEST, HIGHEST, 200)
    return {
        "mu": {one: mu_from_beta(one, BETAS) for one in BASE_RATES},
        "rate": rate,
        "frontier": (frontier, kappa(frontier, rate)),
        "policies": (pass_rate(policies, VALID), parts.total),
        "excess": parts.excess,
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """Pass rate against beta; random policies above the frontier."""
    left, right = sheet.panels(2)
    for (rate, mu), line in zip(numbers["mu"].items(), ("-", "--", "-.", ":"), strict=True):
        (drawn,) = left.plot(BETAS, mu, line)
        style = {"textcoords": "offset points", "ha": "right", "va": "top", "color": drawn.get_color()}
        left.annotate(f"$A_1 = {rate:g}$", (BETAS[-1], mu[-1]), (0, -3), **style)
    left.set(xscale="log", xlabel=r"$\beta$", ylabel=r"pass rate $\mu(\beta)$", ylim=(-0.1, 1.05))
    left.set_title(r"Pass rate by $\beta$")
    mu, least = numbers["frontier"]
    right.scatter(*numbers["policies"], s=3, color=GREY, alpha=0.5)
    for line, part in (("-", mu >= numbers["rate"]), ("--", mu <= numbers["rate"])):
        right.plot(mu[part], least[part], line, color=BLUE)
    right.text(0.02, 0.99, r"random policies $\pi$", transform=right.transAxes, va="top", color=GREY)
    right.text(0.99, 0.16, "tilted\nmodels $p_\\beta$", transform=right.transAxes, ha="right", color=BLUE)
    right.set(xlabel=r"pass rate $\mu$", ylabel=r"$\mathrm{KL}(\pi\,\|\,a)$ in nats")
    right.set(ylim=(0, 1.2 * numbers["policies"][1].max()), title="What a pass rate costs")


def table(numbers: dict[str, Any]) -> Table:
    """Points of the curves, and the distances of the random policies to the frontier."""
    curves = [(f"pass rate from {rate:g} by beta", BETAS, mu) for rate, mu in numbers["mu"].items()]
    curves.append(("minimum KL by pass rate", *numbers["frontier"]))
    rows: list[tuple[str, float | None, float]] = [
        (name, float(x), float(y)) for name, *points in curves for x, y in zip(*points, strict=True)
    ]
    excess, of_policies = numbers["excess"], f"excess KL of {POLICIES} random policies"
    rows = [*rows[::20], (f"{of_policies}, least", None, float(excess.min()))]
    return Table.from_rows(
        ("curve", "x", "y"), [*rows, (f"{of_policies}, median", None, float(np.median(excess)))]
    )


def claim(numbers: dict[str, Any]) -> bool:
    """Every random policy lies above the frontier."""
    return bool(numbers["excess"].min() > 0)
