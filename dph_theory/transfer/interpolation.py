"""Prompts that are not trained follow those that are: interpolation by the kernel, whatever trained them."""

import numpy as np
from jaxtyping import Float

from ..numeric.arrays import finite, integers, positive, real, scalar
from ..support.errors import argument_error
from .flow import Kernel, Prompts, prompt_indices
from .kernel import cosines, inner_products

_ROUNDING, _MISSED = 1e-10, 1e-6
"""Eigenvalues of cosines that count as zero; of the largest change, what may be missed of another."""


def interpolated(
    kernel: Kernel, trained: Prompts, change: Float[np.ndarray, " trained"], *, ridge: float = 0.0
) -> Float[np.ndarray, " prompts"]:
    """The change of all prompts' log odds that goes with that of the trained ones: K_T K_TT^-1 change.

    Exact for a kernel that stays, at every time, for any loss of the trained prompts' rewards, any step size,
    schedule and momentum: none of them is asked for. Parameters: kernel (prompts, prompts); trained, indices
    or a mask; change of the trained prompts' log odds; ridge >= 0, added to K_TT as a share of its mean
    diagonal entry, against noise. Returns the change of every prompt. Raises ValueError where K_TT with the
    ridge is not positive semi-definite and, without a ridge, for a change that no training by K makes.

    >>> g = np.array([[1, 0], [0.6, 0.8], [0.8, -0.6]])
    >>> change = interpolated(g @ g.T, [0, 1], np.array([2.0, 2.0]))
    >>> change.round(6)
    array([2., 2., 1.])

    Source: ours, entries `between_prompts`.
    """
    ridge = scalar("ridge", real("ridge", ridge, at_least=0, below=np.inf))
    kernel = inner_products("kernel", kernel, positive=ridge == 0)
    places, change = prompt_indices("trained", trained, len(kernel)), finite("change", change)
    if change.shape != places.shape:
        raise argument_error("change.shape", change.shape, f"{places.shape}, one for each trained prompt")
    kernel = kernel / max(np.abs(kernel).max(), 1e-308)
    block = kernel[np.ix_(places, places)]
    ridged = block + ridge * np.diag(block).mean() * np.eye(len(block))
    length = np.sqrt(np.abs(np.diag(ridged)))
    length[length == 0] = np.inf
    eigenvalues, vectors = np.linalg.eigh(cosines(ridged))
    if eigenvalues[0] < -_MISSED * eigenvalues[-1]:
        raise argument_error("ridge", ridge, "more: the trained prompts' kernel has a negative eigenvalue")
    large = eigenvalues > _ROUNDING * eigenvalues[-1]
    used = vectors[:, large]
    weights = used @ ((change / length) @ used / eigenvalues[large]) / length
    changes = np.asarray(kernel[:, places] @ weights)
    exact = ridge < _ROUNDING or not block.any()
    if exact and (np.abs(changes[places] - change) > _MISSED * np.abs(change).max()).any():
        raise argument_error(
            "change", change, "one that training by this kernel makes; or a ridge, if it is noisy"
        )
    return changes


def chosen_anchors(kernel: Kernel, candidates: Prompts, count: int, *, ridge: float = 0.05) -> np.ndarray:
    """The candidates, one after another, that with those before explain most of the candidates' kernel.

    Their kernel of cosines is read as a covariance: each step takes the prompt that, once it is known, lowers
    most the sum of the variances of all candidates. Parameters: kernel (prompts, prompts); candidates,
    indices or a mask; count of them, from 1; ridge > 0, the variance of what is known. Returns indices in the
    order chosen. Raises ValueError for what these do not allow. Source: ours.
    """
    kernel = inner_products("kernel", kernel)
    places = prompt_indices("candidates", candidates, len(kernel))
    count = int(scalar("count", integers("count", count, at_least=1)))
    ridge = scalar("ridge", positive("ridge", ridge))
    if count > len(places):
        raise argument_error("count", count, f"from 1 to {len(places)}, the candidates")
    if (np.diag(kernel)[places] < 0).any():
        raise argument_error(
            "kernel's diagonal", np.diag(kernel), "not negative: squared lengths of gradients"
        )
    left = cosines(kernel)[np.ix_(places, places)]
    taken: list[int] = []
    for _ in range(count):
        # One step of Cholesky's decomposition with pivots: what each prompt explains beyond the chosen ones.
        gain = (left**2).sum(axis=0) / (np.maximum(np.diag(left), 0.0) + ridge)
        gain[taken] = -np.inf
        taken.append(int(gain.argmax()))
        column = left[:, taken[-1]]
        left = left - np.outer(column, column) / (max(column[taken[-1]], 0.0) + ridge)
    return places[taken]
