"""How often the searches find false neighbours by themselves; a measurement, never red.

`dph verify` refutes each false neighbour at an instance kept with it. Here random draws and the optimiser
look for a violation without it, with several seeds: the share of seeds that find one says how strong the
searches are on statements, where a find would be news. Run as `make bench`, or with `--seeds 3`.
"""

import argparse
import zlib
from collections import defaultdict
from functools import partial

from rich.console import Console
from rich.table import Table
from stored import store

from dph_theory.support.processes import run_jobs
from dph_theory.theorems import THEOREMS
from dph_theory.verification.reports import Settings, settings
from dph_theory.verification.run import available
from dph_theory.verification.search import search

INSTANCES = 5_000
SEARCHES = {
    "draws": Settings(INSTANCES, 5, 0),
    "short search": settings(instances=1, quick=True),
    "long search": settings(instances=1),
}


def found_by(job: tuple[str, str], seeds: int) -> dict[str, float]:
    """The share of seeds with which each search finds a violation of one false neighbour."""
    theorem = THEOREMS[job[0]]
    (false,) = (false for false in theorem.false_neighbours if false.name == job[1])
    statement, found = theorem.changed(false), defaultdict(int)
    for seed in range(seeds):
        own = zlib.crc32(f"{seed}/{'/'.join(job)}".encode())
        for name, asked in SEARCHES.items():
            found[name] += search(statement, asked, own).witness is not None
    return {name: found[name] / seeds for name in SEARCHES}


def main() -> None:
    """Search for every false neighbour with every seed, print what is not always found, and store all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds [default: 5]")
    options = parser.parse_args()
    jobs = [
        (theorem.name, false.name)
        for theorem in THEOREMS.values()
        if available(theorem) and theorem.needs is None
        for false in theorem.false_neighbours
    ]
    shares = dict(run_jobs(partial(found_by, seeds=options.seeds), jobs))
    table = Table("theorem", "false neighbour", *SEARCHES, title="Share of seeds that find it, where below 1")
    for job in jobs:
        if shares[job]["long search"] < 1:
            table.add_row(*job, *(f"{shares[job][name]:.0%}" for name in SEARCHES))
    console = Console()
    console.print(table)
    for name in SEARCHES:
        always = sum(shares[job][name] == 1 for job in jobs)
        console.print(f"{name}: {always} of {len(jobs)} false neighbours found with every seed")
    rows = [{"theorem": job[0], "false_neighbour": job[1], **shares[job]} for job in jobs]
    store("search", seeds=options.seeds, instances=INSTANCES, found=rows)


if __name__ == "__main__":
    main()
