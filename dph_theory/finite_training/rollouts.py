"""Sources of answers other than the policy itself: another sampler, an older policy, fewer answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from ..binary_reward import tilted
from ..numeric.arrays import Array, Distribution, Mask, Scalars, integers, real
from ..numeric.elementary import Values
from ..stationary.token import Tables
from ..support.errors import argument_error, choice

Sampler: TypeAlias = Callable[[list[np.ndarray]], Tables]
"""A sampler maps the policy's next-token tables to those from which answers are drawn."""
CORRECTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType(
    {
        "none": lambda log_ratio: 0 * log_ratio,
        "token": lambda log_ratio: log_ratio,
        "sequence": lambda log_ratio: 0 * log_ratio + log_ratio.sum(axis=-1, keepdims=True),
    }
)
"""Factor by which trainers correct a token's term for another sampler: the log of policy over sampler, for
the token or summed over its answer, (answers, tokens).
"""
# Bound of a log-ratio: the weight of a token that the sampler excludes is unusable, but finite.
_LARGEST = 600.0


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Source of a run's answers, and the answers' weights; ValueError for an unknown correction, cap or age.

    sampler: function of the policy's tables, such as `truncated` with its settings. correction: one of
    CORRECTIONS, at most `cap`; it multiplies the gradient of an answer's tokens, and the penalty's too if
    corrects_penalty (TRL's for vLLM leaves the penalty out). stale: steps by which the policy that answered,
    and against which a KL in the reward is taken, is behind. weights: one number per answer, (V, ..., V),
    such as 0 for masked answers. Source: ours, entries `samplers`.
    """

    sampler: Sampler | None = None
    correction: str = "none"
    cap: float = np.inf
    corrects_penalty: bool = True
    stale: int = 0
    weights: Array | None = None

    def __post_init__(self) -> None:
        choice("correction", self.correction, CORRECTIONS)
        real("cap", self.cap, above=0), integers("stale", self.stale, at_least=0)

    def importance_weights(self, log_ratio: np.ndarray) -> np.ndarray:
        """Capped factors of tokens' gradients, (answers, tokens), from log policy/sampler of that shape."""
        return np.minimum(np.exp(np.minimum(CORRECTIONS[self.correction](log_ratio), _LARGEST)), self.cap)

    def answer_weights(self, shape: tuple[int, ...]) -> np.ndarray:
        """Weights of the answers as an array of that shape; ValueError for another shape."""
        weights = np.asarray(real("weights", self.weights, at_least=0, below=np.inf))
        if weights.shape != shape:
            raise argument_error("weights.shape", weights.shape, f"one weight per answer, {shape}")
        return weights


ON_POLICY = Rollouts()


def largest_stable_step(base: Distribution, valid: Mask, beta: Scalars, stale: Scalars = 0) -> Values:
    """Effective logit step above which a run on rollouts k updates old no longer converges to p_beta.

    One decision, KL in the reward: near p_beta x_{t+1} = x_t - eta L x_{t-k} with L = beta (diag p - p p^T),
    which decays iff eta lambda_max(L) < 2 sin(pi/(4k+2)). The stationary policy is the same at every age.
    Parameters: base, valid (..., outcomes); beta > 0 (...); stale, k >= 0 (...). Returns eta, (...).

    >>> largest_stable_step([0.15, 0.1, 0.05, 0.4, 0.3], [1, 1, 1, 0, 0], 0.4, [0, 4]).round(3)
    array([14.505,  2.519])

    Source: ours, entries `samplers`.
    """
    policy, age = tilted(base, valid, beta), integers("stale", stale, at_least=0)
    flat = policy[..., None] * (np.eye(policy.shape[-1]) - policy[..., None, :])
    top = np.linalg.eigvalsh(flat)[..., -1] * np.asarray(beta)
    return 2 * np.sin(np.pi / (4 * np.asarray(age) + 2)) / top
