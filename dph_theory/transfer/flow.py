"""Log odds that move together: what drives them, and the slope of their mean Pass@k.

z = logit V, V a prompt's pass rate. Training on rewards alone moves every prompt by dz/dt = K f: K the inner
products of the gradients of z, f = alpha_G(V) V (1-V) on the trained prompts and 0 on the others. Exact to
first order for any model, and for all times where two answers have linear logits. With more answers K changes
as they move among themselves: `training` follows them.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Shaped

from ..numeric.arrays import Scalars, finite, integers, probability
from ..numeric.elementary import Values
from ..stationary.groups import group_weight
from ..support.errors import argument_error
from ..support.record import readable
from .kernel import inner_products

Kernel = Float[np.ndarray, "prompts prompts"]
Prompts: TypeAlias = Shaped[np.ndarray, " some"] | Sequence[int]
"""Some of the prompts: indices, or a mask."""


def group_drive(group_size: int, rates: Scalars, scale: str = "std") -> Values:
    """f = alpha_G(V) V (1-V), the shape of rates: how a group-relative advantage moves a trained log odds.

    Parameters and errors as of `stationary.group_weight`.

    >>> float(group_drive(2, 0.5, "leave_one_out"))
    0.25

    Source: ours, entries `group_advantages`, `between_prompts`.
    """
    rates = probability("rates", rates)
    return np.asarray(group_weight(group_size, rates, scale) * rates * (1 - rates))


def pass_at_k_slope(
    kernel: Kernel, rates: Scalars, k: Scalars, drive: Scalars, *, among: Prompts | None = None
) -> Float[np.ndarray, "*k"]:
    """The slope of mean Pass@k in the time of a training: mean_j k V_j (1-V_j)^k (K f)_j.

    Parameters: kernel, symmetric, and rates of its prompts, in [0, 1]; k >= 1; drive, f of each prompt, 0
    where it is not trained; among, the prompts whose mean is taken (indices or a mask), by default all.
    Returns the shape of k. Never negative where K has no negative entry and f none.

    >>> coupling = np.array([[1.0, -0.5], [-0.5, 1.0]])
    >>> pass_at_k_slope(coupling, [0.5, 0.1], [1, 5, 6], [0.25, 0.09]).round(6)
    array([ 0.02405 ,  0.002841, -0.000775])

    Source: ours, entries `between_prompts`.
    """
    kernel, rates = _checked(kernel, rates)
    chosen = slice(None) if among is None else prompt_indices("among", among, len(rates))
    k, v = integers("k", k, at_least=1)[..., None], rates[chosen]
    slopes = (kernel @ _forces(drive, rates))[chosen]
    return np.asarray((k * v * (1 - v) ** k * slopes).mean(axis=-1))


class OwnAndPair(NamedTuple):
    """Slope of mean Pass@k over prompts of a kind, all trained: own/P + (1 - 1/P) pair with P of them.

    `own` is what a prompt's training does to itself, `pair` what that of another one does, each a mean;
    `pair_error` the standard error of the latter over the draw of prompts.
    """

    def __repr__(self) -> str:
        return readable(self)

    own: np.ndarray
    pair: np.ndarray
    pair_error: np.ndarray

    @property
    def prompts(self) -> np.ndarray:
        """Number of prompts beyond which effects between prompts outweigh their own, (ks,), or inf."""
        with np.errstate(divide="ignore"):
            return np.where(self.pair < 0, 1 - self.own / np.minimum(self.pair, -0.0), np.inf)


def own_and_pair(kernel: Kernel, rates: Scalars, k: Scalars, drive: Scalars) -> OwnAndPair:
    """Split the first-order change of Pass@k into each prompt's own effect and that of other prompts.

    Few prompts can hide a negative effect between prompts.

    Args:
        kernel: Inner products of log-odds gradients, shape (prompts, prompts).
        rates: Pass rates, shape (prompts,), of at least three prompts.
        k: Numbers of answers, shape (...).
        drive: Weight of each prompt's log-odds gradient in the update, shape (prompts,).

    Returns:
        An `OwnAndPair` whose entries have the shape of `k`. The standard error is that of a mean over pairs
        of prompts drawn independently.

    Raises:
        ValueError: If shapes differ, an entry is out of range, or there are fewer than three prompts.

    Source: ours, entries `between_prompts`.
    """
    kernel, rates = _checked(kernel, rates)
    k, drive, count = integers("k", k, at_least=1), _forces(drive, rates), len(rates)
    if count < 3:
        raise argument_error("rates", rates, "at least three prompts")
    weight = k[..., None] * rates * (1 - rates) ** k[..., None]
    effects = weight[..., :, None] * kernel * drive
    own = np.trace(effects, axis1=-2, axis2=-1)
    cross = effects * (1 - np.eye(count))
    both = (cross + np.swapaxes(cross, -1, -2)).sum(axis=-1) / (count - 1)
    error = np.sqrt(both.var(axis=-1, ddof=1) / count)
    return OwnAndPair(own / count, cross.sum(axis=(-2, -1)) / (count * (count - 1)), error)


def _checked(kernel: Kernel, rates: Scalars) -> tuple[np.ndarray, np.ndarray]:
    """Kernel (prompts, prompts) and rates (prompts,) as arrays; ValueError if they do not fit."""
    kernel, rates = inner_products("kernel", kernel), np.atleast_1d(probability("rates", rates))
    if rates.ndim != 1 or len(kernel) != len(rates):
        raise argument_error("kernel.shape", kernel.shape, f"{2 * rates.shape}, as there are rates")
    return kernel, rates


def _forces(drive: Scalars, rates: np.ndarray) -> np.ndarray:
    drive = finite("drive", drive)
    if drive.shape != rates.shape:
        raise argument_error("drive.shape", drive.shape, f"{rates.shape}, one for each prompt")
    return drive


def prompt_indices(name: str, prompts: Prompts, count: int) -> np.ndarray:
    """Indices of prompts among `count`, from indices or a mask; ValueError for invalid ones, or none."""
    try:
        indices = np.asarray(prompts)
    except ValueError:  # Rows of unequal length.
        indices = np.array(None)
    if indices.dtype == bool and indices.shape == (count,):
        indices = np.flatnonzero(indices)
    fits = indices.ndim == 1 and indices.size and indices.dtype.kind in "iu"
    if not fits or len(np.unique(indices)) != len(indices) or indices.min() < 0 or indices.max() >= count:
        raise argument_error(name, prompts, f"different indices of {count} prompts, or a mask of them")
    return indices
