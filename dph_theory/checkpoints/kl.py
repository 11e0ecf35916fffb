"""KL that a run spent, beside the minimum at its pass rates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ..intervals import Estimate, mean_interval
from ..support.record import Readable
from .counts import PairedCounts, PromptRow


@dataclass(frozen=True, repr=False)
class KlSpent(Readable):
    """Means over prompts, in nats; total = least + excess.

    Attributes:
        prompts: Prompts whose base answers contain correct and incorrect ones.
        left_out: Prompts with a KL whose base rate is 0 or 1 in the answers seen.
        total, least, excess: KL(run || base), the minimum at these pass rates, and the difference.
        correct, incorrect: Parts of the excess among correct and incorrect answers; None without rewards.
    """

    prompts: int
    left_out: int
    total: Estimate
    least: Estimate
    excess: Estimate
    correct: Estimate | None
    incorrect: Estimate | None


def kl_spent(rows: Sequence[PromptRow], pairs: PairedCounts) -> KlSpent | None:
    """Mean KL(run || base) of a prompt and its parts; None if no prompt has log ratios or a KL.

    KL = kl(V || A1) + V KL(correct || base's correct) + (1-V) KL(incorrect || base's incorrect); the first
    term is the minimum. Logarithms of base rates are those of (c+1/2)/(n+1/2), whose bias is of second order,
    and V log V has its first-order bias taken off. Source: ours, entries `frontier`.
    """
    kl = np.array([np.nan if r.kl is None else r.kl for r in rows])
    of_correct = np.array([np.nan if r.kl_correct is None else r.kl_correct for r in rows])
    has, mixed = np.isfinite(kl), (pairs.base_c > 0) & (pairs.base_c < pairs.base_n)
    used = has & mixed
    if not used.any():
        return None
    valid, invalid = _least_terms(pairs.chosen(used))
    total, least = kl[used], valid + invalid
    judged = bool(np.isfinite(of_correct[used]).all())
    correct = of_correct[used] - valid
    return KlSpent(
        prompts=int(used.sum()),
        left_out=int((has & ~mixed).sum()),
        total=mean_interval(total),
        least=mean_interval(least),
        excess=mean_interval(total - least),
        correct=mean_interval(correct) if judged else None,
        incorrect=mean_interval(total - least - correct) if judged else None,
    )


def _least_terms(pairs: PairedCounts) -> tuple[np.ndarray, np.ndarray]:
    """Bias-corrected terms V log(V/A1) and (1-V) log((1-V)/A0) of the Bernoulli KL, each (prompts,), nats."""
    terms = []
    for c1, c0 in ((pairs.run_c, pairs.base_c), (pairs.run_n - pairs.run_c, pairs.base_n - pairs.base_c)):
        share = c1 / pairs.run_n
        # E[v log v] exceeds V log V by (1-V)/2n.
        entropy = xlogy(share, share) - np.where(c1 > 0, (1 - share) / (2 * pairs.run_n), 0.0)
        terms.append(entropy - share * np.log((c0 + 0.5) / (pairs.base_n + 0.5)))
    return terms[0], terms[1]
