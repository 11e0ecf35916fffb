"""Gradients of log-probabilities, sketched from what enters a layer and what comes back."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from .metric import Metric
from .sketch import Sketch

NUMBERS = 2**22
"""Numbers of a gradient whose matrices are folded: folding then adds no larger error than the sketch does."""
_LEAST_SIDE = 16
_IN_MEMORY = 2**28
"""So many numbers of gradients at most are in memory at once."""


class Fold:
    """A linear map of vectors of a length to `size` numbers: signed, shuffled, cut in pieces, added up.

    Inner products are unbiased, their variance at most (|x|^2 |y|^2 + <x, y>^2)/size; the identity where all
    numbers have a place. Source: ours, after the count sketch.

    >>> Fold(3, 4, seed=0)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 2., 3.]])
    """

    def __init__(self, length: int, size: int, seed: int) -> None:
        self.length, self.size = length, min(length, size)
        drawn = torch.Generator().manual_seed(seed)
        self._order = torch.randperm(length, generator=drawn)
        self._signs = torch.randint(2, (length,), generator=drawn).float() * 2 - 1

    def __call__(self, vectors: Tensor) -> Tensor:
        """Sketch (..., size) of vectors (..., length), in float32."""
        vectors = vectors.float()
        if self.size == self.length:
            return vectors
        self._order, self._signs = self._order.to(vectors.device), self._signs.to(vectors.device)
        signed = (vectors * self._signs)[..., self._order]
        padded = nn.functional.pad(signed, (0, -self.length % self.size))
        return padded.unflatten(-1, (-1, self.size)).sum(dim=-2)

    def of_units(self, places: Tensor) -> Tensor:
        """Sketches (..., size) of the unit vectors at (...) places."""
        if self.size == self.length:
            return nn.functional.one_hot(places, self.length).float()
        place = torch.argsort(self._order)[places.cpu()] % self.size
        units = nn.functional.one_hot(place, self.size) * self._signs.cpu()[places.cpu()][..., None]
        return units.to(places.device)


@dataclass(frozen=True)
class _Call:
    """A layer's use in a forward pass: what went in, (1, tokens, inputs) or ids, and what came out."""

    weight: str
    entered: Tensor
    output: Tensor
    looked_up: bool


class Gradients:
    """Sketches of the gradients of a model's log-probabilities in the weights that are trained.

    The gradient of a matrix is a sum over tokens of the returned gradient times the layer's input. Both
    factors are folded to short vectors before they are multiplied, shorter ones for matrices that matter
    little. A gradient therefore costs a backward pass through the activations, which the answers of one pass
    share, and no pass over the weights.

    Parameters: model; sketch, of what is folded; numbers, so many of a gradient at most before the sketch;
    sizes, the length to which the sides of each matrix are folded, as `sizes` of an earlier one; without it
    they are set by the first gradients. To be used within `watching`.
    """

    def __init__(
        self, model: Any, sketch: Sketch, numbers: int = NUMBERS, sizes: Mapping[str, int] | None = None
    ) -> None:
        self.model, self.sketch, self.numbers = model, sketch, numbers
        self.sizes = dict(sizes or {})
        named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        names = {id(parameter): name for name, parameter in named.items()}
        self._layers = {
            module: names[id(module.weight)]
            for module in model.modules()
            if isinstance(module, nn.Linear | nn.Embedding) and id(module.weight) in names
        }
        matrices = set(self._layers.values())
        self._shapes = {name: tuple(named[name].shape) for name in sorted(matrices)}
        self._others = [parameter for name, parameter in named.items() if name not in matrices]
        self._names = [name for name in named if name not in matrices]
        self.metric = Metric({}, math.nan)
        """In which inner products are to be: set before the first gradient, if it is not the plain one."""
        self._folds: dict[str, tuple[Fold, Fold]] = {}
        self._calls: list[_Call] = []

    @property
    def matrices(self) -> tuple[str, ...]:
        """Names of the weight matrices whose rows and columns are folded."""
        return tuple(self._shapes)

    @contextmanager
    def watching(self) -> Iterator["Gradients"]:
        """Record forward passes within the block, so that their gradients can be sketched."""
        hooks = [module.register_forward_hook(self._note) for module in self._layers]
        try:
            with sdpa_kernel(SDPBackend.MATH):
                yield self
        finally:
            for hook in hooks:
                hook.remove()
            self._calls.clear()

    def _note(self, module: nn.Linear | nn.Embedding, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if output.requires_grad:
            looked_up = isinstance(module, nn.Embedding)
            self._calls.append(_Call(self._layers[module], inputs[0].detach(), output, looked_up))

    def __call__(self, log_probs: Tensor) -> Tensor:
        """The sketches, (answers, size), of log-probabilities (answers,) that one pass gave: the last one."""
        calls, self._calls = self._calls, []
        inputs = [*(call.output for call in calls), *self._others]
        size = sum(tensor.numel() for tensor in inputs)
        pieces = log_probs.split(max(1, _IN_MEMORY // size))
        rows = [self._rows(calls, piece, inputs) for piece in pieces]
        return torch.cat(rows)

    def _rows(self, calls: list[_Call], log_probs: Tensor, inputs: list[Tensor]) -> Tensor:
        options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
        if len(log_probs) == 1:
            single = torch.autograd.grad(log_probs[0], inputs, **options)
            gradients = [None if gradient is None else gradient[None] for gradient in single]
        else:
            eye = torch.eye(len(log_probs), dtype=log_probs.dtype, device=log_probs.device)
            gradients = [*torch.autograd.grad(log_probs, inputs, eye, is_grads_batched=True, **options)]
        pairs = zip(calls, gradients, strict=False)
        by_call = [(call, gradient) for call, gradient in pairs if gradient is not None]
        if not self._folds:
            self._set(by_call)
        parts: dict[str, Tensor] = {}
        for call, gradient in by_call:
            folded = self._folded(call, gradient.flatten(1, -2))
            parts[call.weight] = parts[call.weight] + folded if call.weight in parts else folded
        matrices = [parts[name] for name in self._shapes if name in parts]
        weights = zip(self._names, gradients[len(calls) :], strict=True)
        vectors = [self._weighed(name, gradient) for name, gradient in weights if gradient is not None]
        flat = torch.cat([gradient.flatten(1) for gradient in (*matrices, *vectors)], dim=1)
        return torch.stack([self.sketch([row]) for row in flat])

    def _folded(self, call: _Call, back: Tensor) -> Tensor:
        """Folded gradients (answers, k, k) of a matrix; `back` (answers, tokens, outputs) is its output's."""
        left, right = self._folds[call.weight]
        entered, back = self._sides(call, back)
        if call.looked_up:
            units = left.of_units(call.entered.flatten()) * entered
            return torch.einsum("tj,atk->ajk", units, right(back))
        return torch.einsum("atj,tk->ajk", left(back), right(entered))

    def _sides(self, call: _Call, back: Tensor) -> tuple[Tensor, Tensor]:
        """A layer's input and returned gradient, both scaled by the metric; for an embedding, row factors."""
        factors = [factor.to(back.device) for factor in self.metric.factors.get(call.weight, ())]
        if call.looked_up:
            ids = call.entered.flatten()
            ones = torch.ones((len(ids), 1), device=back.device)
            return (ones, back) if not factors else (factors[0][ids][:, None], back.float() * factors[1])
        entered = call.entered.flatten(0, -2).float()
        return (entered, back) if not factors else (entered * factors[1], back.float() * factors[0])

    def _weighed(self, name: str, gradient: Tensor) -> Tensor:
        factors = self.metric.factors.get(name)
        return gradient if factors is None else gradient * factors[0].to(gradient.device)

    def _set(self, by_call: list[tuple[_Call, Tensor]]) -> None:
        """Choose the folds' lengths: longer for matrices with more of these gradients' energy."""
        if not self.sizes:
            energy = dict.fromkeys(self._shapes, 0.0)
            for call, gradient in by_call:
                energy[call.weight] += _square(call, *self._sides(call, gradient.flatten(1, -2)))
            self.sizes = _sides(self._shapes, energy, self.numbers)
        for place, (name, (rows, columns)) in enumerate(self._shapes.items()):
            size = self.sizes[name]
            self._folds[name] = Fold(rows, size, 2 * place), Fold(columns, size, 2 * place + 1)


def _square(call: _Call, entered: Tensor, back: Tensor) -> float:
    """Mean squared gradient of a call's matrix, from `Gradients._sides`."""
    met = entered @ entered.T
    if call.looked_up:
        ids = call.entered.flatten()
        met = met * (ids[:, None] == ids)
    back = back.float()
    return float(torch.einsum("atj,ts,asj->", back, met, back)) / len(back)


def _sides(
    shapes: Mapping[str, tuple[int, ...]], energy: Mapping[str, float], numbers: int
) -> dict[str, int]:
    """Length k of the folds of each matrix by name, so that at most `numbers` numbers are left.

    A fold to k numbers adds about (energy)^2/k to the variance and k^2 numbers: at the best k goes with the
    power 2/3 of the energy.
    """
    lengths = {name: max(energy[name], 0.0) ** (2 / 3) for name in shapes}
    longest = max(lengths.values()) or 1.0

    def sides(scale: float) -> dict[str, int]:
        shares = {name: length / longest for name, length in lengths.items()}
        return {name: max(_LEAST_SIDE, math.ceil(scale * share)) for name, share in shares.items()}

    def left(sizes: Mapping[str, int]) -> int:
        folded = [[min(side, sizes[name]) for side in shape] for name, shape in shapes.items()]
        return sum(rows * columns for rows, columns in folded)

    low, high = 0.0, 2.0 ** math.ceil(math.log2(max(max(shape) for shape in shapes.values()) * len(shapes)))
    everything = {name: max(shape) for name, shape in shapes.items()}
    if left(everything) <= numbers:
        return everything
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if left(sides(middle)) <= numbers else (low, middle)
    return sides(low)
