"""The experiment from its configuration to its record."""

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from dph_theory.numeric.arrays import whole
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from .compare import compare, on_random_tasks, where_direction_matters
from .config import Config
from .findings import findings
from .summary import directions, meter
from .sweep import sweep
from .target import targets

KIND = "toy.strategies"


def run(config: Config, *, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Train every method and sweep by exact gradients; the record of all numbers and what follows from them.

    The seed draws the random tasks; everything else is deterministic. progress(stage, done, total) is told
    how far it is. Source: ours, theory D3, A5, A8, A9, B9, C4.
    """
    whole("seed", seed, at_least=0)
    tell = progress or silent
    results = compare(config, partial(tell, "methods"))
    results["sweep"] = sweep(config, partial(tell, "sweep"))
    results["directions"] = directions(config, results["sweep"])
    results["weak"] = where_direction_matters(config, results["directions"])
    results["meter"] = meter(config, results["sweep"])
    tell("targets and random tasks", 0, 2)
    results["targets"] = targets(config)
    tell("targets and random tasks", 1, 2)
    results["random_tasks"] = on_random_tasks(config, np.random.default_rng(seed))
    tell("targets and random tasks", 2, 2)
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(config).items()}
    said = findings(config, results)
    return record(KIND, seed=seed, config=plain, results=results, findings=said, packages=("numpy", "scipy"))
