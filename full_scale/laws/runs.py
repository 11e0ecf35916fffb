"""A run as a value, the id it is kept under, and the experiments: which runs each one is."""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.methods.parts import ANSWERS
from dph_theory.support.errors import argument_error, choice

from ..recipe.law import RunLaw, law_of
from .sampled import CASES, SAMPLINGS, Sampling

SEQUENCE, TOKEN_REVERSE, TOKEN_FORWARD = "sequence reverse KL", "token reverse KL", "token forward KL"
FILTERED, BASE = "filtered model", "base"
MEANS = ", per-answer means"
"""After the name of a token law: that of penalties averaged over each answer's tokens."""
PENALTIES = ("k3", "k3_corrected", "k2", "sequence_kl", "future_kl")
"""Forms with a coefficient beta; each obeys the law of the trainer's arguments (`recipe.law.law_of`).

k3, k3_corrected: TRL's `beta` with `use_bias_correction_kl` off and on. k2: (log u)^2/2 in the loss, by its
gradient in the advantages. sequence_kl: the KL of the answer in the reward. future_kl: the corrected k3 in
the loss, and the later tokens' log-ratios subtracted from each token's advantage (arXiv 2601.10201).
"""
FORMS = ("none", *PENALTIES, "alpha_dpg", "rehearsal")
_NAMES = {
    ("sequence", REVERSE_KL.name): SEQUENCE,
    ("token", REVERSE_KL.name): TOKEN_REVERSE,
    ("token", FORWARD_KL.name): TOKEN_FORWARD,
}

ANNEALED = ("k3", "k3_corrected", "sequence_kl")
"""The forms whose beta may fall along a run."""
REHEARSED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "log_u": {"divergence": "forward_kl", "gauge": "printed"},
        "k3": {"divergence": "forward_kl", "gauge": "normalised"},
        "js": {"divergence": "jensen_shannon", "gauge": "printed"},
        "alpha": {"divergence": "alpha", "alpha": 0.2, "gauge": "printed"},
    }
)
Baseline: TypeAlias = Literal["mean", "leave_one_out", "one", "none"]


@dataclass(frozen=True)
class Run:
    """One training; two runs with equal fields are the same run, and have the same id."""

    experiment: str
    task: str
    form: str
    beta: float = 0.0
    """Coefficient of the penalty; of the rehearsal, eta."""
    annealed_from: float | None = None
    """beta at the first step, from which it falls geometrically to `beta` by the middle of the training."""
    scale: Literal["none", "group"] = "none"
    group_size: int = 128
    groups: int = 1
    """Groups of each row in a step."""
    learning_rate: float = 1e-3
    """Falls linearly to zero, unless `constant`."""
    steps: int = 250
    seed: int = 0
    optimiser: Literal["adam", "sgd"] = "adam"
    constant: bool = False
    rank: int | None = None
    """Of a LoRA adapter; None trains every weight."""
    lost: float | None = None
    """The share of the lost answers among the valid ones at the start; None starts from the base."""
    collapsed: bool = False
    """Whether training without a KL term has lost them, and not a fit to the base's other tables."""
    alpha: float | None = None
    """Of alpha-DPG."""
    rehearsed: str | None = None
    """What is rehearsed on stored correct samples: log_u (-log u), k3, js or alpha (alpha = 0.2)."""
    reward: bool = True
    """Off: nothing but the rehearsal or alpha-DPG trains."""
    dapo: bool = False
    """DAPO's exploration: the ratio clipped at 1.28 above, and the mean over tokens."""
    baseline: Baseline = "mean"
    """What is subtracted from verdicts: of the group, or a constant."""
    updates: int = 1
    """On each batch."""
    clip: tuple[float, float] | None = None
    """Below and above a ratio of 1; None: TRL's own, 0.2 and 0.2."""
    per_answer_mean: bool = False
    """Whether an answer's tokens are averaged (TRL's loss type grpo), not added up."""
    false_positive: float = 0.0
    """Chance that a wrong answer is taken for right; both at 0.5 make verdicts a coin."""
    false_negative: float = 0.0
    lowered_under: float | None = None
    """beta falls from `annealed_from` only while the excess KL, in nats, is under it."""
    rounds: int = 1
    """Trainings one after the other, each from and against the policy before."""
    sampler: str | None = None
    """One of SAMPLINGS."""
    every: int = 0
    """Steps between exact measurements; 0 for the end alone."""

    def __post_init__(self) -> None:
        choice("form", self.form, FORMS)
        if self.form in PENALTIES and not self.beta > 0:
            raise argument_error("beta", self.beta, f"above 0 for {self.form}")
        choice("baseline", self.baseline, get_args(Baseline))
        if self.baseline != "mean" and (self.scale == "group" or self.form == "alpha_dpg"):
            allowed = "mean where the group's deviation divides, and for alpha_dpg"
            raise argument_error("baseline", self.baseline, allowed)
        if self.lowered_under is not None and self.annealed_from is None:
            raise argument_error("lowered_under", self.lowered_under, "with annealed_from")
        if self.annealed_from is not None and (self.form not in ANNEALED or self.annealed_from < self.beta):
            raise argument_error(
                "annealed_from", self.annealed_from, f"at least beta, for {', '.join(ANNEALED)} alone"
            )
        if self.lowered_under is not None and self.form != "sequence_kl":
            raise argument_error("lowered_under", self.lowered_under, "for sequence_kl alone")
        if self.collapsed and self.lost is None:
            raise argument_error("collapsed", self.collapsed, "with a share of lost answers, `lost`")
        if (self.rehearsed is not None) != (self.form == "rehearsal"):
            raise argument_error("rehearsed", self.rehearsed, "given for the form rehearsal alone")

    @cached_property
    def digest(self) -> str:
        """Of the content: that of a run does not change when fields with defaults are added."""
        return hashlib.sha256(json.dumps(self.changed, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def id(self) -> str:
        """The name it is kept under."""
        return f"{self.experiment}-{self.task}-{self.form}-{self.digest}"

    @property
    def arguments(self) -> dict[str, Any]:
        """What its trainer gets, but for what the task decides; eta as of sums over an answer's tokens."""
        clip = (0.2, 0.28 if self.dapo else None) if self.clip is None else self.clip
        return {
            "seed": self.seed,
            "max_steps": self.steps,
            "learning_rate": self.learning_rate,
            "lr_scheduler_type": "constant" if self.constant else "linear",
            "optim": "sgd" if self.optimiser == "sgd" else "adamw_torch",
            "num_generations": self.group_size,
            "num_iterations": self.updates,
            "loss_type": "dapo" if self.dapo else "grpo" if self.per_answer_mean else "dr_grpo",
            "epsilon": clip[0],
            "epsilon_high": clip[1],
            "scale_rewards": self.scale,
            "baseline": self.baseline,
            **(self.sampling.arguments if self.sampling else {}),
            **self._of_form(),
        }

    def _of_form(self) -> dict[str, Any]:
        online = {"online_coefficient": self.beta}
        match self.form:
            case "k3" | "k3_corrected":
                return {"beta": self.beta, "use_bias_correction_kl": self.form == "k3_corrected"}
            case "future_kl":
                return {"beta": self.beta, "use_bias_correction_kl": True, "online": "future_kl"}
            case "k2":
                return {"online": "definition", "divergence": "reverse_kl", **online}
            case "sequence_kl":
                fall = {"online_from": self.annealed_from, "excess_bound": self.lowered_under}
                return {"online": "scaled_kl" if self.scale == "group" else self.form, **online, **fall}
            case "alpha_dpg":
                return {"online": "alpha_dpg", "alpha": self.alpha}
            case "rehearsal":
                how = {"rehearsal_level": "sequence", "rehearsal_reduction": "sequence_mean"}
                return {"eta": self.beta, **how, **REHEARSED[self.rehearsed or "log_u"]}
        return {}

    @property
    def law(self) -> str | None:
        """The law it obeys by theory E; with per-answer means, by theory G8."""
        found = law_of(self.arguments)
        if not found:
            return None
        name = _NAMES[found.place, found.divergence.name]
        return name + MEANS if found.place == "token" and found.reduction == ANSWERS else name

    @property
    def informative(self) -> float:
        """By how much a right answer's verdict is higher than a wrong one's, 1 - errors (theory G9)."""
        return 1 - self.false_positive - self.false_negative

    @property
    def sampling(self) -> Sampling | None:
        """How it samples, if not simply from the policy."""
        return None if self.sampler is None else SAMPLINGS[self.sampler]

    @property
    def target(self) -> str | None:
        """What alpha-DPG, or rehearsal alone, aims at (B3, B7): the filtered model, or the base as it is."""
        if self.form == "alpha_dpg":
            return FILTERED
        if self.form != "rehearsal" or self.reward:
            return None
        return FILTERED if self.rehearsed == "log_u" else BASE

    @property
    def centring(self) -> str:
        """How the rewards of a run with a law are centred, as `dph_theory.laws.SCALES` names it."""
        found = law_of(self.arguments)
        return found.scale if isinstance(found, RunLaw) else "none"

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that are not their defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            field.name: values[field.name] for field in fields(self) if values[field.name] != field.default
        }


LADDER = (1.0, 0.5, 0.3, 0.2, 0.1)
THREE = ("k3", "k3_corrected", "sequence_kl")
FOUR = (*THREE, "future_kl")
DPH = {"log_u": FORWARD_KL, "js": JENSEN_SHANNON, "alpha": alpha_divergence(0.2)}
"""What DPH rehearses, with its divergence."""
RANKS = (1, 2, 4, 8, None)
"""Of a LoRA adapter; None trains every weight."""


@dataclass(frozen=True)
class LawExperiment:
    """What is asked, and the runs that answer, for one seed."""

    name: str
    question: str
    runs: Callable[[int], Sequence[Run]]
    seeds: int = 3
    to_the_end: bool = True
    """Whether its runs are meant to reach their law; the others ask what happens on the way."""


def _which_law(seed: int) -> list[Run]:
    run = partial(Run, "which_law", seed=seed, learning_rate=2e-3)
    return [
        *(run("selection-2", form, beta) for beta in LADDER for form in (*FOUR, "k2")),
        *(run("dial-0", form, beta, group_size=32, steps=400) for beta in LADDER for form in FOUR),
        *(run("selection-3", form, beta, steps=400) for beta in (0.5, 0.2) for form in THREE),
        *(run("brackets-4", form, beta, steps=400) for beta in LADDER for form in FOUR),
        *(run("sums-2", form, beta, group_size=64, steps=400) for beta in (0.5, 0.3) for form in THREE),
        *(_larger() if seed == 0 else ()),
    ]


def _long_enough(seed: int) -> list[Run]:
    """Small betas again, with as many steps times beta as *which law* has at beta = 0.5 (theory E6)."""
    run = partial(Run, "long_enough", seed=seed, learning_rate=2e-3)

    def runs(task: str, betas: Sequence[float], steps: int, **settings: Any) -> list[Run]:
        return [
            run(task, form, beta, steps=round(steps * 0.5 / beta), **settings)
            for beta in betas
            for form in FOUR
        ]

    return [
        *runs("selection-2", (0.2, 0.1), 250),
        *runs("dial-0", (0.2, 0.1), 400, group_size=32),
        *runs("brackets-4", (0.2,), 400),
    ]


def _larger() -> list[Run]:
    """Answers so many that each is seen rarely: this length of training does not reach their laws."""
    run = partial(Run, "which_law", learning_rate=2e-3, steps=400)
    return [
        *(run("brackets-6", form, beta) for beta in (0.5, 0.2) for form in THREE),
        *(run("sums", form, beta, group_size=48) for beta in (0.5, 0.2) for form in THREE),
    ]


def _way_back(seed: int) -> list[Run]:
    run = partial(Run, "way_back", "selection-2", beta=0.2, seed=seed, optimiser="sgd", constant=True)
    shares = (0.03, 0.01, 0.003, 0.001)
    return [
        *(form(lost=share) for share in shares for form in _ways_back(run, 0.3, 60)),
        # More slowly, with less noise.
        *(form(lost=share) for share in shares for form in _ways_back(run, 0.1, 150)),
        # So rare that the policy hardly ever draws them.
        *(form(lost=share) for share in (1e-4, 1e-5) for form in _ways_back(run, 0.3, 60)),
        # Lost in training without KL.
        *(form(lost=share, collapsed=True) for share in (0.01, 0.001) for form in _ways_back(run, 0.3, 60)),
    ]


def _ways_back(run: Callable[..., Run], rate: float, steps: int) -> list[Callable[..., Run]]:
    """Rehearsal of stored answers and KL-DPG, and two penalties for twice as many steps."""
    short = partial(run, steps=steps, every=steps // 30)
    long = partial(run, learning_rate=rate, steps=2 * steps, every=steps // 15)
    return [
        partial(short, "rehearsal", rehearsed="log_u", learning_rate=rate),
        partial(long, "sequence_kl"),
        partial(long, "k3_corrected"),
        # It has no coefficient of its own: the learning rate has the beta of the others.
        partial(short, "alpha_dpg", alpha=1.0, learning_rate=round(0.2 * rate, 3)),
    ]


def _normalisation(seed: int) -> list[Run]:
    run = partial(Run, "normalisation", "selection-2", seed=seed, learning_rate=2e-3)
    return [
        run("k3_corrected", beta, scale=scale, group_size=size, groups=128 // size)
        for size, beta in ((8, 1.0), (2, 0.7), (4, 1.0), (16, 1.0))
        for scale in ("group", "none")
    ]


def _limits(seed: int) -> list[Run]:
    run = partial(Run, "limits", "selection-2", seed=seed, steps=800, every=80)
    return [run(form, beta) for beta in (0.1, 0.05) for form in THREE]


def _budget(seed: int) -> list[Run]:
    """The KL in the reward by rank and length; and the same with forward KL to the filtered model."""

    def run(form: str, steps: int, rank: int | None, **settings: Any) -> Run:
        rate = 5e-3 if rank else 2e-3
        run = partial(Run, "budget_and_family", "wide", form, seed=seed, rank=rank, steps=steps)
        return run(learning_rate=rate, every=steps // 10, **settings)

    forward = (("alpha_dpg", {"alpha": 1.0}), ("rehearsal", {"beta": 0.1, "rehearsed": "log_u"}))
    return [
        *(
            run("sequence_kl", steps, rank, beta=beta)
            for steps in (150, 600)
            for beta in (0.5, 0.2, 0.1)
            for rank in RANKS
        ),
        *(
            run("sequence_kl", steps, rank, beta=beta, annealed_from=1.0)
            for steps in (150, 600)
            for beta in (0.2, 0.1)
            for rank in (1, None)
        ),
        *(
            run(form, steps, rank, **settings)
            for steps in (150, 600)
            for rank in (1, 4, None)
            for form, settings in forward
        ),
    ]


def _degeneracy(seed: int) -> list[Run]:
    run = partial(Run, "degeneracy", "wide", "none", seed=seed, every=20)
    return [run(learning_rate=2e-3), run(optimiser="sgd", learning_rate=0.3, constant=True)]


def _targets(seed: int) -> list[Run]:
    run = partial(Run, "targets", "selection-2", seed=seed, learning_rate=2e-3, steps=300, every=50)
    return [
        *(run("alpha_dpg", alpha=alpha) for alpha in (1.0, 0.5, 0.25)),
        *(
            run("rehearsal", 1.0, rehearsed=what, reward=False, group_size=2)
            for what in ("log_u", "k3", "js")
        ),
    ]


def _direction(seed: int) -> list[Run]:
    """The methods by name, at equal strength eta f''(1) (theory B9), paired: one seed, one order of prompts.

    All rows share one text, so D_pef is all of them: the rehearsal's answers are the base's correct ones of
    every row, and the reverse KL is that of the samples of every row.
    """
    run = partial(Run, "direction", "strategies", seed=seed, scale="group", group_size=12)
    run = partial(run, learning_rate=1e-3, every=25, dapo=True)
    return [
        run("k3", 0.04, dapo=False),  # GRPO
        run("none"),  # DAPO
        *(
            method
            for strength in (0.05, 0.3)
            for method in (
                run("k3", strength),  # RKL, as a baseline is named
                run("k3_corrected", strength),  # the reverse KL
                *(
                    run("rehearsal", strength / divergence.curvature, rehearsed=what)  # DPH
                    for what, divergence in DPH.items()
                ),
            )
        ),
    ]


def _warning(seed: int) -> list[Run]:
    """Measured often, where Pass@16 falls within tens of steps."""
    run = partial(Run, "warning", "strategies", seed=seed, group_size=12, steps=100, every=2)
    return [
        run("none", scale="group"),
        run("k3_corrected", 0.05),
        run("sequence_kl", 0.3),
        run("rehearsal", 0.3, rehearsed="log_u"),
    ]


def _iteration(seed: int) -> list[Run]:
    run = partial(Run, "iteration", "selection-2", seed=seed, learning_rate=2e-3, steps=150)
    return [run("k3_corrected", 2.0, scale="group", group_size=16, groups=8, rounds=3)]


def _noise_floor(seed: int) -> list[Run]:
    """At a constant rate, from the base to the law and on: the spread is that of the second half."""
    run = partial(Run, "noise_floor", "lottery-law", beta=0.5, seed=seed, optimiser="sgd", constant=True)
    run = partial(run, learning_rate=0.02, steps=600, every=3, group_size=8)
    return [
        run(form, groups=groups, scale=scale)
        for groups in (1, 8, 64)
        for form, scale in (*((form, "none") for form in (*THREE, "k2")), ("sequence_kl", "group"))
    ]


DRIFTED = 64
"""Seeds of the settings whose whole distribution is held against the predicted one."""


def _drift(seed: int) -> list[Run]:
    """Without KL, up to a pass rate of about .9: how far apart two equal right answers drift."""
    sgd = partial(Run, "drift", form="none", seed=seed, group_size=64, optimiser="sgd", constant=True)
    sgd = partial(sgd, learning_rate=0.003)
    adam = partial(Run, "drift", form="none", seed=seed, group_size=64, learning_rate=3e-4, constant=True)
    settings = [
        sgd(task="lottery-30", steps=120),
        sgd(task="lottery-30", steps=60, scale="group", group_size=8, groups=8),
        adam(task="lottery-10", steps=95),
    ]
    if seed < 16:
        settings += [
            *(sgd(task="lottery-30", steps=120, baseline=baseline) for baseline in CONSTANTS),
            sgd(task="lottery-30", steps=120, group_size=8, groups=8),
            sgd(task="lottery-10", steps=500, learning_rate=0.001),
            sgd(task="lottery-four", steps=150),
            *(adam(task="lottery-10", steps=95, baseline=baseline) for baseline in CONSTANTS),
            adam(task="lottery-10", steps=190, constant=False),
            adam(task="lottery-30", steps=90),
        ]
    return settings


CONSTANTS: tuple[Baseline, ...] = ("none", "leave_one_out", "one")


def _baselines(seed: int) -> list[Run]:
    run = partial(Run, "baselines", "strategies", seed=seed, group_size=12, steps=150, every=25)
    return [
        run("none"),
        *(run("none", baseline=baseline) for baseline in CONSTANTS),
        run("sequence_kl", 0.1),
        run("sequence_kl", 0.1, baseline="one"),
    ]


CLIPS = {"none": (10.0, 10.0), "lower": (0.2, 10.0), "upper": (10.0, 0.2)}
"""Of the ratio, by how much below and above 1."""


def _coin(seed: int) -> list[Run]:
    """Random rewards on a flat and on a peaked policy, with one and four updates, by clip."""
    run = partial(Run, "coin", form="none", seed=seed, group_size=32, optimiser="sgd", constant=True)
    run = partial(run, false_positive=0.5, false_negative=0.5, learning_rate=0.013)
    return [
        setting
        for task in ("lottery-flat", "lottery-peaked")
        for setting in (
            run(task=task, steps=20),
            *(run(task=task, steps=80, updates=4, clip=clip) for clip in CLIPS.values()),
        )
    ]


def _updates(seed: int) -> list[Run]:
    run = partial(Run, "updates", "selection-2", beta=0.5, seed=seed, learning_rate=2e-3, steps=500)
    return [run(form, updates=updates) for updates in (2, 4, 8) for form in ("k3", "k3_corrected")]


def _answer_means(seed: int) -> list[Run]:
    run = partial(Run, "answer_means", "lengths", seed=seed, learning_rate=2e-3, steps=600)
    return [
        run(form, beta, per_answer_mean=mean)
        for form in THREE
        for beta in (0.5, 0.3)
        for mean in (True, False)
    ]


def _erring(seed: int) -> list[Run]:
    run = partial(Run, "erring", "selection-2", beta=0.5, seed=seed, learning_rate=2e-3, steps=500)
    return [
        run(form, false_positive=error, false_negative=error)
        for error in (0.05, 0.2)
        for form in ("k3_corrected", "sequence_kl")
    ]


def _annealing(seed: int) -> list[Run]:
    """beta from 1 to .05 in three budgets: constant, falling, and falling only under a bound."""
    run = partial(Run, "annealing", "wide", "sequence_kl", 0.05, seed=seed, learning_rate=2e-3)
    return [
        run(steps=steps, every=steps // 10, annealed_from=begun, lowered_under=bound)
        for steps in (100, 250, 600)
        for begun, bound in ((None, None), (1.0, None), (1.0, 0.05))
    ]


PLANNED, PLANS = "planned", Path(__file__).with_name("plans.jsonl")
"""Steps and answers that `plan` chose before any of the runs, by task, form and beta."""
WAYS = ("first_order", "sampled", "annealed")
"""Planned by the first order in the noise alone; by trainings on samples too; so with a beta that falls."""


def planned_lines() -> list[dict[str, Any]]:
    """What PLANS holds: of each task, form and beta the plans of all WAYS, or null."""
    return [json.loads(line) for line in PLANS.read_text(encoding="utf-8").splitlines()]


def _planned(seed: int) -> list[Run]:
    """Those of all plans; where two are one, once."""
    runs = [
        Run(PLANNED, line["task"], line["form"], line["beta"], seed=seed, **line[way])
        for way in WAYS
        for line in planned_lines()
        if line.get(way)
    ]
    return list(dict.fromkeys(runs))


EXPERIMENTS: Mapping[str, LawExperiment] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            LawExperiment("which_law", "Which law does each form of the penalty obey?", _which_law),
            LawExperiment(
                "long_enough", "Do small betas reach their law in 1/beta as many steps?", _long_enough, 2
            ),
            LawExperiment("way_back", "How fast does a lost answer come back?", _way_back, to_the_end=False),
            LawExperiment(
                "normalisation", "What does dividing by the group's deviation change?", _normalisation
            ),
            LawExperiment("limits", "What does each form select as beta falls?", _limits),
            LawExperiment(
                "budget_and_family", "Too few steps, or too small a family?", _budget, 2, to_the_end=False
            ),
            LawExperiment("degeneracy", "Which valid answers win without a penalty?", _degeneracy),
            LawExperiment("targets", "What do alpha-DPG and rehearsal aim at?", _targets),
            LawExperiment(
                "direction", "Which penalty keeps Pass@k where strategies are shared?", _direction, 5
            ),
            LawExperiment(
                "warning", "How loose is the guarantee, how early the meter?", _warning, to_the_end=False
            ),
            LawExperiment(
                "noise_floor", "How much noise does a law keep at a constant rate?", _noise_floor, 1, False
            ),
            LawExperiment("drift", "How far apart does luck drive equal answers?", _drift, DRIFTED, False),
            LawExperiment("baselines", "What does the baseline change?", _baselines, 8, False),
            LawExperiment("coin", "What do random rewards do to entropy?", _coin, 16, False),
            LawExperiment(PLANNED, "Do runs planned by their twins reach their laws?", _planned, 3),
            LawExperiment("updates", "Does a batch used several times change the law?", _updates, 2),
            LawExperiment("answer_means", "Which law do per-answer means obey?", _answer_means, 2),
            LawExperiment("erring", "What does a verifier that errs change?", _erring, 2),
            LawExperiment("annealing", "What does a falling beta keep on the way?", _annealing, 3, False),
            LawExperiment(
                "samplers",
                "Which law does each sampler leave?",
                lambda seed: [Run("samplers", seed=seed, **case) for case in CASES],
                2,
            ),
            LawExperiment("iteration", "Where does a reference re-set each round lead?", _iteration),
        )
    }
)


def record_runs(only: str | None = None, seeds: int | None = None) -> list[Run]:
    """The record's runs, or one experiment's (ValueError for another): the first seed of all, then more."""
    if only is not None:
        choice("only", only, EXPERIMENTS)
    chosen = [EXPERIMENTS[only]] if only else list(EXPERIMENTS.values())
    most = min(seeds or sys.maxsize, max(experiment.seeds for experiment in chosen))
    return [run for seed in range(most) for e in chosen if seed < e.seeds for run in e.runs(seed)]


def quick_runs() -> list[Run]:
    """Three forms of the penalty at one beta, and one drift without: under three minutes on two cores."""
    run = partial(Run, "quick", learning_rate=2e-3)
    drift = run(
        "lottery-30", "none", learning_rate=3e-3, group_size=64, steps=120, optimiser="sgd", constant=True
    )
    return [*(run("selection-2", form, 0.2) for form in THREE), drift]
