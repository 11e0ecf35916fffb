"""The experiment from its configuration to its record."""

from functools import partial
from typing import Any

import numpy as np

from dph_theory.numeric.arrays import whole
from dph_theory.support.frozen import as_json
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import record

from .compare import compare, on_random_tasks, where_direction_matters
from .config import Config
from .findings import findings
from .results import KIND, Results
from .summary import directions
from .sweep import sweep
from .target import targets


def run(config: Config, *, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """Train every method and sweep by exact gradients; the record of all numbers and what follows from them.

    The seed draws the random tasks; everything else is deterministic. progress(stage, done, total) is told
    how far it is. Source: ours, theory D3, A5, A8, A9, B9, C4.
    """
    whole("seed", seed, at_least=0)
    tell = progress or silent
    base, methods = compare(config, partial(tell, "methods"))
    blocks = sweep(config, partial(tell, "sweep"))
    weak = where_direction_matters(config, directions(config, blocks))
    tell("targets and random tasks", 0, 2)
    aims = targets(config)
    tell("targets and random tasks", 1, 2)
    results = Results(
        draws=config.draws,
        base=base,
        methods=methods,
        sweep=blocks,
        weak=weak,
        targets=aims,
        random_tasks=on_random_tasks(config, np.random.default_rng(seed)),
    )
    tell("targets and random tasks", 2, 2)
    return record(
        KIND,
        seed=seed,
        config=as_json(config),
        results=as_json(results),
        findings=findings(config, results),
        packages=("numpy", "scipy"),
    )
