"""Runs planned by their twins: as many steps and answers as their law needs, chosen before they start.

`python -m full_scale.lab.laws.plan FOLDER` writes PLANS, a line for each run planned; the folder keeps
plans as they are found. Nothing else writes it.
"""

import itertools
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from dph_theory.support.files import write_text
from dph_theory.support.terminal import console, lines

from ..kept import Kept
from .experiments import PLANNED, PLANS, WAYS
from .record import Bounds, Twin, bars_of
from .runs import Run
from .study import quiet
from .twin import SAMPLED, sampled_ends, twin

STEPS, RATES = (250, 500, 1000, 2000), (2e-3, 5e-4)
MOST_GROUPS = 8
"""Of each row in a step."""
SHARE = 0.25
"""Of a bar, that the twin's distance and the expected luck may each take; the rest is for chance."""
BETAS = (0.5, 0.2, 0.1, 0.05)
BEGUN = 1.0
"""The beta from which an annealed one falls."""
CHOSEN = ("steps", "groups", "group_size", "learning_rate", "annealed_from")


def plan(run: Run, way: str, bases: Path) -> Run | None:
    """The run with the fewest steps for which theory says that it holds; None where there is none.

    "first_order": the twin arrives, and the luck expected, to first order, is under its share of the bars.
    "sampled": SAMPLED trainings on sampled answers, without a trainer, hold too: what the first order cannot
    see is an answer that is nearly lost on the way, from where some penalties bring it back too slowly
    (theory E7). "annealed": the same with a beta that falls from BEGUN, which loses none (theory G10).
    """
    if way == "annealed":
        run = replace(run, annealed_from=BEGUN)
    fitting = _fitting(run, bases)
    return next((found for found in fitting if way == "first_order" or _samples_hold(found, bases)), None)


def _fitting(run: Run, bases: Path) -> Iterator[Run]:
    """The runs that are to hold by their twin and the first order of its noise, the shortest first."""
    bars = bars_of(run.task)
    for steps, rate in itertools.product(STEPS, RATES):
        planned = replace(run, steps=steps, learning_rate=rate)
        if not _within(twin(planned, bases, spreads=False), bars, SHARE):
            continue
        # The variance goes with 1/answers, up to what they change in Adam's second moment.
        groups = math.ceil(_loudness(twin(planned, bases), bars))
        while groups <= MOST_GROUPS:
            planned = replace(planned, groups=groups)
            quiet = groups == 1 or _loudness(twin(planned, bases), bars) <= 1
            if quiet and _within(twin(planned, bases, spreads=False), bars, SHARE):
                yield planned
            groups *= 2


def _samples_hold(run: Run, bases: Path) -> bool:
    bars = bars_of(run.task)
    # One first: most plans that fail, fail at once.
    return all(
        end.kl_to_law < bars.kl and end.gap < bars.validity
        for seeds in (1, SAMPLED)
        for end in sampled_ends(run, bases, seeds)
    )


def _within(found: Twin, bars: Bounds, share: float) -> bool:
    """Whether it ends within this share of the bars of its law."""
    law = next(iter(found.kl))
    return found.kl[law] < share * bars.kl and found.gap < share * bars.validity


def _loudness(found: Twin, bars: Bounds) -> float:
    """The variance expected, over the most allowed: three deviations of the pass rate stay under its bar."""
    of_rate = (3 * found.deviations["validity"] / bars.validity) ** 2
    return max(expected_kl(found) / (SHARE * bars.kl), of_rate)


def expected_kl(found: Twin) -> float:
    """The KL to the twin that luck is to bring, as far as the two deviations tell, to first order."""
    rate, share = fmean(found.exact.validity), found.exact.favourite_share
    of_rate = found.deviations["validity"] ** 2 / (rate * (1 - rate))
    return (of_rate + rate * share * (1 - share) * found.deviations["favourite_odds"] ** 2) / 2


def planned_runs() -> list[Run]:
    """What is asked of a plan: forms and betas, before steps and answers are chosen."""
    forms = ("k3", "k3_corrected", "sequence_kl")
    return [Run(PLANNED, "selection-2", form, beta) for form in forms for beta in BETAS]


def _plan(job: tuple[Run, str, Path]) -> dict[str, Any]:
    quiet()
    found = plan(*job)
    return {name: value for name in CHOSEN if (value := getattr(found, name, None)) is not None}


def main(folder: Path, workers: int = 2) -> None:
    """Make the plans that the folder lacks, and write PLANS: those of each way, null where there is none."""
    kept, asked = Kept(folder, {"kind": PLANNED}), planned_runs()
    jobs = {f"{run.id} {way}": (run, way, kept.bases) for run in asked for way in WAYS}
    kept.settle(PLANNED, _plan, jobs, workers=workers, progress=lines(console(stderr=True)))
    made = kept.read(PLANNED, dict)
    rows = [
        {"id": run.id, "task": run.task, "form": run.form, "beta": run.beta}
        | {way: made[f"{run.id} {way}"] or None for way in WAYS}
        for run in asked
    ]
    write_text(PLANS, "".join(f"{json.dumps(line)}\n" for line in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
