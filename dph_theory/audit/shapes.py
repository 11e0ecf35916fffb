"""What shape of advantages a loss takes, and broadcasts that mix the answers of a batch by mistake."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .called_loss import Audited, LossError, LossInputs

ROWS, COLUMNS = 6, 5
"""Of the batch that is tried; different, so that a shape tells what it counts."""


def _random_inputs() -> LossInputs:
    """A batch of random log-probabilities, nothing masked."""
    generator = torch.Generator().manual_seed(0)
    log_pi, log_ref, log_old, drawn = (
        -torch.rand(ROWS, COLUMNS, generator=generator, dtype=torch.float64) - 0.1 for _ in range(4)
    )
    advantages = (drawn[:, :1] + 0.6).expand(-1, COLUMNS).clone()
    logs = {"log_pi": log_pi.requires_grad_(), "log_ref": log_ref, "log_old": log_old}
    return {**logs, "advantages": advantages, "mask": torch.ones_like(drawn)}


def with_one_an_answer(audited: Audited) -> Audited:
    """The loss with advantages (batch,) if it takes these, else the loss itself.

    A loss takes them if it fails on (batch, tokens); or if advantages of that shape reach the tokens of other
    answers, as with `advantages[:, None]`, and those of shape (batch,) do not.
    """
    if "advantages" not in audited.names:
        return audited
    answers = audited.with_inputs(advantages=lambda inputs: inputs["advantages"][:, 0])
    by_token, by_answer = _mixes(audited), _mixes(answers)
    if by_answer is None:
        return audited
    return answers if by_token is None or (by_token and not by_answer) else audited


def _mixes(audited: Audited) -> bool | None:
    """Whether the first answer's slopes move with the advantages of the others; None if it fails."""
    inputs = _random_inputs()
    moved = torch.cat([inputs["advantages"][:1], 1.7 * inputs["advantages"][1:]])
    try:
        first, second = (
            audited.slope({**inputs, "advantages": a})[1][0] for a in (inputs["advantages"], moved)
        )
    except LossError:
        return None
    return not torch.allclose(first, second, rtol=1e-6, atol=1e-12)


def mixing_broadcast(audited: Audited) -> str:
    """A broadcast that meets every answer with every other, such as "(batch, 1) with (batch,)"; or "".

    Found by shapes: tensors of different dimensions, neither of which has the batch twice, make one that has.
    A tensor beside a view of itself, as in `x[:, None] - x`, is meant.
    """
    watch = _Watch()
    try:
        with watch:
            audited.slope(_random_inputs())
    except LossError:
        return ""
    return watch.broadcast


class _Watch(TorchFunctionMode):
    """Remembers the first such broadcast."""

    broadcast = ""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """What the function returns."""
        output = func(*args, **(kwargs or {}))
        if not self.broadcast and isinstance(output, Tensor) and output.shape.count(ROWS) > 1:
            self.broadcast = _broadcast_words([a for a in args if isinstance(a, Tensor)], output)
        return output


def _broadcast_words(operands: Sequence[Tensor], output: Tensor) -> str:
    shapes = [tuple(operand.shape) for operand in operands]
    views = len({operand.untyped_storage().data_ptr() for operand in operands}) < 2
    if views or len(set(map(len, shapes))) < 2 or any(shape.count(ROWS) > 1 for shape in shapes):
        return ""
    try:
        if torch.broadcast_shapes(*shapes) != output.shape:
            return ""
    except RuntimeError:
        return ""
    named = {ROWS: "batch", COLUMNS: "tokens"}
    words = [", ".join(named.get(n, str(n)) for n in shape) + "," * (len(shape) == 1) for shape in shapes]
    return " with ".join(f"({word})" for word in words)
