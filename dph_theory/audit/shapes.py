"""What shape of advantages a loss takes, and broadcasts that mix the answers of a batch by mistake."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .exact import Audited, Given, LossError

ROWS, COLUMNS = 6, 5
"""Of the batch that is tried; different, so that a shape tells what it counts."""


def _given() -> Given:
    """A batch of random log-probabilities, nothing masked."""
    generator = torch.Generator().manual_seed(0)
    log_pi, log_ref, log_old, drawn = (
        -torch.rand(ROWS, COLUMNS, generator=generator, dtype=torch.float64) - 0.1 for _ in range(4)
    )
    advantages = (drawn[:, :1] + 0.6).expand(-1, COLUMNS).clone()
    logs = {"log_pi": log_pi.requires_grad_(), "log_ref": log_ref, "log_old": log_old}
    return {**logs, "advantages": advantages, "mask": torch.ones_like(drawn)}


def with_one_an_answer(audited: Audited) -> Audited:
    """The same loss, its advantages (batch,): given (batch, tokens), it takes the first column.

    It does if it fails on the other shape; or if, given one a token, it lets an answer's advantage reach the
    tokens of other answers, as `advantages[:, None]` does, and given one an answer it does not. Else the
    loss itself.
    """
    if "advantages" not in audited.names:
        return audited
    answers = audited.but(advantages=lambda given: given["advantages"][:, 0])
    here, there = _mixes(audited), _mixes(answers)
    return answers if there is not None and (here is None or (here and not there)) else audited


def _mixes(audited: Audited) -> bool | None:
    """Whether the first answer's slopes move with the advantages of the others; None if it fails."""
    given = _given()
    moved = torch.cat([given["advantages"][:1], 1.7 * given["advantages"][1:]])
    try:
        first, second = (
            audited.slope({**given, "advantages": a})[1][0] for a in (given["advantages"], moved)
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
            audited.slope(_given())
    except LossError:
        return ""
    return watch.found


class _Watch(TorchFunctionMode):
    """Remembers the first such broadcast."""

    found = ""

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
    views = len({each.untyped_storage().data_ptr() for each in operands}) < 2
    if views or len(set(map(len, shapes))) < 2 or any(shape.count(ROWS) > 1 for shape in shapes):
        return ""
    try:
        if torch.broadcast_shapes(*shapes) != made.shape:
            return ""
    except RuntimeError:
        return ""
    named = {ROWS: "batch", COLUMNS: "tokens"}
    words = [
        ", ".join(named.get(n, str(n)) for n in shape) + ("," if len(shape) == 1 else "") for shape in shapes
    ]
    return " with ".join(f"({word})" for word in words)
