"""Speed and memory of the rehearsal loss, against the formula as printed through autograd and a bare k3.

Forward and backward of one loss, the three interleaved in one run. Prints ratios and stores them, with the
machine, in benchmarks/results/losses.json. These are measurements of one machine on one day: quote ratios.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, FDivergence, alpha_divergence
from dph_theory.losses import generator_loss
from dph_theory.support.files import write_json

RESULTS = Path(__file__).parent / "results" / "losses.json"
SHAPES = ((64, 2048), (16, 16384))
DTYPES = (torch.float32, torch.bfloat16)


def alpha_printed(alpha: float) -> Callable[[Tensor], Tensor]:
    """The alpha generator as printed."""
    return lambda u: (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


CASES: dict[str, tuple[FDivergence, str, Callable[[Tensor], Tensor]]] = {
    "forward KL": (FORWARD_KL, "printed", lambda u: -torch.log(u)),
    "reverse KL": (REVERSE_KL, "printed", lambda u: u * torch.log(u)),
    "JS": (JENSEN_SHANNON, "printed", lambda u: u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2)),
    "alpha 0.2": (alpha_divergence(0.2), "printed", alpha_printed(0.2)),
    "alpha 0.5": (alpha_divergence(0.5), "printed", alpha_printed(0.5)),
    "forward KL, normalised": (FORWARD_KL, "normalised", lambda u: u - 1 - torch.log(u)),
}


def losses(case: str, x: Tensor, mask: Tensor) -> dict[str, Callable[[], None]]:
    """Forward and backward of ours, of the printed formula and of a bare k3, each a masked mean."""
    divergence, gauge, printed = CASES[case]

    def run(loss: Callable[[], Tensor]) -> None:
        x.grad = None
        loss().backward()

    return {
        "ours": lambda: run(lambda: generator_loss(divergence, x, mask, gauge=gauge)),
        "naive": lambda: run(lambda: (printed(torch.exp(x)) * mask).sum() / mask.sum()),
        "bare_k3": lambda: run(lambda: ((torch.exp(x) - 1 - x) * mask).sum() / mask.sum()),
    }


def medians(calls: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """The median microseconds of each call, the calls taking turns, after ten rounds to warm up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 10):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= 10:
                times[name].append(time.perf_counter() - start)
    return {name: 1e6 * float(np.median(taken)) for name, taken in times.items()}


def peak_bytes(call: Callable[[], None], x: Tensor) -> int:
    """The most bytes of tensors alive at once during a call, beyond those before it; with the gradient."""
    call()
    x.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        call()
    alive = most = 0
    for event in recorded.profiler.kineto_results.events():
        if event.name() == "[memory]":
            alive += event.nbytes()
            most = max(most, alive)
    return most


def measure(shape: tuple[int, int], dtype: torch.dtype, case: str, repeats: int) -> dict[str, Any]:
    """Times and peaks of one case, and the ratios of ours to the others."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(shape, generator=generator) < 0.8
    x = (torch.randn(shape, generator=generator) / 2).to(dtype).requires_grad_()
    calls = losses(case, x, mask)
    found: dict[str, Any] = {"shape": list(shape), "dtype": str(dtype).removeprefix("torch."), "case": case}
    found["microseconds"] = medians(calls, repeats)
    found["peak_bytes"] = {name: peak_bytes(call, x) for name, call in calls.items()}
    for what in ("microseconds", "peak_bytes"):
        for other in ("naive", "bare_k3"):
            found[f"{what}_over_{other}"] = found[what]["ours"] / found[what][other]
    return found


def report(rows: list[dict[str, Any]]) -> None:
    """Print the ratios."""
    table = Table(
        "shape", "dtype", "loss", "time / naive", "time / k3", "memory / naive", "memory / k3", "us"
    )
    for row in rows:
        ratios = [
            f"{row[f'{w}_over_{o}']:.2f}"
            for w in ("microseconds", "peak_bytes")
            for o in ("naive", "bare_k3")
        ]
        table.add_row(
            str(tuple(row["shape"])), row["dtype"], row["case"], *ratios, f"{row['microseconds']['ours']:.0f}"
        )
    Console(width=120).print(table)


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to store the numbers")
    parser.add_argument("--repeats", type=int, default=200, help="rounds of each case")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        measure(shape, dtype, case, options.repeats) for shape in SHAPES for dtype in DTYPES for case in CASES
    ]
    numbers = {
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in ("dph", "numpy", "torch")},
        "seed": 0,
        "repeats": options.repeats,
        "rows": rows,
    }
    write_json(options.out, numbers)
    report(rows)


if __name__ == "__main__":
    main()
