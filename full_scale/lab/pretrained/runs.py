"""What is trained on open prompts, and what theory says of it before: declared here, whatever came out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.errors import choice

from ..record import Settings

FOUR = ("weekdays", "colours", "fruits", "summer")
EXPLORED = "last digits"
REHEARSED = ("weekdays by example", "months by example", "rain by example", "colours by example")
HELD_OUT = ", held out"
MIXTURE = (EXPLORED, *REHEARSED)
NEVER = tuple(name + half for name in ("weekdays", "colours", "fruits") for half in ("", HELD_OUT))
MEASURED = (*MIXTURE, *(name + HELD_OUT for name in MIXTURE), *NEVER, "minutes", "primes", "sums in words")
SOLVED = 0.6
"""A trained prompt is rehearsed where the base's pass rate is at least that (D_pef), else explored."""
ANCHORED = "GRPO, anchored"
GROUP, STORED = 16, 64
"""Answers a prompt and step; stored right answers of each rehearsed prompt."""
BASELINES: Mapping[str, float | None] = MappingProxyType(
    {"mean of the others": None, "none": 0.0, "a half": 0.5, "one": 1.0}
)
"""What the runs without a KL subtract from a reward: the mean of the others of its group, or a constant."""
ANSWERS = 64
"""Answers a step of the runs without a KL."""


RANDOM, BY_KERNEL, ALONE = "at random", "by kernel", "least coupled"
PICKED = (RANDOM, BY_KERNEL, ALONE)
"""How anchors are picked: by lot, to explain the most of the kernel, or those that explain least."""


@dataclass(frozen=True)
class OpenRun(Settings):
    """A training of the pretrained Llama: on samples with a seed, or in expectation without one.

    `task` are the names of its tasks, with + between them; `form` is one of `expected_loss`, of NAMED or of
    BASELINES, whose coefficient `beta` is.
    """

    learning_rate: float = 1e-5
    steps: int = 20
    seed: int | None = None
    measured_after: int = 0
    """Steps after which the kernel is measured that the rest of the training is predicted by."""
    anchors: int = 0
    """So many prompts of the first task's held-out half are held at the base, by a forward KL."""
    picked: str = RANDOM
    answers: int | None = None
    """Stored answers of each anchor, correct and not; None for the base's exact probabilities."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of its tasks."""
        return tuple(self.task.split("+"))


def open_run(
    experiment: str, tasks: Sequence[str], form: str, beta: float, seed: int | None = None, **how: Any
) -> OpenRun:
    """The run on those tasks; `how` are the other fields."""
    return OpenRun(experiment, "+".join(tasks), form, beta, seed=seed, **how)


SEEDS = 5
STRENGTHS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "GRPO": (0.0, 0.04, 0.1, 0.3, 1.0),
        "GRPO, k2": (0.1, 0.3, 1.0),
        "GRPO, corrected k3": (0.04, 0.3),
        "Dr. GRPO": (0.0,),
        "DAPO": (0.0,),
        "DPH-F": (0.05, 0.5, 5.0),
        "DPH-JS": (0.1, 1.0, 10.0),
        "DPH-alpha": (0.05, 0.5, 5.0),
        "KL-DPG": (0.0,),
    }
)
"""Of DPH-JS twice those of the others: equal where f''(1) decides. Theory: B9."""
_ONCE = {
    *(("GRPO", beta) for beta in (0.04, 0.1)),
    ("GRPO, k2", 0.1),
    ("GRPO, corrected k3", 0.04),
    ("Dr. GRPO", 0.0),
    ("DPH-F", 5.0),
    *(("DPH-JS", eta) for eta in (0.1, 1.0)),
    *(("DPH-alpha", eta) for eta in (0.05, 0.5)),
}
"""Points of the curves that no claim needs: one seed."""


def _laws() -> list[OpenRun]:
    def of(tasks: tuple[str, ...], form: str, beta: float, falling: bool) -> OpenRun:
        return open_run(
            "laws", tasks, form, beta, steps=90, learning_rate=2e-5, beta_from=1.0 if falling else None
        )

    four = [of(FOUR, *key) for key in product(("reward", "k3"), (1.0, 0.5, 0.2), (True,))]
    digits = [
        of((task,), form, beta, True)
        for beta, task, form in product((0.2, 0.5), ("primes", "minutes"), ("reward", "k3_corrected", "k3"))
    ]
    # Whether the pass rate overshoots where beta does not fall, and comes back slowly (E7).
    constant = [of(FOUR, form, beta, False) for form, beta in product(("reward", "k3"), (0.5, 0.2))]
    constant += [of(("primes",), form, 0.2, False) for form in ("reward", "k3_corrected", "k3")]
    return four + digits + constant


def _methods() -> list[OpenRun]:
    return [
        open_run("methods", MIXTURE, name, strength, seed)
        for seed in range(SEEDS)
        for name, strengths in STRENGTHS.items()
        for strength in strengths
        if seed == 0 or (name, strength) not in _ONCE
    ]


DRAWN = ("weekdays", "colours", "fruits")


def _lottery() -> list[OpenRun]:
    return [
        open_run("lottery", (task,), name, 0.0, seed, steps=16, learning_rate=1.5e-4)
        for seed, task, name in product(range(32), DRAWN, BASELINES)
    ]


def _trl() -> list[OpenRun]:
    return [
        open_run("trl", ("weekdays",), form, 0.2, seed=0, steps=60, learning_rate=2e-5, beta_from=1.0)
        for form in ("k3", "k3_corrected", "reward")
    ]


WIDE, PRODUCTS, SUMS = ("wide last digits",), ("products",), ("sums",)


def _transfer() -> list[OpenRun]:
    """Runs whose held-out Pass@k is predicted by the kernel of the base: other prompts, other optimisers."""

    def of(tasks: tuple[str, ...], method: str, strength: float, seeds: int, **how: Any) -> list[OpenRun]:
        return [open_run("transfer", tasks, method, strength, seed, **how) for seed in range(seeds)]

    plain, forward, reverse = ("GRPO", 0.0), ("GRPO", 0.3), ("GRPO, k2", 0.3)
    return [
        *of(SUMS, *plain, SEEDS),
        *of(SUMS, *forward, SEEDS),
        *of(PRODUCTS, *plain, SEEDS),
        *of(PRODUCTS, *forward, SEEDS),
        *of(PRODUCTS, *reverse, 1),
        *of(PRODUCTS, "KL-DPG", 0.0, 1),
        *of(MIXTURE, *plain, 1, optimiser="sgd", learning_rate=1e-3, steps=40),
        *of(MIXTURE, *plain, 1, learning_rate=1e-6, steps=100),
        *of(MIXTURE, *plain, 1, rank=8, learning_rate=2e-4),
        *of(MIXTURE, *forward, 1, rank=8, learning_rate=2e-4),
        *of(MIXTURE, *plain, 1, measured_after=10),
        *of(WIDE, *plain, 2),
    ]


def _anchors() -> list[OpenRun]:
    """A few held-out prompts held at the base, beside what holds all or none, or the solved ones."""

    def of(
        tasks: tuple[str, ...], method: str, strength: float, seeds: int = SEEDS, **how: Any
    ) -> list[OpenRun]:
        return [open_run("anchors", tasks, method, strength, seed, **how) for seed in range(seeds)]

    def few(tasks: tuple[str, ...], anchors: int, seeds: int = SEEDS) -> list[OpenRun]:
        picked = [
            run for how in PICKED for run in of(tasks, ANCHORED, 1.0, seeds, anchors=anchors, picked=how)
        ]
        weak = of(tasks, ANCHORED, 0.3, seeds, anchors=anchors)
        return [*picked, *weak, *of(tasks, "GRPO", 1.0, seeds)]

    digits = (EXPLORED,)
    solved = (("DPH-F", 0.5), ("DPH-JS", 10.0))
    return [
        *of(digits, "GRPO", 0.0),
        *few(digits, 4),
        *of(digits, "GRPO", 0.3),
        *of(digits, "GRPO", 0.1),
        *of(digits, ANCHORED, 0.1, anchors=4),
        *of(digits, ANCHORED, 0.3, anchors=4, picked=BY_KERNEL),
        *of(digits, ANCHORED, 1.0, anchors=2),
        *of(digits, ANCHORED, 1.0, anchors=8),
        *of(digits, ANCHORED, 1.0, anchors=4, answers=STORED),
        *few(SUMS, 2),
        *(run for how in solved for run in of(SUMS, *how)),
        *few(PRODUCTS, 4),
        *(run for how in solved for run in of(PRODUCTS, *how)),
        *of(WIDE, "GRPO", 0.3, 2),
        *few(WIDE, 4, 2),
        *of(WIDE, ANCHORED, 1.0, 2, anchors=16),
    ]


EXPERIMENTS: Mapping[str, tuple[str, Callable[[], list[OpenRun]]]] = MappingProxyType(
    {
        "laws": ("Where does each form of the KL end, without noise?", _laws),
        "trl": ("And under TRL's own trainer, on samples?", _trl),
        "lottery": ("Without a KL, how far does luck drive right answers apart?", _lottery),
        "methods": ("Which method keeps Pass@k, on what it trained and on what it did not?", _methods),
        "anchors": ("Do a few prompts held at the base hold the others, and does it matter which?", _anchors),
        "transfer": ("And other prompts and optimisers, as the kernel of the base predicts?", _transfer),
    }
)


def declared(only: str | None = None, seeds: int | None = None) -> list[OpenRun]:
    """The runs of all experiments, or of one, with at most so many seeds."""
    if only is not None:
        choice("only", only, EXPERIMENTS)
    runs = [run for name, (_, make) in EXPERIMENTS.items() if only in (None, name) for run in make()]
    return [run for run in runs if run.seed is None or seeds is None or run.seed < seeds]


def quick() -> list[OpenRun]:
    """Two prompts to two stationary policies, and a few steps without a KL and with one."""
    laws = [
        open_run("laws", FOUR[:2], form, 0.5, steps=40, learning_rate=3e-5, beta_from=1.0)
        for form in ("reward", "k3")
    ]
    methods = [open_run("methods", MIXTURE, "GRPO", strength, 0, steps=8) for strength in (0.0, 0.3)]
    return laws + methods


@dataclass(frozen=True)
class Measured:
    """A task under a policy, exactly."""

    validity: tuple[float, ...]
    """Of each text."""
    effective_answers: float
    """exp of the entropy of the correct answers; a mean over texts."""
    kl_to_base: float
    """Of the whole answer, over the whole vocabulary; a mean over texts."""
    first_shares: tuple[tuple[float, ...], ...] = ()
    """P(first word | correct) of each text; of tasks with one correct answer a text none are kept."""


Policy = Mapping[str, Measured]
"""A policy as it is measured: by task."""
Ends = Mapping[tuple[str, Any], Policy]
"""Of one seed: by method and strength; of the anchors by tasks and setting."""
HELD = EXPLORED + HELD_OUT
Value = Callable[[Ends, Policy], float]
"""Of a seed's ends and the base."""


@dataclass(frozen=True)
class Claim:
    """A number that theory puts into a band before the runs, and what else it could be."""

    theory: str
    says: str
    rival: str
    value: Value
    band: tuple[float, float]
    experiment: str = "methods"
    """Whose ends it is about; those of "anchors" are by tasks and setting."""
    identity: bool = False
    """Whether the two sides turned out to be one training: it checks the code, and no training could miss."""


def pass_at(policy: Policy, tasks: Sequence[str], k: int, *, without: Sequence[int] = ()) -> float:
    """Exact Pass@k, the mean over all texts of the tasks but those numbers."""
    rates = np.delete(np.concatenate([policy[task].validity for task in tasks]), [*without])
    return float(exact_pass_at_k(np.minimum(rates, 1.0), np.asarray(k)).mean())


_MEASURES: Mapping[str, Callable[[Policy], float]] = {
    "held out, Pass@1": lambda policy: pass_at(policy, [HELD], 1),
    "held out, Pass@256": lambda policy: pass_at(policy, [HELD], 256),
    "rehearsed": lambda policy: pass_at(policy, REHEARSED, 1),
    "answers": lambda policy: float(np.mean([policy[task].effective_answers for task in REHEARSED])),
    "never trained": lambda policy: pass_at(policy, NEVER, 1),
}


def _less(name: str, of: tuple[str, float], other: tuple[str, float] | None = None) -> Value:
    """A measure of one method's end less that of another's, or of the base."""
    measure = _MEASURES[name]
    return lambda ends, base: measure(ends[of]) - measure(base if other is None else ends[other])


def at_equal_first(ends: Ends, task: str) -> tuple[float, ...]:
    """A Pass@1 in the middle of what the strengths of k3 and of k2 share, and there each one's Pass@256.

    Linear between neighbours of the curve over those strengths that there are, which begins without a KL.
    KeyError where one of the two has fewer than two.
    """
    curves = []
    for method in ("GRPO", "GRPO, k2"):
        chosen = [("GRPO", 0.0), *(key for key in ends if key[0] == method and key[1])]
        if len(chosen) < 3:
            raise KeyError(method)
        curves.append([(pass_at(ends[key], [task], 1), pass_at(ends[key], [task], 256)) for key in chosen])
    return _in_the_middle(*curves)


def _in_the_middle(*curves: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """A place amid what two curves share but for their first points, and each one's height there."""
    spans = [[first for first, _ in curve[1:]] for curve in curves]
    first = (max(map(min, spans)) + min(map(max, spans))) / 2
    return first, *(float(np.interp(first, *np.array(sorted(curve)).T)) for curve in curves)


def _forward_less_reverse(ends: Ends, base: Policy) -> float:
    _, forward, reverse = at_equal_first(ends, HELD)
    return forward - reverse


def _share_kept(ends: Ends, base: Policy) -> float:
    measure = _MEASURES["answers"]
    return measure(ends["KL-DPG", 0.0]) / measure(base) - 1


def _passed(policy: Policy, other: Policy, task: str, k: int) -> tuple[float, float]:
    """Held-out Pass@k of two policies, on the texts that neither holds at the base."""
    rates = np.array([policy[task].validity, other[task].validity])
    both = exact_pass_at_k(np.minimum(rates[:, ~np.isnan(rates).any(axis=0)], 1.0), np.asarray(k))
    one, two = both.mean(axis=1).tolist()
    return one, two


def _apart(task: str, k: int, one: str, other: str) -> Value:
    """Held-out Pass@k of one setting of a task less that of another."""

    def value(ends: Ends, base: Policy) -> float:
        ours, theirs = _passed(ends[task, one], ends[task, other], task + HELD_OUT, k)
        return ours - theirs

    return value


def _anchors_less_k3(ends: Ends, base: Policy) -> float:
    """Held-out Pass@256 of four anchors at random less that of k3 on all, at equal trained Pass@1."""
    strengths = ("0.1", "0.3", "1")
    few = [f"{ANCHORED}, {strength}, 4 {RANDOM}" for strength in strengths]
    curves = []
    for names in (few, [f"GRPO, {strength}" for strength in strengths]):
        each = [ends[EXPLORED, name] for name in ("GRPO", *names)]
        beside = ends[EXPLORED, few[0]]
        curves.append([(pass_at(end, [EXPLORED], 1), _passed(end, beside, HELD, 256)[0]) for end in each])
    _, anchored, plain = _in_the_middle(*curves)
    return anchored - plain


def _four(how: str, strength: str = "1", many: int = 4) -> str:
    return f"{ANCHORED}, {strength}, {many} {how}"


_ANY, _FREE, _DAPO = math.inf, ("GRPO", 0.0), ("DAPO", 0.0)
_UP, _ALIKE = (0, _ANY), (-0.05, 0.05)
CLAIMS = (
    Claim(
        "D3", "without a KL the held-out Pass@1 rises", "it does not", _less("held out, Pass@1", _FREE), _UP
    ),
    Claim(
        "D3",
        "without a KL the held-out Pass@256 falls",
        "it does not",
        _less("held out, Pass@256", _FREE),
        (-_ANY, 0),
    ),
    Claim(
        "B6, E7",
        "at equal Pass@1 plain k3 (forward KL) keeps more of Pass@256 than k2 (reverse KL)",
        "as much, or less",
        _forward_less_reverse,
        _UP,
    ),
    Claim(
        "B6",
        "corrected k3 and k2 at .3 have one expected gradient: their Pass@256 differ by less than .05",
        "by more",
        _less("held out, Pass@256", ("GRPO, corrected k3", 0.3), ("GRPO, k2", 0.3)),
        _ALIKE,
        identity=True,
    ),
    Claim(
        "B3",
        "DPH-F at eta .5 aims at p_*: the pass rate of what it rehearses rises, by .05 or more",
        "it stays",
        _less("rehearsed", ("DPH-F", 0.5)),
        (0.05, _ANY),
    ),
    Claim(
        "B3",
        "DPH-JS at eta 10 aims at the base's own rate: the pass rate of what it rehearses stays within .05",
        "it rises as DPH-F's does",
        _less("rehearsed", ("DPH-JS", 10.0)),
        _ALIKE,
    ),
    Claim(
        "B3",
        "so does that of DPH-alpha at eta 5",
        "it rises as DPH-F's does",
        _less("rehearsed", ("DPH-alpha", 5.0)),
        _ALIKE,
    ),
    Claim(
        "D3",
        "a rehearsal of solved prompts holds nothing of the others: held out, DPH-F at .05 keeps Pass@256 as "
        "DAPO does, within .05",
        "it keeps more, as the paper found",
        _less("held out, Pass@256", ("DPH-F", 0.05), _DAPO),
        _ALIKE,
    ),
    Claim(
        "B3, E7",
        "on what it rehearses DPH-F at .5 keeps more different right answers than DAPO (effective number)",
        "as many, or fewer",
        _less("answers", ("DPH-F", 0.5), _DAPO),
        _UP,
    ),
    Claim(
        "B7",
        "KL-DPG aims at p_* of each prompt: its effective number stays within a tenth of the base's",
        "it falls as without a KL",
        _share_kept,
        (-0.1, 0.1),
    ),
    Claim(
        "first runs",
        "what was never trained keeps its pass rate within .03 without a KL",
        "it moves further",
        _less("never trained", _FREE),
        (-0.03, 0.03),
    ),
    Claim(
        "N4",
        "at equal trained Pass@1 four anchors at random keep as much of Pass@256 as k3 on all, within .05",
        "the kernel has few directions, so that a few prompts hold all others: more",
        _anchors_less_k3,
        _ALIKE,
        "anchors",
    ),
    Claim(
        "N4",
        "anchors picked by the kernel keep more of Pass@256 than as many at random",
        "as much: the kernel's directions are held by any four",
        _apart(EXPLORED, 256, _four(BY_KERNEL), _four(RANDOM)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "the four least coupled keep less of Pass@256 than four at random",
        "as much",
        _apart(EXPLORED, 256, _four(ALONE), _four(RANDOM)),
        (-_ANY, 0),
        "anchors",
    ),
    Claim(
        "N4",
        "eight anchors keep more of Pass@256 than two",
        "two are enough",
        _apart(EXPLORED, 256, _four(RANDOM, many=8), _four(RANDOM, many=2)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "64 stored answers of each anchor keep as much as its exact probabilities, within .05",
        "about half, as first runs had it",
        _apart(EXPLORED, 256, f"{_four(RANDOM)} of {STORED} answers", _four(RANDOM)),
        _ALIKE,
        "anchors",
    ),
    Claim(
        "N4",
        "products, whose Pass@256 does not fall without a KL: four anchors cost held-out Pass@1",
        "they cost nothing",
        _apart(*PRODUCTS, 1, _four(RANDOM), "GRPO"),
        (-_ANY, 0),
        "anchors",
    ),
    Claim(
        "N4",
        "products: DPH-F at .5 on the solved prompts costs less held-out Pass@1 than four anchors",
        "as much, or more",
        _apart(*PRODUCTS, 1, "DPH-F, 0.5", _four(RANDOM)),
        _UP,
        "anchors",
    ),
    Claim(
        "N4",
        "116 trained prompts: sixteen anchors keep more of Pass@256 than four",
        "four are enough, as of 24",
        _apart(*WIDE, 256, _four(RANDOM, many=16), _four(RANDOM)),
        _UP,
        "anchors",
    ),
)
"""Each over the seeds: held if the 90% interval of the mean lies in the band, missed if it lies outside."""
