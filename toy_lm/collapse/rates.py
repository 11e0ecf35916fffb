"""How often each objective and optimiser collapses over random bases."""

from collections.abc import Sequence

import numpy as np

from .measure import COLLAPSED
from .optimum import ENOUGH
from .results import Fit, Rate, Target


def rates(fits: Sequence[Fit], targets: Sequence[Target]) -> tuple[Rate, ...]:
    """How many bases collapsed, by family, objective and method; not counted: bases whose p_* is one word."""
    effective = {target.case: target.effective for target in targets if target.top_share <= COLLAPSED}
    groups: dict[tuple[object, ...], list[Fit]] = {}
    for fit in fits:
        if fit.case in effective:
            key = (fit.family, fit.objective, fit.method, fit.mu, fit.alpha)
            groups.setdefault(key, []).append(fit)
    return tuple(_rate(lines, effective) for lines in groups.values())


def _rate(fits: Sequence[Fit], effective: dict[int, float]) -> Rate:
    first = fits[0]
    certificates = [fit.certificate for fit in fits if fit.certificate is not None]
    reached = [fit.is_global for fit in fits if fit.is_global is not None]
    return Rate(
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
