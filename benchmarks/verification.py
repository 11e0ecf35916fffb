"""Speed of verification: the whole command, each theorem, and the growth with outcomes and states.

Run as `make bench`; prints tables and stores them, with the machine, in benchmarks/results/verification.json.
These are measurements of one machine on one day: quote ratios and slopes, not seconds.
"""

import argparse
import ctypes
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dph_theory import FORWARD_KL, TabularMDP, excess_kl
from dph_theory.support.files import write_json
from dph_theory.theorems import THEOREMS
from dph_theory.verification.search import CHUNK, sample

RESULTS = Path(__file__).parent / "results" / "verification.json"
DPH = Path(sys.executable).with_name("dph")
_BECOME_SUBREAPER = 36
"""Linux's number of the request to adopt what descendants leave behind."""


def seconds(function: Callable[[], Any], repeats: int = 5) -> float:
    """The median time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def whole_command() -> dict[str, Any]:
    """Wall and processor seconds of `dph verify` and of `dph verify --quick`, and their instances."""
    found = {}
    # The process that workers are forked from outlives the command by a moment, and is adopted here.
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    for name, options in (("full", []), ("quick", ["--quick"])):
        before, start = os.times(), time.perf_counter()
        done = subprocess.run([DPH, "verify", *options], capture_output=True, text=True, check=True)
        wall = time.perf_counter() - start
        with suppress(ChildProcessError):
            while True:
                os.wait()
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        counts = re.search(r"^\d+ theorems: .*", done.stdout, re.MULTILINE | re.DOTALL)
        found[name] = {"wall_s": wall, "cpu_s": cpu, "last_line": " ".join(counts[0].split())}
    found["quick_over_full"] = found["quick"]["wall_s"] / found["full"]["wall_s"]
    return found


def instances_per_second() -> dict[str, float]:
    """Instances per second of both sides of each theorem, in one process."""
    found = {}
    for name, theorem in THEOREMS.items():
        instance = theorem.instances(sample(theorem.instances, CHUNK, np.random.default_rng(0)))
        found[name] = CHUNK / seconds(lambda t=theorem, i=instance: t.violation(i), repeats=3)
    return found


def slope(sizes: list[int], times: list[float]) -> float:
    """The exponent of growth: the slope of log time against log size over the larger half."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0])


def growth_with_outcomes() -> dict[str, Any]:
    """Time of a divergence and of the excess KL against the number of outcomes, at a fixed batch."""
    rng, sizes, batch = np.random.default_rng(0), [8, 16, 32, 64, 128, 256, 512], 2000
    divergence, excess = [], []
    for n in sizes:
        pi, ref = rng.dirichlet(np.ones(n), batch), rng.dirichlet(np.ones(n), batch)
        valid = np.arange(n) < n // 2
        divergence.append(seconds(lambda p=pi, r=ref: FORWARD_KL(p, r)))
        excess.append(seconds(lambda p=pi, r=ref, v=valid: excess_kl(p, r, v)))
    return {
        "batch": batch,
        "outcomes": sizes,
        "forward_kl_s": divergence,
        "excess_kl_s": excess,
        "slopes": {"forward_kl": slope(sizes, divergence), "excess_kl": slope(sizes, excess)},
    }


def growth_with_states() -> dict[str, Any]:
    """Time of a batched policy evaluation against the number of states."""
    rng, sizes, batch = np.random.default_rng(0), [2, 4, 8, 16, 32, 64], 200
    times = []
    for n in sizes:
        mdp = TabularMDP(
            rng.dirichlet(np.ones(n), (batch, n, 2)),
            rng.normal(size=(batch, n, 2)),
            np.full(batch, 0.9),
            rng.dirichlet(np.ones(n), batch),
        )
        pi = rng.dirichlet(np.ones(2), (batch, n))
        times.append(seconds(lambda m=mdp, p=pi: m.value(p)))
    return {"batch": batch, "states": sizes, "value_s": times, "slope": slope(sizes, times)}


def batching() -> dict[str, float]:
    """How many times faster one batched call is than a loop over its instances, side by side."""
    rng, batch = np.random.default_rng(0), 2000
    pi, ref = rng.dirichlet(np.ones(5), batch), rng.dirichlet(np.ones(5), batch)
    loop = seconds(lambda: [FORWARD_KL(p, r) for p, r in zip(pi, ref, strict=True)], repeats=3)
    return {"batch": batch, "loop_over_batched": loop / seconds(lambda: FORWARD_KL(pi, ref))}


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    return {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}


def report(numbers: dict[str, Any]) -> None:
    """Print what was measured."""
    console = Console()
    for name in ("full", "quick"):
        run = numbers["whole_command"][name]
        console.print(f"dph verify ({name}): {run['wall_s']:.1f} s wall, {run['cpu_s']:.1f} s processor")
        console.print(f"  {run['last_line']}")
    table = Table("theorem", "instances per second", title="Both sides, one process")
    for name, rate in sorted(numbers["instances_per_second"].items(), key=lambda item: item[1]):
        table.add_row(name, f"{rate:,.0f}")
    console.print(table)
    outcomes, states = numbers["outcomes"]["slopes"], numbers["states"]["slope"]
    console.print(f"growth exponents: outcomes {outcomes}, states {states:.2f}")
    console.print(f"a loop takes {numbers['batching']['loop_over_batched']:.0f} times the batched call")


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to store the numbers")
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    numbers = {
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in ("dph", "numpy", "scipy", "sympy", "python-flint")},
        "whole_command": whole_command(),
        "instances_per_second": instances_per_second(),
        "outcomes": growth_with_outcomes(),
        "states": growth_with_states(),
        "batching": batching(),
    }
    write_json(out, numbers)
    report(numbers)


if __name__ == "__main__":
    main()
