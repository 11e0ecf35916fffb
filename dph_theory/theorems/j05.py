"""J5. Rollouts that are some updates old.

Old and new agree at the stationary policy, which staleness does not change; it bounds the step with which a
run still converges to it.
"""

from functools import cache

import numpy as np

from ..binary_reward import tilted
from ..dynamics import largest_stable_step
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem


@cache
def _critical(stale: int) -> float:
    """The `pull` from which x_{t+1} = x_t - pull x_{t-stale} no longer decays, by its largest root."""
    low, high = 0.0, 2.5
    for _ in range(40):
        pull = (low + high) / 2
        recursion = [1.0, -1.0, *[0.0] * (stale - 1), pull] if stale else [1.0, pull - 1]
        low, high = (pull, high) if np.abs(np.roots(recursion)).max() < 1 else (low, pull)
    return low


def by_the_recursion(base: Values, valid: Values, beta: Values, stale: Values) -> Values:
    """The step at which the fastest mode near the stationary policy no longer dies out."""
    policy = tilted(base, valid, beta)
    spread = policy[:, :, None] * (np.eye(policy.shape[-1]) - policy[:, None])
    pulls = np.array([_critical(age) for age in stale.astype(int).tolist()])
    return pulls / np.linalg.eigvalsh(spread)[:, -1] / beta


def by_the_age(base: Values, valid: Values, beta: Values, stale: Values) -> Values:
    return largest_stable_step(base, valid, beta) / (stale + 1)


STEP = theorem(
    "J5.step",
    "On rollouts k updates old a run near p_beta converges for steps below 2 sin(pi/(4k+2))/lambda",
    statement=r"\eta^* \lambda_{\max}\big(\beta\,(\mathrm{diag}\,p_\beta - p_\beta p_\beta^\top)\big)"
    r" = 2 \sin\frac{\pi}{4k+2}",
    source=Source("ours", "what the sampler selects"),
    on=chart(base=simplex(4, spread=2), valid=masks(4), beta=log_uniform(0.2, 5), stale=integers(0, 8)),
    equal=(by_the_recursion, largest_stable_step),
    examples=(
        example(
            base=".15 .1 .05 .4 .3",
            valid=[True] * 3 + [False] * 2,
            beta=".4",
            stale=4,
            value="2.5186879427386",
        ),
    ),
    tolerance=1e-8,
    note="With the KL in the reward. For k = 0, 1, 2, 4, 8: 14.505, 7.252, 4.482, 2.519, 1.338; simulated"
    " runs turn at 14.503, 7.247, 4.475, 2.510, 1.329.",
    false=(neighbour("on-policy's over k + 1", rhs=by_the_age),),
)
