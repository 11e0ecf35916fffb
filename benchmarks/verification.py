"""Speed of verification: the whole command, and each theorem.

Run as `make bench`; prints tables and stores them, with the machine, in benchmarks/results/verification.json.
These are measurements of one machine on one day: quote ratios, not seconds.
"""

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from stored import store

from dph_theory.theorems import THEOREMS
from dph_theory.verification.search import CHUNK, sample

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
    commands = {}
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
        commands[name] = {"wall_s": wall, "cpu_s": cpu, "last_line": " ".join(counts[0].split())}
    commands["quick_over_full"] = commands["quick"]["wall_s"] / commands["full"]["wall_s"]
    return commands


def instances_per_second() -> dict[str, float]:
    """Instances per second of both sides of each theorem, in one process."""
    rates = {}
    for name, theorem in THEOREMS.items():
        instance = theorem.instances(sample(theorem.instances, CHUNK, np.random.default_rng(0)))
        rates[name] = CHUNK / seconds(lambda t=theorem, i=instance: t.violation(i), repeats=3)
    return rates


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


def main() -> None:
    """Measure everything and store it."""
    numbers = {"whole_command": whole_command(), "instances_per_second": instances_per_second()}
    store("verification", "numpy", "scipy", "sympy", **numbers)
    report(numbers)


if __name__ == "__main__":
    main()
