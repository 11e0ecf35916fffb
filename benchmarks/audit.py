"""Speed of the auditor: a loss from the shell, and each published form on its own.

Part of `make bench`; stores the numbers, with the machine, in benchmarks/results/audit.json. Processor
seconds of one machine on one day, and the command's wall seconds too; `load` says how busy the machine was.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from stored import store

from dph_theory.audit import audit, audit_metric
from dph_theory.audit.catalogue import audit_advantages, audit_form
from dph_theory.audit.published import CATALOGUE
from dph_theory.trainers.kl_terms import KL_TERMS
from dph_theory.trainers.policy_losses import POLICY_LOSSES

DPH = Path(sys.executable).with_name("dph")
LOSS = f"{Path(__file__).parents[1] / 'examples' / 'audit_your_own_loss.py'}:penalty"


def command_seconds() -> tuple[float, float]:
    """Wall and processor seconds of `dph audit loss`, start-up included."""
    start, before = time.perf_counter(), os.times()
    subprocess.run([DPH, "audit", "loss", LOSS], capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, used


def form_seconds() -> dict[str, float]:
    """Seconds of each form's audit, in this process, on one thread; the first audit of a process is apart."""
    torch.set_num_threads(1)
    seconds = {}
    for name, form in (("first in a process", CATALOGUE[0]), *((None, form) for form in CATALOGUE)):
        start = time.process_time()
        audit(form.loss, samples=form.samples, name=form.title)
        seconds[name or f"{form.title}, {form.samples}"] = time.process_time() - start
    return seconds


def other_seconds() -> dict[str, float]:
    """Seconds of all KL terms and policy losses of trainers, of all advantages, and of a metric."""
    seconds = {}
    for name, work in (
        ("trainers", lambda: [audit_form(i, "KL terms") for i in range(len(KL_TERMS))]),
        ("policy losses", lambda: [audit_form(i, "policy losses") for i in range(len(POLICY_LOSSES))]),
        ("advantages", audit_advantages),
        ("a metric", lambda: audit_metric(lambda n, c, k: c / n)),
    ):
        start = time.process_time()
        work()
        seconds[name] = time.process_time() - start
    return seconds


def main() -> None:
    """Measure and store."""
    forms = form_seconds()
    wall, used = command_seconds()
    commands = {"loss_command_wall_s": wall, "loss_command_s": used}
    store("audit", "torch", "numpy", **commands, forms=len(CATALOGUE), form_s=forms, other_s=other_seconds())
    slowest = max(forms, key=lambda name: forms[name])
    Console().print(
        f"dph audit loss: {used:.1f} processor s, {wall:.1f} s of wall time; {len(CATALOGUE)} forms in one "
        f"process: {sum(forms.values()):.1f} s, slowest {slowest}"
    )


if __name__ == "__main__":
    main()
