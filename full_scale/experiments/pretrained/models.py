"""Does the kernel's forecast generalise to new models?

Gemma-3-270M and a small Llama taught here join SmolLM2-135M, each at its rate and at a tenth of it; all runs
are measured along their course. Forecasts by the plain kernel are written before the runs. The forecast by
the kernel of Adam's steps (`transfer.metric`) was declared after three runs of the taught Llama, with the
prediction that it errs less with a KL and no more without; its rival: the plain kernel's errors do not come
from the metric. Its first form, with four sampled batches for v, put no bound on weights that only rare
answers reach, and was replaced after twenty runs, so its forecasts count as made after the runs. Not covered:
sampled answers of many tokens; adapters; more than 40 steps.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .anchors import DIGITS, SUMS
from .runs import MIXTURE, OpenRun

GEMMA, TAUGHT = "gemma3", "taught"  # The second is made by `teach`, in the folder of start models.

_own = partial(OpenRun, "models", method="GRPO")
_gemma = partial(_own, model=GEMMA)
_taught = partial(_own, model=TAUGHT, learning_rate=3e-4)
_KLS: tuple[dict[str, Any], ...] = (
    {"kl": "k3", "coefficient": 0.3},
    {"kl": "k3", "coefficient": 1.0},
    {"kl": "k2", "coefficient": 0.3},
)


def declared() -> list[OpenRun]:
    """Runs of other models: GRPO without a KL and with three, Dr. GRPO, DPH-F, sums, slow rates; by seed."""
    settings: list[tuple[OpenRun, int]] = []
    for kind, seeds in ((_gemma, 2), (_taught, 5)):
        settings += [(kind(DIGITS), seeds), (kind(DIGITS, method="Dr. GRPO"), seeds)]
        settings += [(kind(DIGITS, **kl), seeds) for kl in _KLS]
        settings += [(kind(SUMS), 2), (kind(SUMS, **_KLS[0]), 2)]
        slow = kind(DIGITS)
        settings.append((replace(slow, learning_rate=slow.learning_rate / 10), 2))
    settings += [(_gemma(MIXTURE, method="DPH-F", coefficient=0.5), 2)]
    settings += [(_own(DIGITS, method="Dr. GRPO"), 3), (_own(DIGITS, **_KLS[2]), 3)]
    settings += [(_own(DIGITS, learning_rate=1e-6, steps=40), 2)]
    return [replace(run, seed=seed) for seed in range(5) for run, seeds in settings if seed < seeds]


def paths(path: str, runs: Sequence[OpenRun], bases: Path) -> dict[str | None, str]:
    """Path of each model that runs name; None, the study's own, has `path`. A taught model is built."""
    folders: dict[str | None, str] = {run.model: run.model or path for run in runs}
    if TAUGHT in folders:
        folder = bases / TAUGHT
        if not folder.is_dir():
            from .taught import teach

            bases.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=bases) as unfinished:
                teach(Path(unfinished) / TAUGHT, (*DIGITS, *SUMS))
                (Path(unfinished) / TAUGHT).rename(folder)
        folders[TAUGHT] = str(folder)
    return folders
