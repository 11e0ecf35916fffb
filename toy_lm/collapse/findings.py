"""The experiment in three sentences, with its numbers filled in."""

from collections.abc import Sequence

from .results import FAMILIES, Fit, Results, select


def findings(results: Results) -> list[str]:
    """What the reverse KL selects, what the forward KL selects, and what gradient ascent finds of it."""
    reference = results.reference
    last = [reference.optima(family)[-1] for family in FAMILIES]
    forward = [reference.forward_kl(family) for family in FAMILIES]
    optima = select(reference.fits, objective="reverse_kl", method="global")
    missed = [fit for fit in select(reference.fits, method="ascent") if fit.is_global is False]
    certificates = [fit.certificate for fit in reference.fits if fit.certificate is not None]
    surest = min(certificates, key=lambda found: found.agree / found.starts)
    return [
        f"The global optimum of the reverse KL at {last[0].label} keeps {_kept(last)}; the filtered model "
        f"p_* has effective number {reference.target.effective:.2f}.",
        f"The forward-KL fit to p_* keeps {_kept(forward)}.",
        f"Gradient ascent from the base ends above {len(missed)} of the {len(optima)} global optima of the "
        f"reverse KL; each global optimum was met from at least {surest.agree} of {surest.starts} starts, "
        "which is strong evidence and no proof.",
    ]


def _kept(fits: Sequence[Fit]) -> str:
    return " and ".join(
        f"effective number {fit.effective:.2f} at validity {fit.validity:.3f} ({fit.family} bigrams)"
        for fit in fits
    )
