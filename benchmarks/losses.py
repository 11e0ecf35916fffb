"""What the rehearsal loss costs; what a step with it does, benchmarks/training.py.

Ours is the one declaration of a divergence, in float64 and with its gradient in the same pass; beside it are
the formula as printed, through autograd, and a bare k3. All take turns in one run. Prints ratios and stores
them, with the machine, in benchmarks/results/losses.json: measurements of one machine on one day, so quote
ratios.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.table import Table
from stored import store
from torch import Tensor

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.losses import generator_loss
from dph_theory.support.terminal import console

SHAPE = (64, 2048)
DTYPES = (torch.float32, torch.bfloat16)
WARM_UP = 2


def alpha_printed(alpha: float) -> Callable[[Tensor], Tensor]:
    """The alpha generator as printed."""
    return lambda u: (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


CASES: dict[str, tuple[FDivergence, str, Callable[[Tensor], Tensor]]] = {
    "forward KL": (FORWARD_KL, "printed", lambda u: -torch.log(u)),
    "reverse KL": (REVERSE_KL, "printed", lambda u: u * torch.log(u)),
    "JS": (JENSEN_SHANNON, "printed", lambda u: u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2)),
    "alpha 0.2": (alpha_divergence(0.2), "printed", alpha_printed(0.2)),
    "forward KL, normalised": (FORWARD_KL, "normalised", lambda u: u - 1 - torch.log(u)),
}
Loss = Callable[[Tensor, Tensor], Tensor]


def forms(case: str) -> dict[str, Loss]:
    """Ours, the printed formula and a bare k3, each a masked mean of log-ratios."""
    divergence, gauge, printed = CASES[case]
    return {
        "ours": lambda x, mask: generator_loss(divergence, x, mask, gauge=gauge),
        "printed": lambda x, mask: (printed(torch.exp(x)) * mask).sum() / mask.sum(),
        "bare_k3": lambda x, mask: ((torch.exp(x) - 1 - x) * mask).sum() / mask.sum(),
    }


def milliseconds(calls: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """The least time of each call, the calls taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + WARM_UP):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= WARM_UP:
                times[name].append(time.perf_counter() - start)
    return {name: round(1e3 * min(taken), 4) for name, taken in times.items()}


def over(times: dict[str, float]) -> dict[str, float]:
    """The ratios of ours to the others."""
    return {other: round(times["ours"] / taken, 3) for other, taken in times.items() if other != "ours"}


def alone(case: str, shape: tuple[int, int], dtype: torch.dtype, repeats: int) -> dict[str, Any]:
    """Forward and backward of one loss."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(shape, generator=generator) < 0.8
    x = (torch.randn(shape, generator=generator) / 2).to(dtype).requires_grad_()

    def run(loss: Loss) -> None:
        x.grad = None
        loss(x, mask).backward()

    calls = {name: lambda loss=loss: run(loss) for name, loss in forms(case).items()}
    times = milliseconds(calls, repeats)
    return {"case": case, "dtype": str(dtype).removeprefix("torch."), "ms": times, "ours_over": over(times)}


def report(rows: list[dict[str, Any]]) -> None:
    """Print the ratios."""
    table = Table("loss", "dtype", "time / printed", "time / k3", "ms")
    for row in rows:
        ratios = [f"{ratio:.2f}" for ratio in row["ours_over"].values()]
        table.add_row(row["case"], row["dtype"], *ratios, f"{row['ms']['ours']:.2f}")
    console().print(table)


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="rounds of each loss")
    options = parser.parse_args()
    torch.set_num_threads(1)  # Threads that wait for one another measure what else the machine does.
    rows = [alone(case, SHAPE, dtype, options.repeats) for dtype in DTYPES for case in CASES]
    numbers = {"seed": 0, "repeats": options.repeats, "shape": list(SHAPE), "alone": rows}
    store("losses", "numpy", "torch", **numbers)
    report(rows)


if __name__ == "__main__":
    main()
