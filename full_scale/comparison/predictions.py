"""The theory's predictions for a run, each a claim with its standard error; what judges them is verdicts.py.

Where a prediction is itself estimated, the standard error is that of the difference, over prompts.
"""

import math
from collections.abc import Iterator

import numpy as np

from dph_theory import kappa, mu_from_beta, pass_at_k
from dph_theory.estimators import smoothed_rate

from .frontier import frontier, least_cost, smoothed
from .measurements import Measured, Run
from .rehearsal_predictions import guarantee, rehearsed_mass, token_sum
from .verdicts import LEVEL, LOG_ODDS, NATS, PROMPT_NATS, RATE, Claim, Estimate, Row, mean

EXPLORED, REHEARSED = "explored", "rehearsed"
KL_CONTROL = {"KL-control": "beta", "KL-control-sequence": "online_coefficient"}
"""The methods of theory A5, and where their beta stands among the trainer's arguments."""


def predictions(run: Run) -> list[Row]:
    """Every row that the run's records allow."""
    rows = [
        claim.judged(run.name, name) for name, here in run.sets.items() for claim in _of_set(run, name, here)
    ]
    rows += [claim.judged(run.name, "training") for claim in along_training(run)]
    return rows + [claim.judged(run.name, REHEARSED) for claim in token_sum(run.rehearsed_rows)]


def _of_set(run: Run, name: str, here: Measured) -> Iterator[Claim]:
    yield from on_the_frontier(here)
    yield from pass_at_k_from_rates(here)
    method = run.config["method"]
    if name == EXPLORED and method["name"] in KL_CONTROL:
        yield from kl_control(here, run.arguments[KL_CONTROL[method["name"]]], method.get("mu"))
    if name == REHEARSED:
        yield from guarantee(here, run.rehearsed_rows)
        yield from rehearsed_mass(here, run.arguments)


def on_the_frontier(here: Measured) -> Iterator[Claim]:
    """KL(pi || a) >= kl(V || A1): the excess KL is not negative, on average and at the worst prompt (A8).

    The worst of so many prompts is judged at the level divided by their number, and against the least cost
    within exact confidence intervals of V and A1.
    """
    if here.correct.shape[1] < 2:
        return
    found = frontier(here)
    unsolved = int((~here.base_correct.any(axis=1)).sum())
    detail = f"KL {found.kl.mean():.3g}, least {found.cost.mean():.3g} at validity {here.rate.mean():.3g}"
    if unsolved:
        detail += f"; {unsolved} prompts that no base sample solved count with too low a cost"
    yield Claim(
        name="excess KL",
        theory="A8",
        estimate=found.mean_excess.value,
        relation=">=",
        prediction=0.0,
        gap=found.mean_excess,
        resolution=NATS,
        detail=detail,
    )
    yield from _worst_prompt(here)


def _worst_prompt(here: Measured) -> Iterator[Claim]:
    """KL(pi || a) against the least cost that a prompt's samples allow, at the prompt nearest to a violation.

    Prompts whose validity may be the base's have no cost to fall below and are left out.
    """
    prompts, samples = here.log_ratio.shape
    least = least_cost(here, LEVEL / prompts)
    moved = np.flatnonzero(least)
    if not moved.size:
        return
    kl = here.log_ratio.mean(axis=1)
    error = here.log_ratio.std(axis=1, ddof=1) / math.sqrt(samples)
    worst = moved[_worst((kl - least)[moved], error[moved])]
    yield Claim(
        name="KL, worst prompt",
        theory="A8",
        estimate=float(kl[worst]),
        relation=">=",
        prediction=float(least[worst]),
        gap=Estimate(float(kl[worst] - least[worst]), float(error[worst]), samples),
        resolution=PROMPT_NATS,
        tests=prompts,
        detail=f"prompt {here.ids[worst]}, of {len(moved)} whose validity surely moved",
    )


def _worst(values: np.ndarray, errors: np.ndarray) -> int:
    """The index of the least value in units of its standard error; one of exactly 0 +- 0 is never it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where((values == 0) & (errors == 0), np.inf, values / errors)
    return int(score.argmin())


def along_training(run: Run) -> Iterator[Claim]:
    """The collapse meter of the training log: at no step is the excess KL negative (A8).

    The worst of so many steps is judged at the level divided by their number.
    """
    log = [entry for entry in run.training.get("log", ()) if "collapse/excess_kl" in entry]
    if not log:
        return
    excess = np.array([entry["collapse/excess_kl"] for entry in log], dtype=float)
    error = np.array([entry["collapse/excess_kl_se"] for entry in log], dtype=float)
    worst = _worst(excess, error)
    at_worst, shift = float(excess[worst]), _base_rate_shift(run)
    yield Claim(
        name="excess KL, worst step",
        theory="A8",
        estimate=at_worst,
        relation=">=",
        prediction=0.0,
        gap=Estimate(at_worst, float(error[worst]), _groups(run), shift),
        resolution=PROMPT_NATS,
        tests=len(log),
        detail=f"step {log[worst].get('step')}; from {excess[0]:.3g} to {excess[-1]:.3g} in {len(log)} logs",
    )


def _groups(run: Run) -> int:
    """The prompts of one generated batch, over which the meter took its mean; 2, the least, if unknown."""
    settings = run.config["train"]
    size, each = settings.get("generation_batch_size"), settings.get("num_generations")
    return max(2, int(size // each)) if size and each else 2


def _base_rate_shift(run: Run) -> float:
    """How much too large the meter's cost may be by the few rollouts behind its base rates.

    The meter took (c + 1/2)/(k + 1) from the pre-sampling, which also chose these prompts; the base's own
    evaluation has samples apart from that choice. The shift of the mean cost from one to the other, at the
    run's final validity, plus its margin.
    """
    here, rates = run.sets.get(EXPLORED), run.training.get("base_rates", {})
    if here is None or any(name not in rates for name in here.ids):
        return math.inf
    k = run.config["presample"]["k"]
    used = smoothed_rate([rates[name] * k for name in here.ids], k)
    shift = mean(kappa(here.rate, used) - kappa(here.rate, smoothed(here.base_correct)))
    return abs(shift.value) + shift.margin()


def kl_control(here: Measured, beta: float, target: float | None) -> Iterator[Claim]:
    """Under KL control every prompt's odds grow by one factor, logit mu - logit A1 = 1/beta (A5, A9).

    That is the optimum over all policies: one that gives prompts of the same text the same answers, or is
    not trained to the end, falls short of it. The common log odds ratio is Mantel and Haenszel's,
    log sum V (1-A1) - log sum A1 (1-V): with V and A1 from separate samples both sums are unbiased at any
    number of samples, for prompts never or always solved too, where sigma(logit A1 + 1/beta) at an estimated
    A1 is not.
    """
    gain = _log_odds_ratio(here.rate, here.base_rate)
    predicted = float(mu_from_beta(smoothed(here.base_correct), beta).mean())
    yield Claim(
        name="log odds gain",
        theory="A5",
        estimate=gain.value,
        relation="==",
        prediction=1 / beta,
        gap=Estimate(gain.value - 1 / beta, gain.standard_error, gain.units),
        resolution=LOG_ODDS,
        detail=f"mean validity {here.rate.mean():.3g}; about {predicted:.3g} at the optimum of a policy that "
        "can tell the prompts apart",
    )
    if target is not None:
        yield Claim(
            name="target validity",
            theory="A9",
            estimate=float(here.rate.mean()),
            relation="==",
            prediction=target,
            gap=mean(here.rate - target),
            resolution=RATE,
        )


def _log_odds_ratio(rate: np.ndarray, base: np.ndarray) -> Estimate:
    gained, lost = rate * (1 - base), base * (1 - rate)
    if not (gained.any() and lost.any()):
        return Estimate(math.inf if gained.any() else -math.inf, math.inf, len(rate))
    # Delta method: the ratio of two means moves by the difference of their relative deviations.
    influence = gained / gained.mean() - lost / lost.mean()
    value = math.log(gained.mean() / lost.mean())
    return Estimate(value, mean(influence).standard_error, len(rate))


def pass_at_k_from_rates(here: Measured) -> Iterator[Claim]:
    """Pass@k from the pass rates of one half of the samples, against the best of k in the other (D1).

    1 - (1-p)^k is predicted without bias from the counts of the first half (a plugged-in rate would fall
    short, the function being concave in p); the second half is cut into groups of k, and a group passes if
    one of its samples does. Samples that are not independent part the two.
    """
    half = here.correct.shape[1] // 2
    k = next((k for k in (8, 4, 2) if 2 * k <= half), None)
    if k is None:
        return
    first, groups = here.correct[:, :half], half // k
    second = here.correct[:, half : half + groups * k].reshape(-1, groups, k)
    predicted = pass_at_k(half, first.sum(axis=1), k)
    best = second.any(axis=2).mean(axis=1)
    yield Claim(
        name=f"Pass@{k} from rates",
        theory="D1",
        estimate=float(best.mean()),
        relation="==",
        prediction=float(np.mean(predicted)),
        gap=mean(best - predicted),
        resolution=RATE,
    )
