"""What every benchmark stores, with machine and versions: of one machine on one day, so quote ratios."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dph_theory.support.files import write_json

RESULTS = Path(__file__).parent / "results"


def store(name: str, *packages: str, path: Path | None = None, **numbers: Any) -> None:
    """Write the numbers to benchmarks/results/NAME.json, or to the path."""
    machine = {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }
    versions = {package: version(package) for package in ("dph", *packages)}
    write_json(path or RESULTS / f"{name}.json", {"machine": machine, "versions": versions, **numbers})
