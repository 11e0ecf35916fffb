"""What real runs keep: public runs of others, held against five accounts of what training leaves."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..support.record import record
from ..transfer import strategies
from .answers import agreement, alike, counted, left, named_by_others, p_of, shuffled

PLACES = 11
"""Independent answers to a prompt in the public runs, and in the simulated ones."""
CLEAR = 3
"""By so many draws the base's likeliest right answer must lead to be known."""
PROMPTS, STRATEGIES, RUNS, GROUP, STEPS = 128, 16, 10, 16, 3072
"""Of the simulated runs: the prompts and the group size are those of the public ones, one prompt a step."""


def kept(
    base: np.ndarray, runs: Sequence[np.ndarray], won: np.ndarray, possible: np.ndarray, draws: int = 199
) -> dict[str, float]:
    """The measures that tell the accounts apart, from answers (prompts, answers) of a base and of its runs.

    `won` (runs, prompts) and `possible` (prompts, strategies) are the strategies of the answers that are
    left, as `answers.named_by_others` has them.
    """
    often = counted(base, max(int(x.max()) for x in (base, *runs)) + 1)
    answers = np.array([left(run) for run in runs])
    two = np.sort(often, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] >= CLEAR
    solved = [(row >= 0) for row in answers]
    rng, pairs = np.random.default_rng(0), alike(answers)
    null = [(named_by_others(s, possible), np.nanvar(alike(s))) for s in _dealt(won, draws, rng)]
    named, varied = named_by_others(won, possible), float(np.nanvar(alike(won)))
    own = [_mean(agreement(run, run)[at]) for run, at in zip(runs, solved, strict=True)]
    share = [
        _mean((row == often.argmax(axis=1))[at & clear]) for row, at in zip(answers, solved, strict=True)
    ]
    first, some = (np.array([_mean(how(x)) for x in runs]) for how in (_rate, _any))
    return {
        "base_agrees": _mean(agreement(base, base)[often.sum(axis=1) >= 2]),
        "run_agrees": _mean(own),
        "with_base": _mean([_mean(agreement(base, r)[at]) for r, at in zip(runs, solved, strict=True)]),
        "runs_agree": _mean(pairs),
        "least_pair": float(np.nanmin(pairs)),
        "most_pair": float(np.nanmax(pairs)),
        "likeliest": _mean(share),
        "named": named,
        "named_shuffled": _mean([x for x, _ in null]),
        "p_named": p_of(named, [x for x, _ in null]),
        "varied": varied,
        "varied_shuffled": _mean([x for _, x in null]),
        "p_varied": p_of(varied, [x for _, x in null]),
        "base_pass_1": _mean(_rate(base)),
        "pass_1": _mean(first),
        "base_any": _mean(_any(base)),
        "any": _mean(some),
        "any_less_pass_1": _mean(some - first),
    }


def _mean(values: Sequence[float] | np.ndarray) -> float:
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else np.nan


def _rate(codes: np.ndarray) -> np.ndarray:
    return np.asarray((codes >= 0).mean(axis=1))


def _any(codes: np.ndarray) -> np.ndarray:
    return np.asarray((codes >= 0).any(axis=1))


def _dealt(won: np.ndarray, draws: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [shuffled(won, rng) for _ in range(draws)]


Law = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""(base policies (prompts, strategies), right (prompts, strategies), rng) -> policies of runs (runs, ...)."""


def _each(law: np.ndarray) -> np.ndarray:
    return np.broadcast_to(law, (RUNS, *law.shape))


def _right(base: np.ndarray, right: np.ndarray) -> np.ndarray:
    return base * right / (base * right).sum(axis=1, keepdims=True)


def _lottery(base: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    ticket = rng.random((RUNS, len(base), 1))
    return np.eye(STRATEGIES)[(_right(base, right).cumsum(axis=1) < ticket).sum(axis=2)]


def _everywhere(policies: np.ndarray) -> np.ndarray:
    return np.broadcast_to(policies[:, None, :], (RUNS, PROMPTS, STRATEGIES))


def _by_luck(base: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _everywhere(np.eye(STRATEGIES)[rng.choice(STRATEGIES, RUNS, p=base.mean(axis=0))])


def _trained(base: np.ndarray, right: np.ndarray, rng: np.random.Generator, *, step: float) -> np.ndarray:
    weights = np.full(PROMPTS, 1 / PROMPTS)
    how: dict[str, Any] = {"group_size": GROUP, "step": step, "steps": STEPS, "seeds": RUNS, "rng": rng}
    return _everywhere(strategies.ends(base.mean(axis=0), right.astype(int), weights, **how))


ACCOUNTS: Mapping[str, Law] = MappingProxyType(
    {
        "kept": lambda base, right, rng: _each(_right(base, right)),
        "likeliest": lambda base, right, rng: _each(np.eye(STRATEGIES)[(base * right).argmax(axis=1)]),
        "a lottery a prompt": _lottery,
        "shared, by merit": lambda base, right, rng: _everywhere(
            np.eye(STRATEGIES)[np.full(RUNS, right.mean(axis=0).argmax())]
        ),
        "shared, by luck": _by_luck,
        "shared, trained in small steps": partial(_trained, step=0.3),
        "shared, trained in large steps": partial(_trained, step=5.0),
    }
)
"""What a run's policies are, by account: the base's right answers in their proportions; each prompt's
likeliest; one drawn for each prompt; for all prompts the strategy of most merit; for all prompts one drawn by
the base's share; and what `transfer.strategies.ends` gives, with little luck and with much."""


def accounts(worlds: int = 20, seed: int = 1) -> dict[str, dict[str, float]]:
    """The measures of `kept`, means over simulated worlds, that each account would show."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ACCOUNTS}
    for world in range(worlds):
        rng = np.random.default_rng([seed, world])
        merit = rng.permutation(np.linspace(0.1, 0.65, STRATEGIES))
        right = rng.random((PROMPTS, STRATEGIES)) < merit
        right[~right.any(axis=1), merit.argmax()] = True
        base = rng.dirichlet(np.full(STRATEGIES, 0.5)) * rng.gamma(4, 1, (PROMPTS, STRATEGIES))
        base /= base.sum(axis=1, keepdims=True)
        first = _drawn(base, right, rng)
        for name, law in ACCOUNTS.items():
            runs = [_drawn(policies, right, rng) for policies in law(base, right, rng)]
            found[name].append(kept(first, runs, np.array([left(run) for run in runs]), right, draws=99))
    names = next(iter(found.values()))[0]
    return {name: {key: _mean([x[key] for x in each]) for key in names} for name, each in found.items()}


def _drawn(law: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Answers (prompts, PLACES): the strategy's number where it is right, else -1."""
    said = (law.cumsum(axis=1)[:, None, :] < rng.random((len(law), PLACES, 1))).sum(axis=2)
    said = np.minimum(said, STRATEGIES - 1)
    return np.where(np.take_along_axis(right, said, axis=1), said, -1)


KIND = "real_runs"


def study() -> dict[str, Any]:
    """The record: what each account would show."""
    config = {
        "places": PLACES,
        "prompts": PROMPTS,
        "strategies": STRATEGIES,
        "runs": RUNS,
        "group_size": GROUP,
        "steps": STEPS,
    }
    return record(KIND, seed=1, config=config, results={"accounts": accounts()}, findings=())
