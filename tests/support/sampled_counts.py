"""Counts drawn for a test: two checkpoints on the same prompts, whose true rates are known."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from dph_theory.counts import Pairs


class Sampled(NamedTuple):
    """The counts and the rates they were drawn from."""

    pairs: Pairs
    before: np.ndarray
    after: np.ndarray


def base_rates(rng, prompts):
    """Rates that crowd at 0 and 1, as those of real prompts do."""
    return rng.beta(0.4, 0.6, prompts)


def sampled(rng, before, after, base_n, run_n=None) -> Sampled:
    run_n = base_n if run_n is None else run_n
    pairs = Pairs.of(base_n, rng.binomial(base_n, before), run_n, rng.binomial(run_n, after))
    return Sampled(pairs, before, after)


def shifted(rng, prompts, n, shift, spread=0.0, run_n=None) -> Sampled:
    """Log odds moved by the shift, normal over prompts with that spread."""
    before = base_rates(rng, prompts)
    after = expit(logit(before) + shift + spread * rng.standard_normal(prompts))
    return sampled(rng, before, after, n, run_n)


def covers(share: float, nominal: float, trials: int, slack: float = 0.0) -> bool:
    """Whether a simulated share agrees with the nominal one within Monte Carlo error (3.3 deviations)."""
    return abs(share - nominal) <= 3.3 * np.sqrt(nominal * (1 - nominal) / trials) + slack


def write_rows(path: Path, rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(n: np.ndarray, c: np.ndarray) -> list[dict]:
    n = np.broadcast_to(n, c.shape)
    return [{"id": f"p{i}", "n": int(a), "c": int(b)} for i, (a, b) in enumerate(zip(n, c, strict=True))]
