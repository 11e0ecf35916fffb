"""Calls of user code in float64, even if it asks for less, to separate its meaning from its rounding."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ..losses.advantages import Advantage
from .report import AuditError

_CASTS = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)


class _Doubled(TorchFunctionMode):
    """Torch mode in which every lower precision is float64."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function with float64 for every lower dtype among its arguments."""

        def raised(value: Any) -> Any:
            low = isinstance(value, torch.dtype) and value.is_floating_point
            return torch.float64 if low else value

        func = torch.Tensor.double if func in _CASTS else func
        return func(*map(raised, args), **{name: raised(value) for name, value in (kwargs or {}).items()})


@contextmanager
def doubled() -> Iterator[None]:
    """Let torch code compute in float64, even if it asks for less."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Doubled():
            yield
    finally:
        torch.set_default_dtype(usual)


class AdvantageError(AuditError):
    """Raised when an advantage cannot be audited; the message says why."""


ROUNDING, FLOAT32 = 1e-9, 2e-5
"""Relative deviations of float64 and of float32."""


def rounding_of(advantages: np.ndarray) -> float:
    """Relative rounding error to allow for: float32's if float32 represents all numbers, else float64's."""
    return FLOAT32 if np.array_equal(advantages, advantages.astype(np.float32), equal_nan=True) else ROUNDING


def sorted_groups(size: int) -> np.ndarray:
    """One group with each number of correct answers, the correct ones first, (size+1, size)."""
    return (np.arange(size) < np.arange(size + 1)[:, None]).astype(float)


def called(advantage: Advantage, rewards: np.ndarray, *, precise: bool = False) -> np.ndarray:
    """Advantages of rewards (groups, G) as float64; an array is passed if the function takes no tensor.

    If `precise`, torch code that asks for float32 computes in float64.
    """
    try:
        with doubled() if precise else nullcontext():
            advantages = advantage(torch.as_tensor(rewards.copy()))
    except Exception as error:
        if precise:
            return called(advantage, rewards)
        raised = f"{type(error).__name__}: {error}"
        try:
            advantages = advantage(rewards.copy())
        except Exception as other:
            if str(other) != str(error):
                raised += f" (of an array it raised {type(other).__name__}: {other})"
            raise AdvantageError(f"of rewards (groups, G) alone the advantage raised {raised}") from error
    if isinstance(advantages, torch.Tensor):
        advantages = advantages.detach().double()
    numbers = np.asarray(advantages, float)
    if numbers.shape != rewards.shape:
        shapes = f"{numbers.shape} for rewards {rewards.shape}"
        raise AdvantageError(f"the advantage returned {shapes}: as many are needed")
    return numbers
