"""Summary of a measured kernel before any training, in a few sentences."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..coverage import exact_pass_at_k
from .flow import group_drive, own_and_pair, pass_at_k_slope
from .kernel import AnswerKernel, cosines
from .linearised import HOLDS_TO

_KS = (1, 16, 256)
_GROUP, _NAMED = 16, 5
_ESTABLISHED = 2.0
"""Standard errors from which the sign of a mean over prompts counts as established."""


_NOISE = {
    "negative": "of the sum of positive eigenvalues was negative: set to zero",
    "noise": "of the gradients' squares, which a kernel of so many answers retains",
}


def kernel_summary(kernel: AnswerKernel, path: Path) -> list[str]:
    """Lines on the prompts, their Pass@k, how they are coupled, how training begins, and next commands."""
    sets = list(dict.fromkeys(kernel.sets))
    coupling, rates = kernel.log_odds
    lines = [f"{kernel!r}, stored in {path}"]
    lines += [f"{name:12s} {_pass_at_k(rates[kernel.prompts_in(name)])}" for name in sets]
    mixed = (rates > 0) & (rates < 1)
    lines += _noise_lines(kernel)
    trained = np.intersect1d(kernel.prompts_in(sets[0]), np.flatnonzero(mixed))
    if not trained.size:
        return [*lines, f"no prompt of {sets[0]} has correct and incorrect answers: nothing would be learnt"]
    off = np.abs(cosines(coupling)[np.ix_(trained, trained)][~np.eye(len(trained), dtype=bool)])
    if off.size:
        lines.append(
            f"two trained prompts: |cosine| of the gradients of their log odds {off.mean():.2f} on average"
        )
    drive = np.zeros(len(rates))
    drive[trained] = group_drive(_GROUP, rates[trained])
    for name in sets:
        prompts = kernel.prompts_in(name)
        slope = pass_at_k_slope(coupling, rates, _KS, drive, among=prompts)
        verbs = np.where(slope > 0, "rises", "falls")
        changes = ", ".join(f"Pass@{k} {verb}" for k, verb in zip(_KS, verbs, strict=True))
        lines.append(f"{name}: as GRPO begins {changes}")
    slopes = coupling @ drive
    if "adam" in kernel.about and drive @ slopes > 0:
        a_rate = kernel.about["adam"] * float(np.sqrt(np.mean(slopes[mixed] ** 2) / (drive @ slopes)))
        lines.append(
            f"the first step of Adam at 1e-6 changes log odds by {1e-6 * a_rate:.2g}: forecasts of sizes"
            f" hold up to {HOLDS_TO:g}, a rate of {HOLDS_TO / a_rate:.1g}"
        )
    if len(trained) > 2:
        effects = own_and_pair(coupling[np.ix_(trained, trained)], rates[trained], _KS[1], drive[trained])
        effect = "not established by so few"
        if abs(effects.pair) > _ESTABLISHED * effects.pair_error:
            effect = "lower" if effects.pair < 0 else "raise"
        lines.append(
            f"what new prompts of this kind would do to one another's Pass@{_KS[1]}: {effect}"
            f" ({float(effects.pair / effects.pair_error):+.1f} standard errors)"
        )
    return [*lines, f"next: dph predict CONFIG --transfer {path}"]


def _noise_lines(kernel: AnswerKernel) -> Iterator[str]:
    """Yield lines on the sampling noise of the kernel, and on prompts whose samples all agree."""
    for name, words in _NOISE.items():
        if name in kernel.about:
            yield f"noise of sampled answers: {kernel.about[name]:.0%} {words}"
            unmixed = [kernel.names[i] for i in np.flatnonzero(kernel.rates % 1 == 0)]
            if unmixed:
                few = ", ".join(unmixed[:_NAMED]) + (" and more" if unmixed[_NAMED:] else "")
                yield f"{len(unmixed)} prompts all correct or all incorrect say nothing: {few}"


def _pass_at_k(rates: np.ndarray) -> str:
    means = (float(exact_pass_at_k(rates, k).mean()) for k in _KS)
    return ", ".join(f"Pass@{k} {value:.1%}" for k, value in zip(_KS, means, strict=True))
