"""Whether any verdict depends on the seed: `dph verify --quick` at many seeds, on several kinds of machine.

A row is a seed and an environment: as it is, with one thread, with another kernel of OpenBLAS. All should end
with 0; what did not come out as expected is stored. Run as `python benchmarks/seeds.py`: a quarter of
an hour.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table
from stored import store

DPH = Path(sys.executable).with_name("dph")
ENVIRONMENTS = {
    "as it is": {},
    "one thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "Sandybridge kernel": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Nehalem kernel": {"OPENBLAS_CORETYPE": "Nehalem"},
}


def verified(seed: int, environment: dict[str, str]) -> dict[str, Any]:
    """How the command ended, and what was not as expected."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.json"
        command = [DPH, "verify", "--quick", "--seed", str(seed), "--json", path]
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment})
        reports = json.loads(path.read_text()) if path.exists() else []
    unexpected = {r["theorem"]: r["unexpected"] for r in reports if not r["as_expected"]}
    return {"exit": done.returncode, "theorems": len(reports), "unexpected": unexpected}


def main() -> None:
    """Verify at every seed and in every environment, print a line for each environment, and store all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="seeds 0 to N-1 as it is [default: 50]")
    parser.add_argument("--others", type=int, default=5, help="seeds in the other environments [default: 5]")
    options = parser.parse_args()
    runs = [
        (name, seed)
        for name, changes in ENVIRONMENTS.items()
        for seed in range(options.others if changes else options.seeds)
    ]
    rows = [
        {"environment": name, "seed": seed, **verified(seed, ENVIRONMENTS[name])}
        for name, seed in track(runs, description="verifying")
    ]
    store("seeds", rows=rows)
    table = Table("environment", "seeds", "as expected", "not as expected")
    for name in ENVIRONMENTS:
        own = [row for row in rows if row["environment"] == name]
        missed = sorted({theorem for row in own for theorem in row["unexpected"]})
        table.add_row(
            name, str(len(own)), str(sum(row["exit"] == 0 for row in own)), ", ".join(missed) or "-"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
