"""Runs planned by their twins: as many steps and answers as their law needs, chosen before they start.

`python -m full_scale.laws.plan FOLDER` writes PLANS; nothing else does.
"""

import itertools
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from dph_theory.support.files import write_text
from dph_theory.support.processes import run_jobs

from .record import Bounds, Twin, bars_of, expected_kl
from .runs import PLANNED, PLANS, Run
from .twin import sampled_twin, twin

STEPS, RATES = (250, 500, 1000, 2000), (2e-3, 5e-4)
MOST_GROUPS = 8
"""Of each row in a step."""
SAMPLED = 12
"""If one in five runs missed, so many would all hold by chance one time in fifteen."""
SHARE = 0.25
"""Of a bar, that the twin's distance and the expected luck may each take; the rest is for chance."""


BETAS = {"k3": (0.5, 0.2, 0.1, 0.05), "k3_corrected": (0.5, 0.2, 0.1), "sequence_kl": (0.5, 0.2, 0.1, 0.05)}
"""What the last two nearly lose on the way takes longest to come back (theory E7): plans get rare."""
CHOSEN = ("steps", "groups", "group_size", "learning_rate")


def plan(run: Run, bases: Path) -> Run | None:
    """The run with the fewest steps for which theory says that it holds; None where none does.

    The twin arrives; the luck expected is under its share of the bars; and SAMPLED trainings on sampled
    answers, without a trainer, hold: what the first order cannot see is an answer that is nearly lost on the
    way, from where some penalties bring it back too slowly (theory E7).
    """
    bars = bars_of(run.task)
    for steps, rate in itertools.product(STEPS, RATES):
        planned = replace(run, steps=steps, learning_rate=rate)
        if not _within(twin(planned, bases, spreads=False), bars, SHARE):
            continue
        # The variance goes with 1/answers, up to what they change in Adam's second moment.
        groups = math.ceil(_loudness(twin(planned, bases), bars))
        while groups <= MOST_GROUPS:
            planned = replace(planned, groups=groups)
            seeds = (replace(planned, seed=seed) for seed in range(SAMPLED))
            if (
                (groups == 1 or _loudness(twin(planned, bases), bars) <= 1)
                and _within(twin(planned, bases, spreads=False), bars, SHARE)
                and all(_within(sampled_twin(seed, bases), bars, 1.0) for seed in seeds)
            ):
                return planned
            groups *= 2
    return None


def _within(found: Twin, bars: Bounds, share: float) -> bool:
    """Whether it ends within this share of the bars of its law."""
    law = next(iter(found.kl))
    gaps = [abs(v - w) for v, w in zip(found.exact.validity, found.law_validity or (), strict=True)]
    return found.kl[law] < share * bars.kl and fmean(gaps) < share * bars.validity


def _loudness(found: Twin, bars: Bounds) -> float:
    """The variance expected, over the most allowed: three deviations of the pass rate stay under its bar."""
    of_rate = (3 * found.deviations["validity"] / bars.validity) ** 2
    return max(expected_kl(found) / (SHARE * bars.kl), of_rate)


def planned_runs() -> Iterator[Run]:
    """What is asked of a plan: forms and betas, before steps and answers are chosen."""
    for form, betas in BETAS.items():
        for beta in betas:
            yield Run(PLANNED, "selection-2", form, beta)


def _plan(job: tuple[Run, Path]) -> Run | None:
    return plan(*job)


def main(folder: Path, workers: int = 2) -> None:
    """Plan all runs, and write those that have a plan, and those that have none as null."""
    jobs = [(run, folder) for run in planned_runs()]
    found: dict[str, Run | None] = {}
    for (run, _), planned in run_jobs(_plan, jobs, workers=workers, one_torch_thread=True):
        found[run.id] = planned
        sys.stderr.write(f"{run.id}: {planned.changed if planned else 'no plan'}\n")
    lines = []
    for run, _ in jobs:
        planned = found[run.id]
        plan_of = None if planned is None else {name: getattr(planned, name) for name in CHOSEN}
        lines.append(json.dumps({"task": run.task, "form": run.form, "beta": run.beta, "plan": plan_of}))
    write_text(PLANS, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
