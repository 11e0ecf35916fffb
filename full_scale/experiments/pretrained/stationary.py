"""Does each form of the KL converge to its stationary policy, without noise?

The prediction, made before the run from the base alone, is the stationary policy of each form for the base's
own tables. Not covered: more than one prompt per kind; the speed of convergence; answers of more than two
tokens; betas below 0.2. The runs in expectation share one model, so prompts that the theory treats one by one
are trained together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

from dph_theory.support.table import Table

from .runs import OpenRun, Outcomes, of_experiment

FOUR: tuple[str, ...] = ("weekdays", "colours", "fruits", "summer")


def declared() -> list[OpenRun]:
    """Runs by expected gradients, with beta falling and with beta constant."""
    ends, every = ("reward", "k3"), ("reward", "k3_corrected", "k3")
    digits = product((0.2, 0.5), ("primes", "minutes"), every)
    falling = [(FOUR, kl, beta) for kl, beta in product(ends, (1.0, 0.5, 0.2))]
    falling += [((task,), kl, beta) for beta, task, kl in digits]
    # With constant beta the pass rate may overshoot and return slowly.
    constant = [(FOUR, kl, beta) for kl, beta in product(ends, (0.5, 0.2))]
    constant += [(("primes",), kl, 0.2) for kl in every]
    run: Callable[..., OpenRun] = partial(OpenRun, "stationary", learning_rate=2e-5, steps=90)
    return [
        run(tasks, "policy gradient", kl, beta, coefficient_from)
        for settings, coefficient_from in ((falling, 1.0), (constant, None))
        for tasks, kl, beta in settings
    ]


@dataclass(frozen=True)
class PredictedEnd:
    """Predicted policy of a form of the KL, for each of the run's tasks."""

    pass_rate: dict[str, float]
    first_shares: dict[str, tuple[float, ...]]


def table(outcomes: Outcomes) -> Table:
    """Table of finished runs beside the stationary policy predicted for each and its nearest rival."""
    rows = []
    for outcome in of_experiment("stationary", outcomes):
        run, beta = outcome.run, f"{outcome.run.coefficient:g}"
        if run.coefficient_from and run.coefficient < run.coefficient_from:
            beta += f", from {run.coefficient_from:g}"
        rival = min(distance for kl, distance in outcome.distances.items() if kl != run.kl)
        rows.append(
            (run.task, run.kl, beta,
             round(outcome.gap or 0.0, 4), round(outcome.kl_to_prediction or 0.0, 4), round(rival, 4),
             f"outside tolerance; nearest {outcome.nearest}" if outcome.misses else "within tolerance")
        )  # fmt: skip
    titles = ("prompts", "KL", "beta", "pass rate off by", "KL to it", "to another", "prediction")
    return Table.from_rows(titles, rows)
