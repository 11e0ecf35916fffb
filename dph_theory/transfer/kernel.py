"""The kernel of answers: inner products of the gradients of their log-probabilities, at one model.

The empirical neural tangent kernel (NTK) of the answers that prompts have. A step along the gradient of one
answer moves the log-probability of another by step size times their entry, whatever prompts they belong to.
"""

import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..numeric.arrays import booleans, finite, integers, real
from ..support.errors import argument_error, choice
from ..support.files import replacing, require_unpackable
from ..support.record import readable

KIND = "dph transfer kernel"
_SUM = 1e-4
"""Tolerance of the sum of a prompt's answer probabilities, which come from float32."""
_UNEVEN, _ROUNDING = 1e-6, 1e-12
"""Tolerances of cosines' symmetry, of eigenvalues below zero, and of rounding beside the largest entry."""


def inner_products(name: str, value: Any, *, positive: bool = False) -> np.ndarray:
    """A matrix of inner products: square, finite and symmetric; ValueError for any other.

    With `positive`, positive semi-definite as well: a measured one that noise has moved may not be.
    """
    matrix = finite(name, value)
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1] or not len(matrix):
        raise argument_error(f"{name}.shape", matrix.shape, "square, of at least one row")
    length, rounding = np.sqrt(np.abs(np.diag(matrix))), _ROUNDING * np.abs(matrix).max()
    with np.errstate(over="ignore"):
        uneven = np.abs(matrix - matrix.T) > _UNEVEN * length[:, None] * length + rounding
    if uneven.any():
        i, j = np.argwhere(uneven)[0].tolist()
        allowed = f"{name}[{j}, {i}] = {matrix[j, i]}: inner products are symmetric"
        raise argument_error(f"{name}[{i}, {j}]", float(matrix[i, j]), allowed)
    if positive:
        eigenvalues = np.linalg.eigvalsh(cosines(matrix + rounding * np.eye(len(matrix))))
        if eigenvalues[0] < -_UNEVEN * eigenvalues[-1]:
            least = float(eigenvalues[0])
            raise argument_error(f"{name}, the least eigenvalue of its cosines", least, "not negative")
    return matrix


def _vectors(value: Any) -> np.ndarray:
    """Finite vectors (answers, numbers), one per row; float32 arrays are not copied."""
    vectors = value if getattr(value, "dtype", None) == np.float32 else finite("gradients", value)
    if vectors.ndim != 2 or (vectors.size and not np.isfinite([vectors.min(), vectors.max()]).all()):
        raise argument_error("gradients", vectors, "finite vectors, one a row")
    return np.asarray(vectors)


def cosines(kernel: np.ndarray) -> np.ndarray:
    """Cosines between gradients (prompts, prompts), from their inner products; 0 for zero gradients."""
    length = np.sqrt(np.abs(np.diag(kernel)))
    length[length == 0] = np.inf
    return kernel / length[:, None] / length


def square_root(products: np.ndarray) -> tuple[np.ndarray, float]:
    """Vectors, one a row, whose inner products are nearest to a matrix of them that noise may have moved.

    Products of sampled gradients are unbiased where they are of two halves, and may have negative
    eigenvalues, which the true ones have not: so the nearest matrix without (Frobenius, of cosines) is no
    farther from these than the measured one. Returns the vectors, as many numbers each as there are positive
    eigenvalues, and the sum of the negative ones over that of the positive. Source: ours.
    """
    values, vectors = np.linalg.eigh(cosines(products))
    share = -values[values < 0].sum() / max(values[values > 0].sum(), np.finfo(float).tiny)
    positive = values > _ROUNDING * values[-1]
    length = np.sqrt(np.abs(np.diag(products)))
    return length[:, None] * vectors[:, positive] * np.sqrt(values[positive]), float(share)


class LogOdds(NamedTuple):
    """Log odds of a correct answer: the kernel (prompts, prompts) and the pass rates (prompts,)."""

    def __repr__(self) -> str:
        return readable(self)

    kernel: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True, eq=False)
class AnswerKernel:
    """Answers of some prompts at a model: log-probabilities, which are correct, and their gradients.

    The answers of a prompt stand together and exhaust it: the last is "any other answer". `names`, its id in
    its set, and `sets` are of the prompts, in order; `prompt` is each answer's, as an index; the kernel is
    the inner products of `gradients`, which may be any vectors that have the same, in float32 or float64;
    `about` says how it was measured. Raises ValueError for shapes that do not fit, and for answers whose
    probabilities do not sum to one.

    >>> gradients = np.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8], [-0.6, -0.8]])
    >>> two = AnswerKernel(("a", "b"), ("train", "held out"), np.array([0, 0, 1, 1]),
    ...     np.log([0.5, 0.5, 0.1, 0.9]), np.array([1, 0, 1, 0], bool), gradients)
    >>> two.log_odds.kernel.round(2)
    array([[4. , 2.4],
           [2.4, 4. ]])
    """

    names: tuple[str, ...]
    sets: tuple[str, ...]
    prompt: Int[np.ndarray, " answers"]
    log_p: Float[np.ndarray, " _"]
    correct: Bool[np.ndarray, " _"]
    gradients: Float[np.ndarray, "_ numbers"]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("names", "sets"):
            texts = getattr(self, name)
            if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
                raise argument_error(name, texts, "a tuple of texts, one for each prompt")
        arrays = {
            "prompt": integers("prompt", self.prompt, at_least=0),
            "log_p": real("log_p", self.log_p, at_most=_SUM),
            "correct": booleans("correct", self.correct),
            "gradients": _vectors(self.gradients),
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, array)
        count, answers = len(self.names), self.prompt.size
        if len(self.sets) != count or len({*zip(self.sets, self.names, strict=True)}) != count:
            raise argument_error("names", self.names, "one set for each, and no name twice in a set")
        shapes = {name: array.shape for name, array in arrays.items()}
        one_each = dict.fromkeys(("prompt", "log_p", "correct"), (answers,))
        if shapes != {**one_each, "gradients": (answers, *shapes["gradients"][1:2])}:
            raise argument_error("shapes", shapes, f"of {answers} answers, as prompt has")
        if answers == 0 or not np.array_equal(np.unique(self.prompt), np.arange(count)):
            raise argument_error("prompt", self.prompt, f"indices of all {count} prompts")
        if (np.diff(self.prompt) < 0).any():
            raise argument_error("prompt", self.prompt, "the answers of each prompt together, in order")
        total = np.add.reduceat(np.exp(self.log_p), self.starts)
        if (abs(total - 1) > _SUM).any():
            worst = int(abs(total - 1).argmax())
            raise argument_error(
                f"probabilities of {self.names[worst]!r}", float(total[worst]), "a sum of one"
            )

    @cached_property
    def starts(self) -> np.ndarray:
        """Index at which the answers of each prompt begin."""
        return np.searchsorted(self.prompt, np.arange(len(self.names)))

    def prompts_in(self, *sets: str) -> np.ndarray:
        """Indices of the prompts of these sets; ValueError for an unknown set."""
        for name in sets:
            choice("set", name, tuple(dict.fromkeys(self.sets)))
        return np.flatnonzero(np.isin(self.sets, sets))

    def places(self, *sets: str) -> dict[str, int]:
        """Index of each prompt of these sets (default: all) by its name; ValueError for a repeated name."""
        chosen = self.prompts_in(*(sets or self.sets))
        (name, times), *_ = Counter(self.names[i] for i in chosen).most_common(1)
        if times > 1:
            raise argument_error("prompt", name, f"in one set of {', '.join(dict.fromkeys(self.sets))}")
        return {self.names[i]: int(i) for i in chosen}

    @cached_property
    def rates(self) -> Float[np.ndarray, " prompts"]:
        """Pass rate of each prompt, the summed probability of its correct answers."""
        return np.minimum(np.add.reduceat(np.exp(self.log_p) * self.correct, self.starts), 1.0)

    @cached_property
    def log_odds(self) -> LogOdds:
        """Kernel of the prompts' log odds, shape (prompts, prompts), with their pass rates, shape (prompts,).

        The log-odds gradient of a prompt is the mean gradient of its correct answers minus that of its
        incorrect answers, weighted by probability. A prompt without correct or without incorrect answers has
        a row of zeros.
        """
        p, rates = np.exp(self.log_p), self.rates
        failed = np.add.reduceat(p * ~self.correct, self.starts)
        both = (rates > 0) & (failed > 0)
        share = np.where(self.correct, 1 / np.maximum(rates, 1e-300)[self.prompt], 0.0)
        share -= np.where(self.correct, 0.0, 1 / np.maximum(failed, 1e-300)[self.prompt])
        weight = np.where(both[self.prompt], p * share, 0.0).astype(self.gradients.dtype)
        slopes = np.stack([weight[rows] @ self.gradients[rows] for rows in self._rows])
        return LogOdds((slopes @ slopes.T).astype(float), rates)

    @property
    def _rows(self) -> Iterator[slice]:
        """Slices of the answers that belong to each prompt, in order."""
        return (slice(*ends) for ends in pairwise([*self.starts, self.prompt.size]))

    def alone(self) -> "AnswerKernel":
        """Return the kernel in which each prompt has its own model, so that prompts do not interact."""
        blocks = np.zeros((2 * self.prompt.shape)[:2])
        for rows in self._rows:
            root = np.asarray(np.linalg.qr(self.gradients[rows].T, mode="r")).T
            blocks[rows, rows.start : rows.start + root.shape[1]] = root
        return replace(self, gradients=blocks)

    def save(self, path: Path) -> None:
        """Write the kernel as one .npz file, atomically."""
        arrays = {name: getattr(self, name) for name in ("prompt", "log_p", "correct")}
        words = json.dumps({"kind": KIND, "names": self.names, "sets": self.sets, **self.about})
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, gradients=self.gradients.astype(np.float32), about=np.array(words), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "AnswerKernel":
        """Read a kernel that `save` wrote; ValueError for any other file."""
        path, allowed = Path(path), "a file that `dph transfer` wrote"
        try:
            with zipfile.ZipFile(path) as archive:
                require_unpackable(path, (part.file_size for part in archive.infolist()))
            with np.load(path, allow_pickle=False) as archive:
                about = json.loads(str(archive["about"]))
                arrays = {name: archive[name] for name in ("prompt", "log_p", "correct", "gradients")}
        except (
            OSError,
            KeyError,
            ValueError,
            TypeError,
            MemoryError,
            RecursionError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            raise argument_error("kernel", str(path), f"{allowed} ({error})") from error
        if not isinstance(about, dict) or about.pop("kind", None) != KIND:
            raise argument_error("kernel", str(path), allowed)
        names, sets = tuple(about.pop("names")), tuple(about.pop("sets"))
        return cls(names, sets, about=about, **arrays)

    def __repr__(self) -> str:
        groups = ", ".join(f"{self.sets.count(name)} {name}" for name in dict.fromkeys(self.sets))
        return f"AnswerKernel({groups}; {len(self.prompt)} answers)"
