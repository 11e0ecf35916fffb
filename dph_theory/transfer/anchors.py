"""Anchor prompts chosen by the kernel, so that training on them constrains the other candidates most."""

import numpy as np

from ..numeric.arrays import integers, positive, scalar
from ..support.errors import argument_error
from .flow import Kernel, Prompts, prompt_indices
from .kernel import cosines, inner_products


def chosen_anchors(kernel: Kernel, candidates: Prompts, count: int, *, ridge: float = 0.05) -> np.ndarray:
    """Choose anchors one by one: each explains most of what the earlier ones leave of the kernel.

    The kernel's cosines are read as a covariance. Each step takes the prompt whose value, once known, reduces
    the sum of the candidates' variances most.

    Args:
        kernel: Inner products of the prompts' gradients, shape (prompts, prompts).
        candidates: Indices, or a mask of shape (prompts,).
        count: Number of anchors, from 1 to the number of candidates.
        ridge: Variance of a known value, above 0.

    Returns:
        Indices of the anchors in the order of choice, shape (count,).

    Raises:
        ValueError: If an argument is out of range, or a candidate's squared length is negative.

    Source: ours.
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
