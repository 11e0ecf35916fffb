"""Prompts that are not trained follow those that are: interpolation by the kernel, whatever trained them."""

import numpy as np
from jaxtyping import Float

from ..numeric.arrays import finite, integers, real
from ..support.errors import argument_error
from .flow import Kernel, Prompts, prompt_indices

_ROUNDING = 1e-12
"""The ridge that keeps a kernel of fewer directions than prompts solvable, of its mean diagonal entry."""


def interpolated(
    kernel: Kernel, trained: Prompts, change: Float[np.ndarray, " trained"], *, ridge: float = 0.0
) -> Float[np.ndarray, " prompts"]:
    """The change of all prompts' log odds that goes with that of the trained ones: K_T K_TT^-1 change.

    Exact for a kernel that stays, at every time, for any loss of the trained prompts' rewards, any step size,
    schedule and momentum: none of them is asked for. Parameters: kernel (prompts, prompts); trained, indices
    or a mask; change of the trained prompts' log odds; ridge >= 0, added to K_TT as a share of its mean
    diagonal entry, against noise. Returns the change of every prompt.

    >>> g = np.array([[1, 0], [0.6, 0.8], [0.8, -0.6]])
    >>> change = interpolated(g @ g.T, [0, 1], np.array([2.0, 2.0]))
    >>> change.round(6)
    array([2., 2., 1.])

    Source: ours, entries `between_prompts`.
    """
    kernel = finite("kernel", kernel)
    places = prompt_indices("trained", trained, len(kernel))
    change, ridge = finite("change", change), float(real("ridge", ridge, at_least=0))
    if change.shape != places.shape:
        raise argument_error("change.shape", change.shape, f"{places.shape}, one for each trained prompt")
    block = kernel[np.ix_(places, places)]
    ridged = block + (ridge + _ROUNDING) * np.diag(block).mean() * np.eye(len(block))
    return np.asarray(kernel[:, places] @ np.linalg.solve(ridged, change))


def chosen_anchors(kernel: Kernel, candidates: Prompts, count: int, *, ridge: float = 0.05) -> np.ndarray:
    """The candidates, one after another, that with those before explain most of the candidates' kernel.

    Their kernel of cosines is read as a covariance: each step takes the prompt that, once it is known, lowers
    most the sum of the variances of all candidates. Parameters: kernel (prompts, prompts); candidates,
    indices or a mask; count of them, from 1; ridge, the variance of what is known. Returns indices in the
    order chosen. Source: ours, theory K7.
    """
    kernel = finite("kernel", kernel)
    places = prompt_indices("candidates", candidates, len(kernel))
    if not 1 <= int(integers("count", count, at_least=1)) <= len(places):
        raise argument_error("count", count, f"from 1 to {len(places)}, the candidates")
    length = np.sqrt(np.maximum(np.diag(kernel), 1e-300))
    cosine = (kernel / length[:, None] / length)[np.ix_(places, places)]
    left = cosine
    taken: list[int] = []
    for _ in range(count):
        # One step of Cholesky's decomposition with pivots: what each prompt explains beyond the chosen ones.
        gain = (left**2).sum(axis=0) / (np.maximum(np.diag(left), 0.0) + ridge)
        gain[taken] = -np.inf
        taken.append(int(gain.argmax()))
        column = left[:, taken[-1]]
        left = left - np.outer(column, column) / (max(column[taken[-1]], 0.0) + ridge)
    return places[taken]
