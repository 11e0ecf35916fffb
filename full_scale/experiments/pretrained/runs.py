"""What is trained on open prompts: declared here, whatever came out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

from dph_theory.support.errors import choice

from ..record import Settings

FOUR = ("weekdays", "colours", "fruits", "summer")
EXPLORED = "last digits"
REHEARSED = ("weekdays by example", "months by example", "rain by example", "colours by example")
HELD_OUT = ", held out"
HELD = EXPLORED + HELD_OUT
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
