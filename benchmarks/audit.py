"""Speed of the auditor: the whole catalogue as a command, and each form on its own.

Part of `make bench`; stores the numbers, with the machine, in benchmarks/results/audit.json. Seconds of one
machine on one day.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import torch
from rich.console import Console

from dph_theory.audit import audit
from dph_theory.audit.advantages import page as advantages_page
from dph_theory.audit.catalogue import CATALOGUE
from dph_theory.audit.metrics import audit_metric
from dph_theory.audit.trainers import TRAINERS
from dph_theory.support.files import write_json

RESULTS = Path(__file__).parent / "results" / "audit.json"
DPH = Path(sys.executable).with_name("dph")


def command_seconds() -> float:
    """Wall seconds of `dph audit --catalogue`, start-up included."""
    start = time.perf_counter()
    subprocess.run([DPH, "audit", "--catalogue"], capture_output=True, check=True)
    return time.perf_counter() - start


def form_seconds() -> dict[str, float]:
    """Seconds of each form's audit, in this process, on one thread."""
    torch.set_num_threads(1)
    found = {}
    for form in CATALOGUE:
        start = time.perf_counter()
        audit(form.loss, samples=form.samples, name=form.name)
        found[f"{form.name}, {form.samples}"] = time.perf_counter() - start
    return found


def other_seconds() -> dict[str, float]:
    """Seconds of all trainers, of all advantages at three group sizes, and of a metric, in one process."""
    found = {}
    for name, work in (
        ("trainers", lambda: [audit(f.loss, samples=f.samples, name=f.name) for f in TRAINERS]),
        ("advantages", advantages_page.catalogue),
        ("a metric", lambda: audit_metric(lambda n, c, k: c / n)),
    ):
        start = time.perf_counter()
        work()
        found[name] = time.perf_counter() - start
    return found


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="where to store the numbers")
    out = parser.parse_args().out
    forms = form_seconds()
    numbers = {
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in ("dph", "torch", "numpy")},
        "catalogue_command_s": command_seconds(),
        "forms": len(forms),
        "form_s": forms,
        "other_s": other_seconds(),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    write_json(out, numbers)
    Console().print(
        f"dph audit --catalogue: {numbers['catalogue_command_s']:.1f} s for {len(forms)} forms; "
        f"one process, forms alone: {sum(forms.values()):.1f} s, slowest {max(forms, key=lambda k: forms[k])}"
    )


if __name__ == "__main__":
    main()
