"""What a measured kernel says before any training: in a few sentences."""

from pathlib import Path

import numpy as np

from ..coverage import exact_pass_at_k
from .flow import group_drive, own_and_pair, pass_at_k_slope
from .kernel import AnswerKernel

_KS = (1, 16, 256)
_GROUP = 16
_ESTABLISHED = 2.0
"""Standard errors from which the sign of a mean over prompts counts as established."""


def told(kernel: AnswerKernel, path: Path) -> list[str]:
    """The prompts, their Pass@k, how they are coupled, which way training begins, and what to ask next."""
    sets = list(dict.fromkeys(kernel.sets))
    coupling, rates = kernel.log_odds
    said = [f"{kernel!r}, stored in {path}"]
    said += [f"{name:12s} {_pass_at_k(rates[kernel.of(name)])}" for name in sets]
    length = np.sqrt(np.maximum(np.diag(coupling), 1e-300))
    mixed = (rates > 0) & (rates < 1)
    trained = np.intersect1d(kernel.of(sets[0]), np.flatnonzero(mixed))
    if not trained.size:
        return [*said, f"no prompt of {sets[0]} has correct and incorrect answers: nothing would be learnt"]
    cosine = coupling / length[:, None] / length
    off = np.abs(cosine[np.ix_(trained, trained)][~np.eye(len(trained), dtype=bool)])
    if off.size:
        said.append(
            f"two trained prompts: |cosine| of the gradients of their log odds {off.mean():.2f} on average"
        )
    drive = np.zeros(len(rates))
    drive[trained] = group_drive(_GROUP, rates[trained])
    for name in sets:
        some = kernel.of(name)
        slope = pass_at_k_slope(coupling, rates, _KS, drive, among=some)
        ways = [f"Pass@{k} {'rises' if of > 0 else 'falls'}" for k, of in zip(_KS, slope, strict=True)]
        said.append(f"{name}: as GRPO begins {', '.join(ways)}")
    if len(trained) > 2:
        found = own_and_pair(coupling[np.ix_(trained, trained)], rates[trained], _KS[1], drive[trained])
        sure = abs(found.pair) > _ESTABLISHED * found.pair_error
        said.append(
            f"what new prompts of this kind would do to one another's Pass@{_KS[1]}: "
            + (("lower" if found.pair < 0 else "raise") if sure else "not established by so few")
            + f" ({float(found.pair / found.pair_error):+.1f} standard errors)"
        )
    return [*said, f"next: dph predict CONFIG --transfer {path}"]


def _pass_at_k(rates: np.ndarray) -> str:
    found = (float(exact_pass_at_k(rates, k).mean()) for k in _KS)
    return ", ".join(f"Pass@{k} {value:.1%}" for k, value in zip(_KS, found, strict=True))
