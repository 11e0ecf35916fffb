"""Speed of the exact engine: the full report, its growth with length, states and vocabulary, and enumeration.

Every case in turn, several rounds, medians of the processor time (which others on the machine lengthen less
than the wall's) and of the wall time. Growth is the slope of log processor seconds against log size.
Prints the
numbers and stores them, with the machine, in benchmarks/results/toy_engine.json. These are measurements of
one machine on one day: quote ratios and slopes.
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

from dph_theory import REVERSE_KL
from dph_theory.support.files import write_json
from toy_lm import Enumerated, MarkovLM, ValidityAutomaton, report

RESULTS = Path(__file__).parent / "results" / "toy_engine.json"
TARGET = {"length": 512, "states": 64, "vocabulary": 32}
AROUND = {"length": 128, "states": 64, "vocabulary": 32}
"""Where growth is measured, one size at a time, the sizes large enough for arithmetic to outweigh the
calls.
"""
SIZES = {"length": (128, 256, 512), "states": (64, 128, 256), "vocabulary": (32, 64, 96)}
SMALL = {"length": 20, "states": 8, "vocabulary": 2}
Case = tuple[MarkovLM, MarkovLM, ValidityAutomaton, int]


def case(length: int, states: int, vocabulary: int) -> Case:
    """Random homogeneous bigrams and a random automaton, half of whose states accept."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, states, (states, vocabulary))
    accepting = np.arange(states) % 2 == 0
    automaton = ValidityAutomaton(table, 0, accepting, tuple(map(chr, range(48, 48 + vocabulary))))
    policy, base = (MarkovLM.random(vocabulary, seed=rng) for _ in range(2))
    return policy, base, automaton, length


def enumerate_all(policy: MarkovLM, base: MarkovLM, automaton: ValidityAutomaton, length: int) -> list[Any]:
    """The report's numbers from all words."""
    P, A = (Enumerated.of(model, automaton, length) for model in (policy, base))
    valid, target = P.filtered(), A.filtered()
    parts = P.excess_kl(A)
    numbers = [P.validity(), P.entropy(), valid.entropy(), target.entropy(), *parts]
    numbers += [target.divergence(REVERSE_KL, P), target.divergence(REVERSE_KL, valid)]
    return [*numbers, P.probabilities[P.valid].max()]


def medians(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, dict[str, float]]:
    """The median seconds of each call, the calls taking turns, after one round to warm up."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time(), time.perf_counter()
            call()
            if turn:
                taken[name].append((time.process_time() - start[0], time.perf_counter() - start[1]))
    both = {name: np.median(times, axis=0) for name, times in taken.items()}
    return {name: {"processor": float(cpu), "wall": float(wall)} for name, (cpu, wall) in both.items()}


def measure(rounds: int) -> dict[str, Any]:
    """All measurements."""
    cases = {f"{axis}={n}": case(**{**AROUND, axis: n}) for axis, sizes in SIZES.items() for n in sizes}
    cases |= {"full": case(**TARGET), "small": case(**SMALL)}
    calls: dict[str, Callable[[], object]] = {
        name: lambda arguments=arguments: report(*arguments) for name, arguments in cases.items()
    }
    calls["enumeration"] = lambda: enumerate_all(*cases["small"])
    seconds = medians(calls, rounds)
    growth = {}
    for axis, sizes in SIZES.items():
        times = [seconds[f"{axis}={n}"]["processor"] for n in sizes]
        growth[axis] = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return {
        "full": {**TARGET, "words": f"10^{TARGET['length'] * np.log10(TARGET['vocabulary']):.0f}"},
        "around": AROUND,
        "small": {**SMALL, "words": SMALL["vocabulary"] ** SMALL["length"]},
        "seconds": seconds,
        "slopes": growth,
        "enumeration_over_engine": seconds["enumeration"]["processor"] / seconds["small"]["processor"],
        "largest_difference": difference(cases["small"]),
    }


def difference(arguments: Case) -> float:
    """How far the engine's numbers of the small case are from enumeration's."""
    found = report(*arguments)
    engine = [found.validity, found.entropy, found.valid_entropy, found.target_entropy, found.kl]
    engine += [found.kl_validity, found.kl_valid, found.kl_invalid]
    engine += [found.forward_kl, found.valid_forward_kl, found.top_mass]
    return float(np.abs(np.array(engine) - np.array(enumerate_all(*arguments))).max())


def show(found: dict[str, Any]) -> None:
    """Print the measurements."""
    table = Table("report at", "processor seconds", "wall seconds")
    for name, seconds in found["seconds"].items():
        table.add_row(name, f"{seconds['processor']:.4f}", f"{seconds['wall']:.4f}")
    console = Console(width=110)
    console.print(table)
    console.print("full: " + ", ".join(f"{name} {value}" for name, value in found["full"].items()))
    console.print("slopes: " + ", ".join(f"{axis} {slope:.2f}" for axis, slope in found["slopes"].items()))
    console.print(
        f"enumeration of {found['small']['words']} words takes {found['enumeration_over_engine']:.1f} times "
        f"as long as the engine, largest difference {found['largest_difference']:.1e}"
    )


def main() -> None:
    """Measure everything and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to store the numbers")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="torch threads")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found = measure(options.rounds)
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
    }
    versions = {name: version(name) for name in ("dph", "numpy", "torch")}
    record = {"machine": machine, "versions": versions, "seed": 0, "rounds": options.rounds, **found}
    write_json(options.out, record)
    show(found)


if __name__ == "__main__":
    main()
