"""What shape of advantages a loss takes, and broadcasts that mix the answers of a batch by mistake."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .exact import Given, Loss, LossError, value_and_slope

ROWS, TOKENS = 6, 5
"""Of the batch that is tried; different, so that a shape tells what it counts."""


def _given(names: Sequence[str]) -> Given:
    """A batch of random log-probabilities, nothing masked."""
    generator = torch.Generator().manual_seed(0)

    def drawn() -> Tensor:
        return -torch.rand(ROWS, TOKENS, generator=generator, dtype=torch.float64) - 0.1

    given = {"log_pi": drawn().requires_grad_(), "log_ref": drawn(), "log_old": drawn()}
    given["advantages"] = (drawn()[:, :1] + 0.6).expand(-1, TOKENS).clone()
    given["mask"] = torch.ones(ROWS, TOKENS, dtype=torch.float64)
    return {name: given[name] for name in names}


def of_answers(loss: Loss) -> Loss:
    """The same loss, of advantages (batch, tokens) of which it is given the first column, (batch,)."""

    def given_one_an_answer(**given: Any) -> Any:
        return loss(**{**given, "advantages": given["advantages"][:, 0]})

    return given_one_an_answer


def takes_one_an_answer(loss: Loss, names: Sequence[str]) -> bool:
    """Whether its advantages are one an answer, (batch,), and not one a token, (batch, tokens).

    It fails on the other shape; or, given one a token, it lets an answer's advantage reach the tokens of
    other answers, as `advantages[:, None]` does, and given one an answer it does not.
    """
    if "advantages" not in names:
        return False
    tokens, answers = _mixes(loss, names), _mixes(of_answers(loss), names)
    return answers is not None and (tokens is None or (tokens and not answers))


def _mixes(loss: Loss, names: Sequence[str]) -> bool | None:
    """Whether the first answer's slopes move with the advantages of the others; None if it fails."""
    given = _given(names)
    moved = given["advantages"].clone()
    moved[1:] *= 1.7
    try:
        first, second = (
            value_and_slope(loss, {**given, "advantages": a})[1][0] for a in (given["advantages"], moved)
        )
    except LossError:
        return None
    return not torch.allclose(first, second, rtol=1e-6, atol=1e-12)


def mixing_broadcast(loss: Loss, names: Sequence[str]) -> str:
    """A broadcast that meets every answer with every other, such as "(batch, 1) with (batch,)"; or "".

    Told by shapes: tensors of different dimensions, neither of which has the batch twice, make one that has.
    A tensor beside a view of itself, as in `x[:, None] - x`, is meant.
    """
    watch = _Watch()
    try:
        with watch:
            value_and_slope(loss, _given(names))
    except LossError:
        return ""
    return watch.found


class _Watch(TorchFunctionMode):
    """Remembers the first such broadcast."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """What the function returns."""
        made = func(*args, **(kwargs or {}))
        if not self.found and isinstance(made, Tensor) and made.shape.count(ROWS) > 1:
            self.found = _words([a for a in args if isinstance(a, Tensor)], made)
        return made


def _words(operands: Sequence[Tensor], made: Tensor) -> str:
    shapes = [tuple(each.shape) for each in operands]
    if len({len(shape) for shape in shapes}) < 2 or any(shape.count(ROWS) > 1 for shape in shapes):
        return ""
    if len({each.untyped_storage().data_ptr() for each in operands}) < 2:
        return ""
    try:
        if torch.broadcast_shapes(*shapes) != made.shape:
            return ""
    except RuntimeError:
        return ""
    named = {ROWS: "batch", TOKENS: "tokens"}
    words = [", ".join(named.get(n, str(n)) for n in shape) for shape in shapes]
    return " with ".join(
        f"({word}{',' * (len(shape) == 1)})" for word, shape in zip(words, shapes, strict=True)
    )
