"""Runs that ask which method retains Pass@k, on trained and on held-out prompts.

Not covered: models other than one of 135M parameters; more than twenty steps, another optimiser or rate;
rehearsed prompts that resemble the explored ones; answers of more than one token. Coefficients are on a grid;
points of the curves that no claim needs have one seed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..claims import ABOVE, BELOW, NEAR, Claim
from .claims import Ends, Value, middle_heights
from .runs import MIXTURE, NEVER, REHEARSED, UNTRAINED, OpenRun, Policy, pass_at

SEEDS = 5
COEFFICIENTS: Mapping[tuple[str, Any], tuple[float, ...]] = {
    ("GRPO", "none"): (0.0,), ("GRPO", "k3"): (0.04, 0.1, 0.3, 1.0), ("GRPO", "k2"): (0.1, 0.3, 1.0),
    ("GRPO", "k3_corrected"): (0.04, 0.3), ("Dr. GRPO", "none"): (0.0,), ("DAPO", "none"): (0.0,),
    ("DPH-F", "none"): (0.05, 0.5, 5.0), ("DPH-JS", "none"): (0.1, 1.0, 10.0),
    ("DPH-alpha", "none"): (0.05, 0.5, 5.0), ("KL-DPG", "none"): (0.0,),
}  # fmt: skip
"""Coefficients by method and form of its KL; DPH-JS has twice the others', for equal eta f''(1)."""


def setting(method: str, kl: Any = "none", coefficient: float = 0.0) -> OpenRun:
    """Run of a method on the mixture of tasks, with a KL form and coefficient, without a seed."""
    return OpenRun("methods", MIXTURE, method, kl, coefficient)


FREE, DAPO = setting("GRPO"), setting("DAPO")
_ONCE: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("GRPO", "k3"): (0.04, 0.1), ("GRPO", "k2"): (0.1,), ("GRPO", "k3_corrected"): (0.04,),
    ("Dr. GRPO", "none"): (0.0,), ("DPH-F", "none"): (5.0,), ("DPH-JS", "none"): (0.1, 1.0),
    ("DPH-alpha", "none"): (0.05, 0.5),
}  # fmt: skip  # Coefficients with one seed.


def declared() -> list[OpenRun]:
    """Runs of every method at each of its coefficients, all of one seed before those of the next."""
    return [
        replace(setting(*key, coefficient), seed=seed)
        for seed in range(SEEDS)
        for key, coefficients in COEFFICIENTS.items()
        for coefficient in coefficients
        if seed == 0 or coefficient not in _ONCE.get(key, ())
    ]


_held_out_1, _held_out_256 = (partial(pass_at, tasks=[UNTRAINED], k=k) for k in (1, 256))
_rehearsed, _never_trained = (partial(pass_at, tasks=tasks, k=1) for tasks in (REHEARSED, NEVER))


def _effective_answers(policy: Policy) -> float:
    return float(np.mean([policy[task].effective_answers for task in REHEARSED]))


def _difference(measure: Callable[..., float], run: OpenRun, other: OpenRun | None = None) -> Value:
    """Function of (ends, base): `measure` of a run's final policy minus that of another run, or the base."""
    return lambda ends, base: measure(ends[run]) - measure(base if other is None else ends[other])


def at_equal_first(ends: Ends, task: str) -> tuple[float, ...]:
    """A Pass@1 that the curves of k3 and k2 both reach, and each curve's Pass@256 there.

    The curves run over the finished coefficients and begin without a KL; KeyError with fewer than two. Pass@1
    is the middle of the shared range.
    """
    curves = []
    for kl in ("k3", "k2"):
        runs = [setting("GRPO", kl, beta) for beta in COEFFICIENTS["GRPO", kl]]
        finished = [FREE, *(run for run in runs if run in ends)]
        if len(finished) < 3:
            raise KeyError(kl)
        curves.append([(pass_at(ends[run], [task], 1), pass_at(ends[run], [task], 256)) for run in finished])
    return middle_heights(*curves)


def _forward_less_reverse(ends: Ends, base: Policy) -> float:
    _, forward, reverse = at_equal_first(ends, UNTRAINED)
    return forward - reverse


def _relative_change_of_answers(ends: Ends, base: Policy) -> float:
    return _effective_answers(ends[setting("KL-DPG")]) / _effective_answers(base) - 1


CLAIMS = (
    Claim("pass_1_rises", "falling_pass_at_k", "without a KL the held-out Pass@1 rises", "it does not",
          _difference(_held_out_1, FREE), ABOVE),
    Claim("pass_256_falls", "falling_pass_at_k", "without a KL the held-out Pass@256 falls", "it does not",
          _difference(_held_out_256, FREE), BELOW),
    Claim("k3_above_k2", "kl_estimators, convergence_time",
          "at equal Pass@1 k3 without importance weight retains more of Pass@256 than k2 (reverse KL)",
          "as much, or less", _forward_less_reverse, ABOVE),
    Claim("k2_is_corrected_k3", "kl_estimators",
          "k3 with importance weight and k2 at .3 have one gradient: their Pass@256 differ by less than .05",
          "by more",
          _difference(_held_out_256, setting("GRPO", "k3_corrected", 0.3), setting("GRPO", "k2", 0.3)), NEAR,
          identity=True),
    Claim("dph_f_rises", "rehearsal_gauge",
          "DPH-F at eta .5 has the base conditioned on being correct as its target: the pass rate of "
          "what it rehearses rises, by .05 or more", "it stays",
          _difference(_rehearsed, setting("DPH-F", coefficient=0.5)), (0.05, math.inf)),
    Claim("dph_js_stays", "rehearsal_gauge",
          "DPH-JS at eta 10 has as its target the base's own rate: the pass rate of what it rehearses "
          "stays within .05", "it rises as DPH-F's does",
          _difference(_rehearsed, setting("DPH-JS", coefficient=10.0)), NEAR),
    Claim("dph_alpha_stays", "rehearsal_gauge",
          "so does that of DPH-alpha at eta 5", "it rises as DPH-F's does",
          _difference(_rehearsed, setting("DPH-alpha", coefficient=5.0)), NEAR),
    Claim("rehearsal_of_others", "falling_pass_at_k",
          "a rehearsal of solved prompts retains nothing of the others: held out, DPH-F at .05 retains "
          "Pass@256 as DAPO does, within .05", "it keeps more, as the paper found",
          _difference(_held_out_256, setting("DPH-F", coefficient=0.05), DAPO), NEAR),
    Claim("dph_f_more_answers", "rehearsal_gauge, convergence_time",
          "on what it rehearses DPH-F at .5 retains more different correct answers than DAPO (exp of "
          "their entropy)", "as many, or fewer",
          _difference(_effective_answers, setting("DPH-F", coefficient=0.5), DAPO), ABOVE),
    Claim("kl_dpg_answers", "alpha_dpg",
          "KL-DPG has the base conditioned on being correct as its target: its exp of the entropy "
          "stays within a tenth of the base's", "it falls as without a KL", _relative_change_of_answers,
          (-0.1, 0.1)),
    Claim("never_trained", "first runs",
          "what was never trained retains its pass rate within .03 without a KL", "it moves further",
          _difference(_never_trained, FREE), (-0.03, 0.03)),
)  # fmt: skip  # Claims about methods, each over the seeds.
