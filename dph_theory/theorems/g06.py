"""G6. Random rewards.

A sign that has nothing to do with the answer has no mean effect, but noise has: entropy falls where the
policy is flat, and rises where it is peaked. A clip of the ratio stops some of it; which way depends on the
policy.
"""

import numpy as np

from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, simplex, uniform
from ..statement.theorem import neighbour, refuted, theorem
from ._laws import entropy


def _after_one(law: Values, step: Values) -> Values:
    """The policies after one update on one answer with advantage +1 or -1, (..., sign, answer, outcomes)."""
    score = np.eye(law.shape[-1]) - law[..., None, :]
    push = np.stack([score, -score], axis=-3)
    return normalised(law[..., None, None, :] * np.exp(trailing(step, 3) * push))


def change(law: Values, eps: float) -> Values:
    """The mean change of entropy by a step of size eps on one answer, over eps^2."""
    changed = entropy(_after_one(law, eps + 0 * law[..., 0])).mean(axis=-2)
    return (law * (changed - entropy(law)[..., None])).sum(axis=-1) / eps**2


def by_curvature(law: Values) -> Values:
    """Half the trace of the entropy's Hessian in logits times diag p - p p^T."""
    log_p = np.log(law)
    high = entropy(law)[..., None]
    slope = -law * (log_p + high)
    spread = law[..., :, None] * np.eye(law.shape[-1]) - law[..., :, None] * law[..., None, :]
    hessian = -(log_p + high + 1)[..., :, None] * spread - law[..., :, None] * slope[..., None, :]
    return (hessian * spread).sum(axis=(-2, -1)) / 2


NOISE = theorem(
    "G6.noise",
    "Random rewards change entropy by noise: half the trace of its Hessian times the score's spread",
    statement=r"E\,\Delta H = \tfrac{\eta^2\,\mathrm{Var}A}{2N}\,\mathrm{tr}\big(\nabla^2 H\,"
    r"(\mathrm{diag}\,p - pp^\top)\big) + O(\eta^3)",
    source=Source("ours", "finite training"),
    on=chart(law=simplex(4, spread=2)),
    tends=(change, by_curvature),
    examples=(example(law=".4 .3 .2 .1"), example(law=".9 .05 .03 .02")),
    tolerance=1e-3,
    ladder=(1e-1, 1e-2, 1e-3),
    note="The trace is -.1916 for (.4, .3, .2, .1) and positive for peaked policies: with one answer of mass"
    " x and n-1 equal ones it turns at x = .8240 (n = 2), .7183 (4), .6497 (10).",
    false=(neighbour("twice as much", rhs=lambda law: 2 * by_curvature(law)),),
)


def _after_updates(law: Values, step: Values, high: Values) -> Values:
    """The mean entropy after four updates on one answer of random sign, the ratio clipped above."""
    found = 0 * law[..., 0]
    for sign in (1.0, -1.0):
        for answer in range(law.shape[-1]):
            now = law
            for _ in range(4):
                ratio = now[..., answer] / law[..., answer]
                stopped = (ratio > 1 + high) & (sign > 0)
                score = np.eye(law.shape[-1])[answer] - now
                pull = np.where(stopped, 0.0, sign * ratio * step)[..., None] * score
                now = normalised(now * np.exp(pull))
            found = found + law[..., answer] * entropy(now) / 2
    return found


def not_clipped(law: Values, step: Values) -> Values:
    return _after_updates(law, step, 1e9 + 0 * step)


UPPER = refuted(
    "G6.upper",
    "Under random rewards the upper clip lowers entropy whatever the policy: refuted",
    statement=r"E\,H(\text{ratios above 1.2 clipped}) \le E\,H(\text{not clipped})",
    source=Source("ours", "on arXiv 2509.26114, as summarised"),
    on=chart(law=simplex(4, spread=3), step=uniform(0.05, 0.5)),
    at_most=(lambda law, step: _after_updates(law, step, 0.2 + 0 * step), not_clipped),
    examples=(example(law=".4 .3 .2 .1", step=".3", lhs="1.227430108", rhs="1.135250068"),),
    note="So it is where the policy is peaked. Where it is flat, noise lowers entropy and each clip lessens"
    " the noise: the upper clip keeps entropy there.",
    false=(
        neighbour(
            "not by more than a nat",
            at=example(law=".97 .01 .01 .01", step=".5"),
            rhs=lambda law, step: not_clipped(law, step) - 1,
        ),
    ),
)
