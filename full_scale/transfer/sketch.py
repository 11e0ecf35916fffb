"""Gradients as short vectors with the same inner products, all but: signs, rotations, and sums."""

from collections.abc import Iterable

import torch
from torch import Tensor

SIZE = 2**17
"""Length of a sketch: the error of an inner product of two gradients has a std of at most |x||y|/360."""


class Sketch:
    """A linear map of gradients to `size` numbers: pieces of that length, signed, rotated and added up.

    Entries of two pieces meet with chance 1/size and a random sign, those of one piece never: inner products
    are unbiased, their variance at most (|x|^2 |y|^2 + <x, y>^2)/size. It takes a pass over the gradient and
    no memory but its own. Parameters: size, a power of two; seed. Source: ours, after the
    count sketch.

    >>> x, y = torch.ones(1000), torch.arange(1000.0)
    >>> of = Sketch(2**12)
    >>> bool(abs(of([x]) @ of([y]) / (x @ y) - 1) < 0.1)
    True
    """

    def __init__(self, size: int = SIZE, seed: int = 0) -> None:
        self.size = size
        self._generator = torch.Generator().manual_seed(seed)
        self._signs = self._drawn(size)
        # An odd stride: no two pieces are turned alike, so that what they share meets with random signs.
        self._stride = 2 * int(torch.randint(size // 2, (), generator=self._generator)) + 1
        self._whole: list[float] = []

    def __call__(self, gradients: Iterable[Tensor]) -> Tensor:
        """The sketch of one gradient, given as the tensors of its parts, in float32 on the CPU."""
        sketch, piece = torch.zeros(self.size), 0
        for gradient in gradients:
            flat = gradient.detach().reshape(-1)
            if sketch.device != flat.device:
                sketch, self._signs = sketch.to(flat.device), self._signs.to(flat.device)
            for start in range(0, flat.numel(), self.size):
                part = flat[start : start + self.size].float()
                signed = torch.zeros_like(sketch)
                signed[: len(part)] = part * self._signs[: len(part)]
                turned = torch.roll(signed, piece * self._stride % self.size)
                sketch.add_(turned, alpha=self._sign(piece))
                piece += 1
        return sketch.cpu()

    def _sign(self, piece: int) -> float:
        if piece >= len(self._whole):
            self._whole += self._drawn(piece + 1 - len(self._whole)).tolist()
        return self._whole[piece]

    def _drawn(self, count: int) -> Tensor:
        return torch.randint(2, (count,), generator=self._generator).float() * 2 - 1
