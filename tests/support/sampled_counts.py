"""Counts drawn for a test: two checkpoints on the same prompts, whose true rates are known."""

import json

import numpy as np
from scipy.special import expit, logit

from dph_theory.checkpoints import PairedCounts


def base_rates(rng, prompts):
    """Rates that crowd at 0 and 1, as those of real prompts do."""
    return rng.beta(0.4, 0.6, prompts)


def sampled(rng, before, after, base_n, run_n=None) -> PairedCounts:
    """Counts of answers drawn at these rates, so many to a prompt."""
    run_n = base_n if run_n is None else run_n
    return PairedCounts.from_counts(base_n, rng.binomial(base_n, before), run_n, rng.binomial(run_n, after))


def shifted(rng, prompts, n, shift, spread=0.0) -> PairedCounts:
    """Log odds moved by the shift, normal over prompts with that spread."""
    before = base_rates(rng, prompts)
    return sampled(rng, before, expit(logit(before) + shift + spread * rng.standard_normal(prompts)), n)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(n, c):
    n = np.broadcast_to(n, c.shape)
    return [{"id": f"p{i}", "n": int(a), "c": int(b)} for i, (a, b) in enumerate(zip(n, c, strict=True))]
