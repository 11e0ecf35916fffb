"""Predictions about the SQL runs, written before any run of seeds 2 to 6, each with a simple rival.

Seeds 0 and 1 were known at 40 and 160 steps. Unknown at every seed were step 640, other group sizes, all but
one of the penalties by the mean, anchors, verifier errors and the forecast. The prediction for k3 at .001 was
written after the other runs of seeds 2 and 3, and before its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb

import numpy as np

from dph_theory.coverage import pass_at_k

from ..claims import ABOVE, BELOW, Claim
from .runs import Answered, FinishedSqlRun, MeasuredBase, SharesForecast

FIRST = "Two first runs (seeds 0 and 1)"
RETENTION = "Shared strategies (entries `retention`)"
MIDDLE, END = 160, 640
"""Steps at which claims are judged."""
MARGIN = 0.01
"""Largest deficit in Pass@1 at which an earlier checkpoint counts as equal."""


@dataclass(frozen=True)
class SeedRuns:
    """The finished runs of one seed by label, with the base and the forecasts made before any run."""

    runs: Mapping[str, FinishedSqlRun]
    base: MeasuredBase
    forecasts: Mapping[str, SharesForecast]
    """Forecasts by divisor, for groups of eight."""

    def held_out(self, label: str, step: int) -> Answered:
        """Held-out answers of a run after a step; KeyError if the step was not measured."""
        return self.runs[label].at(step).held_out


Value = Callable[[SeedRuns], float]


def mixture(run: Answered, base: Answered, pass_rate: float, k: int) -> float:
    """Pass@k of a run mixed with the base so that Pass@1 equals `pass_rate`, in exact expectation.

    Each of the k answers is the base's with probability w = (run - pass_rate) / (run - base), clipped to 0 if
    no fall is needed.
    """
    own, of_base = run.pass_at(1), base.pass_at(1)
    weight = min(max((own - pass_rate) / (own - of_base), 0.0), 1.0) if own > of_base else 0.0
    fails = [
        [1 - pass_at_k(side.n, np.array(side.correct), m) if m else 1.0 for m in range(k + 1)]
        for side in (run, base)
    ]
    misses = sum(
        comb(k, j) * weight**j * (1 - weight) ** (k - j) * np.mean(fails[0][k - j] * fails[1][j])
        for j in range(k + 1)
    )
    return float(1 - misses)


def early_stopping(run: FinishedSqlRun, step: int, pass_rate: float, k: int) -> float:
    """Best Pass@k among the checkpoints up to `step` whose Pass@1 is at least `pass_rate` - MARGIN.

    If no checkpoint reaches that Pass@1, the Pass@k of the checkpoint with the highest Pass@1.
    """
    earlier = [checkpoint.held_out for checkpoint in run.course if checkpoint.step <= step]
    reached = [answers for answers in earlier if answers.pass_at(1) >= pass_rate - MARGIN]
    chosen = reached or [max(earlier, key=lambda answers: answers.pass_at(1))]
    return max(answers.pass_at(k) for answers in chosen)


def hotter_sampling(run: FinishedSqlRun, pass_rate: float, k: int) -> float:
    """Pass@k of a final policy at the sampling temperature where its Pass@1 equals `pass_rate`.

    Values between measured temperatures are interpolated linearly. If Pass@1 is lower already at temperature
    1, the Pass@k at temperature 1.
    """
    measured = [run.course[-1].held_out, *run.hotter]
    if not run.hotter:
        raise KeyError("hotter")
    points = sorted((answers.pass_at(1), answers.pass_at(k)) for answers in measured)
    rates, values = zip(*points, strict=True)
    return float(np.interp(pass_rate, rates, values))


def _difference(one: str, other: str, k: int, step: int) -> Value:
    return lambda seed: seed.held_out(one, step).pass_at(k) - seed.held_out(other, step).pass_at(k)


def _share_of_rise(label: str, other: str, k: int) -> Value:
    def value(seed: SeedRuns) -> float:
        rise, other_rise = (_difference(one, "GRPO", k, END)(seed) for one in (label, other))
        return rise - other_rise / 2

    return value


def _above_mixture(label: str, k: int, step: int) -> Value:
    def value(seed: SeedRuns) -> float:
        answers = seed.held_out(label, step)
        rival = mixture(seed.held_out("GRPO", step), seed.base.held_out, answers.pass_at(1), k)
        return answers.pass_at(k) - rival

    return value


def _above_early_stopping(label: str, k: int, step: int) -> Value:
    def value(seed: SeedRuns) -> float:
        answers = seed.held_out(label, step)
        return answers.pass_at(k) - early_stopping(seed.runs["GRPO"], step, answers.pass_at(1), k)

    return value


def _above_hotter(label: str, k: int) -> Value:
    def value(seed: SeedRuns) -> float:
        answers = seed.held_out(label, END)
        return answers.pass_at(k) - hotter_sampling(seed.runs["GRPO"], answers.pass_at(1), k)

    return value


def _against_base(label: str, k: int, step: int) -> Value:
    return lambda seed: seed.held_out(label, step).pass_at(k) - seed.base.held_out.pass_at(k)


def _with_errors(errors: str, k: int, *, minus_clean: bool) -> Value:
    def value(seed: SeedRuns) -> float:
        gap = _difference(f"MaxRL, {errors}", f"GRPO, {errors}", k, END)(seed)
        return gap - _difference("MaxRL", "GRPO", k, END)(seed) if minus_clean else gap

    return value


def _forecast_error(label: str, divisor: str, k: int, step: int) -> Value:
    def value(seed: SeedRuns) -> float:
        trained = seed.runs[label].at(step).trained
        return trained.pass_at(k) - seed.forecasts[divisor].pass_at(k, trained.pass_at(1))

    return value


def _forecast_against_base(label: str, divisor: str, k: int, step: int) -> Value:
    def value(seed: SeedRuns) -> float:
        trained = seed.runs[label].at(step).trained
        error = _forecast_error(label, divisor, k, step)(seed)
        return abs(error) - abs(trained.pass_at(k) - seed.base.trained.pass_at(k))

    return value


def _excess(one: str, other: str) -> Value:
    return lambda seed: seed.runs[one].at(END).excess_kl - seed.runs[other].at(END).excess_kl


def _compared() -> list[Claim]:
    claims = []
    for step in (MIDDLE, END):
        at = f"after {step} steps"
        claims += [
            Claim(
                f"maxrl_above_grpo_{step}", FIRST, f"MaxRL has a higher Pass@32 than GRPO {at}",
                "no difference", _difference("MaxRL", "GRPO", 32, step), ABOVE,
            ),
            Claim(
                f"grpo_above_dr_grpo_{step}", FIRST, f"GRPO has a higher Pass@32 than Dr. GRPO {at}",
                "no difference", _difference("GRPO", "Dr. GRPO", 32, step), ABOVE,
            ),
            Claim(
                f"equal_pass_at_1_{step}", FIRST, f"MaxRL and GRPO differ by at most .03 in Pass@1 {at}",
                "Pass@k is bought with Pass@1", _difference("MaxRL", "GRPO", 1, step), (-0.03, 0.03),
            ),
            Claim(
                f"dph_f_by_mean_above_dph_f_{step}", FIRST,
                f"DPH-F by the mean has a higher Pass@8 than DPH-F {at}",
                "no difference", _difference("DPH-F by mean", "DPH-F", 8, step), ABOVE,
            ),
            Claim(
                f"dph_f_by_mean_above_maxrl_{step}", FIRST,
                f"DPH-F by the mean has a higher Pass@32 than MaxRL {at}",
                "no difference", _difference("DPH-F by mean", "MaxRL", 32, step), ABOVE,
            ),
            Claim(
                f"dph_f_by_mean_retains_{step}", FIRST,
                f"DPH-F by the mean loses at most .01 of the base's Pass@32 {at}",
                "it falls too, only later", _against_base("DPH-F by mean", 32, step), (-0.01, np.inf),
            ),
        ]  # fmt: skip
        for label in ("MaxRL", "DPH-F by mean"):
            name = label.lower().replace("-", "_").replace(" ", "_")
            claims += [
                Claim(
                    f"{name}_above_mixture_{step}", FIRST,
                    f"{label} has a higher Pass@8 than GRPO mixed with the base at equal Pass@1 {at}",
                    "GRPO mixed with the base", _above_mixture(label, 8, step), ABOVE,
                ),
                Claim(
                    f"{name}_above_early_stopping_{step}", FIRST,
                    f"{label} has a higher Pass@8 than GRPO's best checkpoint of equal Pass@1 {at}",
                    "stopping GRPO early", _above_early_stopping(label, 8, step), ABOVE,
                ),
            ]  # fmt: skip
    return claims


def _hotter_claims() -> list[Claim]:
    return [
        Claim(
            f"{label.lower().replace('-', '_').replace(' ', '_')}_above_hotter_grpo", FIRST,
            f"{label} has a higher Pass@8 than GRPO sampled hotter at equal Pass@1 after {END} steps",
            "a higher temperature at evaluation", _above_hotter(label, 8), ABOVE,
        )
        for label in ("MaxRL", "DPH-F by mean")
    ]  # fmt: skip


def _other_claims() -> list[Claim]:
    mean, std = "by the mean", "by the std"
    return [
        Claim(
            "dph_js_by_mean", RETENTION, f"DPH-JS {mean} has a higher Pass@8 than {std} after {END} steps",
            "no difference", _difference("DPH-JS by mean", "DPH-JS", 8, END), ABOVE,
        ),
        Claim(
            "weak_k3_by_mean", FIRST,
            f"k3 at .04 {mean} is within .02 of DPH-F {mean} in Pass@8 after {END} steps",
            "the divergence decides", _difference("MaxRL + k3 0.04", "DPH-F by mean", 8, END), (-0.02, 0.02),
        ),
        Claim(
            "strong_k3_by_mean", RETENTION,
            f"k3 at .3 {mean} has a higher Pass@8 than {std} after {END} steps",
            "no difference", _difference("MaxRL + k3 0.3", "GRPO + k3 0.3", 8, END), ABOVE,
        ),
        Claim(
            "least_k3", "Stationary policy of k3 (entries `token_penalties`)",
            f"k3 at .001 raises GRPO's Pass@32 by less than half as much as k3 at .04 after {END} steps",
            "any KL to the base is enough", _share_of_rise("GRPO + k3 0.001", "GRPO + k3 0.04", 32), BELOW,
        ),
        Claim(
            "kl_in_the_reward", "KL control (entries `kl_control`)",
            f"KL in the reward at .04 has a higher Pass@32 than Dr. GRPO after {END} steps",
            "no difference", _difference("KL in the reward 0.04", "Dr. GRPO", 32, END), ABOVE,
        ),
        Claim(
            "groups_of_32", RETENTION,
            f"MaxRL in groups of 32 has a higher Pass@8 than in groups of 8 after {END} steps",
            "fewer prompts a step, so lower", _difference("MaxRL, groups of 32", "MaxRL", 8, END), ABOVE,
        ),
        Claim(
            "anchors_by_mean", "Anchors (measured on last digits)",
            f"32 anchors {mean} are within .02 of DPH-F {mean} in Pass@32 after {END} steps",
            "which prompts are rehearsed decides",
            _difference("DPH-F by mean, 32 anchors", "DPH-F by mean", 32, END), (-0.02, 0.02),
        ),
        Claim(
            "excess_kl", "Excess KL is the lost diversity (entries `frontier`)",
            f"MaxRL has a lower excess KL than GRPO after {END} steps",
            "no difference", _excess("MaxRL", "GRPO"), BELOW,
        ),
    ]  # fmt: skip


def _error_claims() -> list[Claim]:
    claims = []
    for kind in ("false positives", "false negatives"):
        errors, name = f"10% {kind}", kind.replace(" ", "_")
        claims += [
            Claim(
                f"{name}_shrink_the_gap", "Price of the mean's weight (entries `retention`)",
                f"{errors} shrink MaxRL's lead over GRPO in Pass@8 after {END} steps",
                "no difference", _with_errors(errors, 8, minus_clean=True), BELOW,
            ),
            Claim(
                f"{name}_keep_the_order", FIRST,
                f"With {errors} MaxRL still has a higher Pass@8 than GRPO after {END} steps",
                "the order turns", _with_errors(errors, 8, minus_clean=False), ABOVE,
            ),
        ]  # fmt: skip
    return claims


def _forecast_claims() -> list[Claim]:
    claims = []
    for label, divisor in (("Dr. GRPO", "none"), ("GRPO", "std"), ("MaxRL", "mean")):
        for step in (MIDDLE, END):
            name = f"forecast_{divisor}_{step}"
            claims += [
                Claim(
                    name, RETENTION,
                    f"{label}: trained Pass@8 is within .05 of the flow's forecast after {step} steps",
                    "the base's own Pass@8", _forecast_error(label, divisor, 8, step), (-0.05, 0.05),
                ),
                Claim(
                    f"{name}_beats_base", RETENTION,
                    f"{label}: the flow errs less than the base's own Pass@8 after {step} steps",
                    "the base's own Pass@8", _forecast_against_base(label, divisor, 8, step), BELOW,
                ),
            ]  # fmt: skip
    return claims


CLAIMS = (*_compared(), *_hotter_claims(), *_other_claims(), *_error_claims(), *_forecast_claims())
"""All declared predictions, in the order of the reports."""
